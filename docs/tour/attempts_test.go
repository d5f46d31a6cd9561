package main

import (
	"bytes"
	"context"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// The corpus: locks that a learner would write, right and wrong, and what the stories say
// to each. testdata/attempts/README.md explains it.

const (
	attemptsDir = "testdata/attempts"
	attemptsExt = ".go.txt" // the go command and gofmt pass it by
)

// An attempt is the reference solution of a step with some of its declarations replaced.
type attempt struct {
	name     string // step04/wrong/del-by-its-own-clock
	step     course.Step
	wrong    bool
	caughtBy []string // the first story that fails, of a wrong one; several if chance decides
	advice   []string // how what only the source shows begins, of a right one
	refused  string   // how the rule begins that only the source shows to be broken, of a wrong one
	src      []byte   // the whole lock in one file
}

func TestAttempts_EachIsWhole(t *testing.T) {
	counts := map[string]int{}
	for _, a := range attempts(t) {
		counts[path.Dir(a.name)]++
		if !a.wrong {
			assert.Empty(t, a.caughtBy, "%s: nothing catches a right one", a.name)
			continue
		}
		if a.refused != "" {
			broken, _ := advice(lock{course.LockFile: a.src}, a.step.N)
			require.Len(t, broken, 1, a.name)
			require.Contains(t, broken[0], a.refused, a.name)
			continue
		}
		assert.NotEmpty(t, a.caughtBy, "%s: what catches it?", a.name)
		assert.Subset(t, storyNames(t, a.step), a.caughtBy, "%s: caught by no story of %s", a.name, a.step.Dir)
	}
	for _, s := range course.Steps[:7] {
		dir := fmt.Sprintf("step%02d", s.N)
		assert.GreaterOrEqual(t, counts[dir+"/wrong"], 10, "wrong locks for %s", s.Label())
		assert.GreaterOrEqual(t, counts[dir+"/right"], 3, "right locks for %s", s.Label())
	}
}

// ATTEMPTS=all judges all of them, in minutes, as .ci/run does; ATTEMPTS=step05 those whose
// name contains that.
func TestAttempts_AreJudgedRightly(t *testing.T) {
	chosen := os.Getenv("ATTEMPTS")
	if chosen == "" {
		t.Skip("ATTEMPTS=all judges all, ATTEMPTS=step05 those of a step")
	}
	list := attempts(t)
	if chosen != "all" {
		list = slices.DeleteFunc(list, func(a attempt) bool { return !strings.Contains(a.name, chosen) })
		require.NotEmpty(t, list, "ATTEMPTS=%s: no attempt has that in its name", chosen)
	}
	tr, ctx, err := newTour(t.Context(), console{out: io.Discard, err: io.Discard})
	require.NoError(t, err)
	t.Cleanup(tr.close)
	for _, a := range list {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.judge(t, a.play(t, tr, ctx))
		})
	}
}

// play runs all stories of its step on the attempt.
func (a attempt) play(t *testing.T, tr *tour, ctx context.Context) []result {
	file := filepath.Join(tr.tmp, strings.ReplaceAll(a.name, "/", "-")+".go")
	require.NoError(t, os.WriteFile(file, playable(a.src), 0o666))
	b := greenBuild(a.step)
	b.leaveOut(tr.sources(a.step.Dir)...)
	b.leaveOut(course.BugFile, course.DemoFile)
	b.replace[course.LockFile] = file
	bin, err := tr.compile(ctx, b)
	require.NoError(t, err)
	defer bin.remove()
	list, err := tr.stories(a.step.Dir, a.step.Guarantees())
	require.NoError(t, err)
	results, err := bin.runAll(ctx, list)
	require.NoError(t, err)
	return results
}

// judge fails unless a right attempt passes everything, and a wrong one fails as it says:
// what try shows is the first failure. Every failure has to be an assertion.
func (a attempt) judge(t *testing.T, results []result) {
	var failures []string
	for _, r := range results {
		if r.verdict == passed {
			continue
		}
		failures = append(failures, r.name)
		if r.verdict != failed {
			assert.Failf(t, "not an assertion", "%s: %s", r.name, r.why)
			continue
		}
		failing := r.log.failing(r.name)[0]
		t.Logf("%s: %s", r.name, strings.Join(failing.message(), "\n"))
	}
	if a.refused != "" {
		return // a story may see it as well, by luck
	}
	if !a.wrong {
		require.Empty(t, failures, "a right lock is refused")
		return
	}
	require.NotEmpty(t, failures, "a wrong lock passes")
	require.Contains(t, a.caughtBy, failures[0], "the first story that fails")
}

func storyNames(t *testing.T, s course.Step) (names []string) {
	root, err := course.Root()
	require.NoError(t, err)
	tr := &tour{root: root}
	for _, f := range s.Guarantees() {
		list, err := tr.storiesOf(s.Dir, f.Name)
		require.NoError(t, err)
		for _, st := range list {
			names = append(names, st.name)
		}
	}
	return names
}

// attempts reads the corpus.
func attempts(t *testing.T) (list []attempt) {
	files, err := filepath.Glob(filepath.FromSlash(attemptsDir + "/step0?/*/*" + attemptsExt))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		a, err := readAttempt(filepath.ToSlash(file), string(text))
		require.NoError(t, err)
		list = append(list, a)
	}
	return list
}

func readAttempt(file, text string) (attempt, error) {
	a := attempt{name: strings.TrimSuffix(strings.TrimPrefix(file, attemptsDir+"/"), attemptsExt)}
	dir, rest, _ := strings.Cut(a.name, "/")
	s, err := course.Parse(strings.TrimPrefix(dir, "step0"))
	if err != nil {
		return a, err
	}
	a.step, a.wrong = s, strings.HasPrefix(rest, "wrong/")
	if !a.wrong && !strings.HasPrefix(rest, "right/") {
		return a, fmt.Errorf("%s is neither in right nor in wrong", file)
	}
	head, body, _ := strings.Cut(strings.ReplaceAll(text, "\r\n", "\n"), "\n\n")
	var out []string
	for line := range strings.SplitSeq(head, "\n") {
		switch key, value, _ := strings.Cut(line, ": "); key {
		case "caught by":
			a.caughtBy = append(a.caughtBy, value)
		case "advice":
			a.advice = append(a.advice, value)
		case "refused":
			a.refused = value
		case "without":
			out = strings.Split(value, ", ")
		}
	}
	src, err := (&tour{root: "../.."}).readLock(s.Dir)
	if err != nil {
		return a, err
	}
	if a.src, err = assemble(src, out, body); err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return a, err
}

// importable are the imports that an attempt need not write: those that a lock may lack.
var importable = []string{"bytes", "context", "crypto/rand", "crypto/sha256", "encoding/base64", "encoding/hex", "errors", "fmt", "math",
	"net", "os", "slices", "strconv", "strings", "sync", "sync/atomic", "time", "github.com/redis/go-redis/v9"}

// importName finds how a file that imports a path names it.
var importName = regexp.MustCompile(`([a-z0-9]+)(/v[0-9]+)?$`)

// assemble makes one file of those of a lock: without some of its declarations, and with
// others in the place of those of the same name. It imports what it uses, and has no
// comments.
func assemble(src lock, without []string, body string) ([]byte, error) {
	var texts []string
	for _, name := range src.names() {
		texts = append(texts, string(src[name]))
	}
	imports := map[string]string{}
	for _, of := range importable {
		imports[importName.FindStringSubmatch(of)[1]] = of
	}
	fset := token.NewFileSet()
	var list, mine []declaration
	for _, text := range append(texts, "package redislock\n"+body) {
		f, err := parser.ParseFile(fset, "", text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		for _, spec := range f.Imports {
			of, _ := strconv.Unquote(spec.Path.Value)
			imports[importName.FindStringSubmatch(of)[1]] = of
		}
		mine = declarations(f) // in the end those of the attempt, which is the last file
		list = append(list, mine...)
	}
	gone := slices.Clone(without)
	for _, d := range mine {
		if slices.Contains(without, d.name) {
			return nil, fmt.Errorf("%s is left out, and declared", d.name)
		}
		gone = append(gone, d.name)
	}
	had := map[string]bool{}
	theirs := slices.DeleteFunc(list[:len(list)-len(mine)], func(d declaration) bool {
		had[d.name] = true
		return slices.Contains(gone, d.name)
	})

	uses, packages := map[string]int{}, map[string]bool{}
	var code bytes.Buffer
	for _, d := range slices.Concat(theirs, mine) {
		if err := format.Node(&code, fset, d.node); err != nil {
			return nil, err
		}
		code.WriteString("\n\n")
		ast.Inspect(d.node, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.Ident:
				uses[n.Name]++
			case *ast.SelectorExpr:
				if id, ok := n.X.(*ast.Ident); ok && imports[id.Name] != "" {
					packages[imports[id.Name]] = true
				}
			}
			return true
		})
	}
	for _, name := range gone {
		switch short := name[strings.LastIndex(name, ".")+1:]; {
		case had[name]:
		case slices.Contains(without, name):
			return nil, fmt.Errorf("%s is left out, and the lock has none", name)
		case uses[short] < 2:
			return nil, fmt.Errorf("the lock has no %s, and nothing uses the new one", name)
		}
	}
	head := "package redislock\n"
	for _, of := range slices.Sorted(maps.Keys(packages)) {
		head += fmt.Sprintf("import %q\n", of)
	}
	return format.Source([]byte(head + code.String()))
}

// A declaration is one of a file, without the group that it was in.
type declaration struct {
	name string // Type.Name of a method
	node ast.Decl
}

func declarations(f *ast.File) (list []declaration) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
			}
			list = append(list, declaration{name, d})
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				alone := &ast.GenDecl{TokPos: spec.Pos(), Tok: d.Tok, Specs: []ast.Spec{spec}}
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					list = append(list, declaration{spec.Names[0].Name, alone})
				case *ast.TypeSpec:
					list = append(list, declaration{spec.Name.Name, alone})
				}
			}
		}
	}
	return list
}

func TestAssemble(t *testing.T) {
	src := lock{"lock.go": []byte(`// Package redislock is a lock.
package redislock

import (
	"errors"
	"fmt"
)

var (
	ErrA = errors.New("a") // the first
	// ErrB is the second.
	ErrB = fmt.Errorf("b")
)

// Lock is a handle.
type Lock struct{}

// TryLock tries.
func (l *Lock) TryLock() error { return send() }
`), "send.go": []byte(`package redislock

import "time"

// send sends.
func send() error {
	time.Sleep(1)
	return ErrA
}
`)}
	const theirs = "var ErrA = errors.New(\"a\")\n\ntype Lock struct{}\n\n"
	for _, tt := range []struct {
		without    []string
		body, want string // want is the source without its package clause, or an error
	}{
		{[]string{"ErrB"}, "func send() error { return help() }\n\nfunc help() error { return ErrA }\n",
			"import \"errors\"\n\n" + theirs +
				"func (l *Lock) TryLock() error { return send() }\n\nfunc send() error { return help() }\n\nfunc help() error { return ErrA }\n"},
		{[]string{"send"}, "import \"math/rand\"\n\nvar ErrB error\n\nfunc (Lock) TryLock() error {\n\trand.Int()\n\tos.Exit(1)\n\treturn ErrB\n}",
			"import \"errors\"\nimport \"math/rand\"\nimport \"os\"\n\n" + theirs +
				"var ErrB error\n\nfunc (Lock) TryLock() error {\n\trand.Int()\n\tos.Exit(1)\n\treturn ErrB\n}\n"},
		{nil, "func help() {}", "the lock has no help, and nothing uses the new one"},
		{nil, "func (l *Lock) help() {}", "the lock has no Lock.help, and nothing uses the new one"},
		{[]string{"help"}, "func send() {}", "help is left out, and the lock has none"},
		{[]string{"send"}, "func send() {}", "send is left out, and declared"},
		{nil, "func send() {", "expected"},
	} {
		got, err := assemble(src, tt.without, tt.body)
		if err != nil {
			require.ErrorContains(t, err, tt.want)
			continue
		}
		require.Equal(t, "package redislock\n\n"+tt.want, string(got))
	}
}

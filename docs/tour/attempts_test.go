package main

import (
	"context"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"io"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
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
		assert.Subset(t, storyNames(t, a.step), a.caughtBy, "%s: %q names no story of %s", a.name, caughtBy, a.step.Dir)
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
	list, chosen := attempts(t), os.Getenv("ATTEMPTS")
	switch chosen {
	case "":
		t.Skipf("ATTEMPTS=all judges all %d, ATTEMPTS=step05 those of a step", len(list))
	case "all":
	default:
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

const (
	caughtBy = "caught by: "
	advised  = "advice: "
	refused  = "refused: "
	leftOut  = "without: "
)

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
		if value, ok := strings.CutPrefix(line, caughtBy); ok {
			a.caughtBy = append(a.caughtBy, value)
		}
		if value, ok := strings.CutPrefix(line, advised); ok {
			a.advice = append(a.advice, value)
		}
		if value, ok := strings.CutPrefix(line, refused); ok {
			a.refused = value
		}
		if value, ok := strings.CutPrefix(line, leftOut); ok {
			out = append(out, strings.Split(value, ", ")...)
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

// assemble makes one file of those of a lock: without some of its declarations, and with
// others in the place of those of the same name. It imports what it uses.
func assemble(src lock, without []string, body string) ([]byte, error) {
	body = "package redislock\n\n" + body
	mine, err := source.Parse("attempt", []byte(body))
	if err != nil {
		return nil, err
	}
	gone := map[string]bool{} // names that the lock loses: whether it had them
	for _, name := range without {
		gone[name] = false
	}
	for _, d := range mine {
		if slices.Contains(without, d.Name) {
			return nil, fmt.Errorf("%s is left out, and declared", d.Name)
		}
		gone[d.Name] = false
	}
	imports := map[string]string{}
	for _, of := range importable {
		imports[importName(of)] = of
	}
	// below is what a file has below its imports, which are remembered.
	below := func(text string) (string, error) {
		f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.ImportsOnly)
		if err != nil {
			return "", err
		}
		begin := f.Name.End()
		for _, d := range f.Decls {
			begin = d.End()
		}
		for _, spec := range f.Imports {
			of, _ := strconv.Unquote(spec.Path.Value)
			imports[importName(of)] = of
		}
		return text[begin-1:] + "\n", nil
	}
	all := "package redislock\n"
	for _, file := range src.names() {
		rest, err := below(strings.ReplaceAll(string(src[file]), "\r\n", "\n"))
		if err != nil {
			return nil, err
		}
		all += rest
	}
	theirs, err := source.Parse("lock", []byte(all))
	if err != nil {
		return nil, err
	}
	for _, d := range theirs {
		if _, ok := gone[d.Name]; ok {
			all = strings.Replace(all, "\n"+d.Text, "", 1)
			gone[d.Name] = true
		}
	}
	rest, err := below(body)
	if err != nil {
		return nil, err
	}
	all += rest
	f, err := parser.ParseFile(token.NewFileSet(), "", all, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	uses, packages := map[string]int{}, map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.Ident:
			uses[n.Name]++
		case *ast.SelectorExpr:
			if id, ok := n.X.(*ast.Ident); ok && imports[id.Name] != "" {
				packages[strconv.Quote(imports[id.Name])] = true
			}
		}
		return true
	})
	for _, name := range slices.Sorted(maps.Keys(gone)) {
		switch short := name[strings.LastIndex(name, ".")+1:]; {
		case gone[name]:
		case slices.Contains(without, name):
			return nil, fmt.Errorf("%s is left out, and the lock has none", name)
		case uses[short] < 2:
			return nil, fmt.Errorf("the lock has no %s, and nothing uses the new one", name)
		}
	}
	imported := "package redislock\n\nimport (\n" + strings.Join(slices.Sorted(maps.Keys(packages)), "\n") + "\n)\n"
	return format.Source([]byte(strings.Replace(all, "package redislock\n", imported, 1)))
}

// importName is how a file that imports the path names it.
func importName(of string) string {
	if dir, last := path.Split(of); dir != "" && last[0] == 'v' && strings.Trim(last[1:], "0123456789") == "" {
		of = path.Clean(dir)
	}
	return strings.TrimPrefix(path.Base(of), "go-")
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
	for _, tt := range []struct {
		without    []string
		body, want string // want is the source without its package clause, or an error
	}{
		{[]string{"ErrB"}, "func send() error { return help() }\n\nfunc help() error { return ErrA }\n", `import (
	"errors"
)

var (
	ErrA = errors.New("a") // the first
)

// Lock is a handle.
type Lock struct{}

// TryLock tries.
func (l *Lock) TryLock() error { return send() }

func send() error { return help() }

func help() error { return ErrA }
`},
		{[]string{"send"}, "import \"math/rand\"\n\nvar ErrB error\n\nfunc (Lock) TryLock() error {\n\trand.Int()\n\tos.Exit(1)\n\treturn ErrB\n}", `import (
	"errors"
	"math/rand"
	"os"
)

var (
	ErrA = errors.New("a") // the first
)

// Lock is a handle.
type Lock struct{}

var ErrB error

func (Lock) TryLock() error {
	rand.Int()
	os.Exit(1)
	return ErrB
}
`},
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
		want, err := format.Source([]byte("package redislock\n\n" + tt.want))
		require.NoError(t, err)
		blank := func(text string) string { return strings.ReplaceAll(text, "\n\n", "\n") }
		require.Equal(t, blank(string(want)), blank(strings.ReplaceAll(string(got), "\n\n\n", "\n\n")))
	}
}

package main

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/source"
)

// A mutant is a lock with one change, and how the stories end on it.
type mutant struct {
	n    int // from 1
	file string
	line int    // on which the change begins
	name string // wherever that line is: the declaration, the change, and which of the same

	fate  fate
	story string // that notices
	says  string // its message, or why no story notices
}

// mutants finds the mutants of the lock in a folder, those of lock.go first. All are compiled at
// once: the files take the place of the lock's, with a switch for each mutant, and the variable
// env turns one on, by its number.
func mutants(dir string) (list []mutant, files map[string][]byte, err error) {
	names, err1 := source.Files(dir)
	lookup, err2 := exports(dir)
	if err := cmp.Or(err1, err2); err != nil {
		return nil, nil, err
	}
	g := &generator{fset: token.NewFileSet(), info: &types.Info{Types: map[ast.Expr]types.TypeAndValue{}}}
	texts, trees := make([][]byte, len(names)), make([]*ast.File, len(names))
	for i, name := range names {
		if texts[i], err = os.ReadFile(filepath.Join(dir, name)); err != nil {
			return nil, nil, err
		}
		if trees[i], err = parser.ParseFile(g.fset, name, texts[i], parser.SkipObjectResolution); err != nil {
			return nil, nil, err
		}
	}
	conf := types.Config{Importer: importer.ForCompiler(g.fset, "gc", lookup)}
	if g.pkg, err = conf.Check(trees[0].Name.Name, g.fset, trees, g.info); err != nil {
		return nil, nil, err
	}
	files = map[string][]byte{}
	for i, name := range names {
		g.name, g.src, g.edits = name, texts[i], nil
		g.file(trees[i])
		files[name] = g.source()
	}
	same := map[string]int{}
	for i := range g.mutants {
		m := &g.mutants[i]
		if same[m.name]++; same[m.name] > 1 {
			m.name += fmt.Sprintf(" (%d)", same[m.name])
		}
	}
	files["mutant_test.go"] = fmt.Appendf(nil, switches, g.pkg.Name(), env, len(g.mutants)+1, spins, reached)
	return g.mutants, files, nil
}

// exports finds what the compiler knows of the packages that a package imports.
func exports(dir string) (importer.Lookup, error) {
	cmd := exec.Command("go", "list", "-export", "-deps", "-f", "{{.ImportPath}}\t{{.Export}}", ".")
	cmd.Dir, cmd.Stderr = dir, os.Stderr
	out, err := cmd.Output()
	files := map[string]string{}
	for line := range strings.Lines(string(out)) {
		name, file, _ := strings.Cut(strings.TrimSpace(line), "\t")
		files[name] = file
	}
	return func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }, err
}

const (
	env     = "REDISLOCK_MUTANT"
	reached = "mutants reached:" // and then their numbers
	// A mutant that goes round without asking Redis would let no virtual time pass.
	spins = "this mutant goes round and round"
)

const switches = `package %s

import (
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
)

var (
	mutantNow, _  = strconv.Atoi(os.Getenv(%q))
	mutantReached [%d]atomic.Bool
	mutantAsked   atomic.Int64
)

func mutantIs(n int) bool {
	if mutantAsked.Add(1) == 20_000_000 { // more than any story asks
		panic(%q)
	}
	mutantReached[n].Store(true)
	return n == mutantNow
}

func mutantPick[T any](n int, is, would T) T {
	if mutantIs(n) {
		return would
	}
	return is
}

func mutantZero[T any](n int, is T) T { return mutantPick(n, is, *new(T)) }

func TestMain(m *testing.M) {
	code := m.Run()
	fmt.Print(%q)
	for n := range mutantReached {
		if mutantReached[n].Load() {
			fmt.Print(" ", n)
		}
	}
	fmt.Println()
	os.Exit(code)
}
`

// A generator finds the mutants of a file, and makes edits for them.
type generator struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	mutants []mutant // with those of the files before

	name  string
	src   []byte
	in    string // the declaration at hand
	edits []edit
}

// An edit puts text at an offset of the source.
type edit struct {
	at, order int
	text      string
}

// source is the source with the switches.
func (g *generator) source() (out []byte) {
	slices.SortStableFunc(g.edits, func(a, b edit) int { return cmp.Or(a.at-b.at, a.order-b.order) })
	last := 0
	for _, e := range g.edits {
		out = append(append(out, g.src[last:e.at]...), e.text...)
		last = e.at
	}
	return append(out, g.src[last:]...)
}

func (g *generator) offset(p token.Pos) int { return g.fset.Position(p).Offset }

func (g *generator) text(n ast.Node) string {
	return string(g.src[g.offset(n.Pos()):g.offset(n.End())])
}

// short is code in one line, without what a block has inside.
func (g *generator) short(n ast.Node) string {
	text := g.text(n)
	first, rest, more := strings.Cut(text, "\n")
	if !more {
		return text
	}
	first, _, _ = strings.Cut(first, " //")
	if !strings.HasSuffix(first, "{") {
		return strings.Join(strings.Fields(text), " ")
	}
	_, end, _ := strings.Cut(rest[strings.LastIndex(rest, "\n")+1:], "}")
	return first + " ... }" + end
}

// change is a new mutant at a node, with text around the node that makes it; in that, § is its
// number, and in what it is, § is the node. Its callers go from the outside to the inside: the
// earlier of two changes is the outer one, even of the same node. So at an offset, what ends comes
// first, the inner before the outer, and then what begins, the outer first.
func (g *generator) change(n ast.Node, what, before, after string) *mutant {
	count, order := len(g.mutants)+1, len(g.edits)+1
	number := strconv.Itoa(count)
	g.edits = append(g.edits,
		edit{g.offset(n.Pos()), order, strings.ReplaceAll(before, "§", number)},
		edit{g.offset(n.End()), -order, strings.ReplaceAll(after, "§", number)})
	what = strings.ReplaceAll(what, "§", g.short(n))
	g.mutants = append(g.mutants, mutant{n: count, file: g.name, line: g.fset.Position(n.Pos()).Line, name: g.in + ": " + what})
	return &g.mutants[count-1]
}

// skip does not do a statement.
func (g *generator) skip(s ast.Stmt) { g.change(s, "without `§`", "if !mutantIs(§) { ", " }") }

// pick is another value instead of an expression, which is not evaluated then.
func (g *generator) pick(e ast.Expr, typ types.Type, would string) {
	before := "func() " + g.typeName(typ) + " { if mutantIs(§) { return " + would + " }; return "
	g.change(e, "`"+would+"` instead of `§`", before, " }()")
}

// drop is another value instead of an expression, which is still evaluated.
func (g *generator) drop(e ast.Expr, what, would string) *mutant {
	return g.change(e, what, "mutantPick(§, ", ", "+would+")")
}

// zero is as if the expression were not there: was is what it is a part of.
func (g *generator) zero(e ast.Expr, was string) {
	g.change(e, "without `"+was+"`", "mutantZero(§, ", ")")
}

func (g *generator) typeOf(e ast.Expr) types.Type { return g.info.Types[e].Type }

// typeName is a type as a file writes it that imports its package.
func (g *generator) typeName(t types.Type) string {
	return types.TypeString(types.Default(t), func(p *types.Package) string {
		if p == g.pkg {
			return ""
		}
		return p.Name()
	})
}

// is reports whether a type is of a kind: a truth value, a number.
func is(t types.Type, kind types.BasicInfo) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&kind != 0
}

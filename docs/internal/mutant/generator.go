package mutant

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// A generator finds the mutants of a file, and makes edits for them.
type generator struct {
	fset    *token.FileSet
	info    *types.Info
	pkg     *types.Package
	mutants []Mutant // with those of the files before

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
func (g *generator) line(p token.Pos) int   { return g.fset.Position(p).Line }

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

// change is a new mutant at a node, with text around the node that makes it; § in that is
// its number. Its callers go from the outside to the inside: the earlier of two changes is
// the outer one, even of the same node. So at an offset, what ends comes first, the inner
// before the outer, and then what begins, the outer first.
func (g *generator) change(n ast.Node, kind Kind, now, before, after string) *Mutant {
	number, order := len(g.mutants)+1, len(g.edits)+1
	g.edits = append(g.edits,
		edit{g.offset(n.Pos()), order, numbered(before, number)},
		edit{g.offset(n.End()), -order, numbered(after, number)})
	g.mutants = append(g.mutants, Mutant{number, g.name, g.line(n.Pos()), g.in, kind, g.short(n), now, 0})
	return &g.mutants[number-1]
}

func numbered(text string, n int) string { return strings.ReplaceAll(text, "§", strconv.Itoa(n)) }

// skip does not do a statement.
func (g *generator) skip(s ast.Stmt) { g.change(s, Out, "", "if !mutantIs(§) { ", " }") }

// pick is another value instead of an expression, which is not evaluated then.
func (g *generator) pick(e ast.Expr, typ types.Type, would string) {
	before := "func() " + g.typeName(typ) + " { if mutantIs(§) { return " + would + " }; return "
	g.change(e, Instead, would, before, " }()")
}

// drop is another value instead of an expression, which is still evaluated.
func (g *generator) drop(e ast.Expr, kind Kind, would string) *Mutant {
	return g.change(e, kind, "", "mutantPick(§, ", ", "+would+")")
}

// zero is as if the expression were not there: was is what it is a part of.
func (g *generator) zero(e ast.Expr, was string) {
	g.change(e, Out, "", "mutantZero(§, ", ")").Was = was
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

package main

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strconv"
	"strings"
)

// file changes the functions and the scripts of a file. Other constants are what they are, and the
// texts of errors are for people.
func (g *generator) file(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			if value, ok := d.Specs[0].(*ast.ValueSpec); ok && strings.HasSuffix(value.Names[0].Name, "Script") {
				g.in = value.Names[0].Name
				copy(g.src[g.offset(d.Pos()):], "var  ") // a switch is not constant
				g.script(value.Values[0].(*ast.BasicLit))
			}
		case *ast.FuncDecl:
			g.in = d.Name.Name
			if d.Recv != nil {
				g.in = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + g.in
			}
			if d.Name.Name != "Error" {
				g.stmts(d.Body.List)
			}
		}
	}
}

func (g *generator) stmts(list []ast.Stmt) {
	for _, s := range list {
		switch assign := s.(type) {
		case *ast.ExprStmt, *ast.SendStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.RangeStmt:
			g.skip(s)
		case *ast.AssignStmt:
			if assign.Tok != token.DEFINE {
				g.skip(s)
			}
		}
		g.walk(s)
	}
}

// body is what a condition guards. To take out its only statement is to make the
// condition false.
func (g *generator) body(list []ast.Stmt) {
	if len(list) != 1 {
		g.stmts(list)
		return
	}
	g.walk(list[0])
}

// walk changes the parts of a statement or an expression.
func (g *generator) walk(n ast.Node) { ast.Inspect(n, g.visit) }

// visit reports whether the parts of n are still to be changed.
func (g *generator) visit(n ast.Node) bool {
	if e, ok := n.(ast.Expr); ok && g.info.Types[e].Value != nil {
		if would := map[string]string{"true": "false", "false": "true"}[g.text(e)]; would != "" {
			g.pick(e, types.Typ[types.Bool], would)
		}
		return false // other constants are what they are
	}
	switch n := n.(type) {
	case *ast.BlockStmt:
		g.stmts(n.List)
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		if ok {
			g.arguments(call)
		}
		return !ok
	case *ast.AssignStmt:
		g.assign(n)
	case *ast.ReturnStmt:
		for _, e := range n.Results {
			g.result(e)
		}
	case *ast.IfStmt:
		if n.Init != nil {
			g.walk(n.Init)
		}
		g.condition(n.Cond)
		g.body(n.Body.List)
		if n.Else != nil {
			g.walk(n.Else)
		}
	case *ast.CaseClause:
		for _, cond := range n.List {
			g.condition(cond)
		}
		g.body(n.Body)
	case *ast.CommClause:
		g.communication(n)
		g.body(n.Body)
	case *ast.CallExpr:
		g.call(n)
	case *ast.BinaryExpr:
		g.binary(n)
		return true
	default:
		return true
	}
	return false
}

func (g *generator) assign(s *ast.AssignStmt) {
	for i, e := range s.Rhs {
		if s.Tok == token.DEFINE && g.isPlain(e) {
			g.zero(e, g.text(s.Lhs[i])+" := "+g.short(e))
		}
		g.walk(e)
	}
}

// isPlain reports whether the zero value of an expression's type means "none": otherwise
// the program would only crash. A constant has a reason to be there.
func (g *generator) isPlain(e ast.Expr) bool {
	switch tv := g.info.Types[e]; tv.Type.Underlying().(type) {
	case *types.Basic:
		return tv.Value == nil
	case *types.Struct:
		_, literal := e.(*ast.CompositeLit)
		return !literal
	}
	return false
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// result changes what is returned.
func (g *generator) result(e ast.Expr) {
	tv := g.info.Types[e]
	if is(tv.Type, types.IsBoolean) && tv.Value == nil {
		g.condition(e)
		return
	}
	if types.Implements(tv.Type, errorType) {
		g.change(e, "nil instead of `§`", "mutantPick[error](§, ", ", nil)")
	}
	g.walk(e)
}

// condition makes an expression false, or true.
func (g *generator) condition(e ast.Expr) {
	g.change(e, "as if `§` were never true", "((", ") && !mutantIs(§))")
	// Always to fail teaches nothing.
	if g.text(e) != "err != nil" && !strings.HasSuffix(g.in, "validate") {
		g.change(e, "as if `§` were always true", "((", ") || mutantIs(§))")
	}
	g.walk(e)
}

// communication lets a case of a select never be ready.
func (g *generator) communication(c *ast.CommClause) {
	var from ast.Expr
	switch s := c.Comm.(type) {
	case *ast.ExprStmt:
		from = s.X
	case *ast.AssignStmt:
		from = s.Rhs[0]
	default:
		return
	}
	channel := from.(*ast.UnaryExpr).X
	g.zero(channel, "case "+g.short(c.Comm))
	g.walk(channel)
}

func (g *generator) binary(e *ast.BinaryExpr) {
	switch would := limits[e.Op]; {
	case e.Op == token.LAND || e.Op == token.LOR:
		without := map[token.Token]string{token.LAND: " || mutantIs(§))", token.LOR: " && !mutantIs(§))"}[e.Op]
		for _, part := range []ast.Expr{e.X, e.Y} {
			g.change(part, "without `§`", "(", without)
		}
	case would != "":
		g.pick(e, types.Typ[types.Bool], g.short(e.X)+" "+would+" "+g.short(e.Y))
	case slices.Contains([]token.Token{token.ADD, token.SUB, token.QUO, token.MUL}, e.Op) && is(g.typeOf(e), types.IsNumeric):
		for _, part := range []ast.Expr{e.X, e.Y} {
			if (part == e.X || e.Op == token.ADD) && g.info.Types[part].Value == nil {
				g.pick(e, g.typeOf(e), g.short(part))
			}
		}
	}
}

var limits = map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}

// call changes what a call is asked for, and leaves it out: f(x) is x, x.M() is x, if their types
// are the same. Of a context with its own end, only the end is left out.
func (g *generator) call(e *ast.CallExpr) {
	whole, name := g.typeOf(e), types.ExprString(e.Fun)
	if name == "fmt.Errorf" {
		g.wraps(e)
	}
	if name == "fmt.Errorf" || name == "make" {
		return
	}
	if name == "min" || name == "max" {
		for _, arg := range e.Args {
			g.pick(e, whole, g.short(arg))
		}
	}
	same := func(part ast.Expr) bool { return g.typeOf(part) != nil && types.Identical(g.typeOf(part), whole) }
	fn, isMethod := e.Fun.(*ast.SelectorExpr)
	switch {
	case whole == nil || is(whole, types.IsBoolean):
	case whole.String() == "(context.Context, context.CancelFunc)": // WithCancel names its results
		g.pick(e, whole, "context.WithCancel("+g.short(e.Args[0])+")")
	case isMethod && same(fn.X):
		g.pick(e, whole, g.short(fn.X))
	case len(e.Args) == 1 && same(e.Args[0]):
		g.pick(e, whole, g.short(e.Args[0]))
	}
	g.arguments(e)
}

// arguments changes what is in a call.
func (g *generator) arguments(e *ast.CallExpr) {
	g.walk(e.Fun)
	for _, arg := range e.Args {
		g.walk(arg)
	}
}

// wraps lets errors.Is no longer find what an error wraps.
func (g *generator) wraps(e *ast.CallExpr) {
	lit, ok := e.Args[0].(*ast.BasicLit)
	if !ok {
		return
	}
	parts, nested := strings.Split(lit.Value, "%w"), 0
	for i, verb := range strings.Split(lit.Value, "%")[1:] {
		if verb[0] != 'w' {
			continue
		}
		nested++
		text := strings.Join(parts[:nested], "%w") + "%v" + strings.Join(parts[nested:], "%w")
		g.drop(lit, "`%v` instead of `%w` for `"+g.short(e.Args[1+i])+"`", text)
	}
}

// script changes a Lua script, line by line.
func (g *generator) script(lit *ast.BasicLit) {
	text, _ := strconv.Unquote(lit.Value) // it was parsed
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		for _, c := range luaChanges(line) {
			changed := strings.Join(slices.Concat(lines[:i], []string{c.line}, lines[i+1:]), "\n")
			g.drop(lit, c.what, strconv.Quote(changed)).line += i
		}
	}
}

// A luaChange is what can happen to a line.
type luaChange struct{ what, line string }

func luaChanges(line string) (list []luaChange) {
	add := func(what, would string) { list = append(list, luaChange{what, would}) }
	test := func(before, cond, after string) {
		add("as if `"+cond+"` were never true", before+"false"+after)
		add("as if `"+cond+"` were always true", before+"true"+after)
		parts := strings.Split(cond, " and ")
		for i, part := range parts {
			if rest := slices.Concat(parts[:i], parts[i+1:]); len(rest) > 0 {
				add("without `"+part+"`", before+strings.Join(rest, " and ")+after)
			}
		}
	}
	code, _, _ := strings.Cut(strings.TrimSpace(line), " --")
	word, rest, _ := strings.Cut(code, " ")
	name, value, _ := strings.Cut(rest, " = ")
	switch {
	case word == "if":
		cond, then, _ := strings.Cut(rest, " then")
		test("if ", cond, " then"+then)
	case word == "local" && strings.Contains(value, " and "):
		test("local "+name+" = ", value, "")
	case word == "return" && (rest == "0" || strings.HasPrefix(rest, "redis.call")):
		add("`return 1` instead of `"+code+"`", "return 1")
	case word == "return":
		add("`return 0` instead of `"+code+"`", "return 0")
	case strings.HasPrefix(code, "redis."):
		add("without `"+code+"`", "")
		if call, ok := strings.CutPrefix(code, "redis.pcall"); ok {
			add("`call` instead of `pcall`", "redis.call"+call)
		}
	}
	return list
}

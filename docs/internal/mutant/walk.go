package mutant

import (
	"go/ast"
	"go/token"
	"go/types"
	"strings"
)

func (g *generator) file(f *ast.File) {
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.GenDecl:
			g.declaration(d)
		case *ast.FuncDecl:
			g.in = d.Name.Name
			if d.Recv != nil {
				g.in = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + g.in
			}
			if d.Name.Name != "Error" { // its text is for people
				g.stmts(d.Body.List)
			}
		}
	}
}

// declaration changes a script. Other constants, and the texts of the errors, are what they are.
func (g *generator) declaration(d *ast.GenDecl) {
	value, ok := d.Specs[0].(*ast.ValueSpec)
	if !ok || !strings.HasSuffix(value.Names[0].Name, "Script") {
		return
	}
	g.in = value.Names[0].Name
	copy(g.src[g.offset(d.Pos()):], "var  ") // a switch is not constant
	g.script(value.Values[0].(*ast.BasicLit))
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
		g.flip(e)
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
	case *ast.BinaryExpr:
		g.binary(n)
		return true
	case *ast.CallExpr:
		g.call(n)
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
		g.change(e, Silent, "", "mutantPick[error](§, ", ", nil)")
	}
	g.walk(e)
}

func (g *generator) flip(e ast.Expr) {
	if would := map[string]string{"true": "false", "false": "true"}[g.text(e)]; would != "" {
		g.pick(e, types.Typ[types.Bool], would)
	}
}

// condition makes an expression false, or true.
func (g *generator) condition(e ast.Expr) {
	g.change(e, Never, "", "((", ") && !mutantIs(§))")
	// Always to fail teaches nothing.
	if g.text(e) != "err != nil" && !strings.HasSuffix(g.in, "validate") {
		g.change(e, Always, "", "((", ") || mutantIs(§))")
	}
	g.walk(e)
}

// communication lets a case of a select never be ready.
func (g *generator) communication(c *ast.CommClause) {
	var channel ast.Expr
	switch s := c.Comm.(type) {
	case *ast.ExprStmt:
		channel = s.X.(*ast.UnaryExpr).X
	case *ast.AssignStmt:
		channel = s.Rhs[0].(*ast.UnaryExpr).X
	default:
		return
	}
	g.zero(channel, "case "+g.short(c.Comm))
	g.walk(channel)
}

func (g *generator) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LAND, token.LOR:
		without := map[token.Token]string{token.LAND: " || mutantIs(§))", token.LOR: " && !mutantIs(§))"}[e.Op]
		for _, part := range []ast.Expr{e.X, e.Y} {
			g.change(part, Out, "of "+g.short(e), "(", without)
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		would := map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}[e.Op]
		g.pick(e, types.Typ[types.Bool], g.short(e.X)+" "+would+" "+g.short(e.Y))
	case token.ADD, token.SUB, token.QUO, token.MUL:
		t := g.typeOf(e)
		if is(t, types.IsNumeric) && g.info.Types[e.X].Value == nil {
			g.pick(e, t, g.short(e.X))
		}
		if is(t, types.IsNumeric) && e.Op == token.ADD && g.info.Types[e.Y].Value == nil {
			g.pick(e, t, g.short(e.Y))
		}
	}
}

// call changes what a call is asked for.
func (g *generator) call(e *ast.CallExpr) {
	switch types.ExprString(e.Fun) {
	case "fmt.Errorf":
		g.wraps(e)
		return
	case "make":
		return
	case "min", "max":
		for _, arg := range e.Args {
			g.pick(e, g.typeOf(e), g.short(arg))
		}
	}
	g.otherCall(e)
	g.arguments(e)
}

// arguments changes what is in a call.
func (g *generator) arguments(e *ast.CallExpr) {
	g.walk(e.Fun)
	for _, arg := range e.Args {
		g.walk(arg)
	}
}

// otherCall leaves a call out: f(x) is x, x.M() is x, if their types are the same. Of a
// context with its own end, only the end is left out.
func (g *generator) otherCall(e *ast.CallExpr) {
	whole := g.typeOf(e)
	if whole == nil || is(whole, types.IsBoolean) {
		return
	}
	same := func(part ast.Expr) bool { return g.typeOf(part) != nil && types.Identical(g.typeOf(part), whole) }
	fn, isMethod := e.Fun.(*ast.SelectorExpr)
	switch {
	case whole.String() == "(context.Context, context.CancelFunc)": // WithCancel names its results
		g.pick(e, whole, "context.WithCancel("+g.short(e.Args[0])+")")
	case isMethod && same(fn.X):
		g.pick(e, whole, g.short(fn.X))
	case len(e.Args) == 1 && same(e.Args[0]):
		g.pick(e, whole, g.short(e.Args[0]))
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
		g.drop(lit, Unwrapped, text).Was = g.short(e.Args[1+i])
	}
}

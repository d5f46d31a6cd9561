package mutant

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/constant"
	"go/scanner"
	"go/token"
	"go/types"
	"strings"
	"time"
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
			if d.Name.Name == "Error" {
				g.message(d.Body)
				continue
			}
			g.stmts(d.Body.List)
		}
	}
}

// declaration changes scripts and constants. The texts of the errors are for readers.
func (g *generator) declaration(d *ast.GenDecl) {
	for _, spec := range d.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok || len(value.Values) != 1 {
			continue
		}
		g.in = value.Names[0].Name
		if call, ok := value.Values[0].(*ast.CallExpr); ok && strings.HasSuffix(g.text(call.Fun), "NewScript") {
			g.script(call.Args[0].(*ast.BasicLit))
			continue
		}
		if d.Tok == token.CONST && !d.Lparen.IsValid() {
			// The keyword is as long as the comment that takes its place is short.
			at := g.offset(d.Pos())
			g.edits = append(g.edits, edit{at, 0, "var /*"}, edit{at + len("const"), 0, "*/"})
			g.constant(value.Values[0])
		}
	}
}

// message empties the text of an error.
func (g *generator) message(body *ast.BlockStmt) {
	ret, ok := body.List[len(body.List)-1].(*ast.ReturnStmt)
	if ok && len(ret.Results) == 1 {
		g.zero(ret.Results[0], Instead, errorText, `""`)
	}
}

func (g *generator) stmts(list []ast.Stmt) {
	for i, s := range list {
		if i+1 < len(list) {
			g.later(s, list[i+1])
		}
		switch assign := s.(type) {
		case *ast.ExprStmt, *ast.SendStmt, *ast.IncDecStmt, *ast.DeferStmt, *ast.GoStmt, *ast.RangeStmt, *ast.BranchStmt:
			g.out(s)
		case *ast.AssignStmt:
			if assign.Tok != token.DEFINE {
				g.out(s)
			}
		}
		g.walk(s)
	}
}

func (g *generator) out(s ast.Stmt) {
	n := g.add(s, Out, g.short(s), "")
	g.around(s, fmt.Sprintf("if !mutantIs(%d) { ", n), " }")
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

// later lets a statement come after the next one, where both do something to others. A
// guard that returns has to come first, or it is none: that is another mutant.
func (g *generator) later(s, next ast.Stmt) {
	if !g.acts(s) || !g.calls(next) || g.returns(s) {
		return
	}
	if _, ok := next.(*ast.ReturnStmt); ok {
		return
	}
	n := g.add(s, Later, g.short(s), g.short(next))
	g.mutants[n-1].Last = g.line(next.End())
	g.around(s, fmt.Sprintf("if !mutantIs(%d) { ", n), " }")
	end := g.offset(next.End())
	g.edits = append(g.edits, edit{end, outermost / 2, fmt.Sprintf("; if mutantIs(%d) { %s }", n, inOneLine(g.text(s)))})
}

// inOneLine keeps the lines of the file as they are. It leaves out comments at their ends.
func inOneLine(code string) (line string) {
	file := token.NewFileSet().AddFile("", -1, len(code))
	var s scanner.Scanner
	s.Init(file, []byte(code), nil, 0)
	for end := 0; ; {
		pos, tok, word := s.Scan()
		at := file.Offset(pos)
		gap := code[end:at]
		if strings.Contains(gap, "\n") {
			gap = " "
		}
		switch end = at; {
		case tok == token.EOF:
			return strings.TrimSuffix(line, ";")
		case word == "\n": // the semicolon that a line's end stands for
			line += ";"
		default:
			word = cmp.Or(word, tok.String())
			line, end = line+gap+word, at+len(word)
		}
	}
}

// acts reports whether a statement calls or keeps something, and declares nothing.
func (g *generator) acts(s ast.Stmt) bool {
	switch s := s.(type) {
	case *ast.ExprStmt, *ast.IfStmt:
		return g.calls(s)
	case *ast.AssignStmt:
		_, field := s.Lhs[0].(*ast.SelectorExpr)
		return s.Tok != token.DEFINE && (field || g.calls(s))
	}
	return false
}

func (g *generator) returns(s ast.Stmt) (found bool) {
	ast.Inspect(s, func(n ast.Node) bool {
		switch n.(type) {
		case *ast.ReturnStmt, *ast.BranchStmt:
			found = true
		case *ast.FuncLit:
			return false
		}
		return true
	})
	return found
}

func (g *generator) calls(n ast.Node) (found bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok {
			id, _ := call.Fun.(*ast.Ident)
			found = found || id == nil || id.Name != "max" && id.Name != "min" && id.Name != "len" && id.Name != "make"
		}
		return true
	})
	return found
}

// walk changes the parts of a statement or an expression.
func (g *generator) walk(n ast.Node) { ast.Inspect(n, g.visit) }

// visit reports whether the parts of n are still to be changed.
func (g *generator) visit(n ast.Node) bool {
	if e, ok := n.(ast.Expr); ok && g.info.Types[e].Value != nil {
		g.flip(e)
		return false // other constants where it is known what they mean
	}
	switch n := n.(type) {
	case *ast.DeclStmt, *ast.IndexExpr, *ast.SliceExpr:
	case *ast.BlockStmt:
		g.stmts(n.List)
	case *ast.ExprStmt:
		call, ok := n.X.(*ast.CallExpr)
		if ok {
			g.arguments(call)
		}
		return !ok
	case *ast.GoStmt:
		g.around(n, fmt.Sprintf("if mutantIs(%d) { %s } else { ", g.add(n, Instead, "go", noGo), inOneLine(g.text(n.Call))), " }")
		return true
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
		id, _ := s.Lhs[min(i, len(s.Lhs)-1)].(*ast.Ident)
		if s.Tok == token.DEFINE && len(s.Rhs) == len(s.Lhs) && id != nil && g.isPlain(e) {
			g.zero(e, Out, g.text(id)+" := "+g.short(e), "")
		}
		g.walk(e)
	}
}

// isPlain reports whether the zero value of an expression's type means "none": otherwise
// the program would only crash. Constants have their own mutants.
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

func (g *generator) zero(e ast.Expr, kind Kind, was, now string) {
	n := g.add(e, kind, was, now)
	g.around(e, fmt.Sprintf("mutantZero[%s](%d, ", g.typeName(g.typeOf(e)), n), ")")
}

func (g *generator) pick(e ast.Expr, typ types.Type, would string) {
	n := g.add(e, Instead, g.short(e), would)
	g.around(e, fmt.Sprintf("mutantPick[%s](%d, ", g.typeName(typ), n), ", "+would+")")
}

var errorType = types.Universe.Lookup("error").Type().Underlying().(*types.Interface)

// result changes what is returned.
func (g *generator) result(e ast.Expr) {
	tv := g.info.Types[e]
	// A pointer is to one of go-redis's commands: its Error method is of another kind.
	_, isPointer := tv.Type.(*types.Pointer)
	switch {
	case types.Implements(tv.Type, errorType) && !isPointer:
		n := g.add(e, Silent, g.short(e), "")
		g.around(e, fmt.Sprintf("mutantZero[error](%d, ", n), ")")
	case isBool(tv.Type) && tv.Value == nil:
		g.condition(e)
		return
	}
	g.walk(e)
}

func isBool(t types.Type) bool {
	b, ok := t.Underlying().(*types.Basic)
	return ok && b.Info()&types.IsBoolean != 0
}

func (g *generator) flip(e ast.Expr) {
	would := map[string]string{"true": "false", "false": "true"}[g.text(e)]
	if would != "" {
		g.pick(e, types.Typ[types.Bool], would)
	}
}

// condition makes an expression false, or true.
func (g *generator) condition(e ast.Expr) {
	n := g.add(e, Never, g.short(e), "")
	after := fmt.Sprintf(") && !mutantIs(%d))", n)
	// Always to fail teaches nothing.
	if g.text(e) != "err != nil" && !strings.HasSuffix(g.in, "validate") {
		m := g.add(e, Always, g.short(e), "")
		after = fmt.Sprintf(") && !mutantIs(%d) || mutantIs(%d))", n, m)
	}
	g.around(e, "((", after)
	g.walk(e)
}

// communication lets a case of a select never be ready.
func (g *generator) communication(c *ast.CommClause) {
	var channel ast.Expr
	switch s := c.Comm.(type) {
	case *ast.SendStmt:
		channel = s.Chan
		g.walk(s.Value)
	case *ast.ExprStmt:
		channel = s.X.(*ast.UnaryExpr).X
	case *ast.AssignStmt:
		channel = s.Rhs[0].(*ast.UnaryExpr).X
	default:
		return
	}
	n := g.addLines(g.line(c.Pos()), g.line(c.Colon), Out, "case "+g.short(c.Comm), "")
	g.around(channel, fmt.Sprintf("mutantZero[%s](%d, ", g.typeName(g.typeOf(channel)), n), ")")
	g.walk(channel)
}

func (g *generator) binary(e *ast.BinaryExpr) {
	switch e.Op {
	case token.LAND, token.LOR:
		for _, part := range []ast.Expr{e.X, e.Y} {
			n := g.add(part, Out, g.short(part), "")
			g.mutants[n-1].Now = "of " + g.short(e)
			if e.Op == token.LAND {
				g.around(part, "(", fmt.Sprintf(" || mutantIs(%d))", n))
			} else {
				g.around(part, "(", fmt.Sprintf(" && !mutantIs(%d))", n))
			}
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		would := map[token.Token]string{token.LSS: "<=", token.LEQ: "<", token.GTR: ">=", token.GEQ: ">"}[e.Op]
		g.pickBefore(e, types.Typ[types.Bool], inOneLine(g.text(e.X))+" "+would+" "+inOneLine(g.text(e.Y)))
	case token.ADD, token.SUB, token.QUO, token.MUL:
		t := g.typeOf(e)
		if b, ok := t.Underlying().(*types.Basic); !ok || b.Info()&types.IsNumeric == 0 {
			break
		}
		if g.info.Types[e.X].Value == nil {
			g.pick(e, t, inOneLine(g.text(e.X)))
		}
		if e.Op == token.ADD && g.info.Types[e.Y].Value == nil {
			g.pick(e, t, inOneLine(g.text(e.Y)))
		}
	}
}

// call changes what a call is asked for.
func (g *generator) call(e *ast.CallExpr) {
	name := types.ExprString(e.Fun)
	switch name {
	case "fmt.Errorf":
		g.wraps(e)
		return
	case "fmt.Sprintf":
		return
	case "errors.New":
		g.pick(e.Args[0], types.Typ[types.String], `""`)
		g.mutants[len(g.mutants)-1].Was = errorText
		return
	case "make", "semaphore.NewWeighted":
		for _, arg := range e.Args {
			g.constant(arg)
		}
		return
	case "min", "max":
		for _, arg := range e.Args {
			g.pick(e, g.typeOf(e), inOneLine(g.text(arg)))
		}
	}
	g.otherCall(e)
	g.arguments(e)
}

// arguments changes what is in a call.
func (g *generator) arguments(e *ast.CallExpr) {
	g.walk(e.Fun)
	sig, isFunc := g.typeOf(e.Fun).(*types.Signature)
	for i, arg := range e.Args {
		lit, isLit := arg.(*ast.CompositeLit)
		_, isStruct := g.typeOf(arg).Underlying().(*types.Struct)
		if isFunc && isLit && isStruct && len(lit.Elts) == 1 && i < sig.Params().Len() {
			g.pick(arg, sig.Params().At(i).Type(), g.text(lit.Elts[0]))
		} else {
			g.walk(arg)
		}
	}
}

// otherCall leaves a call out: f(x) is x, x.M() is x, if their types are the same. Of a
// context with its own end, only the end is left out.
func (g *generator) otherCall(e *ast.CallExpr) {
	if tuple, ok := g.typeOf(e).(*types.Tuple); ok && tuple.Len() == 2 && len(e.Args) > 0 {
		arg := inOneLine(g.text(e.Args[0]))
		if types.TypeString(tuple.At(1).Type(), nil) == "context.CancelFunc" && !strings.HasSuffix(g.text(e.Fun), "WithCancel") {
			n := g.add(e, Instead, g.short(e), "context.WithCancel("+arg+")")
			g.around(e, fmt.Sprintf("func() (context.Context, context.CancelFunc) { if mutantIs(%d) { return context.WithCancel(%s) }; return ", n, arg), " }()")
		}
		return
	}
	whole := g.typeOf(e)
	if whole == nil || isBool(whole) {
		return
	}
	if fn, ok := e.Fun.(*ast.SelectorExpr); ok && g.typeOf(fn.X) != nil && types.Identical(g.typeOf(fn.X), whole) {
		g.pickBefore(e, whole, inOneLine(g.text(fn.X)))
	} else if len(e.Args) == 1 && g.typeOf(e.Args[0]) != nil && types.Identical(g.typeOf(e.Args[0]), whole) && !g.info.Types[e.Fun].IsBuiltin() {
		g.pickBefore(e, whole, inOneLine(g.text(e.Args[0])))
	}
}

// pickBefore is pick for what may do something: that is not done when the mutant is on.
func (g *generator) pickBefore(e ast.Expr, typ types.Type, would string) {
	n := g.add(e, Instead, g.short(e), would)
	g.around(e, fmt.Sprintf("func() %s { if mutantIs(%d) { return %s }; return ", g.typeName(typ), n, would), " }()")
}

// wraps lets errors.Is no longer find what an error wraps.
func (g *generator) wraps(e *ast.CallExpr) {
	lit, ok := e.Args[0].(*ast.BasicLit)
	if !ok || !strings.Contains(lit.Value, "%w") {
		n := g.add(e, Instead, errorText, `""`)
		g.around(e, fmt.Sprintf("mutantPick[error](%d, ", n), `, fmt.Errorf(""))`)
		return
	}
	parts, nested := strings.Split(lit.Value, "%w"), 0
	for i, verb := range strings.Split(lit.Value, "%")[1:] {
		if verb[0] != 'w' {
			continue
		}
		nested++
		text := strings.Join(parts[:nested], "%w") + "%v" + strings.Join(parts[nested:], "%w")
		n := g.addLines(g.line(e.Pos()), g.line(e.End()), Instead, wrapped+g.short(e.Args[1+i]), "%v")
		g.around(lit, fmt.Sprintf("mutantPick[string](%d, ", n), ", "+text+")")
	}
	for _, arg := range e.Args[1:] {
		g.walk(arg)
	}
}

// constant changes a number: a time becomes ten times as long, and how many of something
// there are becomes none, or two instead of one where none would only crash.
func (g *generator) constant(e ast.Expr) {
	tv := g.info.Types[e]
	if tv.Value == nil || tv.Value.Kind() != constant.Int {
		return
	}
	name, would := types.TypeString(types.Default(tv.Type), nil), "0"
	n, _ := constant.Int64Val(tv.Value)
	switch {
	case name == "time.Duration":
		would = fmt.Sprint(10 * n)
	case n == 1 && name == "int64": // of a semaphore
		would = "2"
	}
	g.pick(e, tv.Type, would)
	if name == "time.Duration" {
		g.mutants[len(g.mutants)-1].Now = time.Duration(10 * n).String()
	}
}

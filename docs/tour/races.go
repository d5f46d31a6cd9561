package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"maps"
	"slices"
)

// racyField returns a field of Lock that a method writes although neither it nor each method
// that calls it keeps other goroutines out; "" if there is none. It looks for a mutex or a
// channel in the whole method: it rather misses a race than finds one that is none.
func racyField(src lock) string {
	plain, methods, elsewhere := map[string]bool{}, map[string]*method{}, map[string]bool{}
	for _, name := range src.names() {
		f, err := parser.ParseFile(token.NewFileSet(), name, src[name], 0)
		if err != nil {
			return "" // the compiler explains it better
		}
		ast.Inspect(f, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				if s, ok := n.Type.(*ast.StructType); ok && n.Name.Name == "Lock" {
					for _, f := range s.Fields.List {
						for _, name := range f.Names {
							plain[name.Name] = isPlain(f.Type)
						}
					}
				}
			case *ast.FuncDecl:
				if self := receiver(n); self != "" {
					methods[n.Name.Name] = readMethod(n, self)
					return false
				}
			case *ast.SelectorExpr: // in another function, which may keep others out
				elsewhere[n.Sel.Name] = !n.Sel.IsExported()
			}
			return true
		})
	}
	for range methods { // so many can call one another
		for name, m := range methods {
			callers := 0
			alone := slices.ContainsFunc(slices.Collect(maps.Values(methods)), func(by *method) bool {
				calls := slices.Contains(by.calls, name)
				callers += boolean(calls)
				return calls && !by.excludes
			})
			enters := func(name string) bool { return methods[name] != nil && methods[name].enters }
			m.enters = m.enters || slices.ContainsFunc(m.calls, enters)
			m.excludes = m.excludes || m.enters || elsewhere[name] || callers > 0 && !alone
		}
	}
	for _, name := range slices.Sorted(maps.Keys(methods)) {
		for _, field := range methods[name].writes {
			if plain[field] && !methods[name].excludes {
				return field
			}
		}
	}
	return ""
}

// A method is what one of Lock does.
type method struct {
	writes, calls    []string // fields of the Lock, and methods
	enters, excludes bool     // it uses a mutex or a channel; it runs in one at a time
}

// receiver is the name that a method of Lock has for it, "" if it has none.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil || fn.Body == nil || len(fn.Recv.List[0].Names) == 0 {
		return ""
	}
	if types.ExprString(fn.Recv.List[0].Type) != "*Lock" {
		return ""
	}
	return fn.Recv.List[0].Names[0].Name
}

// entering are the methods of what lets only one in.
var entering = []string{"Lock", "TryLock", "Acquire", "TryAcquire", "Do"}

func readMethod(fn *ast.FuncDecl, self string) *method {
	m := &method{}
	own := func(e ast.Expr) string { // the field or method of this Lock that e names
		s, ok := e.(*ast.SelectorExpr)
		if !ok {
			return ""
		}
		if x, ok := s.X.(*ast.Ident); !ok || x.Name != self {
			return ""
		}
		return s.Sel.Name
	}
	writes := func(e ast.Expr) {
		if i, ok := e.(*ast.IndexExpr); ok {
			e = i.X
		}
		m.writes = append(m.writes, own(e))
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				writes(e)
			}
		case *ast.IncDecStmt:
			writes(n.X)
		case *ast.SendStmt:
			m.enters = m.enters || own(n.Chan) != ""
		case *ast.UnaryExpr:
			m.enters = m.enters || n.Op == token.ARROW && own(n.X) != ""
		case *ast.CallExpr:
			s, ok := n.Fun.(*ast.SelectorExpr)
			m.enters = m.enters || ok && own(s) == "" && slices.Contains(entering, s.Sel.Name)
		case *ast.SelectorExpr: // called, or handed to time.AfterFunc
			m.calls = append(m.calls, own(n))
		}
		return true
	})
	return m
}

// isPlain reports whether a field is one that an assignment writes, and not a lock itself.
func isPlain(of ast.Expr) bool {
	switch of := of.(type) {
	case *ast.ChanType:
		return false
	case *ast.StarExpr:
		return isPlain(of.X)
	case *ast.IndexExpr: // atomic.Pointer[hold]
		return isPlain(of.X)
	case *ast.SelectorExpr:
		pkg, ok := of.X.(*ast.Ident)
		return !ok || !slices.Contains([]string{"sync", "atomic", "semaphore"}, pkg.Name)
	}
	return true
}

package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"slices"
	"strings"
)

// advice says what no story can see of a lock that passes them all, and the source shows:
// one sentence each. It is silent about the reference solutions. broken is what breaks a rule.
func advice(src lock, step int) (broken, list []string) {
	var s surveyed
	for _, text := range src {
		f, err := parser.ParseFile(token.NewFileSet(), "", text, parser.SkipObjectResolution)
		if err != nil {
			return nil, nil // the compiler explains it better
		}
		s.survey(f)
	}
	for _, a := range advices {
		switch {
		case step < a.from || !a.found(s):
		case a.rule:
			broken = append(broken, a.text)
		default:
			list = append(list, a.text)
		}
	}
	return broken, list
}

var advices = []struct {
	from  int  // the step in which it begins to matter
	rule  bool // it breaks a rule: the step is not solved
	found func(surveyed) bool
	text  string
}{
	{4, true, func(s surveyed) bool {
		return !s.imports("crypto/rand") && !slices.ContainsFunc(s.paths, func(p string) bool { return strings.Contains(p, "uuid") })
	}, "The token does not come from crypto/rand. No story can tell whether two processes on two machines will ever draw the same one, or whether " +
		"it can be guessed: read it from there (rand.Text, or 20 bytes in hexadecimal)."},
	{1, true, func(s surveyed) bool { return s.writesField && !s.synchronises() },
		"Lock is used by several goroutines, and a field of it is written without an atomic, a channel or a mutex. That is a data race: go test -race reports it."},
	{2, false, func(s surveyed) bool {
		return s.calls("ExpireAt") || s.calls("PExpireAt") || s.says("EXPIREAT") || s.says("PEXPIREAT") || s.says("PXAT") || s.says("EXAT")
	},
		"The time at which the lock ends is taken from the clock of the client. If that differs from the clock of Redis, the lock expires later or " +
			"earlier than its TTL says: send a duration, not a time."},
	{5, false, func(s surveyed) bool {
		return s.imports("context") && s.calls("Background") && !s.calls("WithoutCancel") && !s.calls("Subscribe")
	},
		"The release uses context.Background, which drops the values of the caller's context, a trace id for instance: context.WithoutCancel keeps them."},
	{6, false, func(s surveyed) bool { return s.calls("Publish") || s.says("PUBLISH") && !s.inScript("PUBLISH") },
		"PUBLISH is a separate command after the release. A client that dies between the two wakes no one, and the waiters sleep until the " +
			"lease would have ended: inside the script, both happen or neither."},
	{1, false, func(s surveyed) bool { return s.calls("GetDel") || s.says("GETDEL") }, "GETDEL needs Redis 6.2."},
	{1, false, func(s surveyed) bool { return s.setsGetNX }, "SET with both NX and GET needs Redis 7.0."},
	{1, false, func(s surveyed) bool { return s.calls("ExpireNX") || s.expireNX }, "EXPIRE and PEXPIRE with NX need Redis 7.0."},
	{1, false, func(s surveyed) bool {
		return s.calls("Println") || s.calls("Printf") || s.calls("Print") || s.imports("log")
	},
		"It prints. A library returns errors, and leaves it to its caller what to report."},
}

// surveyed is what a lock uses.
type surveyed struct {
	paths     []string // that it imports
	called    []string // names of functions and methods
	strings   []string
	channels  bool
	setsGetNX bool // SetArgs with Mode NX and Get
	expireNX  bool // a command by hand

	writesField bool // of the Lock, in one of its methods
}

func (s surveyed) imports(path string) bool { return slices.Contains(s.paths, path) }
func (s surveyed) calls(name string) bool   { return slices.Contains(s.called, name) }

func (s surveyed) synchronises() bool {
	return s.channels || slices.ContainsFunc(s.paths, func(p string) bool { return p == "sync" || p == "sync/atomic" || p == "golang.org/x/sync/semaphore" })
}

// says reports whether a string is the command.
func (s surveyed) says(command string) bool {
	return slices.ContainsFunc(s.strings, func(text string) bool { return strings.EqualFold(text, command) })
}

// inScript reports whether a script calls the command.
func (s surveyed) inScript(command string) bool {
	return slices.ContainsFunc(s.strings, func(text string) bool {
		return strings.Contains(text, "redis.") && strings.Contains(strings.ToUpper(text), "'"+command+"'")
	})
}

func (s *surveyed) survey(f *ast.File) {
	for _, spec := range f.Imports {
		s.paths = append(s.paths, strings.Trim(spec.Path.Value, `"`))
	}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.FuncDecl:
			s.writesField = s.writesField || writesReceiver(n)
		case *ast.ChanType:
			s.channels = true
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				s.strings = append(s.strings, strings.Trim(n.Value, "`\""))
			}
		case *ast.CallExpr:
			switch fn := n.Fun.(type) {
			case *ast.SelectorExpr:
				s.called = append(s.called, fn.Sel.Name)
			case *ast.Ident:
				s.called = append(s.called, fn.Name)
			}
			s.expireNX = s.expireNX || has(n, "EXPIRE", "NX") || has(n, "PEXPIRE", "NX")
			s.setsGetNX = s.setsGetNX || has(n, "SET", "NX", "GET")
		case *ast.CompositeLit:
			s.setsGetNX = s.setsGetNX || has(n, "NX") && keyed(n, "Get")
		}
		return true
	})
}

// writesReceiver reports whether a method of Lock assigns to one of its fields.
func writesReceiver(fn *ast.FuncDecl) (writes bool) {
	if fn.Recv == nil || fn.Body == nil || len(fn.Recv.List[0].Names) == 0 || types.ExprString(fn.Recv.List[0].Type) != "*Lock" {
		return false
	}
	receiver := fn.Recv.List[0].Names[0].Name
	field := func(e ast.Expr) bool {
		sel, ok := e.(*ast.SelectorExpr)
		if !ok {
			return false
		}
		id, ok := sel.X.(*ast.Ident)
		return ok && id.Name == receiver
	}
	ast.Inspect(fn.Body, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.AssignStmt:
			writes = writes || slices.ContainsFunc(n.Lhs, field)
		case *ast.IncDecStmt:
			writes = writes || field(n.X)
		}
		return true
	})
	return writes
}

// has reports whether all these strings are among the arguments, or the values, of n.
func has(n ast.Node, words ...string) bool {
	list := map[string]bool{}
	var of []ast.Expr
	switch n := n.(type) {
	case *ast.CallExpr:
		of = n.Args
	case *ast.CompositeLit:
		for _, e := range n.Elts {
			if kv, ok := e.(*ast.KeyValueExpr); ok {
				of = append(of, kv.Value)
			}
		}
	}
	for _, e := range of {
		if lit, ok := e.(*ast.BasicLit); ok {
			list[strings.ToUpper(strings.Trim(lit.Value, "`\""))] = true
		}
	}
	return !slices.ContainsFunc(words, func(w string) bool { return !list[w] })
}

func keyed(n *ast.CompositeLit, name string) bool {
	return slices.ContainsFunc(n.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		if !ok {
			return false
		}
		id, ok := kv.Key.(*ast.Ident)
		return ok && id.Name == name
	})
}

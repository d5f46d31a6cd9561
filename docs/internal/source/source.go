// Package source reads Go files: their declarations, their tests, and what a lock.go offers.
package source

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Declaration is one name of a Go file, with its comment: a function, a method or one
// entry of a var, const or type declaration.
type Declaration struct {
	Name string // Type.Name of a method
	File string // its file's name, without the folder
	Doc  string // the text of its comment
	Line int    // on which the name stands
	From int    // the first line, that of the comment if there is one
	Text string // from the comment on

	node ast.Node
}

// Files lists the Go files of the package in dir that are not tests, lock.go first.
func Files(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		name := e.Name()
		if e.IsDir() || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || name[0] == '.' || name[0] == '_' {
			continue
		}
		if name == "lock.go" {
			names = slices.Insert(names, 0, name)
		} else {
			names = append(names, name)
		}
	}
	return names, nil
}

// ReadDir lists the declarations of all files that Files lists.
func ReadDir(dir string) ([]Declaration, error) {
	names, err := Files(dir)
	if err != nil {
		return nil, err
	}
	var all []Declaration
	for _, name := range names {
		list, err := Read(filepath.Join(dir, name))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// Read lists the declarations of a file in their order.
func Read(file string) ([]Declaration, error) {
	src, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	return Parse(file, src)
}

// Parse is Read of a source; file is only for errors.
func Parse(file string, src []byte) ([]Declaration, error) {
	fset := token.NewFileSet()
	src = bytes.ReplaceAll(src, []byte("\r\n"), []byte("\n"))
	f, err := parser.ParseFile(fset, file, src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	lines := strings.Split(string(src), "\n")
	var list []Declaration
	add := func(name string, id *ast.Ident, doc *ast.CommentGroup, whole, node ast.Node) {
		from, to := fset.Position(whole.Pos()).Line, fset.Position(whole.End()).Line
		if doc != nil {
			from = fset.Position(doc.Pos()).Line
		}
		// Of the last line all: a comment may stand behind the declaration.
		text := strings.Join(lines[from-1:to], "\n")
		list = append(list, Declaration{name, filepath.Base(file), doc.Text(), fset.Position(id.Pos()).Line, from, text, node})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			name := d.Name.Name
			if d.Recv != nil {
				name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
			}
			add(name, d.Name, d.Doc, d, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				var names []*ast.Ident // none of an import
				var doc *ast.CommentGroup
				switch spec := spec.(type) {
				case *ast.ValueSpec:
					names, doc = spec.Names, spec.Doc
				case *ast.TypeSpec:
					names, doc = []*ast.Ident{spec.Name}, spec.Doc
				}
				whole := ast.Node(spec)
				// Without parentheses the keyword and the comment are the declaration's.
				if !d.Lparen.IsValid() {
					doc, whole = d.Doc, d
				}
				for _, id := range names {
					if id.Name != "_" {
						add(id.Name, id, doc, whole, spec)
					}
				}
			}
		}
	}
	return list, nil
}

// Preface returns what a file says of itself: the first paragraph of the comment above its
// package clause, or between that and its first declaration; "" is none.
func Preface(src []byte) (string, error) {
	f, err := parser.ParseFile(token.NewFileSet(), "", src, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil || len(f.Comments) == 0 {
		return "", err
	}
	first := f.Comments[0]
	for _, d := range f.Decls[:min(1, len(f.Decls))] {
		var doc *ast.CommentGroup
		switch d := d.(type) {
		case *ast.FuncDecl:
			doc = d.Doc
		case *ast.GenDecl:
			if d.Tok != token.IMPORT {
				doc = d.Doc
			}
		}
		if first == doc || first.Pos() > d.Pos() {
			return "", nil
		}
	}
	paragraph, _, _ := strings.Cut(first.Text(), "\n\n")
	return strings.Join(strings.Fields(paragraph), " "), nil
}

// Find completes the name of a method: TryLock is Lock.TryLock. A function, type or
// variable of that name goes first.
func Find(list []Declaration, name string) (Declaration, error) {
	var names, methods []string
	var found Declaration
	for _, d := range list {
		if d.Name == name {
			return d, nil
		}
		if slices.Contains(names, d.Name) {
			continue // of two versions of a file
		}
		names = append(names, d.Name)
		if strings.HasSuffix(d.Name, "."+name) {
			found, methods = d, append(methods, d.Name)
		}
	}
	switch len(methods) {
	case 0:
		return Declaration{}, fmt.Errorf("no declaration %s; there are: %s", name, strings.Join(names, ", "))
	case 1:
		return found, nil
	}
	return Declaration{}, fmt.Errorf("%s is more than one method: %s", name, strings.Join(methods, ", "))
}

// IsTest applies the rule of the go command: TestX(t *testing.T), and not Testing or
// TestMain(m *testing.M).
func (d Declaration) IsTest() bool {
	rest, ok := strings.CutPrefix(d.Name, "Test")
	r, _ := utf8.DecodeRuneInString(rest)
	fn, isFunc := d.node.(*ast.FuncDecl)
	return ok && isFunc && !unicode.IsLower(r) && fn.Recv == nil && Params(d) == "*testing.T"
}

// Params returns the types of a function's parameters: names make no difference. The type
// of "a, b string" is repeated.
func Params(d Declaration) string {
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	var list []string
	for _, p := range fn.Type.Params.List {
		for range max(1, len(p.Names)) {
			list = append(list, types.ExprString(p.Type))
		}
	}
	return strings.Join(list, ", ")
}

// Signature returns the first line of a function or a method, without its body.
func Signature(d Declaration) string {
	fn, ok := d.node.(*ast.FuncDecl)
	if !ok {
		return ""
	}
	var b strings.Builder
	// Without positions it is printed in one line.
	if err := format.Node(&b, token.NewFileSet(), &ast.FuncDecl{Recv: fn.Recv, Name: fn.Name, Type: fn.Type}); err != nil {
		panic(err) // it was parsed
	}
	return b.String()
}

// An Item is what a package offers to those who use it.
type Item struct {
	Name  string // without that of its type
	Text  string // one line: a signature, a variable, a field
	Field bool
}

// API returns the exported functions and variables of a package, and the exported methods
// and fields of one of its types.
func API(list []Declaration, typ string) []Item {
	var items []Item
	for _, d := range list {
		name := strings.TrimPrefix(d.Name, typ+".")
		switch node := d.node.(type) {
		case *ast.FuncDecl:
			if ast.IsExported(name) && !strings.Contains(name, ".") {
				items = append(items, Item{Name: name, Text: Signature(d)})
			}
		case *ast.ValueSpec:
			if !ast.IsExported(name) {
				continue
			}
			text := "var " + name
			if i := slices.IndexFunc(node.Names, func(id *ast.Ident) bool { return id.Name == name }); i < len(node.Values) {
				text += " = " + types.ExprString(node.Values[i])
			}
			items = append(items, Item{Name: name, Text: text})
		case *ast.TypeSpec:
			st, ok := node.Type.(*ast.StructType)
			if !ok || d.Name != typ {
				continue
			}
			for _, field := range st.Fields.List {
				for _, id := range field.Names {
					if id.IsExported() {
						items = append(items, Item{id.Name, typ + "." + id.Name + " " + types.ExprString(field.Type), true})
					}
				}
			}
		}
	}
	return items
}

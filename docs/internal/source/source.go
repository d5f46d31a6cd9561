// Package source reads Go files: their declarations, their tests, and what a lock.go offers.
package source

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
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
func Files(dir string) (names []string, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		name := e.Name()
		switch {
		case filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.ContainsAny(name[:1], "._"):
		case name == "lock.go":
			names = slices.Insert(names, 0, name)
		default:
			names = append(names, name)
		}
	}
	return names, err
}

// ReadDir lists the declarations of all files that Files lists.
func ReadDir(dir string) (all []Declaration, err error) {
	names, err := Files(dir)
	for _, name := range names {
		list, wrong := Read(filepath.Join(dir, name))
		all, err = append(all, list...), cmp.Or(err, wrong)
	}
	return all, err
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

// Preface returns what a file says of itself: the first paragraph of the comment
// right below the package clause, if no declaration follows at once; "" is none.
func Preface(src []byte) string {
	found := preface.FindSubmatch(src)
	if found == nil {
		return ""
	}
	return strings.Join(strings.Fields(strings.ReplaceAll(string(found[1]), "// ", " ")), " ")
}

var preface = regexp.MustCompile(`\Apackage \w+\n\n((?:// .*\n)+)(?://)?\n`)

// Find completes the name of a method: TryLock is Lock.TryLock. A function, type or
// variable of that name goes first.
func Find(list []Declaration, name string) (Declaration, error) {
	var names []string
	for _, d := range list {
		if d.Name == name {
			return d, nil
		}
		if !slices.Contains(names, d.Name) { // of two versions of a file, once
			names = append(names, d.Name)
		}
	}
	methods := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasSuffix(n, "."+name) })
	switch len(methods) {
	case 0:
		return Declaration{}, fmt.Errorf("no declaration %s; there are: %s", name, strings.Join(names, ", "))
	case 1:
		return Find(list, methods[0])
	}
	return Declaration{}, fmt.Errorf("%s is more than one method: %s", name, strings.Join(methods, ", "))
}

// IsTest applies the rule of the go command: TestX(t *testing.T), and not Testing or
// TestMain(m *testing.M).
func (d Declaration) IsTest() bool { return testName.MatchString(d.Name) && Params(d) == "*testing.T" }

var testName = regexp.MustCompile(`^Test(\P{Ll}[^.]*)?$`)

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
	format.Node(&b, token.NewFileSet(), &ast.FuncDecl{Recv: fn.Recv, Name: fn.Name, Type: fn.Type})
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
			items = append(items, Item{Name: name, Text: Signature(d)})
		case *ast.ValueSpec:
			text := "var " + name
			if len(node.Values) == 1 {
				text += " = " + types.ExprString(node.Values[0])
			}
			items = append(items, Item{Name: name, Text: text})
		case *ast.TypeSpec:
			st, ok := node.Type.(*ast.StructType)
			if !ok || d.Name != typ {
				continue
			}
			for _, field := range st.Fields.List {
				for _, id := range field.Names {
					items = append(items, Item{id.Name, typ + "." + id.Name + " " + types.ExprString(field.Type), true})
				}
			}
		}
	}
	return slices.DeleteFunc(items, func(item Item) bool { // a method has its type
		return strings.Contains(item.Name, ".") || !ast.IsExported(item.Name)
	})
}

package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"slices"
	"strings"
)

// A declaration is one name of a Go file, with its comment: a function, a method or one entry of a var, const or type
// declaration.
type declaration struct {
	name string // of a method Type.Name
	from int    // its first line, 1 is that of the file
	text []string
}

// declarationsOf lists the declarations of a Go file in their order.
func declarationsOf(name string) ([]declaration, error) {
	src, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, name, src, parser.ParseComments)
	if err != nil {
		return nil, err
	}
	text := lines(string(src))
	var list []declaration
	add := func(name string, doc *ast.CommentGroup, node ast.Node) {
		from, to := fset.Position(node.Pos()).Line, fset.Position(node.End()).Line
		if doc != nil {
			from = fset.Position(doc.Pos()).Line
		}
		list = append(list, declaration{name, from, text[from-1 : to]})
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			add(receiver(d)+d.Name.Name, d.Doc, d)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				doc, node := commentOf(spec), ast.Node(spec)
				if !d.Lparen.IsValid() { // without parentheses the keyword and the comment are the declaration's
					doc, node = d.Doc, d
				}
				for _, name := range namesOf(spec) {
					add(name, doc, node)
				}
			}
		}
	}
	return list, nil
}

// receiver returns "Type." for a method of Type or *Type, "" for a function.
func receiver(fn *ast.FuncDecl) string {
	if fn.Recv == nil {
		return ""
	}
	typ := fn.Recv.List[0].Type
	if ptr, ok := typ.(*ast.StarExpr); ok {
		typ = ptr.X
	}
	if name, ok := typ.(*ast.Ident); ok {
		return name.Name + "."
	}
	return ""
}

func commentOf(spec ast.Spec) *ast.CommentGroup {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		return spec.Doc
	case *ast.TypeSpec:
		return spec.Doc
	}
	return nil
}

// namesOf returns none for an import, nor for what has no name.
func namesOf(spec ast.Spec) []string {
	switch spec := spec.(type) {
	case *ast.ValueSpec:
		var list []string
		for _, name := range spec.Names {
			if name.Name != "_" {
				list = append(list, name.Name)
			}
		}
		return list
	case *ast.TypeSpec:
		return []string{spec.Name.Name}
	}
	return nil
}

// fullName completes the name of a method: TryLock is Lock.TryLock. A function, type or variable of that name goes first.
func fullName(name string, known []string) (string, error) {
	if slices.Contains(known, name) {
		return name, nil
	}
	var methods []string
	for _, k := range known {
		if strings.HasSuffix(k, "."+name) && !slices.Contains(methods, k) {
			methods = append(methods, k)
		}
	}
	switch len(methods) {
	case 1:
		return methods[0], nil
	case 0:
		return "", usageError(fmt.Sprintf("no declaration %s; there are: %s", name, strings.Join(known, ", ")))
	}
	return "", usageError(fmt.Sprintf("%s is more than one method: %s", name, strings.Join(methods, ", ")))
}

// find returns an empty declaration if there is none of that name.
func find(list []declaration, name string) declaration {
	i := slices.IndexFunc(list, func(d declaration) bool { return d.name == name })
	if i < 0 {
		return declaration{from: 1}
	}
	return list[i]
}

// whole returns one hunk of a unified diff, with all lines of both declarations and their numbers in their files.
func whole(a, b declaration) []string {
	out := []string{fmt.Sprintf("@@ -%s +%s @@", span(a.from, a.from+len(a.text)), span(b.from, b.from+len(b.text)))}
	for _, e := range edits(a.text, b.text) {
		out = append(out, string(e.op)+e.text)
	}
	return out
}

// runNamedDiff compares declaration by declaration.
func (t *tour) runNamedDiff(s step, names []string) error {
	oldName, newName := before(s).source(), s.source()
	oldList, err := declarationsOf(t.path("", oldName))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", before(s).subject(), err)
	}
	newList, err := declarationsOf(t.path("", newName))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", s.subject(), err)
	}
	var known []string
	for _, d := range slices.Concat(newList, oldList) {
		if !slices.Contains(known, d.name) {
			known = append(known, d.name)
		}
	}
	out := []string{"--- " + oldName, "+++ " + newName}
	for _, name := range names {
		name, err := fullName(name, known)
		if err != nil {
			return err
		}
		out = append(out, whole(find(oldList, name), find(newList, name))...)
	}
	t.diffLines(out)
	return nil
}

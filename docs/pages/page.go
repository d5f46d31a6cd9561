package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A marker asks for the fenced block in the lines after it.
type marker struct {
	verb, args string
	line       int // of the marker, from 1
}

var (
	markerLine = regexp.MustCompile(`^<!-- (run|code): (.*\S) -->$`)
	fenceLine  = regexp.MustCompile("^(```+)[a-z]*$")
	sourceLink = regexp.MustCompile("\\[`([A-Za-z0-9_.]+)`\\]\\(([^)#\\s]+\\.go)(#L[0-9]+)?\\)")
)

func markers(page string) []marker {
	var found []marker
	for i, line := range strings.Split(page, "\n") {
		if m := markerLine.FindStringSubmatch(line); m != nil {
			found = append(found, marker{m[1], m[2], i + 1})
		}
	}
	return found
}

// regenerate returns the page with its blocks and source links made anew. outputs is what each command prints.
func regenerate(file, page string, outputs map[string]string) (string, error) {
	lines := strings.Split(page, "\n")
	var out []string
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "```") { // a block of its own: nothing in it is a marker or a link
			end, err := blockEnd(lines, i)
			if err != nil {
				return "", fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			out = append(out, lines[i:end+1]...)
			i = end
			continue
		}
		line, err := relink(file, lines[i])
		if err != nil {
			return "", fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		out = append(out, line)
		m := markerLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		body, end, err := block(lines, i+1, m[1], m[2], outputs)
		if err != nil {
			return "", fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		out = append(out, lines[i+1])
		out = append(out, body...)
		out = append(out, lines[end])
		i = end
	}
	return strings.Join(out, "\n"), nil
}

// block returns the new body of the fenced block that opens at lines[open], and the index of its closing fence.
func block(lines []string, open int, verb, args string, outputs map[string]string) (body []string, end int, err error) {
	if open >= len(lines) || !fenceLine.MatchString(lines[open]) {
		return nil, 0, fmt.Errorf("no fenced block directly after <!-- %s: %s -->", verb, args)
	}
	if end, err = blockEnd(lines, open); err != nil {
		return nil, 0, err
	}
	var text string
	if verb == "run" {
		text = "$ " + args + "\n" + outputs[args]
	} else {
		text, err = excerpt(strings.Fields(args))
	}
	if err != nil {
		return nil, 0, err
	}
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = strings.TrimRight(line, " \t")
		if strings.HasPrefix(line, lines[end]) {
			return nil, 0, fmt.Errorf("the block contains its own closing fence %s: use a longer one", lines[end])
		}
		body = append(body, line)
	}
	return body, end, nil
}

func blockEnd(lines []string, open int) (int, error) {
	fence := lines[open][:len(lines[open])-len(strings.TrimLeft(lines[open], "`"))]
	for i := open + 1; i < len(lines); i++ {
		if strings.TrimRight(lines[i], " ") == fence {
			return i, nil
		}
	}
	return 0, fmt.Errorf("the block has no closing %s", fence)
}

// excerpt returns declarations as they stand in a file: excerpt([file.go Name ...]).
func excerpt(args []string) (string, error) {
	if len(args) < 2 {
		return "", fmt.Errorf("code needs a file and at least one name")
	}
	src, err := os.ReadFile(args[0])
	if err != nil {
		return "", err
	}
	var texts []string
	for _, name := range args[1:] {
		d, err := find(args[0], name)
		if err != nil {
			return "", err
		}
		texts = append(texts, string(src[d.start:d.end]))
	}
	return strings.Join(texts, "\n\n"), nil
}

// relink sets the line numbers of the links whose text is the name of a declaration.
func relink(file, line string) (string, error) {
	var failed error
	line = sourceLink.ReplaceAllStringFunc(line, func(link string) string {
		m := sourceLink.FindStringSubmatch(link)
		if strings.Contains(m[2], "://") {
			return link
		}
		d, err := find(filepath.Join(filepath.Dir(file), filepath.FromSlash(m[2])), m[1])
		if err != nil {
			failed = err
			return link
		}
		return fmt.Sprintf("[`%s`](%s#L%d)", m[1], m[2], d.line)
	})
	return line, failed
}

// A declaration lies between two offsets of its file, comment included; its name stands on line.
type declaration struct {
	start, end, line int
}

// find looks for a function, a method (Type.Name or Name), a type, a variable or a constant.
func find(file, name string) (declaration, error) {
	fset := token.NewFileSet()
	f, err := parser.ParseFile(fset, file, nil, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return declaration{}, err
	}
	for _, decl := range f.Decls {
		id, doc := named(decl, name)
		if id == nil {
			continue
		}
		start := decl.Pos()
		if doc != nil {
			start = doc.Pos()
		}
		return declaration{fset.Position(start).Offset, fset.Position(decl.End()).Offset, fset.Position(id.Pos()).Line}, nil
	}
	return declaration{}, fmt.Errorf("%s declares no %s", file, name)
}

// named returns the identifier if the declaration declares the name, and the declaration's comment.
func named(decl ast.Decl, name string) (*ast.Ident, *ast.CommentGroup) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Name.Name == name || d.Recv != nil && receiver(d)+"."+d.Name.Name == name {
			return d.Name, d.Doc
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				if s.Name.Name == name {
					return s.Name, d.Doc
				}
			case *ast.ValueSpec:
				for _, id := range s.Names {
					if id.Name == name {
						return id, d.Doc
					}
				}
			}
		}
	}
	return nil, nil
}

func receiver(d *ast.FuncDecl) string {
	t := d.Recv.List[0].Type
	if star, ok := t.(*ast.StarExpr); ok {
		t = star.X
	}
	if id, ok := t.(*ast.Ident); ok {
		return id.Name
	}
	return ""
}

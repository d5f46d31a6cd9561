package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/redislock-steps/docs/internal/source"
)

// A marker asks for the fenced block in the lines after it.
type marker struct {
	verb, args string
	line       int // of the marker, from 1
}

// commands are those whose output the marker needs.
func (m marker) commands() (list []string) {
	switch m.verb {
	case "run":
		return []string{m.args}
	case "picture":
		d, _ := parseDrawing(m.args) // an error shows when it is drawn
		for _, r := range d.runs {
			list = append(list, r.command)
		}
	}
	return list
}

var (
	markerLine = regexp.MustCompile(`^<!-- (run|code|picture): (.*\S) -->$`)
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

// regenerate returns the page with its blocks and source links made anew, and its
// pictures. outputs is what each command prints.
func regenerate(file, page string, outputs map[string]string) (string, map[string]string, error) {
	drawn := map[string]string{}
	page, err := rewrite(file, page, rewriting{
		line: func(_ int, text string) (string, error) { return relink(file, text) },
		body: func(l line, old []string) ([]string, error) {
			if l.marker == "" {
				return old, nil
			}
			return body(l, outputs)
		},
		picture: func(args string) (string, error) { return drawnAt(file, args, outputs, drawn) },
	})
	return page, drawn, err
}

// A rewriting says what becomes of the parts of a page.
type rewriting struct {
	line func(at int, text string) (string, error) // outside of blocks

	body func(opens line, old []string) ([]string, error) // of a fenced block

	// picture returns the line below its marker, unless it is nil.
	picture func(args string) (string, error)
}

func rewrite(file, page string, w rewriting) (string, error) {
	all := lines(page)
	var out []string
	for i := 0; i < len(all); i++ {
		l := all[i]
		fail := func(err error) (string, error) { return "", fmt.Errorf("%s:%d: %w", file, i+1, err) }
		switch {
		case l.opens && !l.shown:
			var old []string
			end := i + 1
			for ; end < len(all) && all[end].fenced; end++ {
				old = append(old, all[end].text)
			}
			if end == len(all) {
				return fail(fmt.Errorf("the block has no closing %s", strings.TrimRight(l.text, "abcdefghijklmnopqrstuvwxyz")))
			}
			body, err := w.body(l, old)
			if err != nil {
				i-- // its marker asks for this
				return fail(err)
			}
			out = append(append(append(out, l.text), body...), all[end].text)
			i = end
		case l.made(): // a picture
			if w.picture == nil {
				out = append(out, l.text)
			}
		case !l.plain():
			out = append(out, l.text)
		default:
			text, err := w.line(i+1, l.text)
			if err != nil {
				return fail(err)
			}
			out = append(out, text)
			m := markerLine.FindStringSubmatch(text)
			if m == nil {
				continue
			}
			if m[1] != "picture" && (i+1 == len(all) || !all[i+1].opens) {
				return fail(fmt.Errorf("no fenced block directly after %s", text))
			}
			if m[1] == "picture" && w.picture != nil {
				shown, err := w.picture(m[2])
				if err != nil {
					return fail(err)
				}
				out = append(out, shown)
			}
		}
	}
	return strings.Join(out, "\n"), nil
}

// drawnAt draws a picture, and returns the line that shows it.
func drawnAt(file, args string, outputs, drawn map[string]string) (string, error) {
	d, err := parseDrawing(args)
	if err != nil {
		return "", err
	}
	files, shown, err := d.draw(file, outputs)
	maps.Copy(drawn, files)
	return shown, err
}

// body is what a marker asks for, in the block that opens with l.
func body(l line, outputs map[string]string) (body []string, err error) {
	m := markerLine.FindStringSubmatch(l.marker)
	text := prompt(m[2]) + "\n" + outputs[m[2]]
	if m[1] == "code" {
		if text, err = excerpt(strings.Fields(m[2])); err != nil {
			return nil, err
		}
	}
	fence := strings.TrimRight(l.text, "abcdefghijklmnopqrstuvwxyz")
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		line = strings.TrimRight(line, " \t")
		if strings.HasPrefix(line, fence) {
			return nil, fmt.Errorf("the block contains its own closing fence %s: use a longer one", fence)
		}
		body = append(body, line)
	}
	return body, nil
}

// excerpt returns declarations as they are in a file, or in those of a lock:
// excerpt([file.go Name ...]), excerpt([folder Name ...]).
func excerpt(args []string) (string, error) {
	if len(args) < 2 {
		return "", errors.New("code needs a file or a folder, and at least one name")
	}
	var texts []string
	for _, name := range args[1:] {
		d, err := find(args[0], name)
		if err != nil {
			return "", err
		}
		if path.Ext(args[0]) == ".go" && path.Base(args[0]) != d.File {
			return "", fmt.Errorf("%s is in %s, not in %s: name that file, or the folder", name, d.File, args[0])
		}
		texts = append(texts, d.Text)
	}
	return strings.Join(texts, "\n\n"), nil
}

// relink sets the lines, and the files, of the links whose text is the name of a declaration.
// Only a lesson gives the lines of its tests: otherwise a new story would change most pages.
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
		to := path.Join(path.Dir(m[2]), d.File)
		if strings.Contains(to, "/") && strings.HasSuffix(to, "_test.go") {
			return fmt.Sprintf("[`%s`](%s)", m[1], to)
		}
		return fmt.Sprintf("[`%s`](%s#L%d)", m[1], to, d.Line)
	})
	return line, failed
}

// find returns a declaration of a file, or of another one next to it: a lock has several,
// and what it declares may move. Of a folder, it returns one of any file.
func find(file, name string) (source.Declaration, error) {
	if filepath.Ext(file) != ".go" {
		return findIn(source.ReadDir, file, name)
	}
	d, err := findIn(source.Read, file, name)
	if err == nil {
		return d, nil
	}
	if moved, err := findIn(source.ReadDir, filepath.Dir(file), name); err == nil {
		return moved, nil
	}
	return d, err
}

func findIn(read func(string) ([]source.Declaration, error), where, name string) (source.Declaration, error) {
	list, err := read(where)
	if err != nil {
		return source.Declaration{}, err
	}
	d, err := source.Find(list, name)
	if err != nil {
		err = fmt.Errorf("%s: %w", filepath.ToSlash(where), err)
	}
	return d, err
}

// prompt writes a command as it is typed, in more lines than one if it is long.
func prompt(command string) string {
	var b strings.Builder
	line := "$"
	for _, word := range strings.Fields(command) {
		if len(line)+1+len(word) > maxColumns-len(` \`) {
			b.WriteString(line + " \\\n")
			line = "   "
		}
		line += " " + word
	}
	return b.String() + line
}

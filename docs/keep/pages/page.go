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

// regenerate returns the page with its blocks and source links made anew, and its
// pictures. outputs is what each command prints.
func regenerate(file, page string, outputs map[string]string) (string, map[string]string, error) {
	lines := strings.Split(page, "\n")
	var out []string
	drawn := map[string]string{}
	for i := 0; i < len(lines); i++ {
		if strings.HasPrefix(lines[i], "```") {
			// A separate block: nothing in it is a marker or a link.
			end, err := blockEnd(lines, i)
			if err != nil {
				return "", nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			out = append(out, lines[i:end+1]...)
			i = end
			continue
		}
		line, err := relink(file, lines[i])
		if err != nil {
			return "", nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		out = append(out, line)
		m := markerLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		if m[1] == "picture" {
			shown, err := drawnAt(file, m[2], outputs, drawn)
			if err != nil {
				return "", nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
			}
			if out = append(out, shown); i+1 < len(lines) && strings.HasPrefix(lines[i+1], "<picture>") {
				i++
			}
			continue
		}
		body, end, err := block(lines, i+1, m[1], m[2], outputs)
		if err != nil {
			return "", nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		out = append(out, lines[i+1])
		out = append(out, body...)
		out = append(out, lines[end])
		i = end
	}
	return strings.Join(out, "\n"), drawn, nil
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

// block returns the new body of the fenced block that opens at lines[open], and the index
// of its closing fence.
func block(lines []string, open int, verb, args string, outputs map[string]string) (body []string, end int, err error) {
	if open >= len(lines) || !fenceLine.MatchString(lines[open]) {
		return nil, 0, fmt.Errorf("no fenced block directly after <!-- %s: %s -->", verb, args)
	}
	if end, err = blockEnd(lines, open); err != nil {
		return nil, 0, err
	}
	var text string
	if verb == "run" {
		text = prompt(args) + "\n" + outputs[args]
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

// excerpt returns declarations as they is in a file, or in those of a lock:
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

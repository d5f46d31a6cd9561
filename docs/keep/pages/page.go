package main

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"strings"
)

// generators make the block below a marker: its lines, or files and the line that shows them.
var generators = map[string]func(m maker, page, args string) (block string, files map[string]string, err error){
	"run":     maker.output,
	"code":    maker.excerpt,
	"picture": maker.picture,
	"matrix":  maker.matrix,
}

// A part of a page is a line of text, or a block: in a fence, or below a marker, or both.
type part struct {
	from       int      // the number of its first line
	head       []string // the line of text, or the marker, the fence that opens, or both
	verb, args string   // of the marker: "run" and a command
	body       []string // the lines of the block
	closing    string   // what has to end it: "```", or "" for nothing
	end        []string // the line that does, or none if the page ends first
}

var (
	markerLine = regexp.MustCompile(`^<!-- (run|code|picture|matrix|table): (.*\S) -->$`)
	fenceLine  = regexp.MustCompile("^\\s*(```+)")
)

// tableEnd closes the matrix, and a table that another program writes.
const tableEnd = "<!-- /table -->"

// parse splits a page.
func parse(page string) (list []part) {
	last := &part{}
	for i, text := range strings.Split(page, "\n") {
		fence := fenceLine.FindStringSubmatch(text)
		switch {
		case last.closing != "" && last.end == nil && strings.TrimSpace(text) == last.closing:
			last.end = []string{text}
		case last.closing != "" && last.end == nil:
			last.body = append(last.body, text)
		case last.verb != "" && last.closing == "" && fence != nil:
			last.head, last.closing = append(last.head, text), fence[1]
		case last.verb == "picture" && last.body == nil && strings.HasPrefix(text, "<picture>"):
			last.body = []string{text}
		default:
			list = append(list, part{from: i + 1, head: []string{text}})
			last = &list[len(list)-1]
			if m := markerLine.FindStringSubmatch(text); m != nil {
				last.verb, last.args = m[1], m[2]
			}
			if last.verb == "table" || last.verb == "matrix" {
				last.closing = tableEnd
			} else if fence != nil {
				last.closing = fence[1]
			}
		}
	}
	return list
}

// page returns the files that a page makes, itself and its pictures, and what is wrong with it:
// that stays as it is.
func (m maker) page(file string) (made map[string]string, err error) {
	made = map[string]string{}
	var lines []string
	for _, p := range parse(read(file)) {
		var failed error
		switch generate := generators[p.verb]; {
		case generate != nil:
			var block string
			var files map[string]string
			if block, files, failed = generate(m, file, p.args); failed == nil {
				failed = p.fill(block)
			}
			maps.Copy(made, files)
		case p.closing != "" && p.end == nil:
			failed = fmt.Errorf("the block has no closing %s", p.closing)
		case p.closing == "":
			p.head[0], failed = linked(file, p.head[0])
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("%s:%d: %w", file, p.from, failed))
		}
		lines = append(append(append(lines, p.head...), p.body...), p.end...)
	}
	made[file] = withBanner(file, strings.Join(lines, "\n"))
	return made, err
}

// blanks are white space at the end of a line, and empty lines at the end of a text.
var blanks = regexp.MustCompile(`(?m)[ \t]+$|\n+\z`)

// fill puts another text into a block.
func (p *part) fill(text string) error {
	switch {
	case p.closing == "" && p.verb != "picture":
		return fmt.Errorf("no fenced block directly after %s", p.head[0])
	case p.closing != "" && p.end == nil:
		return fmt.Errorf("the block has no closing %s", p.closing)
	case p.closing != "" && strings.Contains("\n"+text, "\n"+p.closing):
		return fmt.Errorf("the block contains its own closing fence %s: use a longer one", p.closing)
	}
	p.body = strings.Split(blanks.ReplaceAllString(text, ""), "\n")
	return nil
}

// output is a command and what it prints, in the language of the page.
func (m maker) output(page, command string) (string, map[string]string, error) {
	lang := ""
	if isChinese(page) {
		lang = " -lang zh"
	}
	out, err := m.print(command + lang)
	return prompt(command) + "\n" + out, nil, err
}

const maxColumns = 100 // of a command

// prompt writes a command as it is typed, in more lines than one if it is long.
func prompt(command string) string {
	lines, last := []string{"$"}, 0
	for word := range strings.FieldsSeq(command) {
		if len(lines[last])+1+len(word) > maxColumns-len(` \`) {
			lines, last = append(lines, "   "), last+1
		}
		lines[last] += " " + word
	}
	return strings.Join(lines, " \\\n")
}

// excerpt has declarations of a file or a folder: excerpt(file.go Name ...).
func (m maker) excerpt(_, args string) (string, map[string]string, error) {
	names := strings.Fields(args)
	if len(names) < 2 {
		return "", nil, errors.New("code needs a file or a folder, and at least one name")
	}
	var texts []string
	for _, name := range names[1:] {
		d, err := find(names[0], name)
		if err != nil {
			return "", nil, err
		}
		texts = append(texts, d.Text)
	}
	return strings.Join(texts, "\n\n"), nil, nil
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"os"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// A part of a page is a line of text, or a block: in a fence, or below a marker, or both.
type part struct {
	from       int      // the number of its first line
	head       []string // the line of text, or the marker, the fence that opens, or both
	verb, args string   // of the marker: "run" and a command
	body       []string // the lines of the block
	closing    string   // what has to end it: "```", or "" for nothing
	end        []string // the line that does, or none if the page ends first
}

func (p part) isFenced() bool  { return strings.HasPrefix(p.closing, "```") }
func (p part) isBlock() bool   { return p.verb != "" || p.isFenced() }
func (p part) lines() []string { return slices.Concat(p.head, p.body, p.end) }

var (
	markerLine = regexp.MustCompile(`^<!-- (run|code|picture|questions|table): (.*\S) -->$`)
	fenceLine  = regexp.MustCompile("^\\s*(```+)")
	sourceLink = regexp.MustCompile("\\[(`[A-Za-z0-9_.]+`|[^]`[]+)\\]\\(([^)#\\s]+\\.go)(?:#L[0-9]+)?(\\s\"[A-Za-z0-9_.]+\")?\\)")
)

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
		case (last.verb == "run" || last.verb == "code") && last.closing == "" && fence != nil:
			last.head, last.closing = append(last.head, text), fence[1]
		case last.verb == "picture" && last.body == nil && strings.HasPrefix(text, "<picture>"):
			last.body = []string{text}
		default:
			list = append(list, part{from: i + 1, head: []string{text}})
			last = &list[len(list)-1]
			if m := markerLine.FindStringSubmatch(text); m != nil {
				last.verb, last.args = m[1], m[2]
			}
			if last.verb == "questions" {
				last.closing = questionsEnd
			} else if last.verb == "table" {
				last.closing = "<!-- /table -->"
			} else if fence != nil {
				last.closing = fence[1]
			}
		}
	}
	return list
}

// prose is the text of a page, in the same lines: each one of a block is ~~~.
func prose(parts []part) string {
	var list []string
	for _, p := range parts {
		for i, text := range p.lines() {
			if p.isBlock() && (i > 0 || p.verb == "") {
				text = "~~~"
			}
			list = append(list, text)
		}
	}
	return strings.Join(list, "\n")
}

// unfit says what is wrong with a block that has this body.
func (p part) unfit(body []string) error {
	closes := func(text string) bool { return strings.HasPrefix(strings.TrimSpace(text), p.closing) }
	switch {
	case p.closing == "" && p.verb != "picture":
		return fmt.Errorf("no fenced block directly after %s", p.head[0])
	case p.closing == "":
		return nil
	case p.end == nil:
		return fmt.Errorf("the block has no closing %s", p.closing)
	case slices.ContainsFunc(body, closes):
		return fmt.Errorf("the block contains its own closing fence %s: use a longer one", p.closing)
	}
	return nil
}

// regenerate returns the files that a page makes, itself and its pictures, and what is
// wrong with it: that stays as it is. If nothing is shown, pictures stay as well.
func (b library) regenerate(file string, show shown) (made map[string]string, wrong []string) {
	made = map[string]string{}
	fill := func(p, same part) ([]string, error) {
		switch {
		case p.verb == "picture" && show.print != nil:
			files, shown, err := draw(file, p.args, show.play)
			maps.Copy(made, files)
			return []string{shown}, err
		case p.verb == "picture", p.verb == "table": // another program writes a table
		case p.verb == "questions":
			list, err := b.questions(file, p.args)
			if errors.Is(err, errStale) {
				return p.body, nil
			}
			return list, err
		case isChinese(file):
			speaks := p.verb == "run" && commandOf(file, p.args) != p.args
			switch {
			case same.verb != p.verb || same.args != p.args || p.verb == "" && p.body != nil:
			case speaks && show.print != nil:
				out, err := show.print(commandOf(file, p.args))
				return trimmed(prompt(p.args) + "\n" + out), err
			case !speaks || !strings.HasPrefix(strings.Join(p.body, "\n"), prompt(p.args)):
				return same.body, nil
			}
		case p.verb == "run":
			out, err := show.print(p.args)
			return trimmed(prompt(p.args) + "\n" + out), err
		case p.verb == "code":
			text, err := excerpt(strings.Fields(p.args))
			return trimmed(text), err
		}
		return p.body, nil
	}
	theirs := slices.DeleteFunc(parse(b.page(english(file)).text), func(p part) bool { return !p.isBlock() })
	var lines []string
	for _, p := range parse(b.page(file).text) {
		var err error
		if !p.isBlock() {
			p.head[0], err = b.linked(file, p.head[0])
		} else {
			var same part // of the English page
			if len(theirs) > 0 {
				same, theirs = theirs[0], theirs[1:]
			}
			var body []string
			if body, err = fill(p, same); err == nil {
				err = p.unfit(body)
			}
			if err == nil {
				p.body = body
			}
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %v", file, p.from, err))
		}
		lines = append(lines, p.lines()...)
	}
	page := b.withLanguages(file, strings.Join(lines, "\n"))
	b.set(file, page)
	made[file] = page
	if path.Dir(file) == interviewDir {
		made[editionFor(file, interviewDir+"/deck.tsv")] = b.deck(file)
	}
	if isChinese(file) {
		wrong = append(wrong, b.disagree(file)...)
	}
	return made, wrong
}

// linked returns a line with its links as this page has them now.
func (b library) linked(file, line string) (string, error) {
	if isChinese(file) {
		line = mapLinks(line, func(link string) string { return b.inChinese(file, link) })
	}
	return relink(file, linkPlay(file, line))
}

// blanks are white space at the end of a line, and empty lines at the end of a text.
var blanks = regexp.MustCompile(`(?m)[ \t]+$|\n+\z`)

func trimmed(text string) []string { return strings.Split(blanks.ReplaceAllString(text, ""), "\n") }

// excerpt returns declarations of a file or a folder: excerpt([file.go Name ...]).
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
		texts = append(texts, d.Text)
	}
	return strings.Join(texts, "\n\n"), nil
}

// relink sets the lines, and the files, of the links whose title or, without one, whose
// text in backticks is the name of a declaration. Only a lesson gives the lines of its
// tests: otherwise a new story would change most pages.
func relink(file, line string) (string, error) {
	var failed error
	line = sourceLink.ReplaceAllStringFunc(line, func(link string) string {
		m := sourceLink.FindStringSubmatch(link)
		name := strings.Trim(cmp.Or(m[3], m[1]), " \"`")
		if strings.Contains(m[2], "://") || m[3] == "" && !strings.HasPrefix(m[1], "`") {
			return link
		}
		d, err := find(path.Join(path.Dir(file), m[2]), name)
		if err != nil {
			failed = err
			return link
		}
		to := path.Join(path.Dir(m[2]), d.File)
		if strings.Contains(to, "/") && strings.HasSuffix(to, "_test.go") {
			return fmt.Sprintf("[%s](%s%s)", m[1], to, m[3])
		}
		return fmt.Sprintf("[%s](%s#L%d%s)", m[1], to, d.Line, m[3])
	})
	return line, failed
}

// find returns a declaration of a file, or of another one next to it: a lock has several,
// and what it declares may move. Of a folder, it returns one of any file.
func find(file, name string) (d source.Declaration, err error) {
	dir := file
	if path.Ext(file) == ".go" {
		list, _ := source.Read(file)
		if d, err = source.Find(list, name); err == nil {
			return d, nil
		}
		dir = path.Dir(file)
	}
	list, err := source.ReadDir(dir)
	if err == nil {
		d, err = source.Find(list, name)
	}
	if second := course.Second(dir); err != nil && second != nil { // it stands there once, for all steps
		if list, wrong := source.ReadDir(course.SecondDir); wrong == nil {
			d, err = source.Find(list, name)
			d.File = strings.Repeat("../", strings.Count(dir, "/")+1) + course.SecondDir + "/" + d.File
		}
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return d, err
}

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

// A section is a heading, and what follows up to the next one.
type section struct {
	level int // 0 before the first heading
	title string
	slug  string // its anchor
	parts []part // with that of the heading
	from  int    // its line in the page, from 1
}

var headingLine = regexp.MustCompile(`^(#{1,6}) +(.*\S)`)

// sections splits a page at its headings. The first one is what comes before them.
func sections(page string) []section {
	list := []section{{from: 1}}
	slugs := slugger{}
	for _, p := range parse(page) {
		if heading := headingLine.FindStringSubmatch(p.head[0]); heading != nil {
			list = append(list, section{level: len(heading[1]), title: heading[2], slug: slugs.slug(heading[2]), from: p.from})
		}
		last := &list[len(list)-1]
		last.parts = append(last.parts, p)
	}
	return list
}

// A slugger makes GitHub's anchors of the headings of one page.
type slugger map[string]int

var notInSlug = regexp.MustCompile(`[^\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc} -]`)

func (s slugger) slug(title string) string {
	text := linkTo.ReplaceAllString(title, "")
	text = strings.ReplaceAll(notInSlug.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
	slug := text
	for _, used := s[slug]; used; _, used = s[slug] {
		s[text]++
		slug = fmt.Sprintf("%s-%d", text, s[text])
	}
	s[slug] = 0
	return slug
}

// A library has the pages as they are on disk, and those that have been made anew.
type library map[string]page

// A page that does not exist has no text.
type page struct {
	text     string
	sections []section
}

func (b library) page(file string) page {
	if _, ok := b[file]; !ok {
		data, _ := os.ReadFile(file)
		b.set(file, strings.ReplaceAll(string(data), "\r\n", "\n"))
	}
	return b[file]
}

func (b library) set(file, text string) { b[file] = page{text, sections(text)} }

func (b library) has(file string) bool { return b.page(file).text != "" }

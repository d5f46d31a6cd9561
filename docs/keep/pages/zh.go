package main

import (
	"cmp"
	"crypto/sha256"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A page may have a Chinese edition next to it: README.zh-CN.md beside README.md. All others
// are in English only, and docs/read/glossary.md is in both languages.
const bilingual = "docs/read/glossary.md"

const suffix = ".zh-CN.md"

func isChinese(file string) bool { return strings.HasSuffix(file, suffix) }

// english and chinese are the names of the two editions of a page.
func english(file string) string {
	if name, ok := strings.CutSuffix(file, suffix); ok {
		return name + ".md"
	}
	return file
}

func chinese(file string) string { return strings.TrimSuffix(english(file), ".md") + suffix }

// A section is a heading, and what follows up to the next one.
type section struct {
	level int // 0 is what stands before the first heading
	title string
	slug  string // its anchor
	stamp string // in a Chinese page: the hash of the English section when it was translated
	lines []line
	from  int // the line of its heading in the page, from 1
}

var (
	headingLine  = regexp.MustCompile(`^(#{1,6}) +(.*\S)`)
	stampLine    = regexp.MustCompile(`^<!-- en: ([0-9a-f]*) -->$`)
	languageLine = regexp.MustCompile(`^(English \| \[中文\]\([^)]*\)|\[English\]\([^)]*\) \| 中文)$`)
)

// sections splits a page at its headings. The line of languages is in none, nor are the
// questions of a lesson: they are compared where they come from.
func sections(page string) []section {
	var list []section
	slugs := slugger{}
	now := section{from: 1}
	end := func() {
		if now.level > 0 || slices.ContainsFunc(now.lines, func(l line) bool { return l.text != "" }) {
			list = append(list, now)
		}
	}
	stamp := ""
	for i, l := range lines(page) {
		m := stampLine.FindStringSubmatch(l.text)
		heading := headingLine.FindStringSubmatch(l.text)
		switch {
		case l.shown:
		case l.fenced:
			now.lines = append(now.lines, l)
		case m != nil:
			stamp = m[1]
		case heading != nil:
			end()
			now = section{level: len(heading[1]), title: heading[2], slug: slugs.slug(heading[2]), stamp: stamp, from: i + 1}
			stamp = ""
		case !languageLine.MatchString(l.text):
			now.lines = append(now.lines, l)
		}
	}
	end()
	return list
}

// A slugger makes GitHub's anchors of the headings of one page.
type slugger map[string]int

var (
	linkTo    = regexp.MustCompile(`\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)`)
	notInSlug = regexp.MustCompile(`[^\p{L}\p{M}\p{Nd}\p{Nl}\p{Pc} -]`)
)

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

// A fencedBlock of a page, with the marker before it.
type fencedBlock struct {
	marker string // the whole line, or ""
	open   string // the line that opens it
	body   []string
}

// blocks are the fenced blocks of a section.
func (s section) blocks() (list []fencedBlock) {
	for _, l := range s.lines {
		if l.opens {
			list = append(list, fencedBlock{marker: l.marker, open: l.text})
		}
		if l.fenced {
			last := &list[len(list)-1]
			last.body = append(last.body, l.text)
		}
	}
	return list
}

// prose is the text of a section with its heading: no blocks, no comments, no pictures.
func (s section) prose() string {
	list := []string{s.title}
	for _, l := range s.lines {
		trimmed := strings.TrimSpace(l.text)
		if l.plain() && !strings.HasPrefix(trimmed, "<!--") && !strings.HasPrefix(trimmed, "<picture>") {
			list = append(list, l.text)
		}
	}
	return strings.Join(list, "\n")
}

// text is what a translator reads of a section: without what a program writes.
func (s section) text() string {
	list := []string{strings.Repeat("#", s.level) + " " + s.title}
	for _, l := range s.lines {
		if !l.made() {
			list = append(list, l.text)
		}
	}
	return strings.Join(list, "\n") + "\n"
}

// hash is of what must be translated: no targets of links, no white space.
func (s section) hash() string {
	text := strings.Fields(linkTo.ReplaceAllString(s.text(), "]"))
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(text, " "))))[:10]
}

// A library has the pages as they are on disk.
type library struct {
	texts map[string]string
	sects map[string][]section
}

func newLibrary() *library {
	return &library{map[string]string{}, map[string][]section{}}
}

// text returns a page, or "" if there is none.
func (b *library) text(file string) string {
	text, ok := b.texts[file]
	if !ok {
		data, _ := os.ReadFile(filepath.FromSlash(file))
		text = strings.ReplaceAll(string(data), "\r\n", "\n")
		b.texts[file] = text
	}
	return text
}

func (b *library) has(file string) bool { return b.text(file) != "" }

func (b *library) set(file, text string) {
	b.texts[file] = text
	delete(b.sects, file)
}

func (b *library) sections(file string) []section {
	list, ok := b.sects[file]
	if !ok {
		list = sections(b.text(file))
		b.sects[file] = list
	}
	return list
}

// target returns where the link of a page leads: the file, and its anchor. A folder is its README.
func (b *library) target(from, link string) (file, anchor string, ok bool) {
	if strings.Contains(link, ":") {
		return "", "", false
	}
	file, anchor, _ = strings.Cut(link, "#")
	if file = path.Join(path.Dir(from), file); strings.HasPrefix(link, "#") {
		file = from
	}
	if path.Ext(file) == "" && b.has(file+"/README.md") {
		file += "/README.md"
	}
	return file, anchor, path.Ext(file) == ".md"
}

// inEnglish returns the link of a Chinese page as the English page has it.
func (b *library) inEnglish(from, link string) string {
	file, anchor, ok := b.target(from, link)
	if !ok {
		return strings.Replace(lineNumber.ReplaceAllString(link, ""), ".zh-CN.", ".", 1)
	}
	return join(english(from), english(file), b.sameHeading(file, english(file), anchor))
}

// inChinese returns the link for a Chinese page: to the Chinese edition, if there is one.
func (b *library) inChinese(from, link string) string {
	file, anchor, ok := b.target(from, link)
	if !ok {
		return link
	}
	// A link that is Chinese already goes to its English page first: then both are one case.
	anchor, file = b.sameHeading(file, english(file), anchor), english(file)
	if !b.has(chinese(file)) {
		if file == english(from) {
			return link
		}
		return join(from, file, anchor)
	}
	return join(from, chinese(file), b.sameHeading(file, chinese(file), anchor))
}

// join writes the link from one page to another one.
func join(from, file, anchor string) string {
	link := ""
	if from != file {
		relative, err := filepath.Rel(filepath.FromSlash(path.Dir(from)), filepath.FromSlash(file))
		if err != nil {
			return file
		}
		link = filepath.ToSlash(relative)
	}
	if anchor != "" {
		link += "#" + anchor
	}
	return link
}

// sameHeading returns the anchor of the heading at the same place in another edition. What
// is not the anchor of a heading stays as it is.
func (b *library) sameHeading(from, to, anchor string) string {
	source, dest := b.sections(from), b.sections(to)
	i := slices.IndexFunc(source, func(s section) bool { return s.slug == anchor })
	if anchor == "" || i < 0 || len(source) != len(dest) {
		return anchor
	}
	return dest[i].slug
}

var lineNumber = regexp.MustCompile(`#L[0-9]+$`)

// withLanguages returns the page with the line that links to its other edition.
func (b *library) withLanguages(file, page string) string {
	all := lines(page)
	var out []string
	title := -1
	for i := 0; i < len(all); i++ {
		if !all[i].fenced && languageLine.MatchString(all[i].text) {
			if i++; i < len(all) && all[i].text != "" {
				i--
			}
			continue
		}
		out = append(out, all[i].text)
		if title < 0 && !all[i].fenced && strings.HasPrefix(all[i].text, "# ") {
			title = len(out)
		}
	}
	other := "[English](" + path.Base(english(file)) + ") | 中文"
	if !isChinese(file) {
		other = "English | [中文](" + path.Base(chinese(file)) + ")"
	}
	if title > 0 && b.has(chinese(file)) {
		out = slices.Insert(out, title, "", other)
	}
	return strings.Join(out, "\n")
}

// regenerate is what regenerate does with an English page, and for a Chinese one what
// belongs to it: what it has in common with the English page, Chinese pictures, and where
// the two disagree.
func (b *library) regenerate(file string, outputs map[string]string) (page string, drawn map[string]string, wrong []string, err error) {
	if isChinese(file) {
		drawn = map[string]string{}
		page, wrong, err = b.carry(file, func(args string) (string, error) { return drawnAt(file, args, outputs, drawn) })
		b.set(file, page)
		return page, drawn, append(wrong, b.disagree(file)...), err
	}
	page, wrong = b.withQuestions(file, b.text(file))
	page, drawn, err = regenerate(file, page, outputs)
	page = b.withLanguages(file, page)
	b.set(file, page)
	return page, drawn, wrong, err
}

// carry returns a Chinese page with what it has in common with the English one: its blocks,
// the targets of its links, and their line numbers. draw makes the line that shows a
// picture; without it, pictures stay as they are.
func (b *library) carry(file string, draw func(args string) (string, error)) (page string, wrong []string, err error) {
	ours, theirs := b.sections(file), b.sections(english(file))
	page, wrong = b.withQuestions(file, b.text(file))
	here := -1 // the section
	if len(ours) > 0 && ours[0].level == 0 {
		here = 0
	}
	nth := 0         // the block in it
	var same section // the English one: without it, nothing says which block is which
	enter := func() {
		if nth = 0; here >= 0 && sameTree(ours, theirs) {
			same = theirs[here]
		}
	}
	enter()
	page, err = rewrite(file, page, rewriting{
		line: func(at int, text string) (string, error) {
			if headingLine.MatchString(text) {
				here++
				enter()
			}
			text = linkTo.ReplaceAllStringFunc(text, func(link string) string {
				return "](" + b.inChinese(file, link[2:len(link)-1]) + ")"
			})
			linked, err := relink(file, same.sameSource(text))
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %v", file, at, err))
			}
			return linked, nil
		},
		body: func(l line, old []string) ([]string, error) {
			list := same.blocks()
			if nth++; nth <= len(list) && list[nth-1].marker == l.marker && (l.marker != "" || len(old) == 0) {
				return list[nth-1].body, nil
			}
			return old, nil
		},
		picture: draw,
	})
	return b.withLanguages(file, page), wrong, err
}

// sameSource returns a line of a Chinese page with its links to declarations as the English
// section has them: a story may have moved to another file.
func (s section) sameSource(text string) string {
	prose := s.prose()
	return sourceLink.ReplaceAllStringFunc(text, func(link string) string {
		m := sourceLink.FindStringSubmatch(link)
		moved := ""
		for _, e := range sourceLink.FindAllStringSubmatch(prose, -1) {
			switch {
			case e[1] == m[1] && e[2] == m[2]:
				return link
			case e[1] == m[1]:
				moved = e[0]
			}
		}
		return cmp.Or(moved, link)
	})
}

// sameTree reports whether two pages have headings of the same levels.
func sameTree(a, b []section) bool {
	return slices.EqualFunc(a, b, func(a, b section) bool { return a.level == b.level })
}

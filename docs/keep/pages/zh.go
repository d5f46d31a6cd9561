package main

import (
	"cmp"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// translated are the pages that have a Chinese edition next to them: README.zh-CN.md beside
// README.md. All others are in English only, and docs/read/glossary.md is in both languages.
var translated = []string{
	"README.md",
	"step01_setnx/README.md",
	"step02_expire/README.md",
	"step03_atomic_set/README.md",
	"step04_owner_token/README.md",
	"step05_lua_release/README.md",
	"step06_reentrant/README.md",
	"step07_watchdog/README.md",
	"step08_redlock/README.md",
	"docs/README.md",
	"docs/read/interview/README.md",
	"docs/read/interview/locks.md",
	"docs/read/interview/release.md",
	"docs/read/interview/nesting.md",
	"docs/read/interview/watchdog.md",
	"docs/read/interview/redlock.md",
	"docs/read/interview/fencing.md",
	"docs/read/interview/systems.md",
	"docs/read/interview/design.md",
	"docs/read/interview/whiteboard.md",
	"docs/read/interview/wrong.md",
	"docs/read/find-the-bug.md",
	"docs/read/find-the-bug-2.md",
	"docs/read/find-the-bug-3.md",
	"docs/read/redlock.md",
	"docs/read/redlock-page.md",
	"docs/read/debate.md",
	"docs/read/redisson.md",
	"docs/read/production.md",
	"docs/read/server.md",
	"docs/read/client.md",
	"docs/read/coverage.md",
	"docs/read/workshop.md",
	"docs/fencing/README.md",
	"docs/play/README.md",
}

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

// editionLines is the number of lines that a page has because of its other edition: stamps,
// and the line of languages with an empty one.
func editionLines(page string) (n int) {
	for _, l := range lines(page) {
		switch {
		case l.fenced:
		case stampLine.MatchString(l.text):
			n++
		case languageLine.MatchString(l.text):
			n += 2
		}
	}
	return n
}

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
	shown := false // a question of a lesson
	for i, l := range lines(page) {
		if shown = shown && l.text != questionsEnd; shown {
			continue
		}
		if shown = !l.fenced && questionsLine.MatchString(l.text); shown || l.fenced {
			now.lines = append(now.lines, l)
			continue
		}
		if m := stampLine.FindStringSubmatch(l.text); m != nil {
			stamp = m[1]
			continue
		}
		if m := headingLine.FindStringSubmatch(l.text); m != nil {
			end()
			now = section{level: len(m[1]), title: m[2], slug: slugs.slug(m[2]), stamp: stamp, from: i + 1}
			stamp = ""
			continue
		}
		if !languageLine.MatchString(l.text) {
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

// A fenced is a fenced block of a page, with the marker before it.
type fencedBlock struct {
	marker string // the whole line, or ""
	open   string // the line that opens it
	body   []string
}

// generated reports whether a program has written the block.
func (b fencedBlock) generated() bool { return b.marker != "" }

// blocks are the fenced blocks of a section.
func (s section) blocks() (list []fencedBlock) {
	open := false
	for i, l := range s.lines {
		isFence := !l.fenced && strings.HasPrefix(strings.TrimSpace(l.text), "```")
		switch {
		case isFence && !open:
			b := fencedBlock{open: l.text}
			if i > 0 && markerLine.MatchString(s.lines[i-1].text) {
				b.marker = s.lines[i-1].text
			}
			list, open = append(list, b), true
		case isFence:
			open = false
		case l.fenced:
			last := &list[len(list)-1]
			last.body = append(last.body, l.text)
		}
	}
	return list
}

// prose is the text of a section with its heading: no blocks, no comments, no pictures.
func (s section) prose() []string {
	list := []string{s.title}
	for _, l := range s.lines {
		trimmed := strings.TrimSpace(l.text)
		if !l.fenced && !strings.HasPrefix(trimmed, "```") && !strings.HasPrefix(trimmed, "<!--") && !strings.HasPrefix(trimmed, "<picture>") {
			list = append(list, l.text)
		}
	}
	return list
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
	if !slices.Contains(translated, english(file)) {
		return page
	}
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
func (b *library) regenerate(file, old string, outputs map[string]string) (page string, drawn map[string]string, wrong []string, err error) {
	if !isChinese(file) {
		old, wrong = b.withQuestions(file, old)
		if page, drawn, err = regenerate(file, old, outputs); err == nil {
			page = b.withLanguages(file, page)
			b.set(file, page)
		}
		return page, drawn, wrong, err
	}
	if !slices.Contains(translated, english(file)) {
		return old, nil, []string{file + ": add it to the list of translated pages (docs/keep/pages/zh.go)"}, nil
	}
	drawn = map[string]string{}
	page, wrong, err = b.carry(file, func(args string) (string, error) { return drawnAt(file, args, outputs, drawn) })
	if err != nil {
		return "", nil, nil, err
	}
	b.set(file, page)
	return page, drawn, append(wrong, b.disagree(file)...), nil
}

// unwritten returns complaints about the lists of pages.
func unwritten(b *library) (wrong []string) {
	for _, file := range translated {
		if !b.has(chinese(file)) {
			wrong = append(wrong, file+" has no Chinese edition "+chinese(file))
		}
	}
	return wrong
}

// carry returns a Chinese page with what it has in common with the English one: its blocks,
// the targets of its links, and their line numbers. draw makes the line that shows a
// picture; without it, pictures stay as they are.
func (b *library) carry(file string, draw func(args string) (string, error)) (page string, wrong []string, err error) {
	ours, theirs := b.sections(file), b.sections(english(file))
	if !sameTree(ours, theirs) {
		theirs = nil // nothing says which block is which
	}
	var out []string
	at, nth := -1, 0 // the section, and the block in it
	filled, wrong := b.withQuestions(file, b.text(file))
	all := lines(filled)
	before := ""   // a marker
	shown := false // a question
	if len(ours) > 0 && ours[0].level == 0 {
		at = 0
	}
	for i := 0; i < len(all); i++ {
		text := all[i].text
		if headingLine.MatchString(text) && !all[i].fenced {
			at, nth = at+1, 0
		}
		if shown = questionsLine.MatchString(text) || shown && text != questionsEnd; shown && all[i].fenced {
			out = append(out, text)
			continue
		}
		if !shown && strings.HasPrefix(strings.TrimSpace(text), "```") {
			end := i + 1
			for end < len(all) && all[end].fenced {
				end++
			}
			body := all[i+1 : end]
			var copied []string
			for _, l := range body {
				copied = append(copied, l.text)
			}
			if theirs != nil {
				if list := theirs[at].blocks(); nth < len(list) && list[nth].marker == before && (before != "" || len(body) == 0) {
					copied = list[nth].body
				}
			}
			out = append(append(out, text), copied...)
			if end < len(all) {
				out = append(out, all[end].text)
			}
			i, before = end, ""
			nth++
			continue
		}
		text = linkTo.ReplaceAllStringFunc(text, func(link string) string {
			return "](" + b.inChinese(file, link[2:len(link)-1]) + ")"
		})
		if theirs != nil && at >= 0 {
			text = theirs[at].sameSource(text)
		}
		linked, err := relink(file, text)
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %v", file, i+1, err))
		}
		out = append(out, linked)
		m := markerLine.FindStringSubmatch(text)
		if before = ""; m != nil && m[1] != "picture" {
			before = text
		}
		if m == nil || m[1] != "picture" || draw == nil {
			continue
		}
		shown, err := draw(m[2])
		if err != nil {
			return "", nil, fmt.Errorf("%s:%d: %w", file, i+1, err)
		}
		if out = append(out, shown); i+1 < len(all) && strings.HasPrefix(all[i+1].text, "<picture>") {
			i++
		}
	}
	return b.withLanguages(file, strings.Join(out, "\n")), wrong, nil
}

// sameSource returns a line of a Chinese page with its links to declarations as the English
// section has them: a story may have moved to another file.
func (s section) sameSource(text string) string {
	prose := strings.Join(s.prose(), "\n")
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

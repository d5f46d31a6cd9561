package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

// A section is a heading, and what follows up to the next one.
type section struct {
	level int // 0 is what comes before the first heading
	title string
	slug  string // its anchor
	lines []line // with that of the heading
	from  int    // its line in the page, from 1
}

var headingLine = regexp.MustCompile(`^(#{1,6}) +(.*\S)`)

// sections splits a page at its headings. The stamp and the line of languages are in
// none, nor are the questions of a lesson: they are compared where they come from.
func sections(page string) []section {
	list := []section{{from: 1}}
	slugs := slugger{}
	for i, l := range lines(page) {
		heading := headingLine.FindStringSubmatch(l.text)
		switch {
		case l.shown, stampLine.MatchString(l.text + "\n"), languageLine.MatchString(l.text + "\n"):
			continue
		case heading != nil && !l.fenced:
			list = append(list, section{level: len(heading[1]), title: heading[2], slug: slugs.slug(heading[2]), from: i + 1})
		}
		last := &list[len(list)-1]
		last.lines = append(last.lines, l)
	}
	if strings.TrimSpace(prose(list[0].lines)) == "" {
		return list[1:]
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

package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
)

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

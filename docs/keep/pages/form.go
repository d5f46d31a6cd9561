package main

import (
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxLines keeps a page readable at one sitting.
const maxLines = 300

// maxOwnLines are for a page that shows questions, without these.
const maxOwnLines = 265

// maxColumns keeps a block readable without scrolling sideways; a tab has four.
const maxColumns = 100

// long are the pages that may be longer: programs write them.
var long = []string{"docs/read/matrix.md", "docs/read/faults.md"}

// form returns what is wrong with the form of a page.
func form(file, page string) []string {
	file = filepath.ToSlash(file)
	var wrong []string
	n, enough := strings.Count(page, "\n"), maxLines
	for _, line := range lines(page) {
		switch {
		case line.shown:
			n, enough = n-1, maxOwnLines
		case !line.fenced && stampLine.MatchString(line.text):
			n--
		case !line.fenced && languageLine.MatchString(line.text):
			n -= 2 // and an empty one
		}
	}
	if n > enough && !slices.Contains(long, english(file)) {
		wrong = append(wrong, fmt.Sprintf("%s has %d lines: %d are enough", file, n, enough))
	}
	if strings.HasPrefix(file, "step0") && !isChinese(file) {
		wrong = append(wrong, lessonForm(file, page)...)
	}
	if path.Dir(file) == interviewDir {
		wrong = append(wrong, questionForm(file, page)...)
	}
	all := lines(page)
	for i, line := range all {
		columns := utf8.RuneCountInString(strings.ReplaceAll(line.text, "\t", "    "))
		if line.fenced && columns > maxColumns {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %d columns in a block, %d are enough", file, i+1, columns, maxColumns))
		}
		if line.fenced || !strings.Contains(line.text, "<summary>") {
			continue
		}
		if !strings.HasSuffix(line.text, "</summary>") || i+1 == len(all) || all[i+1].text != "" {
			wrong = append(wrong, fmt.Sprintf("%s:%d: GitHub shows the text after <summary> as Markdown only if </summary> ends its line and an empty line follows", file, i+1))
		}
	}
	if strings.Contains(page, "\n```mermaid\n") {
		wrong = append(wrong, file+": a diagram drawn by hand goes stale: draw it from a run (<!-- picture: ... -->)")
	}
	for _, link := range lineLink.FindAllString(page, -1) {
		if !sourceLink.MatchString(link) && !strings.Contains(link, "://") {
			wrong = append(wrong, fmt.Sprintf("%s: %s: a link into a source line needs a declaration's name in backticks as its text, or no one keeps its line right", file, link))
		}
	}
	return wrong
}

var lineLink = regexp.MustCompile(`\[[^\]]*\]\([^)\s]+\.go#[^)]*\)`)

// A line of a page, and what it is part of.
type line struct {
	text   string
	opens  bool   // it opens a fenced block
	fenced bool   // it is inside one
	marker string // of what a program writes here: <!-- run: ... --> before this block or picture
	shown  bool   // it is of a question that an interview page has
}

// plain lines are neither in a block nor its fence.
func (l line) plain() bool {
	return !l.fenced && !strings.HasPrefix(strings.TrimSpace(l.text), "```")
}

// made lines are what a program writes after a marker.
func (l line) made() bool { return l.marker != "" && !l.opens }

// lines splits a page. A fence is in no block.
func lines(page string) (list []line) {
	open := "" // the fence that has opened the block
	marker, shown := "", false
	for text := range strings.SplitSeq(page, "\n") {
		shown = shown && text != questionsEnd
		l := line{text: text, shown: shown}
		trimmed := strings.TrimSpace(text)
		fence := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case open != "" && trimmed == open:
			open, marker = "", ""
		case open != "":
			l.fenced, l.marker = true, marker
		case len(fence) >= len("```"):
			open, l.opens, l.marker = fence, true, marker
		default:
			if strings.HasPrefix(text, "<picture>") {
				l.marker = marker
			}
			marker = markerLine.FindString(text)
			shown = shown || questionsLine.MatchString(text)
		}
		list = append(list, l)
	}
	return list
}

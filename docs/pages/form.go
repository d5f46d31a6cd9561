package main

import (
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// maxLines keeps a page readable at one sitting.
const maxLines = 300

// long are the pages that may be longer: two that are read in parts, and what programs write.
var long = []string{"docs/interview.md", "docs/redlock.md", "docs/matrix.md", "docs/faults.md"}

// lesson are the headings of a step's README, in their order.
var lesson = []string{"The incident", "Timeline", "See it fail", "Why", "The fix", "See it hold", "Still broken", "Questions", "Your turn", "Copy it?"}

// form returns what is wrong with the form of a page.
func form(file, page string) []string {
	file = filepath.ToSlash(file)
	var wrong []string
	if n := strings.Count(page, "\n"); n > maxLines && !slices.Contains(long, file) {
		wrong = append(wrong, fmt.Sprintf("%s has %d lines: %d are enough", file, n, maxLines))
	}
	if strings.HasPrefix(file, "step") {
		if got := headings(page); !slices.Equal(got, lesson) {
			wrong = append(wrong, fmt.Sprintf("%s: its headings are %q, a lesson's are %q", file, got, lesson))
		}
	}
	lines := prose(page)
	for i, line := range lines {
		if strings.Contains(line, "<summary>") && !(strings.HasSuffix(line, "</summary>") && i+1 < len(lines) && lines[i+1] == "") {
			wrong = append(wrong, fmt.Sprintf("%s:%d: GitHub shows the text after <summary> as Markdown only if </summary> ends its line and an empty line follows", file, i+1))
		}
	}
	for _, link := range lineLink.FindAllString(page, -1) {
		if !sourceLink.MatchString(link) && !strings.Contains(link, "://") {
			wrong = append(wrong, fmt.Sprintf("%s: %s: a link into a source line needs a declaration's name in backticks as its text, or nobody keeps its line right", file, link))
		}
	}
	return wrong
}

var lineLink = regexp.MustCompile(`\[[^\]]*\]\([^)\s]+\.go#[^)]*\)`)

// headings returns the second-level headings outside of fenced blocks.
func headings(page string) []string {
	var found []string
	for _, line := range prose(page) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			found = append(found, heading)
		}
	}
	return found
}

// prose returns the lines of a page, and for each line of a fenced block its fence: nothing in a block is markup.
func prose(page string) []string {
	lines := strings.Split(page, "\n")
	fence := ""
	for i, line := range lines {
		switch {
		case fence != "":
			lines[i] = fence
			if strings.TrimRight(line, " ") == fence {
				fence = ""
			}
		case strings.HasPrefix(line, "```"):
			fence = line[:len(line)-len(strings.TrimLeft(line, "`"))]
		}
	}
	return lines
}

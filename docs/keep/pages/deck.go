package main

import (
	"fmt"
	"html"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

const interviewDir = "docs/read/interview"

var (
	keyWords = regexp.MustCompile(`(?m)^\*\*(?:Key words\.|关键词：)\*\* ?((?:.+\n)+)`)
	spoken   = regexp.MustCompile(`(?m)^\*\*30 (?:s\.|秒：)\*\* ?((?:.+\n)+)`)
	link     = regexp.MustCompile(`\[([^\]\n]*)\]\([^)\s]*\)`)
	code     = regexp.MustCompile("`([^`]+)`")
	bold     = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	slant    = regexp.MustCompile(`\*([^*]+)\*`)
)

// deck has the questions of the interview pages in the language of a page as cards for Anki: the
// question, what is said in 30 seconds, and the page.
func deck(page string) string {
	cards := "#separator:tab\n#html:true\n#tags column:3\n"
	files, _ := filepath.Glob(interviewDir + "/*.md")
	for _, file := range files {
		if isChinese(file) != isChinese(page) {
			continue
		}
		theme, _, _ := strings.Cut(path.Base(file), ".")
		for _, section := range strings.Split(read(file), "\n### ")[1:] {
			words, says := keyWords.FindStringSubmatch(section), spoken.FindStringSubmatch(section)
			if title, _, _ := strings.Cut(section, "\n"); words != nil && says != nil {
				cards += fmt.Sprintf("%s\t<b>%s</b><br><br>%s\t%s\n", inHTML(title), inHTML(words[1]), inHTML(says[1]), theme)
			}
		}
	}
	return cards
}

// inHTML returns Markdown in one line, without its links.
func inHTML(text string) string {
	text = link.ReplaceAllString(strings.Join(strings.Fields(text), " "), "$1")
	text = strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(html.EscapeString(text))
	text = code.ReplaceAllString(text, "<code>$1</code>")
	text = bold.ReplaceAllString(text, "<b>$1</b>")
	return slant.ReplaceAllString(text, "<i>$1</i>")
}

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A page may have a Chinese edition next to it: README.zh-CN.md beside README.md. All
// others are in English only, and docs/read/glossary.md is in both languages.
const bilingual = "docs/read/glossary.md"

const suffix = ".zh-CN"

func isChinese(file string) bool { return strings.Contains(file, suffix+".") }

// english and chinese are the names of the two editions of a file.
func english(file string) string { return strings.Replace(file, suffix+".", ".", 1) }

func chinese(file string) string {
	ext := path.Ext(file)
	return strings.TrimSuffix(english(file), ext) + suffix + ext
}

// editionFor is the edition of an English file in the language of a page.
func editionFor(page, file string) string {
	if isChinese(page) {
		return chinese(file)
	}
	return file
}

var (
	stampLine    = regexp.MustCompile(`(?m)^<!-- en: .* -->\n`)
	languageLine = regexp.MustCompile(`(?m)^(English \| \[中文\]\(.*\)|\[English\]\(.*\) \| 中文)\n\n?`)
	titleLine    = regexp.MustCompile(`(?m)^# .*\n`)
	linkTo       = regexp.MustCompile(`\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)\)`)
	lineNumber   = regexp.MustCompile(`#L[0-9]+$`)
)

// withLanguages returns the page with the line that links to its other edition.
func (b library) withLanguages(file, page string) string {
	page = languageLine.ReplaceAllString(page, "")
	title := titleLine.FindStringIndex(page)
	if title == nil || !b.has(chinese(file)) {
		return page
	}
	other := "English | [中文](" + path.Base(chinese(file)) + ")"
	if isChinese(file) {
		other = "[English](" + path.Base(english(file)) + ") | 中文"
	}
	return page[:title[1]] + "\n" + other + "\n" + page[title[1]:]
}

// mapLinks returns a text with its links as f returns them.
func mapLinks(text string, f func(link string) string) string {
	return linkTo.ReplaceAllStringFunc(text, func(link string) string { return "](" + f(link[2:len(link)-1]) + ")" })
}

// inChinese returns the link of a page, of whatever language, as its Chinese edition has
// it.
func (b library) inChinese(from, link string) string {
	file, anchor, isPage := b.target(from, link)
	other := chinese(file)
	if file == "" || !isPage && !b.has(other) {
		return link
	}
	if !b.has(other) {
		other = english(file)
	}
	return join(chinese(from), other, b.sameHeading(english(file), other, anchor))
}

// target returns where the link of a page leads: the file, and its anchor. A folder is
// its README.
func (b library) target(from, link string) (file, anchor string, isPage bool) {
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

// join writes the link from one page to another one.
func join(from, file, anchor string) string {
	link := ""
	if from != file {
		relative, _ := filepath.Rel(path.Dir(from), file) // both are in the repository
		link = filepath.ToSlash(relative)
	}
	if anchor != "" {
		link += "#" + anchor
	}
	return link
}

// sameHeading returns the anchor of the heading at the same place in another edition.
// What is not the anchor of a heading stays as it is.
func (b library) sameHeading(from, to, anchor string) string {
	source, dest := b.page(from).sections, b.page(to).sections
	i := slices.IndexFunc(source, func(s section) bool { return s.slug == anchor })
	if anchor == "" || i < 0 || len(source) != len(dest) {
		return anchor
	}
	return dest[i].slug
}

// disagree returns where a Chinese page is not in step with its English one, and where it
// breaks a rule of its form.
func (b library) disagree(file string) (wrong []string) {
	page := english(file)
	ours, theirs := b.page(file).sections, b.page(page).sections
	if len(ours) != len(theirs) {
		return []string{fmt.Sprintf("%s has %d headings, %s has %d", file, len(ours)-1, page, len(theirs)-1)}
	}
	for i, s := range ours {
		here, there := b.facts(file, s), b.facts(page, theirs[i])
		if !slices.Equal(here, there) {
			wrong = append(wrong, fmt.Sprintf("%s:%d: %s (%q of %s):\n  not in English: %s\n  lacks: %s",
				file, s.from, s.title, theirs[i].title, page, without(here, there), without(there, here)))
		}
	}
	if !strings.HasPrefix(b.page(file).text, stampOf(b.page(page).text)) {
		// What the English said in the commit with this stamp is what the Chinese says.
		stamped := strings.Trim(stampLine.FindString(b.page(file).text), "<!- >\n")
		wrong = append(wrong, fmt.Sprintf(`%s: %s has changed since it was translated
  see what: git diff --word-diff $(git log -1 --format=%%H -S '%[3]s' -- %[1]s) -- %[2]s
  when the Chinese says the same: go run -C docs/keep ./pages -stamp %[2]s`, file, page, stamped))
	}
	return append(wrong, b.chineseForm(file)...)
}

var (
	codeSpan = regexp.MustCompile("`` ?(.+?) ?``|`([^`\n]+)`|<code>(.*?)</code>")
	markup   = regexp.MustCompile(`(?m)^<!--.*`)
	comment  = regexp.MustCompile(`(^|\s)(#|//).*`) // may be translated
)

// facts are what a section has in both languages, sorted: its level, how many rows its
// tables have, links as the Chinese page has them, code in backticks, and the lines of
// blocks with their places. What the questions of a lesson say is compared where they come
// from.
func (b library) facts(file string, s section) []string {
	text := prose(s.parts)
	rows, folds := strings.Count(text, "\n|"), strings.Count(text, "<details")
	list := []string{fmt.Sprintf("%s with %d rows and %d <details>", strings.Repeat("#", s.level), rows, folds)}
	for _, m := range linkTo.FindAllStringSubmatch(text, -1) {
		if to := b.inChinese(file, m[1]); to != "" { // not from one edition to the other
			list = append(list, "link to "+lineNumber.ReplaceAllString(to, ""))
		}
	}
	text = strings.Join(strings.Fields(markup.ReplaceAllString(text, "")), " ")
	for _, m := range codeSpan.FindAllStringSubmatch(text, -1) {
		list = append(list, "`"+strings.Join(m[1:], "")+"`")
	}
	nth := 0
	for _, p := range s.parts {
		if !p.isBlock() {
			continue
		}
		nth++
		list = append(list, fmt.Sprintf("block %d: %s", nth, strings.Join(p.head, " ")))
		for at, text := range p.body {
			if p.isFenced() {
				text = strings.TrimRight(comment.ReplaceAllString(text, ""), " \t")
				list = append(list, fmt.Sprintf("block %d, line %d: %s", nth, at+1, text))
			}
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// without returns what some have and others have not.
func without(some, others []string) string {
	some = slices.DeleteFunc(slices.Clone(some), func(text string) bool { return slices.Contains(others, text) })
	return strings.Join(some, "  ")
}

// stampOf is the line that begins the Chinese edition of a page: a hash of what must be
// translated, so not of what a program writes, the questions that another page has, the
// targets of links and white space.
func stampOf(page string) string {
	var text []string
	for _, p := range parse(languageLine.ReplaceAllString(page, "")) {
		if p.verb != "" {
			p.body = nil
		}
		for _, line := range p.lines() {
			text = append(text, strings.Fields(linkTo.ReplaceAllString(line, "]"))...)
		}
	}
	return fmt.Sprintf("<!-- en: %.5x -->\n", sha256.Sum256([]byte(strings.Join(text, " "))))
}

// stamp says of pages that the Chinese says what the English says.
func stamp(files []string) error {
	if len(files) == 0 {
		return errors.New("name a page: go run -C docs/keep ./pages -stamp docs/read/redlock.md")
	}
	b := library{}
	list, err := b.editions(files)
	for _, file := range list {
		page := stampLine.ReplaceAllString(b.page(file).text, "")
		err = errors.Join(err, put(file, stampOf(b.page(english(file)).text)+page, false))
	}
	return err
}

// editions returns the Chinese pages of the files named, or all there are.
func (b library) editions(files []string) (list []string, err error) {
	if len(files) == 0 {
		if files, err = pages(); err != nil {
			return nil, err
		}
		files = slices.DeleteFunc(files, func(file string) bool { return !isChinese(file) })
	}
	for _, file := range files {
		file = chinese(filepath.ToSlash(filepath.Clean(file)))
		if !b.has(file) {
			return nil, fmt.Errorf("%s does not exist", file)
		}
		list = append(list, file)
	}
	return list, nil
}

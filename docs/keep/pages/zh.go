package main

import (
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// A page may have a Chinese edition next to it: README.zh-CN.md next to README.md. All
// others are in English only.
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
	bannerLine   = regexp.MustCompile(`(?m)^> \*\*本页落后于英文版.*\n\n?`)
	titleLine    = regexp.MustCompile(`(?m)^# .*\n`)
	linkTo       = regexp.MustCompile(`\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(\s"[^"]*")?\)`)
	lineNumber   = regexp.MustCompile(`#L[0-9]+$`)
)

// A reader of a stale page learns it below the title.
const banner = "> **本页落后于英文版**：英文版已有改动，这里还没有跟上。以 [英文版](%s) 为准。\n"

// withLanguages returns the page with the line that links to its other edition, and, if
// its Chinese is not in step, with the banner.
func (b library) withLanguages(file, page string) string {
	page = bannerLine.ReplaceAllString(languageLine.ReplaceAllString(page, ""), "")
	title := titleLine.FindStringIndex(page)
	if title == nil || !b.has(chinese(file)) {
		return page
	}
	other := "English | [中文](" + path.Base(chinese(file)) + ")\n"
	if isChinese(file) {
		original := path.Base(english(file))
		other = "[English](" + original + ") | 中文\n"
		if b.set(file, page); len(b.outOfStep(file)) > 0 {
			other += "\n" + fmt.Sprintf(banner, original)
		}
	}
	return page[:title[1]] + "\n" + other + "\n" + strings.TrimLeft(page[title[1]:], "\n")
}

// mapLinks returns a text with its links as f returns them.
func mapLinks(text string, f func(link string) string) string {
	return linkTo.ReplaceAllStringFunc(text, func(link string) string {
		m := linkTo.FindStringSubmatch(link)
		return "](" + f(m[1]) + m[2] + ")"
	})
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

var strict = flag.Bool("strict", false, "fail on a Chinese page that is not in step, instead of a warning")

// disagree returns what is wrong with a Chinese page. That it is not in step with the
// English one is only a warning, unless strict: an author who writes no Chinese can change
// English.
func (b library) disagree(file string) []string {
	stale := b.outOfStep(file)
	if !*strict {
		for _, why := range stale {
			fmt.Println("warning:", why)
		}
		stale = nil
	}
	return append(stale, b.unsaidEnglish(file)...)
}

// isStale is whether the English of a Chinese page has changed since it was translated.
func (b library) isStale(file string) bool {
	return isChinese(file) && b.has(file) && !strings.HasPrefix(b.page(file).text, stampOf(b.page(english(file)).text))
}

// outOfStep returns where a Chinese page differs from its English one.
func (b library) outOfStep(file string) (differs []string) {
	page := english(file)
	if b.isStale(file) {
		// What the English said in the commit with this stamp is what the Chinese says.
		stamped := strings.Trim(stampLine.FindString(b.page(file).text), "<!- >\n")
		differs = append(differs, fmt.Sprintf(`%s: %s has changed since it was translated
  see what: git diff --word-diff $(git log -1 --format=%%H -S '%[3]s' -- %[1]s) -- %[2]s
  when the Chinese says the same: go run -C docs/keep ./pages -stamp %[2]s`, file, page, stamped))
	}
	ours, theirs := b.page(file).sections, b.page(page).sections
	if len(ours) != len(theirs) {
		return append(differs, fmt.Sprintf("%s has %d headings, %s has %d", file, len(ours)-1, page, len(theirs)-1))
	}
	for i, s := range ours {
		here, there := b.facts(file, s), b.facts(page, theirs[i])
		if !slices.Equal(here, there) {
			differs = append(differs, fmt.Sprintf("%s:%d: %s (%q of %s):\n  not in English: %s\n  lacks: %s",
				file, s.from, s.title, theirs[i].title, page, without(here, there), without(there, here)))
		}
	}
	return differs
}

// unsaidEnglish returns links to pages that are in English only, where the page does not
// say so.
func (b library) unsaidEnglish(file string) (wrong []string) {
	said, text := map[string]bool{}, prose(parse(b.page(file).text))
	for _, at := range linkTo.FindAllStringSubmatchIndex(text, -1) {
		to, _, isPage := b.target(file, text[at[2]:at[3]])
		if !isPage || b.has(chinese(to)) || said[to] {
			continue
		}
		if said[to] = true; !strings.HasPrefix(text[at[1]:], "（英文") {
			wrong = append(wrong, fmt.Sprintf("%s:%d: the first link to %s, which is in English only, is followed by （英文）",
				file, 1+strings.Count(text[:at[0]], "\n"), to))
		}
	}
	return wrong
}

var (
	codeSpan = regexp.MustCompile("`` ?(.+?) ?``|`([^`\n]+)`|<code>(.*?)</code>")
	markup   = regexp.MustCompile(`(?m)^<!--.*`)
	comment  = regexp.MustCompile(`(^|\s)(#|//|-- ).*`) // may be translated
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
		to := b.inChinese(file, m[1])
		if page, _, _ := b.target(chinese(file), to); b.isStale(page) && page != chinese(file) {
			to, _, _ = strings.Cut(to, "#") // its headings may be others
		}
		if to != "" { // not from one edition to the other
			list = append(list, "link to "+lineNumber.ReplaceAllString(to, "")+m[2])
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
			if p.isFenced() && p.verb != "run" {
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
		page := stampOf(b.page(english(file)).text) + stampLine.ReplaceAllString(b.page(file).text, "")
		err = errors.Join(err, put(file, b.withLanguages(file, page), false))
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

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

var (
	stampLine    = regexp.MustCompile(`(?m)^<!-- en: (.*) -->\n`)
	languageLine = regexp.MustCompile(`(?m)^(English \| \[中文\]\(.*\)|\[English\]\(.*\) \| 中文)\n\n?`)
	bannerLine   = regexp.MustCompile(`(?m)^> \*\*本页落后于英文版.*\n\n?`)
	target       = regexp.MustCompile(`\]\(([^()\s]*(?:\([^()\s]*\)[^()\s]*)*)(\s"[^"]*")?\)`)
)

// A reader of a stale page learns it below the title.
const banner = "> **本页落后于英文版**：英文版已有改动，这里还没有跟上。以 [英文版](%s) 为准。\n\n"

// withBanner returns a page with the banner below the line that links to its other edition, if its
// Chinese is stale.
func withBanner(file, page string) string {
	page = bannerLine.ReplaceAllString(page, "")
	if isChinese(file) && isStale(file, page) {
		page = languageLine.ReplaceAllString(page, "$0"+fmt.Sprintf(banner, path.Base(english(file))))
	}
	return page
}

// isStale is whether the English of a Chinese page has changed since it was translated. It prints
// how to see the change.
func isStale(file, page string) bool {
	if strings.HasPrefix(page, stampOf(read(english(file)))) {
		return false
	}
	fmt.Printf("stale: %s: git diff --word-diff $(git log -1 --format=%%H -S '%s' -- %[1]s) -- %[3]s\n",
		file, strings.Trim(stampLine.FindString(page), "<!- >\n"), english(file))
	return true
}

// stampOf is the line that begins the Chinese edition of a page: a hash of what must be
// translated, so not of what a program writes, the targets of links and white space.
func stampOf(page string) string {
	var text []string
	for _, p := range parse(languageLine.ReplaceAllString(page, "")) {
		if p.verb != "" {
			p.body = nil
		}
		for _, line := range slices.Concat(p.head, p.body, p.end) {
			text = append(text, strings.Fields(target.ReplaceAllString(line, "]"))...)
		}
	}
	return fmt.Sprintf("<!-- en: %.5x -->\n", sha256.Sum256([]byte(strings.Join(text, " "))))
}

// stamp says of pages that the Chinese says what the English says.
func stamp(files []string) (err error) {
	if len(files) == 0 {
		return errors.New("name a page: go run -C docs/keep ./pages -stamp docs/read/redlock.md")
	}
	for _, file := range files {
		file = chinese(filepath.ToSlash(filepath.Clean(file)))
		text := read(file)
		if text == "" {
			err = errors.Join(err, fmt.Errorf("%s does not exist", file))
			continue
		}
		text = stampOf(read(english(file))) + stampLine.ReplaceAllString(text, "")
		err = errors.Join(err, put(file, withBanner(file, text), false))
	}
	return err
}

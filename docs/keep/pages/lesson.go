package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"
)

// lesson are the headings of a step's README, in their order: who reads it from the top
// writes the lock before he has seen it.
var lesson = []string{"The incident", "Timeline", "See it fail", "Predict", "Write it", "Why", "The fix",
	"See it hold", "Still broken", "Questions", "Your turn", "Copy it?"}

// What there is to read before the writing fits on two screens.
const (
	maxWords    = 300
	maxPictures = 3
)

// spoiler begins the last line before what gives the fix away.
const spoiler = "**Spoiler:** from here on, this page gives the fix away."

// lessonForm returns what is wrong with the form of a lesson.
func lessonForm(file, page string) (wrong []string) {
	complain := func(format string, args ...any) {
		wrong = append(wrong, file+": "+fmt.Sprintf(format, args...))
	}
	all := lines(page)
	if got := headings(all); !slices.Equal(got, lesson) {
		complain("its headings are %q, a lesson's are %q", got, lesson)
		return wrong
	}
	start, why := upTo(all, "Write it"), upTo(all, "Why")
	if n := words(start); n > maxWords {
		complain(`%d words: %d are enough before "Write it"`, n, maxWords)
	}
	if n := count(start, "<picture>"); n > maxPictures {
		complain(`%d pictures before "Write it", %d are enough`, n, maxPictures)
	}
	for i, line := range why {
		if solution(file, line) {
			wrong = append(wrong, fmt.Sprintf(`%s:%d: it gives the fix away before "Why"`, file, i+1))
		}
	}
	predict := start[len(upTo(all, "Predict")):]
	asked := slices.IndexFunc(predict, func(l line) bool { return strings.HasPrefix(l.text, "<details>") })
	if asked < 0 || count(predict[:asked], "?") != 1 {
		complain(`"Predict" asks one question, and folds its answer: <details><summary>Answer</summary>`)
	}
	write := why[len(start):]
	last := slices.IndexFunc(write, func(l line) bool { return strings.HasPrefix(l.text, spoiler) })
	if last < 0 || slices.ContainsFunc(write[last+1:], func(l line) bool { return l.text != "" }) {
		complain(`"Write it" ends with the line %q`, spoiler)
	}
	for _, verb := range []string{"try", "hint"} {
		command := fmt.Sprintf("%s %s %s", tourCommand, verb, file[len("step0"):][:1])
		if count(write, command) == 0 {
			complain(`"Write it" does not name the command %s`, command)
		}
	}
	if count(all, "<summary>Hint") > 0 {
		complain("hints come from the command (%s hint), a page has none", tourCommand)
	}
	return wrong
}

// solution reports whether a line shows the lock of the lesson: its source, what it does,
// or a link to it.
func solution(file string, l line) bool {
	if m := markerLine.FindStringSubmatch(l.text); m != nil {
		return m[1] == "code" || solved.MatchString(m[2])
	}
	for _, link := range linkTarget.FindAllStringSubmatch(l.text, -1) {
		target, _, _ := strings.Cut(link[1], "#")
		isSource := path.Ext(target) == ".go" && !strings.HasSuffix(target, "_test.go")
		if !l.fenced && isSource && path.Dir(path.Join(path.Dir(file), target)) == path.Dir(file) {
			return true
		}
	}
	return sourceFence.MatchString(l.text)
}

var (
	solved      = regexp.MustCompile(`(^| )(green|diff) `)
	sourceFence = regexp.MustCompile("^\\s*```+(go|diff|lua)$")
	linkTarget  = regexp.MustCompile(`\]\(([^)\s]*)\)`)
	tag         = regexp.MustCompile(`<[^>]*>`)
	letter      = regexp.MustCompile(`\pL|\pN`)
)

// words counts the prose: no blocks, no pictures, no targets of links.
func words(part []line) (n int) {
	for _, l := range part {
		if l.fenced || strings.HasPrefix(strings.TrimSpace(l.text), "```") {
			continue
		}
		text := tag.ReplaceAllString(linkTarget.ReplaceAllString(l.text, "]"), " ")
		for _, word := range strings.Fields(text) {
			if letter.MatchString(word) {
				n++
			}
		}
	}
	return n
}

// count counts how often text is there.
func count(part []line, text string) (n int) {
	for _, l := range part {
		n += strings.Count(l.text, text)
	}
	return n
}

// headings returns the second-level headings outside of fenced blocks.
func headings(all []line) (found []string) {
	for _, l := range all {
		if heading, ok := strings.CutPrefix(l.text, "## "); ok && !l.fenced {
			found = append(found, heading)
		}
	}
	return found
}

// upTo returns what comes before a second-level heading.
func upTo(all []line, heading string) []line {
	i := slices.IndexFunc(all, func(l line) bool { return !l.fenced && l.text == "## "+heading })
	return all[:max(i, 0)]
}

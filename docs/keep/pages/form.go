package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"example.com/redislock-steps/docs/internal/course"
)

// What is readable: a page at one sitting (one that shows questions, without these), a
// block without scrolling sideways (a tab has four columns), and before the writing two
// screens. A question is answered in 30 seconds.
const (
	maxLines    = 300
	maxOwnLines = 265
	maxColumns  = 100
	maxWords    = 300
	maxPictures = 3
	minInLesson = 3
	maxInLesson = 5
	maxSpoken   = 70
)

// long are the pages that may be longer: programs write them.
var long = []string{"docs/read/matrix.md", "docs/read/faults.md"}

// forms are what GitHub shows otherwise than it was meant, and what no one keeps right.
var forms = []rule{
	reject(`<summary>`, "GitHub shows the text after <summary> as Markdown only if </summary> ends its line and an empty line follows").
		unless(`<summary>.*</summary>\n\n`),
	reject(`\[[^\]]*\]\([^)\s]+\.go#[^)]*\)`, "a link into a source line needs a declaration's name in backticks as its text, or no one keeps its line right").
		unless(sourceLink.String() + `|\([^)\s]*://`),
}

// form returns what is wrong with the form of a page.
func form(file, page string) []string {
	all := parse(page)
	wrong := check(forms, file, prose(all))
	n, enough := strings.Count(languageLine.ReplaceAllString(page, ""), "\n"), maxLines
	for _, p := range all {
		if p.verb == "questions" {
			n, enough = n-len(p.body), maxOwnLines
		}
		for i, text := range p.body {
			columns := utf8.RuneCountInString(strings.ReplaceAll(text, "\t", "    "))
			if p.isFenced() && columns > maxColumns {
				line := p.from + len(p.head) + i
				wrong = append(wrong, fmt.Sprintf("%s:%d: %d columns in a block, %d are enough", file, line, columns, maxColumns))
			}
		}
	}
	// A Chinese page is shorter: its paragraphs are one line.
	if n > enough && !slices.Contains(long, file) && !isChinese(file) {
		wrong = append(wrong, fmt.Sprintf("%s has %d lines: %d are enough", file, n, enough))
	}
	if path.Dir(file) == interviewDir {
		wrong = append(wrong, questionForm(file, page)...)
	}
	if strings.HasPrefix(file, "step0") && !isChinese(file) {
		wrong = append(wrong, lessonForm(file, page)...)
	}
	return wrong
}

// lesson are the headings of a step's README, in their order: who reads it from the top
// writes the lock before he has seen it.
var lesson = []string{"The incident", "Timeline", "See it fail", "Predict", "Write it", "Why", "The fix",
	"See it hold", "Still broken", "Questions", "Your turn", "Copy it?"}

// spoiler begins the last line before what gives the fix away.
const spoiler = "**Spoiler:** from here on, this page gives the fix away."

// solutions are the sources of a lesson's lock, what it or a later one does, and links to it.
const solutions = `^<!-- code: |^<!-- (run|picture):.* (green|diff) [%[2]s-9f]|^\s*` + "```+(go|diff|lua)$" + `|\]\((\.\./%[1]s/)?\w+\.go\b`

var ownHint = reject(`<summary>Hint`, "hints come from the command ("+tourCommand+" hint), a page has none")

// lessonForm returns what is wrong with the form of a lesson.
func lessonForm(file, page string) (wrong []string) {
	complain := func(format string, args ...any) {
		wrong = append(wrong, file+": "+fmt.Sprintf(format, args...))
	}
	if got := headings(page); !slices.Equal(got, lesson) {
		complain("its headings are %q, a lesson's are %q", got, lesson)
		return wrong
	}
	start, rest, _ := strings.Cut(page, "\n## Write it\n")
	write, _, _ := strings.Cut(rest, "\n## Why\n")
	_, predict, _ := strings.Cut(start, "\n## Predict\n")
	if n := words(prose(parse(start))); n > maxWords {
		complain(`%d words: %d are enough before "Write it"`, n, maxWords)
	}
	if n := strings.Count(start, "\n<!-- picture: "); n > maxPictures {
		complain(`%d pictures before "Write it", %d are enough`, n, maxPictures)
	}
	fix := reject(fmt.Sprintf(solutions, path.Dir(file), file[len("step0"):][:1]), `it gives the fix away before "Why"`).unless(`\w+_test\.go`)
	wrong = append(wrong, check([]rule{fix}, file, start+"\n\n"+write)...)
	wrong = append(wrong, check([]rule{ownHint}, file, page)...)
	question, _, folded := strings.Cut(predict, "<details>")
	if !folded || strings.Count(question, "?") != 1 {
		complain(`"Predict" asks one question, and folds its answer: <details><summary>Answer</summary>`)
	}
	if last := strings.TrimSpace(write); !strings.HasPrefix(last[strings.LastIndex(last, "\n")+1:], spoiler) {
		complain(`"Write it" ends with the line %q`, spoiler)
	}
	for _, verb := range []string{"try", "hint"} {
		command := fmt.Sprintf("%s %s %s", tourCommand, verb, file[len("step0"):][:1])
		if !strings.Contains(write, command) {
			complain(`"Write it" does not name the command %s`, command)
		}
	}
	return wrong
}

// headings returns those of the second level.
func headings(page string) (found []string) {
	for _, s := range sections(page) {
		if s.level == 2 {
			found = append(found, s.title)
		}
	}
	return found
}

var letter = regexp.MustCompile(`\pL|\pN`)

// words counts them in prose: no markers, no targets of links.
func words(text string) (n int) {
	for _, word := range strings.Fields(htmlTag.ReplaceAllString(linkTo.ReplaceAllString(text, "]"), " ")) {
		if letter.MatchString(word) {
			n++
		}
	}
	return n
}

// inlineCommand is a command of the tour in the text of a page: `red 4 TestX`.
var inlineCommand = regexp.MustCompile("`(?:" + tourCommand + " )?(red|green|try|hint|diff) ([0-9]|fencing) ([^`]+)`")

// wrongNames returns which commands in the text of a page name stories or declarations
// that are not there. Those in markers have been run.
func wrongNames(file, page string) (wrong []string) {
	text := strings.Join(strings.Fields(prose(parse(page))), " ")
	for _, m := range inlineCommand.FindAllStringSubmatch(text, -1) {
		s, err := course.Parse(m[2])
		for name := range strings.FieldsSeq(m[3]) {
			if err == nil {
				err = unknown(s, m[1], name)
			}
		}
		if err != nil {
			wrong = append(wrong, fmt.Sprintf("%s: %s: %v", file, m[0], err))
		}
	}
	return wrong
}

// unknown is an error if a command on step s cannot find name.
func unknown(s course.Step, verb, name string) error {
	if verb == "diff" {
		_, now := find(s.Dir, name)
		_, before := find(s.Before().Dir, name)
		if now != nil && before != nil {
			return fmt.Errorf("no declaration %s in %s or the one before", name, s.Subject())
		}
		return nil
	}
	story, _, _ := strings.Cut(name, "/") // a subtest
	files, _ := filepath.Glob(s.Dir + "/*_test.go")
	known := func(file string) bool {
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), "\nfunc "+story+"(")
	}
	if !strings.HasPrefix(story, "Test") || story == "TestX" || slices.ContainsFunc(files, known) {
		return nil // or a flag, a stage, any story
	}
	return fmt.Errorf("no story %s in %s", story, s.Dir)
}

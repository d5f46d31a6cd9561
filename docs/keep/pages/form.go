package main

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

const (
	maxColumns  = 100 // of a command
	maxWords    = 300 // before the writing: two screens
	minInLesson = 3
	maxInLesson = 5
)

// form returns what is wrong with a page that no public tool finds (docs/keep/prose has
// those): if you read a lesson from the top, you write the lock before you have seen it.
func form(file, page string) (wrong []string) {
	if theme, ok := strings.CutPrefix(file, interviewDir+"/"); ok && strings.Contains(page, "\n**30 s.**") && !slices.Contains(themes, strings.TrimSuffix(theme, ".md")) {
		return []string{file + ": add the page to the themes of the decks, in docs/keep/pages/questions.go"}
	}
	if !strings.HasPrefix(file, "step0") || isChinese(file) {
		return nil
	}
	start, rest, _ := strings.Cut(page, "\n## Write it\n")
	write, _, found := strings.Cut(rest, "\n## Why\n")
	if !found {
		return []string{file + `: no "Write it" before "Why"`}
	}
	if n := words(prose(parse(start))); n > maxWords {
		wrong = append(wrong, fmt.Sprintf(`%s: %d words: %d are enough before "Write it"`, file, n, maxWords))
	}
	fix := regexp.MustCompile(fmt.Sprintf(solutions, path.Dir(file), file[len("step0"):][:1]))
	for _, found := range fix.FindAllString(start+"\n\n"+write, -1) {
		if !strings.HasSuffix(found, "_test.go") {
			wrong = append(wrong, fmt.Sprintf(`%s: it gives the fix away before "Why": %q`, file, found))
		}
	}
	return wrong
}

// solutions are the sources of a lesson's lock, what it or a later one does, and links to it.
const solutions = `(?im)^<!-- code: |^<!-- (run|picture):.* (green|diff) [%[2]s-9f]|^\s*` + "```+(go|diff|lua)$" + `|\]\((\.\./%[1]s/)?\w+\.go\b`

var (
	letter  = regexp.MustCompile(`\pL|\pN`)
	htmlTag = regexp.MustCompile(`<[^>\n]*>`)
)

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
	for _, file := range course.Second(s.Dir) {
		files = append(files, course.SecondDir+"/"+file)
	}
	known := func(file string) bool {
		text, _ := os.ReadFile(file)
		return strings.Contains(string(text), "\nfunc "+story+"(")
	}
	if !strings.HasPrefix(story, "Test") || story == "TestX" || slices.ContainsFunc(files, known) {
		return nil // or a flag, a stage, any story
	}
	return fmt.Errorf("no story %s in %s", story, s.Dir)
}

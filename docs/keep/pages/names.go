package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// inlineCommand is a command of the tour in the text of a page: `red 4 TestX`.
var inlineCommand = regexp.MustCompile("`(?:" + regexp.QuoteMeta(tourCommand) + " )?(red|green|try|hint|diff) ([0-9]|fencing) ([^`]+)`")

// wrongNames returns which commands in the text of a page name stories or declarations
// that are not there. Those in markers have been run.
func wrongNames(file, page string) (wrong []string) {
	text := strings.Join(strings.Fields(prose(parse(page))), " ")
	for _, m := range inlineCommand.FindAllStringSubmatch(text, -1) {
		s, err := course.Parse(m[2])
		for _, name := range strings.Fields(m[3]) {
			switch {
			case err != nil, name[0] == '-', name == "TestX": // a flag, any story
			case m[1] == "hint" && len(name) == 1: // a stage
			default:
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
	name, _, _ = strings.Cut(name, "/") // a subtest
	files, _ := filepath.Glob(s.Dir + "/*_test.go")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if strings.Contains(string(text), "\nfunc "+name+"(") {
			return nil
		}
	}
	return fmt.Errorf("no story %s in %s", name, s.Dir)
}

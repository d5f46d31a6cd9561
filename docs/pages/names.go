package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// inlineCommand is a command of the tour in the text of a page: `red 4 TestX`.
var inlineCommand = regexp.MustCompile("`(?:" + regexp.QuoteMeta(tourCommand) + " )?(red|green|try|hint|diff) ([0-9]|fencing) ([^`]+)`")

// wrongNames returns which commands in the text of a page name stories or declarations
// that are not there. Those in markers have been run.
func wrongNames(file, page string) (wrong []string) {
	var text strings.Builder
	for _, l := range lines(page) {
		if !l.fenced {
			text.WriteString(strings.TrimSpace(l.text) + " ")
		}
	}
	for _, m := range inlineCommand.FindAllStringSubmatch(text.String(), -1) {
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
	var all []source.Declaration
	var errs []error
	add := func(list []source.Declaration, err error) { all, errs = append(all, list...), append(errs, err) }
	if verb == "diff" {
		add(source.ReadDir(filepath.FromSlash(s.Before().Dir)))
		add(source.ReadDir(filepath.FromSlash(s.Dir)))
	} else {
		name, _, _ = strings.Cut(name, "/") // a subtest
		files, _ := filepath.Glob(filepath.FromSlash(s.Dir) + "/*_test.go")
		for _, file := range files {
			add(source.Read(file))
		}
	}
	switch _, err := source.Find(all, name); {
	case errors.Join(errs...) != nil:
		return errors.Join(errs...)
	case verb == "diff" && err != nil:
		return fmt.Errorf("no declaration %s in %s or the step before", name, s.Dir)
	case verb != "diff" && !slices.ContainsFunc(all, func(d source.Declaration) bool { return d.Name == name }):
		return fmt.Errorf("no story %s in %s", name, s.Dir)
	}
	return nil
}

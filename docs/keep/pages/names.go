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
	if verb == "diff" {
		return undeclared(s, name)
	}
	name, _, _ = strings.Cut(name, "/") // a subtest
	files, _ := filepath.Glob(filepath.FromSlash(s.Dir) + "/*_test.go")
	var all []source.Declaration
	var errs []error
	for _, file := range files {
		list, err := source.Read(filepath.FromSlash(file))
		all, errs = append(all, list...), append(errs, err)
	}
	if !slices.ContainsFunc(all, func(d source.Declaration) bool { return d.Name == name }) {
		errs = append(errs, fmt.Errorf("no story %s in %s", name, s.Dir))
	}
	return errors.Join(errs...)
}

// undeclared is an error if diff cannot find a declaration in a step or the one before.
func undeclared(s course.Step, name string) error {
	var all []source.Declaration
	for _, step := range []course.Step{s.Before(), s} {
		read, from := source.ReadDir, step.Dir
		if step.Source != course.LockFile {
			read, from = source.Read, step.Path()
		}
		list, err := read(filepath.FromSlash(from))
		if err != nil {
			return err
		}
		all = append(all, list...)
	}
	if _, err := source.Find(all, name); err != nil {
		return fmt.Errorf("no declaration %s in %s or the one before", name, s.Subject())
	}
	return nil
}

package main

import (
	"context"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

// runGreen runs all tests of a step as it is, or those with some names, even those that
// show what is still broken.
func (t *tour) runGreen(ctx context.Context, req request) error {
	s := req.steps[0]
	list, err := t.Tests(s.Dir)
	if err == nil {
		list, err = pick("green "+s.Arg(), list, req.names)
	}
	if err != nil {
		return err
	}
	results, err := t.playAll(ctx, t.Ahead(ctx, greenBuild(s))[0], list)
	if err != nil {
		return err
	}
	show := func(r story.Result) { t.success(r, "", whole) }
	if req.names == nil {
		err := t.green(s, results, show)
		if err == nil {
			t.prose("", "\nstill broken: %s", s.Broken)
		}
		return err
	}
	return t.onOwnLock(s, results, results, show)
}

// onOwnLock shows tests of step s on its own lock: those that failed in full, and if none
// did, some as show does.
func (t *tour) onOwnLock(s course.Step, results, some []story.Result, show func(story.Result)) error {
	t.playing("green: %s on %s (%s)", some, s)
	var wrong []string
	for _, r := range results {
		if r.Verdict != story.Passed {
			t.failure(r, whole)
			wrong = append(wrong, r.Name)
		}
	}
	if wrong == nil {
		for _, r := range some {
			show(r)
		}
	}
	return unless(wrong, "green %s failed:\n  %s", s)
}

// green shows how all tests of step s end, of those that pass the stories that begin there,
// and what the step guarantees by that.
func (t *tour) green(s course.Step, results []story.Result, show func(story.Result)) error {
	if err := t.onOwnLock(s, results, of(results, s.Beginning()), show); err != nil {
		return err
	}
	t.printf("  All %s passed.\n  What %s guarantees now:\n\n", count(len(results), "test"), s.Dir)
	for _, f := range s.Guarantees() {
		if course.IsSecond(f.Name) {
			continue
		}
		for i, line := range wrap(columns-32, word(f.Guarantee)) {
			t.printf("    %-27s %s\n", []string{f.Name, ""}[min(i, 1)], line)
		}
	}
	return nil
}

// of returns the results of these files, file by file.
func of(results []story.Result, files []course.File) (list []story.Result) {
	for _, f := range files {
		for _, r := range results {
			if r.File == f.Name {
				list = append(list, r)
			}
		}
	}
	return list
}

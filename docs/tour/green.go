package main

import (
	"cmp"
	"context"
	"path/filepath"

	"example.com/redislock-steps/docs/internal/course"
)

// runGreen runs all tests of a step as it is, or those with some names, even those that
// show what is still broken.
func (t *tour) runGreen(ctx context.Context, req request) error {
	s := req.steps[0]
	list, err := t.tests(s)
	if err == nil {
		list, err = pick("green "+s.Arg(), list, req.names)
	}
	if err != nil {
		return err
	}
	results, err := t.playAll(ctx, t.compileAhead(ctx, greenBuild(s))[0], list)
	if err != nil {
		return err
	}
	show := func(r result) { t.success(r, "", whole) }
	if req.names == nil {
		err := t.green(s, results, show)
		if err == nil {
			t.prose("", "\nstill broken: %s", s.Broken)
		}
		return err
	}
	if req.has("-json") && results[0].verdict == passed {
		return t.records(results[0])
	}
	return t.onOwnLock(s, results, results, show)
}

// tests are all tests in the folder of step s.
func (t *tour) tests(s course.Step) (all []story, err error) {
	paths, err := filepath.Glob(t.path(s.Dir, "*_test.go"))
	for _, path := range paths {
		list, wrong := t.storiesOf(s.Dir, filepath.Base(path))
		all, err = append(all, list...), cmp.Or(err, wrong)
	}
	return all, err
}

// onOwnLock shows tests of step s on its own lock: those that failed in full, and if none
// did, some as show does.
func (t *tour) onOwnLock(s course.Step, results, some []result, show func(result)) error {
	t.playing("green: %s on %s (%s)", some, s)
	var wrong []string
	for _, r := range results {
		if r.verdict != passed {
			t.failure(r, whole)
			wrong = append(wrong, r.name)
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
func (t *tour) green(s course.Step, results []result, show func(result)) error {
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
func of(results []result, files []course.File) (list []result) {
	for _, f := range files {
		for _, r := range results {
			if r.file == f.Name {
				list = append(list, r)
			}
		}
	}
	return list
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

const opening = `This takes about 30 seconds, and a minute or two the first time, when the Redis client is compiled. Ctrl-C stops it; for one step: go run ./docs/tour red 1, then green 1.

Eight locks, each the one before it plus one fix. First the lock everyone writes: %s.
Time in the timelines is virtual: nothing here waits, and no Redis server is needed.
`

const closing = `What to run next:
  go test ./...                 all tests of all steps
  go run ./docs/tour red 4      what the lock of step 3 gets wrong (1 to 8)
  go run ./docs/tour diff 4     what the fix is
  go run ./docs/tour try 4      write the fix yourself, with step 4's tests
  go run ./docs/tour help       all commands
`

// runCourse plays steps one after the other: red, green, what is still broken.
func (t *tour) runCourse(ctx context.Context, list []course.Step) error {
	t.prose("", opening, course.First.Lock)
	var builds []story.Build
	for _, s := range list {
		builds = append(builds, t.redBuild(s), greenBuild(s))
	}
	coming := t.Ahead(ctx, builds...)
	for i, s := range list {
		t.printf("%s\n", t.paint(bold, banner(s)))
		t.prose("", "%s\n", s.Fresh)
		stories, err := t.stories(s.Dir, s.Red())
		if err != nil {
			return err
		}
		results, err := t.playAll(ctx, coming[2*i], stories)
		if err != nil {
			return err
		}
		lead := t.courseRed(s, results)
		if err := checkRed(s, results); err != nil {
			return err
		}
		t.wanted(s)
		t.printf("\n")
		tests, err := t.Tests(s.Dir)
		if err != nil {
			return err
		}
		if results, err = t.playAll(ctx, coming[2*i+1], tests); err != nil {
			return err
		}
		// Green shows the same story passing.
		err = t.green(s, results, func(r story.Result) {
			if r.Name == story.Of(lead) {
				t.success(r, lead, short)
			}
		})
		if err != nil {
			return err
		}
		t.prose("", "\nstill broken: %s\n\n", s.Broken)
	}
	t.printf("%s", closing)
	return nil
}

// courseRed shows the first failing story in full and the others by name. It returns the
// full name of the first.
func (t *tour) courseRed(s course.Step, results []story.Result) (lead string) {
	t.playing("red: %s on %s (%s)", results, s.Before())
	for _, r := range results {
		if r.Verdict == story.Passed || r.Verdict == story.Failed && lead != "" {
			t.line(r)
			continue
		}
		t.failure(r, short)
		if r.Verdict == story.Failed {
			lead = r.Log.Failing(r.Name)[0].Name
		}
	}
	return lead
}

// banner is the line that begins a step.
func banner(s course.Step) string {
	head := say("== %s: %s ", strings.TrimPrefix(s.Label(), "the "), s.Title)
	return head + strings.Repeat("=", max(0, columns-course.Wide(head)))
}

// runRed runs stories that begin in a step on the lock before it. Of all, it shows the first
// of each file with a number in full, and of the others what went wrong. Some, by their names,
// it shows in full: the judgement is the same, the rest of the lesson is left out.
func (t *tour) runRed(ctx context.Context, req request) error {
	s, some, full := req.steps[0], req.names != nil, req.names != nil || req.has("-all")
	list, err := t.stories(s.Dir, s.Red())
	if err != nil {
		return err
	}
	results, err := t.playNamed(ctx, "red "+s.Arg(), t.redBuild(s), list, req.names)
	if err != nil {
		return err
	}
	t.playing("red: %s on %s (%s)", results, s.Before())
	if !some {
		t.prose("", "%s\n", s.Before().Words)
		if s.Asks != "" {
			t.prose("", "What these stories ask for: %s\n", s.Asks)
		}
		t.prose("", "Times are virtual, in milliseconds since the story began. coupons is the lock's key.\n")
	}
	lead := "" // of the file
	for _, r := range results {
		switch {
		case r.Verdict == story.Passed && some:
			t.line(r)
		case r.Verdict == story.Passed: // they are counted below
		case r.Verdict == story.Failed && (r.File == lead || course.IsSecond(r.File)) && !full:
			t.summary(r)
		default:
			t.failure(r, whole)
			lead = r.File
		}
	}
	wrong := checkRed(s, results)
	if wrong != nil || some {
		return wrong
	}
	if n := held(results); n > 0 {
		t.prose("  ", "\nPassing on %s as well, as the comments say: %s.", s.Before().Subject(), count(n, "story"))
	}
	t.wanted(s)
	t.printf("\nNext:\n")
	next := func(command, what string) {
		t.printf("  %-36s %s\n", "go run ./docs/tour "+fmt.Sprintf(command, s.Arg()), what)
	}
	if !full {
		next("red %s -all", "every failure in full")
	}
	if !s.IsEpilogue() {
		next("try %s", "write the fix yourself")
	}
	next("diff %s", "see the fix")
	next("green %s", "see the same stories pass")
	return nil
}

// checkRed says what keeps a red run from being the lesson: every story must fail by its
// own assertion, except those whose comment says that they also pass.
func checkRed(s course.Step, results []story.Result) error {
	var wrong []string
	for _, r := range results {
		switch also := course.AlsoPasses + "..."; {
		case r.Control && r.Verdict == story.Failed:
			wrong = append(wrong, say("%s failed on %s, but its comment says %q", r.Name, s.Before().Subject(), also))
		case r.Verdict != story.Passed && r.Verdict != story.Failed:
			wrong = append(wrong, say("%s did not end with an assertion: %s", r.Name, whyNot(r)))
		case !r.Control && r.Verdict == story.Passed:
			wrong = append(wrong, say("%s passes on %s: make it fail there, or let its comment say %q", r.Name, s.Before().Subject(), also))
		}
	}
	return unless(wrong, "red %s is not red as expected:\n  %s", s)
}

// unless is an error if something is wrong with a run of s.
func unless(wrong []string, format string, s course.Step) error {
	if wrong == nil {
		return nil
	}
	return errorf(format, s.Arg(), strings.Join(wrong, "\n  "))
}

// wanted says that red is not an accident.
func (t *tour) wanted(s course.Step) {
	t.printf("\n")
	t.strong("Red, as expected: these failures show what is wrong with %s.", s.Before().Subject())
	t.printf("%s fixes it.\n", capital(s.Label()))
}

// runGreen runs all tests of a step as it is, or those with some names, even those that
// show what is still broken.
func (t *tour) runGreen(ctx context.Context, req request) error {
	s := req.steps[0]
	list, err := t.Tests(s.Dir)
	if err != nil {
		return err
	}
	results, err := t.playNamed(ctx, "green "+s.Arg(), greenBuild(s), list, req.names)
	if err != nil {
		return err
	}
	show := func(r story.Result) { t.success(r, "", whole) }
	if req.names != nil {
		return t.onOwnLock(s, results, results, show)
	}
	if err := t.green(s, results, show); err != nil {
		return err
	}
	t.prose("", "\nstill broken: %s", s.Broken)
	return nil
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

// playNamed runs the stories with these names, in the order of the names; all if there are none.
func (t *tour) playNamed(ctx context.Context, command string, b story.Build, list []story.Story, names []string) ([]story.Result, error) {
	picked := list
	if names != nil {
		picked = nil
	}
	for _, name := range names {
		i := slices.IndexFunc(list, func(st story.Story) bool { return st.Name == name })
		if i < 0 {
			return nil, wrongUsage("%s has no story %s", command, name)
		}
		picked = append(picked, list[i])
	}
	return t.playAll(ctx, t.Ahead(ctx, b)[0], picked)
}

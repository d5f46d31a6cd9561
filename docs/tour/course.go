package main

import (
	"context"
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
		lead, err := t.red(s, results, false, true)
		if err != nil {
			return err
		}
		t.printf("\n")
		tests, err := t.Tests(s.Dir)
		if err != nil {
			return err
		}
		if results, err = t.playAll(ctx, coming[2*i+1], tests); err != nil {
			return err
		}
		// Green shows the same story passing.
		err = t.green(s, results, false, func(r story.Result) {
			if r.Name == story.Of(lead) {
				t.success(r, lead, short)
			}
		})
		if err != nil {
			return err
		}
		t.printf("\n")
	}
	t.printf("%s", closing)
	return nil
}

// banner is the line that begins a step.
func banner(s course.Step) string {
	head := say("== %s: %s ", strings.TrimPrefix(s.Label(), "the "), s.Title)
	return head + strings.Repeat("=", max(0, columns-course.Wide(head)))
}

// runRed runs stories that begin in a step on the lock before it. Some, by their names, it shows in
// full: the judgement is the same, the rest of the lesson is left out.
func (t *tour) runRed(ctx context.Context, req request) error {
	s, some := req.steps[0], req.names != nil
	list, err := t.stories(s.Dir, s.Red())
	if err != nil {
		return err
	}
	results, err := t.playNamed(ctx, "red "+s.Arg(), t.redBuild(s), list, req.names)
	if err != nil {
		return err
	}
	if _, err := t.red(s, results, some, false); err != nil || some {
		return err
	}
	t.printf("\nNext:\n  other failures in full    go run ./docs/tour red %s TestName...\n", s.Arg())
	if !s.IsEpilogue() {
		t.printf("  write the fix yourself    go run ./docs/tour try %s\n", s.Arg())
	}
	t.printf("  see the fix               go run ./docs/tour diff %[1]s\n  see it pass               go run ./docs/tour green %[1]s\n", s.Arg())
	return nil
}

// red shows the first story of each file with a number in full, and of the others what went wrong.
// In brief, it shows only the first of all, whose full name it returns. What keeps red from being
// the lesson is an error: every story must fail by its own assertion, except those whose comment
// says that they also pass.
func (t *tour) red(s course.Step, results []story.Result, some, brief bool) (lead string, err error) {
	t.playing("red: %s on %s (%s)", results, s.Before())
	if !some && !brief {
		t.prose("", "%s\n", s.Before().Words)
		if s.Asks != "" {
			t.prose("", "What these stories ask for: %s\n", s.Asks)
		}
		t.prose("", "Times are virtual, in milliseconds since the story began. coupons is the lock's key.\n")
	}
	var wrong []string
	file, limit := "", map[bool]int{true: short, false: whole}[brief]
	for _, r := range results {
		failed := r.Verdict == story.Failed
		switch {
		case r.Verdict == story.Passed && !some: // they are counted below
		case r.Verdict == story.Passed, failed && brief && lead != "":
			t.line(r)
		case failed && !some && (r.File == file || course.IsSecond(r.File)):
			t.summary(r)
		default:
			t.failure(r, limit)
			file = r.File
		}
		if failed && lead == "" {
			lead = r.Log.Failing(r.Name)[0].Name
		}
		switch {
		case r.Control && failed:
			wrong = append(wrong, say("%s fails, but its comment says %q", r.Name, course.AlsoPasses+"..."))
		case !r.Control && r.Verdict == story.Passed:
			wrong = append(wrong, say("%s passes, but its comment does not say %q", r.Name, course.AlsoPasses+"..."))
		case !failed && r.Verdict != story.Passed:
			wrong = append(wrong, say("%s did not end with an assertion: %s", r.Name, whyNot(r)))
		}
	}
	if wrong != nil || some {
		return lead, unless(wrong, "red %s is not red as expected:\n  %s", s)
	}
	if n := held(results); n > 0 {
		t.prose("  ", "\nPassing on %s as well, as the comments say: %s.", s.Before().Subject(), count(n, "story"))
	}
	t.printf("\n")
	t.strong("Red, as expected: these failures show what is wrong with %s.", s.Before().Subject())
	t.printf("%s fixes it.\n", capital(s.Label()))
	return lead, nil
}

// unless is an error if something is wrong with a run of s.
func unless(wrong []string, format string, s course.Step) error {
	if wrong == nil {
		return nil
	}
	return errorf(format, s.Arg(), strings.Join(wrong, "\n  "))
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
	return t.green(s, results, req.names != nil, func(r story.Result) { t.success(r, "", whole) })
}

// green shows tests of step s on its own lock: those that failed in full, and if none did, as show
// does, some that were asked for, or the stories that begin there and what the step guarantees.
func (t *tour) green(s course.Step, results []story.Result, some bool, show func(story.Result)) error {
	shown := results
	if !some {
		shown = of(results, s.Beginning())
	}
	t.playing("green: %s on %s (%s)", shown, s)
	var wrong []string
	for _, r := range results {
		if r.Verdict != story.Passed {
			t.failure(r, whole)
			wrong = append(wrong, r.Name)
		}
	}
	if wrong != nil {
		return unless(wrong, "green %s failed:\n  %s", s)
	}
	for _, r := range shown {
		show(r)
	}
	if some {
		return nil
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
	t.prose("", "\nstill broken: %s", s.Broken)
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

package main

import (
	"context"
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
		lead, err := t.courseRed(ctx, s, coming[2*i])
		if err != nil {
			return err
		}
		tests, err := t.Tests(s.Dir)
		if err != nil {
			return err
		}
		results, err := t.playAll(ctx, coming[2*i+1], tests)
		if err != nil {
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
func (t *tour) courseRed(ctx context.Context, s course.Step, on story.Coming) (lead string, err error) {
	list, err := t.stories(s.Dir, s.Red())
	if err != nil {
		return "", err
	}
	results, err := t.playAll(ctx, on, list)
	if err != nil {
		return "", err
	}
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
	if err := checkRed(s, results); err != nil {
		return "", err
	}
	t.wanted(s)
	t.printf("\n")
	return lead, nil
}

// banner is the line that begins a step.
func banner(s course.Step) string {
	head := say("== %s: %s ", strings.TrimPrefix(s.Label(), "the "), s.Title)
	return head + strings.Repeat("=", max(0, columns-course.Wide(head)))
}

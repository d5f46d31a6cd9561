package main

import (
	"context"
	"fmt"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

// runRed runs stories that begin in a step on the lock before it. Of all, it shows the first
// of each file with a number in full, and of the others what went wrong. Some, by their names,
// it shows in full: the judgement is the same, the rest of the lesson is left out.
func (t *tour) runRed(ctx context.Context, req request) error {
	s, some := req.steps[0], req.names != nil
	list, err := t.stories(s.Dir, s.Red())
	if err == nil {
		list, err = pick("red "+s.Arg(), list, req.names)
	}
	if err != nil {
		return err
	}
	results, err := t.playAll(ctx, t.Ahead(ctx, t.redBuild(s))[0], list)
	if err != nil {
		return err
	}
	wrong := checkRed(s, results)
	t.playing("red: %s on %s (%s)", results, s.Before())
	if !some {
		t.prose("", "%s\n", s.Before().Words)
		if s.Asks != "" {
			t.prose("", "What these stories ask for: %s\n", s.Asks)
		}
		t.prose("", "Times are virtual, in milliseconds since the story began. coupons is the lock's key.\n")
	}
	lead := story.Result{} // of the file
	for _, r := range results {
		switch {
		case r.Verdict == story.Passed && some:
			t.line(r)
		case r.Verdict == story.Passed: // they are counted below
		case r.Verdict == story.Failed && (r.File == lead.File || course.IsSecond(r.File)) && !some && !req.has("-all"):
			t.summary(r)
		default:
			t.failure(r, whole)
			lead = r
		}
	}
	if wrong == nil && !some {
		t.redEnd(s, results, req.has("-all"))
	}
	return wrong
}

// checkRed says what keeps a red run from being the lesson: every story must fail by its
// own assertion, except those whose comment says that they also pass.
func checkRed(s course.Step, results []story.Result) error {
	var wrong []string
	add := func(format string, args ...any) { wrong = append(wrong, say(format, args...)) }
	for _, r := range results {
		switch {
		case r.Control && r.Verdict == story.Failed:
			add("%s failed on %s, but its comment says %q", r.Name, s.Before().Subject(), course.AlsoPasses+"...")
		case r.Verdict != story.Passed && r.Verdict != story.Failed:
			add("%s did not end with an assertion: %s", r.Name, whyNot(r))
		case !r.Control && r.Verdict == story.Passed:
			add("%s passes on %s: make it fail there, or let its comment say %q", r.Name, s.Before().Subject(), course.AlsoPasses+"...")
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

// redEnd says what to do next.
func (t *tour) redEnd(s course.Step, results []story.Result, everything bool) {
	if n := held(results); n > 0 {
		t.prose("  ", "\nPassing on %s as well, as the comments say: %s.", s.Before().Subject(), count(n, "story"))
	}
	t.wanted(s)
	next := func(format, what string) {
		t.printf("  %-36s %s\n", "go run ./docs/tour "+fmt.Sprintf(format, s.Arg()), what)
	}
	t.printf("\nNext:\n")
	if !everything {
		next("red %s -all", "every failure in full")
	}
	if !s.IsEpilogue() {
		next("try %s", "write the fix yourself")
	}
	next("diff %s", "see the fix")
	next("green %s", "see the same stories pass")
}

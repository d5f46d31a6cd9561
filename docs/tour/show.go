package main

import (
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

const (
	short = 40 // how many lines of a timeline or a panic the course shows
	whole = 0  // red, green and try show all of a timeline

	margin = "    "
)

// tag is the word in front of a test's name.
func (c console) tag(v story.Verdict) string {
	tags := map[story.Verdict][]string{story.Passed: {green, "ok   "}, story.Skipped: {dim, "skip "}, story.Failed: {red, "FAIL "}}
	if of := tags[v]; of != nil {
		return c.paint(of[0], of[1])
	}
	return c.paint(red, "ERROR")
}

// playing is the heading of a run of stories on a lock: its kind, their files, the lock.
func (c console) playing(format string, results []story.Result, on course.Step) {
	var files []string
	for _, r := range results {
		files = append(files, r.File)
	}
	c.heading(format, strings.Join(slices.Compact(files), ", "), on.Subject(), on.Lock)
}

// line prints a story's name, and nothing of its output.
func (c console) line(r story.Result) {
	c.printf("  %s %s\n", c.tag(r.Verdict), r.Name)
	if r.Control && r.Verdict == story.Passed {
		c.printf("%s\n", c.paint(dim, "        (also passes on the older lock)"))
	}
}

// failure prints a story that failed in full: what happened, what that means, and which
// other variants (subtests) fail; or why it ended without a verdict on the lock.
func (c console) failure(r story.Result, limit int) {
	if r.Verdict != story.Failed {
		c.line(r)
		c.message(red, strings.Split(whyNot(r), "\n"))
		if t := r.Log.Find(r.Name); t != nil {
			c.text(t.Timeline, limit)
		}
		c.text(r.Log.Crash(), short)
		return
	}
	failing := r.Log.Failing(r.Name)
	c.printf("  %s %s\n", c.tag(story.Failed), failing[0].Name)
	c.text(failing[0].Timeline, limit)
	c.message(red, slices.Concat(failing[0].Message(), outcome(failing[0])))
	c.alsoFailing(failing)
	c.printf("\n")
}

// summary prints a story that failed in a few lines.
func (c console) summary(r story.Result) {
	failing := r.Log.Failing(r.Name)
	c.printf("  %s %s\n", c.tag(story.Failed), failing[0].Name)
	c.message("", failing[0].Message())
	c.alsoFailing(failing)
}

// message prints what a story says: where there is Chinese, that, and below it what is in the
// source.
func (c console) message(color string, says []string) {
	var all []string
	for _, line := range says {
		if found := trace.Say(line); found != line {
			all, line = append(all, found), say("in the source: %s", line)
		}
		all = append(all, line)
	}
	c.printf("%s", c.paint(color, indent(margin, wrap(columns-len(margin), strings.Join(all, "\n")))))
}

// alsoFailing names the variants (subtests) behind the first.
func (c console) alsoFailing(failing []*story.Test) {
	var others []string
	for _, t := range failing[1:] {
		_, name, _ := strings.Cut(t.Name, "/")
		others = append(others, trace.Say(strings.ReplaceAll(name, "_", " ")))
	}
	if n := len(others) - few; n > 1 {
		others = append(others[:few], say("and %d more", n))
	}
	if others != nil {
		c.prose(margin, "(other variants fail as well: %s)", strings.Join(others, "; "))
	}
}

// success prints a story that passed, with the timeline of the variant that failed before
// if there is one.
func (c console) success(r story.Result, variant string, limit int) {
	r.Control = false // true of the lock before; here it is a story like the others
	c.line(r)
	if t := r.Shown(variant); t != nil {
		c.text(t.Timeline, limit)
		return
	}
	c.printf("\n")
}

// text prints a timeline or a panic, and an empty line.
func (c console) text(text string, limit int) {
	if text != "" {
		c.printf("%s\n", indent(margin, cut(strings.Split(strings.TrimRight(text, "\n"), "\n"), limit)))
	}
}

// cut shortens long output in the middle: the end holds the failure.
func cut(lines []string, limit int) []string {
	if limit == whole || len(lines) <= limit {
		return lines
	}
	head, tail := lines[:limit/2], lines[len(lines)-limit/2:]
	gap := say("  ... %s ...", count(len(lines)-len(head)-len(tail), "more line"))
	return slices.Concat(head, []string{gap}, tail)
}

// whyNot says why a story that neither passed nor failed says nothing about the lock.
func whyNot(r story.Result) string {
	switch {
	case r.Verdict == story.Skipped:
		return say("skipped: %s", trace.Say(r.Detail))
	case r.Verdict == story.Silent:
		return strings.TrimSuffix(say("failed without an assertion: %s", r.Detail), ": ")
	case r.Verdict == story.NotRun:
		return word("no test ran")
	case r.Verdict == story.Crashed && r.Detail == "":
		return say("the test process ended with exit status %d", r.Log.Exit)
	}
	return r.Detail
}

// outcome returns what was expected and what came, where it can be said so. A bare number
// does not say what it counts: the message does.
func outcome(t *story.Test) (list []string) {
	for _, v := range t.Verdicts {
		if _, err := strconv.Atoi(v.Wanted); err != nil && v.Wanted != "" {
			list = append(list, say("expected: %s   got: %s", trace.Say(v.Wanted), trace.Say(v.Got)))
		}
	}
	return list
}

// held counts the stories that passed.
func held(results []story.Result) (n int) {
	for _, r := range results {
		n += boolean(r.Verdict == story.Passed)
	}
	return n
}

package main

import (
	"encoding/json"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
)

const (
	short = 40 // how many lines of a timeline or a panic the course shows
	whole = 0  // red, green and try show all of a timeline

	margin = "    "
)

// tag is the word in front of a test's name.
func (c console) tag(v verdict) string {
	switch v {
	case passed:
		return c.paint(green, "ok   ")
	case skipped:
		return c.paint(dim, "skip ")
	case failed:
		return c.paint(red, "FAIL ")
	}
	return c.paint(red, "ERROR")
}

func (c console) heading(format string, args ...any) {
	c.strong(format, args...)
	c.printf("\n")
}

// playing is the heading of a run of stories on a lock: its kind, their files, the lock.
func (c console) playing(format string, results []result, on course.Step) {
	var files []string
	for _, r := range results {
		files = append(files, r.file)
	}
	c.heading(format, strings.Join(slices.Compact(files), ", "), on.Subject(), on.Lock)
}

// strong prints a paragraph in bold.
func (c console) strong(format string, args ...any) {
	c.printf("%s", c.paint(bold, indent("", wrap(columns, say(format, args...)))))
}

// line prints a story's name, and nothing of its output.
func (c console) line(r result) {
	note := ""
	if r.control && r.verdict == passed {
		note = c.paint(dim, behind(r.name, " (also passes on the older lock)"))
	}
	c.printf("  %s %s%s\n", c.tag(r.verdict), r.name, note)
}

// failure prints a story that failed in full: what happened, what that means, and which
// other variants (subtests) fail; or why it ended without a verdict on the lock.
func (c console) failure(r result, limit int) {
	if r.verdict != failed {
		c.line(r)
		c.message(red, strings.Split(r.why, "\n"))
		if t := r.log.find(r.name); t != nil {
			c.text(t.timeline, limit)
		}
		c.text(r.log.crash(), short)
		return
	}
	failing := r.log.failing(r.name)
	c.printf("  %s %s\n", c.tag(failed), failing[0].name)
	c.text(failing[0].timeline, limit)
	c.message(red, slices.Concat(failing[0].message(), failing[0].outcome()))
	c.alsoFailing(failing)
	c.printf("\n")
}

// summary prints a story that failed in a few lines.
func (c console) summary(r result) {
	failing := r.log.failing(r.name)
	c.printf("  %s %s\n", c.tag(failed), failing[0].name)
	c.message("", failing[0].message())
	c.alsoFailing(failing)
}

func (c console) message(color string, lines []string) {
	lines = wrap(columns-len(margin), strings.Join(original(lines), "\n"))
	c.printf("%s", c.paint(color, indent(margin, lines)))
}

// alsoFailing names the variants (subtests) behind the first.
func (c console) alsoFailing(failing []*test) {
	var others []string
	for _, t := range failing[1:] {
		_, name, _ := strings.Cut(t.name, "/")
		others = append(others, strings.ReplaceAll(name, "_", " "))
	}
	if others != nil {
		c.prose(margin, "(other variants fail as well: %s)", strings.Join(others, "; "))
	}
}

// success prints a story that passed, with the timeline of the variant that failed before
// if there is one.
func (c console) success(r result, variant string, limit int) {
	r.control = false // true of the lock before; here it is a story like the others
	c.line(r)
	if t := r.shown(variant); t != nil {
		c.text(t.timeline, limit)
		return
	}
	c.printf("\n")
}

// records prints what happened in a story, one record in a line.
func (c console) records(r result) error {
	records := r.recorded()
	if records == nil {
		return errorf("%s has no test harness, and leaves no records", r.name)
	}
	lines := json.NewEncoder(c.out)
	for _, record := range records {
		lines.Encode(record)
	}
	return nil
}

// recorded is what happened in the story, or in the variant of it that stands for all.
func (r result) recorded() []trace.Record {
	if r.verdict == failed {
		return r.log.failing(r.name)[0].records
	}
	if shown := r.shown(""); shown != nil {
		return shown.records
	}
	return nil
}

// shown returns the test of the story whose timeline stands for all: the variant, or the
// first that has one.
func (r result) shown(variant string) *test {
	if t := r.log.find(variant); t != nil && t.timeline != "" {
		return t
	}
	for _, t := range r.log.tests {
		if storyOf(t.name) == r.name && t.timeline != "" {
			return t
		}
	}
	return nil
}

// storyOf returns the story that a variant (a subtest) belongs to.
func storyOf(variant string) string {
	name, _, _ := strings.Cut(variant, "/")
	return name
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

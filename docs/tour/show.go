package main

import (
	"fmt"
	"slices"
	"strings"
)

// lesson ends every red run.
const lesson = "this failure is the lesson"

// short is how many lines of a timeline or a panic the course shows; red, green and try show all of a timeline.
const short = 40

const (
	all    = 0
	margin = "        "
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
	c.printf("%s\n", c.paint(bold, fmt.Sprintf(format, args...)))
}

// line prints a story's name and nothing of its output.
func (c console) line(r result) {
	note := ""
	if r.control {
		note = " (a control: holds before the fix as well)"
	}
	c.printf("  %s %s%s\n", c.tag(r.verdict), r.name, c.paint(dim, note))
}

// failure prints a story that failed: what happened and what that means.
// Of several variants (subtests) the first speaks; the others are counted.
func (c console) failure(r result, limit int) {
	if r.verdict != failed {
		c.line(r)
		c.broken(r, limit)
		return
	}
	leaves := r.log.failedLeaves(r.name)
	c.printf("  %s %s\n", c.tag(failed), leaves[0].name)
	c.timeline(leaves[0], limit)
	for _, m := range leaves[0].messages() {
		c.printf("%s\n", c.paintLines(red, indent(margin, strings.Split(m, "\n"))))
	}
	if n := len(leaves) - 1; n > 0 {
		c.printf("%s(and %s of this story)\n\n", margin, count(n, "more failing variant"))
	}
}

// paintLines paints line by line, so that a pager that cuts the text leaves no colour switched on.
func (c console) paintLines(color, text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = c.paint(color, line)
	}
	return strings.Join(lines, "\n")
}

// broken prints a story that ended without a verdict on the lock.
func (c console) broken(r result, limit int) {
	c.printf("%s", c.paintLines(red, indent(margin, strings.Split(r.why, "\n"))))
	if rec := r.log.find(r.name); rec != nil {
		c.timeline(rec, limit)
	}
	if r.verdict == crashed || r.verdict == timedOut {
		c.printf("%s\n", indent(margin, cut(r.log.afterCrash(), short)))
	}
}

// afterCrash returns the output from the panic on.
func (tr *transcript) afterCrash() []string {
	lines := strings.Split(strings.TrimRight(tr.raw, "\r\n"), "\n")
	for i, line := range lines {
		lines[i] = strings.TrimRight(line, "\r")
	}
	i := slices.IndexFunc(lines, func(line string) bool { return strings.TrimSpace(line) == tr.crash })
	if i >= 0 {
		return lines[i:]
	}
	return lines
}

// success prints a story that passed, with the timeline of the variant that failed before if there is one.
func (c console) success(r result, variant string, limit int) {
	c.line(r)
	if rec := r.shown(variant); rec != nil {
		c.timeline(rec, limit)
		return
	}
	c.printf("\n")
}

// shown returns the test of the story whose timeline stands for all: the variant, or the first that has one.
func (r result) shown(variant string) *record {
	if rec := r.log.find(variant); rec != nil && rec.timeline() != nil {
		return rec
	}
	for _, rec := range r.log.records {
		if storyOf(rec.name) == r.name && rec.timeline() != nil {
			return rec
		}
	}
	return nil
}

func (c console) timeline(r *record, limit int) {
	lines := r.timeline()
	if len(lines) == 0 {
		return
	}
	c.printf("%s%s\n", margin, c.paint(cyan, strings.TrimSpace(lines[0])))
	c.printf("%s\n", indent(margin, cut(lines[1:], limit)))
}

// cut shortens long output in the middle: the end holds the failure.
func cut(lines []string, limit int) []string {
	if limit == all || len(lines) <= limit {
		return lines
	}
	head, tail := lines[:limit/2], lines[len(lines)-limit/2:]
	gap := fmt.Sprintf("  ... %s ...", count(len(lines)-len(head)-len(tail), "more line"))
	return slices.Concat(head, []string{gap}, tail)
}

// count writes "1 story", "2 stories", "3 more lines".
func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

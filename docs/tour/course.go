package main

import (
	"context"
	"fmt"
	"strings"
)

const closing = `
What to run next:
  go test ./...                 all tests of all steps
  go run ./docs/tour red 4      one failure with all its timelines (1 to 8)
  go run ./docs/tour diff 4     what the fix is
  go run ./docs/tour try 4      write the fix yourself: a lock of your own, step 4's tests
  go run ./docs/tour help       all commands
`

// runCourse plays all steps and the epilogue: red, green, what is still broken.
func (t *tour) runCourse(ctx context.Context) error {
	t.printf("Eight locks, each the one before it plus one fix. First the lock that everybody writes: %s.\n", step0.lock)
	t.printf("Time in the timelines is virtual: nothing here waits, and no Redis server is needed.\n")
	t.printf("The first build on a machine compiles the Redis client and takes up to a minute; the others take a second or two.\n\n")

	var builds []build
	for _, s := range entries() {
		builds = append(builds, t.redBuild(s), greenBuild(s))
	}
	done := t.compileAhead(ctx, builds)
	for i, s := range entries() {
		t.printf("%s\n%s\n\n", t.paint(bold, banner(s)), s.fresh)
		variant, err := t.courseRed(ctx, s, builds[2*i], done[2*i])
		if err != nil {
			return err
		}
		if err := t.courseGreen(ctx, s, builds[2*i+1], done[2*i+1], variant); err != nil {
			return err
		}
		t.printf("\nstill broken: %s\n\n\n", s.broken)
	}
	t.printf("%s", closing[1:])
	return nil
}

// courseRed shows the first failing story in full and the others by name. It returns the first one's full name.
func (t *tour) courseRed(ctx context.Context, s step, b build, done <-chan compiled) (string, error) {
	bin, err := t.await(b, done)
	if err != nil {
		return "", err
	}
	defer bin.remove()
	results, err := t.red(ctx, s, bin)
	if err != nil {
		return "", err
	}
	t.redHeading(s)
	variant := ""
	for _, r := range results {
		switch {
		case r.verdict == failed && variant == "":
			t.failure(r, short)
			variant = r.log.failedLeaves(r.name)[0].name
		case r.verdict == failed || r.verdict == passed:
			t.line(r)
		default:
			t.failure(r, short)
		}
	}
	if err := checkRed(s, results); err != nil {
		return "", err
	}
	t.printf("\n%s\n\n", t.paint(bold, lesson))
	return variant, nil
}

// courseGreen shows the same story passing.
func (t *tour) courseGreen(ctx context.Context, s step, b build, done <-chan compiled, variant string) error {
	bin, err := t.await(b, done)
	if err != nil {
		return err
	}
	defer bin.remove()
	g, err := t.green(ctx, s, bin)
	if err != nil {
		return err
	}
	t.greenHeading(s)
	if err := checkGreen(s, g); err != nil {
		t.greenFailures(g)
		return err
	}
	for _, f := range redFiles(s) {
		for _, r := range g.stories[f.name] {
			if r.name == storyOf(variant) {
				t.success(r, variant, short)
			}
		}
	}
	t.greenSummary(s, g)
	return nil
}

// banner is the line that begins a step.
func banner(s step) string {
	const width = 100
	head := fmt.Sprintf("== %s: %s ", strings.TrimPrefix(s.label(), "the "), s.title)
	return head + strings.Repeat("=", max(0, width-len(head)))
}

// storyOf returns the story that a variant (a subtest) belongs to.
func storyOf(variant string) string {
	name, _, _ := strings.Cut(variant, "/")
	return name
}

package main

import (
	"context"
	"slices"

	"example.com/redislock-steps/docs/internal/course"
)

// A greenRun is all tests of a step on its own lock.
type greenRun struct {
	log    transcript
	groups []group // the guarantees
	others int     // tests that are in no guarantee file and passed
}

// green runs all tests of step s as it is.
func (t *tour) green(ctx context.Context, s course.Step, bin binary) (g greenRun, err error) {
	if g.log, err = bin.run(ctx, inVirtualTime, nil); err != nil {
		return g, err
	}
	g.groups, err = t.play(s.Dir, s.Guarantees(), func(list []story) (results []result, err error) {
		for _, st := range list {
			results = append(results, g.log.judge(st))
		}
		return results, nil
	})
	known := all(g.groups)
	for _, ts := range g.log.tests {
		if ts.status == "pass" && ts.name == storyOf(ts.name) && !slices.ContainsFunc(known, func(r result) bool { return r.name == ts.name }) {
			g.others++
		}
	}
	return g, err
}

// checkGreen shows what failed, whatever file it is in.
func (t *tour) checkGreen(s course.Step, g greenRun) error {
	var wrong []string
	for _, r := range all(g.groups) {
		if r.verdict == notRun {
			wrong = append(wrong, say("%s: no test ran", r.name))
		}
	}
	for _, ts := range g.log.tests {
		if ts.name == storyOf(ts.name) && ts.status != "pass" && ts.status != "skip" {
			t.failure(g.log.judge(story{name: ts.name}), whole)
			wrong = append(wrong, ts.name)
		}
	}
	if g.log.exit != 0 && wrong == nil {
		wrong = append(wrong, say("the test process ended with exit status %d", g.log.exit))
	}
	return unless(wrong, notGreen, s)
}

const notGreen = "green %s failed:\n  %s"

func (t *tour) runGreen(ctx context.Context, s course.Step) error {
	bin, err := t.build(ctx, greenBuild(s))
	if err != nil {
		return err
	}
	g, err := t.green(ctx, s, bin)
	if err != nil {
		return err
	}
	t.greenHeading(s, g)
	if err := t.checkGreen(s, g); err != nil {
		return err
	}
	for _, gr := range g.groups {
		for _, r := range gr.results {
			if gr.From == s.N {
				t.success(r, "", whole)
			}
		}
	}
	t.greenSummary(s, g)
	t.prose("", "\nstill broken: %s", s.Broken)
	return nil
}

func (t *tour) greenHeading(s course.Step, g greenRun) {
	var own []result
	for _, gr := range g.groups {
		if gr.From == s.N {
			own = append(own, gr.results...)
		}
	}
	t.heading("green: %s on %s (%s)", fileNames(own), s.Subject(), s.Lock)
}

func (t *tour) greenSummary(s course.Step, g greenRun) {
	stories, beside := all(g.groups), ""
	if g.others > 0 {
		beside = say(", and %s", count(g.others, "other test"))
	}
	t.printf("  %d of %s passed%s.\n  What %s guarantees now:\n\n", held(stories), count(len(stories), "story"), beside, s.Dir)
	for _, gr := range g.groups {
		for i, line := range wrap(columns-32, word(gr.Guarantee)) {
			t.printf("    %-27s %s\n", []string{gr.Name, ""}[min(i, 1)], line)
		}
	}
}

// runNamedGreen is green for some tests, even for those that show what is still broken.
func (t *tour) runNamedGreen(ctx context.Context, s course.Step, names []string, records bool) error {
	list, err := t.named(s, names)
	if err != nil {
		return err
	}
	results, err := t.playNamed(ctx, greenBuild(s), list)
	if err != nil {
		return err
	}
	if records && results[0].verdict == passed {
		return t.records(results[0])
	}
	t.heading("green: %s on %s (%s)", fileNames(results), s.Subject(), s.Lock)
	var wrong []string
	for _, r := range results {
		if r.verdict == passed {
			t.success(r, "", whole)
			continue
		}
		t.failure(r, whole)
		wrong = append(wrong, r.name)
	}
	return unless(wrong, notGreen, s)
}

package main

import (
	"cmp"
	"context"
	"path/filepath"
	"slices"

	"example.com/redislock-steps/docs/internal/course"
)

const notGreen = "green %s failed:\n  %s"

// runGreen runs all tests of a step as it is, or those with some names, even those that
// show what is still broken.
func (t *tour) runGreen(ctx context.Context, req request) error {
	s := req.steps[0]
	if req.names == nil {
		own := t.compileAhead(ctx, []build{greenBuild(s)})[0]
		if err := t.green(ctx, s, own, func(r result) { t.success(r, "", whole) }); err != nil {
			return err
		}
		t.prose("", "\nstill broken: %s", s.Broken)
		return nil
	}
	list, err := t.greenStories(s, req.names)
	if err != nil {
		return err
	}
	results, err := t.playAll(ctx, t.compileAhead(ctx, []build{greenBuild(s)})[0], list)
	if err != nil {
		return err
	}
	if req.has("-json") && results[0].verdict == passed {
		return t.records(results[0])
	}
	t.playing("green: %s on %s (%s)", results, s)
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

// greenStories are the tests of step s with these names.
func (t *tour) greenStories(s course.Step, names []string) ([]story, error) {
	paths, err := filepath.Glob(t.path(s.Dir, "*_test.go"))
	var all []story
	for _, path := range paths {
		list, wrong := t.storiesOf(s.Dir, filepath.Base(path))
		all, err = append(all, list...), cmp.Or(err, wrong)
	}
	if err != nil {
		return nil, err
	}
	return pick("green "+s.Arg(), all, names)
}

// green runs all tests of step s, and shows the stories that begin there. What fails it shows
// itself, whatever file it is in.
func (t *tour) green(ctx context.Context, s course.Step, on coming, show func(result)) error {
	bin, err := t.await(on)
	if err != nil {
		return err
	}
	defer bin.remove()
	log, err := bin.run(ctx, inVirtualTime, nil)
	if err != nil {
		return err
	}
	list, err := t.stories(s.Dir, s.Guarantees())
	if err != nil {
		return err
	}
	var results, own []result
	var wrong []string
	for _, st := range list {
		r := log.judge(st)
		results = append(results, r)
		if slices.ContainsFunc(s.Beginning(), func(f course.File) bool { return f.Name == r.file }) {
			own = append(own, r)
		}
		if r.verdict == notRun {
			wrong = append(wrong, say("%s: no test ran", r.name))
		}
	}
	t.playing("green: %s on %s (%s)", own, s)
	beside := 0 // tests that are in no guarantee file and passed
	for _, ts := range log.tests {
		switch {
		case ts.name != storyOf(ts.name) || ts.status == "skip":
		case ts.status == "pass":
			beside += boolean(!slices.ContainsFunc(list, func(st story) bool { return st.name == ts.name }))
		default:
			t.failure(log.judge(story{name: ts.name}), whole)
			wrong = append(wrong, ts.name)
		}
	}
	if log.exit != 0 && wrong == nil {
		wrong = append(wrong, say("the test process ended with exit status %d", log.exit))
	}
	if err := unless(wrong, notGreen, s); err != nil {
		return err
	}
	for _, r := range own {
		show(r)
	}
	others := ""
	if beside > 0 {
		others = say(", and %s", count(beside, "other test"))
	}
	t.printf("  %d of %s passed%s.\n  What %s guarantees now:\n\n", held(results), count(len(results), "story"), others, s.Dir)
	for _, f := range s.Guarantees() {
		for i, line := range wrap(columns-32, word(f.Guarantee)) {
			t.printf("    %-27s %s\n", []string{f.Name, ""}[min(i, 1)], line)
		}
	}
	return nil
}

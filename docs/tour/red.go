package main

import (
	"context"
	"fmt"
	"strings"
)

// red runs the stories of step s on the lock before it and returns them in the order of the file.
func (t *tour) red(ctx context.Context, s step, bin binary) ([]result, error) {
	var list []story
	for _, f := range redFiles(s) {
		more, err := storiesIn(t.root, s.dir, f.name)
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return bin.runEach(ctx, list)
}

// checkRed says what keeps a red run from being the lesson: every story must fail by its own assertion,
// except the controls, which must pass.
func checkRed(s step, results []result) error {
	reds, wrong := judgeRed(s, results)
	if reds == 0 && len(wrong) == 0 {
		wrong = append(wrong, "no story failed: all of "+nameList(redFiles(s))+" are controls")
	}
	return notRed(s, wrong)
}

// judgeRed counts the stories that failed as they should, and says what is wrong with the others.
func judgeRed(s step, results []result) (reds int, wrong []string) {
	for _, r := range results {
		switch {
		case r.control && r.verdict == passed:
		case !r.control && r.verdict == failed:
			reds++
		case r.control && r.verdict == failed:
			wrong = append(wrong, fmt.Sprintf("%s is a control (%q) and failed on %s",
				r.name, controlMark, before(s).subject()))
		case r.verdict == passed:
			wrong = append(wrong, fmt.Sprintf("%s passes on %s: make it fail there, or mark it %q",
				r.name, before(s).subject(), controlMark))
		default:
			wrong = append(wrong, fmt.Sprintf("%s did not end with an assertion: %s", r.name, r.why))
		}
	}
	return reds, wrong
}

func notRed(s step, wrong []string) error {
	if len(wrong) == 0 {
		return nil
	}
	return fmt.Errorf("red %s is not red as it should be:\n  %s", s.arg(), strings.Join(wrong, "\n  "))
}

func (t *tour) runRed(ctx context.Context, s step) error {
	b := t.redBuild(s)
	bin, err := t.build(ctx, b)
	if err != nil {
		return err
	}
	results, err := t.red(ctx, s, bin)
	if err != nil {
		return err
	}
	t.redHeading(s)
	for _, r := range results {
		t.redResult(r)
	}
	if err := checkRed(s, results); err != nil {
		return err
	}
	t.printf("\n%s\n\nThe fix: go run ./docs/tour diff %s   The same stories with it: go run ./docs/tour green %s\n",
		t.paint(bold, lesson), s.arg(), s.arg())
	return nil
}

// redResult shows a failure in full, and of a control the name.
func (t *tour) redResult(r result) {
	if r.verdict == passed {
		t.line(r)
		return
	}
	t.failure(r, all)
}

func (t *tour) redHeading(s step) {
	t.heading("red: %s on %s (%s)", nameList(redFiles(s)), before(s).subject(), before(s).lock)
	t.printf("\n")
}

// A greenRun is all tests of a step on its own lock.
type greenRun struct {
	log     transcript
	exit    int
	stories map[string][]result // by file
	files   []testFile          // in the order of the course
	others  int                 // tests that are in no guarantee file and passed
}

// green runs all tests of step s as it is.
func (t *tour) green(ctx context.Context, s step, bin binary) (greenRun, error) {
	tr, exit, err := bin.run(ctx, "")
	if err != nil {
		return greenRun{}, err
	}
	g := greenRun{log: tr, exit: exit, stories: map[string][]result{}, files: guarantees(s)}
	known := map[string]bool{}
	for _, f := range g.files {
		list, err := storiesIn(t.root, s.dir, f.name)
		if err != nil {
			return greenRun{}, err
		}
		for _, st := range list {
			v, why := judge(tr, exit, st.name)
			g.stories[f.name] = append(g.stories[f.name], result{st, v, why, tr})
			known[st.name] = true
		}
	}
	for _, r := range tr.records {
		if r.status == "PASS" && !known[r.name] && !strings.Contains(r.name, "/") {
			g.others++
		}
	}
	return g, nil
}

// passed counts the stories that passed, and all stories.
func (g greenRun) passed() (ok, of int) {
	for _, list := range g.stories {
		for _, r := range list {
			if r.verdict == passed {
				ok++
			}
		}
		of += len(list)
	}
	return ok, of
}

// checkGreen says which tests failed.
func checkGreen(s step, g greenRun) error {
	var wrong []string
	for _, f := range g.files {
		for _, r := range g.stories[f.name] {
			if r.verdict == notRun {
				wrong = append(wrong, r.name+": no test ran")
			}
		}
	}
	for _, r := range g.log.records {
		if r.status == "FAIL" && !strings.Contains(r.name, "/") {
			wrong = append(wrong, r.name)
		}
	}
	if g.log.crash != "" {
		wrong = append(wrong, g.log.crash)
	}
	if g.exit != 0 && len(wrong) == 0 {
		wrong = append(wrong, fmt.Sprintf("the test process ended with exit status %d", g.exit))
	}
	if len(wrong) > 0 {
		return fmt.Errorf("green %s failed:\n  %s", s.arg(), strings.Join(wrong, "\n  "))
	}
	return nil
}

// greenFailures prints what failed, whatever file it is in.
func (t *tour) greenFailures(g greenRun) {
	for _, r := range g.log.records {
		if r.status == "PASS" || r.status == "SKIP" || strings.Contains(r.name, "/") {
			continue
		}
		v, why := judge(g.log, g.exit, r.name)
		t.failure(result{story{name: r.name}, v, why, g.log}, all)
	}
}

func (t *tour) runGreen(ctx context.Context, s step) error {
	bin, err := t.build(ctx, greenBuild(s))
	if err != nil {
		return err
	}
	g, err := t.green(ctx, s, bin)
	if err != nil {
		return err
	}
	t.greenHeading(s)
	if err := checkGreen(s, g); err != nil {
		t.greenFailures(g)
		return err
	}
	for _, f := range beginning(s) {
		for _, r := range g.stories[f.name] {
			t.success(r, "", all)
		}
	}
	t.greenSummary(s, g)
	t.printf("\nstill broken: %s\n", s.broken)
	return nil
}

func (t *tour) greenHeading(s step) {
	t.heading("green: %s on %s (%s)", nameList(beginning(s)), s.subject(), s.lock)
	t.printf("\n")
}

func (t *tour) greenSummary(s step, g greenRun) {
	ok, of := g.passed()
	beside := ""
	if g.others > 0 {
		beside = ", and " + count(g.others, "other test")
	}
	t.printf("  %d of %s passed%s. What %s guarantees now:\n\n", ok, count(of, "story"), beside, s.dir)
	for _, f := range g.files {
		t.printf("    %-26s %s\n", f.name, f.guarantee)
	}
}

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// red runs the stories that begin in step s on the lock before it.
func (t *tour) red(ctx context.Context, s course.Step, bin binary) ([]group, error) {
	return t.play(s.Dir, s.Red(), func(list []story) ([]result, error) { return bin.runAll(ctx, list) })
}

// checkRed says what keeps a red run from being the lesson: every story must fail by its
// own assertion, except those whose comment says that they also pass.
func checkRed(s course.Step, results []result) error {
	wrong := wrongRed(s, results)
	if wrong == nil && held(results) == len(results) {
		wrong = append(wrong, say("no story failed: all of %s also pass there", fileNames(results)))
	}
	return unless(wrong, notRed, s)
}

func wrongRed(s course.Step, results []result) (wrong []string) {
	add := func(format string, args ...any) { wrong = append(wrong, say(format, args...)) }
	for _, r := range results {
		switch {
		case r.control && r.verdict == failed:
			add("%s failed on %s, but its comment says %q", r.name, s.Before().Subject(), course.AlsoPasses+"...")
		case r.verdict != passed && r.verdict != failed:
			add("%s did not end with an assertion: %s", r.name, r.why)
		case !r.control && r.verdict == passed:
			add("%s passes on %s: make it fail there, or let its comment say %q", r.name, s.Before().Subject(), course.AlsoPasses+"...")
		}
	}
	return wrong
}

const notRed = "red %s is not red as expected:\n  %s"

// unless is an error if something is wrong with a run of s.
func unless(wrong []string, format string, s course.Step) error {
	if wrong == nil {
		return nil
	}
	return errorf(format, s.Arg(), strings.Join(wrong, "\n  "))
}

// fileNames writes the files of some stories, each once, in one line.
func fileNames(results []result) string {
	var files []string
	for _, r := range results {
		if !slices.Contains(files, r.file) {
			files = append(files, r.file)
		}
	}
	return strings.Join(files, ", ")
}

func (t *tour) redHeading(s course.Step, results []result) {
	t.heading("red: %s on %s (%s)", fileNames(results), s.Before().Subject(), s.Before().Lock)
}

// runRed shows the first story of each file in full, and of the others what went wrong;
// everything in full shows all.
func (t *tour) runRed(ctx context.Context, s course.Step, everything bool) error {
	builds := []build{t.redBuild(s)}
	if s.ShowGreen {
		builds = append(builds, greenBuild(s))
	}
	done := t.compileAhead(ctx, builds)
	bin, err := t.await(builds[0], done[0])
	if err != nil {
		return err
	}
	groups, err := t.red(ctx, s, bin)
	if err != nil {
		return err
	}
	results := all(groups)
	t.redHeading(s, results)
	t.prose("", "%s\n", s.Before().Words)
	if s.Asks != "" {
		t.prose("", "What these stories ask for: %s\n", s.Asks)
	}
	t.prose("", "Times are virtual, in milliseconds since the story began. coupons is the lock's key.\n")
	leads := map[string]bool{}
	for _, g := range groups {
		if i := slices.IndexFunc(g.results, func(r result) bool { return r.verdict == failed }); i >= 0 {
			lead := g.results[i]
			leads[lead.name] = true
			t.failure(lead, whole)
			if s.ShowGreen {
				if err := t.onOwnLock(ctx, s, lead, builds[1], done[1]); err != nil {
					return err
				}
			}
		}
	}
	for _, r := range results {
		if !leads[r.name] && r.verdict != passed {
			t.redResult(r, everything)
		}
	}
	if err := checkRed(s, results); err != nil {
		return err
	}
	t.redEnd(s, results, everything)
	return nil
}

// onOwnLock shows the story that has failed once more, as it ends on the lock of s.
func (t *tour) onOwnLock(ctx context.Context, s course.Step, r result, b build, done <-chan compiled) error {
	bin, err := t.await(b, done)
	if err != nil {
		return err
	}
	results, err := bin.runAll(ctx, []story{r.story})
	if err != nil {
		return err
	}
	if results[0].verdict != passed {
		t.failure(results[0], whole)
		return errorf("%s fails on %s", r.name, s.Subject())
	}
	t.prose("  ", "The same story on %s. %s\n", s.Subject(), s.Words)
	t.success(results[0], r.log.failing(r.name)[0].name, whole)
	t.printf("  The other stories, again on %s:\n\n", s.Before().Subject())
	return nil
}

func (t *tour) redResult(r result, inFull bool) {
	switch {
	case r.verdict == passed:
		t.line(r)
	case r.verdict == failed && !inFull:
		t.summary(r)
	default:
		t.failure(r, whole)
	}
}

// wanted says that red is not an accident.
func (t *tour) wanted(s course.Step) {
	t.printf("\n")
	t.strong("Red, as expected: these failures show what is wrong with %s.", s.Before().Subject())
	t.printf("%s fixes it.\n", capital(s.Label()))
}

// redEnd says what to do next.
func (t *tour) redEnd(s course.Step, results []result, everything bool) {
	switch n := held(results); n {
	case 0:
	case 1:
		t.prose("  ", "\n1 story passes on %s as well, as its comment says.", s.Before().Subject())
	default:
		t.prose("  ", "\n%d stories pass on %s as well, as their comments say.", n, s.Before().Subject())
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

// runNamedRed is red for some stories, in full: the judgement is the same, the rest of
// the lesson is left out.
func (t *tour) runNamedRed(ctx context.Context, s course.Step, names []string, records bool) error {
	list, err := t.named(s, names)
	if err != nil {
		return err
	}
	for _, st := range list {
		if err := canBeRed(s, st); err != nil {
			return err
		}
	}
	results, err := t.playNamed(ctx, t.redBuild(s), list)
	if err != nil {
		return err
	}
	wrong := unless(wrongRed(s, results), notRed, s)
	if records && wrong == nil {
		return t.records(results[0])
	}
	t.redHeading(s, results)
	for _, r := range results {
		t.redResult(r, true)
	}
	return wrong
}

func (t *tour) playNamed(ctx context.Context, b build, list []story) ([]result, error) {
	bin, err := t.build(ctx, b)
	if err != nil {
		return nil, err
	}
	return bin.runAll(ctx, list)
}

// named returns the tests of step s with these names, in the order of the names.
func (t *tour) named(s course.Step, names []string) ([]story, error) {
	files, err := fs.Glob(os.DirFS(t.path(s.Dir, "")), "*_test.go")
	if err != nil {
		return nil, err
	}
	var tests []story
	for _, file := range files {
		found, err := t.storiesOf(s.Dir, file)
		if err != nil {
			return nil, err
		}
		tests = append(tests, found...)
	}
	var list []story
	for _, name := range names {
		i := slices.IndexFunc(tests, func(st story) bool { return st.name == name })
		if i < 0 {
			return nil, wrongUsage("%s has no test %s; list them:\n  go test -list . ./%[1]s", s.Dir, name)
		}
		list = append(list, tests[i])
	}
	return list, nil
}

// canBeRed refuses a test that is not a story of the guarantee that begins in step s, and
// says where it belongs.
func canBeRed(s course.Step, st story) error {
	var own []string
	for _, f := range s.Red() {
		own = append(own, f.Name)
	}
	if slices.Contains(own, st.file) {
		return nil
	}
	reason := "which is not run red"
	for _, f := range course.Files() {
		switch {
		case f.Name != st.file || s.IsEpilogue():
		case f.From < s.N:
			reason = say("which begins in step %02d: ask red %d", f.From, f.From)
		default:
			reason = say("which needs what the lock %s lacks: %s", s.Before().Of(), strings.Join(f.Needs, ", "))
		}
	}
	return wrongUsage("red %s runs the stories of %s. %s is in %s, %s", s.Arg(), strings.Join(own, ", "), st.name, st.file, reason)
}

package main

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// A named is a story that was asked for by name, and the file it stands in.
type named struct {
	story
	file string
}

// testsIn lists all tests of a step's folder, file by file.
func (t *tour) testsIn(s step) ([]named, error) {
	files, err := fs.Glob(os.DirFS(t.path(s.dir, "")), "*_test.go")
	if err != nil {
		return nil, err
	}
	var list []named
	for _, file := range files {
		found, err := testsOf(t.root, s.dir, file)
		if err != nil {
			return nil, err
		}
		for _, st := range found {
			list = append(list, named{st, file})
		}
	}
	return list, nil
}

// findNamed returns the tests of step s with these names, in the order of the names.
func (t *tour) findNamed(s step, names []string) ([]named, error) {
	tests, err := t.testsIn(s)
	if err != nil {
		return nil, err
	}
	var list []named
	for _, name := range names {
		i := slices.IndexFunc(tests, func(n named) bool { return n.name == name })
		if i < 0 {
			return nil, usageError(fmt.Sprintf("%s has no test %s; list them: go test -list . ./%s", s.dir, name, s.dir))
		}
		list = append(list, tests[i])
	}
	return list, nil
}

// canBeRed refuses a test that is no story of the guarantee that begins in step s, and says where it belongs.
func canBeRed(s step, n named) error {
	own := redFiles(s)
	if slices.ContainsFunc(own, func(f testFile) bool { return f.name == n.file }) {
		return nil
	}
	reason := fmt.Sprintf("stands in %s, which is not run red", n.file)
	for _, f := range testFiles() {
		switch {
		case f.name != n.file || s.isEpilogue():
		case f.from < s.n:
			reason = fmt.Sprintf("stands in %s, which begins in step %02d: ask red %d", n.file, f.from, f.from)
		default:
			reason = fmt.Sprintf("stands in %s, which needs what the lock %s has not: %s",
				n.file, before(s).of(), strings.Join(f.needs, ", "))
		}
	}
	return usageError(fmt.Sprintf("red %s runs the stories of %s. %s %s", s.arg(), nameList(own), n.name, reason))
}

// runNamedRed is red for some stories: the judgement is the same, the rest of the lesson is left out.
func (t *tour) runNamedRed(ctx context.Context, s step, names []string) error {
	list, err := t.findNamed(s, names)
	if err != nil {
		return err
	}
	for _, n := range list {
		if err := canBeRed(s, n); err != nil {
			return err
		}
	}
	results, err := t.runNamed(ctx, t.redBuild(s), list)
	if err != nil {
		return err
	}
	t.heading("red: %s on %s (%s)", filesOfNamed(list), before(s).subject(), before(s).lock)
	t.printf("\n")
	for _, r := range results {
		t.redResult(r)
	}
	_, wrong := judgeRed(s, results)
	return notRed(s, wrong)
}

// runNamedGreen is green for some tests, also for those that show what is still broken.
func (t *tour) runNamedGreen(ctx context.Context, s step, names []string) error {
	list, err := t.findNamed(s, names)
	if err != nil {
		return err
	}
	results, err := t.runNamed(ctx, greenBuild(s), list)
	if err != nil {
		return err
	}
	t.heading("green: %s on %s (%s)", filesOfNamed(list), s.subject(), s.lock)
	t.printf("\n")
	var wrong []string
	for _, r := range results {
		if r.verdict == passed {
			r.control = false // true of the lock before; here it is a story like the others
			t.success(r, "", all)
			continue
		}
		t.failure(r, all)
		wrong = append(wrong, r.name)
	}
	if wrong != nil {
		return fmt.Errorf("green %s failed:\n  %s", s.arg(), strings.Join(wrong, "\n  "))
	}
	return nil
}

func (t *tour) runNamed(ctx context.Context, b build, list []named) ([]result, error) {
	bin, err := t.build(ctx, b)
	if err != nil {
		return nil, err
	}
	var stories []story
	for _, n := range list {
		stories = append(stories, n.story)
	}
	return bin.runEach(ctx, stories)
}

// filesOfNamed writes each file once, in one line.
func filesOfNamed(list []named) string {
	var files []string
	for _, n := range list {
		if !slices.Contains(files, n.file) {
			files = append(files, n.file)
		}
	}
	return strings.Join(files, ", ")
}

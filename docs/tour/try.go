package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// myDir is the learner's folder; git ignores it.
const myDir = "mylock"

const myFile = myDir + "/" + course.LockFile

// errUnsolved ends a try that is not done yet; what is missing has been printed.
var errUnsolved = errors.New("not solved yet")

func (t *tour) runTry(ctx context.Context, s course.Step) error {
	if err := t.startMyLock(s); err != nil {
		return err
	}
	src, err := os.ReadFile(t.path("", myFile))
	if err != nil {
		return err
	}
	b, older, err := t.tryBuild(s, src)
	if err != nil {
		return err
	}
	bin, err := t.build(ctx, b)
	if ce, ok := errors.AsType[*compileError](err); ok {
		return fmt.Errorf("%s does not compile with the tests of %s:\n%s", myFile, s.Label(), compilerText(ce.out, t.root, s))
	}
	if err != nil {
		return err
	}
	files := slices.DeleteFunc(s.Guarantees(), func(f course.File) bool { _, out := b.replace[f.Name]; return out })
	done := t.progress("running the tests")
	groups, err := t.play(s.Dir, files, func(list []story) ([]result, error) { return bin.runAll(ctx, list) })
	done()
	if err != nil {
		return err
	}
	return t.tryReport(s, groups, older, missingAPI(s, src))
}

// startMyLock puts a copy of the lock before s into mylock, unless the learner has one already.
func (t *tour) startMyLock(s course.Step) error {
	from := s.Before().Dir + "/" + course.LockFile
	src, err := os.ReadFile(t.path("", from))
	if err != nil {
		return fmt.Errorf("cannot read the lock %s: %w", s.Before().Of(), err)
	}
	if err := os.MkdirAll(t.path("", myDir), 0o777); err != nil {
		return err
	}
	f, err := os.OpenFile(t.path("", myFile), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if errors.Is(err, os.ErrExist) {
		return nil
	}
	if err != nil {
		return err
	}
	_, err = f.Write(src)
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	t.printf("%s is new: a copy of %s. It is yours to change.\n\n", myFile, from)
	return nil
}

// tryBuild is the tests of step s with the learner's lock. older says that it still has
// the constructor of the step before.
func (t *tour) tryBuild(s course.Step, src []byte) (b build, older bool, err error) {
	b = build{
		dir:     s.Dir,
		name:    "the tests of " + s.Label() + " with " + myFile,
		replace: map[string]string{course.LockFile: myFile},
	}
	b.leaveOut(course.BugFile, course.ExhibitFile)
	for _, f := range s.Guarantees() {
		if len(lacks(src, f)) > 0 {
			b.leaveOut(f.Name)
		}
	}
	from, err := t.constructorOf(s, src)
	if err != nil {
		return build{}, false, err
	}
	if from.N != s.N && t.exists(from.Dir, course.NewFile) {
		b.replace[course.NewFile] = from.Dir + "/" + course.NewFile
	}
	return b, from.N != s.N, nil
}

// constructorOf returns the step, s or the one before, whose New has the parameters of
// the New in src.
func (t *tour) constructorOf(s course.Step, src []byte) (course.Step, error) {
	list, err := source.Parse(myFile, src)
	if err != nil {
		return s, nil // the compiler explains it better
	}
	now, errNow := t.newOf(s)
	then, errThen := t.newOf(s.Before())
	if err := errors.Join(errNow, errThen); err != nil {
		return course.Step{}, err
	}
	mine := declared(list, "New")
	switch {
	case mine.Name == "":
		return course.Step{}, fmt.Errorf("%s: no func New; %s has\n  %s", myFile, s.Label(), source.Signature(now))
	case source.Params(mine) == source.Params(now):
		return s, nil
	case source.Params(mine) == source.Params(then):
		return s.Before(), nil
	}
	return course.Step{}, fmt.Errorf("func New of %s fits no test of %s. It is\n  %s\nand %s has\n  %s\n"+
		"Change it, or move %s away to start again from the lock %s",
		myFile, s.Label(), source.Signature(mine), s.Label(), source.Signature(now), myFile, s.Before().Of())
}

func (t *tour) newOf(s course.Step) (source.Declaration, error) {
	list, err := source.Read(t.path(s.Dir, course.LockFile))
	if err != nil {
		return source.Declaration{}, fmt.Errorf("cannot read the lock %s: %w", s.Of(), err)
	}
	return declared(list, "New"), nil
}

// lacks returns what the tests of f need and a lock.go has not.
func lacks(src []byte, f course.File) []string {
	list, _ := source.Parse(myFile, src) // what cannot be read is for the compiler to explain
	has := source.Offers(list, "Lock")
	return slices.DeleteFunc(slices.Clone(f.Needs), func(name string) bool { return has[name] })
}

// missingAPI says, per file of tests that step s has and the learner's lock is not ready
// for, what it lacks.
func missingAPI(s course.Step, src []byte) []string {
	var list []string
	for _, f := range s.Guarantees() {
		if lacks := lacks(src, f); len(lacks) > 0 {
			list = append(list, fmt.Sprintf("%s needs %s", f.Name, strings.Join(lacks, ", ")))
		}
	}
	return list
}

// compilerText is what the compiler printed, about the learner's file instead of the one
// it stands in for.
func compilerText(out string, root string, s course.Step) string {
	var b strings.Builder
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if strings.HasPrefix(line, "# ") || strings.HasPrefix(line, "FAIL") {
			continue // the name of the package, which is the step's
		}
		for _, dir := range []string{s.Dir, myDir} {
			for _, sep := range []string{"/", `\`} {
				line = strings.ReplaceAll(line, root+sep+dir, dir)
				line = strings.ReplaceAll(line, "."+sep+dir+sep, dir+sep)
				line = strings.ReplaceAll(line, dir+sep+course.LockFile, myFile)
			}
		}
		b.WriteString(line + "\n")
	}
	return strings.TrimRight(b.String(), "\n")
}

// tryReport says what holds, and what is missing next.
func (t *tour) tryReport(s course.Step, groups []group, older bool, missing []string) error {
	t.heading("%s against the tests of %s", myFile, s.Label())
	for _, g := range groups {
		word := t.paint(green, "holds  ")
		if held(g.results) < len(g.results) {
			word = t.paint(red, "missing")
		}
		t.printf("  %s  %-27s %d of %d\n", word, g.Name, held(g.results), len(g.results))
	}
	results := all(groups)
	t.printf("\n  Stories passed: %d of %d.\n\n", held(results), len(results))
	next := slices.IndexFunc(results, func(r result) bool { return r.verdict != passed })
	if next >= 0 {
		t.printf("Missing next:\n\n")
		t.failure(results[next], whole)
	}
	t.tryNotes(s, older, missing)
	if next >= 0 || older || len(missing) > 0 {
		t.printf("Change %s and run it again: go run ./docs/tour try %d\n", myFile, s.N)
		return errUnsolved
	}
	t.printf("%s is solved. Compare with the course's own: go run ./docs/tour diff %d\n", capital(s.Label()), s.N)
	if s.N == course.Last.N {
		t.printf("It was the last one.\n")
		return nil
	}
	t.printf("Next: go run ./docs/tour try %d\n", s.N+1)
	return nil
}

// tryNotes says what no story can say, because it is left out until the API is there.
func (t *tour) tryNotes(s course.Step, older bool, missing []string) {
	if older {
		if now, err := t.newOf(s); err == nil {
			t.printf("New is still that of the step before; %s has\n  %s\n\n", s.Label(), source.Signature(now))
		}
	}
	if len(missing) > 0 {
		t.printf("%s is not complete: some of its tests cannot run yet.\n%s\n", capital(s.Label()), indent("  ", missing))
	}
}

func capital(text string) string {
	return string(bytes.ToUpper([]byte(text[:1]))) + text[1:]
}

package main

import (
	"context"
	"fmt"
	"go/format"
	"io"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// The corpus: locks that a learner would write, right and wrong, and what the stories say
// to each. testdata/attempts/README.md explains it.

const attemptsDir = "testdata/attempts"

// An attempt is the course's lock of a step with some changes.
type attempt struct {
	name     string // step04/wrong/del-by-its-own-clock
	step     course.Step
	wrong    bool
	caughtBy []string // the first story that fails, of a wrong one; several if chance decides
	advice   []string // how what only the source shows begins, of a right one
	src      []byte
}

func TestAttempts_EachIsWhole(t *testing.T) {
	counts := map[string]int{}
	for _, a := range attempts(t) {
		counts[path.Dir(a.name)]++
		if !a.wrong {
			assert.Empty(t, a.caughtBy, "%s: nothing catches a right one", a.name)
			continue
		}
		assert.NotEmpty(t, a.caughtBy, "%s: what catches it?", a.name)
		assert.Subset(t, storyNames(t, a.step), a.caughtBy, "%s: %q names no story of %s", a.name, caughtBy, a.step.Dir)
	}
	for _, s := range course.Steps[:7] {
		dir := fmt.Sprintf("step%02d", s.N)
		assert.GreaterOrEqual(t, counts[dir+"/wrong"], 10, "wrong locks for %s", s.Label())
		assert.GreaterOrEqual(t, counts[dir+"/right"], 3, "right locks for %s", s.Label())
	}
}

// One wrong attempt and one right one, drawn by lot. ATTEMPTS=all judges all of them,
// ATTEMPTS=step05 those whose name contains that.
func TestAttempts_AreJudgedRightly(t *testing.T) {
	list, chosen := attempts(t), os.Getenv("ATTEMPTS")
	switch chosen {
	case "":
		seed := uint64(time.Now().UnixNano())
		t.Logf("drawn by the seed %d; ATTEMPTS=all judges all %d", seed, len(list))
		list = sample(list, rand.New(rand.NewPCG(seed, 0)))
	case "all":
	default:
		list = slices.DeleteFunc(list, func(a attempt) bool { return !strings.Contains(a.name, chosen) })
		require.NotEmpty(t, list, "ATTEMPTS=%s: no attempt has that in its name", chosen)
	}
	tr, ctx, err := newTour(t.Context(), console{out: t.Output(), err: io.Discard})
	require.NoError(t, err)
	defer tr.close()
	for _, a := range list {
		t.Run(a.name, func(t *testing.T) {
			start := time.Now()
			a.judge(t, a.play(t, tr, ctx))
			t.Logf("judged within %.1f s", time.Since(start).Seconds())
		})
	}
}

// sample draws one wrong attempt and one right one.
func sample(list []attempt, lot *rand.Rand) (drawn []attempt) {
	for _, wrong := range []bool{true, false} {
		of := slices.DeleteFunc(slices.Clone(list), func(a attempt) bool { return a.wrong != wrong })
		drawn = append(drawn, of[lot.IntN(len(of))])
	}
	return drawn
}

// play runs all stories of its step on the attempt.
func (a attempt) play(t *testing.T, tr *tour, ctx context.Context) []result {
	file := filepath.Join(tr.tmp, strings.ReplaceAll(a.name, "/", "-")+".go")
	require.NoError(t, os.WriteFile(file, playable(a.src), 0o666))
	b := greenBuild(a.step)
	b.replace[course.LockFile] = file
	b.leaveOut(course.BugFile, course.ExhibitFile)
	bin, err := tr.compile(ctx, b)
	require.NoError(t, err)
	defer bin.remove()
	groups, err := tr.play(a.step.Dir, a.step.Guarantees(), func(list []story) ([]result, error) { return bin.runAll(ctx, list) })
	require.NoError(t, err)
	return all(groups)
}

// judge fails unless a right attempt passes everything, and a wrong one fails as it says:
// what try shows is the first failure. Every failure has to be an assertion.
func (a attempt) judge(t *testing.T, results []result) {
	var failures []string
	for _, r := range results {
		if r.verdict == passed {
			continue
		}
		failures = append(failures, r.name)
		if r.verdict != failed {
			assert.Failf(t, "not an assertion", "%s: %s", r.name, r.why)
			continue
		}
		failing := r.log.failing(r.name)[0]
		t.Logf("%s: %s", r.name, strings.Join(failing.message(), "\n"))
	}
	if !a.wrong {
		require.Empty(t, failures, "a right lock is refused")
		return
	}
	require.NotEmpty(t, failures, "a wrong lock passes")
	require.Contains(t, a.caughtBy, failures[0], "the first story that fails")
}

func storyNames(t *testing.T, s course.Step) (names []string) {
	root, err := course.Root()
	require.NoError(t, err)
	tr := &tour{root: root}
	for _, f := range s.Guarantees() {
		list, err := tr.storiesOf(s.Dir, f.Name)
		require.NoError(t, err)
		for _, st := range list {
			names = append(names, st.name)
		}
	}
	return names
}

// attempts reads the corpus.
func attempts(t *testing.T) (list []attempt) {
	files, err := filepath.Glob(filepath.FromSlash(attemptsDir + "/step0?/*/*.diff"))
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		a, err := readAttempt(filepath.ToSlash(file), string(text))
		require.NoError(t, err)
		list = append(list, a)
	}
	return list
}

const (
	caughtBy = "caught by: "
	advised  = "advice: "
)

func readAttempt(file, text string) (attempt, error) {
	a := attempt{name: strings.TrimSuffix(strings.TrimPrefix(file, attemptsDir+"/"), ".diff")}
	dir, rest, _ := strings.Cut(a.name, "/")
	s, err := course.Parse(strings.TrimPrefix(dir, "step0"))
	if err != nil {
		return a, err
	}
	a.step, a.wrong = s, strings.HasPrefix(rest, "wrong/")
	if !a.wrong && !strings.HasPrefix(rest, "right/") {
		return a, fmt.Errorf("%s is neither in right nor in wrong", file)
	}
	text = strings.ReplaceAll(text, "\r\n", "\n")
	head, hunks, _ := strings.Cut(text, "\n@@")
	for line := range strings.Lines(head + "\n") {
		line = strings.TrimSpace(line)
		if value, ok := strings.CutPrefix(line, caughtBy); ok {
			a.caughtBy = append(a.caughtBy, value)
		}
		if value, ok := strings.CutPrefix(line, advised); ok {
			a.advice = append(a.advice, value)
		}
	}
	src, err := os.ReadFile(filepath.FromSlash("../../" + s.Path()))
	if err != nil {
		return a, err
	}
	changed, err := patch(strings.ReplaceAll(string(src), "\r\n", "\n"), "@@"+hunks)
	if err == nil {
		a.src, err = format.Source([]byte(changed))
	}
	if err != nil {
		return a, fmt.Errorf("%s: %w", file, err)
	}
	return a, nil
}

// patch makes the changes of a diff without line numbers: what a hunk takes away, with
// the lines around it, has to stand in the text exactly once.
func patch(text, hunks string) (string, error) {
	for _, hunk := range strings.Split(hunks, "\n@@") {
		where, body, _ := strings.Cut(strings.TrimPrefix(hunk, "@@"), "\n")
		var from, to strings.Builder
		for line := range strings.Lines(strings.TrimRight(body, "\n") + "\n") {
			kind, rest := line[0], line[1:]
			switch {
			case line == "\n": // an editor has taken the blank
				kind, rest = ' ', "\n"
			case kind != ' ' && kind != '-' && kind != '+':
				return "", fmt.Errorf("a line of a diff begins with a blank, - or +: %s", line)
			}
			if kind != '+' {
				from.WriteString(rest)
			}
			if kind != '-' {
				to.WriteString(rest)
			}
		}
		if n := strings.Count("\n"+text, "\n"+from.String()); n != 1 || from.String() == to.String() {
			return "", fmt.Errorf("the change at%s stands in lock.go %d times, and must once:\n%s", where, n, from.String())
		}
		text = strings.TrimPrefix(strings.Replace("\n"+text, "\n"+from.String(), "\n"+to.String(), 1), "\n")
	}
	return text, nil
}

func TestPatch(t *testing.T) {
	const text = "a\nb\n\nc\nb\n"
	for hunks, want := range map[string]string{
		"@@\n-a\n+A\n":                 "A\nb\n\nc\nb\n",
		"@@ f\n b\n\n-c\n+C\n+D\n":     "a\nb\n\nC\nD\nb\n",
		"@@\n-a\n+A\n@@\n c\n-b\n+B\n": "A\nb\n\nc\nB\n",
		"@@ f\n-b\n+B\n":               "2 times",
		"@@ f\n-x\n+B\n":               "0 times",
		"@@ f\n a\n":                   "once",
		"@@ f\n-a\n+A\n?\n":            "begins with",
	} {
		got, err := patch(text, hunks)
		if err != nil {
			got = err.Error()
		}
		require.Contains(t, got, want)
	}
}

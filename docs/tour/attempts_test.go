package main

import (
	"cmp"
	"context"
	"fmt"
	"go/format"
	"io"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/story"
)

// The corpus: locks that a learner would write, right and wrong, and what the stories say
// to each. .github/CONTRIBUTING.md explains it.

// An attempt is the reference solution of a step with some of its declarations replaced.
type attempt struct {
	name     string // step04/wrong/del-by-its-own-clock
	step     course.Step
	wrong    bool
	caughtBy []string // the first story that fails, of a wrong one; several if chance decides
	refused  string   // how the rule begins that only the source shows to be broken, of a wrong one
	src      []byte   // the whole lock in one file
}

func TestAttempts_EachIsWhole(t *testing.T) {
	for _, a := range attempts(t) {
		if !a.wrong {
			assert.Empty(t, a.caughtBy, "%s: nothing catches a right one", a.name)
			assert.Empty(t, brokenRules(lock{course.LockFile: a.src}, a.step.N), "%s: a right lock is refused", a.name)
			continue
		}
		if a.refused != "" {
			broken := brokenRules(lock{course.LockFile: a.src}, a.step.N)
			require.Len(t, broken, 1, a.name)
			require.Contains(t, broken[0], a.refused, a.name)
			continue
		}
		assert.NotEmpty(t, a.caughtBy, "%s: what catches it?", a.name)
		for _, name := range a.caughtBy {
			name, _, _ = strings.Cut(name, ",")
			assert.Contains(t, storyNames(t, a.step), name, "%s: caught by no story of %s", a.name, a.step.Dir)
		}
	}
}

// ATTEMPTS=all judges all of them, in minutes, as .ci/run does; ATTEMPTS=step05 those whose
// name contains that.
func TestAttempts_AreJudgedRightly(t *testing.T) {
	chosen := os.Getenv("ATTEMPTS")
	if chosen == "" {
		t.Skip("ATTEMPTS=all judges all, ATTEMPTS=step05 those of a step")
	}
	list := attempts(t)
	if chosen != "all" {
		list = slices.DeleteFunc(list, func(a attempt) bool { return !strings.Contains(a.name, chosen) })
		require.NotEmpty(t, list, "ATTEMPTS=%s: no attempt has that in its name", chosen)
	}
	tr, ctx, err := newTour(t.Context(), console{out: io.Discard, err: io.Discard})
	require.NoError(t, err)
	t.Cleanup(tr.Close)
	for _, a := range list {
		t.Run(a.name, func(t *testing.T) {
			t.Parallel()
			a.judge(t, a.play(t, tr, ctx))
		})
	}
}

// play runs all stories of its step on the attempt, and if they pass, through Lock.
func (a attempt) play(t *testing.T, tr *tour, ctx context.Context) (trials []trial) {
	file := filepath.Join(tr.Tmp, strings.ReplaceAll(a.name, "/", "-")+".go")
	require.NoError(t, os.WriteFile(file, playable(a.src), 0o666))
	b := greenBuild(a.step)
	b.LeaveOut(tr.Sources(a.step.Dir)...)
	b.LeaveOut(course.NotAsked()...)
	b.Replace[course.LockFile] = file
	list, err := tr.stories(a.step.Dir, a.step.Guarantees())
	require.NoError(t, err)
	require.NoError(t, tr.layThrough(b))
	bin, err := tr.build(ctx, b)
	require.NoError(t, err)
	defer bin.Remove()
	for _, lock := range []bool{false, true} {
		results, err := bin.Play(ctx, list...)
		require.NoError(t, err)
		trials = nil
		for _, r := range results {
			trials = append(trials, trial{r, -1, nil, lock})
		}
		if tally(trials, story.Passed) < len(list) {
			break
		}
		bin.Env = []string{throughLock}
	}
	return trials
}

// judge fails unless a right attempt passes everything, and a wrong one fails as it says:
// what try shows is the first failure. Every failure has to be an assertion.
func (a attempt) judge(t *testing.T, trials []trial) {
	played := attemptAt{step: a.step, trials: trials}
	var failures []string
	for _, r := range played.failing() { // in the order of try
		failures = append(failures, r.Name+r.through())
		if r.Verdict != story.Failed {
			assert.Failf(t, "not an assertion", "%s: %s", r.Name, whyNot(r.Result))
			continue
		}
		t.Logf("%s: %s", r.Name, strings.Join(r.Log.Failing(r.Name)[0].Message(), "\n"))
	}
	if a.refused != "" {
		return // a story may see it as well, by luck
	}
	if !a.wrong {
		require.Empty(t, failures, "a right lock is refused")
		return
	}
	require.NotEmpty(t, failures, "a wrong lock passes")
	require.Contains(t, a.caughtBy, failures[0], "the first story that fails")
}

func storyNames(t *testing.T, s course.Step) (names []string) {
	list, err := (&tour{Builder: &story.Builder{Root: "../.."}}).stories(s.Dir, s.Guarantees())
	require.NoError(t, err)
	for _, st := range list {
		names = append(names, st.Name)
	}
	return names
}

var corpus []attempt

// attempts reads the corpus, once: under the race detector, that takes seconds.
func attempts(t *testing.T) []attempt {
	if corpus != nil {
		return slices.Clone(corpus)
	}
	files, err := filepath.Glob("testdata/attempts/step0?.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		step := strings.TrimSuffix(filepath.Base(file), ".txtar")
		for _, entry := range strings.Split("\n"+read(t, file), "\n-- ")[1:] {
			name, text, ok := strings.Cut(entry, " --\n")
			require.True(t, ok, "%s: -- %s: a line that begins so must end in --", file, name)
			corpus = append(corpus, readAttempt(t, step+"/"+name, text))
		}
	}
	for _, s := range course.Steps {
		src, err := (&tour{Builder: &story.Builder{Root: "../.."}}).readLock(s.Dir)
		require.NoError(t, err)
		a := attempt{name: fmt.Sprintf("step%02d/right/reference", s.N), step: s}
		a.src, err = assemble(src, nil, "")
		require.NoError(t, err)
		corpus = append(corpus, a)
	}
	return slices.Clone(corpus)
}

func readAttempt(t *testing.T, name, text string) attempt {
	a := attempt{name: name}
	n, kind, _ := strings.Cut(strings.TrimPrefix(name, "step0"), "/")
	var err error
	a.step, err = course.Parse(n)
	require.NoError(t, err, name)
	a.wrong = strings.HasPrefix(kind, "wrong/")
	head, body, _ := strings.Cut(text, "\n\n")
	var without []string
	for line := range strings.SplitSeq(head, "\n") {
		switch key, value, _ := strings.Cut(line, ": "); key {
		case "caught by":
			a.caughtBy = append(a.caughtBy, value)
		case "refused":
			a.refused = value
		case "without":
			without = strings.Split(value, ", ")
		}
	}
	src, err := (&tour{Builder: &story.Builder{Root: "../.."}}).readLock(a.step.Dir)
	require.NoError(t, err)
	a.src, err = assemble(src, without, body)
	require.NoError(t, err, name)
	return a
}

// importable are the imports that an attempt need not write: those that a lock may lack.
var importable = []string{"bytes", "cmp", "context", "crypto/rand", "crypto/sha256", "encoding/base64", "encoding/hex", "errors", "fmt", "math",
	"net", "os", "slices", "strconv", "strings", "sync", "sync/atomic", "time", "github.com/redis/go-redis/v9"}

var (
	// importName finds how a file that imports a path names it.
	importName = regexp.MustCompile(`([a-z0-9]+)(/v[0-9]+)?$`)
	imported   = regexp.MustCompile(`(?:\t(\w+) )?"(\S+)"`)
	// fileHead is what a file may have only once, and before its declarations.
	fileHead = regexp.MustCompile(`(?m)^package .*|^import (\([^)]*\)|".*")`)
)

// assemble makes one file of an attempt and a lock. Of the lock it takes the declarations
// that the attempt neither leaves out nor has itself. It imports what it uses, and has no
// comments.
func assemble(src lock, without []string, body string) ([]byte, error) {
	theirs, err := src.code()
	mine, wrong := lock{"attempt.go": []byte("package redislock\n" + body)}.code()
	if err := cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	imports := map[string]string{}
	for _, of := range importable {
		imports[importName.FindStringSubmatch(of)[1]] = of
	}
	// The attempt's own are the last: it may want math/rand.
	for _, head := range fileHead.FindAllString(theirs+mine, -1) {
		for _, of := range imported.FindAllStringSubmatch(head, -1) {
			imports[cmp.Or(of[1], importName.FindStringSubmatch(of[2])[1])] = of[2]
		}
	}
	mine = fileHead.ReplaceAllString(mine, "")
	theirs = "package redislock\n" + fileHead.ReplaceAllString(theirs, "")
	list, err := source.Parse("", []byte(theirs))
	own, wrong := source.Parse("", []byte("package redislock\n"+mine))
	if err := cmp.Or(err, wrong); err != nil {
		return nil, err
	}
	gone, had := slices.Clone(without), map[string]bool{}
	for _, d := range own {
		gone = append(gone, d.Name)
	}
	left := strings.Split(theirs, "\n")
	for _, d := range list {
		if slices.Contains(gone, d.Name) {
			had[d.Name] = true
			clear(left[d.From-1:][:len(lines(d.Text))])
		}
	}
	code := strings.Join(left, "\n") + mine
	uses := func(pattern string) int { return len(regexp.MustCompile(pattern).FindAllString(code, -1)) }
	for _, name := range gone {
		short := name[strings.LastIndex(name, ".")+1:]
		if !had[name] && (slices.Contains(without, name) || uses(`\b`+short+`\b`) < 2) {
			return nil, fmt.Errorf("the lock has no %s to leave out or to replace, and nothing uses a new one", name)
		}
	}
	head := ""
	for _, name := range slices.Sorted(maps.Keys(imports)) {
		if uses(`\b`+name+`\.[A-Z]`) > 0 {
			head += fmt.Sprintf("import %s %q\n", name, imports[name])
		}
	}
	return format.Source([]byte(strings.Replace(code, "\n", "\n"+head, 1)))
}

package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// errUnsolved ends a try that is not done yet; what is missing has been printed.
var errUnsolved error = saying("not solved yet")

// watchFile is laid over the step's folder, and ends a story that hangs.
const (
	watchDir  = "docs/tour/testdata"
	watchFile = "lab_watch_test.go"
	watchEnv  = "TOUR_PATIENCE" // how long a story may make no progress
)

// watchPatience is how long: enough for a machine that is busy with something else.
const watchPatience = "5s"

// screen is how many lines of a timeline a learner is shown.
const screen = 30

// A trial is what a story says of the learner's lock.
type trial struct {
	result
	part int     // of its step; -1 for the stories of the steps before, or if it has none
	end  *ending // if it ended with its process
}

// runTry plays the stories of a step on the learner's lock: all, or those with these names.
func (t *tour) runTry(ctx context.Context, req request) error {
	if err := t.prepare(req); err != nil {
		return err
	}
	return t.tryOnce(ctx, req.steps[0], req.names)
}

// prepare puts the learner's attempt at a step in its place, the first time with the
// rules. What it refuses has moved nothing.
func (t *tour) prepare(req request) error {
	s := req.steps[0]
	for _, name := range req.names {
		if _, err := t.storyNamed(s, name); err != nil {
			return err
		}
	}
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	if p.Step > s.N && t.hasLock(myDir) && !req.has("-back") {
		return wrongUsage("%s has your attempt at step %02d. To keep that and go back to %s:\n  go run ./docs/tour try %d -back", myDir, p.Step, s.Label(), s.N)
	}
	fresh, err := t.begin(p, s)
	if err != nil || !fresh {
		return err
	}
	err = t.box(s, false)
	t.printf("\n")
	return err
}

// An attemptAt is a run of the stories of a step on the learner's lock.
type attemptAt struct {
	step    course.Step
	src     lock
	older   bool     // it has the constructor of the step before
	missing []string // what it lacks, for people
	broken  []string // rules, as only the source shows
	trials  []trial
}

// tryOnce is a try of what is there now.
func (t *tour) tryOnce(ctx context.Context, s course.Step, names []string) error {
	src, err := t.readLock(myDir)
	if err != nil {
		return err
	}
	a := attemptAt{step: s, src: src}
	b, err := t.tryBuild(&a)
	if err != nil {
		return err
	}
	bin, err := t.build(ctx, b)
	if ce, ok := errors.AsType[*compileError](err); ok {
		return t.doesNotCompile(ce, s)
	}
	if err != nil {
		return err
	}
	defer bin.remove()
	if err := t.tryStories(&a, b); err != nil {
		return err
	}
	a.broken = brokenRules(src, s.N)
	if names != nil {
		a.trials = slices.DeleteFunc(a.trials, func(r trial) bool {
			return !slices.ContainsFunc(names, func(name string) bool { return storyOf(name) == r.name })
		})
		if tally(a.trials, notYet) > 0 {
			return wrongUsage("%s has no story %s that your lock can play", s.Label(), strings.Join(names, ", "))
		}
	}
	if err := t.playTrials(ctx, bin, a.trials); err != nil {
		return err
	}
	if names != nil {
		return t.namedReport(a)
	}
	return t.tryReport(a)
}

// tryBuild is the tests of the step with the learner's lock.
func (t *tour) tryBuild(a *attemptAt) (build, error) {
	s := a.step
	b := build{
		dir:     s.Dir,
		name:    say("the tests of %s with %s", s.Label(), myDir),
		replace: map[string]string{watchFile: watchDir + "/" + watchFile},
	}
	b.leaveOut(t.sources(s.Dir)...)
	b.leaveOut(course.NotAsked()...)
	written := lock{}
	for name, text := range a.src {
		written[name] = asMine(name, text)
	}
	stubs := t.stubs(s, a.src)
	if stubs != "" {
		written[stubsFile] = []byte(stubs)
	}
	for _, f := range s.Guarantees() {
		lack := lacks(a.src, f.Needs)
		if lack != nil && !course.IsSecond(f.Name) {
			a.missing = append(a.missing, say("%s needs %s", f.Name, strings.Join(lack, ", ")))
		}
		if lack != nil && stubs == "" {
			b.leaveOut(f.Name)
		}
	}
	for name, text := range written {
		b.replace[name] = filepath.Join(t.tmp, name)
		if err := os.WriteFile(b.replace[name], text, 0o666); err != nil {
			return b, err
		}
	}
	var err error
	a.older, err = t.hasOlderNew(s, a.src)
	if before := s.Before().Dir; a.older && t.exists(before, course.NewFile) {
		b.replace[course.NewFile] = before + "/" + course.NewFile
	}
	return b, err
}

// stubsFile stands in for methods that are not written yet, so that the other parts of a
// step can be played.
const stubsFile = "lab_stubs_test.go"

// stubs returns the source of that file, "" if there is no need for it, or if it would
// not do: a field cannot be added.
func (t *tour) stubs(s course.Step, src lock) string {
	list, _ := t.declared(s) // hasOlderNew says what is wrong with it
	stubs := ""
	for _, f := range s.Guarantees() {
		for _, name := range lacks(src, f.Needs) {
			item, ok := offered(list, name)
			if !ok || item.Field {
				return ""
			}
			text := item.Text
			if strings.HasPrefix(text, "func ") {
				text = fmt.Sprintf("%s { panic(\"%s is not written yet\") }", text, name)
			}
			stubs += text + "\n"
		}
	}
	if stubs == "" {
		return ""
	}
	return `package redislock

import (
	"context"
	"errors"
	"time"
)

var (
	_ context.Context
	_ time.Time
	_ = errors.New
)

` + stubs
}

// tryStories lists the stories of the step, and which of them need what the lock lacks.
func (t *tour) tryStories(a *attemptAt, b build) error {
	for _, f := range a.step.Guarantees() {
		stories, err := t.storiesOf(a.step.Dir, f.Name)
		if err != nil {
			return err
		}
		_, out := b.replace[f.Name]
		for _, st := range stories {
			r, needs := trial{result{story: st, verdict: notRun}, -1, nil}, f.Needs
			if parts := a.step.Parts(); parts != nil && f.From == a.step.N {
				r.part = a.step.PartOf(f.Name, st.name)
				needs = parts[r.part].Needs
			}
			if out || lacks(a.src, needs) != nil {
				r.verdict = notYet
			}
			a.trials = append(a.trials, r)
		}
	}
	// The parts are in the order in which they are to be written.
	slices.SortStableFunc(a.trials, func(a, b trial) int { return a.part - b.part })
	return nil
}

// playTrials runs the stories in one process. One that breaks it, by a panic or by a
// goroutine that is left, says so, and the others continue in the next process. One that
// hangs ends the run.
func (t *tour) playTrials(ctx context.Context, bin binary, trials []trial) error {
	defer t.progress(word("running the tests"))()
	patience := cmp.Or(os.Getenv(watchEnv), watchPatience)
	for tally(trials, hung) == 0 {
		var rest []story
		for _, r := range trials {
			if r.verdict == notRun {
				rest = append(rest, r.story)
			}
		}
		if rest == nil {
			break
		}
		// Virtual time takes none; a story that hangs is ended by the file that watches.
		log, err := bin.run(ctx, "30m", []string{watchEnv + "=" + patience}, rest...)
		if err != nil {
			return err
		}
		log.judgeTrials(trials)
		if tally(trials, notRun) == len(rest) {
			end := endingOf(log.raw, story{}, log.exit)
			return errorf("the process ended before the first story began: %s\n%s",
				strings.Join(end.says, "\n"), strings.Join(cut(lines(end.raw), short), "\n"))
		}
	}
	return nil
}

// judgeTrials judges the stories that have begun. At most one has ended the process.
func (tr transcript) judgeTrials(trials []trial) {
	running := "" // the last one
	if len(tr.tests) > 0 {
		running = storyOf(tr.tests[len(tr.tests)-1].name)
	}
	ended := tr
	ended.exit = min(1, max(0, tr.exit))
	for i, r := range trials {
		ts := tr.find(r.name)
		if ts == nil || r.verdict != notRun {
			continue
		}
		if r.name != running || (tr.exit == 0 || tr.exit == 1) && ts.status != "" {
			trials[i].result = ended.judge(r.story)
			continue
		}
		end := endingOf(tr.raw, r.story, tr.exit)
		r.result, r.end = result{r.story, crashed, strings.Join(end.says, "\n"), ended}, &end
		switch failing := ended.failing(r.name); {
		case end.kind == hangs:
			r.verdict = hung
		case end.kind == leaks && failing != nil && failing[0].asserts():
			r.verdict = failed
		case end.kind == leaks && strings.Contains(tr.raw, "\n"+noEnd):
			r.verdict = hung // it would take as long in every story
		case end.kind == leaks:
			r.verdict = leaked
		}
		trials[i] = r
	}
}

// hasOlderNew reports whether the New in src has the parameters of the step before s. It
// must have these or those of s.
func (t *tour) hasOlderNew(s course.Step, src lock) (bool, error) {
	list, err := src.declarations()
	if err != nil {
		return false, nil // the compiler explains it better
	}
	ours, err := t.declared(s)
	before, wrong := t.declared(s.Before())
	if err := cmp.Or(err, wrong); err != nil {
		return false, err
	}
	mine, now := declared(list, "New"), declared(ours, "New")
	switch {
	case mine.Name == "":
		return false, errorf("%s: no func New; %s has\n  %s", myDir, s.Label(), source.Signature(now))
	case source.Params(mine) == source.Params(now):
		return false, nil
	case source.Params(mine) == source.Params(declared(before, "New")):
		return true, nil
	}
	return false, errorf("func New of %s fits no test of %s. It is\n  %s\nand %s has\n  %s\n"+
		"Change it, or start again from the lock %s, which keeps what you have: go run ./docs/tour reset %d",
		myDir, s.Label(), source.Signature(mine), s.Label(), source.Signature(now), s.Before().Of(), s.N)
}

// declared is what the reference solution of a step declares.
func (t *tour) declared(s course.Step) ([]source.Declaration, error) {
	of, err := t.side(s.Dir, "")
	return of.list, err
}

// lacks returns which of these names a lock does not offer.
func lacks(src lock, names []string) (list []string) {
	mine, _ := src.declarations() // what cannot be read is for the compiler to explain
	for _, name := range names {
		if _, ok := offered(mine, name); !ok {
			list = append(list, name)
		}
	}
	return list
}

// offered finds a method or a field of Lock, or a variable.
func offered(list []source.Declaration, name string) (source.Item, bool) {
	for _, item := range source.API(list, "Lock") {
		if item.Name == name && !strings.HasPrefix(item.Text, "func "+name) {
			return item, true
		}
	}
	return source.Item{}, false
}

// doesNotCompile is what the compiler says, and what it cannot know.
func (t *tour) doesNotCompile(ce *compileError, s course.Step) error {
	text := compilerText(ce.out, t.root)
	more := ""
	switch {
	case strings.Contains(text, "no required module provides package"), strings.Contains(text, "is not in std"), strings.Contains(text, "cannot find module"):
		more = word("\nA lock imports the standard library, github.com/redis/go-redis/v9 and golang.org/x/sync, nothing else.")
	case strings.Contains(text, s.Dir):
		more = say("\nA test uses what your lock does not have, or has otherwise. What it must have: go run ./docs/tour try %d -rules", s.N)
	}
	return errorf("%s does not compile with the tests of %s:\n%s%s", myDir, s.Label(), text, more)
}

// compilerText is what the compiler printed, about the learner's files instead of those
// they are built from.
func compilerText(out, root string) string {
	out = strings.NewReplacer("\r\n", "\n", course.Module+"/docs/tour/sync", "sync", root+"/", "", root+`\`, "").Replace(out)
	out = strings.ReplaceAll(out, `"sync" imported as sync`, `"sync" imported`)
	out = myFiles.ReplaceAllString(packageName.ReplaceAllString(out, ""), myDir+"/")
	return strings.TrimRight(out, "\n")
}

var (
	packageName = regexp.MustCompile(`(?m)^(# |FAIL).*\n`) // it is the step's
	myFiles     = regexp.MustCompile(`\S*\b` + myDir + `[/\\]`)
)

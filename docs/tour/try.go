package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/story"
)

// errUnsolved ends a try that is not done yet; what is missing has been printed.
var errUnsolved = errors.New("not solved yet")

// watchFile is laid over the step's folder, and ends a story that hangs.
const (
	watchDir  = "docs/tour/testdata"
	watchFile = "lab_watch_test.go"
	watchEnv  = "TOUR_PATIENCE" // how long a story may make no progress
)

// throughFile is laid over it as well. With throughLock, stories then call Lock for TryLock.
const (
	throughFile = "lab_lock_test.go"
	throughLock = "TOUR_THROUGH=Lock"
)

// watchPatience is how long: enough for a machine that is busy with something else.
const watchPatience = "5s"

// screen is how many lines of a timeline a learner is shown.
const screen = 30

// A trial is what a story says of the learner's lock.
type trial struct {
	story.Result
	part int     // of its step; -1 for the stories of the steps before, or if it has none
	end  *ending // if it ended with its process
	lock bool    // it passed, and then was played through Lock
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
	if p.Step > s.N && p.Steps[p.Step].Belongs != s.N && t.hasLock(myDir) && !req.has("-back") {
		return wrongUsage("%s has your attempt at step %02d. To keep that and go back to %s:\n  go run ./docs/tour try %d -back", myDir, p.Step, s.Label(), s.N)
	}
	if mine, err := t.readLock(myDir); err == nil && mine.digest() == p.Seen {
		if dir := t.editedStep(); dir != "" {
			t.prose("", "You have changed %s, but try plays %s.\n", dir, myDir)
		}
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
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	p.Seen = src.digest()
	if err := t.writeProgress(p); err != nil {
		return err
	}
	a := attemptAt{step: s, src: src}
	b, err := t.tryBuild(&a)
	if err != nil {
		return err
	}
	counted := t.countPackages(ctx, b)
	bin, err := t.build(ctx, b)
	counted()
	if ce, ok := errors.AsType[*story.CompileError](err); ok {
		return t.doesNotCompile(ce, s)
	}
	if err != nil {
		return err
	}
	defer bin.Remove()
	if err := t.tryStories(&a, b); err != nil {
		return err
	}
	a.broken = brokenRules(src, s.N)
	if names != nil {
		a.trials = slices.DeleteFunc(a.trials, func(r trial) bool {
			return !slices.ContainsFunc(names, func(name string) bool { return story.Of(name) == r.Name })
		})
		if tally(a.trials, notYet) > 0 {
			return wrongUsage("%s has no story %s that your lock can play", s.Label(), strings.Join(names, ", "))
		}
	}
	if err := t.playTrials(ctx, bin, a.trials); err != nil {
		return err
	}
	if a.failing() == nil { // all of this holds for Lock as for TryLock
		bin.Env = []string{throughLock}
		for i, r := range a.trials {
			if r.Verdict == story.Passed {
				a.trials[i] = trial{story.Result{Story: r.Story, Verdict: story.NotRun}, r.part, nil, true}
			}
		}
		if err := t.playTrials(ctx, bin, a.trials); err != nil {
			return err
		}
	}
	if names != nil {
		return t.namedReport(a)
	}
	return t.tryReport(a)
}

// editedStep is the step whose lock was written since the last try; "" if there is none.
func (t *tour) editedStep() string {
	last, err := os.Stat(t.Path("", myProgress))
	for _, s := range course.Steps {
		for _, name := range t.lockFiles(s.Dir) {
			if now, wrong := os.Stat(t.Path(s.Dir, name)); cmp.Or(err, wrong) == nil && now.ModTime().After(last.ModTime()) {
				return s.Dir
			}
		}
	}
	return ""
}

// countPackages says how much of a first build is done, until the returned function is called: it
// takes minutes.
func (t *tour) countPackages(ctx context.Context, b story.Build) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var counting sync.WaitGroup
	if !t.live {
		return cancel
	}
	stop = func() {
		cancel()
		counting.Wait()
		fmt.Fprintf(t.err, "\r%s\r", strings.Repeat(" ", columns))
	}
	counting.Go(func() {
		for most := 0; ; {
			select {
			case <-ctx.Done():
				return
			case <-time.After(2 * time.Second):
			}
			list := exec.CommandContext(ctx, "go", "list", "-deps", "-test", "-f", "{{if .Stale}}x{{end}}", "./"+b.Dir)
			list.Dir = t.Root
			out, _ := list.Output()
			n := bytes.Count(out, []byte("x"))
			if most = max(most, n); most > 20 && n > 0 && ctx.Err() == nil {
				fmt.Fprintf(t.err, "\r%s", say("building %s: %d of %d packages", b.Name, most-n, most))
			}
		}
	})
	return stop
}

// tryBuild is the tests of the step with the learner's lock.
func (t *tour) tryBuild(a *attemptAt) (story.Build, error) {
	s := a.step
	b := story.Build{
		Dir:     s.Dir,
		Name:    say("the tests of %s with %s", s.Label(), myDir),
		Replace: map[string]string{watchFile: watchDir + "/" + watchFile},
	}
	b.LeaveOut(t.Sources(s.Dir)...)
	b.LeaveOut(course.NotAsked()...)
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
			b.LeaveOut(f.Name)
		}
	}
	for name, text := range written {
		b.Replace[name] = filepath.Join(t.Tmp, name)
		if err := os.WriteFile(b.Replace[name], text, 0o666); err != nil {
			return b, err
		}
	}
	var err error
	a.older, err = t.hasOlderNew(s, a.src)
	if before := s.Before().Dir; a.older && t.Exists(before, course.NewFile) {
		b.Replace[course.NewFile] = before + "/" + course.NewFile
	}
	return b, cmp.Or(err, t.layThrough(b))
}

// layThrough lays over a build what plays its stories through Lock.
func (t *tour) layThrough(b story.Build) error {
	text, err := os.ReadFile(t.Path("", cmp.Or(b.Replace[course.NewFile], b.Dir+"/"+course.NewFile)))
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp(t.Tmp, "new-") // several are built at once
	b.Replace[course.NewFile] = filepath.Join(dir, course.NewFile)
	b.Replace[throughFile] = watchDir + "/" + throughFile
	text = bytes.Replace(text, []byte("handle) TryLock("), []byte("handle) tryLock("), 1)
	return cmp.Or(err, os.WriteFile(b.Replace[course.NewFile], text, 0o666))
}

// stubsFile stands in for methods that are not written yet, so that the other parts of a
// step can be played.
const stubsFile = "lab_stubs_test.go"

// stubs returns the source of that file, "" if there is no need for it, or if it would
// not do: a field cannot be added.
func (t *tour) stubs(s course.Step, src lock) string {
	list, _ := t.declared(s) // hasOlderNew says what is wrong with it
	stubs := ""
	var names []string // two files may need the same
	for _, f := range s.Guarantees() {
		for _, name := range lacks(src, f.Needs) {
			item, ok := offered(list, name)
			if !ok || item.Field {
				return ""
			}
			if slices.Contains(names, name) {
				continue
			}
			names = append(names, name)
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
	return "package redislock\nimport (`context`; `errors`; `time`)\nvar (_ context.Context; _ time.Time; _ = errors.New)\n" + stubs
}

// tryStories lists the stories of the step, and which of them need what the lock lacks.
func (t *tour) tryStories(a *attemptAt, b story.Build) error {
	endless, held := a.step.N >= watchdogs && lacks(a.src, []string{"MaxHold"}) != nil, 0
	for _, f := range a.step.Guarantees() {
		stories, err := t.storiesOf(a.step.Dir, f.Name)
		if err != nil {
			return err
		}
		_, out := b.Replace[f.Name]
		for _, st := range stories {
			r, needs := trial{story.Result{Story: st, Verdict: story.NotRun}, -1, nil, false}, f.Needs
			if parts := a.step.Parts(); parts != nil && f.From == a.step.N {
				r.part = a.step.PartOf(f.Name, st.Name)
				needs = parts[r.part].Needs
			}
			if out || lacks(a.src, needs) != nil {
				r.Verdict = notYet
			} else if endless && st.Limits {
				r.Verdict = notYet
				held++
			}
			a.trials = append(a.trials, r)
		}
	}
	if held > 0 {
		a.missing = append(a.missing, say("MaxHold is missing for %s of earlier steps", count(held, "story")))
	}
	// The parts are in the order in which they are to be written.
	slices.SortStableFunc(a.trials, func(a, b trial) int { return a.part - b.part })
	return nil
}

// watchdogs is the step from which on a lock that no one unlocks stays, unless it has MaxHold.
const watchdogs = 7

// few is how many of many are named.
const few = 3

// from is the step in which the story begins.
func (r trial) from() int {
	for _, f := range course.Files() {
		if f.Name == r.File {
			return f.From
		}
	}
	return 0
}

// fails reports whether it was played, and did not pass.
func (r trial) fails() bool {
	return !slices.Contains([]story.Verdict{story.Passed, story.NotRun, notYet}, r.Verdict)
}

// belongs is the last step before one that most of its stories say the lock does not know, if
// all of the steps until then pass; 0 if there is none.
func (a attemptAt) belongs() int {
	for n := 1; n < a.step.N && a.step.Nodes == course.Steps[0].Nodes; n++ {
		failing, all := 0, 0
		for _, r := range a.trials {
			if r.from() == n {
				failing, all = failing+boolean(r.fails()), all+1
			}
		}
		if failing > 0 {
			return (n - 1) * boolean(2*failing > all && n > 2) // New of step 01 is another one
		}
	}
	return 0
}

// solvedPart says which part is solved, and which one is next.
func (a attemptAt) solvedPart() string {
	for i, p := range a.step.Parts() {
		if slices.ContainsFunc(a.trials, func(r trial) bool { return r.part == i && r.Verdict != story.Passed }) {
			if i == 0 {
				break
			}
			return say("Part %d, %s, is solved. Next is part %d, %s: %s", i, a.step.Parts()[i-1].Name, i+1, p.Name, p.Asks)
		}
	}
	return ""
}

// sameToken names two clients that stored the same token in a story that fails; "" if none did.
func (a attemptAt) sameToken() string {
	for _, r := range a.failing() {
		for _, failed := range r.Log.Failing(r.Name) {
			for _, e := range failed.Records {
				if found := notNew.FindStringSubmatch(e.Text); found != nil && found[1] != found[2] {
					return say("%s and %s", found[2], found[1])
				}
			}
		}
	}
	return ""
}

var notNew = regexp.MustCompile(`^(\w+)'s token is <(\w+)-\d+>, which is not new$`)

// patient is how many stories may hang before the others are not run: each takes seconds.
const patient = 4

// playTrials runs the stories in one process. One that breaks it, by a panic, by a goroutine
// that is left, or because it hangs, says so, and the others continue in the next process.
func (t *tour) playTrials(ctx context.Context, bin story.Binary, trials []trial) error {
	defer t.progress(word("running the tests"))()
	patience := cmp.Or(os.Getenv(watchEnv), watchPatience)
	for tally(trials, hung) < patient {
		var rest []story.Story
		for _, r := range trials {
			if r.Verdict == story.NotRun {
				rest = append(rest, r.Story)
			}
		}
		if rest == nil {
			break
		}
		// Virtual time takes none; a story that hangs is ended by the file that watches.
		log, err := bin.Run(ctx, "30m", []string{watchEnv + "=" + patience}, rest...)
		if err != nil {
			return err
		}
		judgeTrials(log, trials)
		if tally(trials, story.NotRun) == len(rest) {
			end := endingOf(log.Raw, story.Story{}, log.Exit)
			return errorf("the process ended before the first story began: %s\n%s",
				strings.Join(end.says, "\n"), strings.Join(cut(lines(end.raw), short), "\n"))
		}
	}
	return nil
}

// judgeTrials judges the stories that have begun. At most one has ended the process.
func judgeTrials(tr story.Transcript, trials []trial) {
	running := "" // the last one
	if len(tr.Tests) > 0 {
		running = story.Of(tr.Tests[len(tr.Tests)-1].Name)
	}
	ended := tr
	ended.Exit = min(1, max(0, tr.Exit))
	for i, r := range trials {
		ts := tr.Find(r.Name)
		if ts == nil || r.Verdict != story.NotRun {
			continue
		}
		if r.Name != running || (tr.Exit == 0 || tr.Exit == 1) && ts.Status != "" {
			trials[i].Result = ended.Judge(r.Story)
			continue
		}
		end := endingOf(tr.Raw, r.Story, tr.Exit)
		r.Result = story.Result{Story: r.Story, Verdict: story.Crashed, Detail: strings.Join(end.says, "\n"), Log: ended}
		r.end = &end
		switch failing := ended.Failing(r.Name); {
		case end.kind == hangs:
			r.Verdict = hung
		case end.kind == leaks && failing != nil && failing[0].Asserts():
			r.Verdict = story.Failed
		case end.kind == leaks && strings.Contains(tr.Raw, "\n"+noEnd):
			r.Verdict = hung // it would take as long in every story
		case end.kind == leaks:
			r.Verdict = leaked
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
	of, err := t.side(s.Dir, "", t.readLock)
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
func (t *tour) doesNotCompile(ce *story.CompileError, s course.Step) error {
	text := compilerText(ce.Out, t.Root)
	more := unfetched(ce.Out)
	switch {
	case more != "":
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

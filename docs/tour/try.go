package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"time"

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
	end *ending // if it ended with its process
}

// runTry plays the stories of a step on the learner's lock: all, or those with these names.
// That another attempt is there now is the last thing it says.
func (t *tour) runTry(ctx context.Context, req request) error {
	if err := t.prepare(req); err != nil {
		return err
	}
	err := t.tryOnce(ctx, req.steps[0], req.names)
	switch {
	case t.moved == "" || ctx.Err() != nil:
	case err == nil:
		t.printf("%s\n", t.moved)
	default:
		err = fmt.Errorf("%w\n%s", err, t.moved)
	}
	return err
}

// prepare puts the learner's attempt at a step in its place, the first time with the
// rules. What it refuses has moved nothing.
func (t *tour) prepare(req request) error {
	s := req.steps[0]
	for _, name := range req.names {
		if _, err := t.beginsIn(s, name); err != nil {
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
	if err := t.box(s, false); err != nil {
		return err
	}
	t.printf("\n")
	return nil
}

// tryOnce is a try of what is there now.
func (t *tour) tryOnce(ctx context.Context, s course.Step, names []string) error {
	src, err := t.readLock(myDir)
	if err != nil {
		return err
	}
	if err := checkPackage(src); err != nil {
		return err
	}
	b, older, err := t.tryBuild(s, src)
	if err != nil {
		return err
	}
	bin, err := t.build(ctx, b)
	if ce, ok := errors.AsType[*compileError](err); ok {
		return t.doesNotCompile(ce, s)
	}
	if err != nil {
		if ctx.Err() != nil && !errors.Is(context.Cause(ctx), errChanged) {
			t.printf("\nInterrupted while the tests were being built: no story was played.\n")
		}
		return err
	}
	defer bin.remove()
	list, later, err := t.tryStories(s, src, b)
	if err != nil {
		return err
	}
	a := attemptAt{step: s, src: src, older: older, missing: missingAPI(s, src), later: later}
	a.broken, _ = advice(src, s.N)
	if names != nil {
		if list, err = chosen(s, list, names); err != nil {
			return err
		}
	}
	a.trials, err = t.playTrials(ctx, bin, s, list)
	if err != nil && ctx.Err() == nil {
		return err
	}
	if ctx.Err() != nil {
		if !errors.Is(context.Cause(ctx), errChanged) { // saved again: the next run says more
			t.interrupted(a.trials)
		}
		return ctx.Err()
	}
	if names != nil {
		return t.namedReport(a)
	}
	return t.tryReport(a)
}

// An attemptAt is a run of the stories of a step on the learner's lock.
type attemptAt struct {
	step    course.Step
	src     lock
	older   bool     // it has the constructor of the step before
	missing []string // what it lacks, for people
	broken  []string // rules, as only the source shows
	later   []story  // stories that need what it lacks
	trials  []trial
}

// checkPackage says what a compiler would say in a way that no one understands: the lock
// is compiled in another folder.
func checkPackage(src lock) error {
	for _, name := range src.names() {
		f, err := parser.ParseFile(token.NewFileSet(), "", src[name], parser.PackageClauseOnly)
		if err == nil && f.Name.Name != "redislock" { // the rest is for the compiler to explain
			return errorf("%s/%s begins with \"package %s\": write \"package redislock\", because it takes the place of a file of that package", myDir, name, f.Name.Name)
		}
	}
	return nil
}

// tryBuild is the tests of step s with the learner's lock. older says that it still has
// the constructor of the step before.
func (t *tour) tryBuild(s course.Step, src lock) (b build, older bool, err error) {
	b = build{
		dir:     s.Dir,
		name:    say("the tests of %s with %s", s.Label(), myDir),
		replace: map[string]string{watchFile: watchDir + "/" + watchFile},
	}
	b.leaveOut(t.sources(s.Dir)...)
	b.leaveOut(course.BugFile, course.DemoFile, course.ExampleFile)
	for name, text := range src {
		b.replace[name] = myDir + "/" + name
		if played := playable(text); !bytes.Equal(played, text) {
			b.replace[name] = filepath.Join(t.tmp, name)
			if err := os.WriteFile(b.replace[name], played, 0o666); err != nil {
				return build{}, false, err
			}
		}
	}
	stubs, err := t.stubs(s, src)
	if err != nil {
		return build{}, false, err
	}
	for _, f := range s.Guarantees() {
		if len(lacks(src, f)) > 0 && stubs == "" {
			b.leaveOut(f.Name)
		}
	}
	if stubs != "" {
		file := filepath.Join(t.tmp, stubsFile)
		if err := os.WriteFile(file, []byte(stubs), 0o666); err != nil {
			return build{}, false, err
		}
		b.replace[stubsFile] = file
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

// stubsFile stands in for methods that are not written yet, so that the other parts of a
// step can be played.
const stubsFile = "lab_stubs_test.go"

// stubs returns the source of that file, "" if there is no need for it, or if it would
// not do: a field cannot be added.
func (t *tour) stubs(s course.Step, src lock) (string, error) {
	if s.Parts() == nil {
		return "", nil
	}
	list, err := t.declared(s)
	if err != nil {
		return "", err
	}
	var b strings.Builder
	for _, f := range s.Guarantees() {
		for _, name := range lacks(src, f) {
			item, ok := offered(list, name)
			if !ok || item.Field {
				return "", nil
			}
			text := item.Text
			if strings.HasPrefix(text, "func ") {
				text = fmt.Sprintf("%s { panic(\"%s is not written yet\") }", text, name)
			}
			b.WriteString(text + "\n")
		}
	}
	if b.Len() == 0 {
		return "", nil
	}
	head := "package redislock\n\nimport (\n\t\"context\"\n\t\"errors\"\n\t\"time\"\n)\n\nvar (\n\t_ context.Context\n\t_ time.Time\n\t_ = errors.New\n)\n\n"
	return head + b.String(), nil
}

// tryStories lists the stories that can be played on the learner's lock, and those that
// need what it lacks.
func (t *tour) tryStories(s course.Step, src lock, b build) (list, later []story, err error) {
	for _, f := range s.Guarantees() {
		stories, err := t.storiesOf(s.Dir, f.Name)
		if err == nil && stories == nil {
			err = errorf("no test ran: %s/%s has no story, no func Test...(t *testing.T) at its top level", s.Dir, f.Name)
		}
		if err != nil {
			return nil, nil, err
		}
		_, out := b.replace[f.Name]
		for _, st := range stories {
			needs := f.Needs
			if parts := s.Parts(); parts != nil && f.From == s.N {
				needs = parts[s.PartOf(f.Name, st.name)].Needs
			}
			if out || len(lacks(src, course.File{Needs: needs})) > 0 {
				later = append(later, st)
			} else {
				list = append(list, st)
			}
		}
	}
	// By parts, as they are to be written.
	slices.SortStableFunc(list, func(a, b story) int { return order(s, a) - order(s, b) })
	return list, later, nil
}

// ofParts is where parts begin in the order of stories.
const ofParts = 100

// order is the place of a story in a step: its file, but the parts of the step's own.
func order(s course.Step, st story) int {
	for i, f := range s.Guarantees() {
		if f.Name == st.file && (f.From < s.N || s.Parts() == nil) {
			return i
		}
	}
	return ofParts + s.PartOf(st.file, st.name)
}

// chosen returns the stories with these names.
func chosen(s course.Step, list []story, names []string) (stories []story, err error) {
	for _, name := range names {
		i := slices.IndexFunc(list, func(st story) bool { return st.name == storyOf(name) })
		if i < 0 {
			var all []string
			for _, st := range list {
				all = append(all, st.name)
			}
			return nil, wrongUsage("%s has no story %s that your lock can play%s", s.Label(), name, didYouMean(name, all))
		}
		stories = append(stories, list[i])
	}
	return stories, nil
}

// playTrials runs the stories in one process. One that breaks it, by a panic or by a
// goroutine that is left, says so, and the others continue in the next process. One that
// hangs ends the run.
func (t *tour) playTrials(ctx context.Context, bin binary, s course.Step, list []story) ([]trial, error) {
	patience := os.Getenv(watchEnv)
	if _, err := time.ParseDuration(patience); err != nil {
		patience = watchPatience
	}
	played := map[string]trial{}
	var seen passing
	defer t.progressing(func() string { return say("running the tests: %d of %d", seen.n.Load(), len(list)) })()
	rest := list
	var interrupt error
	for len(rest) > 0 && interrupt == nil {
		// Virtual time takes none; a story that hangs is ended by the file that watches.
		log, err := bin.runSeen(ctx, "30m", []string{watchEnv + "=" + patience}, &seen, rest...)
		if err != nil && (ctx.Err() == nil || log.tests == nil) {
			if ctx.Err() != nil {
				break
			}
			return nil, err
		}
		if log.exit < 0 { // killed: if it was the user, we get the signal as well
			select {
			case <-ctx.Done():
			case <-time.After(200 * time.Millisecond):
			}
		}
		interrupt = ctx.Err()
		last := log.judgeTrials(rest, s.Dir, played, interrupt != nil)
		if last == nil && len(played) == 0 && interrupt == nil {
			return nil, t.noStoryBegan(log, s)
		}
		if last != nil && last.verdict == hung {
			break
		}
		before := len(rest)
		rest = slices.DeleteFunc(slices.Clone(rest), func(st story) bool { _, ok := played[st.name]; return ok })
		if len(rest) == before {
			break // nothing has begun, and it will not the next time
		}
	}
	var trials []trial
	for _, st := range list {
		r, ok := played[st.name]
		if !ok {
			r = trial{result: result{story: st, verdict: notRun}}
		}
		trials = append(trials, r)
	}
	return trials, interrupt
}

// passing counts the stories whose end it sees.
type passing struct {
	n    atomic.Int64
	rest []byte // of a line
}

var storyEnds = regexp.MustCompile(`^\x16?--- (PASS|FAIL|SKIP): \w+ `)

func (p *passing) Write(text []byte) (int, error) {
	p.rest = append(p.rest, text...)
	for {
		line, rest, ok := bytes.Cut(p.rest, []byte("\n"))
		if !ok {
			return len(text), nil
		}
		if p.rest = rest; storyEnds.Match(line) {
			p.n.Add(1)
		}
	}
}

// judgeTrials judges the stories that have begun. It returns the one that has ended the
// process, if one has.
func (tr transcript) judgeTrials(list []story, dir string, played map[string]trial, interrupted bool) *trial {
	var running *test
	for _, ts := range tr.tests {
		if ts.name == storyOf(ts.name) {
			running = ts
		}
	}
	ended := tr
	ended.exit = min(1, max(0, tr.exit))
	var last *trial
	for _, st := range list {
		ts := tr.find(st.name)
		if ts == nil {
			continue
		}
		broke := ts == running && (tr.exit != 0 && tr.exit != 1 || ts.status == "")
		if !broke {
			played[st.name] = trial{result: ended.judge(st)}
			continue
		}
		if interrupted {
			played[st.name] = trial{result: result{story: st, verdict: notRun, why: word("was being played")}}
			continue
		}
		end := endingOf(tr.raw, dir, st, tr.exit)
		r := trial{result: result{story: st, verdict: crashed, why: strings.Join(end.says, "\n"), log: ended}, end: &end}
		switch {
		case end.kind == hangs:
			r.verdict = hung
		case end.kind == leaks && ended.failing(st.name) != nil && ended.failing(st.name)[0].asserts():
			r.verdict = failed
		case end.kind == leaks && strings.Contains(tr.raw, "\n"+noProgress):
			r.verdict = hung // it would take as long in every story
		case end.kind == leaks:
			r.verdict = leaked
		}
		played[st.name], last = r, &r
	}
	return last
}

func (t *tour) noStoryBegan(log transcript, s course.Step) error {
	end := endingOf(log.raw, s.Dir, story{}, log.exit)
	return errorf("the process ended before the first story began: %s\n%s", strings.Join(end.says, "\n"), end.raw)
}

// constructorOf returns the step, s or the one before, whose New has the parameters of
// the New in src.
func (t *tour) constructorOf(s course.Step, src lock) (course.Step, error) {
	list, err := src.declarations()
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
		return course.Step{}, errorf("%s: no func New; %s has\n  %s", myDir, s.Label(), source.Signature(now))
	case source.Params(mine) == source.Params(now):
		return s, nil
	case source.Params(mine) == source.Params(then):
		return s.Before(), nil
	}
	return course.Step{}, errorf("func New of %s fits no test of %s. It is\n  %s\nand %s has\n  %s\n"+
		"Change it, or start again from the lock %s, which keeps what you have: go run ./docs/tour reset %d",
		myDir, s.Label(), source.Signature(mine), s.Label(), source.Signature(now), s.Before().Of(), s.N)
}

func (t *tour) newOf(s course.Step) (source.Declaration, error) {
	list, err := t.declared(s)
	return declared(list, "New"), err
}

// declared is what the reference solution of a step declares.
func (t *tour) declared(s course.Step) ([]source.Declaration, error) {
	list, err := source.ReadDir(t.path(s.Dir, ""))
	if err != nil {
		return nil, errorf("cannot read %s: %w", s.Subject(), err)
	}
	return list, nil
}

// lacks returns what the tests of f need and a lock has not.
func lacks(src lock, f course.File) []string {
	list, _ := src.declarations() // what cannot be read is for the compiler to explain
	return slices.DeleteFunc(slices.Clone(f.Needs), func(name string) bool { _, ok := offered(list, name); return ok })
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

// missingAPI says, per file of tests that step s has and the learner's lock is not ready
// for, what it lacks.
func missingAPI(s course.Step, src lock) []string {
	var list []string
	for _, f := range s.Guarantees() {
		if lacks := lacks(src, f); len(lacks) > 0 {
			list = append(list, say("%s needs %s", f.Name, strings.Join(lacks, ", ")))
		}
	}
	return list
}

// doesNotCompile is what the compiler says, and what it cannot know.
func (t *tour) doesNotCompile(ce *compileError, s course.Step) error {
	text := compilerText(ce.out, t.root, s)
	more := ""
	switch {
	case strings.Contains(text, "no required module provides package"), strings.Contains(text, "is not in std"), strings.Contains(text, "cannot find module"):
		more = word("\nA lock imports the standard library, github.com/redis/go-redis/v9 and golang.org/x/sync, nothing else.")
	case strings.Contains(text, s.Dir+"/"):
		more = say("\nA test uses what your lock does not have, or has otherwise. What it must have: go run ./docs/tour try %d -rules", s.N)
	}
	return errorf("%s does not compile with the tests of %s:\n%s%s", myDir, s.Label(), text, more)
}

// compilerText is what the compiler printed, about the learner's files instead of those
// they replace, and of those they are built from if package sync gives way in them.
func compilerText(out string, root string, s course.Step) string {
	out = strings.NewReplacer("\r\n", "\n", root+"/", "", root+`\`, "", course.Module+"/docs/tour/sync", "sync").Replace(out)
	out = packageName.ReplaceAllString(strings.ReplaceAll(out, `"sync" imported as sync`, `"sync" imported`), "")
	file := regexp.MustCompile(`\S*\b(redislock-tour-\w+|` + s.Dir + `|` + myDir + `)[/\\]([^\s/\\:]+\.go)`)
	return strings.TrimRight(file.ReplaceAllStringFunc(out, func(path string) string {
		part := file.FindStringSubmatch(path)
		switch dir, name := part[1], part[2]; {
		case !strings.HasSuffix(name, "_test.go"):
			return myDir + "/" + name
		case dir == s.Dir:
			return dir + "/" + name
		}
		return path
	}), "\n")
}

var packageName = regexp.MustCompile(`(?m)^(# |FAIL).*\n`) // it is the step's

func capital(text string) string {
	text = word(text)
	if text[0] >= 'a' && text[0] <= 'z' {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

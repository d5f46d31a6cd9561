package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

// Of a learner's lock a try knows more than a run says.
const (
	leaked story.Verdict = story.NotRun + 1 + iota // nothing failed, but a goroutine is left
	hung                                           // it did not end
	notYet                                         // it needs what the lock lacks
)

// tryReport says what holds and what is missing next, and remembers it.
func (t *tour) tryReport(a attemptAt) error {
	s := a.step
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	now, before := a.standing(), p.Steps[s.N]
	now.Hints, now.Start = before.Hints, before.Start
	if now.Start == "" {
		now.Belongs = a.belongs()
	}
	p.Step, p.Steps[s.N] = s.N, now
	if err := t.writeProgress(p); err != nil {
		return err
	}
	if now.Solved {
		t.solved(a)
		return t.putLock(solvedDir(s.N), a.src)
	}

	t.heading("%s against the tests of %s", myDir, s.Label())
	t.groups(a)
	t.prose("  ", "\nStories passed: %d of %d.\n", now.Passed, now.Of)
	if !slices.ContainsFunc(a.trials, func(r trial) bool { return r.lock }) {
		t.prose("  ", "Not played yet: Lock for TryLock.\n")
	}
	if done := a.solvedPart(); done != "" {
		t.prose("  ", "%s\n", done)
	}
	fails := a.failing()
	if len(fails) > 1 && a.belongs() == 0 {
		t.printf("  Failing:\n\n")
		for _, r := range fails[:min(len(fails), 4)] {
			passed := ""
			if slices.Contains(before.Passing, r.Name) {
				passed = say("  <- passed before")
			}
			t.printf("  %s %s%s%s\n", t.trialTag(r), r.Name, r.through(), passed)
		}
		if len(fails) > 4 {
			t.printf("  and %d more\n", len(fails)-4)
		}
		t.printf("\n")
	}
	if n := a.belongs(); n > 0 {
		t.prose("  ", "Your lock is one of step %02d: go run ./docs/tour try %[1]d\n", n)
	}
	if n := tally(a.trials, story.NotRun); n > 0 {
		t.printf("  Not run, because %s hang: %s.\n\n", count(patient, "story"), count(n, "story"))
	}
	if fails != nil {
		t.printf("  In full:\n\n")
		t.trial(a, fails[0])
	}
	t.tryNotes(a, fails != nil)
	t.whatNow(s, fails != nil)
	return errUnsolved
}

// failing are the stories that do not pass. The first one is to be looked at first: of the first
// part that fails, or of the steps before, one in which people lose most. Formalities are the last.
func (a attemptAt) failing() (list []trial) {
	first := len(a.step.Parts())
	for _, r := range a.trials {
		if r.fails() {
			list = append(list, r)
			if r.part >= 0 {
				first = min(first, r.part)
			}
		}
	}
	rank := func(r trial) []int { // that a lock excludes is every step's own
		harm := r.harm()
		return []int{boolean(harm == trace.Formality), max(r.part, first), -harm, boolean(r.from() > 1 && r.from() < a.step.N)}
	}
	slices.SortStableFunc(list, func(b, c trial) int { return slices.Compare(rank(b), rank(c)) })
	return list
}

// harm is that of the sentence with which it fails. What hangs, or leaves a goroutine, says less.
func (r trial) harm() int {
	failing := r.Log.Failing(r.Name)
	switch {
	case r.Verdict == leaked, r.Verdict == hung:
		return -1
	case r.Verdict != story.Failed || failing == nil:
		return trace.Breaks
	}
	return trace.Harm(failing[0].Records, strings.Join(failing[0].Message(), " "))
}

// tally is how many trials have one of these verdicts.
func tally(trials []trial, list ...story.Verdict) (n int) {
	for _, r := range trials {
		n += boolean(slices.Contains(list, r.Verdict))
	}
	return n
}

// standing is what is remembered of a run.
func (a attemptAt) standing() standing {
	st := standing{Of: len(a.trials), Passed: tally(a.trials, story.Passed)}
	for _, r := range a.trials {
		if r.Verdict == story.Passed {
			st.Passing = append(st.Passing, r.Name)
		}
	}
	for _, r := range a.failing() {
		f := failing{Story: r.Name}
		if r.end != nil && r.Verdict != story.Failed {
			f.How = r.end.kind
		} else if list := r.Log.Failing(r.Name); list != nil {
			f.Says, f.Shows = strings.Join(told(list[0]), "\n"), trace.Shows(list[0].Records)
		}
		st.Failing = append(st.Failing, f)
	}
	st.Solved = st.Passed == st.Of && !a.older && a.missing == nil && a.broken == nil
	return st
}

// groups shows what holds, file by file, and the parts of the step's own.
func (t *tour) groups(a attemptAt) {
	of := func(is func(r trial) bool) []trial {
		return slices.DeleteFunc(slices.Clone(a.trials), func(r trial) bool { return !is(r) })
	}
	group := func(name string, list []trial) {
		held, later, now, more := tally(list, story.Passed), tally(list, notYet), tally(list, story.NotRun), ""
		state := t.paint(red, "missing")
		switch {
		case held == len(list):
			state = t.paint(green, "holds  ")
		case held > 0 && held+later == len(list):
			state = t.paint(green, "so far ")
		case held+later+now == len(list):
			state = t.paint(dim, "not run")
		}
		if now > 0 {
			more = say(" (%d not run)", now)
		}
		if later > 0 {
			more += say(" (%d not yet)", later)
		}
		t.printf("  %s  %s %d of %d%s\n", state, pad(27, name), held, len(list), more)
	}
	old := of(func(r trial) bool { return r.from() < a.step.N })
	holds := len(old) > 0 && !slices.ContainsFunc(old, trial.fails)
	if holds {
		group(word("all of the steps before"), old)
	}
	for _, f := range a.step.Guarantees() {
		if !holds || f.From == a.step.N {
			group(f.Name, of(func(r trial) bool { return r.File == f.Name }))
		}
	}
	if a.step.Parts() != nil {
		t.printf("\n  Step %02d has parts:\n", a.step.N)
	}
	for i, p := range a.step.Parts() {
		list := of(func(r trial) bool { return r.part == i })
		held, state := tally(list, story.Passed), t.paint(green, "solved ")
		switch {
		case len(list) == 0:
			continue
		case lacks(a.src, p.Needs) != nil:
			state = t.paint(dim, "later  ")
		case held < len(list):
			state = t.paint(red, "missing")
		}
		text := say("%d. %s %d of %d", i+1, pad(10, word(p.Name)), held, len(list))
		for _, line := range wrap(columns-37, word(p.Asks)) {
			t.printf("  %s  %s %s\n", state, pad(24, text), line)
			state, text = pad(7, ""), ""
		}
	}
}

func (t *tour) trialTag(r trial) string {
	if r.end != nil && r.Verdict != story.Failed {
		return t.paint(red, map[string]string{leaks: "LEAK ", hangs: "HANGS", breaks: "ERROR"}[r.end.kind])
	}
	return t.tag(r.Verdict)
}

// trial shows a story in full.
func (t *tour) trial(a attemptAt, r trial) {
	shown, name := r.Shown(""), r.Name
	failing := r.Log.Failing(r.Name)
	switch {
	case len(failing) > 0:
		shown, name = failing[0], failing[0].Name
	case r.end != nil:
		shown = r.Log.Tests[len(r.Log.Tests)-1] // the variant in which it ended
		name = shown.Name
	}
	t.printf("  %s %s%s\n", t.trialTag(r), name, r.through())
	switch {
	case shown != nil && shown.Timeline != "":
		t.text(shown.Timeline, screen)
	case r.Verdict == story.Failed:
		t.printf("%s(no timeline: too many do something at once)\n\n", margin)
	}
	switch {
	case r.Verdict == story.Failed:
		t.message(red, told(shown))
		t.alsoFailing(failing)
	case r.end == nil && whyNot(r.Result) != "":
		t.message(red, strings.Split(whyNot(r.Result), "\n"))
	}
	if r.end != nil {
		t.end(a, *r.end)
	}
	if shown != nil {
		if said := printed(shown.Output); said != nil {
			t.printf("%sYour code has printed:\n", margin)
			t.printf("%s", indent(margin+"  ", cut(said, 20)))
		}
	}
	t.printf("\n")
}

// through is behind the name of a story that has passed with TryLock, but not with Lock.
func (r trial) through() string {
	if r.lock && r.Verdict != story.Passed {
		return say(", with Lock for TryLock")
	}
	return ""
}

// end says how the process ended, and shows the lines it speaks of.
func (t *tour) end(a attemptAt, e ending) {
	for _, says := range e.says {
		t.message(red, []string{capital(says)})
	}
	for _, at := range e.lines {
		at = strings.TrimPrefix(at, myDir+"/")
		file, line, _ := strings.Cut(at, ":")
		n, _ := strconv.Atoi(line)
		if src := lines(string(a.src[file])); n <= len(src) {
			t.printf("%s    %s  %s\n", margin, at, strings.TrimSpace(src[n-1]))
		}
	}
	if e.raw != "" {
		t.printf("\n%s", indent(margin, cut(lines(e.raw), short)))
	}
}

// told is what a learner is shown of a failed assertion.
func told(t *story.Test) []string { return slices.Concat(t.Message(), outcome(t), returned(t)) }

// returned is the error that a call has returned, if it says more than which one it is.
func returned(t *story.Test) []string {
	for _, a := range trace.Testify(t.Output) {
		said := slices.ContainsFunc(t.Verdicts, func(v trace.Record) bool { return v.Wanted != "" && v.Got == a.Got })
		if a.OfError && a.Got != "ok" && !said && !strings.HasSuffix(a.Got, ": lock not acquired") && !strings.HasSuffix(a.Got, ": lock not held") {
			return []string{say("the call returned: %s", a.Got)}
		}
	}
	return nil
}

// printed is what the learner's code has printed: what package testing and testify print
// is indented, or marked.
func printed(output string) (list []string) {
	for _, line := range lines(output) {
		switch {
		case line == storyBegins: // before that, the test harness has tried the lock
			list = nil
		case fromHereGo.MatchString(line):
			return list
		case !ofTesting.MatchString(line):
			list = append(list, line)
		}
	}
	return list
}

var (
	fromHereGo = regexp.MustCompile(`^(panic|fatal\serror|tour): `)
	ofTesting  = regexp.MustCompile(`^(    |\t|=== |--- |$)`)
)

// storyBegins is what the file that watches says when the first story of a process begins.
const storyBegins = "tour: the story begins"

// tryNotes says what no story can say, because it is left out until the API is there.
func (t *tour) tryNotes(a attemptAt, fails bool) {
	if a.older {
		list, _ := t.declared(a.step)
		t.printf("New is still that of the step before; %s has\n  %s\n\n", a.step.Label(), source.Signature(declared(list, "New")))
	}
	if both := a.sameToken(); both != "" {
		t.prose("", "%s have the same token. One process plays all clients here: the owner is a handle, not a process or a goroutine.\n", both)
	}
	if a.missing != nil {
		t.printf("%s is not complete: some of its tests cannot run yet.\n%s\n",
			capital(a.step.Label()), indent("  ", a.missing))
	}
	if a.broken != nil && !fails {
		t.printf("A rule is broken. No story can see it, but your source shows it:\n\n")
		for _, text := range a.broken {
			t.item("- ", text)
		}
		t.printf("\n")
	}
}

// whatNow says what to do next.
func (t *tour) whatNow(s course.Step, fails bool) {
	if !t.watching {
		t.printf("Change the lock in %s and run it again:\n  go run ./docs/tour try %[2]d\n  go run ./docs/tour try %[2]d -watch      the same at each save\n", myDir, s.N)
	}
	if fails {
		t.printf("  go run ./docs/tour hint %d            a hint for the story above\n", s.N)
	}
	if t.hasLock(solvedDir(s.N)) {
		t.printf("The lock that solved %s is in %s.\n", s.Label(), solvedDir(s.N))
	}
}

// solved says so, and what to do next.
func (t *tour) solved(a attemptAt) {
	s := a.step
	t.strong("%s is solved: all %d stories pass.", capital(s.Label()), len(a.trials))
	t.prose("", "%s.", capital(s.Guarantee))
	t.printf("Your lock next to the reference solution: go run ./docs/tour try %d -compare\n", s.N)
	if s.N == course.Last.N {
		t.printf("It was the last one.\n")
		return
	}
	t.prose("", "Next: go run ./docs/tour try %d (%s)", s.N+1, course.Steps[s.N].Problem)
}

// namedReport shows some stories in full.
func (t *tour) namedReport(a attemptAt) error {
	t.heading("%s against %s of %s", myDir, count(len(a.trials), "story"), a.step.Label())
	for _, r := range a.trials {
		t.trial(a, r)
	}
	if tally(a.trials, story.Passed) < len(a.trials) {
		return errUnsolved
	}
	t.printf("%d of %d passed. All of the step: go run ./docs/tour try %d\n", len(a.trials), len(a.trials), a.step.N)
	return nil
}

// sheet prints a line for the sheet of a group. Commas survive terminals and chats, tabs do not.
func (t *tour) sheet(name string) error {
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	var solved []string
	for _, s := range course.Steps {
		if t.hasLock(solvedDir(s.N)) {
			solved = append(solved, strconv.Itoa(s.N))
		}
	}
	st, hints := p.Steps[p.Step], 0
	for _, n := range st.Hints {
		hints += n
	}
	fmt.Fprintf(t.out, "%s,%s,%d,%d,%d,%d\n", strings.ReplaceAll(name, ",", ""), strings.Join(solved, " "), p.Step, st.Passed, st.Of, hints)
	return nil
}

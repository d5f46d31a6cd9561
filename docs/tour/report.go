package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/trace"
)

// tryReport says what holds and what is missing next, and remembers it.
func (t *tour) tryReport(a attemptAt) error {
	s := a.step
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	before := *p.at(s.N)
	now := a.standing()
	now.Hints = before.Hints
	p.Step, p.Steps[s.N] = s.N, &now
	if err := t.writeProgress(p); err != nil {
		return err
	}
	if now.Solved {
		t.solved(a)
		return t.putLock(solvedDir(s.N), a.src)
	}

	t.heading("%s against the tests of %s", myDir, s.Label())
	t.groups(a)
	left := ""
	if n := a.count(leaked); n > 0 {
		left = say(", but %s left a goroutine behind", count(n, "story"))
	}
	t.prose("  ", "\nStories passed: %d of %d%s.%s\n", now.Passed, now.Of, left, since(before, now))
	t.failingList(a, before)
	next := a.next()
	if next >= 0 {
		t.printf("  In full:\n\n")
		t.trial(a, a.trials[next])
	}
	t.tryNotes(a)
	t.whatNow(s, next >= 0)
	return errUnsolved
}

// next is the index of the story to look at first, -1 if all pass. One that hangs has
// ended the run.
func (a attemptAt) next() int {
	if i := slices.IndexFunc(a.trials, func(r trial) bool { return r.verdict == hung }); i >= 0 {
		return i
	}
	return slices.IndexFunc(a.trials, trial.fails)
}

func (r trial) fails() bool { return r.verdict != passed && r.verdict != notRun && r.verdict != notYet }

// count is how many trials have one of these verdicts.
func (a attemptAt) count(list ...verdict) (n int) {
	for _, r := range a.trials {
		n += boolean(slices.Contains(list, r.verdict))
	}
	return n
}

// standing is what is remembered of a run.
func (a attemptAt) standing() standing {
	st := standing{Of: len(a.trials), Passed: a.count(passed, leaked)}
	next := a.next()
	for i, r := range a.trials {
		switch {
		case i == next:
			st.Failing = slices.Insert(st.Failing, 0, r.failing())
		case r.fails():
			st.Failing = append(st.Failing, r.failing())
		}
	}
	st.Solved = st.Passed == st.Of && st.Failing == nil && !a.older && a.missing == nil && a.broken == nil
	for i, part := range a.step.Parts() {
		if ok, of := a.part(i); of > 0 {
			st.Parts = append(st.Parts, say("%s %d of %d", part.Name, ok, of))
		}
	}
	return st
}

func (r trial) failing() failing {
	f := failing{File: r.file, Story: r.name}
	if r.end != nil && r.verdict != failed {
		f.How = r.end.kind
	} else if list := r.log.failing(r.name); list != nil {
		f.Says = strings.Join(slices.Concat(list[0].message(), list[0].outcome(), list[0].returned()), "\n")
	}
	return f
}

// part is how many stories of a part of the step pass, and how many it has.
func (a attemptAt) part(i int) (ok, of int) {
	for _, r := range a.trials {
		of += boolean(r.part == i)
		ok += boolean(r.part == i && r.verdict == passed)
	}
	return ok, of
}

// groups shows what holds, file by file, and the parts of the step's own.
func (t *tour) groups(a attemptAt) {
	for _, f := range a.step.Guarantees() {
		of := slices.DeleteFunc(slices.Clone(a.trials), func(r trial) bool { return r.file != f.Name })
		t.group(f.Name, attemptAt{trials: of})
	}
	if a.step.Parts() != nil {
		t.printf("\n  Step %02d has parts:\n", a.step.N)
	}
	for i, p := range a.step.Parts() {
		ok, of := a.part(i)
		if of == 0 {
			continue
		}
		needs := lacks(a.src, p.Needs)
		state := t.paint(green, "solved ")
		switch {
		case needs != nil:
			state = t.paint(dim, "later  ")
		case ok < of:
			state = t.paint(red, "missing")
		}
		text := say("%d. %s %d of %d", i+1, pad(10, word(p.Name)), ok, of)
		for _, line := range wrap(columns-37, word(p.Asks)) {
			t.printf("  %s  %s %s\n", state, pad(24, text), line)
			state, text = pad(7, ""), ""
		}
		if needs != nil {
			t.printf("%35s needs %s\n", "", strings.Join(needs, ", "))
		}
	}
}

// group shows what holds of the stories of a file.
func (t *tour) group(name string, of attemptAt) {
	held, waiting := of.count(passed, leaked), of.count(notRun, notYet)
	color, state := red, "missing"
	switch {
	case of.count(hung) > 0:
		state = "hangs  "
	case of.count(crashed) > 0:
		state = "breaks "
	case held+waiting < len(of.trials):
	case of.count(leaked) > 0:
		state = "leaks  "
	case waiting == 0:
		color, state = green, "holds  "
	case held > 0:
		color, state = dim, "partly "
	default:
		color, state = dim, "not run"
	}
	more := ""
	if n := of.count(notRun); n > 0 {
		more = say(" (%d not run)", n)
	}
	if n := of.count(notYet); n > 0 {
		more += say(" (%d not yet)", n)
	}
	t.printf("  %s  %-27s %d of %d%s\n", t.paint(color, state), name, held, len(of.trials), more)
}

// since compares with the run before.
func since(before, now standing) string {
	switch diff := now.Passed - before.Passed; {
	case before.Of == 0 || diff == 0:
		return ""
	case diff > 0:
		return say(" %d more than in the last run.", diff)
	default:
		return say(" %d fewer than in the last run.", -diff)
	}
}

// failingList names what fails, a line each. Stories that end in the same way, by the same
// panic or goroutine, share one.
func (t *tour) failingList(a attemptAt, before standing) {
	alike, fail := map[string]int{}, 0
	for _, r := range a.trials {
		fail += boolean(r.fails())
		alike[r.why] += boolean(r.end != nil)
	}
	played := before.Of > 0 && before.Passed+len(before.Failing) >= before.Of
	part := -1
	if fail > 1 {
		t.printf("  Failing:\n\n")
		for _, r := range a.trials {
			same := alike[r.why]
			if !r.fails() || r.end != nil && same == 0 {
				continue
			}
			if part != r.part {
				part = r.part
				t.printf("  Part %d, %s:\n", part+1, a.step.Parts()[part].Name)
			}
			note := ""
			if played && before.failing(r.name) == nil {
				note = behind(r.name, "  (passed before)")
			}
			t.printf("  %s %s%s\n", t.trialTag(r), r.name, note)
			if r.end != nil && same > 1 {
				t.printf("        ... and %s in the same way\n", count(same-1, "more story"))
			}
			if r.end != nil {
				alike[r.why] = 0
			}
		}
		t.printf("\n")
	}
	if n := a.count(notRun); n > 0 {
		t.printf("  Not run, because the one that hangs ended the run: %s.\n\n", count(n, "story"))
	}
}

func (t *tour) trialTag(r trial) string {
	switch {
	case r.verdict == leaked, r.verdict == hung && r.end.kind == leaks:
		return t.paint(red, "LEAK ")
	case r.verdict == hung:
		return t.paint(red, "HANGS")
	case r.verdict == notRun:
		return "     "
	}
	return t.tag(r.verdict)
}

// trial shows a story in full.
func (t *tour) trial(a attemptAt, r trial) {
	shown, name := r.shown(""), r.name
	failing := r.log.failing(r.name)
	switch {
	case len(failing) > 0:
		shown, name = failing[0], failing[0].name
	case r.end != nil:
		shown = r.log.tests[len(r.log.tests)-1] // the variant in which it ended
		name = shown.name
	}
	t.printf("  %s %s\n", t.trialTag(r), name)
	switch {
	case shown != nil && shown.timeline != "":
		t.text(shown.timeline, screen)
	case r.verdict == failed:
		t.printf("%s(no timeline: too many do something at once)\n\n", margin)
	}
	switch {
	case r.verdict == failed:
		t.message(red, slices.Concat(shown.message(), shown.outcome()))
		if call := shown.returned(); call != nil {
			t.message("", call)
		}
		t.alsoFailing(failing)
	case r.end == nil && r.why != "":
		t.message(red, strings.Split(r.why, "\n"))
	}
	if r.end != nil {
		t.end(a, *r.end)
	}
	if shown != nil {
		if said := printed(shown.output); said != nil {
			t.printf("%sYour code has printed:\n", margin)
			t.printf("%s", indent(margin+"  ", cut(said, 20)))
		}
	}
	t.printf("\n")
}

// end says how the process ended, and shows the lines it speaks of.
func (t *tour) end(a attemptAt, e ending) {
	for i, says := range e.says {
		color := ""
		if i == 0 || e.kind == leaks {
			color = red
		}
		t.message(color, []string{capital(says)})
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

// returned is the error that a call has returned, if it says more than which one it is.
func (t *test) returned() []string {
	found := shownError.FindStringSubmatch(strings.Join(fields(t.output)["Error:"], "\n"))
	if found == nil {
		return nil
	}
	got := strings.ReplaceAll(strings.Join(found[1:], ""), `\"`, `"`)
	if strings.HasSuffix(got, ": lock not acquired") || strings.HasSuffix(got, ": lock not held") ||
		slices.ContainsFunc(t.verdicts, func(v trace.Record) bool { return v.Wanted != "" && v.Got == got }) {
		return nil
	}
	return []string{say("the call returned: %s", got)}
}

// shownError has the ways in which testify shows an error.
var shownError = regexp.MustCompile(
	`(?s)^Received unexpected error:\s+(.*)|^Error "(.*)" does not contain |\bin chain: "((?:[^"\\]|\\.)*)"`)

// printed is what the learner's code has printed: what package testing and testify print
// is indented, or marked.
func printed(output string) []string {
	var list []string
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
func (t *tour) tryNotes(a attemptAt) {
	if a.older {
		if now, err := t.newOf(a.step); err == nil {
			t.printf("New is still that of the step before; %s has\n  %s\n\n", a.step.Label(), source.Signature(now))
		}
	}
	if a.missing != nil {
		t.printf("%s is not complete: some of its tests cannot run yet.\n%sWhat it is to have: go run ./docs/tour try %d -rules\n\n",
			capital(a.step.Label()), indent("  ", a.missing), a.step.N)
	}
	if a.next() < 0 {
		t.items("A rule is broken. No story can see it, but your source shows it:\n\n", a.broken)
	}
}

// items prints a list, if there is one.
func (t *tour) items(heading string, list []string) {
	if list == nil {
		return
	}
	t.printf("%s", heading)
	for _, text := range list {
		t.item("- ", text)
	}
	t.printf("\n")
}

// whatNow says what to do next.
func (t *tour) whatNow(s course.Step, fails bool) {
	next := func(what, command string) {
		line := fmt.Sprintf("  %-36s %s", fmt.Sprintf("go run ./docs/tour "+command, s.N), word(what))
		t.printf("%s\n", strings.TrimRight(line, " "))
	}
	if !t.watching {
		t.printf("Change the lock in %s and run it again:\n", myDir)
		next("", "try %d")
		next("the same at each save", "try %d -watch")
	}
	if fails {
		next("a hint for the story above", "hint %d")
	}
	if t.hasLock(solvedDir(s.N)) {
		t.printf("The lock that solved %s is in %s.\n", s.Label(), solvedDir(s.N))
	}
}

// solved says so, and what to do next.
func (t *tour) solved(a attemptAt) {
	s := a.step
	_, list := advice(a.src, s.N)
	t.items("What no story can see, and your source shows:\n\n", list)
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
	if a.count(passed) < len(a.trials) {
		return errUnsolved
	}
	t.printf("%d of %d passed. All of the step: go run ./docs/tour try %d\n", len(a.trials), len(a.trials), a.step.N)
	return nil
}

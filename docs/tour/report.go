package main

import (
	"fmt"
	"regexp"
	"slices"
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
	t.prose("  ", "\nStories passed: %d of %d%s.%s\n", now.Passed, now.Of, a.butLeaks(), since(before, now))
	t.nowOk(before, now)
	next := a.next()
	t.failingList(a, before)
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

func (r trial) fails() bool { return r.verdict != passed && r.verdict != notRun }

// counted is how many trials are so.
func counted(trials []trial, is func(trial) bool) int {
	return len(slices.DeleteFunc(slices.Clone(trials), func(r trial) bool { return !is(r) }))
}

func ended(list ...verdict) func(trial) bool {
	return func(r trial) bool { return slices.Contains(list, r.verdict) }
}

// standing is what is remembered of a run.
func (a attemptAt) standing() standing {
	st := standing{Of: len(a.trials) + len(a.later), Passed: counted(a.trials, ended(passed, leaked))}
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
	for _, part := range a.parts() {
		st.Parts = append(st.Parts, say("%s %d of %d", part.Name, part.passed, part.of))
	}
	return st
}

// butLeaks adds that a goroutine is left.
func (a attemptAt) butLeaks() string {
	n := counted(a.trials, ended(leaked))
	if n == 0 {
		return ""
	}
	return say(", but %s left a goroutine behind", count(n, "story"))
}

func (r trial) failing() failing {
	f := failing{File: r.file, Story: r.name}
	if r.end != nil && r.verdict != failed {
		f.How = r.end.kind.String()
	} else if list := r.log.failing(r.name); list != nil {
		f.Says = strings.Join(slices.Concat(list[0].message(), list[0].outcome(), list[0].returned()), "\n")
	}
	return f
}

// A partOf is how far a part of a step has come.
type partOf struct {
	course.Part
	passed, of int
	lacks      []string
}

func (a attemptAt) parts() []partOf {
	var list []partOf
	for i, p := range a.step.Parts() {
		part := partOf{Part: p, lacks: lacks(a.src, course.File{Needs: p.Needs})}
		mine := func(st story) bool { return order(a.step, st) == ofParts+i }
		for _, r := range a.trials {
			part.of += boolean(mine(r.story))
			part.passed += boolean(mine(r.story) && r.verdict == passed)
		}
		for _, st := range a.later {
			part.of += boolean(mine(st))
		}
		if part.of > 0 {
			list = append(list, part)
		}
	}
	return list
}

// groups shows what holds, file by file, and the parts of the step's own.
func (t *tour) groups(a attemptAt) {
	s := a.step
	for _, f := range s.Guarantees() {
		of := slices.DeleteFunc(slices.Clone(a.trials), func(r trial) bool { return r.file != f.Name })
		later := len(slices.DeleteFunc(slices.Clone(a.later), func(st story) bool { return st.file != f.Name }))
		if len(of)+later > 0 {
			t.group(f.Name, of, later)
		}
	}
	for i, p := range a.parts() {
		if i == 0 {
			t.printf("\n  Step %02d has parts:\n", s.N)
		}
		state := t.paint(green, "solved ")
		switch {
		case len(p.lacks) > 0:
			state = t.paint(dim, "later  ")
		case p.passed < p.of:
			state = t.paint(red, "missing")
		}
		text := say("%d. %s %d of %d", i+1, pad(10, word(p.Name)), p.passed, p.of)
		for _, line := range wrap(columns-37, word(p.Asks)) {
			t.printf("  %s  %s %s\n", state, pad(24, text), line)
			state, text = pad(7, ""), ""
		}
		if len(p.lacks) > 0 {
			t.printf("%35s needs %s\n", "", strings.Join(p.lacks, ", "))
		}
	}
}

func (t *tour) group(name string, of []trial, later int) {
	counts := map[verdict]int{}
	for _, r := range of {
		counts[r.verdict]++
	}
	word := t.paint(green, "holds  ")
	switch wrong := len(of) - counts[passed] - counts[leaked] - counts[notRun]; {
	case counts[hung] > 0:
		word = t.paint(red, "hangs  ")
	case wrong > 0 && wrong == counts[crashed]:
		word = t.paint(red, "breaks ")
	case wrong > 0:
		word = t.paint(red, "missing")
	case counts[leaked] > 0:
		word = t.paint(red, "leaks  ")
	case counts[notRun] > 0 || later > 0:
		word = t.paint(dim, "not run")
		if counts[passed] > 0 {
			word = t.paint(dim, "partly ")
		}
	}
	more := ""
	if counts[notRun] > 0 {
		more = say(" (%d not run)", counts[notRun])
	}
	if later > 0 {
		more += say(" (%d not yet)", later)
	}
	t.printf("  %s  %-27s %d of %d%s\n", word, name, counts[passed]+counts[leaked], len(of)+later, more)
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

// nowOk names what has failed in the last run and passes now.
func (t *tour) nowOk(before, now standing) {
	var ok []string
	for _, f := range before.Failing {
		if !slices.ContainsFunc(now.Failing, func(n failing) bool { return n.is(f.Story) }) {
			ok = append(ok, f.Story)
		}
	}
	if now.Passed <= before.Passed-len(ok) || ok == nil {
		return // most were not played
	}
	for _, name := range ok[:min(len(ok), 8)] {
		t.printf("  %s %s\n", t.paint(green, "now ok"), name)
	}
	if len(ok) > 8 {
		t.printf("  ... and %d more\n", len(ok)-8)
	}
	t.printf("\n")
}

// failingList names what fails, a line each. Stories that end in the same way, by the same
// panic or goroutine, share one.
func (t *tour) failingList(a attemptAt, before standing) {
	part := -1
	if counted(a.trials, trial.fails) > 1 {
		t.printf("  Failing:\n\n")
		shown := map[string]bool{}
		for _, r := range a.trials {
			if !r.fails() || r.end != nil && shown[r.why] {
				continue
			}
			note := ""
			if before.Of > 0 && before.Passed+len(before.Failing) >= before.Of && !slices.ContainsFunc(before.Failing, func(f failing) bool { return f.is(r.name) }) {
				note = behind(r.name, "  (passed before)")
			}
			if at := order(a.step, r.story) - ofParts; at >= 0 && at != part {
				part = at
				t.printf("  Part %d, %s:\n", part+1, a.step.Parts()[part].Name)
			}
			t.printf("  %s %s%s\n", t.trialTag(r), r.name, note)
			if r.end != nil {
				shown[r.why] = true
				if alike := counted(a.trials, func(o trial) bool { return o.end != nil && o.why == r.why }); alike > 1 {
					t.printf("        ... and %s in the same way\n", count(alike-1, "more story"))
				}
			}
		}
		t.printf("\n")
	}
	if later := counted(a.trials, ended(notRun)); later > 0 {
		t.printf("  Not run, because the one that hangs ended the run: %s.\n\n", count(later, "story"))
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
	var shown *test
	name := r.name
	if failing := r.log.failing(r.name); len(failing) > 0 {
		shown, name = failing[0], failing[0].name
	} else if last := r.log.lastOf(r.name); last != nil {
		shown, name = last, last.name
	}
	if r.verdict == passed {
		shown = r.shown("")
		name = r.name
	}
	t.printf("  %s %s\n", t.trialTag(r), name)
	if shown != nil && shown.timeline != "" {
		t.text(shown.timeline, screen)
	} else if r.verdict == failed {
		t.printf("%s(no timeline: too many do something at once)\n\n", margin)
	}
	if r.verdict == failed {
		t.message(red, slices.Concat(shown.message(), shown.outcome()))
		if call := shown.returned(); call != nil {
			t.message("", call)
		}
		t.alsoFailing(r.log.failing(r.name))
	}
	if r.end != nil {
		t.end(a, *r.end)
	}
	if r.verdict == silent || r.verdict == skipped {
		t.message(red, strings.Split(r.why, "\n"))
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
		if src := lines(string(a.src[at.file])); at.line > 0 && at.line <= len(src) {
			t.printf("%s    %s:%d  %s\n", margin, at.file, at.line, strings.TrimSpace(src[at.line-1]))
		}
	}
	if e.raw != "" {
		t.printf("\n%s", indent(margin, cut(lines(e.raw), short)))
	}
}

// lastOf is the last of a story's variants that has begun.
func (tr transcript) lastOf(name string) *test {
	for _, ts := range slices.Backward(tr.tests) {
		if storyOf(ts.name) == name {
			return ts
		}
	}
	return nil
}

// returned is the error that a call has returned, if it says more than which one it is.
func (t *test) returned() []string {
	text := strings.Join(fields(t.output)["Error:"], "\n")
	for _, form := range errorForms {
		found := form.FindStringSubmatch(text)
		if found == nil {
			continue
		}
		got := strings.ReplaceAll(found[1], `\"`, `"`)
		if strings.HasSuffix(got, ": lock not acquired") || strings.HasSuffix(got, ": lock not held") ||
			slices.ContainsFunc(t.verdicts, func(v trace.Record) bool { return v.Wanted != "" && v.Got == got }) {
			return nil
		}
		return []string{say("the call returned: %s", got)}
	}
	return nil
}

// errorForms are the ways in which testify shows an error.
var errorForms = []*regexp.Regexp{
	regexp.MustCompile(`(?s)^Received unexpected error:\s+(.*)`),
	regexp.MustCompile(`(?s)^Error "(.*)" does not contain `),
	regexp.MustCompile(`\bin chain: "((?:[^"\\]|\\.)*)"`),
}

// printed is what the learner's code has printed: what package testing and testify print
// is indented, or marked.
func printed(output string) []string {
	var list []string
	for line := range strings.Lines(output) {
		line = strings.TrimRight(line, "\r\n")
		if line == storyBegins { // before that, the test harness has tried the lock
			list = nil
			continue
		}
		if line == noProgressLine || line == noEndLine || strings.HasPrefix(line, "panic: ") || strings.HasPrefix(line, "fatal error: ") {
			break // from here on it is Go's
		}
		if line == "" || strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t") || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ") {
			continue
		}
		list = append(list, line)
	}
	return list
}

// storyBegins is what the file that watches says when the first story of a process begins.
const storyBegins = "tour: the story begins"

var noProgressLine, noEndLine = strings.TrimSpace(noProgress), strings.TrimSpace(noEnd)

// tryNotes says what no story can say, because it is left out until the API is there.
func (t *tour) tryNotes(a attemptAt) {
	if a.older {
		if now, err := t.newOf(a.step); err == nil {
			t.printf("New is still that of the step before; %s has\n  %s\n\n", a.step.Label(), source.Signature(now))
		}
	}
	if len(a.missing) > 0 {
		t.printf("%s is not complete: some of its tests cannot run yet.\n%sWhat it is to have: go run ./docs/tour try %d -rules\n\n",
			capital(a.step.Label()), indent("  ", a.missing), a.step.N)
	}
	if a.next() < 0 && a.broken != nil {
		t.printf("A rule is broken. No story can see it, but your source shows it:\n\n")
		for _, text := range a.broken {
			t.item("- ", text)
		}
		t.printf("\n")
	}
}

// whatNow says what to do next.
func (t *tour) whatNow(s course.Step, fails bool) {
	next := func(what, command string, args ...any) {
		t.printf("%s", indent("  ", []string{fmt.Sprintf("%-36s %s", fmt.Sprintf("go run ./docs/tour "+command, args...), word(what))}))
	}
	if !t.watching {
		t.printf("Change the lock in %s and run it again:\n", myDir)
		next("", "try %d", s.N)
		next("the same at each save", "try %d -watch", s.N)
	}
	if fails {
		next("a hint for the story above", "hint %d", s.N)
	}
	if t.hasLock(solvedDir(s.N)) {
		t.printf("The lock that solved %s is in %s.\n", s.Label(), solvedDir(s.N))
	}
}

// solved says so, and what to do next.
func (t *tour) solved(a attemptAt) {
	s := a.step
	if _, list := advice(a.src, s.N); list != nil {
		t.printf("What no story can see, and your source shows:\n\n")
		for _, text := range list {
			t.item("- ", text)
		}
		t.printf("\n")
	}
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
	ok := counted(a.trials, ended(passed))
	if ok < len(a.trials) {
		return errUnsolved
	}
	t.printf("%d of %d passed. All of the step: go run ./docs/tour try %d\n", ok, len(a.trials), a.step.N)
	return nil
}

// interrupted says what was seen until then.
func (t *tour) interrupted(trials []trial) {
	played := len(trials) - counted(trials, ended(notRun))
	t.printf("\nInterrupted. %d of %d stories were played, and %d passed.\n", played, len(trials), counted(trials, ended(passed)))
	for _, r := range trials {
		switch {
		case r.verdict == notRun && r.why != "":
			t.printf("  %s %s%s\n", t.trialTag(r), r.name, behind(r.name, " "+r.why))
		case r.fails():
			t.printf("  %s %s\n", t.trialTag(r), r.name)
		}
	}
}

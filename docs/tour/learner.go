package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/story"
)

func (t *tour) tryCommand(ctx context.Context, req request) error {
	switch {
	case req.has("-report"):
		return t.sheet(strings.Join(req.names, " "))
	case req.steps == nil:
		return t.overview()
	}
	s := req.steps[0]
	switch {
	case req.has("-rules"):
		return t.box(s, true)
	case req.has("-compare"):
		return t.compare(s)
	case req.has("-watch"):
		return t.runWatch(ctx, req)
	}
	return t.runTry(ctx, req)
}

// overview says what is solved, where the learner stands, and what to do next.
func (t *tour) overview() error {
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	t.strong("Your own lock, step by step")
	t.printf("\n")
	mine := t.hasLock(myDir)
	for _, s := range course.Steps {
		st, word, here := p.Steps[s.N], "", ""
		switch {
		case t.hasLock(solvedDir(s.N)):
			word = t.paint(green, "solved ")
		case st.Of > 0:
			word = fmt.Sprintf("%d/%d", st.Passed, st.Of)
		}
		if p.Step == s.N && mine {
			here = "   <- " + myDir
		}
		t.printf("  %02d  %s  %s%s\n", s.N, pad(7, word), s.Problem, here)
	}
	t.printf("\n")
	switch {
	case p.Step == 0 || !mine:
		next := 1
		for next < course.Last.N && t.hasLock(solvedDir(next)) {
			next++
		}
		t.prose("", "Next: go run ./docs/tour try %d puts the lock %[3]s into %[2]s and says what is missing. Any step is a good one to begin with.",
			next, myDir, course.Steps[next-1].Before().Of())
	case !p.Steps[p.Step].Solved:
		t.prose("", "Next: change the lock in %s, then go run ./docs/tour try %d", myDir, p.Step)
	case p.Step < course.Last.N:
		t.prose("", "Next: go run ./docs/tour try %d", p.Step+1)
	default:
		t.prose("", "One thing is left: go run ./docs/tour red fencing shows what no lock can do.")
	}
	return nil
}

// box is what a learner must know before the first line: the interface and the rules of
// a step, and if asked for, those that it has from the steps before.
func (t *tour) box(s course.Step, everything bool) error {
	now, err := t.declared(s)
	before, wrong := t.declared(s.Before())
	p, unread := t.readProgress()
	if err := cmp.Or(err, wrong, unread); err != nil {
		return err
	}
	t.strong("%s: %s", capital(s.Label()), s.Problem)
	t.prose("", "\n%s", s.Asks)
	if s.N == 1 && !everything && p.Steps[1].Start != "" { // all of it is in the start, which keeps the rules
		t.prose("", "\nOnly TryLock has to change. The start keeps the rules:\n  go run ./docs/tour try 1 -rules")
		return nil
	}
	old, offers := source.API(before, "Lock"), source.API(now, "Lock")
	if !everything && s.N > 1 {
		offers = slices.DeleteFunc(offers, func(item source.Item) bool { return slices.Contains(old, item) })
	}
	if len(offers) > 0 {
		t.printf("\nWhat your lock must offer (+ is new):\n\n")
	}
	for _, item := range offers {
		mark := t.paint(green, "+ ")
		if slices.Contains(old, item) {
			mark = "  "
		}
		t.printf("  %s%s\n", mark, item.Text)
	}
	fresh, older := s.Rules()
	t.printf("\n")
	if everything {
		t.printf("Rules:\n\n")
		for _, r := range fresh {
			t.item(t.paint(green, "+ "), r.Text)
		}
		for _, r := range older {
			t.item("- ", r.Text)
		}
	}
	t.item("- ", word("All of this holds for Lock as for TryLock."))
	t.item("- ", say("The Go files in %s, one or several, are the whole lock, package redislock. It imports the standard library, go-redis and golang.org/x/sync.", myDir))
	if !everything {
		t.item("- ", say("%d new, and those of the steps before: go run ./docs/tour try %d -rules", len(fresh), s.N))
	}
	stories, err := t.stories(s.Dir, s.Beginning())
	if err != nil {
		return err
	}
	var files []string
	for _, f := range s.Beginning() {
		files = append(files, f.Name)
	}
	t.prose("", "\nIts %s: %s", count(len(stories), "story"), strings.Join(files, ", "))
	return nil
}

// compare shows the declarations in which the learner's lock differs from the reference solution.
func (t *tour) compare(s course.Step) error {
	a, err := t.mine(s)
	b, wrong := t.side(s.Dir, "the reference solution", t.startIn)
	if err := cmp.Or(err, wrong); err != nil {
		return err
	}
	if !t.hasLock(solvedDir(s.N)) {
		t.prose("", "(Step %02d is not solved yet: this is the solution.)\n", s.N)
	}
	names := differing(a, b)
	if names == nil {
		t.printf("%s and %s say the same.\n", a.dir, b.dir)
		return nil
	}
	return t.diffNamed(a, b, names)
}

// mine is the learner's attempt at s.
func (t *tour) mine(s course.Step) (side, error) {
	p, err := t.readProgress()
	if err != nil {
		return side{}, err
	}
	dir := myDir
	if p.Step != s.N && t.hasLock(keptDir(s.N)) {
		dir = keptDir(s.N)
	}
	if !t.hasLock(dir) {
		return side{}, errorf("there is no lock of yours to compare: go run ./docs/tour try %d makes one", s.N)
	}
	return t.side(dir, "yours", t.readLock)
}

// differing names what two locks declare differently.
func differing(a, b side) (names []string) {
	for _, d := range slices.Concat(b.list, a.list) {
		if !slices.Contains(names, d.Name) && uncommented(declared(a.list, d.Name)) != uncommented(declared(b.list, d.Name)) {
			names = append(names, d.Name)
		}
	}
	return names
}

// uncommented is the code of a declaration.
func uncommented(d source.Declaration) string {
	return strings.Join(strings.Fields(comment.ReplaceAllString(d.Text, "")), " ")
}

// runHint shows the next stage of the hint for a story: the first failing one of the last
// try, unless one is named.
func (t *tour) runHint(s course.Step, asked []string) error {
	p, err := t.readProgress()
	if err != nil {
		return err
	}
	st := p.Steps[s.N]
	name := ""
	switch {
	case asked != nil:
		name = asked[0]
	case st.Of == 0:
		return wrongUsage("hint %d is about the story that fails in your last try, and none has been played: go run ./docs/tour try %d says what does not compile, or plays them", s.N, s.N)
	case st.Solved:
		return wrongUsage("%s is solved, there is nothing to hint at", s.Label())
	case st.Failing == nil:
		t.prose("", "All stories that could be played pass. go run ./docs/tour try %d says what is missing, and try %d -rules what it must be.", s.N, s.N)
		return nil
	default:
		name = st.Failing[0].Story
	}
	of, err := t.storyNamed(s, name)
	if err != nil {
		return err
	}
	last := failing{}
	for _, f := range st.Failing {
		if f.Story == of.Name {
			last = f
		}
	}
	h := s.HintAfter(of.File, of.Name, last.How, last.Shows, last.Says)
	given := st.Hints[of.Name]
	if given >= len(h.Stages) {
		t.prose("", "All hints for %s have been given. The story is in %s/%s. The reference solution next to yours: go run ./docs/tour try %d -compare", of.Name, s.Dir, of.File, s.N)
		return nil
	}
	if st.Hints == nil {
		st.Hints = map[string]int{}
	}
	st.Hints[of.Name] = given + 1
	p.Steps[s.N] = st
	t.strong("Hint %d of %d for %s", given+1, len(h.Stages), of.Name)
	if last.How != "" {
		t.prose("", "(It %s.)", last.How)
	}
	t.prose("", "\n%s\n", unfolded.Replace(h.Stages[given]))
	switch {
	case given+1 == len(h.Stages):
		t.printf("It was the last one.\nThe reference solution next to yours: go run ./docs/tour try %d -compare\n", s.N)
	case asked != nil:
		t.printf("More: go run ./docs/tour hint %d %s\n", s.N, of.Name)
	default:
		t.printf("More: go run ./docs/tour hint %d\n", s.N)
	}
	return t.writeProgress(p)
}

// unfolded joins the lines of a paragraph: the terminal has another width.
var unfolded = strings.NewReplacer("\n\n", "\n\n", "\n", " ")

// storyNamed finds a story of s, or of a step before it.
func (t *tour) storyNamed(s course.Step, name string) (story.Story, error) {
	list, err := t.stories(s.Dir, s.Guarantees())
	if err != nil {
		return story.Story{}, err
	}
	for _, st := range list {
		if st.Name == story.Of(name) {
			return st, nil
		}
	}
	return story.Story{}, wrongUsage("%s has no story %s", s.Label(), name)
}

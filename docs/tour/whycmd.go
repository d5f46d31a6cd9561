package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/mutant"
	"example.com/redislock-steps/docs/internal/story"
)

// whyDir has what is known of the mutants, and the pages made from it.
const whyDir = "docs/read/why"

func whyFile(s course.Step) string { return fmt.Sprintf("%s/step%02d.json", whyDir, s.N) }

const tryThemAll = "go run ./docs/tour why -all"

// readKnown returns what is known of a step's mutants, by line, the plainest change first.
func (t *tour) readKnown(s course.Step) (*study, error) {
	text, err := os.ReadFile(t.Path("", whyFile(s)))
	if err != nil {
		return nil, fmt.Errorf("%w\ntry its changes: %s %s", err, tryThemAll, s.Arg())
	}
	k, err := t.newStudy(s)
	if err != nil {
		return nil, err
	}
	now := k.Of
	if err := json.Unmarshal(text, k); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", whyFile(s), err)
	}
	k.changed = k.Of != now
	if !slices.EqualFunc(k.Reasons, k.lock.Mutants, func(r reason, mu mutant.Mutant) bool { return r.Key() == mu.Key() }) {
		return nil, fmt.Errorf("%s is not about the lock as it is now; try its changes again: %s %s", whyFile(s), tryThemAll, s.Arg())
	}
	for i, mu := range k.lock.Mutants {
		k.Reasons[i].Mutant = mu
	}
	err = t.excuse(k)
	files := t.Sources(s.Dir)
	slices.SortStableFunc(k.Reasons, func(a, b reason) int {
		return cmp.Or(slices.Index(files, a.File)-slices.Index(files, b.File), a.Line-b.Line, rank(a)-rank(b))
	})
	return k, err
}

// rank orders the changes of a line: what tells most comes first.
func rank(r reason) int {
	told := slices.Index([]fate{byStory, byHang, byPanic, equivalent, survived}, r.Fate)
	kind := slices.Index([]mutant.Kind{
		mutant.Out, mutant.Never, mutant.Instead,
		mutant.Unwrapped, mutant.Silent, mutant.Always,
	}, r.Kind)
	return told*10 + kind
}

// readAllKnown returns what is known of all steps. A step of which nothing is has none.
func (t *tour) readAllKnown() (all []*study, err error) {
	for _, s := range course.Steps {
		k, err := t.readKnown(s)
		if err == nil {
			all = append(all, k)
		} else if !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return all, nil
}

// keepReasons writes what was found out, one mutant in a line.
func (k *study) keepReasons(t *tour) error {
	var js bytes.Buffer
	enc := json.NewEncoder(&js)
	enc.SetEscapeHTML(false)
	for _, r := range k.Reasons {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	reasons := strings.ReplaceAll(strings.TrimSpace(js.String()), "\n", ",\n")
	text := fmt.Sprintf("{\"of\": %q, \"reasons\": [\n%s\n]}\n", k.Of, reasons)
	return t.putGenerated(map[string]string{whyFile(k.Step): text}, whyFile(k.Step), tryThemAll, false)
}

// excusesFile says of the mutants on which no story fails why that is so:
//
//	steps 05-07: Lock.run: the change
//		why no one can see a difference
const excusesFile = whyDir + "/equivalent.txt"

var excuseEntry = regexp.MustCompile(`(?m)^steps? (\d+)(?:-(\d+))?: (.+)\n((?:\t.+\n)+)`)

// excuse says of the mutants that survive why, where that is known. An excuse that no
// survivor needs is an error.
func (t *tour) excuse(k *study) error {
	text, err := os.ReadFile(t.Path("", excusesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, entry := range excuseEntry.FindAllStringSubmatch(string(text), -1) {
		first, _ := strconv.Atoi(entry[1])
		last, _ := strconv.Atoi(cmp.Or(entry[2], entry[1]))
		if k.Step.N < first || k.Step.N > last {
			continue
		}
		n := slices.IndexFunc(k.Reasons, func(r reason) bool { return r.Key() == entry[3] })
		if n < 0 {
			return fmt.Errorf("%s: %s has no such change: %s", excusesFile, k.Step.Subject(), entry[3])
		}
		of := &k.Reasons[n]
		if of.Fate != survived {
			return fmt.Errorf("%s: on %s, %s fails: %s: delete the entry", excusesFile, k.Step.Subject(), of.Story, entry[3])
		}
		of.Fate, of.Says = equivalent, strings.Join(strings.Fields(entry[4]), " ")
	}
	return nil
}

// runWhyAll tries every mutant of some steps, keeps what happens, and says which survive.
func (t *tour) runWhyAll(ctx context.Context, req request) error {
	for _, s := range req.steps {
		k, err := t.newStudy(s)
		if err == nil {
			err = k.build(ctx, t)
		}
		if err == nil {
			err = k.probe(ctx, t)
		}
		if err != nil {
			return err
		}
		for _, mu := range k.lock.Mutants {
			k.Reasons = append(k.Reasons, reason{Mutant: mu})
		}
		done := t.progress(fmt.Sprintf("trying %d changes of %s", len(k.Reasons), s.Label()))
		err = onAllProcessors(k.Reasons, func(r *reason) error { return k.try(ctx, r) })
		done()
		if err != nil {
			return err
		}
		k.bin.Remove()
		if err := k.keepReasons(t); err != nil {
			return err
		}
		if err := t.excuse(k); err != nil {
			t.printf("%v\n", err)
		}
		t.printf("%s: %s\n", s.Label(), k.tally())
		for _, r := range k.ended(survived) {
			t.printf("%s %s: %s\n", r.Place(), r.Key(), r.ends())
		}
	}
	return nil
}

// those returns the reasons that are so.
func (k *study) those(are func(reason) bool) []reason {
	return slices.DeleteFunc(slices.Clone(k.Reasons), func(r reason) bool { return !are(r) })
}

func (k *study) ended(f fate) []reason { return k.those(func(r reason) bool { return r.Fate == f }) }

// Count is how many ended so.
func (k *study) Count(f fate) int { return len(k.ended(f)) }

// tally says how many mutants ended how.
func (k *study) tally() string {
	return say("%d changes: on %d a story fails, on %d the lock panics, on %d it hangs, %d make no difference, %d survive",
		len(k.Reasons), k.Count(byStory), k.Count(byPanic), k.Count(byHang), k.Count(equivalent), k.Count(survived))
}

// share is how many of the stories that are kept -check plays again: half a minute of work
// for a processor. It is a number and not a time, so that a slow machine plays as many.
const share = 300

// runWhyCheck compares the pages with what is known, asks for a reason for every survivor,
// and plays a share of the stories that are kept for some mutants again, taken by chance:
// those of steps that have changed first, then of others.
func (t *tour) runWhyCheck(ctx context.Context) error {
	all, err := t.readAllKnown()
	if err == nil {
		err = t.writeWhy(all, true)
	}
	if err != nil {
		return err
	}
	for _, k := range all {
		if list := k.ended(survived); len(list) > 0 {
			r := list[0]
			return fmt.Errorf("%s/%s: no story needs this: %s\n  write one and try again (%s %s), take it out, or say in %s why no one can see a difference",
				k.Step.Dir, r.Place(), r.Key(), tryThemAll, k.Step.Arg(), excusesFile)
		}
	}
	t.printf("playing some of the stories again\n")
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	slices.SortStableFunc(all, func(a, b *study) int { return boolean(b.changed) - boolean(a.changed) })
	left := share
	for _, k := range all {
		list := k.ended(byStory)
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
		some := list[:min(left, len(list))]
		if left -= len(some); len(some) == 0 {
			continue
		}
		err := k.build(ctx, t)
		if err == nil {
			err = onAllProcessors(some, func(r *reason) error { return k.again(ctx, *r) })
		}
		if err != nil {
			return err
		}
		k.bin.Remove()
		t.printf("%s: on %d of %d changes the story that is kept for them fails\n", k.Step.Label(), len(some), len(list))
	}
	return nil
}

// again plays the story that is kept for a mutant, which has to fail.
func (k *study) again(ctx context.Context, r reason) error {
	res, err := k.replay(ctx, r)
	if err == nil && res.Verdict != story.Failed {
		err = fmt.Errorf("%s/%s: %s no longer fails on this change: %s %s\n  try them again: %s %s",
			k.Step.Dir, r.Place(), r.Story, r.Mutant, res.Detail, tryThemAll, k.Step.Arg())
	}
	return err
}

// runWhyLine shows what happens without one line.
func (t *tour) runWhyLine(ctx context.Context, k *study, file string, line int) error {
	s := k.Step
	here := k.at(file, line)
	if len(here) == 0 {
		return errorf("%s/%s:%d has nothing that was taken out or changed. The lines that have: go run ./docs/tour why %d",
			s.Dir, file, line, s.N)
	}
	source, err := t.linesOf(s, file)
	if err != nil {
		return err
	}
	if err := k.build(ctx, t); err != nil {
		return err
	}
	t.heading("%s/%s:%d, in %s", s.Dir, file, line, here[0].In)
	t.printf("  %s\n", strings.TrimSpace(source[line-1]))
	shown := map[string]bool{}
	for _, r := range here {
		if err := t.whyMutant(ctx, k, r, shown); err != nil {
			return err
		}
	}
	return nil
}

func (t *tour) linesOf(s course.Step, file string) ([]string, error) {
	text, err := os.ReadFile(t.Path(s.Dir, file))
	return lines(string(text)), err
}

// at returns the reasons of what begins on a line.
func (k *study) at(file string, line int) []reason {
	return k.those(func(r reason) bool { return r.File == file && r.Line == line })
}

// whyMutant shows one mutant; a story that was shown before, by name only.
func (t *tour) whyMutant(ctx context.Context, k *study, r reason, shown map[string]bool) error {
	t.printf("\n")
	t.prose("", "%s:", capital(r.String()))
	if r.Story == "" {
		t.prose("  ", "%s\n", capital(r.ends()))
		return nil
	}
	says := r.Says
	if !shown[r.Story+r.Says] {
		shown[r.Story+r.Says] = true
		res, err := k.replay(ctx, r)
		if err != nil {
			return err
		}
		switch res.Verdict {
		case story.Failed:
			t.failure(res, short)
			return nil
		case panicked, hung, leaked, story.TimedOut:
			says = capital(res.Detail)
		default:
			return errorf("%s no longer fails on this change; try them again: %s %s", r.Story, tryThemAll, k.Step.Arg())
		}
	}
	t.printf("  %s %s\n", t.tag(story.Failed), r.Story)
	t.message(red, []string{says})
	return nil
}

// runWhyStep shows the lock's files, each line with the story that needs it.
func (t *tour) runWhyStep(k *study) error {
	for _, file := range t.Sources(k.Step.Dir) {
		source, err := t.linesOf(k.Step, file)
		if err != nil {
			return err
		}
		t.strong("%s", file)
		for i, line := range source {
			t.printf("%4d  %s\n", i+1, strings.ReplaceAll(line, "\t", "    "))
			here := k.at(file, i+1)
			if len(here) == 0 {
				continue
			}
			t.prose(strings.Repeat(" ", 8), "%s", t.paint(dim, say("^ %s: %s", here[0].String(), here[0].ends())))
			if here[0].Story != "" {
				t.printf("%s\n", t.paint(dim, strings.Repeat(" ", 10)+here[0].Story))
			}
		}
		t.printf("\n")
	}
	t.printf("%s\n", k.tally())
	return nil
}

// ends is how the stories end on a mutant.
func (r reason) ends() string {
	switch r.Fate {
	case equivalent:
		return say("no difference: %s", r.Says)
	case survived:
		return say("SURVIVES, no story needs it. %s", r.Says)
	}
	return r.Says
}

// runWhy is the command.
func (t *tour) runWhy(ctx context.Context, req request) error {
	switch {
	case req.has("-all"):
		return t.runWhyAll(ctx, req)
	case req.has("-check"):
		return t.runWhyCheck(ctx)
	case len(req.steps) > 1:
		all, err := t.readAllKnown()
		if err != nil {
			return err
		}
		return t.writeWhy(all, false)
	}
	k, err := t.readKnown(req.steps[0])
	if err != nil {
		return err
	}
	if req.line > 0 {
		return t.runWhyLine(ctx, k, req.file, req.line)
	}
	return t.runWhyStep(k)
}

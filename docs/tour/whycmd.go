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
	"time"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/mutant"
)

// whyDir has what is known of the mutants, and the pages made from it.
const whyDir = "docs/read/why"

func whyFile(s course.Step) string { return fmt.Sprintf("%s/step%02d.json", whyDir, s.N) }
func whyPage(s course.Step) string { return fmt.Sprintf("%s/step%02d.md", whyDir, s.N) }

const tryThemAll = "go run ./docs/tour why -all"

// known is what was found out about a step's mutants.
type known struct {
	step    course.Step
	changed bool // its lock or its stories since then; the mutants are the same

	Of      string   `json:"of"` // the files from which it was found out, as a hash
	Reasons []reason `json:"reasons"`
}

// readKnown returns what is known of a step's mutants.
func (t *tour) readKnown(s course.Step) (k *known, err error) {
	text, err := os.ReadFile(t.path("", whyFile(s)))
	if err != nil {
		return nil, fmt.Errorf("%w\ntry its changes: %s %s", err, tryThemAll, s.Arg())
	}
	k = &known{step: s}
	if err := json.Unmarshal(text, k); err != nil {
		return nil, fmt.Errorf("cannot read %s: %w", whyFile(s), err)
	}
	f, err := mutant.Read(t.path(s.Dir, ""))
	if err != nil {
		return nil, err
	}
	if !slices.EqualFunc(k.Reasons, f.Mutants, func(r reason, mu mutant.Mutant) bool { return r.Key() == mu.Key() }) {
		return nil, fmt.Errorf("%s is not about the lock as it is now; try its changes again: %s %s", whyFile(s), tryThemAll, s.Arg())
	}
	for i, mu := range f.Mutants {
		k.Reasons[i].Mutant = mu
	}
	now, err := hashOf(t.root, s.Dir, nil)
	k.changed = k.Of != now
	return k, cmp.Or(err, t.excuse(s, k.Reasons))
}

// readAllKnown returns what is known of all steps. A step of which nothing is has none.
func (t *tour) readAllKnown() (all []*known, err error) {
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
func (t *tour) keepReasons(s course.Step, reasons []reason) error {
	of, err := hashOf(t.root, s.Dir, nil)
	if err != nil {
		return err
	}
	var lines []string
	for _, r := range reasons {
		var js bytes.Buffer
		enc := json.NewEncoder(&js)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(r); err != nil {
			return err
		}
		lines = append(lines, strings.TrimSpace(js.String()))
	}
	text := fmt.Sprintf("{\"of\": %q, \"reasons\": [\n%s\n]}\n", of, strings.Join(lines, ",\n"))
	return t.putGenerated(map[string]string{whyFile(s): text}, "", false)
}

// excusesFile says of the mutants on which no story fails why that is so:
//
//	steps 05-07: Lock.run: the change
//		why no one can see a difference
const excusesFile = whyDir + "/equivalent.txt"

var excuseHead = regexp.MustCompile(`^steps? (\d+)(?:-(\d+))?: (.+)$`)

// excuse says of the mutants that survive why, where that is known. An excuse that no
// survivor needs is an error.
func (t *tour) excuse(s course.Step, reasons []reason) error {
	text, err := os.ReadFile(t.path("", excusesFile))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	var of *reason // nil between the entries about this step
	for i, line := range lines(string(text)) {
		where := fmt.Sprintf("%s:%d", excusesFile, i+1)
		switch head := excuseHead.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "\t"):
			if of != nil {
				of.Fate, of.Says = equivalent, strings.TrimSpace(of.Says+" "+strings.TrimSpace(line))
			}
		case head == nil:
			return fmt.Errorf("%s: an entry begins with \"step 05: \" or \"steps 05-08: \"", where)
		default:
			from, _ := strconv.Atoi(head[1])
			to, _ := strconv.Atoi(cmp.Or(head[2], head[1]))
			if of = nil; s.N < from || s.N > to {
				continue
			}
			n := slices.IndexFunc(reasons, func(r reason) bool { return r.Key() == head[3] })
			if n < 0 {
				return fmt.Errorf("%s: %s has no such change: %s", where, s.Subject(), head[3])
			}
			if of = &reasons[n]; of.Fate != survived {
				return fmt.Errorf("%s: on %s, %s fails: %s: delete the entry", where, s.Subject(), of.Story, head[3])
			}
			of.Says = ""
		}
	}
	return nil
}

// runWhyAll tries every mutant of some steps, and keeps what happens. Of one line, it only
// says it.
func (t *tour) runWhyAll(ctx context.Context, steps []course.Step, file string, line int) error {
	for _, s := range steps {
		if err := t.hasFile(s, file); line > 0 && err != nil {
			return err
		}
		start := time.Now()
		m, err := t.newMutants(ctx, s)
		if err == nil {
			err = m.probe(ctx, t)
		}
		if err != nil {
			return err
		}
		if line > 0 {
			m.list = slices.DeleteFunc(m.list, func(mu mutant.Mutant) bool { return mu.File != file || mu.Line != line })
		}
		done := t.progress(fmt.Sprintf("trying %d changes of %s", len(m.list), s.Label()))
		reasons, err := m.tryAll(ctx)
		done()
		if err == nil && line == 0 {
			err = t.keepReasons(s, reasons)
		}
		if err != nil {
			return err
		}
		m.bin.remove()
		if line > 0 {
			for _, r := range reasons {
				t.printf("%s %s\n  %s\n", r.Place(), sentence(r), r.Story)
			}
			return nil
		}
		if err := t.excuse(s, reasons); err != nil {
			t.printf("%v\n", err)
		}
		t.printf("%s: %s, in %.0f s\n", s.Label(), tallied(reasons), time.Since(start).Seconds())
		for _, r := range reasons {
			if r.Fate == survived {
				t.printf("  %s %s\n", r.Place(), strings.TrimSuffix(r.Key()+": "+r.Says, ": "))
			}
		}
	}
	return nil
}

// tallied writes how many mutants ended how.
func tallied(reasons []reason) string {
	n := map[fate]int{}
	for _, r := range reasons {
		n[r.Fate]++
	}
	return say("%d changes: on %d a story fails, on %d the lock panics, on %d it hangs, %d make no difference, %d survive",
		len(reasons), n[byStory], n[byPanic], n[byHang], n[equivalent], n[survived])
}

// runWhyCheck compares the pages with what is known, asks for a reason for every survivor,
// and plays the stories that are kept for some mutants again: those of steps that have
// changed first, then of others, by chance, until the time has passed.
func (t *tour) runWhyCheck(ctx context.Context, budget time.Duration) error {
	all, err := t.readAllKnown()
	if err == nil {
		err = t.writeWhy(all, true)
	}
	if err != nil {
		return err
	}
	start := time.Now()
	for _, k := range all {
		for _, r := range k.Reasons {
			if r.Fate == survived {
				return fmt.Errorf("%s/%s: no story needs this: %s\n  write one and try again (%s %s %s), take it out, or say in %s why no one can see a difference",
					k.step.Dir, r.Place(), r.Key(), tryThemAll, k.step.Arg(), r.Place(), excusesFile)
			}
		}
	}
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	slices.SortStableFunc(all, func(a, b *known) int { return boolean(b.changed) - boolean(a.changed) })
	for i, k := range all {
		if left := budget - time.Since(start); left <= 0 || i > 0 && left < budget/4 {
			break
		}
		if err := t.again(ctx, k, start.Add(budget)); err != nil {
			return err
		}
	}
	return nil
}

// again plays the kept stories of a step until a time.
func (t *tour) again(ctx context.Context, k *known, until time.Time) error {
	m, err := t.newMutants(ctx, k.step)
	if err != nil {
		return err
	}
	defer m.bin.remove()
	n := 0
	reasons := slices.DeleteFunc(slices.Clone(k.Reasons), func(r reason) bool { return r.Fate != byStory })
	rand.Shuffle(len(reasons), func(i, j int) { reasons[i], reasons[j] = reasons[j], reasons[i] })
	for _, r := range reasons {
		if time.Now().After(until) {
			break
		}
		res, err := m.replay(ctx, r, false)
		if err != nil {
			return err
		}
		if res.verdict != failed {
			return fmt.Errorf("%s/%s: %s no longer fails on this change: %s %s\n  try them again: %s %s",
				k.step.Dir, r.Place(), r.Story, r.Mutant, res.why, tryThemAll, k.step.Arg())
		}
		n++
	}
	t.printf("%s: on %d of %d changes the story that is kept for them fails\n", k.step.Label(), n, len(reasons))
	return nil
}

// replay plays the story that is kept for a mutant; with sayIt, a few times if need be to
// hear the message that is kept.
func (m *mutants) replay(ctx context.Context, r reason, sayIt bool) (res result, err error) {
	// On some mutants, the order of the lock's goroutines decides: then the story fails at
	// times, soon, or in another place. On a busy machine, one that goes round and round may
	// not come to its end in time.
	for range 5 {
		res, err = m.play(ctx, r.Mutant, story{name: storyOf(r.Story)})
		if err != nil {
			return result{}, err
		}
		if res.verdict == passed || res.verdict == timedOut {
			continue
		}
		if !sayIt || res.verdict != failed || alike(res.log.failing(res.name)[0].message()[0], r.Says) {
			break
		}
	}
	return res, nil
}

// alike reports whether two messages differ in numbers only.
func alike(a, b string) bool {
	return digits.ReplaceAllString(a, "") == digits.ReplaceAllString(b, "")
}

var digits = regexp.MustCompile(`\d+`)

// runWhyLine shows what happens without one line.
func (t *tour) runWhyLine(ctx context.Context, s course.Step, file string, line int) error {
	if err := t.hasFile(s, file); err != nil {
		return err
	}
	k, err := t.readKnown(s)
	if err != nil {
		return err
	}
	text, err := os.ReadFile(t.path(s.Dir, file))
	if err != nil {
		return err
	}
	source := lines(string(text))
	if line > len(source) {
		return wrongUsage("%s/%s has %d lines", s.Dir, file, len(source))
	}
	here := onLine(k.Reasons, file, line)
	if here == nil { // the line of a statement that begins before it
		here = plainestFirst(k.Reasons, func(r reason) bool {
			return r.File == file && r.First <= line && line <= r.Last && r.Last-r.First < 4
		})
	}
	if here == nil {
		return errorf("%s/%s:%d has nothing that was taken out or changed:\n  %s\nThe next lines that have: %s",
			s.Dir, file, line, strings.TrimSpace(source[line-1]), near(k.Reasons, file, line))
	}
	m, err := t.newMutants(ctx, s)
	if err != nil {
		return err
	}
	t.heading("%s/%s:%d, in %s", s.Dir, file, line, here[0].In)
	t.printf("  %s\n", strings.TrimSpace(source[line-1]))
	shown := map[string]bool{}
	for _, r := range here {
		if err := t.whyMutant(ctx, m, r, shown); err != nil {
			return err
		}
	}
	return nil
}

// hasFile is an error for a file that is none of the lock's.
func (t *tour) hasFile(s course.Step, file string) error {
	if names := t.sources(s.Dir); !slices.Contains(names, file) {
		return wrongUsage("%s has no file %s: its lock is %s", s.Label(), file, strings.Join(names, ", "))
	}
	return nil
}

// onLine returns the reasons of what begins on a line, the plainest change first.
func onLine(reasons []reason, file string, line int) []reason {
	return plainestFirst(reasons, func(r reason) bool { return r.File == file && r.Line == line })
}

func plainestFirst(reasons []reason, wanted func(reason) bool) (list []reason) {
	for _, r := range reasons {
		if wanted(r) {
			list = append(list, r)
		}
	}
	slices.SortStableFunc(list, func(a, b reason) int { return cmp.Compare(rank(a), rank(b)) })
	return list
}

// rank orders the changes of a line: what tells most comes first.
func rank(r reason) int {
	told := slices.Index([]fate{byStory, byHang, byPanic, equivalent, survived}, r.Fate)
	kind := slices.Index([]mutant.Kind{mutant.Out, mutant.Never, mutant.Later, mutant.Instead, mutant.Silent, mutant.Always}, r.Kind)
	return told*10 + kind
}

// near names the lines around one that have a reason.
func near(reasons []reason, file string, line int) string {
	var list []int
	for _, r := range reasons {
		if r.File == file {
			list = append(list, r.Line)
		}
	}
	slices.Sort(list)
	list = slices.Compact(list)
	i, _ := slices.BinarySearch(list, line)
	around := fmt.Sprint(list[max(0, i-1):min(len(list), i+1)])
	return strings.ReplaceAll(strings.Trim(around, "[]"), " ", ", ")
}

// whyMutant shows one mutant; a story that was shown before, by name only.
func (t *tour) whyMutant(ctx context.Context, m *mutants, r reason, shown map[string]bool) error {
	t.printf("\n")
	t.prose("", "%s:", capital(r.String()))
	switch r.Fate {
	case equivalent:
		t.prose("  ", "No story can fail: %s\n", r.Says)
		return nil
	case survived:
		t.prose("  ", "All stories pass. %s\n", r.Says)
		return nil
	}
	if shown[r.Story+r.Says] {
		t.printf("  %s %s\n", t.tag(failed), r.Story)
		t.message(red, []string{r.Says})
		return nil
	}
	res, err := m.replay(ctx, r, true)
	if err != nil {
		return err
	}
	shown[r.Story+r.Says] = true
	switch res.verdict {
	case panicked, hung, leaked:
		t.printf("  %s %s\n", t.tag(failed), r.Story)
		t.message(red, []string{capital(res.why)})
		return nil
	}
	if res.verdict != failed {
		return errorf("%s no longer fails on this change; try them again: %s %s", r.Story, tryThemAll, m.step.Arg())
	}
	t.failure(res, short)
	return nil
}

// runWhyStep shows the lock's files, each line with the story that needs it.
func (t *tour) runWhyStep(s course.Step) error {
	k, err := t.readKnown(s)
	if err != nil {
		return err
	}
	for _, file := range t.sources(s.Dir) {
		text, err := os.ReadFile(t.path(s.Dir, file))
		if err != nil {
			return err
		}
		t.strong("%s", file)
		for i, line := range lines(string(text)) {
			t.printf("%4d  %s\n", i+1, strings.ReplaceAll(line, "\t", "    "))
			if at := onLine(k.Reasons, file, i+1); at != nil {
				t.prose(strings.Repeat(" ", 8), "%s", t.paint(dim, "^ "+sentence(at[0])))
				if at[0].Fate == byStory {
					t.printf("%s\n", t.paint(dim, strings.Repeat(" ", 10)+at[0].Story))
				}
			}
		}
		t.printf("\n")
	}
	t.printf("%s\n", tallied(k.Reasons))
	return nil
}

// sentence is a reason in a sentence.
func sentence(r reason) string {
	switch r.Fate {
	case byStory:
		return say("%s: %s", r.String(), r.Says)
	case byPanic:
		return say("%s: the lock panics in %s", r.String(), r.Story)
	case byHang:
		return say("%s: %s in %s", r.String(), r.Says, r.Story)
	case equivalent:
		return say("%s: no difference: %s", r.String(), r.Says)
	}
	return say("%s: SURVIVES, no story needs it. %s", r.String(), r.Says)
}

// parseWhy reads what is asked for: a step, a line of it, or one of the flags.
func parseWhy(req request, args []string) (request, error) {
	req.steps = course.Steps[:]
	args, req.all = takeFlag(args, "all")
	args, req.check = takeFlag(args, "check")
	if req.all && req.check {
		return request{}, wrongUsage("why takes -all or -check, one of the two")
	}
	if len(args) == 0 {
		return req, nil
	}
	s, err := stepOf(args[0])
	switch {
	case err != nil:
		return request{}, err
	case s.IsEpilogue():
		return request{}, wrongUsage("why knows the steps 1 to %d", len(course.Steps))
	case req.check || len(args) > 2:
		return request{}, wrongUsage("why takes a step, or a step and a line: %s", strings.Join(args, " "))
	}
	req.steps = []course.Step{s}
	if len(args) == 2 {
		file, line, ok := strings.Cut(args[1], ":")
		if !ok {
			file, line = course.LockFile, args[1]
		}
		if req.line, err = strconv.Atoi(line); err != nil || req.line < 1 {
			return request{}, wrongUsage("a line is LINE of lock.go, or FILE:LINE: %s", args[1])
		}
		req.file = file
	}
	return req, nil
}

// runWhy is the command.
func (t *tour) runWhy(ctx context.Context, req request) error {
	switch {
	case req.all:
		return t.runWhyAll(ctx, req.steps, req.file, req.line)
	case req.check:
		return t.runWhyCheck(ctx, 45*time.Second)
	case len(req.steps) > 1:
		all, err := t.readAllKnown()
		if err != nil {
			return err
		}
		return t.writeWhy(all, false)
	case req.line > 0:
		return t.runWhyLine(ctx, req.steps[0], req.file, req.line)
	}
	return t.runWhyStep(req.steps[0])
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
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

// known is what was found out about a step's mutants.
type known struct {
	Of      string   `json:"of"` // the files from which it was found out, as a hash
	Reasons []reason `json:"reasons"`
}

const tryThemAll = "go run ./docs/tour why -all"

// fingerprint is the hash of a step's lock and of what plays on it.
func (t *tour) fingerprint(s course.Step) (string, error) {
	sum := sha256.New()
	names := append(t.sources(s.Dir), course.NewFile)
	labs, err := filepath.Glob(t.path(s.Dir, "lab*_test.go"))
	if err != nil {
		return "", err
	}
	for _, lab := range labs {
		names = append(names, filepath.Base(lab))
	}
	for _, f := range s.Guarantees() {
		names = append(names, f.Name)
	}
	for _, name := range names {
		text, err := os.ReadFile(t.path(s.Dir, name))
		if err != nil {
			return "", err
		}
		sum.Write(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")))
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8]), nil
}

// readKnown returns what is known of a step's mutants. changed reports that its lock or
// its stories are not those from which it was found out; the mutants are the same.
func (t *tour) readKnown(s course.Step) (reasons []reason, changed bool, err error) {
	text, err := os.ReadFile(t.path("", whyFile(s)))
	if err != nil {
		return nil, false, fmt.Errorf("%w\ntry its changes: %s %s", err, tryThemAll, s.Arg())
	}
	var k known
	if err := json.Unmarshal(text, &k); err != nil {
		return nil, false, fmt.Errorf("cannot read %s: %w", whyFile(s), err)
	}
	now, err := t.fingerprint(s)
	if err != nil {
		return nil, false, err
	}
	f, err := mutant.Read(t.path(s.Dir, ""))
	if err != nil {
		return nil, false, err
	}
	stale := fmt.Errorf("%s is not about the lock as it is now; try its changes again: %s %s", whyFile(s), tryThemAll, s.Arg())
	if len(k.Reasons) != len(f.Mutants) {
		return nil, false, stale
	}
	for i, mu := range f.Mutants {
		if k.Reasons[i].Key() != mu.Key() {
			return nil, false, stale
		}
		k.Reasons[i].Mutant = mu
	}
	return k.Reasons, k.Of != now, t.excuse(s, k.Reasons)
}

// keepReasons writes what was found out, one mutant in a line.
func (t *tour) keepReasons(s course.Step, reasons []reason) error {
	of, err := t.fingerprint(s)
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
	file := t.path("", whyFile(s))
	text := fmt.Sprintf("{\"of\": %q, \"reasons\": [\n%s\n]}\n", of, strings.Join(lines, ",\n"))
	return errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(text), 0o666))
}

// excusesFile says of the mutants on which no story fails why that is so.
const excusesFile = whyDir + "/equivalent.txt"

// An excuse is one entry of that file:
//
//	steps 05-07: Lock.run: the change
//		why no one can see a difference
type excuse struct {
	from, to int
	key      string
	why      string
	line     int
}

func (t *tour) excuses() (list []excuse, err error) {
	text, err := os.ReadFile(t.path("", excusesFile))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	for i, line := range strings.Split(string(text), "\n") {
		switch {
		case strings.HasPrefix(line, "#") || strings.TrimSpace(line) == "":
		case strings.HasPrefix(line, "\t"):
			if list == nil {
				return nil, fmt.Errorf("%s:%d: a reason without a change", excusesFile, i+1)
			}
			e := &list[len(list)-1]
			e.why = strings.TrimSpace(e.why + " " + strings.TrimSpace(line))
		default:
			e := excuse{line: i + 1}
			head, key, ok := strings.Cut(line, ": ")
			if _, err := fmt.Sscanf(head, "steps %d-%d", &e.from, &e.to); err != nil {
				_, err = fmt.Sscanf(head, "step %d", &e.from)
				e.to, ok = e.from, ok && err == nil
			}
			if !ok {
				return nil, fmt.Errorf("%s:%d: an entry begins with \"step 05: \" or \"steps 05-08: \"", excusesFile, i+1)
			}
			e.key = key
			list = append(list, e)
		}
	}
	return list, err
}

// excuse says of the mutants that survive why, where that is known. An excuse that no
// survivor needs is an error.
func (t *tour) excuse(s course.Step, reasons []reason) error {
	list, err := t.excuses()
	if err != nil {
		return err
	}
	for _, e := range list {
		if s.N < e.from || s.N > e.to {
			continue
		}
		i := slices.IndexFunc(reasons, func(r reason) bool { return r.Key() == e.key })
		where := fmt.Sprintf("%s:%d", excusesFile, e.line)
		switch {
		case i < 0:
			return fmt.Errorf("%s: %s has no such change: %s", where, s.Subject(), e.key)
		case e.why == "":
			return fmt.Errorf("%s: the reason is missing", where)
		case reasons[i].Fate != survived:
			return fmt.Errorf("%s: on %s, %s fails: %s: delete the entry", where, s.Subject(), reasons[i].Story, e.key)
		}
		reasons[i].Fate, reasons[i].Says = equivalent, e.why
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
			reasons, err := m.tryAll(ctx, t, m.list)
			for _, r := range reasons {
				t.printf("%s %s\n  %s\n", r.Place(), sentence(r), r.Story)
			}
			return err
		}
		done := t.progress(fmt.Sprintf("trying %d changes of %s", len(m.list), s.Label()))
		reasons, err := m.tryAll(ctx, t, m.list)
		done()
		if err == nil {
			err = t.keepReasons(s, reasons)
		}
		if err != nil {
			return err
		}
		m.bin.remove()
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
// changed first, then of others, in an order that the seed gives, until the time has passed.
func (t *tour) runWhyCheck(ctx context.Context, seed uint64, budget time.Duration) error {
	if err := t.writeWhy(true); err != nil {
		return err
	}
	start := time.Now()
	steps := slices.Clone(course.Steps[:])
	random := rand.New(rand.NewPCG(seed, 0))
	random.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	changed := map[int]bool{}
	all := map[int][]reason{}
	for _, s := range slices.Clone(steps) {
		reasons, now, err := t.readKnown(s)
		if errors.Is(err, os.ErrNotExist) {
			steps = slices.DeleteFunc(steps, func(other course.Step) bool { return other.N == s.N })
			continue
		}
		if err != nil {
			return err
		}
		for _, r := range reasons {
			if r.Fate == survived {
				return fmt.Errorf("%s/%s: no story needs this: %s\n  write one and try again (%s %s %s), take it out, or say in %s why no one can see a difference",
					s.Dir, r.Place(), r.Key(), tryThemAll, s.Arg(), r.Place(), excusesFile)
			}
		}
		all[s.N], changed[s.N] = reasons, now
	}
	slices.SortStableFunc(steps, func(a, b course.Step) int {
		if changed[a.N] == changed[b.N] {
			return 0
		}
		return map[bool]int{true: -1, false: 1}[changed[a.N]]
	})
	for i, s := range steps {
		left := budget - time.Since(start)
		if left <= 0 || i > 0 && left < budget/4 {
			break
		}
		m, err := t.newMutants(ctx, s)
		if err != nil {
			return err
		}
		reasons := slices.DeleteFunc(all[s.N], func(r reason) bool { return r.Fate != byStory })
		random.Shuffle(len(reasons), func(i, j int) { reasons[i], reasons[j] = reasons[j], reasons[i] })
		n, err := t.again(ctx, m, reasons, start.Add(budget))
		if err != nil {
			return fmt.Errorf("%w\nthe seed was %d", err, seed)
		}
		t.printf("%s: on %d of %d changes the story that is kept for them fails (seed %d)\n", s.Label(), n, len(reasons), seed)
		m.bin.remove()
	}
	return nil
}

// again plays the kept stories until a time, and returns how many.
func (t *tour) again(ctx context.Context, m *mutants, reasons []reason, until time.Time) (n int, err error) {
	for _, r := range reasons {
		if time.Now().After(until) {
			break
		}
		res, err := m.replay(ctx, t, r, false)
		if err != nil {
			return n, err
		}
		// Of several things that are wrong, a story may meet either first.
		if res.verdict != failed && res.verdict != panicked && res.verdict != hung {
			return n, fmt.Errorf("%s/%s: %s no longer fails on this change: %s %s\n  try them again: %s %s",
				m.step.Dir, r.Place(), r.Story, r.Mutant, res.why, tryThemAll, m.step.Arg())
		}
		n++
	}
	return n, nil
}

// replay plays the story that is kept for a mutant; with sayIt, a few times if need be to
// hear the message that is kept.
func (m *mutants) replay(ctx context.Context, t *tour, r reason, sayIt bool) (res result, err error) {
	s := story{name: storyOf(r.Story)}
	for _, f := range m.step.Guarantees() {
		list, err := t.storiesOf(m.step.Dir, f.Name)
		if err != nil {
			return result{}, err
		}
		if i := slices.IndexFunc(list, func(other story) bool { return other.name == s.name }); i >= 0 {
			s = list[i]
		}
	}
	if s.file == "" {
		return result{}, fmt.Errorf("%s: no story %s; try the changes again: %s %s", m.step.Dir, s.name, tryThemAll, m.step.Arg())
	}
	// On some mutants, the order of the lock's goroutines decides: then the story fails at
	// times, soon, or in another place. On a busy machine, one that goes round and round may
	// not come to its end in time.
	for range 5 {
		results, err := m.play(ctx, r.Mutant, []story{s})
		if err != nil {
			return result{}, err
		}
		if res = results[0]; res.verdict == passed || res.verdict == timedOut {
			continue
		}
		if !sayIt || res.verdict != failed || alike(res.log.failing(res.name)[0].message()[0], r.Says) {
			break
		}
	}
	return res, nil
}

// runWhyLine shows what happens without one line.
func (t *tour) runWhyLine(ctx context.Context, s course.Step, file string, line int) error {
	if err := t.hasFile(s, file); err != nil {
		return err
	}
	reasons, _, err := t.readKnown(s)
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
	reasons = inFile(reasons, file)
	here := onLine(reasons, line)
	if here == nil {
		return errorf("%s/%s:%d has nothing that was taken out or changed:\n  %s\nThe next lines that have: %s",
			s.Dir, file, line, strings.TrimSpace(source[line-1]), near(reasons, line))
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

func inFile(reasons []reason, file string) []reason {
	return slices.DeleteFunc(slices.Clone(reasons), func(r reason) bool { return r.File != file })
}

// onLine returns the reasons of a line of their file, the plainest change first.
func onLine(reasons []reason, line int) (list []reason) {
	for _, r := range reasons {
		if r.Line == line {
			list = append(list, r)
		}
	}
	if list == nil { // the line of a statement that begins before it
		for _, r := range reasons {
			if r.First <= line && line <= r.Last && r.Last-r.First < 4 {
				list = append(list, r)
			}
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
func near(reasons []reason, line int) string {
	before, after := 0, 0
	for _, r := range reasons {
		if r.Line < line {
			before = max(before, r.Line)
		} else if after == 0 || r.Line < after {
			after = r.Line
		}
	}
	var list []string
	for _, n := range []int{before, after} {
		if n > 0 {
			list = append(list, strconv.Itoa(n))
		}
	}
	return strings.Join(list, ", ")
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
	res, err := m.replay(ctx, t, r, true)
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

// alike reports whether two messages differ in numbers only.
func alike(a, b string) bool {
	return digits.ReplaceAllString(a, "") == digits.ReplaceAllString(b, "")
}

var digits = regexp.MustCompile(`\d+`)

// runWhyStep shows the lock's files, each line with the story that needs it.
func (t *tour) runWhyStep(s course.Step) error {
	reasons, _, err := t.readKnown(s)
	if err != nil {
		return err
	}
	for _, file := range t.sources(s.Dir) {
		text, err := os.ReadFile(t.path(s.Dir, file))
		if err != nil {
			return err
		}
		t.strong("%s", file)
		here := inFile(reasons, file)
		for i, line := range lines(string(text)) {
			t.printf("%4d  %s\n", i+1, strings.ReplaceAll(line, "\t", "    "))
			if at := reasonsAt(here, i+1); len(at) > 0 {
				r := at[0]
				t.prose(strings.Repeat(" ", 8), "%s", t.paint(dim, "^ "+sentence(r)))
				if r.Fate == byStory {
					t.printf("%s\n", t.paint(dim, strings.Repeat(" ", 10)+r.Story))
				}
			}
		}
		t.printf("\n")
	}
	t.printf("%s\n", tallied(reasons))
	return nil
}

// reasonsAt is onLine without the lines that only continue a statement.
func reasonsAt(reasons []reason, line int) []reason {
	return slices.DeleteFunc(onLine(reasons, line), func(r reason) bool { return r.Line != line })
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
	if i := slices.Index(args, "-seed"); i >= 0 && req.check && i+1 < len(args) {
		seed, err := strconv.ParseUint(args[i+1], 10, 64)
		if err != nil {
			return request{}, wrongUsage("-seed takes a number: %s", args[i+1])
		}
		req.seed = seed
		args = slices.Delete(args, i, i+2)
	}
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
		if req.seed == 0 {
			req.seed = 1 + rand.Uint64N(1_000_000)
		}
		return t.runWhyCheck(ctx, req.seed, 45*time.Second)
	case len(req.steps) > 1:
		return t.writeWhy(false)
	case req.line > 0:
		return t.runWhyLine(ctx, req.steps[0], req.file, req.line)
	}
	return t.runWhyStep(req.steps[0])
}

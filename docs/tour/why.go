package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/mutant"
	"example.com/redislock-steps/docs/internal/trace"
)

// A fate is how the stories end on a mutant.
type fate string

const (
	byStory    fate = "story"      // one fails by its own assertion
	byPanic    fate = "panic"      // the lock panics in a story
	byHang     fate = "hang"       // the lock, or a goroutine of it, never comes to an end
	equivalent fate = "equivalent" // no one can see a difference, for a reason
	survived   fate = "survived"   // all pass, or none ended by an assertion
)

// A reason says why a place of a lock is as it is: what happens to the mutant.
type reason struct {
	mutant.Mutant
	Fate  fate   `json:"ending"`
	Story string `json:"story,omitempty"` // that fails and tells most
	Says  string `json:"says,omitempty"`  // its message, or why the mutant is equivalent
}

// mutants are those of a step, compiled, and its stories.
type mutants struct {
	step    course.Step
	bin     binary
	list    []mutant.Mutant
	stories []probe // those that tell most first: see explains
}

// A probe is a story, as it plays on the lock itself.
type probe struct {
	story
	place   int           // in the step's files
	plain   bool          // nothing goes wrong in it
	took    time.Duration // of a processor: a busy machine makes no difference
	rows    int           // of its timeline
	asks    int           // how many switches it comes by
	reaches map[int]bool  // mutants, by number
}

// mutantBuild is a step's guarantees with all mutants of its lock.
func (t *tour) mutantBuild(s course.Step) (build, []mutant.Mutant, error) {
	f, err := mutant.Read(t.path(s.Dir, ""))
	if err != nil {
		return build{}, nil, err
	}
	b := build{dir: s.Dir, name: "all changes of " + s.Label(), replace: map[string]string{}}
	b.leaveOut(course.BugFile, course.DemoFile, course.ExampleFile)
	dir, err := os.MkdirTemp(t.tmp, "mutants-")
	if err != nil {
		return build{}, nil, err
	}
	for name, text := range f.Files() {
		b.replace[name] = filepath.Join(dir, name)
		// Who waits for a mutex shall not stop the clock.
		if err := os.WriteFile(b.replace[name], playable(text), 0o666); err != nil {
			return build{}, nil, err
		}
	}
	return b, f.Mutants, nil
}

// newMutants compiles the mutants of a step.
func (t *tour) newMutants(ctx context.Context, s course.Step) (*mutants, error) {
	b, list, err := t.mutantBuild(s)
	if err != nil {
		return nil, err
	}
	bin, err := t.build(ctx, b)
	return &mutants{step: s, bin: bin, list: list}, err
}

// probe plays each story on the lock itself, to learn which mutants it comes by.
func (m *mutants) probe(ctx context.Context, t *tour) error {
	for _, f := range m.step.Guarantees() {
		list, err := t.storiesOf(m.step.Dir, f.Name)
		if err != nil {
			return err
		}
		for _, s := range list {
			m.stories = append(m.stories, probe{story: s, place: len(m.stories)})
		}
	}
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i := range m.stories {
		group.Go(func() (err error) {
			p := &m.stories[i]
			reached := filepath.Join(filepath.Dir(m.bin.path), p.name+".reached")
			log, err := m.bin.run(ctx, inVirtualTime, []string{mutant.ReachEnv + "=" + reached, "GOMAXPROCS=1"}, p.story)
			if err != nil {
				return err
			}
			if r := log.judge(p.story); r.verdict != passed {
				return fmt.Errorf("%s fails on %s as it is: %s\n%s", p.name, m.step.Subject(), r.why, log.raw)
			}
			told := log.find(p.name)
			p.took, p.rows, p.plain = log.work, rows(told), !goesWrong(told.records)
			all, err := numbers(reached)
			if err != nil {
				return err
			}
			p.asks, p.reaches = all[0], map[int]bool{}
			for _, n := range all[1:] {
				p.reaches[n] = true
			}
			return nil
		})
	}
	err := group.Wait()
	m.bin.failures = true
	slices.SortStableFunc(m.stories, explains)
	return err
}

// explains orders stories by what a reader learns from them about a line: more from one in
// which nothing else goes wrong, and from one that is short.
func explains(a, b probe) int {
	return cmp.Or(boolean(b.plain)-boolean(a.plain), cmp.Compare(a.rows, b.rows))
}

// goesWrong reports whether something goes wrong in a story, but for the time that passes.
func goesWrong(records []trace.Record) bool {
	return slices.ContainsFunc(records, func(r trace.Record) bool { return r.Kind == trace.Fault || r.Lost })
}

func numbers(file string) (list []int, err error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	for _, word := range strings.Fields(string(text)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, err
		}
		list = append(list, n)
	}
	return list, nil
}

// Stories up to fast play together on a mutant; those that take longer only when all of
// the others have passed, one by one.
const (
	fast     = 150 * time.Millisecond
	spell    = "8s"             // for stories on a mutant that never ends
	patience = 60 * time.Second // for all stories on a mutant
	enough   = 12               // stories that hang, when none of them fails by an assertion
)

// batches are the stories that come by a mutant: those that tell most first, because of
// those that fail the clearest is wanted.
func (m *mutants) batches(mu mutant.Mutant) (list [][]story) {
	size := 6
	var slow [][]story
	for _, p := range m.stories {
		switch {
		case !p.reaches[mu.N]:
		case p.took >= fast:
			slow = append(slow, []story{p.story})
		case list == nil || len(list[len(list)-1]) == size:
			size *= len(list) + 1 // the first stories fail on most mutants
			list = append(list, []story{p.story})
		default:
			list[len(list)-1] = append(list[len(list)-1], p.story)
		}
	}
	return append(list, slow...)
}

// try finds the story that fails on a mutant, and tells most about it.
func (m *mutants) try(ctx context.Context, mu mutant.Mutant) (reason, error) {
	r := reason{Mutant: mu, Fate: survived}
	batches := m.batches(mu)
	if batches == nil {
		r.Says = "no story comes here"
		return r, nil
	}
	var ends []string
	hangs := 0
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, batch := range batches {
		results, err := m.play(short, mu, batch)
		late := short.Err() != nil && ctx.Err() == nil
		if err != nil && !late {
			return r, err
		}
		if best, ok := m.clearest(results); ok && (r.Fate != byStory || !isBarren(best)) {
			r.Fate, r.Story, r.Says = byStory, best.log.failing(best.name)[0].name, best.log.failing(best.name)[0].message()[0]
			if !isBarren(best) {
				return r, nil
			}
		}
		for _, res := range results {
			switch res.verdict {
			case panicked:
				if r.Fate == survived {
					r.Fate, r.Story, r.Says = byPanic, res.name, res.why
					return r, nil
				}
			case hung, leaked, timedOut: // another story may have an assertion for it
				if hangs++; res.verdict == timedOut { // waits for a mutex, and that takes seconds
					hangs += enough / 2
				}
				if r.Fate == survived {
					r.Fate, r.Story, r.Says = byHang, res.name, res.why
				}
			case passed:
			default:
				ends = append(ends, res.name+": "+res.why)
			}
		}
		if late {
			ends = append(ends, "the others did not end in "+patience.String())
			break
		}
		if hangs >= enough {
			break
		}
	}
	if ends != nil && r.Fate == survived {
		r.Says = fmt.Sprintf("%d end without an assertion: %s", len(ends), ends[0])
	}
	return r, nil
}

// play runs stories on a mutant in one process, and the rest in another one when a story
// has broken that.
func (m *mutants) play(ctx context.Context, mu mutant.Mutant, list []story) (results []result, err error) {
	limit := 1_000_000
	if m.stories == nil { // no one has counted how often they ask
		limit *= 20
	}
	for _, p := range m.stories {
		if slices.Contains(list, p.story) {
			limit += 4 * p.asks
		}
	}
	env := []string{mutant.Env + "=" + strconv.Itoa(mu.N), mutant.LimitEnv + "=" + strconv.Itoa(limit), "GOMAXPROCS=1"}
	for len(list) > 0 {
		log, err := m.bin.run(ctx, spell, env, list...)
		if err != nil {
			return results, err
		}
		ends := log.endings(list, m.step.Dir)
		if len(ends) == 0 {
			return nil, fmt.Errorf("no story has begun on a change:\n%s", log.raw)
		}
		for _, r := range ends {
			results = append(results, r)
			list = slices.DeleteFunc(slices.Clone(list), func(s story) bool { return s.name == r.name })
		}
	}
	return results, nil
}

// endings returns the results of the stories that have begun. dir is that of the lock.
func (tr transcript) endings(list []story, dir string) (results []result) {
	ended := tr
	ended.exit = 0 // if the process has crashed, that was the story that has not ended
	for _, s := range list {
		t := tr.find(s.name)
		switch {
		case t == nil:
		case t.status != "":
			results = append(results, ended.judge(s))
		default:
			r := tr.judge(s)
			if r.verdict == crashed {
				r.cutShort(t, dir)
			}
			results = append(results, r)
		}
	}
	return results
}

// panicked is the verdict on a story in which the lock has panicked. Package testing does
// not tell it from other crashes.
const panicked verdict = -1

// cutShort says what it means for the lock that a story has not come to its end.
func (r *result) cutShort(t *test, dir string) {
	crash := r.log.crash()
	e := endingOf(r.log.raw, dir, r.story, r.log.exit)
	switch {
	case t.asserts(): // the bubble was stuck after that: a goroutine stayed behind
		r.verdict, t.status = failed, "fail"
	case strings.HasPrefix(crash, "panic: "+mutant.Spins):
		r.verdict, r.why = hung, "the lock goes round and round"
	case e.lines == nil: // it was not in the lock
	case e.kind == hangs:
		r.verdict, r.why = hung, "the lock waits, and nothing is left that could wake it"
	case e.kind == leaks:
		r.verdict, r.why = leaked, "a goroutine of the lock never ends"
	default:
		first, _, _ := strings.Cut(crash, "\n")
		first, _, _ = strings.Cut(strings.TrimPrefix(first, "panic: "), " [recovered")
		r.verdict, r.why = panicked, "the lock panics: "+first
	}
}

// rows is how long a timeline is. A story with variants (subtests) has none itself.
func rows(t *test) int {
	if t.timeline == "" {
		return 50
	}
	return strings.Count(t.timeline, "\n")
}

// clearest returns the failed result that tells most. A story that has no timeline is long.
func (m *mutants) clearest(results []result) (best result, ok bool) {
	probeOf := func(r result) probe {
		return m.stories[slices.IndexFunc(m.stories, func(p probe) bool { return p.name == r.name })]
	}
	rowsOf := func(r result) int { return rows(r.log.failing(r.name)[0]) }
	for _, r := range results {
		if r.verdict != failed {
			continue
		}
		if !ok || cmp.Or(barren(r)-barren(best), boolean(probeOf(best).plain)-boolean(probeOf(r).plain),
			rowsOf(r)-rowsOf(best), probeOf(r).place-probeOf(best).place) < 0 {
			best, ok = r, true
		}
	}
	return best, ok
}

// isBarren reports whether a story fails by an assertion without its own message.
func isBarren(r result) bool { return noMessage.MatchString(r.log.failing(r.name)[0].message()[0]) }

func barren(r result) int { return boolean(isBarren(r)) }

var noMessage = regexp.MustCompile(`^(Received unexpected error|An error is expected|Target error|Expected error|Not equal|Should |Error )`)

// tryAll tries mutants on all processors.
func (m *mutants) tryAll(ctx context.Context, t *tour, list []mutant.Mutant) ([]reason, error) {
	reasons := make([]reason, len(list))
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i, mu := range list {
		group.Go(func() (err error) {
			reasons[i], err = m.try(ctx, mu)
			return err
		})
	}
	return reasons, group.Wait()
}

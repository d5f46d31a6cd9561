package main

import (
	"cmp"
	"context"
	"encoding/json"
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
	plain   bool  // nothing goes wrong in it
	rows    int   // of its timeline
	reaches []int // mutants, by number
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
		if err := os.WriteFile(b.replace[name], asMine(name, text), 0o666); err != nil {
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
			m.stories = append(m.stories, probe{story: s})
		}
	}
	group := onAllProcessors()
	for i := range m.stories {
		group.Go(func() error {
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
			p.rows, p.plain = rows(told), !slices.ContainsFunc(told.records, goesWrong)
			text, err := os.ReadFile(reached)
			if err != nil {
				return err
			}
			return json.Unmarshal(text, &p.reaches)
		})
	}
	err := group.Wait()
	slices.SortStableFunc(m.stories, explains)
	return err
}

func onAllProcessors() *errgroup.Group {
	group := new(errgroup.Group)
	group.SetLimit(runtime.NumCPU())
	return group
}

// explains orders stories by what a reader learns from them about a line: more from one in
// which nothing else goes wrong, and from one that is short.
func explains(a, b probe) int {
	return cmp.Or(boolean(b.plain)-boolean(a.plain), cmp.Compare(a.rows, b.rows))
}

// goesWrong reports whether something goes wrong, but for the time that passes.
func goesWrong(r trace.Record) bool { return r.Kind == trace.Fault || r.Lost }

const (
	spell    = "8s"             // for a story on a mutant that never ends
	patience = 60 * time.Second // for all stories on a mutant
	enough   = 12               // stories that hang, when none of them fails by an assertion
)

// try finds the story that fails on a mutant, and tells most about it: of those that fail
// by an assertion, the first with a message that only it has.
func (m *mutants) try(ctx context.Context, mu mutant.Mutant) (reason, error) {
	r := reason{Mutant: mu, Fate: survived}
	short, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	played, hangs := 0, 0
	for _, p := range m.stories {
		if !slices.Contains(p.reaches, mu.N) {
			continue
		}
		played++
		res, err := m.play(short, mu, p.story)
		if short.Err() != nil && ctx.Err() == nil {
			res.verdict, res.why, err = crashed, "the stories do not end in "+patience.String(), nil
			hangs = enough
		}
		if err != nil {
			return r, err
		}
		switch res.verdict {
		case failed:
			fails := res.log.failing(res.name)[0]
			says := fails.message()[0]
			own := !noMessage.MatchString(says)
			if own || r.Fate != byStory {
				r.Fate, r.Story, r.Says = byStory, fails.name, says
			}
			if own {
				return r, nil
			}
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
			if r.Fate == survived {
				r.Says = "it ends without an assertion: " + res.name + ": " + res.why
			}
		}
		if hangs >= enough {
			break
		}
	}
	if played == 0 {
		r.Says = "no story comes here"
	}
	return r, nil
}

var noMessage = regexp.MustCompile(`^(Received unexpected error|An error is expected|Target error|Expected error|Not equal|Should |Error )`)

// play runs a story on a mutant.
func (m *mutants) play(ctx context.Context, mu mutant.Mutant, s story) (result, error) {
	log, err := m.bin.run(ctx, spell, []string{mutant.Env + "=" + strconv.Itoa(mu.N), "GOMAXPROCS=1"}, s)
	if err != nil {
		return result{}, err
	}
	t := log.find(s.name)
	switch {
	case t == nil:
		return result{}, fmt.Errorf("%s has not begun on a change:\n%s", s.name, log.raw)
	case t.status != "":
		log.exit = 0 // what crashed after its end was not the story
	}
	r := log.judge(s)
	if r.verdict == crashed {
		r.cutShort(t)
	}
	return r, nil
}

// panicked is the verdict on a story in which the lock has panicked. Package testing does
// not tell it from other crashes.
const panicked verdict = -1

// cutShort says what it means for the lock that a story has not come to its end.
func (r *result) cutShort(t *test) {
	crash := r.log.crash()
	e := endingOf(r.log.raw, r.story, r.log.exit)
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

// tryAll tries all mutants on all processors.
func (m *mutants) tryAll(ctx context.Context) ([]reason, error) {
	reasons := make([]reason, len(m.list))
	group := onAllProcessors()
	for i, mu := range m.list {
		group.Go(func() (err error) {
			reasons[i], err = m.try(ctx, mu)
			return err
		})
	}
	return reasons, group.Wait()
}

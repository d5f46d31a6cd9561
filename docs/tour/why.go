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

// A study is a step's lock with its mutants, and what becomes of them.
type study struct {
	Step    course.Step `json:"-"`
	changed bool        // its lock or its stories since then; the mutants are the same
	lock    *mutant.Lock
	bin     binary  // of all mutants: see build
	stories []probe // those that tell most first: see probe

	Of      string   `json:"of"` // the files from which it was found out, as a hash
	Reasons []reason `json:"reasons"`
}

// A probe is a story, as it plays on the lock itself.
type probe struct {
	story
	plain   bool  // nothing goes wrong in it
	rows    int   // of its timeline
	reaches []int // mutants, by number
}

// newStudy finds the mutants of a step.
func (t *tour) newStudy(s course.Step) (*study, error) {
	lock, err := mutant.Read(t.path(s.Dir, ""))
	if err != nil {
		return nil, err
	}
	of, err := hashOf(t.root, s.Dir, nil)
	return &study{Step: s, lock: lock, Of: of}, err
}

// build compiles a step's guarantees with all mutants of its lock.
func (k *study) build(ctx context.Context, t *tour) error {
	b := build{dir: k.Step.Dir, name: "all changes of " + k.Step.Label(), replace: map[string]string{}}
	b.leaveOut(course.BugFile, course.MistakesFile, course.ExampleFile)
	dir, err := os.MkdirTemp(t.tmp, "mutants-")
	if err != nil {
		return err
	}
	for name, text := range k.lock.Files {
		b.replace[name] = filepath.Join(dir, name)
		// Who waits for a mutex shall not stop the clock.
		if err := os.WriteFile(b.replace[name], asMine(name, text), 0o666); err != nil {
			return err
		}
	}
	k.bin, err = t.build(ctx, b)
	return err
}

// probe plays each story on the lock itself, to learn which mutants it comes by. It puts
// first what tells a reader most: a story in which nothing goes wrong but what the mutant
// does, and of those a short one.
func (k *study) probe(ctx context.Context, t *tour) error {
	files := k.Step.Guarantees()
	for _, f := range course.Hardening {
		if t.exists(k.Step.Dir, f.Name) {
			files = append(files, f)
		}
	}
	list, err := t.stories(k.Step.Dir, files)
	if err != nil {
		return err
	}
	for _, s := range list {
		k.stories = append(k.stories, probe{story: s})
	}
	err = onAllProcessors(k.stories, func(p *probe) error {
		log, err := k.bin.run(ctx, inVirtualTime, []string{"GOMAXPROCS=1"}, p.story)
		if err != nil {
			return err
		}
		if r := log.judge(p.story); r.verdict != passed {
			return fmt.Errorf("%s fails on %s as it is: %s\n%s", p.name, k.Step.Subject(), r.why, log.raw)
		}
		told := log.find(p.name)
		p.rows, p.plain = strings.Count(told.timeline, "\n"), !slices.ContainsFunc(told.records, goesWrong)
		if p.rows == 0 {
			p.rows = 50 // it has variants (subtests), and none itself
		}
		_, list, _ := strings.Cut(log.raw, mutant.Reached)
		return json.NewDecoder(strings.NewReader(list)).Decode(&p.reaches)
	})
	slices.SortStableFunc(k.stories, func(a, b probe) int {
		return cmp.Or(boolean(b.plain)-boolean(a.plain), cmp.Compare(a.rows, b.rows))
	})
	return err
}

// goesWrong reports whether something goes wrong, but for the time that passes.
func goesWrong(r trace.Record) bool { return r.Kind == trace.Fault || r.Lost }

// onAllProcessors calls do for all of a list, and returns the first error.
func onAllProcessors[T any](list []T, do func(*T) error) error {
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i := range list {
		group.Go(func() error { return do(&list[i]) })
	}
	return group.Wait()
}

const (
	spell  = "8s" // for a story on a mutant that never ends
	enough = 12   // stories that hang, when none of them fails by an assertion
)

// try finds the story that fails on a mutant, and tells most about it: of those that fail
// by an assertion, the first with a message that only it has.
func (k *study) try(ctx context.Context, r *reason) error {
	r.Fate = survived
	hangs := 0
	for _, p := range k.stories {
		if !slices.Contains(p.reaches, r.N) {
			continue
		}
		res, err := k.play(ctx, spell, r.Mutant, p.story)
		if err != nil {
			return err
		}
		told := reason{r.Mutant, survived, "", "it ends without an assertion: " + res.name + ": " + res.why}
		switch res.verdict {
		case passed:
			continue
		case failed:
			told = reason{r.Mutant, byStory, res.log.failing(res.name)[0].name, res.message()}
		case panicked:
			told = reason{r.Mutant, byPanic, res.name, res.why}
		case hung, leaked, timedOut: // another story may have an assertion for it
			told = reason{r.Mutant, byHang, res.name, res.why}
			if hangs++; res.verdict == timedOut { // waits for a mutex, and that takes seconds
				hangs += enough / 2
			}
		}
		own := told.Fate == byStory && !noMessage.MatchString(told.Says)
		ends := own || told.Fate == byPanic && r.Fate == survived || hangs >= enough
		if own || r.Fate == survived || told.Fate == byStory && r.Fate != byStory {
			*r = told
		}
		if ends {
			break
		}
	}
	return nil
}

var noMessage = regexp.MustCompile(`^(Received unexpected error|An error is expected|Target error|Expected error|Not equal|Should |Error )`)

// play runs a story on a mutant.
func (k *study) play(ctx context.Context, limit string, mu mutant.Mutant, s story) (result, error) {
	log, err := k.bin.run(ctx, limit, []string{mutant.Env + "=" + strconv.Itoa(mu.N), "GOMAXPROCS=1"}, s)
	if err != nil {
		return result{}, err
	}
	t := log.find(s.name)
	if t == nil {
		return result{}, fmt.Errorf("%s has not begun on a change:\n%s", s.name, log.raw)
	}
	if t.status != "" {
		log.exit = 0 // what crashed after its end was not the story
	}
	r := log.judge(s)
	if r.verdict == crashed {
		r.cutShort(t)
	}
	return r, nil
}

// replay plays the story that is kept for a mutant, a few times if need be.
func (k *study) replay(ctx context.Context, r reason) (res result, err error) {
	limit := inVirtualTime // a busy machine needs long until one that goes round and round fails
	if r.Fate == byHang {
		limit = spell
	}
	// On some mutants, the order of the lock's goroutines decides: then the story fails at times.
	for range 5 {
		res, err = k.play(ctx, limit, r.Mutant, story{name: storyOf(r.Story)})
		if err != nil || res.verdict != passed {
			break
		}
	}
	return res, err
}

// message is the first thing that a story says which fails.
func (r result) message() string { return r.log.failing(r.name)[0].message()[0] }

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

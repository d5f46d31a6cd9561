package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/mutant"
	"example.com/redislock-steps/docs/internal/story"
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
	Fate   fate
	Story  string       // that fails and tells most
	Says   string       // its message, or why the mutant is equivalent
	result story.Result // of that story
}

// A study is a step's lock with its mutants, and what becomes of them.
type study struct {
	Step    course.Step
	Reasons []reason
	lock    *mutant.Lock
	bin     story.Binary // of all mutants: see build
	stories []probe      // those that tell most first: see probe
	untrue  []string     // excuses that no mutant needs

	// Of why -all, which asks whether a story fails, not which tells most.
	first   bool
	mu      sync.Mutex
	noticed map[string]int // mutants, by story
}

// A probe is a story, as it plays on the lock itself.
type probe struct {
	story.Story
	plain   bool  // nothing goes wrong in it
	rows    int   // of its timeline
	reaches []int // mutants, by number
}

// newStudy finds the mutants of a step.
func (t *tour) newStudy(s course.Step) (*study, error) {
	lock, err := mutant.Read(t.Path(s.Dir, ""))
	if err != nil {
		return nil, err
	}
	k := &study{Step: s, lock: lock, noticed: map[string]int{}}
	for _, mu := range lock.Mutants {
		k.Reasons = append(k.Reasons, reason{Mutant: mu})
	}
	return k, nil
}

// at returns what begins on a line.
func (k *study) at(file string, line int) (here []*reason) {
	for i := range k.Reasons {
		if r := &k.Reasons[i]; r.File == file && r.Line == line {
			here = append(here, r)
		}
	}
	return here
}

// tryAll tries some mutants of a step, and excuses those that survive.
func (k *study) tryAll(ctx context.Context, t *tour, list []*reason) error {
	if err := k.build(ctx, t); err != nil {
		return err
	}
	defer k.bin.Remove()
	defer t.progress(say("trying %s of %s", count(len(list), "change"), k.Step.Label()))()
	if err := k.probe(ctx, t); err != nil {
		return err
	}
	if err := onAllProcessors(list, func(r **reason) error { return k.try(ctx, *r) }); err != nil {
		return err
	}
	return t.excuse(k)
}

// build compiles a step's guarantees with all mutants of its lock.
func (k *study) build(ctx context.Context, t *tour) error {
	b := story.Build{Dir: k.Step.Dir, Name: "all changes of " + k.Step.Label(), Replace: map[string]string{}}
	b.LeaveOut(course.BugFile, course.ExampleFile)
	dir, err := os.MkdirTemp(t.Tmp, "mutants-")
	if err != nil {
		return err
	}
	for name, text := range k.lock.Files {
		b.Replace[name] = filepath.Join(dir, name)
		// Who waits for a mutex shall not stop the clock.
		if err := os.WriteFile(b.Replace[name], asMine(name, text), 0o666); err != nil {
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
		if f.From <= k.Step.N && k.Step.N <= f.To {
			files = append(files, f)
		}
	}
	list, err := t.stories(k.Step.Dir, files)
	if err != nil {
		return err
	}
	for _, s := range list {
		k.stories = append(k.stories, probe{Story: s})
	}
	err = onAllProcessors(k.stories, func(p *probe) error {
		log, err := k.bin.Run(ctx, story.InVirtualTime, []string{"GOMAXPROCS=1"}, p.Story)
		if err != nil {
			return err
		}
		if r := log.Judge(p.Story); r.Verdict != story.Passed {
			return fmt.Errorf("%s fails on %s as it is: %s\n%s", p.Name, k.Step.Subject(), whyNot(r), log.Raw)
		}
		told := log.Find(p.Name)
		p.rows, p.plain = strings.Count(told.Timeline, "\n"), !slices.ContainsFunc(told.Records, goesWrong)
		if p.rows == 0 {
			p.rows = 50 // it has variants (subtests), and none itself
		}
		_, list, _ := strings.Cut(log.Raw, mutant.Reached)
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
	var group sync.WaitGroup
	errs := make([]error, len(list))
	free := make(chan struct{}, runtime.NumCPU())
	for i := range list {
		free <- struct{}{}
		group.Go(func() { errs[i] = do(&list[i]); <-free })
	}
	group.Wait()
	return cmp.Or(errs...)
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
	for _, p := range k.order() {
		if !slices.Contains(p.reaches, r.N) {
			continue
		}
		res, err := k.play(ctx, spell, r.Mutant, p.Story)
		if err != nil {
			return err
		}
		told := reason{r.Mutant, survived, "", "it ends without an assertion: " + res.Name + ": " + whyNot(res), res}
		switch res.Verdict {
		case story.Passed:
			continue
		case story.Failed:
			told = reason{r.Mutant, byStory, res.Log.Failing(res.Name)[0].Name, message(res), res}
		case panicked:
			told = reason{r.Mutant, byPanic, res.Name, res.Detail, res}
		case hung, leaked, story.TimedOut: // another story may have an assertion for it
			told = reason{r.Mutant, byHang, res.Name, res.Detail, res}
			if hangs++; res.Verdict == story.TimedOut { // waits for a mutex, and that takes seconds
				hangs += enough / 2
			}
		}
		own := told.Fate == byStory && !noMessage.MatchString(told.Says)
		ends := own || k.first && told.Fate != survived && res.Verdict != story.TimedOut || told.Fate == byPanic && r.Fate == survived || hangs >= enough
		if own || r.Fate == survived || told.Fate == byStory && r.Fate != byStory {
			*r = told
		}
		if ends {
			k.count(p)
			break
		}
	}
	return nil
}

// order is that in which stories are tried: of why -all, those first that have noticed most
// so far.
func (k *study) order() []probe {
	if !k.first {
		return k.stories
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	list := slices.Clone(k.stories)
	slices.SortStableFunc(list, func(a, b probe) int { return k.noticed[b.Name] - k.noticed[a.Name] })
	return list
}

func (k *study) count(p probe) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.noticed[p.Name]++
}

var noMessage = regexp.MustCompile(`^(Received unexpected error|An error is expected|Target error|Expected error|Not equal|Should |Error )`)

// play runs a story on a mutant.
func (k *study) play(ctx context.Context, limit string, mu mutant.Mutant, s story.Story) (story.Result, error) {
	log, err := k.bin.Run(ctx, limit, []string{mutant.Env + "=" + strconv.Itoa(mu.N), "GOMAXPROCS=1"}, s)
	if err != nil {
		return story.Result{}, err
	}
	t := log.Find(s.Name)
	if t == nil {
		return story.Result{}, fmt.Errorf("%s has not begun on a change:\n%s", s.Name, log.Raw)
	}
	if t.Status != "" {
		log.Exit = 0 // what crashed after its end was not the story
	}
	r := log.Judge(s)
	if r.Verdict == story.Crashed {
		cutShort(&r, t)
	}
	return r, nil
}

// message is the first thing that a story says which fails.
func message(r story.Result) string { return r.Log.Failing(r.Name)[0].Message()[0] }

// panicked is the verdict on a story in which the lock has panicked. Package testing does
// not tell it from other crashes.
const panicked story.Verdict = -1

// cutShort says what it means for the lock that a story has not come to its end.
func cutShort(r *story.Result, t *story.Test) {
	crash := r.Log.Crash()
	e := endingOf(r.Log.Raw, r.Story, r.Log.Exit)
	switch {
	case t.Asserts(): // the bubble was stuck after that: a goroutine stayed behind
		r.Verdict, t.Status = story.Failed, "fail"
	case strings.HasPrefix(crash, "panic: "+mutant.Spins):
		r.Verdict, r.Detail = hung, "the lock goes round and round"
	case e.lines == nil: // it was not in the lock
	case e.kind == hangs:
		r.Verdict, r.Detail = hung, "the lock waits, and nothing is left that could wake it"
	case e.kind == leaks:
		r.Verdict, r.Detail = leaked, "a goroutine of the lock never ends"
	default:
		first, _, _ := strings.Cut(crash, "\n")
		first, _, _ = strings.Cut(strings.TrimPrefix(first, "panic: "), " [recovered")
		r.Verdict, r.Detail = panicked, "the lock panics: "+first
	}
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

// excusesFile says of the mutants on which no story fails why that is so:
//
//	steps 05-07: Lock.run: the change
//		why no one can see a difference, or "by chance", and what decides whether a story does
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
			k.untrue = append(k.untrue, fmt.Sprintf("%s: %s has no such change: %s", excusesFile, k.Step.Subject(), entry[3]))
			continue
		}
		switch of := &k.Reasons[n]; of.Fate {
		case survived:
			of.Fate, of.Says = equivalent, strings.Join(strings.Fields(entry[4]), " ")
		case "": // not tried
		default:
			if !strings.HasPrefix(entry[4], "\tby chance: ") {
				k.untrue = append(k.untrue, fmt.Sprintf("%s: on %s, %s fails: %s: delete the entry", excusesFile, k.Step.Subject(), of.Story, entry[3]))
			}
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

// Noticed is how many changes do not get by.
func (k *study) Noticed() int { return k.Count(byStory) + k.Count(byPanic) + k.Count(byHang) }

// tally says how many mutants ended how.
func (k *study) tally() string {
	return fmt.Sprintf("%d changes: on %d a story fails, on %d the lock panics, on %d it hangs, %d make no difference, %d survive",
		len(k.Reasons), k.Count(byStory), k.Count(byPanic), k.Count(byHang), k.Count(equivalent), k.Count(survived))
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

// whyDir has the page on what was found, and the reasons of what no story notices.
const whyDir = "docs/read/why"

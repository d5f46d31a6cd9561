// Why asks of each statement and each condition of a step's lock why it is there. It changes one at
// a time, and plays the stories of the step on the result (mutation testing):
//
//	go run -C docs/keep ./why [-v] N
//
// It prints the step's row of the table in docs/read/how-we-know.md: how many changes, and on how
// many a story fails, the lock panics, it hangs, and nothing is different. With -v, it prints a
// row for each change as well. It fails if all stories pass on a change, unless equivalent.txt says
// why none can fail; and if one fails anyway, unless that is by chance. Step 01 takes seconds, step
// 08 many minutes.
package main

import (
	"bytes"
	"cmp"
	"context"
	_ "embed"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

func main() {
	verbose := flag.Bool("v", false, "print what becomes of each change")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, flag.Arg(0), *verbose); err != nil {
		fmt.Fprintf(os.Stderr, "why: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, arg string, verbose bool) error {
	step, err := course.Parse(arg)
	if err != nil || step.IsEpilogue() {
		return fmt.Errorf("which lock? why N, 1 to %d", len(course.Steps))
	}
	b, ctx, err := story.NewBuilder(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	k := &study{step: step}
	if err := k.try(ctx, b); err != nil {
		return err
	}
	err = k.excuse(excuses)
	for _, m := range k.mutants {
		if verbose {
			fmt.Printf("| %s:%d | %s | %s | %s |\n", m.file, m.line, m.name, m.story, m.says)
		}
	}
	fmt.Printf("| %02d | %d | %d | %d | %d | %d |\n", step.N, len(k.mutants), k.count(byStory), k.count(byPanic), k.count(byHang), k.count(equivalent))
	return err
}

// A study is a step's lock with its mutants.
type study struct {
	step    course.Step
	mutants []mutant
	bin     story.Binary // with all of them
	stories []probe
}

// A probe is a story, as it plays on the lock itself.
type probe struct {
	story.Story
	reaches []string // mutants, by number
	faults  int      // 1 if anything goes wrong in it, but for the time that passes
	rows    int      // of its timeline
}

// A fate is how the stories end on a mutant.
type fate int

const (
	survives   fate = iota // all pass, or none has ended in a way that counts
	byStory                // one fails by its own assertion
	byPanic                // the lock panics in one
	byHang                 // the lock, or a goroutine of it, never comes to an end
	equivalent             // all pass, for a reason
)

// try plays the stories on all mutants.
func (k *study) try(ctx context.Context, b *story.Builder) (err error) {
	if err := k.build(ctx, b); err != nil {
		return err
	}
	err = inParallel(k.stories, func(p *probe) error {
		r, err := k.bin.Alone(ctx, story.InVirtualTime, []string{"GOMAXPROCS=1"}, p.Story)
		if err == nil && r.Verdict != story.Passed {
			err = fmt.Errorf("%s fails on the lock as it is:\n%s", p.Name, r.Log.Raw)
		}
		_, list, _ := strings.Cut(r.Log.Raw, reached)
		list, _, _ = strings.Cut(list, "\n")
		p.reaches, p.rows = strings.Fields(list), 50
		if told := r.Log.Find(p.Name); err == nil && told.Timeline != "" { // else it has variants
			p.rows = strings.Count(told.Timeline, "\n")
			if slices.ContainsFunc(told.Records, func(r trace.Record) bool { return r.Kind == trace.Fault || r.Lost }) {
				p.faults = 1
			}
		}
		return err
	})
	// What tells most comes first: what goes wrong is only what the mutant does, and it is short.
	slices.SortStableFunc(k.stories, func(a, b probe) int { return cmp.Or(a.faults-b.faults, a.rows-b.rows) })
	if err != nil {
		return err
	}
	return inParallel(k.mutants, func(m *mutant) error { return k.tryOne(ctx, m) })
}

// build compiles the step's stories with all mutants of its lock.
func (k *study) build(ctx context.Context, b *story.Builder) error {
	list, files, err := mutants(b.Path(k.step.Dir, ""))
	if err != nil {
		return err
	}
	k.mutants = list
	of := story.Green(k.step)
	of.LeaveOut(course.BugFile, course.ExampleFile)
	for name, text := range files {
		of.Replace[name] = filepath.Join(b.Tmp, name)
		// Who waits for a mutex shall not stop the clock.
		text = bytes.Replace(text, []byte("\t\"sync\"\n"), []byte("\tsync \""+course.Module+"/docs/tour/sync\"\n"), 1)
		err = cmp.Or(err, os.WriteFile(of.Replace[name], text, 0o666))
	}
	for _, f := range append(k.step.Guarantees(), course.Hardening...) {
		if k.step.N < f.From || k.step.N > f.To {
			continue
		}
		tests, wrong := b.Stories(k.step.Dir, f.Name)
		err = cmp.Or(err, wrong)
		for _, t := range tests {
			k.stories = append(k.stories, probe{Story: t})
		}
	}
	if err == nil {
		k.bin, err = b.Compile(ctx, of)
	}
	return err
}

// inParallel calls do for all of a list, and returns the first error.
func inParallel[T any](list []T, do func(*T) error) error {
	var g errgroup.Group
	g.SetLimit(runtime.NumCPU())
	for i := range list {
		g.Go(func() error { return do(&list[i]) })
	}
	return g.Wait()
}

// spell is how long a story may take on a mutant.
const spell = "8s"

// tryOne plays the stories that come by a mutant, until one notices it. If one takes all its time,
// another may still say why.
func (k *study) tryOne(ctx context.Context, m *mutant) error {
	slow, n := 0, strconv.Itoa(m.n)
	for _, p := range k.stories {
		if !slices.Contains(p.reaches, n) {
			continue
		}
		log, err := k.bin.Run(ctx, spell, []string{env + "=" + n, "GOMAXPROCS=1"}, p.Story)
		if err != nil {
			return err
		}
		f, says := judge(k.step.Dir, log, p.Story)
		if says != "" && (m.fate == survives || f == byStory) {
			m.fate, m.story, m.says = f, p.Name, says
		}
		if says == noEnd {
			slow++
		}
		if f != survives && (says != noEnd || slow > 1) {
			break
		}
	}
	return nil
}

const noEnd = "it does not end"

// judge says how a story has ended on a mutant of the lock in a folder. If it says nothing, the
// story has passed.
func judge(dir string, log story.Transcript, s story.Story) (f fate, says string) {
	t := log.Find(s.Name)
	if t == nil {
		return survives, "it has not begun"
	}
	if t.Status != "" {
		log.Exit = 0 // what crashed after its end was not the story
	}
	r, crash := log.Judge(s), log.Crash()
	first, _, _ := strings.Cut(strings.TrimPrefix(strings.TrimSpace(crash), "panic: "), "\n")
	switch {
	case r.Verdict == story.Passed:
		return survives, ""
	case r.Verdict == story.Failed:
		return byStory, log.Failing(s.Name)[0].Message()[0]
	case r.Verdict == story.TimedOut:
		return byHang, noEnd
	case r.Verdict == story.Crashed && t.Asserts(): // a goroutine stayed behind after that
		return byStory, t.Message()[0]
	case strings.HasPrefix(first, spins):
		return byHang, "the lock goes round and round"
	case r.Verdict == story.Crashed && inLock(dir, crash, s.Name):
		if strings.Contains(first, deadlock) {
			return byHang, "the lock or a goroutine of it waits, and nothing is left that could wake it"
		}
		first, _, _ = strings.Cut(first, " [recovered")
		return byPanic, "the lock panics: " + first
	}
	return survives, "it ends without an assertion: " + r.Detail
}

const deadlock = "deadlock: "

// inLock reports whether the lock in a folder has crashed: it panics, it waits in the story, or
// a goroutine that it has started is left.
func inLock(dir, crash, story string) bool {
	stacks := strings.Split(crash, "\n\n")
	left := strings.Contains(crash, deadlock+"main bubble goroutine has exited")
	waits := strings.Contains(crash, deadlock+"all goroutines in bubble are blocked")
	if waits {
		stacks = slices.DeleteFunc(stacks, func(stack string) bool {
			head, _, _ := strings.Cut(stack, "\n")
			return !strings.Contains(head, "synctest bubble")
		})
		left = !slices.ContainsFunc(stacks, func(stack string) bool {
			does, _, _ := strings.Cut(stack, "\ncreated by ")
			return (strings.Contains(does, "."+story+".") || strings.Contains(does, ".inLab.")) && !strings.Contains(does, "(*lab).close")
		})
	}
	here := regexp.MustCompile("/" + dir + "/[a-z]+\\.go:") // tests have a _ in their names
	return slices.ContainsFunc(stacks, func(stack string) bool {
		does, created, _ := strings.Cut(stack, "\ncreated by ")
		timer := strings.HasPrefix(created, "time.goFunc") || strings.HasPrefix(created, "context.")
		switch {
		case left && !timer:
			stack = created
		case left, waits:
			stack = does
		}
		return here.MatchString(stack)
	})
}

//go:embed equivalent.txt
var excuses string

var excuseEntry = regexp.MustCompile(`(?m)^steps? (\d+)(?:-(\d+))?: (.+)\n((?:\t.+\n)+)`)

// excuse gives the mutants that no story notices their reasons, and names those that have none. A
// reason that no mutant needs is wrong as well.
func (k *study) excuse(text string) error {
	var wrong []error
	add := func(format string, args ...any) {
		wrong = append(wrong, fmt.Errorf(k.step.Label()+": "+format, args...))
	}
	for _, entry := range excuseEntry.FindAllStringSubmatch(text, -1) {
		first, _ := strconv.Atoi(entry[1])
		last, _ := strconv.Atoi(cmp.Or(entry[2], entry[1]))
		if k.step.N < first || k.step.N > last {
			continue
		}
		i := slices.IndexFunc(k.mutants, func(m mutant) bool { return m.name == entry[3] })
		switch {
		case i < 0:
			add("equivalent.txt has a change that the lock has not: %s", entry[3])
		case k.mutants[i].fate == survives:
			k.mutants[i].fate, k.mutants[i].says = equivalent, strings.Join(strings.Fields(entry[4]), " ")
		case !strings.HasPrefix(entry[4], "\tby chance: "):
			add("%s notices what equivalent.txt says no story can: %s", k.mutants[i].story, entry[3])
		}
	}
	for _, m := range k.mutants {
		if m.fate == survives {
			add("%s:%d: no story needs this: %s %s\n\tWrite a story, take the line out, or say in equivalent.txt why no one can see a difference", m.file, m.line, m.name, m.says)
		}
	}
	return errors.Join(wrong...)
}

func (k *study) count(f fate) (n int) {
	for _, m := range k.mutants {
		if m.fate == f {
			n++
		}
	}
	return n
}

package main

import (
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// An ending is how the process of a learner's stories ended in the middle of one: in
// sentences about the learner's lock.
type ending struct {
	kind  endingKind
	says  []string
	lines []spot // of the learner's lock that it speaks of
	raw   string // what was printed, if nothing else can be said
}

// A spot is a line of the learner's lock.
type spot struct {
	file string
	line int
}

func (s spot) String() string { return fmt.Sprintf("%s/%s:%d", myDir, s.file, s.line) }

type endingKind int

const (
	breaks endingKind = iota // a panic, a fatal error, an exit
	hangs                    // nothing moves
	leaks                    // the story has ended, and a goroutine is not
)

func (k endingKind) String() string { return [...]string{"breaks", "hangs", "leaks"}[k] }

// What the file that watches says before it prints all stacks. See testdata.
const (
	noProgress = "tour: no progress\n"
	noEnd      = "tour: no end\n"
)

// endingOf reads what a process has printed that ended in the middle of a story. dir is
// the folder whose lock the learner's has stood in for.
func endingOf(raw, dir string, st story, exit int) ending {
	for _, mark := range []string{noProgress, noEnd} {
		if _, dump, ok := strings.Cut(raw, "\n"+mark); ok {
			return standstill(parseStacks(dump, dir), st, mark)
		}
	}
	text := transcript{raw: raw, exit: 2}.crash()
	first, _, _ := strings.Cut(text, "\n")
	stacks := parseStacks(text, dir)
	switch {
	case strings.Contains(first, "deadlock: main bubble goroutine has exited"):
		return leak(stacks, text)
	case strings.Contains(first, "deadlock: all goroutines in bubble are blocked"):
		e := standstill(stacks, st, noProgress)
		e.says = append(e.says, word("Everything waits, and there is nothing left that could wake it."))
		return e
	case strings.HasPrefix(first, "panic: test timed out"):
		return standstill(stacks, st, noEnd)
	case text == "":
		return ending{says: []string{say("the process ended in the middle of the story with exit status %d: did your code call os.Exit or log.Fatal?", exit)}, raw: tail(raw)}
	}
	return broken(stacks, first, text)
}

// standstill is a story in which nothing moves, or which never ends.
func standstill(stacks []goroutine, st story, mark string) ending {
	stacks = slices.DeleteFunc(stacks, func(g goroutine) bool { return !g.bubble })
	playing := slices.ContainsFunc(stacks, func(g goroutine) bool { return g.plays(st.name) })
	mine := slices.DeleteFunc(slices.Clone(stacks), func(g goroutine) bool { return g.spot() == spot{} })
	if !playing && len(mine) > 0 {
		return leak(mine, "")
	}
	// A mutex first, as others may wait for its holder; then what the story itself waits for.
	slices.SortStableFunc(mine, func(a, b goroutine) int {
		return 2*(boolean(b.onMutex())-boolean(a.onMutex())) + boolean(b.plays(st.name)) - boolean(a.plays(st.name))
	})
	e := ending{kind: hangs}
	for _, g := range mine {
		if !slices.Contains(e.lines, g.spot()) && len(e.lines) < 3 {
			e.lines = append(e.lines, g.spot())
		}
	}
	switch {
	case len(mine) == 0:
		at := ""
		if i := slices.IndexFunc(stacks, func(g goroutine) bool { return g.plays(st.name) }); i >= 0 {
			at = say(" in %s", stacks[i].top())
		}
		e.says = []string{say("it hangs%s, and no line of your lock can be named", at)}
		return e
	case mark == noEnd:
		e.says = []string{say("it does not stop; your code is at %s", e.lines[0])}
	case mine[0].inCall() && !mine[0].onMutex():
		e.says = []string{say("it hangs; your code is at %s, in a call or in a loop that does not end", e.lines[0])}
	default:
		e.says = []string{say("it hangs; your code %s at %s", mine[0].does(), e.lines[0])}
	}
	for _, other := range e.lines[1:] {
		e.says[0] += say(", and at %s", other)
	}
	if mine[0].onMutex() {
		e.says = append(e.says, word("Is it locked twice, or not unlocked on some way out?"))
	}
	return e
}

// leak is a goroutine that is left when the story has ended.
func leak(stacks []goroutine, raw string) ending {
	e := ending{kind: leaks}
	for _, g := range stacks {
		from := g.startedAt()
		if from == (spot{}) || slices.Contains(e.lines, from) {
			continue
		}
		e.lines = append(e.lines, from)
		says := say("a goroutine of yours never ends: started at %s", from)
		if at := g.spot(); at != (spot{}) {
			says += say(", it %s at %s", g.does(), at)
		}
		e.says = append(e.says, says)
	}
	if e.says != nil {
		return e
	}
	// Not the learner's own, but of what the lock has opened.
	for _, g := range slices.Backward(stacks) {
		if g.bubble {
			e.says = append(e.says, say("a goroutine never ends that your lock has caused: it waits in %s. Is there something that must be closed?", g.top()))
			break
		}
	}
	e.raw = raw
	return e
}

// broken is a panic or a fatal error.
func broken(stacks []goroutine, first, raw string) ending {
	for _, suffix := range []string{" [recovered, repanicked]", " [recovered]"} {
		first = strings.TrimSuffix(first, suffix)
	}
	e := ending{says: []string{first}}
	for _, g := range stacks {
		for _, f := range g.frames {
			if f.mine && len(e.lines) < 5 && !slices.Contains(e.lines, f.spot()) {
				e.lines = append(e.lines, f.spot())
			}
		}
		if e.lines == nil && g.created.mine {
			e.lines = append(e.lines, g.created.spot())
		}
		if e.lines != nil {
			e.says[0] += say(", at %s", e.lines[0])
			return e
		}
	}
	e.says = append(e.says, word("No line of your lock was being run."))
	e.raw = raw
	return e
}

// tail is the end of a long text.
func tail(text string) string {
	return strings.Join(cut(lines(strings.TrimSpace(text)), short), "\n")
}

// A goroutine is one of a dump.
type goroutine struct {
	state   string
	bubble  bool // one of the story's
	frames  []frame
	created frame
}

type frame struct {
	fn, file string
	line     int
	mine     bool // in the learner's lock
}

func (f frame) spot() spot { return spot{path.Base(f.file), f.line} }

var goroutineHead = regexp.MustCompile(`^goroutine \d+[^\[]*\[([^\],(]*)(.*)\]:$`)

// parseStacks reads what Go prints of its goroutines.
func parseStacks(text, dir string) []goroutine {
	var list []goroutine
	var fn string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if head := goroutineHead.FindStringSubmatch(line); head != nil {
			list = append(list, goroutine{state: strings.TrimSpace(head[1]), bubble: strings.Contains(head[2], "synctest bubble")})
			continue
		}
		if list == nil {
			continue
		}
		g := &list[len(list)-1]
		place, ok := strings.CutPrefix(line, "\t")
		if !ok {
			fn = line
			continue
		}
		place, _, _ = strings.Cut(place, " +0x")
		colon := strings.LastIndex(place, ":")
		if colon < 0 {
			continue
		}
		n, _ := strconv.Atoi(place[colon+1:])
		f := frame{fn: fn, file: strings.ReplaceAll(place[:colon], `\`, "/"), line: n}
		// An endless loop without a body is said to be on line 1.
		f.mine = strings.HasSuffix(path.Dir(f.file), "/"+dir) && !strings.HasSuffix(f.file, "_test.go") && n > 1
		if by, ok := strings.CutPrefix(fn, "created by "); ok {
			f.fn, _, _ = strings.Cut(by, " in goroutine ")
			g.created = f
		} else {
			g.frames = append(g.frames, f)
		}
	}
	return list
}

// spot is where in the learner's lock it is, none if nowhere.
func (g goroutine) spot() spot {
	if i := slices.IndexFunc(g.frames, func(f frame) bool { return f.mine }); i >= 0 {
		return g.frames[i].spot()
	}
	return spot{}
}

// startedAt is the line of the learner's lock that started it, none if none did. A timer
// starts its function itself: then it is where that is.
func (g goroutine) startedAt() spot {
	switch {
	case g.created.mine:
		return g.created.spot()
	case g.created.fn == "time.goFunc" || strings.HasPrefix(g.created.fn, "context."):
		for _, f := range slices.Backward(g.frames) {
			if f.mine {
				return f.spot()
			}
		}
	}
	return spot{}
}

// plays reports whether it is in the middle of the story, or of what the test harness does
// before the first one.
func (g goroutine) plays(story string) bool {
	return slices.ContainsFunc(g.frames, func(f frame) bool {
		return strings.Contains(f.fn, "."+story+".") || strings.Contains(f.fn, ".inLab.")
	}) &&
		!slices.ContainsFunc(g.frames, func(f frame) bool { return strings.Contains(f.fn, "(*lab).close") })
}

// onMutex reports whether it waits for a mutex: one of the standard library, or the one
// that replaces it (see playable).
func (g goroutine) onMutex() bool {
	return strings.HasPrefix(g.state, "sync.Mutex") || strings.HasPrefix(g.state, "sync.RWMutex") ||
		len(g.frames) > 0 && strings.Contains(g.frames[0].fn, "/docs/tour/sync.")
}

// does says what the goroutine is doing, in words.
func (g goroutine) does() string {
	switch {
	case g.onMutex():
		return "waits for a mutex"
	case g.state == "chan receive", g.state == "chan send", g.state == "select":
		return say("waits (%s)", g.state)
	case g.state == "sleep":
		return "sleeps, again and again,"
	case g.state == "running", g.state == "runnable":
		return "runs in a loop"
	}
	return "waits"
}

// inCall reports whether it is in a function that the learner's lock has called.
func (g goroutine) inCall() bool { f := g.topFrame(); return f != nil && !f.mine }

// top is the function that it is in.
func (g goroutine) top() string {
	f := g.topFrame()
	if f == nil {
		return "Go's runtime"
	}
	name := f.fn
	if i := strings.LastIndex(name, "("); i > 0 && strings.HasSuffix(name, ")") {
		name = name[:i]
	}
	return name
}

// topFrame passes over what belongs to Go's runtime, to waiting and to time.
func (g goroutine) topFrame() *frame {
	for i, f := range g.frames {
		if !slices.ContainsFunc([]string{"runtime.", "sync.", "internal/", "time."}, func(p string) bool { return strings.HasPrefix(f.fn, p) }) {
			return &g.frames[i]
		}
	}
	return nil
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

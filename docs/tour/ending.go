package main

import (
	"cmp"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/story"
)

// An ending is how the process of a learner's stories ended in the middle of one: in
// sentences about the learner's lock.
type ending struct {
	kind  string
	says  []string
	lines []string // of the learner's lock that it speaks of: mylock/lock.go:49
	raw   string   // what was printed, if nothing else can be said
}

// The kinds of endings.
const (
	breaks = "breaks" // a panic, a fatal error, an exit
	hangs  = "hangs"  // nothing moves
	leaks  = "leaks"  // the story has ended, and a goroutine is not
)

// noEnd is what the file that watches says before it prints all stacks. See testdata.
const noEnd = "tour: no end"

// endingOf reads what a process has printed that ended in the middle of a story.
func endingOf(raw string, st story.Story, exit int) ending {
	if _, dump, ok := strings.Cut(raw, "\n"+noEnd+"\n"); ok {
		return standstill(parseStacks(dump), st)
	}
	text := story.Transcript{Raw: raw, Exit: 2}.Crash()
	first, _, _ := strings.Cut(text, "\n")
	stacks := parseStacks(text)
	switch {
	case text == "":
		return ending{kind: breaks, says: []string{say("the process ended in the middle of the story with exit status %d: did your code call os.Exit or log.Fatal?", exit)}, raw: raw}
	case strings.Contains(first, "deadlock: main bubble goroutine has exited"):
		return leak(stacks, text)
	case strings.Contains(first, "deadlock: all goroutines in bubble are blocked"):
		e := standstill(stacks, st)
		e.says = append(e.says, word("Everything waits, and there is nothing left that could wake it."))
		return e
	}
	return broken(stacks, first, text)
}

// standstill is a story in which nothing moves, or which never ends: what it does.
func standstill(stacks []goroutine, st story.Story) ending {
	stacks = slices.DeleteFunc(stacks, func(g goroutine) bool { return !g.bubble })
	var playing goroutine
	if i := slices.IndexFunc(stacks, func(g goroutine) bool { return g.plays(st.Name) }); i >= 0 {
		playing = stacks[i]
	} else if len(stacks) > 0 {
		return leak(stacks, "")
	}
	mine := slices.DeleteFunc(stacks, func(g goroutine) bool { return g.at() == "" })
	if len(mine) == 0 {
		says := say("it hangs in %s, and no line of your lock can be named", playing.top().fn)
		return ending{kind: hangs, says: []string{says}}
	}
	// A mutex first, as others may wait for its holder; then what the story itself waits for.
	slices.SortStableFunc(mine, func(a, b goroutine) int {
		return cmp.Or(boolean(b.onMutex())-boolean(a.onMutex()), boolean(b.plays(st.Name))-boolean(a.plays(st.Name)))
	})
	e := ending{kind: hangs, says: []string{say("it hangs; your code %s at %s", mine[0].does(), mine[0].at())}}
	for _, g := range mine {
		if !slices.Contains(e.lines, g.at()) && len(e.lines) < 3 {
			e.lines = append(e.lines, g.at())
		}
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
		if from == "" || slices.Contains(e.lines, from) {
			continue
		}
		e.lines = append(e.lines, from)
		says := say("a goroutine of yours never ends: started at %s", from)
		if g.at() != "" {
			says += say(", it %s at %s", g.does(), g.at())
		}
		e.says = append(e.says, says)
	}
	if e.says != nil {
		return e
	}
	// Not the learner's own, but of what the lock has opened.
	e.raw = raw
	for _, g := range stacks {
		if g.bubble {
			e.says = []string{say("a goroutine never ends that your lock has caused: it waits in %s. Is there something that must be closed?", g.top().fn)}
		}
	}
	return e
}

// broken is a panic or a fatal error.
func broken(stacks []goroutine, first, raw string) ending {
	first, _, _ = strings.Cut(first, " [recovered")
	for _, g := range stacks {
		var at []string
		for _, f := range append(g.frames, g.created) {
			if f.at != "" && len(at) < 5 && !slices.Contains(at, f.at) {
				at = append(at, f.at)
			}
		}
		if at != nil {
			return ending{kind: breaks, says: []string{first + say(", at %s", at[0])}, lines: at}
		}
	}
	return ending{kind: breaks, says: []string{first, word("No line of your lock was being run.")}, raw: raw}
}

// A goroutine is one of a dump.
type goroutine struct {
	state   string
	bubble  bool    // one of the story's
	frames  []frame // the innermost first
	created frame
}

type frame struct {
	fn string
	at string // a line of the learner's lock; "" if it is not in there
}

var (
	goroutineHead = regexp.MustCompile(`(?m)^goroutine \d+[^\[]*\[([^\],(]*)(.*)\]:$`)
	frameLines    = regexp.MustCompile(`(?m)^(created\sby )?(.+?)(?:\([^()]*\)| in\sgoroutine \d+)?\n\t(.+):(\d+)`)
)

// parseStacks reads what Go prints of its goroutines. The learner's files have the names
// that asMine gives them.
func parseStacks(text string) (list []goroutine) {
	for block := range strings.SplitSeq(text, "\n\n") {
		head := goroutineHead.FindStringSubmatch(block)
		if head == nil {
			continue
		}
		g := goroutine{state: strings.TrimSpace(head[1]), bubble: strings.Contains(head[2], "synctest bubble")}
		for _, found := range frameLines.FindAllStringSubmatch(block, -1) {
			f := frame{fn: found[2]}
			dir, file := path.Split(strings.ReplaceAll(found[3], `\`, "/"))
			// An endless loop without a body is said to be on line 1.
			if path.Base(dir) == myDir && found[4] != "1" {
				f.at = myDir + "/" + file + ":" + found[4]
			}
			if found[1] != "" {
				g.created = f
			} else {
				g.frames = append(g.frames, f)
			}
		}
		list = append(list, g)
	}
	return list
}

// at is where in the learner's lock it is, "" if nowhere.
func (g goroutine) at() string {
	for _, f := range g.frames {
		if f.at != "" {
			return f.at
		}
	}
	return ""
}

// startedAt is the line of the learner's lock that started it, "" if none did. A timer
// starts its function itself: then it is where that is.
func (g goroutine) startedAt() string {
	if g.created.fn == "time.goFunc" || strings.HasPrefix(g.created.fn, "context.") {
		g.frames = slices.Clone(g.frames)
		slices.Reverse(g.frames) // the outermost first
		return g.at()
	}
	return g.created.at
}

// runs reports whether it is in a function whose name has this in it.
func (g goroutine) runs(name string) bool {
	return slices.ContainsFunc(g.frames, func(f frame) bool { return strings.Contains(f.fn, name) })
}

// plays reports whether it is in the middle of the story, or of what the test harness does
// before the first one.
func (g goroutine) plays(name string) bool {
	return (g.runs("."+name+".") || g.runs(".inLab.")) && !g.runs("(*lab).close")
}

// onMutex reports whether it waits for a mutex: one of the standard library, or the one
// that replaces it (see playable).
func (g goroutine) onMutex() bool {
	caller := max(1, slices.IndexFunc(g.frames, func(f frame) bool { return f.at != "" }))
	return strings.HasPrefix(g.state, "sync.Mutex") || strings.HasPrefix(g.state, "sync.RWMutex") ||
		len(g.frames) > caller && strings.Contains(g.frames[caller-1].fn, "/docs/tour/sync.")
}

// does says what the goroutine is doing, in words.
func (g goroutine) does() string {
	switch {
	case g.onMutex():
		return "waits for a mutex"
	case g.top().at == "":
		return "is in a call, or in a loop that does not end,"
	case g.state == "running", g.state == "runnable":
		return "runs in a loop"
	}
	return say("waits (%s)", g.state)
}

// inGo is what belongs to Go's runtime, to waiting and to time.
var inGo = regexp.MustCompile(`^(runtime\.|sync\.|internal/|time\.)`)

// top is the function that it is in.
func (g goroutine) top() frame {
	if i := slices.IndexFunc(g.frames, func(f frame) bool { return !inGo.MatchString(f.fn) }); i >= 0 {
		return g.frames[i]
	}
	return frame{fn: "Go's runtime"}
}

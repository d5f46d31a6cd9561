// Package search runs every schedule of a game that can be played again and again, depth
// first. It knows nothing of locks.
package search

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// An Option is something that can happen next.
type Option struct {
	Label string // in the schedule's name
	By    string // the client that continues, "" if it is none
	Cause int    // the choice without which it would not be there, -1 if none is known
	On    string // what it changes: nodes by number, the resource (R), what the clients send (s)
	Text  string // what it is, for who chooses by hand
	Line  string // of the lock, where Text comes from
	Do    func()
}

// Everything is what an Option can change.
const Everything = "123456789Rs"

// Choose picks what happens next, and hears what the last choice has changed, and what
// followed without one. With no options, the schedule has ended. -1 ends it: all that can
// follow has been seen.
type Choose func(changed string, opts []Option) int

// A Search says which schedules are run.
type Search struct {
	Play    func(Choose) (ended bool) // one schedule; false if it was cut short
	Bound   int                       // of preemptions; -1 is none
	Reorder bool                      // a client's commands can overtake each other
}

// A point is a state in which something must be chosen.
type point struct {
	labels []string
	costs  map[string]int // in preemptions
	spent  int            // preemptions before this point
	chosen string
	cause  int             // the point whose choice has brought what is chosen here, or -1
	todo   map[string]bool // what should be tried
	// What a choice changes. Two that change different things can change places, and only
	// one order is run.
	tried  map[string]string
	asleep map[string]string // choices that lead only to where others have led before
}

// Run plays each schedule from the start, up to where it differs from the last one.
func (s *Search) Run() (schedules int) {
	var path []*point
	for {
		depth := 0
		ended := s.Play(func(changed string, opts []Option) int {
			if depth == len(path) {
				p := s.newPoint(changed, opts, path)
				if len(opts) == 0 {
					return 0
				}
				if !p.next() {
					return -1
				}
				path = append(path, p)
			}
			p := path[depth]
			i := slices.IndexFunc(opts, func(o Option) bool { return o.Label == p.chosen })
			if len(p.labels) != len(opts) || i < 0 {
				panic(fmt.Sprintf("the same schedule had the choices %v here, and now it has %v", p.labels, opts))
			}
			p.cause = opts[i].Cause
			depth++
			return i
		})
		if ended {
			schedules++
		}
		if s.Bound < 0 {
			races(path)
		}
		for len(path) > 0 && !path[len(path)-1].next() {
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return schedules
		}
	}
}

// newPoint is the point after path.
func (s *Search) newPoint(changed string, opts []Option, path []*point) *point {
	p := &point{costs: map[string]int{}, todo: map[string]bool{}, tried: map[string]string{}, asleep: map[string]string{}}
	if len(path) > 0 {
		last := path[len(path)-1]
		p.spent = last.spent + last.costs[last.chosen]
		// What was tried before at the last point, and does not depend on what was chosen
		// there, can only lead to where it has led already: a sleep set.
		for _, known := range []map[string]string{last.asleep, last.tried} {
			for label, changes := range known {
				if label != last.chosen && s.Bound < 0 && !depend(label, changes, last.chosen, changed) {
					p.asleep[label] = changes
				}
			}
		}
		last.tried[last.chosen] = changed
	}
	begun := false
	for i, o := range opts {
		fault := o.By == "" || o.Label[0] == 'F'
		if i > 0 && o.By != "" {
			p.costs[o.Label] = 1
		}
		if s.Bound >= 0 {
			p.todo[o.Label] = p.spent+p.costs[o.Label] <= s.Bound
		} else if _, asleep := p.asleep[o.Label]; !asleep {
			// One is enough, until a race is seen; but a fault can strike anywhere.
			p.todo[o.Label] = !begun || fault || s.Reorder
			begun = true
		}
		if fault {
			// It is tried first: then it sleeps where it makes no difference that it comes
			// later.
			p.labels = slices.Insert(p.labels, 0, o.Label)
		} else {
			p.labels = append(p.labels, o.Label)
		}
	}
	return p
}

// next chooses something that should be tried and was not. It returns false if there is nothing.
func (p *point) next() bool {
	for _, label := range p.labels {
		_, tried := p.tried[label]
		_, asleep := p.asleep[label]
		if p.todo[label] && !tried && !asleep {
			p.chosen = label
			p.tried[label] = ""
			return true
		}
	}
	return false
}

// depend reports whether the order of two choices makes a difference: they change the
// same thing. Commands of one client to different nodes do not depend on each other. Only
// a fault minds that something is sent.
func depend(a, changesA, b, changesB string) bool {
	if a[0] == b[0] && 'a' <= a[0] && len(a) > 1 && len(b) > 1 {
		return a[1] == b[1]
	}
	if fault := "FTW"; !strings.Contains(fault, a[:1]) && !strings.Contains(fault, b[:1]) {
		changesA = strings.TrimSuffix(changesA, "s")
	}
	return strings.ContainsAny(changesA, changesB)
}

// races looks for two choices of a run that depend on each other, and could have come in
// the other order because nothing between them forbids it. Then that order must be tried
// as well: dynamic partial-order reduction.
func races(path []*point) {
	before := make([]map[int]bool, len(path)) // the choices that must come before this one
	for j, b := range path {
		before[j] = map[int]bool{}
		for i := j - 1; i >= 0; i-- {
			a := path[i]
			caused := b.cause == i
			if before[j][i] || !caused && !depend(a.chosen, a.tried[a.chosen], b.chosen, b.tried[b.chosen]) {
				continue
			}
			before[j][i] = true
			maps.Copy(before[j], before[i])
			if caused {
				continue
			}
			first := i + 1 // what does not need a: it can be the first step towards b before a
			for before[first][i] && first < j {
				first++
			}
			if label := path[first].chosen; slices.Contains(a.labels, label) {
				a.todo[label] = true
			} else {
				for _, label := range a.labels {
					a.todo[label] = true
				}
			}
		}
	}
}

// Follow chooses what the name of a schedule says, and after that whatever comes first.
func Follow(name string) Choose {
	return func(_ string, opts []Option) (best int) {
		length := 0
		for i, o := range opts {
			if strings.HasPrefix(name, o.Label) && len(o.Label) > length {
				best, length = i, len(o.Label)
			}
		}
		if length == 0 {
			name = ""
		}
		name = name[length:]
		return best
	}
}

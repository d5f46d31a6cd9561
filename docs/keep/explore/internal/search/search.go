// Package search runs every schedule of a game that can be played again and again, depth
// first. It knows nothing of locks.
package search

import (
	"fmt"
	"slices"
	"strings"
)

// An Option is something that can happen next.
type Option struct {
	Label string // in the schedule's name
	By    string // the client that continues, "" if it is none
	Text  string // what it is, for who chooses by hand
	Line  string // of the lock, where Text comes from
	Do    func()
}

// Choose picks what happens next. With no options, the schedule has ended.
type Choose func(opts []Option) int

// A point is a state in which something must be chosen.
type point struct {
	labels []string
	todo   []choice // what was not tried yet, after what is tried now
}

type choice struct {
	label string
	spent int // preemptions up to here
}

// Run plays each schedule with no more preemptions than bound (-1: with any) from the start,
// up to where it differs from the last one. It returns how many there are.
func Run(bound int, play func(Choose)) (schedules int) {
	var path []*point
	for {
		depth, spent := 0, 0
		play(func(opts []Option) int {
			if len(opts) == 0 {
				return 0
			}
			if depth == len(path) {
				path = append(path, newPoint(opts, spent, bound))
			}
			p := path[depth]
			now := p.todo[0]
			i := slices.IndexFunc(opts, func(o Option) bool { return o.Label == now.label })
			if len(p.labels) != len(opts) || i < 0 {
				panic(fmt.Sprintf("the same schedule had the choices %v here, and now it has %v", p.labels, opts))
			}
			depth, spent = depth+1, now.spent
			return i
		})
		schedules++
		for len(path) > 0 {
			last := path[len(path)-1]
			if last.todo = last.todo[1:]; len(last.todo) > 0 {
				break
			}
			path = path[:len(path)-1]
		}
		if len(path) == 0 {
			return schedules
		}
	}
}

// newPoint is a point before which so many preemptions have been spent.
func newPoint(opts []Option, spent, bound int) *point {
	p := &point{}
	for i, o := range opts {
		p.labels = append(p.labels, o.Label)
		c := choice{o.Label, spent}
		if i > 0 && o.By != "" {
			c.spent++
		}
		switch {
		case bound >= 0 && c.spent > bound:
		case o.By == "" || o.Label[0] == 'F':
			p.todo = slices.Insert(p.todo, 0, c) // a fault is tried first, at its earliest
		default:
			p.todo = append(p.todo, c)
		}
	}
	return p
}

// Follow chooses what the name of a schedule says, and after that whatever comes first.
func Follow(name string) Choose {
	return func(opts []Option) (best int) {
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

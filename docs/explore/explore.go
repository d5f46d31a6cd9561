package main

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9/logging"
)

// A lab explores one cell. All its schedules run in one bubble and on the same servers, which are emptied in between.
type lab struct {
	step    step
	fault   fault
	clients int
	bound   int // of preemptions; -1 is none
	nodes   []*node
	scripts map[string]string // sources by SHA-1
}

// A cell is what the exploration of a lock under a fault has found.
type cell struct {
	Step      int
	Fault     string
	Schedules int
	Bad       []bad
}

// bad is a schedule that shows a violation.
type bad struct {
	Kind  kind
	Text  string
	ID    string
	Story string
	steps int
}

func inLab(t *testing.T, s step, f fault, clients int, story func(*lab)) {
	synctest.Test(t, func(t *testing.T) {
		logging.Disable()
		l := &lab{step: s, fault: f, clients: clients, bound: -1, scripts: map[string]string{}}
		for i := range s.nodes {
			n := &node{Miniredis: miniredis.NewMiniRedis(), n: i}
			n.ClockTTL(true)
			conn, err := n.Dial() // starts it
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			l.nodes = append(l.nodes, n)
		}
		l.learn()
		story(l)
		for _, n := range l.nodes {
			n.Close()
		}
	})
}

// learn lets one client hold a lock for more than a ttl, so that the scripts are loaded before the first schedule.
func (l *lab) learn() {
	known := *l
	known.clients, known.fault = 1, fault{strike: during(func(w *world, _ *client) { w.pass(ttl) }, holding)}
	known.play(func(opts []option) int { return len(opts) - 1 })
}

// explore runs every schedule, depth first: each is played from the start, up to where it differs from the last one.
func (l *lab) explore(each func(*world)) (schedules int) {
	type point struct{ chosen, of int }
	var path []point
	for {
		depth := 0
		w := l.play(func(opts []option) int {
			if depth == len(path) {
				path = append(path, point{0, len(opts)})
			}
			p := path[depth]
			if p.of != len(opts) {
				panic(fmt.Sprintf("the same schedule has %d options here, and had %d", len(opts), p.of))
			}
			depth++
			return p.chosen
		})
		schedules++
		each(w)
		last := len(path) - 1
		for last >= 0 && path[last].chosen == path[last].of-1 {
			last--
		}
		if last < 0 {
			return schedules
		}
		path = path[:last+1]
		path[last].chosen++
	}
}

// cell explores and keeps, for each kind of violation, the shortest schedule that shows it.
func (l *lab) cell() cell {
	c := cell{Step: l.step.n, Fault: l.fault.id}
	shortest := map[kind]bad{}
	c.Schedules = l.explore(func(w *world) {
		for _, v := range w.found {
			if old, ok := shortest[v.kind]; !ok || v.steps < old.steps {
				shortest[v.kind] = bad{v.kind, v.text, w.id(v.steps), w.story.String(), v.steps}
			}
		}
	})
	for _, k := range kinds {
		if b, ok := shortest[kind(k)]; ok {
			c.Bad = append(c.Bad, b)
		}
	}
	return c
}

// id names a schedule: step, fault, and what happens, in order.
func (w *world) id(steps int) string {
	return fmt.Sprintf("%02d/%s/%s", w.step.n, w.fault.id, strings.Join(w.path[:steps], ""))
}

// follow chooses what the path of an ID says, and after that whatever comes first.
func follow(path string) func([]option) int {
	return func(opts []option) int {
		best := 0
		length := 0
		for i, o := range opts {
			if strings.HasPrefix(path, o.label) && len(o.label) > length {
				best, length = i, len(o.label)
			}
		}
		if length == 0 {
			path = ""
		}
		path = path[length:]
		return best
	}
}

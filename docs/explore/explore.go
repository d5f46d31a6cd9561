package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9/logging"
)

// A job is a cell to explore.
type job struct {
	Step    int
	Fault   string
	Clients int
	Nodes   int  // of step 08
	Bound   int  // of preemptions; -1 is none
	Once    bool // a client that does not get the lock does not try again
	Random  int  // so many random schedules in place of all
	Seed    uint64
}

// A lab explores one cell. All its schedules run in one bubble and on the same servers, which are emptied in between.
type lab struct {
	job
	step    step
	fault   fault
	nodes   []*node
	scripts map[string]string // sources by SHA-1
	entered bool              // the last step has let a client in
	idle    int               // the goroutines of the bubble when no client is there
}

// A cell is what the exploration of a lock under a fault has found.
type cell struct {
	Job       job
	Schedules int
	Violating int // how many of them
	Kinds     string
	Bad       []bad
}

// bad is a schedule that shows violations.
type bad struct {
	Kinds string
	ID    string
	Story string
	steps int
}

func inLab(t *testing.T, s step, j job, story func(*lab)) {
	synctest.Test(t, func(t *testing.T) {
		logging.Disable()
		l := &lab{job: j, step: s, scripts: map[string]string{}}
		l.fault, _ = faultNamed(j.Fault)
		for i := range j.Nodes {
			n := &node{Miniredis: miniredis.NewMiniRedis(), n: i}
			n.ClockTTL(true)
			conn, err := n.Dial() // starts it
			if err != nil {
				t.Fatal(err)
			}
			conn.Close()
			l.nodes = append(l.nodes, n)
		}
		synctest.Wait()
		l.idle = inBubble()
		l.learn()
		story(l)
		time.Sleep(24 * time.Hour) // what a broken lock has left over ends; else the bubble would report a deadlock
		for _, n := range l.nodes {
			n.Close()
		}
	})
}

// learn lets one client hold a lock for more than a ttl, so that the scripts are loaded before the first schedule.
func (l *lab) learn() {
	known := *l
	known.Clients, known.fault = 1, fault{strike: during(func(w *world, _ *client) { w.pass(ttl) }, holding)}
	known.play(func(opts []option) int { return len(opts) - 1 })
	for _, n := range l.nodes {
		n.forgot = true // so that the next schedule finds all scripts on all nodes
	}
}

// A point is a state in which something must be chosen.
type point struct {
	labels []string
	costs  []int
	chosen int
	spent  int             // preemptions before this point
	enters map[string]bool // choices that let a client in
	asleep map[string]bool // choices that lead only to what has been seen
}

// explore runs every schedule, depth first: each is played from the start, up to where it differs from the last one.
func (l *lab) explore(each func(*world)) (schedules int) {
	if l.Random > 0 {
		return l.roam(each)
	}
	var path []*point
	for {
		depth := 0
		w := l.play(func(opts []option) int {
			if depth == len(path) {
				p := newPoint(opts, path, l.entered)
				if p.chosen = l.next(p, -1); p.chosen < 0 {
					return -1
				}
				path = append(path, p)
			}
			p := path[depth]
			if len(p.labels) != len(opts) || p.labels[p.chosen] != opts[p.chosen].label {
				panic(fmt.Sprintf("the same schedule had the choice %v here, and now it has %v", p.labels, opts))
			}
			depth++
			return p.chosen
		})
		if w != nil {
			schedules++
			each(w)
		}
		for {
			if len(path) == 0 {
				return schedules
			}
			p := path[len(path)-1]
			if p.chosen = l.next(p, p.chosen); p.chosen >= 0 {
				break
			}
			path = path[:len(path)-1]
		}
	}
}

// roam runs random schedules. Like a scheduler, it mostly lets the same client go on.
func (l *lab) roam(each func(*world)) (schedules int) {
	r := rand.New(rand.NewPCG(l.Seed, 0))
	for range l.Random {
		each(l.play(func(opts []option) int {
			if r.IntN(3) > 0 {
				return 0
			}
			return r.IntN(len(opts))
		}))
	}
	return l.Random
}

// newPoint is the point after path, in which the last choice has let a client in or not.
func newPoint(opts []option, path []*point, entered bool) *point {
	p := &point{asleep: map[string]bool{}, enters: map[string]bool{}}
	for i, o := range opts {
		p.labels = append(p.labels, o.label)
		cost := 0
		if i > 0 && o.by != nil {
			cost = 1
		}
		p.costs = append(p.costs, cost)
	}
	if len(path) == 0 {
		return p
	}
	before := path[len(path)-1]
	p.spent = before.spent + before.costs[before.chosen]
	// What was tried before at the last point, and does not depend on what was chosen there, can only lead to where
	// it has led already.
	chosen := before.labels[before.chosen]
	before.enters[chosen] = entered
	for _, label := range before.labels[:before.chosen] {
		p.asleep[label] = before.independent(label, chosen)
	}
	for label, asleep := range before.asleep {
		p.asleep[label] = p.asleep[label] || asleep && before.independent(label, chosen)
		p.enters[label] = before.enters[label]
	}
	return p
}

// independent reports whether two choices can change places without a difference: two commands to different nodes, and
// a command that lets nobody in and somebody's step at the resource. It is for several nodes; on one, all orders are run.
func (p *point) independent(a, b string) bool {
	command := func(s string) bool { return len(s) > 1 && s[0] >= 'a' && s[0] <= 'z' }
	atGate := func(s string) bool { return len(s) == 1 && s[0] >= 'A' && s[0] <= 'D' }
	switch {
	case command(a) && command(b):
		return a[1] != b[1]
	case command(a) && atGate(b):
		return !p.enters[a]
	case command(b) && atGate(a):
		return !p.enters[b]
	}
	return false
}

// next returns the first choice after i that is worth a run, -1 if there is none.
func (l *lab) next(p *point, i int) int {
	for i++; i < len(p.labels); i++ {
		if l.Bound < 0 && !p.asleep[p.labels[i]] || l.Bound >= 0 && p.spent+p.costs[i] <= l.Bound {
			return i
		}
	}
	return -1
}

// cell explores, and keeps as few and as short schedules as show all kinds of violations.
func (l *lab) cell() cell {
	c := cell{Job: l.job}
	shortest := map[string]bad{} // by the kinds that a schedule shows
	c.Schedules = l.explore(func(w *world) {
		if len(w.found) == 0 {
			return
		}
		c.Violating++
		b := w.bad()
		if old, ok := shortest[b.Kinds]; !ok || b.steps < old.steps {
			shortest[b.Kinds] = b
		}
	})
	for missing := kinds; ; {
		var best bad
		gain := 0
		for _, b := range shortest {
			n := len(common(b.Kinds, missing))
			if n > gain || n == gain && n > 0 && (b.steps < best.steps || b.steps == best.steps && b.ID < best.ID) {
				best, gain = b, n
			}
		}
		if gain == 0 {
			return c
		}
		c.Kinds = common(kinds, c.Kinds+best.Kinds)
		c.Bad = append(c.Bad, best)
		missing = strings.Map(func(r rune) rune {
			if strings.ContainsRune(best.Kinds, r) {
				return -1
			}
			return r
		}, missing)
	}
}

// common returns the letters of a that are in b.
func common(a, b string) string {
	return strings.Map(func(r rune) rune {
		if strings.ContainsRune(b, r) {
			return r
		}
		return -1
	}, a)
}

// bad returns the schedule up to its last violation.
func (w *world) bad() bad {
	var b bad
	end := 0
	for _, v := range w.found {
		b.Kinds += string(v.kind)
		b.steps, end = v.steps, v.line
	}
	b.Kinds = common(kinds, b.Kinds)
	b.ID = w.id(b.steps)
	b.Story = strings.Join(w.lines[:end], "\n") + "\n"
	return b
}

// String names a cell: step, fault, and what is not as usual, clients and nodes.
func (j job) String() string {
	s := fmt.Sprintf("%02d/%s", j.Step, j.Fault)
	if j.Clients != 2 {
		s += fmt.Sprintf("/%dclients", j.Clients)
	}
	if j.Nodes != steps[j.Step-1].nodes {
		s += fmt.Sprintf("/%dnodes", j.Nodes)
	}
	if j.Once {
		s += "/once"
	}
	return s
}

// id names a schedule: a cell, and what happens, in order.
func (w *world) id(steps int) string {
	return w.job.String() + "/" + strings.Join(w.path[:steps], "")
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

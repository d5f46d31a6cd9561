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
	Nodes   int
	Bound   int  // of preemptions; -1 is none
	Once    bool // a client that does not get the lock does not try again
	Random  int  // so many random schedules in place of all
	Seed    uint64
	Replay  string // this schedule only
}

// A lab explores one cell. All its schedules run in one bubble and on the same nodes, which are emptied in between.
type lab struct {
	job
	step    step
	fault   fault
	nodes   []*node
	scripts map[string]string // sources by SHA-1
	idle    int               // the goroutines of the bubble when no client is there

	everyOrder bool // also those that make no difference
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
	Steps int
}

func inLab(t *testing.T, s step, j job, story func(*lab)) {
	synctest.Test(t, func(t *testing.T) {
		logging.Disable()
		l := &lab{job: j, step: s, scripts: map[string]string{}, everyOrder: j.Nodes == 1}
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
		l.fault, _ = faultNamed(j.Fault)
		story(l)
		time.Sleep(24 * time.Hour) // what a broken lock has left over ends; else the bubble would report a deadlock
		for _, n := range l.nodes {
			n.Close()
		}
	})
}

// learn lets one client hold a lock for more than a ttl, so that the scripts are known before the first schedule.
func (l *lab) learn() {
	first := *l
	first.Clients, first.fault = 1, fault{strike: during(slow, holding)}
	first.play(func(_ *world, opts []option) int { return max(0, len(opts)-1) })
	for _, n := range l.nodes {
		n.forgot = true // so that the next schedule finds all scripts on all nodes
	}
}

// A point is a state in which something must be chosen.
type point struct {
	labels  []string
	costs   []int // in preemptions
	chosen  int
	spent   int               // preemptions before this point
	changes map[string]string // what a choice changes, as far as it is known
	asleep  map[string]bool   // choices that lead only to what has been seen
}

// explore runs every schedule, depth first: each is played from the start, up to where it differs from the last one.
func (l *lab) explore(each func(*world)) (schedules int) {
	var path []*point
	seen := map[string]int{} // with a bound: states, and the preemptions that led there
	for {
		depth := 0
		w := l.play(func(w *world, opts []option) int {
			if depth < len(path) {
				p := path[depth]
				if len(p.labels) != len(opts) || p.labels[p.chosen] != opts[p.chosen].label {
					panic(fmt.Sprintf("the same schedule had the choice %v here, and now it has %v", p.labels, opts))
				}
				depth++
				return p.chosen
			}
			p := newPoint(w, opts, path)
			if l.Bound >= 0 && len(w.nodes) > 1 {
				state := w.state()
				if spent, ok := seen[state]; ok && spent <= p.spent {
					return -1
				}
				seen[state] = p.spent
			}
			if len(opts) == 0 {
				return 0
			}
			if p.chosen = l.next(p, -1); p.chosen >= 0 {
				path = append(path, p)
				depth++
			}
			return p.chosen
		})
		if w != nil {
			schedules++
			each(w)
		}
		for { // back to the last point that has another choice
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
func (l *lab) roam(each func(*world)) int {
	r := rand.New(rand.NewPCG(l.Seed, 0))
	for range l.Random {
		each(l.play(func(_ *world, opts []option) int {
			if len(opts) == 0 || r.IntN(3) > 0 {
				return 0
			}
			return r.IntN(len(opts))
		}))
	}
	return l.Random
}

// newPoint is the point after path.
func newPoint(w *world, opts []option, path []*point) *point {
	p := &point{changes: map[string]string{}, asleep: map[string]bool{}}
	for i, o := range opts {
		p.labels = append(p.labels, o.label)
		p.costs = append(p.costs, 0)
		if i > 0 && o.by != nil {
			p.costs[i] = 1
		}
	}
	if len(path) == 0 {
		return p
	}
	last := path[len(path)-1]
	chosen := last.labels[last.chosen]
	p.spent = last.spent + last.costs[last.chosen]
	last.changes[chosen] = w.changed
	// What was tried before at the last point, and does not depend on what was chosen there, can only lead to where
	// it has led already.
	for _, label := range last.labels[:last.chosen] {
		p.asleep[label] = last.independent(label, chosen)
	}
	for label, asleep := range last.asleep {
		p.asleep[label] = p.asleep[label] || asleep && last.independent(label, chosen)
	}
	for label := range p.asleep {
		p.changes[label] = last.changes[label]
	}
	return p
}

// independent reports whether two choices can change places without a difference: when they change different things, or
// are commands of one client to different nodes.
func (p *point) independent(a, b string) bool {
	if a[0] == b[0] && len(a) > 1 && len(b) > 1 && a[0] >= 'a' {
		return a[1] != b[1]
	}
	return !strings.ContainsAny(p.changes[a], p.changes[b])
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

// cell explores, and keeps a few short schedules that show all kinds of violations.
func (l *lab) cell() cell {
	c := cell{Job: l.job}
	if l.Replay != "" {
		c.Bad = []bad{{Story: l.play(follow(l.Replay)).story.String()}}
		return c
	}
	explore := l.explore
	if l.Random > 0 {
		explore = l.roam
	}
	shortest := map[string]bad{} // by the kinds that a schedule shows
	c.Schedules = explore(func(w *world) {
		if len(w.found) > 0 {
			c.Violating++
			b := w.bad()
			if old, ok := shortest[b.Kinds]; !ok || b.Steps < old.Steps {
				shortest[b.Kinds] = b
			}
		}
	})
	for _, k := range kinds {
		if strings.ContainsRune(c.Kinds, k) {
			continue
		}
		var best bad // shows the most
		for _, b := range shortest {
			if strings.ContainsRune(b.Kinds, k) && (len(b.Kinds) > len(best.Kinds) || len(b.Kinds) == len(best.Kinds) && b.Kinds < best.Kinds) {
				best = b
			}
		}
		if best.ID != "" {
			c.Bad = append(c.Bad, best)
			c.Kinds = inOrder(c.Kinds + best.Kinds)
		}
	}
	return c
}

// inOrder sorts kinds, and names each once.
func inOrder(found string) string {
	return strings.Map(func(k rune) rune {
		if strings.ContainsRune(found, k) {
			return k
		}
		return -1
	}, kinds)
}

// bad returns the schedule up to its last violation.
func (w *world) bad() (b bad) {
	end := 0
	for _, v := range w.found {
		b.Kinds += string(v.kind)
		b.Steps, end = v.steps, v.line
	}
	b.Kinds = inOrder(b.Kinds)
	b.ID = w.job.String() + "/" + strings.Join(w.path[:b.Steps], "")
	b.Story = strings.Join(w.lines[:end], "\n") + "\n"
	return b
}

// String names a cell: step, fault, and the number of clients and nodes if they are not as usual. With a path, that is the
// ID of a schedule: 05/pause/abFb, 08/restart/3c5n/a1a2F.
func (j job) String() string {
	s := fmt.Sprintf("%02d/%s", j.Step, j.Fault)
	if j.Clients != 2 || j.Nodes != steps[j.Step-1].nodes {
		s += fmt.Sprintf("/%dc%dn", j.Clients, j.Nodes)
	}
	return s
}

// parseID is the reverse.
func parseID(id string) (j job, err error) {
	part := strings.Split(id, "/")
	if len(part) < 3 || len(part) > 4 {
		return j, fmt.Errorf("%q is no schedule; one is 05/pause/aFb", id)
	}
	if _, err := fmt.Sscanf(part[0], "%02d", &j.Step); err != nil || j.Step < 1 || j.Step > len(steps) {
		return j, fmt.Errorf("%q: there is no step %s", id, part[0])
	}
	j.Fault, j.Clients, j.Nodes, j.Replay = part[1], 2, steps[j.Step-1].nodes, part[len(part)-1]
	if len(part) == 4 {
		fmt.Sscanf(part[2], "%dc%dn", &j.Clients, &j.Nodes)
	}
	if j.Clients < 1 || j.Clients >= len(names) || j.Nodes < 1 || j.Nodes > 9 {
		return j, fmt.Errorf("%q: 1 to %d clients and 1 to 9 nodes, please", id, len(names)-1)
	}
	_, err = faultNamed(j.Fault)
	return j, err
}

// follow chooses what the path of an ID says, and after that whatever comes first.
func follow(path string) func(*world, []option) int {
	return func(_ *world, opts []option) (best int) {
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

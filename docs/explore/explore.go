package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9/logging"
)

// A job is a cell to explore.
type job struct {
	Table   string // "" is the matrix
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
	Kinds     string
	Bad       []bad
	All       []string // the names of all that violate
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
		l := &lab{job: j, step: s, scripts: map[string]string{}, everyOrder: j.Nodes == 1 && j.Clients == 2}
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
			b := w.bad()
			c.All = append(c.All, w.id(len(w.path)))
			if old, ok := shortest[b.Kinds]; !ok || b.Steps < old.Steps {
				shortest[b.Kinds] = b
			}
		}
	})
	for _, b := range slices.SortedFunc(maps.Values(shortest), func(a, b bad) int {
		return cmp.Or(len(b.Kinds)-len(a.Kinds), strings.Compare(a.Kinds, b.Kinds))
	}) {
		if both := inOrder(c.Kinds + b.Kinds); both != c.Kinds {
			c.Kinds, c.Bad = both, append(c.Bad, b)
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
	b.ID = w.id(b.Steps)
	b.Story = strings.Join(w.lines[:end], "\n") + "\n"
	return b
}

// id names the schedule up to a step.
func (w *world) id(steps int) string { return w.job.String() + "/" + strings.Join(w.path[:steps], "") }

func (j job) StepName() string { return steps[j.Step-1].name() }
func (j job) Title() string {
	f, _ := faultNamed(j.Fault)
	return f.title
}

func (c cell) Why() string    { return expected(c.Job).why }
func (c cell) Violating() int { return len(c.All) }

// String names a cell: step, fault, and if they are not as usual, the number of clients and nodes, and that they try only
// once. With a path, that is the ID of a schedule: 05/pause/abFb, 08/restart/3c5n-once/ABa1a2F.
func (j job) String() string {
	s := fmt.Sprintf("%02d/%s", j.Step, j.Fault)
	if j.Clients != 2 || j.Nodes != steps[j.Step-1].nodes || j.Once {
		s += fmt.Sprintf("/%dc%dn", j.Clients, j.Nodes)
	}
	if j.Once {
		s += "-once"
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
		j.Once = strings.HasSuffix(part[2], "-once")
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

package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/redis/go-redis/v9/logging"

	"example.com/redislock-steps/docs/internal/trace"
)

// A cell is a lock under a fault.
type cell struct {
	lock  lock
	fault fault
	found
}

// found is what the exploration of a cell has found.
type found struct {
	Schedules, Violating int
	Kinds                string // of violations: as letters, in the order of kinds
	Bad                  []bad  // a few short schedules that show them all
	Graph                Graph  // of all schedules
	First                Graph  // of a shortest one that violates, up to where it does
}

// bad is a schedule that violates, up to its last violation.
type bad struct {
	Kinds string
	Path  []string
	Trace []trace.Record
}

// String names a cell: 05/pause. With a path, that is the ID of a schedule: 05/pause/abFb.
func (c cell) String() string { return c.lock.name + "/" + c.fault.id }

func (c cell) id(b bad) string { return c.String() + "/" + strings.Join(b.Path, "") }

// parseID is the reverse.
func parseID(id string) (c cell, path string, err error) {
	part := strings.Split(id, "/")
	n := len(part)
	if n < 3 || part[n-1] == "" {
		return c, "", fmt.Errorf("there is no schedule %q; try 05/pause/aFb", id)
	}
	l, err1 := lockNamed(strings.Join(part[:n-2], "/"))
	f, err2 := faultNamed(part[n-2])
	return cell{lock: l, fault: f}, part[n-1], cmp.Or(err1, err2)
}

// playable reports whether docs/play has the cell as a level: the same choices give the same times.
func (c cell) playable() bool { return c.lock.step >= 0 && !(c.lock.random && c.fault.Wait) }

// onStage lets a function play the schedules of a cell.
func (c cell) onStage(t *testing.T, play func(*Stage)) {
	synctest.Test(t, func(*testing.T) {
		logging.Disable()
		stage := &Stage{lock: c.lock, rules: c.fault.rules, clients: 2}
		stage.Open()
		play(stage)
		stage.Close()
	})
}

// beyond are schedules beyond the bound that docs/play shows, or that its reader would miss.
var beyond = map[string][]string{"08/failover": {"a1a2a3Fb1b2b3b1Bb1b2b3b1Aa1a2a3"}, "08/restart": {"a1a2Fb1b3", "a1Fa2b1b3"}}

// explore plays all schedules of a cell on its stage.
func (c *cell) explore(stage *Stage) {
	var played []Played
	shortest := map[string]bad{} // by the kinds that a schedule shows
	var first *Played
	c.Schedules = search(c.lock.bound, func(choose Choose) {
		s := stage.Play(choose)
		if c.playable() {
			played = append(played, s.Played)
		}
		if len(s.Found) == 0 {
			return
		}
		c.Violating++
		b := bad{Path: s.Path[:s.Found[len(s.Found)-1].Steps], Trace: toVerdict(s.Records)}
		for _, v := range s.Found {
			b.Kinds = inOrder(b.Kinds + v.Kind)
		}
		if old, known := shortest[b.Kinds]; !known || len(b.Path) < len(old.Path) {
			shortest[b.Kinds] = b
		}
		if first == nil || s.Found[0].Steps < len(first.Path) {
			first = upToFirst(s)
		}
	})
	for _, name := range beyond[c.String()] {
		played = append(played, stage.Play(follow(name)).Played)
	}
	for _, b := range slices.SortedFunc(maps.Values(shortest), func(a, b bad) int {
		return cmp.Or(len(b.Kinds)-len(a.Kinds), strings.Compare(a.Kinds, b.Kinds))
	}) {
		if both := inOrder(c.Kinds + b.Kinds); both != c.Kinds {
			c.Kinds, c.Bad = both, append(c.Bad, b)
		}
	}
	if c.playable() {
		c.Graph = graphOf(c.String(), played)
	}
	if first != nil {
		c.First = graphOf(c.String(), []Played{*first})
	}
}

// upToFirst is a schedule up to its first violation, with nothing to choose from but what
// was chosen.
func upToFirst(s *Schedule) *Played {
	n := s.Found[0].Steps
	f := Played{Path: s.Path[:n], Records: s.Records}
	if n < len(s.Path) {
		f.Records = s.Records[:s.Points[n].Records]
	}
	f.Records = slices.Clone(toVerdict(f.Records))
	for i := range f.Records {
		f.Records[i].Line = ""
	}
	for i, p := range s.Points[:n+1] {
		f.Points = append(f.Points, Point{At: p.At, Records: p.Records})
		if i < n {
			f.Points[i].Options = []Option{{Label: s.Path[i]}}
		}
	}
	return &f
}

// toVerdict leaves away what comes after the last verdict.
func toVerdict(records []trace.Record) []trace.Record {
	for records[len(records)-1].Kind != trace.Verdict {
		records = records[:len(records)-1]
	}
	return records
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

// An Option is something that can happen next.
type Option struct {
	Label string // in the schedule's name
	Text  string // the command, or what the client does at the resource
	Line  string // of the lock, which sends the command
	by    string // the client that continues, "" if it is none
	do    func()
}

// Choose picks what happens next. With no options, the schedule has ended.
type Choose func(opts []Option) int

// A branch is a state in which something must be chosen.
type branch struct {
	options int
	todo    []choice // what was not tried yet, after what is tried now
}

type choice struct {
	label string
	spent int // preemptions up to here
}

// search plays each schedule with no more preemptions than bound (-1: with any) from the start,
// up to where it differs from the last one, depth first. It returns how many there are.
func search(bound int, play func(Choose)) (schedules int) {
	for path := []*branch(nil); schedules == 0 || len(path) > 0; schedules++ {
		depth, spent := 0, 0
		play(func(opts []Option) int {
			if len(opts) == 0 {
				return 0
			}
			if depth == len(path) {
				path = append(path, newBranch(opts, spent, bound))
			}
			b := path[depth]
			now := b.todo[0]
			i := slices.IndexFunc(opts, func(o Option) bool { return o.Label == now.label })
			if b.options != len(opts) || i < 0 {
				panic(fmt.Sprintf("the same schedule had %d choices here, %s among them, and now it has %v", b.options, now.label, opts))
			}
			depth, spent = depth+1, now.spent
			return i
		})
		for len(path) > 0 {
			last := path[len(path)-1]
			if last.todo = last.todo[1:]; len(last.todo) > 0 {
				break
			}
			path = path[:len(path)-1]
		}
	}
	return schedules
}

// newBranch is a state before which so many preemptions have been spent.
func newBranch(opts []Option, spent, bound int) *branch {
	b := &branch{options: len(opts)}
	for i, o := range opts {
		c := choice{o.Label, spent}
		if i > 0 && o.by != "" {
			c.spent++
		}
		switch {
		case bound >= 0 && c.spent > bound:
		case o.by == "" || o.Label[0] == 'F':
			b.todo = slices.Insert(b.todo, 0, c) // a fault is tried first, at its earliest
		default:
			b.todo = append(b.todo, c)
		}
	}
	return b
}

// follow chooses what the name of a schedule says, and after that whatever comes first.
func follow(name string) Choose {
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

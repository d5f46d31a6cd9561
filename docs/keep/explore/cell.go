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
	"example.com/redislock-steps/docs/keep/explore/internal/graph"
	"example.com/redislock-steps/docs/keep/explore/internal/schedule"
	"example.com/redislock-steps/docs/keep/explore/internal/search"
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
	Kinds                string       // of violations: as letters, in the order of schedule.Kinds
	Bad                  []bad        // a few short schedules that show them all
	Graph                *graph.Graph // of all schedules
	First                *graph.Graph // of a shortest one that violates, up to where it does
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
	c, err = newCell(strings.Join(part[:n-2], "/"), part[n-2])
	return c, part[n-1], err
}

func newCell(lock, fault string) (c cell, err error) {
	l, err1 := lockNamed(lock)
	f, err2 := faultNamed(fault)
	return cell{lock: l, fault: f}, cmp.Or(err1, err2)
}

// playable reports whether docs/play has the cell as a level: the same choices give the same times.
func (c cell) playable() bool { return c.lock.step >= 0 && !(c.lock.random && c.fault.Wait) }

// onStage lets a function play the schedules of a cell.
func (c cell) onStage(t *testing.T, play func(*schedule.Stage)) {
	synctest.Test(t, func(*testing.T) {
		logging.Disable()
		stage := &schedule.Stage{Lock: c.lock.make, Random: c.lock.random, Fault: c.fault.Fault, Clients: 2}
		stage.Open(c.lock.nodes)
		play(stage)
		stage.Close()
	})
}

// explore plays all schedules of a cell on its stage.
func (c *cell) explore(stage *schedule.Stage) {
	var played []graph.Schedule
	shortest := map[string]bad{} // by the kinds that a schedule shows
	var first *graph.Schedule
	c.Schedules = search.Run(c.lock.bound, func(choose search.Choose) {
		s := stage.Play(choose)
		if c.playable() {
			played = append(played, s.Schedule)
		}
		if len(s.Found) == 0 {
			return
		}
		c.Violating++
		b := upToLast(s)
		if old, known := shortest[b.Kinds]; !known || len(b.Path) < len(old.Path) {
			shortest[b.Kinds] = b
		}
		if first == nil || s.Found[0].Steps < len(first.Path) {
			first = upToFirst(s)
		}
	})
	for _, b := range slices.SortedFunc(maps.Values(shortest), func(a, b bad) int {
		return cmp.Or(len(b.Kinds)-len(a.Kinds), strings.Compare(a.Kinds, b.Kinds))
	}) {
		if both := inOrder(c.Kinds + b.Kinds); both != c.Kinds {
			c.Kinds, c.Bad = both, append(c.Bad, b)
		}
	}
	if c.playable() {
		c.Graph = graph.Of(c.String(), played)
	}
	if first != nil {
		c.First = graph.Of(c.String(), []graph.Schedule{*first})
	}
}

// upToLast is a schedule up to its last violation.
func upToLast(s *schedule.Schedule) (b bad) {
	for _, v := range s.Found {
		b.Kinds += string(v.Kind)
		b.Path = s.Path[:v.Steps]
	}
	b.Kinds, b.Trace = inOrder(b.Kinds), toVerdict(s.Records)
	return b
}

// upToFirst is a schedule up to its first violation, with nothing to choose from but what
// was chosen.
func upToFirst(s *schedule.Schedule) *graph.Schedule {
	n := s.Found[0].Steps
	f := graph.Schedule{Path: s.Path[:n], Records: s.Records}
	if n < len(s.Path) {
		f.Records = s.Records[:s.Points[n].Records]
	}
	f.Records = slices.Clone(toVerdict(f.Records))
	for i := range f.Records {
		f.Records[i].Line = ""
	}
	for i, p := range s.Points[:n+1] {
		f.Points = append(f.Points, graph.Point{At: p.At, Records: p.Records})
		if i < n {
			f.Points[i].Options = []graph.Option{{Label: s.Path[i]}}
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
	}, schedule.Kinds)
}

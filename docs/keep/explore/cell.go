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

// A job is a cell to explore.
type job struct {
	Step   int
	Fault  string
	Bound  int    // of preemptions; -1 is none
	Replay string // this schedule only
	Graph  bool   // keep all schedules as a graph
}

// A cell is what the exploration of a lock under a fault has found.
type cell struct {
	Job       job `json:"-"`
	Schedules int
	Kinds     string
	Bad       []bad
	All       []string // the names of all that violate
	Graph     *graph.Graph
}

// bad is a schedule that shows violations.
type bad struct {
	Kinds string
	ID    string
	Steps int
	Trace []trace.Record
}

// A lab is a job and the stage on which its schedules play.
type lab struct {
	job
	stage  schedule.Stage
	played []graph.Schedule // if they are kept as a graph
}

func inLab(t *testing.T, s step, j job, explore func(*lab)) {
	synctest.Test(t, func(t *testing.T) {
		logging.Disable()
		f, err := faultNamed(j.Fault)
		l := &lab{job: j, stage: schedule.Stage{Lock: s.make, Random: s.random(), Fault: f.Fault, Clients: 2}}
		if err != nil {
			t.Fatal(err)
		}
		l.stage.Open(s.nodes)
		explore(l)
		l.stage.Close()
	})
}

// explore runs the schedules of a job.
func (l *lab) explore(each func(*schedule.Schedule)) int {
	s := search.Search{Bound: l.Bound, Play: func(choose search.Choose) { each(l.stage.Play(choose)) }}
	return s.Run()
}

// cell explores, and keeps a few short schedules that show all kinds of violations.
func (l *lab) cell() cell {
	c := cell{Job: l.job}
	if l.Replay != "" {
		c.Bad = []bad{{Trace: l.stage.Play(search.Follow(l.Replay)).Records}}
		return c
	}
	shortest := map[string]bad{} // by the kinds that a schedule shows
	c.Schedules = l.explore(func(s *schedule.Schedule) {
		if l.Graph {
			l.played = append(l.played, s.Schedule)
		}
		if len(s.Found) > 0 {
			b := l.bad(s)
			c.All = append(c.All, l.id(s.Path))
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
	if l.Graph {
		b := graph.NewBuilder()
		b.Add(l.String(), l.played)
		if err := compare(&b.Graph, b.Graph.Cells[0], l.played, c.Violating()); err != nil {
			panic(err)
		}
		c.Graph = &b.Graph
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
	}, schedule.Kinds)
}

// bad returns the schedule up to its last violation.
func (l *lab) bad(s *schedule.Schedule) (b bad) {
	for _, v := range s.Found {
		b.Kinds += string(v.Kind)
		b.Steps = v.Steps
	}
	b.Kinds = inOrder(b.Kinds)
	b.ID = l.id(s.Path[:b.Steps])
	b.Trace = s.Records
	for b.Trace[len(b.Trace)-1].Kind != trace.Verdict {
		b.Trace = b.Trace[:len(b.Trace)-1]
	}
	return b
}

// id names a schedule.
func (j job) id(path []string) string { return j.String() + "/" + strings.Join(path, "") }

func (b bad) Story() string    { return trace.Text(b.Trace) }
func (j job) StepName() string { return steps[j.Step].name() }
func (c cell) Why() string     { return expected(c.Job).why }
func (c cell) Violating() int  { return len(c.All) }

// Play is the level of docs/play, or "" if the cell has none.
func (c cell) Play() string {
	if !c.Job.repeats() {
		return ""
	}
	return c.Job.String()
}
func (j job) Title() string {
	f, _ := faultNamed(j.Fault)
	return f.title
}

// String names a cell: step and fault. With a path, that is the ID of a schedule: 05/pause/abFb.
func (j job) String() string { return fmt.Sprintf("%02d/%s", j.Step, j.Fault) }

// parseID is the reverse.
func parseID(id string) (j job, err error) {
	part := strings.Split(id, "/")
	if len(part) != 3 {
		return j, fmt.Errorf("there is no schedule %q; try 05/pause/aFb", id)
	}
	if _, err := fmt.Sscanf(part[0], "%02d", &j.Step); err != nil || j.Step < 0 || j.Step >= len(steps) {
		return j, fmt.Errorf("%q: there is no step %s", id, part[0])
	}
	j.Fault, j.Replay = part[1], part[2]
	_, err = faultNamed(j.Fault)
	return j, err
}

package main

import (
	"cmp"
	"fmt"
	"maps"
	"reflect"
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
	Design string // of the bench, instead of a step
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
	First     *graph.Graph // of a shortest schedule that violates, up to where it does
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
	var first *graph.Schedule
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
			if first == nil || s.Found[0].Steps < len(first.Path) {
				first = upToViolation(s)
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
		c.Graph = l.graph(l.played, c.Violating())
	}
	if first != nil {
		c.First = l.graph([]graph.Schedule{*first}, 1)
		if slices.Contains(attacks, l.Fault) { // the page shows it
			again := l.stage.Play(search.Follow(strings.Join(first.Path, "")))
			if !reflect.DeepEqual(upToViolation(again), first) {
				panic(fmt.Errorf("%s: another time, this is another schedule", l.id(first.Path)))
			}
		}
	}
	return c
}

// graph makes the graph of schedules, and compares it with them.
func (l *lab) graph(played []graph.Schedule, violating int) *graph.Graph {
	b := graph.NewBuilder()
	b.Add(l.String(), played)
	if err := compare(&b.Graph, b.Graph.Cells[0], played, violating); err != nil {
		panic(err)
	}
	return &b.Graph
}

// upToViolation is a schedule up to its first violation, with nothing to choose from but what
// was chosen.
func upToViolation(s *schedule.Schedule) *graph.Schedule {
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

// bad returns the schedule up to its last violation.
func (l *lab) bad(s *schedule.Schedule) (b bad) {
	for _, v := range s.Found {
		b.Kinds += string(v.Kind)
		b.Steps = v.Steps
	}
	b.Kinds = inOrder(b.Kinds)
	b.ID = l.id(s.Path[:b.Steps])
	b.Trace = toVerdict(s.Records)
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
func (j job) String() string { return j.lock() + "/" + j.Fault }

// lock names one in a schedule's ID: 05, or build/121201.
func (j job) lock() string {
	if j.Design != "" {
		return "build/" + j.Design
	}
	return fmt.Sprintf("%02d", j.Step)
}

func (j job) step() step {
	if d, err := designNamed(j.Design); err == nil {
		return d.step()
	}
	return steps[j.Step]
}

// parseID is the reverse.
func parseID(id string) (j job, err error) {
	part := strings.Split(id, "/")
	if part[0] == "build" && len(part) == 4 {
		j = job{Design: part[1], Fault: part[2], Replay: part[3], Bound: -1}
		_, err1 := designNamed(j.Design)
		_, err2 := faultNamed(j.Fault)
		return j, cmp.Or(err1, err2)
	}
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

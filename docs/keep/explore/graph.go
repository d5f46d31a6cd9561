package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"reflect"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/explore/internal/graph"
	"example.com/redislock-steps/docs/keep/explore/internal/schedule"
	"example.com/redislock-steps/docs/keep/explore/internal/search"
)

// A recorder notes the points of a schedule while it is played.
type recorder struct{ points []graph.Point }

// note is choose, and notes what it is asked.
func (r *recorder) note(choose search.Choose) search.Choose {
	r.points = nil
	return func(g search.Game, opts []search.Option) int {
		s := g.(*schedule.Schedule)
		p := graph.Point{At: s.Now(), Records: len(s.Records), Idle: s.Idle()}
		for _, o := range opts {
			p.Options = append(p.Options, graph.Option{Label: o.Label, Text: o.Text, Line: o.Line})
		}
		r.points = append(r.points, p)
		return choose(g, opts)
	}
}

// compare compares a schedule with what the graph tells of its name: all that was to
// choose, and all that happened.
func (l *lab) compare(s *schedule.Schedule) error {
	follow := search.Follow(strings.Join(s.Path, ""))
	points, records := l.Against.Tell(l.Against.Cells[0], func(list []graph.Option) int {
		var opts []search.Option
		for _, o := range list {
			opts = append(opts, search.Option{Label: o.Label})
		}
		return follow(nil, opts)
	})
	played := l.recorder.points[:len(l.recorder.points)-1]
	if reflect.DeepEqual(points, played) && reflect.DeepEqual(records, s.Records) {
		return nil
	}
	want, got := told(points, records), told(played, s.Records)
	i := 0
	for want[i] == got[i] {
		i++
	}
	return fmt.Errorf("%s: in the graph\n%s\nplayed\n%s", l.id(s.Path), want[i], got[i])
}

// told is what a schedule says, in lines.
func told(points []graph.Point, records []trace.Record) (lines []string) {
	for i, p := range points {
		lines = append(lines, fmt.Sprintf("choice %d: %+v", i+1, p))
	}
	for _, r := range records {
		lines = append(lines, fmt.Sprintf("%+v", r))
	}
	return append(lines, "the end")
}

// repeats reports whether the same choices give the same times. In Lock, step 08 pauses at
// random.
func (j job) repeats() bool {
	f, _ := faultNamed(j.Fault)
	return j.Nodes == 1 || !f.Wait
}

// A level is a cell as docs/play shows it.
type level struct {
	Step      int
	Fault     string
	Title     string
	Nodes     int
	Bound     int // of preemptions; -1 is none
	Kinds     string
	Why       string
	ID        string // of a shortest schedule that shows a violation, "" if there is none
	Story     string // its timeline
	Schedules int
	Violating int
}

// writeGraph writes the graph of all cells for docs/play.
func writeGraph(file string, cells []cell) error {
	b := graph.NewBuilder()
	var levels []level
	agree := 0
	for _, c := range cells {
		if c.Graph != nil {
			b.Merge(c.Graph, c.Graph.Cells...)
		}
		if c.Job.Against != nil {
			agree += c.Schedules
		}
		l := level{Step: c.Job.Step, Fault: c.Job.Fault, Title: c.Job.Title(), Nodes: c.Job.Nodes, Bound: c.Job.Bound, Kinds: c.Kinds, Why: c.Why(), Schedules: c.Schedules, Violating: c.Violating()}
		if c.Bad != nil {
			shortest := slices.MinFunc(c.Bad, func(a, b bad) int { return a.Steps - b.Steps })
			l.ID, l.Story = shortest.ID, shortest.Story()
		}
		levels = append(levels, l)
	}
	edges := 0
	for _, s := range b.Graph.States {
		edges += len(s.Edges)
	}
	fmt.Printf("%d cells, %d states, %d options to choose; %d schedules agree with the earlier graph\n", len(cells), len(b.Graph.States), edges, agree)
	js, err := json.Marshal(map[string]any{"Levels": levels, "Graph": b.Graph.Pack()})
	if err != nil {
		return err
	}
	return os.WriteFile(file, js, 0o666)
}

// against gives each job with a graph the part of an earlier graph with which to compare
// it. writeGraph has written the file.
func against(file string, jobs []job) error {
	js, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var found struct{ Graph graph.Packed }
	if err := json.Unmarshal(js, &found); err != nil {
		return err
	}
	g := found.Graph.Unpack()
	for i, j := range jobs {
		if j.Graph {
			err = errors.Join(err, jobs[i].compareWith(g))
		}
	}
	return err
}

// compareWith lets a job compare its cell with that of a graph.
func (j *job) compareWith(g *graph.Graph) error {
	i := slices.IndexFunc(g.Cells, func(c graph.Cell) bool { return c.Name == j.String() })
	if i < 0 {
		return fmt.Errorf("%v is not in the graph", j)
	}
	b := graph.NewBuilder()
	b.Merge(g, g.Cells[i])
	j.Against = &b.Graph
	return nil
}

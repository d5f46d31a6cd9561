package main

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"example.com/redislock-steps/docs/explore/internal/graph"
	"example.com/redislock-steps/docs/explore/internal/schedule"
	"example.com/redislock-steps/docs/explore/internal/search"
	"example.com/redislock-steps/docs/internal/trace"
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

// check plays every edge of the graph of this cell again, by the names of schedules as replay
// does, and compares all that was to choose, and all that happens.
func (l *lab) check(g *graph.Graph) (plays int, err error) {
	i := slices.IndexFunc(g.Cells, func(c graph.Cell) bool { return c.Name == l.String() })
	if i < 0 {
		return 0, fmt.Errorf("%v is not in the graph", l)
	}
	for _, choices := range g.Cover(g.Cells[i]) {
		states, records := g.Tell(g.Cells[i], choices)
		name, points := "", []graph.Point{}
		for i, s := range states {
			name += g.Options[g.States[s].Edges[choices[i]].Option].Label
			points = append(points, show(g, s))
		}
		var r recorder
		played := l.stage.Play(r.note(search.Follow(name)))
		plays++
		want, got := told(points, records), told(r.points[:len(r.points)-1], played.Records)
		for i := range want {
			if want[i] != got[i] {
				return plays, fmt.Errorf("%s: in the graph\n%s\nplayed\n%s", l.id([]string{name}), want[i], got[i])
			}
		}
	}
	return plays, nil
}

// told is what a schedule says, in lines.
func told(points []graph.Point, records []trace.Record) (lines []string) {
	for i, p := range points {
		lines = append(lines, fmt.Sprintf("choice %d: %s %q", i+1, p.Idle, p.Options))
	}
	for _, r := range records {
		js, err := json.Marshal(r)
		if err != nil {
			panic(err)
		}
		lines = append(lines, string(js))
	}
	return append(lines, "the end")
}

// show is a state of the graph as a point.
func show(g *graph.Graph, state int) (p graph.Point) {
	s := g.States[state]
	p.Idle = s.Idle
	for _, e := range s.Edges {
		p.Options = append(p.Options, g.Options[e.Option])
	}
	return p
}

// repeats reports whether the same choices give the same times. In Lock, step 08 pauses at
// random.
func (j job) repeats() bool {
	f, _ := faultNamed(j.Fault)
	return j.Nodes == 1 || !f.Clients.Wait
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
	plays := 0
	for _, c := range cells {
		if c.Graph != nil {
			b.Merge(c.Graph)
		}
		plays += c.Plays
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
	fmt.Printf("%d cells, %d states, %d options to choose; %d schedules played again agree\n", len(cells), len(b.Graph.States), edges, plays)
	js, err := json.Marshal(map[string]any{"Levels": levels, "Graph": b.Graph.Pack()})
	if err != nil {
		return err
	}
	return os.WriteFile(file, js, 0o666)
}

// readGraph reads what writeGraph has written.
func readGraph(file string) (*graph.Graph, error) {
	js, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var found struct{ Graph graph.Packed }
	if err := json.Unmarshal(js, &found); err != nil {
		return nil, err
	}
	return found.Graph.Unpack(), nil
}

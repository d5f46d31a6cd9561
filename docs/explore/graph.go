package main

import (
	"encoding/json"
	"errors"
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

// check plays every edge of the graph again, by the names of schedules as replay does, and
// compares all that was to choose, and all that happens.
func (l *lab) check(g *graph.Graph, c graph.Cell) (plays int, err error) {
	for _, choices := range g.Cover(c) {
		states, records := g.Tell(c, choices)
		name := ""
		for i, s := range states {
			name += g.Options[g.States[s].Edges[choices[i]].Option].Label
		}
		var r recorder
		played := l.stage.Play(r.note(search.Follow(name)))
		plays++
		if len(r.points) != len(states)+1 {
			return plays, fmt.Errorf("%s: %d choices in the graph, %d when it is played", l.id([]string{name}), len(states), len(r.points)-1)
		}
		for i, s := range states {
			if want, got := show(g, s), r.points[i]; want.Idle != got.Idle || !slices.Equal(want.Options, got.Options) {
				return plays, fmt.Errorf("%s, choice %d: in the graph %v %v, played %v %v", l.id([]string{name}), i+1, want.Idle, want.Options, got.Idle, got.Options)
			}
		}
		for i := range max(len(records), len(played.Records)) {
			if want, got := recordAt(records, i), recordAt(played.Records, i); want != got {
				return plays, fmt.Errorf("%s, record %d: in the graph\n%s\nplayed\n%s", l.id([]string{name}), i, want, got)
			}
		}
	}
	return plays, nil
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

func recordAt(records []trace.Record, i int) string {
	if i >= len(records) {
		return "nothing"
	}
	js, err := json.Marshal(records[i])
	if err != nil {
		panic(err)
	}
	return string(js)
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

// writeGraph writes the graph of all cells for docs/play. If against is not "", it is the
// file of an earlier graph, which must say the same.
func writeGraph(file, against string, cells []cell) error {
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
	if err := os.WriteFile(file, js, 0o666); err != nil || against == "" {
		return err
	}
	js, err = os.ReadFile(against)
	if err != nil {
		return err
	}
	var old struct{ Graph graph.Packed }
	if err := json.Unmarshal(js, &old); err != nil {
		return err
	}
	if found := graph.Difference(old.Graph.Unpack(), &b.Graph); found != "" {
		return errors.New("the graph was another one. In\n" + found)
	}
	return nil
}

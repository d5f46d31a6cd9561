package main

import (
	"encoding/json"
	"slices"

	"example.com/redislock-steps/docs/internal/trace"
)

// A graph keeps all schedules of a cell. Its states are the points at which something must be
// chosen; states from which all that can follow is the same are one.

// A Played is a schedule that was played. Its points are one more than what was chosen: in the
// last one, there was nothing to choose.
type Played struct {
	Path    []string // the labels of what was chosen
	Points  []Point
	Records []trace.Record
}

// A Point is a point of a schedule.
type Point struct {
	At      int64
	Records int // that had been written
	Idle    string
	Options []Option
}

// A Graph is the states of one cell, or of many.
//
// Its times are relative: At is the time since the record before, of the first record of
// an edge, since the choice; Until is the time from the record on, and 1 more if that is
// not in the past. A record says only what has changed: without Redis the keys are as
// before, without Inside, so are those who are inside.
type Graph struct {
	Records Set[trace.Record]
	Options Set[Option]
	States  Set[State] // those that can follow a state come before it
	Cells   []Cell
	// How many states and records are of the cells that the page needs first.
	first, records int
}

// A Cell is where the schedules of a cell begin: the edge is what comes before the first choice.
type Cell struct {
	Name  string
	Begin Edge
}

// A State is a point at which something must be chosen.
type State struct {
	Idle  string // a letter for each client: why it has no option, or "." if it has
	Edges []Edge
}

// An Edge is what follows a choice.
type Edge struct {
	Option  int
	To      int   // a state, or end, or unexplored
	After   int64 // µs from the choice to the next one; 0 at the end
	Records []int
}

const (
	end        = -1 // the schedule has ended
	unexplored = -2 // beyond the bound of the search
)

// A Set is a list in which each value is once.
type Set[T any] struct {
	List []T
	at   map[string]int // where they are, by their JSON
}

// add returns where a value is, from now on.
func (s *Set[T]) add(x T) int {
	js, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	i, known := s.at[string(js)]
	if !known {
		if s.at == nil {
			s.at = map[string]int{}
		}
		i = len(s.List)
		s.at[string(js)], s.List = i, append(s.List, x)
	}
	return i
}

// A node is a state before it is known what follows: of a tree of schedules.
type node struct {
	idle    string
	options []int
	edges   map[string]*edge // by label
}

type edge struct {
	Edge
	to *node // nil at the end
}

// graphOf returns the graph of a cell, which has these schedules.
func graphOf(name string, schedules []Played) (g Graph) {
	begin := schedules[0].Points[0]
	root := g.node(begin)
	c := Cell{name, Edge{After: begin.At, Records: g.relative(schedules[0].Records[:begin.Records], nil, 0)}}
	for _, s := range schedules {
		at := root
		for i, label := range s.Path {
			if at.edges[label] == nil {
				at.edges[label] = g.edge(s, i)
			}
			at = at.edges[label].to
		}
	}
	c.Begin.To = g.state(root)
	g.Cells = []Cell{c}
	return g
}

func (g *Graph) node(p Point) *node {
	n := &node{idle: p.Idle, edges: map[string]*edge{}}
	for _, o := range p.Options {
		n.options = append(n.options, g.Options.add(o))
	}
	return n
}

// edge is what follows a choice in a schedule.
func (g *Graph) edge(s Played, choice int) *edge {
	p, next := s.Points[choice], s.Points[choice+1]
	e, to := &edge{Edge: Edge{To: end}}, len(s.Records)
	if len(next.Options) > 0 {
		to, e.to, e.After = next.Records, g.node(next), next.At-p.At
	}
	e.Records = g.relative(s.Records[p.Records:to], s.Records[:p.Records], p.At)
	return e
}

// state is what a node becomes, after those that follow it.
func (g *Graph) state(n *node) int {
	s := State{Idle: n.idle}
	for _, option := range n.options {
		e := Edge{To: unexplored}
		if known := n.edges[g.Options.List[option].Label]; known != nil {
			if e = known.Edge; known.to != nil {
				e.To = g.state(known.to)
			}
		}
		e.Option = option
		s.Edges = append(s.Edges, e)
	}
	return g.States.add(s)
}

// relative adds records, each relative to the one before it. The first is relative to the last
// one of those before, and to a time.
func (g *Graph) relative(records, before []trace.Record, at int64) (list []int) {
	last := trace.Record{Inside: []string{}}
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	for _, now := range records {
		r := now
		r.At -= at
		r.Redis = slices.Clone(now.Redis)
		for i, k := range now.Redis {
			if k.Until > 0 {
				if r.Redis[i].Until -= now.At; k.Until >= now.At {
					r.Redis[i].Until++ // 0 is never
				}
			}
		}
		if last.Redis != nil && slices.Equal(now.Redis, last.Redis) {
			r.Redis = nil
		}
		if slices.Equal(now.Inside, last.Inside) {
			r.Inside = nil
		}
		list = append(list, g.Records.add(r))
		last, at = now, now.At
	}
	return list
}

// merge adds the cells of another graph.
func (g *Graph) merge(other Graph) {
	var records, options, states []int
	for _, r := range other.Records.List {
		records = append(records, g.Records.add(r))
	}
	for _, o := range other.Options.List {
		options = append(options, g.Options.add(o))
	}
	here := func(e Edge) Edge {
		var list []int
		for _, i := range e.Records {
			list = append(list, records[i])
		}
		if e.To >= 0 {
			e.To = states[e.To]
		}
		return Edge{options[e.Option], e.To, e.After, list}
	}
	for _, s := range other.States.List {
		s.Edges = slices.Clone(s.Edges)
		for i, e := range s.Edges {
			s.Edges[i] = here(e)
		}
		states = append(states, g.States.add(s))
	}
	for _, c := range other.Cells {
		g.Cells = append(g.Cells, Cell{c.Name, here(c.Begin)})
	}
}

// begin adds the cells of another graph to those that the page needs first.
func (g *Graph) begin(other Graph) {
	g.merge(other)
	g.first, g.records = len(g.States.List), len(g.Records.List)
}

// pack is what docs/play/page/data.mjs reads: the same, with its states in short lists of numbers.
// The first part is enough for the first states, and the other continues each list.
func (g *Graph) pack() (first, rest packed) {
	var runs Set[[]int]
	var shapes Set[shape]
	run := func(e Edge) int { return runs.add(append([]int{int(e.After)}, e.Records...)) }
	for _, c := range g.Cells {
		first.Cells = append(first.Cells, packedCell{c.Name, run(c.Begin), c.Begin.To})
	}
	for i, s := range g.States.List {
		p := map[bool]*packed{true: &first, false: &rest}[i < g.first]
		shape := shape{Idle: s.Idle}
		for _, e := range s.Edges {
			shape.Options = append(shape.Options, e.Option)
			switch {
			case e.To == unexplored:
				p.Edges = append(p.Edges, 0)
				continue
			case e.To == end:
				p.To = append(p.To, 0)
			default:
				p.To = append(p.To, i-e.To)
			}
			p.Edges = append(p.Edges, 1+run(e))
		}
		p.States = append(p.States, shapes.add(shape))
		p.Runs, p.Shapes = runs.List, shapes.List
	}
	first.Options, first.Records, rest.Records = g.Options.List, g.Records.List[:g.records], g.Records.List[g.records:]
	rest.Runs, rest.Shapes = runs.List[len(first.Runs):], shapes.List[len(first.Shapes):]
	return first, rest
}

type packed struct {
	Options []Option       `json:",omitempty"`
	Records []trace.Record `json:",omitempty"`
	Runs    [][]int        `json:",omitempty"` // after, records: what an edge does
	Shapes  []shape        `json:",omitempty"`
	States  []int          `json:",omitempty"` // shapes
	Edges   []int          `json:",omitempty"` // for each option of each state: 0 if it is unexplored, or 1 + its run
	To      []int          `json:",omitempty"` // for each that is explored: how many states before its own, 0 at the end
	Cells   []packedCell   `json:",omitempty"`
}

type shape struct { // what a state offers
	Idle    string
	Options []int
}

type packedCell struct { // with the run of what comes before its first choice
	Name       string
	Run, State int
}

// Package graph keeps all schedules of a cell in one graph. Its states are the points at
// which something must be chosen; states from which all that can follow is the same are
// one. It knows nothing of locks.
package graph

import (
	"encoding/json"
	"slices"

	"example.com/redislock-steps/docs/internal/trace"
)

// A Graph is the states of one cell, or of many.
//
// Its times are relative: At is the time since the record before, of the first record of
// an edge, since the choice; Until is the time from the record on, and 1 more if that is
// not in the past. A record says only what has changed: without Redis the keys are as
// before, without Inside, so are those who are inside.
type Graph struct {
	Records []trace.Record
	Options []Option
	States  []State // those that can follow a state come before it
	Cells   []Cell
}

// A Cell is where the schedules of a cell begin.
type Cell struct {
	Name    string
	Records []int // before the first choice
	At      int64 // of the first choice
	State   int
}

// An Option is something that can be chosen.
type Option struct {
	Label string // as in the name of a schedule
	Text  string // the command, or what the client does at the resource
	Line  string // of the lock, which sends the command
}

// A State is a point at which something must be chosen.
type State struct {
	Idle  string // a letter for each client: why it has no option, or "." if it has
	Edges []Edge
}

// An Edge is what follows a choice.
type Edge struct {
	Option  int
	To      int   // a state, or End, or Unexplored
	After   int64 // µs from the choice to the next one; 0 at the end
	Records []int
}

const (
	End        = -1 // the schedule has ended
	Unexplored = -2 // beyond the bound of the search
)

// A Schedule is one that was played. Its points are one more than what was chosen: in the
// last one, there was nothing to choose.
type Schedule struct {
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

// A Builder makes a graph.
type Builder struct {
	Graph                    Graph
	records, options, states map[string]int // where they are in the graph
}

// A node is a state before it is known what follows: of a tree of schedules.
type node struct {
	idle    string
	options []int
	to      map[string]*edge // by label
}

type edge struct {
	Edge
	to *node // nil at the end
}

// NewBuilder returns one of an empty graph.
func NewBuilder() *Builder {
	return &Builder{records: map[string]int{}, options: map[string]int{}, states: map[string]int{}}
}

// Add adds a cell, which has these schedules.
func (b *Builder) Add(name string, schedules []Schedule) {
	begin := schedules[0].Points[0]
	root := b.node(begin)
	c := Cell{Name: name, Records: b.relative(schedules[0].Records[:begin.Records], nil, 0), At: begin.At}
	for _, s := range schedules {
		at := root
		for i, label := range s.Path {
			if at.to[label] == nil {
				at.to[label] = b.edge(s, i)
			}
			at = at.to[label].to
		}
	}
	c.State = b.merge(root)
	b.Graph.Cells = append(b.Graph.Cells, c)
}

func (b *Builder) node(p Point) *node {
	n := &node{idle: p.Idle, to: map[string]*edge{}}
	for _, o := range p.Options {
		n.options = append(n.options, intern(b.options, &b.Graph.Options, o))
	}
	return n
}

// edge is what follows a choice in a schedule.
func (b *Builder) edge(s Schedule, choice int) *edge {
	p, next := s.Points[choice], s.Points[choice+1]
	e, to := &edge{Edge: Edge{To: End}}, len(s.Records)
	if len(next.Options) > 0 {
		to, e.to, e.After = next.Records, b.node(next), next.At-p.At
	}
	e.Records = b.relative(s.Records[p.Records:to], s.Records[:p.Records], p.At)
	return e
}

// merge returns the state that a node is, after those that follow it.
func (b *Builder) merge(n *node) int {
	s := State{Idle: n.idle}
	for _, option := range n.options {
		e := Edge{To: Unexplored}
		if known := n.to[b.Graph.Options[option].Label]; known != nil {
			e = known.Edge
			if known.to != nil {
				e.To = b.merge(known.to)
			}
		}
		e.Option = option
		s.Edges = append(s.Edges, e)
	}
	return intern(b.states, &b.Graph.States, s)
}

func (b *Builder) relative(records, before []trace.Record, at int64) (list []int) {
	list = []int{}
	last := trace.Record{Inside: []string{}}
	if len(before) > 0 {
		last = before[len(before)-1]
	}
	for _, r := range records {
		list = append(list, intern(b.records, &b.Graph.Records, relative(r, last, at)))
		last, at = r, r.At
	}
	return list
}

// relative makes a record relative to the one before, and to a time.
func relative(r, before trace.Record, at int64) trace.Record {
	old := r
	r.At -= at
	r.Redis = nil
	if before.Redis == nil || !slices.Equal(old.Redis, before.Redis) {
		r.Redis = slices.Clone(old.Redis)
		for i, k := range r.Redis {
			if k.Until > 0 {
				if r.Redis[i].Until = k.Until - old.At; k.Until >= old.At {
					r.Redis[i].Until++ // 0 is never
				}
			}
		}
	}
	if slices.Equal(old.Inside, before.Inside) {
		r.Inside = nil
	}
	return r
}

// absolute is the reverse.
func absolute(r, before trace.Record, at int64) trace.Record {
	r.At += at
	if r.Redis == nil {
		r.Redis = before.Redis
	} else {
		r.Redis = slices.Clone(r.Redis)
		for i, k := range r.Redis {
			if k.Until != 0 {
				if r.Redis[i].Until = k.Until + r.At; k.Until > 0 {
					r.Redis[i].Until--
				}
			}
		}
	}
	if r.Inside == nil {
		r.Inside = before.Inside
	}
	return r
}

// intern returns the index of x in list, and appends it if it is not there.
func intern[T any](index map[string]int, list *[]T, x T) int {
	key, err := json.Marshal(x)
	if err != nil {
		panic(err)
	}
	i, known := index[string(key)]
	if !known {
		i = len(*list)
		index[string(key)] = i
		*list = append(*list, x)
	}
	return i
}

// Merge adds another graph.
func (b *Builder) Merge(g *Graph) {
	var records, options, states []int // where those of g are here
	in := func(list []int) []int {
		mapped := []int{}
		for _, i := range list {
			mapped = append(mapped, records[i])
		}
		return mapped
	}
	for _, r := range g.Records {
		records = append(records, intern(b.records, &b.Graph.Records, r))
	}
	for _, o := range g.Options {
		options = append(options, intern(b.options, &b.Graph.Options, o))
	}
	for _, s := range g.States {
		s.Edges = slices.Clone(s.Edges)
		for i := range s.Edges {
			e := &s.Edges[i]
			if e.Option = options[e.Option]; e.To != Unexplored {
				e.Records = in(e.Records)
			}
			if e.To >= 0 {
				e.To = states[e.To]
			}
		}
		states = append(states, intern(b.states, &b.Graph.States, s))
	}
	for _, c := range g.Cells {
		b.Graph.Cells = append(b.Graph.Cells, Cell{c.Name, in(c.Records), c.At, states[c.State]})
	}
}

// Tell plays a schedule in the graph, as far as there is one with this path. Of its last
// point the graph knows nothing.
func (g *Graph) Tell(c Cell, path []string) (s Schedule) {
	before := trace.Record{Inside: []string{}}
	tell := func(list []int, at int64) {
		for _, i := range list {
			before = absolute(g.Records[i], before, at)
			s.Records, at = append(s.Records, before), before.At
		}
	}
	tell(c.Records, 0)
	for at, state := c.At, c.State; state >= 0; {
		p := Point{At: at, Records: len(s.Records), Idle: g.States[state].Idle}
		var chosen *Edge
		for i, e := range g.States[state].Edges {
			p.Options = append(p.Options, g.Options[e.Option])
			if len(s.Path) < len(path) && g.Options[e.Option].Label == path[len(s.Path)] {
				chosen = &g.States[state].Edges[i]
			}
		}
		s.Points = append(s.Points, p)
		if chosen == nil {
			break
		}
		s.Path = append(s.Path, path[len(s.Path)])
		tell(chosen.Records, at)
		at, state = at+chosen.After, chosen.To
	}
	return s
}

// Count returns how many schedules begin in each state, and in how many of them is,
// from there on, a violation.
func (g *Graph) Count() (all, violating []int) {
	for _, s := range g.States {
		a, v := 0, 0
		for _, e := range s.Edges {
			ends, wrong := 0, 0
			switch {
			case e.To == End:
				ends = 1
			case e.To >= 0:
				ends, wrong = all[e.To], violating[e.To]
			}
			if slices.ContainsFunc(e.Records, func(i int) bool { return g.Records[i].Kind == trace.Verdict }) {
				wrong = ends
			}
			a, v = a+ends, v+wrong
		}
		all, violating = append(all, a), append(violating, v)
	}
	return all, violating
}

// Package graph keeps all schedules of a cell in one graph. Its states are the points at
// which something must be chosen; states from which all that can follow is the same are
// one. It knows nothing of locks.
package graph

import (
	"encoding/json"
	"maps"
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

// A Point is a point of a schedule.
type Point struct {
	At      int64
	Records int // that had been written
	Idle    string
	Options []Option
}

// A Builder makes a graph.
type Builder struct {
	Graph   Graph
	records map[string]int
	options map[Option]int
	states  map[string]int

	// Of the cell that is being built, a tree.
	cell Cell
	root *node
}

type node struct {
	idle    string
	options []int
	to      map[int]*edge // by option
}

type edge struct {
	Edge
	to *node // nil at the end
}

// NewBuilder returns one of an empty graph.
func NewBuilder() *Builder {
	return &Builder{records: map[string]int{}, options: map[Option]int{}, states: map[string]int{}}
}

// Add adds a schedule: its points, the last of which has no options, what was chosen, and
// what has happened.
func (b *Builder) Add(points []Point, path []string, records []trace.Record) {
	if b.root == nil {
		b.root = b.node(points[0])
		b.cell = Cell{At: points[0].At, Records: b.relative(records, 0, points[0].Records, 0)}
	}
	at := b.root
	for i, label := range path {
		p, next := points[i], points[i+1]
		option := b.option(p.Options[slices.IndexFunc(p.Options, func(o Option) bool { return o.Label == label })])
		e := at.to[option]
		if e == nil {
			e = &edge{Edge: Edge{Option: option, To: End}}
			to := len(records)
			if len(next.Options) > 0 {
				to, e.to, e.After = next.Records, b.node(next), next.At-p.At
			}
			e.Records = b.relative(records, p.Records, to, p.At)
			at.to[option] = e
		}
		at = e.to
	}
}

// End ends the cell: its tree becomes part of the graph.
func (b *Builder) End(name string) {
	b.cell.Name, b.cell.State = name, b.merge(b.root)
	b.Graph.Cells = append(b.Graph.Cells, b.cell)
	b.root = nil
}

func (b *Builder) node(p Point) *node {
	n := &node{idle: p.Idle, to: map[int]*edge{}}
	for _, o := range p.Options {
		n.options = append(n.options, b.option(o))
	}
	return n
}

// merge returns the state that a node is, after those that follow it.
func (b *Builder) merge(n *node) int {
	s := State{Idle: n.idle}
	for _, option := range n.options {
		e := Edge{Option: option, To: Unexplored}
		if known := n.to[option]; known != nil {
			e = known.Edge
			if known.to != nil {
				e.To = b.merge(known.to)
			}
		}
		s.Edges = append(s.Edges, e)
	}
	return intern(b.states, &b.Graph.States, s)
}

func (b *Builder) option(o Option) int {
	i, known := b.options[o]
	if !known {
		i = len(b.Graph.Options)
		b.options[o] = i
		b.Graph.Options = append(b.Graph.Options, o)
	}
	return i
}

func (b *Builder) relative(records []trace.Record, from, to int, at int64) (list []int) {
	list = []int{}
	before := trace.Record{Inside: []string{}}
	if from > 0 {
		before = records[from-1]
	}
	for _, r := range records[from:to] {
		list = append(list, intern(b.records, &b.Graph.Records, relative(r, before, at)))
		before, at = r, r.At
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

// Merge adds cells of another graph.
func (b *Builder) Merge(g *Graph, cells ...Cell) {
	records, options, states := g.usedBy(cells) // and where they are here
	for _, i := range slices.Sorted(maps.Keys(records)) {
		records[i] = intern(b.records, &b.Graph.Records, g.Records[i])
	}
	for _, i := range slices.Sorted(maps.Keys(options)) {
		options[i] = b.option(g.Options[i])
	}
	in := func(list []int) []int {
		mapped := []int{}
		for _, i := range list {
			mapped = append(mapped, records[i])
		}
		return mapped
	}
	for _, i := range slices.Sorted(maps.Keys(states)) {
		s := g.States[i]
		s.Edges = slices.Clone(s.Edges)
		for j := range s.Edges {
			e := &s.Edges[j]
			e.Option, e.Records = options[e.Option], in(e.Records)
			if e.To >= 0 {
				e.To = states[e.To]
			}
		}
		states[i] = intern(b.states, &b.Graph.States, s)
	}
	for _, c := range cells {
		c.Records, c.State = in(c.Records), states[c.State]
		b.Graph.Cells = append(b.Graph.Cells, c)
	}
}

// usedBy is what cells are made of: indexes, and no values yet.
func (g *Graph) usedBy(cells []Cell) (records, options, states map[int]int) {
	records, options, states = map[int]int{}, map[int]int{}, map[int]int{}
	use := func(state int, list []int) {
		if state >= 0 {
			states[state] = 0
		}
		for _, i := range list {
			records[i] = 0
		}
	}
	for _, c := range cells {
		use(c.State, c.Records)
	}
	for i, s := range slices.Backward(g.States) { // those that follow a state come before it
		if _, used := states[i]; !used {
			continue
		}
		for _, e := range s.Edges {
			options[e.Option] = 0
			use(e.To, e.Records)
		}
	}
	return records, options, states
}

// Tell plays a schedule in the graph, and returns what was given to Add. Of its last point
// the graph knows nothing.
func (g *Graph) Tell(c Cell, choose func([]Option) int) (points []Point, records []trace.Record) {
	before := trace.Record{Inside: []string{}}
	tell := func(list []int, at int64) {
		for _, i := range list {
			before = absolute(g.Records[i], before, at)
			records, at = append(records, before), before.At
		}
	}
	tell(c.Records, 0)
	for at, state := c.At, c.State; state >= 0; {
		s := g.States[state]
		p := Point{At: at, Records: len(records), Idle: s.Idle}
		for _, e := range s.Edges {
			p.Options = append(p.Options, g.Options[e.Option])
		}
		points = append(points, p)
		e := s.Edges[choose(p.Options)]
		tell(e.Records, at)
		at, state = at+e.After, e.To
	}
	return points, records
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

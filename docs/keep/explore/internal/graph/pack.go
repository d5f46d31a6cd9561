package graph

import (
	"example.com/redislock-steps/docs/internal/trace"
)

// A Packed graph is the same with its states in short lists of numbers.
type Packed struct {
	Options []Option
	Records []trace.Record
	Runs    [][]int // after, records: what an edge does
	Shapes  []Shape
	States  []int // shapes
	Edges   []int // for each option of each state: 0 if it is unexplored, or 1 + its run
	To      []int // for each that is explored: how many states before its own, 0 at the end
	Cells   []PackedCell
}

// A Shape is what a state offers.
type Shape struct {
	Idle    string
	Options []int
}

// A PackedCell is a Cell, with the run of what comes before its first choice.
type PackedCell struct {
	Name       string
	Run, State int
}

// Pack packs a graph.
func (g *Graph) Pack() *Packed {
	p := &Packed{Options: g.Options, Records: g.Records}
	runs, shapes := map[string]int{}, map[string]int{}
	run := func(after int64, records []int) int {
		return intern(runs, &p.Runs, append([]int{int(after)}, records...))
	}
	for i, s := range g.States {
		shape := Shape{Idle: s.Idle}
		for _, e := range s.Edges {
			shape.Options = append(shape.Options, e.Option)
			switch {
			case e.To == Unexplored:
				p.Edges = append(p.Edges, 0)
				continue
			case e.To == End:
				p.To = append(p.To, 0)
			default:
				p.To = append(p.To, i-e.To)
			}
			p.Edges = append(p.Edges, 1+run(e.After, e.Records))
		}
		p.States = append(p.States, intern(shapes, &p.Shapes, shape))
	}
	for _, c := range g.Cells {
		p.Cells = append(p.Cells, PackedCell{c.Name, run(c.At, c.Records), c.State})
	}
	return p
}

// Unpack is the reverse of Pack.
func (p *Packed) Unpack() *Graph {
	g := &Graph{Options: p.Options, Records: p.Records}
	edge, to := 0, 0
	for i, shape := range p.States {
		s := State{Idle: p.Shapes[shape].Idle}
		for _, option := range p.Shapes[shape].Options {
			e := Edge{Option: option, To: Unexplored}
			if run := p.Edges[edge]; run > 0 {
				e.After, e.Records = int64(p.Runs[run-1][0]), p.Runs[run-1][1:]
				if e.To = End; p.To[to] > 0 {
					e.To = i - p.To[to]
				}
				to++
			}
			edge++
			s.Edges = append(s.Edges, e)
		}
		g.States = append(g.States, s)
	}
	for _, c := range p.Cells {
		g.Cells = append(g.Cells, Cell{c.Name, p.Runs[c.Run][1:], int64(p.Runs[c.Run][0]), c.State})
	}
	return g
}

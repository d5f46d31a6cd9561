package graph

import (
	"example.com/redislock-steps/docs/internal/trace"
)

// A Packed graph is the same in short lists of numbers. A number that stands for a text
// is its place in Strings; frequent things have their own lists.
type Packed struct {
	Strings []string
	Options [][]int // label, text, line
	Records [][]int // see pack
	Runs    [][]int // after, records: what an edge does
	Shapes  [][]int // idle, options: what a state offers
	States  []int   // shapes
	Edges   []int   // for each option of each state: 0 if it is unexplored, or 1 + its run
	To      []int   // for each that is explored: how many states before its own, 0 at the end
	Cells   []PackedCell
}

// A PackedCell is a Cell, with the run of what comes before its first choice.
type PackedCell struct {
	Name       string
	Run, State int
}

type packer struct {
	*Packed
	strings, runs, shapes map[string]int
}

// Pack packs a graph.
func (g *Graph) Pack() *Packed {
	p := packer{&Packed{}, map[string]int{}, map[string]int{}, map[string]int{}}
	for _, o := range g.Options {
		p.Options = append(p.Options, []int{p.text(o.Label), p.text(o.Text), p.text(o.Line)})
	}
	for _, r := range g.Records {
		p.Records = append(p.Records, p.record(r))
	}
	for i, s := range g.States {
		shape := []int{p.text(s.Idle)}
		for _, e := range s.Edges {
			shape = append(shape, e.Option)
			switch {
			case e.To == Unexplored:
				p.Edges = append(p.Edges, 0)
				continue
			case e.To == End:
				p.To = append(p.To, 0)
			default:
				p.To = append(p.To, i-e.To)
			}
			p.Edges = append(p.Edges, 1+p.run(e.After, e.Records))
		}
		p.States = append(p.States, intern(p.shapes, &p.Shapes, shape))
	}
	for _, c := range g.Cells {
		p.Cells = append(p.Cells, PackedCell{c.Name, p.run(c.At, c.Records), c.State})
	}
	return p.Packed
}

func (p packer) text(s string) int { return intern(p.strings, &p.Strings, s) }

func (p packer) run(after int64, records []int) int {
	return intern(p.runs, &p.Runs, append([]int{int(after)}, records...))
}

// record is: at, who, node, kind, text, reply, flags, mark, line; the number of nodes, or 0
// if the keys are as before, and for each token, owner, until; 1 + the number of those who
// are inside, or 0 if they are as before, and who.
func (p packer) record(r trace.Record) []int {
	flags := 0
	for i, set := range []bool{r.Lost, r.Late, r.Again} {
		if set {
			flags |= 1 << i
		}
	}
	list := []int{int(r.At), p.text(r.Who), r.Node, p.text(string(r.Kind)), p.text(r.Text), p.text(r.Reply), flags, p.text(r.Mark), p.text(r.Line), len(r.Redis)}
	for _, k := range r.Redis {
		list = append(list, p.text(k.Token), p.text(k.Owner), int(k.Until))
	}
	if r.Inside == nil {
		return append(list, 0)
	}
	list = append(list, 1+len(r.Inside))
	for _, who := range r.Inside {
		list = append(list, p.text(who))
	}
	return list
}

// Unpack is the reverse of Pack.
func (p *Packed) Unpack() *Graph {
	g := &Graph{}
	for _, o := range p.Options {
		g.Options = append(g.Options, Option{p.Strings[o[0]], p.Strings[o[1]], p.Strings[o[2]]})
	}
	for _, list := range p.Records {
		g.Records = append(g.Records, p.unpack(list))
	}
	edge, to := 0, 0
	for i, shape := range p.States {
		s := State{Idle: p.Strings[p.Shapes[shape][0]]}
		for _, option := range p.Shapes[shape][1:] {
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

func (p *Packed) unpack(list []int) (r trace.Record) {
	next := func() int { n := list[0]; list = list[1:]; return n }
	text := func() string { return p.Strings[next()] }
	r.At, r.Who, r.Node, r.Kind, r.Text, r.Reply = int64(next()), text(), next(), trace.Kind(text()), text(), text()
	flags := next()
	r.Lost, r.Late, r.Again = flags&1 > 0, flags&2 > 0, flags&4 > 0
	r.Mark, r.Line = text(), text()
	for range next() {
		r.Redis = append(r.Redis, trace.Key{Token: text(), Owner: text(), Until: int64(next())})
	}
	if inside := next(); inside > 0 {
		r.Inside = []string{}
		for range inside - 1 {
			r.Inside = append(r.Inside, text())
		}
	}
	return r
}

package graph

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Difference names a state or a choice that two graphs do not have in common, as a
// schedule, and says what is in each. It returns "" if all that they tell is the same.
func Difference(a, b *Graph) string {
	for _, c := range a.Cells {
		i := slices.IndexFunc(b.Cells, func(other Cell) bool { return other.Name == c.Name })
		if i < 0 {
			return c.Name + ": is missing"
		}
		d := b.Cells[i]
		if x, y := fmt.Sprint(c.At, "µs ", a.tell(c.Records)), fmt.Sprint(d.At, "µs ", b.tell(d.Records)); x != y {
			return fmt.Sprintf("%s: %s\nbut %s", c.Name, x, y)
		}
		if found := difference(a, b, c.State, d.State, c.Name+"/", map[[2]int]bool{}); found != "" {
			return found
		}
	}
	if len(a.Cells) != len(b.Cells) {
		return fmt.Sprintf("%d cells; %d", len(a.Cells), len(b.Cells))
	}
	return ""
}

func difference(a, b *Graph, i, j int, path string, same map[[2]int]bool) string {
	if i < 0 || j < 0 || same[[2]int{i, j}] {
		return ""
	}
	same[[2]int{i, j}] = true
	x, y := show(a, i), show(b, j)
	if x != y {
		return fmt.Sprintf("%s: %s\nbut %s", path, x, y)
	}
	for k, e := range a.States[i].Edges {
		f, next := b.States[j].Edges[k], path+a.Options[e.Option].Label
		x, y := a.edge(e), b.edge(f)
		if x != y {
			return fmt.Sprintf("%s: %s\nbut %s", next, x, y)
		}
		if found := difference(a, b, e.To, f.To, next, same); found != "" {
			return found
		}
	}
	return ""
}

// show is who can do nothing, and what can be chosen.
func show(g *Graph, state int) string {
	s := g.States[state]
	text := s.Idle
	for _, e := range s.Edges {
		text += fmt.Sprintf(" %q", g.Options[e.Option])
	}
	return text
}

func (g *Graph) edge(e Edge) string {
	return fmt.Sprintf("%dµs until the next choice%s%s", e.After, map[int]string{End: ", the end", Unexplored: ", unexplored"}[e.To], g.tell(e.Records))
}

// tell is records as text.
func (g *Graph) tell(records []int) (text string) {
	for _, i := range records {
		js, err := json.Marshal(g.Records[i])
		if err != nil {
			panic(err)
		}
		text += "\n" + string(js)
	}
	return text
}

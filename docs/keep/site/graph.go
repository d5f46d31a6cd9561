package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// A graph is what docs/explore packs, as data.mjs reads it.
type graph struct {
	Options   []option
	Records   []json.RawMessage
	Runs      [][]int
	Shapes    []shape
	States    []int
	Edges, To []int
	Cells     []cell
}

type (
	option struct{ Label string }
	shape  struct{ Options []int }
	cell   struct {
		Name       string
		Run, State int
	}
)

// only is what some schedules need of a graph: their states, each with the one choice that is made.
func (g graph) only(schedules []string) (small graph, err error) {
	first, to, ends := []int{}, []int{}, 0 // each state's first edge; each edge's state, or -1
	for i, s := range g.States {
		first = append(first, len(to))
		for range g.Shapes[s].Options {
			if to = append(to, -1); g.Edges[len(to)-1] > 0 {
				if ends++; g.To[ends-1] > 0 {
					to[len(to)-1] = i - g.To[ends-1]
				}
			}
		}
	}
	kept := map[int]int{} // records, by their old numbers
	run := func(old int) int {
		r := g.Runs[old][:1:1]
		for _, i := range g.Runs[old][1:] {
			if _, is := kept[i]; !is {
				kept[i], small.Records = len(small.Records), append(small.Records, g.Records[i])
			}
			r = append(r, kept[i])
		}
		small.Runs = append(small.Runs, r)
		return len(small.Runs) - 1
	}
	for _, id := range schedules {
		path := id[strings.LastIndex(id, "/")+1:]
		c := slices.IndexFunc(g.Cells, func(c cell) bool { return c.Name+"/"+path == id && c.State < len(g.States) })
		if c < 0 {
			return small, fmt.Errorf("%s is in no cell that the page has first", id)
		}
		var edges []int
		var labels []string
		at, left := g.Cells[c].State, path
		for left != "" {
			edge, label := -1, ""
			for k := 0; at >= 0 && k < len(g.Shapes[g.States[at]].Options); k++ {
				l := g.Options[g.Shapes[g.States[at]].Options[k]].Label
				if strings.HasPrefix(left, l) && len(l) > len(label) {
					edge, label = first[at]+k, l
				}
			}
			if edge < 0 || g.Edges[edge] == 0 {
				return small, fmt.Errorf("no schedule is %s: nothing is %s", id, left)
			}
			edges, labels, left, at = append(edges, edge), append(labels, label), left[len(label):], to[edge]
		}
		if at >= 0 {
			small.States, small.Shapes = append(small.States, len(small.Shapes)), append(small.Shapes, shape{[]int{}})
		}
		for i, edge := range slices.Backward(edges) {
			small.States, small.Shapes = append(small.States, len(small.Shapes)), append(small.Shapes, shape{[]int{len(small.Options)}})
			small.Options, small.Edges = append(small.Options, option{labels[i]}), append(small.Edges, 1+run(g.Edges[edge]-1))
			small.To = append(small.To, min(1, to[edge]+1))
		}
		small.Cells = append(small.Cells, cell{g.Cells[c].Name, run(g.Cells[c].Run), len(small.States) - 1})
	}
	return small, nil
}

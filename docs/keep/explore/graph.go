package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/keep/explore/internal/graph"
	"example.com/redislock-steps/docs/play/page"
)

// compare compares all schedules of a cell with what its graph tells of them: all that was to
// choose, and all that happened.
func compare(g *graph.Graph, c graph.Cell, played []graph.Schedule, violating int) error {
	for _, s := range played {
		s.Points = s.Points[:len(s.Path)]
		if told := g.Tell(c, s.Path); !reflect.DeepEqual(told, s) {
			return fmt.Errorf("%s/%s: played\n%+v\nin the graph\n%+v", c.Name, strings.Join(s.Path, ""), s, told)
		}
	}
	// All that was played is in the graph. Is all that is in the graph played?
	if all, wrong := g.Count(); all[c.State] != len(played) || wrong[c.State] != violating {
		return fmt.Errorf("%s: %d of %d schedules violate, and in the graph %d of %d",
			c.Name, violating, len(played), wrong[c.State], all[c.State])
	}
	return nil
}

// repeats reports whether the same choices give the same times.
func (j job) repeats() bool {
	f, _ := faultNamed(j.Fault)
	return !steps[j.Step].random() || !f.Wait
}

// playPage is docs/play/index.html, or the same of the own lock in a folder.
func playPage(cells []cell, own string) ([]byte, error) {
	b := graph.NewBuilder()
	var levels []page.Level
	for _, c := range cells {
		if c.Graph != nil {
			b.Merge(c.Graph)
		}
		l := page.Level{
			Step: c.Job.Step, Fault: c.Job.Fault, Title: c.Job.Title(), Nodes: steps[c.Job.Step].nodes, Bound: c.Job.Bound,
			Kinds: c.Kinds, Why: c.Why(),
		}
		if c.Bad != nil {
			l.ID = slices.MinFunc(c.Bad, func(a, b bad) int { return a.Steps - b.Steps }).ID
		}
		levels = append(levels, l)
	}
	packed := b.Graph.Pack()
	if !reflect.DeepEqual(packed.Unpack(), &b.Graph) {
		return nil, errors.New("packed and unpacked, it is another graph")
	}
	if own == "" { // the chapters tell of the reference solution
		if err := checkChapters(&b.Graph, page.Chapters()); err != nil {
			return nil, err
		}
	}
	return page.New(levels, packed, own, cells[0].Job.Step)
}

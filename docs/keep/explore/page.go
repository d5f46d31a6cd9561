package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"slices"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/keep/explore/internal/graph"
	"example.com/redislock-steps/docs/play/page"
)

const (
	tableFile = "docs/read/faults.md"
	playFile  = "docs/play/index.html"
)

// pages explores the cells of the table, the first level of docs/play, and those of its bench, and
// writes what it has found into the two pages that show it. With check, it compares them.
func pages(table []cell, check bool) error {
	all := append([]cell{{lock: steps[0], fault: faults[0]}}, table...)
	for _, l := range designs {
		for _, f := range faults {
			if slices.Contains(attacks, f.id) {
				all = append(all, cell{lock: l, fault: f})
			}
		}
	}
	if err := exploreAll(all); err != nil {
		return err
	}
	levels := all[:1+len(table)]
	if err := surprises(levels[1:]); err != nil {
		return err
	}
	play, err1 := playPage(levels, bench(all), "")
	old, err2 := os.ReadFile(tableFile)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return errors.Join(put(tableFile, withTable(old, levels[1:]), check), put(playFile, play, check))
}

// put writes a page, or compares it.
func put(file string, page []byte, check bool) error {
	if !check {
		fmt.Printf("%s: %d kB\n", file, len(page)/1000)
		return os.WriteFile(file, page, 0o666)
	}
	old, err := os.ReadFile(file)
	if err == nil && !bytes.Equal(old, page) {
		err = errors.New(file + " is not what a run gives: go run ./docs/explore")
	}
	return err
}

// withTable is a page with the table of these cells between its two marks.
func withTable(page []byte, cells []cell) []byte {
	before, rest, _ := bytes.Cut(page, []byte("<!-- explored -->\n"))
	_, after, _ := bytes.Cut(rest, []byte("<!-- /explored -->\n"))
	return slices.Concat(before, []byte("<!-- explored -->\n"+tableOf(cells)+"<!-- /explored -->\n"), after)
}

// tableOf has a row for each fault, and a column for each lock.
func tableOf(cells []cell) string {
	explored, schedules := map[string]cell{}, 0
	for _, c := range cells {
		explored[c.String()] = c
		schedules += c.Schedules
	}
	names, lines, rows := "| fault |", "|---|", ""
	green, all := make([]int, len(steps)), make([]int, len(steps))
	for _, f := range faults {
		rows += fmt.Sprintf("| %s (`%s`) |", f.title, f.id)
		for _, l := range steps[1:] {
			switch c, is := explored[cell{lock: l, fault: f}.String()]; {
			case !is:
				rows += " – |"
				continue
			case c.Kinds == "":
				rows += fmt.Sprintf(" ✓ %d |", c.Schedules)
				green[l.step]++
			default:
				rows += fmt.Sprintf(" ✗ **%s** |", c.Kinds)
			}
			all[l.step]++
		}
		rows += "\n"
	}
	holds := "| **holds (✓)** |"
	for _, l := range steps[1:] {
		name := l.name
		if l.step == course.Epilogue.N {
			name = "fencing"
		}
		names, lines = names+" "+name+" |", lines+"---|"
		holds += fmt.Sprintf(" **%d of %d** |", green[l.step], all[l.step])
	}
	return fmt.Sprintf("%s\n%s\n%s\n%s\n%d schedules in all.\n", names, lines, holds, rows, schedules)
}

// playPage is docs/play/index.html, or the same of the own lock in a folder, without a bench.
func playPage(cells []cell, bench any, own string) ([]byte, error) {
	var all graph.Graph
	var levels []page.Level
	for _, c := range cells {
		if c.Graph != nil {
			all.Merge(c.Graph)
		}
		l := page.Level{
			Step: c.lock.step, Fault: c.fault.id, Title: c.fault.title, Nodes: c.lock.nodes, Bound: c.lock.bound,
			Kinds: c.Kinds, Why: c.expected().why,
		}
		if c.Bad != nil {
			l.ID = c.id(slices.MinFunc(c.Bad, func(a, b bad) int { return len(a.Path) - len(b.Path) }))
		}
		levels = append(levels, l)
	}
	return page.New(levels, all.Pack(), bench, own, cells[0].lock.step)
}

// bench is what docs/play knows of the locks of its bench: the designs, and the locks of the
// course that take more than a switch. These nest, renew, and ask a majority, or the resource.
func bench(explored []cell) page.Bench {
	b := page.Bench{Attacks: attacks}
	var all graph.Graph
	for _, l := range slices.Concat(designs, steps[6:]) {
		b.Locks = append(b.Locks, l.name)
		for _, attack := range attacks {
			c := explored[slices.IndexFunc(explored, func(c cell) bool { return c.lock.name == l.name && c.fault.id == attack })]
			b.Cells = append(b.Cells, page.BenchCell{Kinds: c.Kinds, All: c.Schedules, Bad: c.Violating})
			if c.First != nil {
				all.Merge(c.First)
			}
		}
	}
	b.Graph = all.Pack()
	return b
}

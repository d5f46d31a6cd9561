package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

const deepFile = "docs/explore/deep.md"

// A depth is more than the matrix does: a column of its own table.
type depth struct {
	title string
	job   job
	steps []int
	only  []string // faults; nil is all
}

func depths(seed uint64) []depth {
	return []depth{
		{"3 clients, every order", job{Clients: 3, Nodes: 1, Bound: -1, Once: true}, []int{1, 2, 3, 4, 5, 6, 7, 9}, nil},
		{"3 nodes, every order", job{Clients: 2, Nodes: 3, Bound: -1, Once: true}, []int{8}, []string{"none"}},
		{"3 nodes, two preemptions", job{Clients: 2, Nodes: 3, Bound: 2, Once: true}, []int{8}, []string{"restart", "clock", "failover"}},
		{"5 nodes, one preemption", job{Clients: 2, Nodes: 5, Bound: 1}, []int{8}, nil},
		{"5 nodes, two preemptions", job{Clients: 2, Nodes: 5, Bound: 2, Once: true}, []int{8}, []string{"none", "resent", "unsent"}},
		{fmt.Sprintf("5 nodes, 3 clients, at random from seed %d", seed), job{Clients: 3, Nodes: 5, Bound: -1, Random: 200, Seed: seed}, []int{8}, nil},
	}
}

// deep explores what takes minutes, and writes it down.
func deep(seed uint64) error {
	var page strings.Builder
	page.WriteString("# Deeper\n\nWritten by `go run ./docs/explore -all`, in minutes; CI does not run it. Letters as in [docs/faults.md](../faults.md);\n" +
		"a number alone is a green cell, a number after letters says in how many schedules of how many.\n")
	for _, d := range depths(seed) {
		var jobs []job
		for _, f := range faults {
			for _, n := range d.steps {
				if j := d.job; f.applies(steps[n-1]) && (d.only == nil || slices.Contains(d.only, f.id)) {
					j.Step, j.Fault = n, f.id
					jobs = append(jobs, j)
				}
			}
		}
		fmt.Printf("\n%s\n", d.title)
		cells, err := explore(jobs, os.Stdout)
		if err != nil {
			return err
		}
		// A client that does not try again shows less, and a third one shows more: whoever loses its lock to a DEL has company.
		// So the letters may differ. But what is green with two clients must be green.
		for _, c := range cells {
			if want, _ := expected(c.Job); want == "" && c.Kinds != "" {
				return surprises([]cell{c})
			}
		}
		d.write(&page, cells)
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, filepath.FromSlash(deepFile)), []byte(page.String()), 0o666)
}

func (d depth) write(b *strings.Builder, cells []cell) {
	fmt.Fprintf(b, "\n## %s\n\n| fault |", upper(d.title))
	for _, n := range d.steps {
		fmt.Fprintf(b, " %s |", steps[n-1].name())
	}
	b.WriteString("\n|---|" + strings.Repeat("---|", len(d.steps)) + "\n")
	total := 0
	for i, c := range cells {
		if i == 0 || c.Job.Fault != cells[i-1].Job.Fault {
			f, _ := faultNamed(c.Job.Fault)
			fmt.Fprintf(b, "| %s |", f.title)
			for _, n := range d.steps {
				fmt.Fprintf(b, " %s |", countOf(cells, n, f.id))
			}
			b.WriteString("\n")
		}
		total += c.Schedules
	}
	fmt.Fprintf(b, "\n%d schedules.\n", total)
}

func countOf(cells []cell, n int, id string) string {
	for _, c := range cells {
		if c.Job.Step == n && c.Job.Fault == id {
			if c.Kinds == "" {
				return fmt.Sprint(c.Schedules)
			}
			return fmt.Sprintf("**%s** %d of %d", c.Kinds, c.Violating, c.Schedules)
		}
	}
	return "–"
}

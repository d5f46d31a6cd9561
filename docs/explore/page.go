package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"text/template"
)

//go:embed pages.tmpl
var pagesSource string

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"upper": func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
}).Parse(pagesSource))

// A table has a row for each fault and a column for each step.
type table struct {
	Columns []string
	Green   []string // cells, by column: "12 of 30"
	Rows    []row
	Total   int
}

type row struct {
	Title string
	Cells []string
}

// newTable arranges cells, which are sorted by fault; show writes one.
func newTable(cells []cell, show func(cell) string) (t table) {
	for _, c := range cells {
		if name := c.Job.StepName(); !slices.Contains(t.Columns, name) {
			t.Columns = append(t.Columns, name)
		}
	}
	slices.Sort(t.Columns)
	for i, c := range cells {
		if i == 0 || c.Job.Fault != cells[i-1].Job.Fault {
			t.Rows = append(t.Rows, row{c.Job.Title(), slices.Repeat([]string{"–"}, len(t.Columns))})
		}
		t.Rows[len(t.Rows)-1].Cells[slices.Index(t.Columns, c.Job.StepName())] = show(c)
		t.Total += c.Schedules
	}
	return t
}

// writeFaults writes docs/read/faults.md, or compares it.
func writeFaults(cells []cell, check bool) error {
	var red [][]cell // by fault
	for _, c := range cells {
		n := len(red)
		switch {
		case c.Kinds == "":
		case n > 0 && red[n-1][0].Job.Fault == c.Job.Fault:
			red[n-1] = append(red[n-1], c)
		default:
			red = append(red, []cell{c})
		}
	}
	t := newTable(cells, func(c cell) string {
		if c.Kinds == "" {
			return "✓ " + c.verdict()
		}
		return fmt.Sprintf("✗ [**%s**](#%s-%s)", c.Kinds, c.Job.Fault, c.Job.StepName())
	})
	for _, step := range t.Columns {
		all, green := 0, 0
		for _, c := range cells {
			if c.Job.StepName() == step {
				all++
				if c.Kinds == "" {
					green++
				}
			}
		}
		t.Green = append(t.Green, fmt.Sprintf("%d of %d", green, all))
	}
	return writePage("docs/read/faults.md", "faults", map[string]any{
		"Table":  t,
		"Step08": map[string]int{"Nodes": steps[7].nodes, "Bound": steps[7].bound},
		"Red":    red,
	}, check)
}

// writePage writes a page by its template, or compares it.
func writePage(file, name string, data any, check bool) error {
	var want bytes.Buffer
	if err := pages.ExecuteTemplate(&want, name, data); err != nil {
		return err
	}
	if !check {
		return os.WriteFile(file, want.Bytes(), 0o666)
	}
	got, err := os.ReadFile(file)
	if err == nil && !bytes.Equal(got, want.Bytes()) {
		err = errors.New(file + " is not what a run gives: go run ./docs/explore")
	}
	return err
}

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

	"example.com/redislock-steps/docs/internal/course"
)

//go:embed pages.tmpl
var pagesSource string

var pages = template.Must(template.New("").Funcs(template.FuncMap{
	"upper": func(s string) string { return strings.ToUpper(s[:1]) + s[1:] },
}).Parse(pagesSource))

// A row is a fault: a cell for each step, and those that are red.
type row struct {
	Title string
	Cells []string
	Red   []cell
}

// writePages writes the two pages that show what was found, or compares them. The first cell
// is of the lock before the course, which is played, and has no column.
func writePages(cells []cell, check bool) error {
	if err := surprises(cells[1:]); err != nil {
		return err
	}
	play, err1 := playPage(cells, "")
	faults, err2 := faultsPage(cells[1:])
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	return errors.Join(put("docs/read/faults.md", faults, check), put("docs/play/index.html", play, check))
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

// faultsPage is docs/read/faults.md.
func faultsPage(cells []cell) ([]byte, error) {
	var rows []row
	total := 0
	all, green := make([]int, len(steps)), make([]int, len(steps))
	for i, c := range cells { // sorted by fault
		if i == 0 || c.Job.Fault != cells[i-1].Job.Fault {
			rows = append(rows, row{Title: c.Job.Title(), Cells: slices.Repeat([]string{"–"}, len(steps)-1)})
		}
		r, text := &rows[len(rows)-1], "✓ "+c.verdict()
		total += c.Schedules
		all[c.Job.Step]++
		if c.Kinds == "" {
			green[c.Job.Step]++
		} else {
			text = fmt.Sprintf("✗ [**%s**](#%s-%s)", c.Kinds, c.Job.Fault, c.Job.StepName())
			r.Red = append(r.Red, c)
		}
		r.Cells[c.Job.Step-1] = text
	}
	var names, holds []string
	for _, s := range steps[1:] {
		names = append(names, s.name())
		holds = append(holds, fmt.Sprintf("%d of %d", green[s.n], all[s.n]))
	}
	var page bytes.Buffer
	err := pages.Execute(&page, map[string]any{
		"Address": course.Address, "Steps": names, "Holds": holds, "Rows": rows, "Total": total,
		"Nodes": steps[course.Last.N].nodes, "Bound": steps[course.Last.N].bound,
	})
	return page.Bytes(), err
}

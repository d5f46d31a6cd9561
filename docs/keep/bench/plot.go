package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"strconv"
	"strings"
	"text/template"
)

// A theme is that of the page around the plot. The background is drawn: a plot is readable in
// print, and in pages that do not follow the reader's theme.
type theme struct{ File, Paper, Ink, Grid, Step, Library string }

var themes = [2]theme{
	{"pictures/handoff.svg", "#ffffff", "#1f2328", "#d1d9e0", "#0550ae", "#b35900"},
	{"pictures/handoff-dark.svg", "#0d1117", "#f0f6fc", "#3d444d", "#58a6ff", "#ffa657"},
}

const plotTitle = "Hand-off with ten waiters: median to 99th percentile"

// plotDesc says what the plot shows, for those who cannot see it.
func (r *results) plotDesc() string {
	var list []string
	for _, c := range waitingOnes() {
		list = append(list, c.name+" "+r.handoff(c.name, 0.5)+", "+r.handoff(c.name, 0.99))
	}
	return strings.Join(list, "; ") + "."
}

// handoff writes a quantile of the hand-offs.
func (r *results) handoff(name string, q float64) string {
	return seconds(quantile(r.Waits[name].Handoffs, q))
}

//go:embed plot.svg.tmpl
var plotSource string

var plotTemplate = template.Must(template.New("plot").Parse(plotSource))

const (
	plotTop = 88 // the first row
	plotRow = 22
)

// plot draws a row for each contestant: a line from the median to the 99th percentile.
func (r *results) plot(th theme) ([]byte, error) {
	type row struct {
		Name, Color, From, To, Median string
		Y                             int
	}
	var rows []row
	for _, c := range waitingOnes() {
		color := th.Library
		if strings.HasPrefix(c.name, "step") {
			color = th.Step
		}
		from, err := plotX(quantile(r.Waits[c.name].Handoffs, 0.5))
		if err != nil {
			return nil, named(c.name, err)
		}
		to, err := plotX(quantile(r.Waits[c.name].Handoffs, 0.99))
		if err != nil {
			return nil, named(c.name, err)
		}
		rows = append(rows, row{c.name, color, from, to, r.handoff(c.name, 0.5), plotTop + len(rows)*plotRow})
	}
	bottom := plotTop + len(rows)*plotRow - 8
	var b bytes.Buffer
	err := plotTemplate.Execute(&b, map[string]any{"Theme": th, "Title": plotTitle, "Desc": r.plotDesc(), "Rows": rows,
		"Bottom": bottom, "Height": bottom + 12})
	return b.Bytes(), err
}

// plotX is where a time is: in the template, 0.1 ms are at 178, 1 ms at 244, 10 ms at 310 and
// 100 ms at 376.
func plotX(seconds float64) (string, error) {
	if !(seconds >= 100e-6 && seconds <= 0.15) {
		return "", fmt.Errorf("%v s are off the axis of plot.svg.tmpl", seconds)
	}
	// Some processors round a product and a sum at once. With float64, all round the product first:
	// the plot is the same everywhere.
	x := 244 + float64(66*math.Log10(1000*seconds))
	return strconv.FormatFloat(math.Round(x*10)/10, 'f', -1, 64), nil
}

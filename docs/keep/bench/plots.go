package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// A theme is that of the page around a plot. The background is drawn: a plot is readable in print,
// and in pages that do not follow the reader's theme.
type theme struct{ suffix, paper, ink, grid string }

var themes = [2]theme{
	{"", "#ffffff", "#1f2328", "#d1d9e0"},
	{"-dark", "#0d1117", "#f0f6fc", "#3d444d"},
}

// drawn are the contestants in the plot, and how: colours of each theme. Where colours are alike
// to some readers, dashes differ. Steps 01 to 04 wait as step 05 does: their lines would hide it.
var drawn = []struct {
	name   string
	colors [len(themes)]string
	dash   string
}{
	{"step 05", [...]string{"#0a7480", "#39c5cf"}, "2 3"},
	{"step 06", [...]string{"#8250df", "#bc8cff"}, "9 4"},
	{"step 07", [...]string{"#0550ae", "#58a6ff"}, ""},
	{"step 08 on 5", [...]string{"#1f2328", "#f0f6fc"}, "9 3 2 3"},
	{bsmName, [...]string{"#b35900", "#ffa657"}, "16 4"},
	{redsync1, [...]string{"#1a7f37", "#3fb950"}, ""},
	{redsync5, [...]string{"#1a7f37", "#3fb950"}, "9 4"},
	{rueidisName, [...]string{"#c11a26", "#ff7b72"}, "9 3 2 3"},
	{rueidisProc, [...]string{"#c11a26", "#ff7b72"}, "2 3"},
}

// A plot has a line of each drawn contestant that has hand-offs. It rises from 0 to 1:
// the share of them that took at most so long.
type plot struct {
	lines     map[string][]float64 // ms, a hundredth of the hand-offs from one to the next
	low, high int                  // the powers of ten around them
	desc      string               // for those who cannot see it
}

func (r *results) plot() plot {
	p := plot{lines: map[string][]float64{}}
	var all []float64
	var medians []string
	for _, look := range drawn {
		if handoffs := r.Waits[look.name].Handoffs; len(handoffs) > 0 {
			p.lines[look.name] = hundredths(handoffs)
			all = append(all, p.lines[look.name]...)
			medians = append(medians, look.name+" "+seconds(quantile(handoffs, 0.5)))
		}
	}
	p.low, p.high = decades(all)
	p.desc = "The time from a holder's Unlock to the next holder's Lock. Medians: " + strings.Join(medians, ", ") + "."
	return p
}

// hundredths returns the quantiles 0, 0.01, 0.02 ... 1 of the times, in ms.
func hundredths(values times) (ms []float64) {
	for i := range 101 {
		ms = append(ms, 1000*quantile(values, float64(i)/100))
	}
	return ms
}

// decades returns the exponents of the powers of ten around all values.
func decades(values []float64) (low, high int) {
	if len(values) == 0 {
		return 0, 1
	}
	low = int(math.Floor(math.Log10(slices.Min(values))))
	return low, max(low+1, int(math.Ceil(math.Log10(slices.Max(values)))))
}

const plotTitle = "Hand-off with ten waiters"

// plotFile is where the plot is in a theme, from docs/read.
func plotFile(th int) string { return "pictures/handoff" + themes[th].suffix + ".svg" }

// html shows the plot in the theme of the page. It is one line: Markdown around it stays Markdown.
func (p plot) html() string {
	return fmt.Sprintf(`<picture><source media="(prefers-color-scheme: dark)" srcset="%s"><img alt="%s" src="%s"></picture>`,
		plotFile(1), template.HTMLEscapeString(plotTitle+". "+p.desc), plotFile(0))
}

//go:embed plot.svg.tmpl
var plotSource string

var plotTemplate = template.Must(template.New("plot").Parse(plotSource))

// Where the parts of a plot are. It is as wide as a text of 14 px needs it to be to have at least
// 10 px on a phone.
const (
	left, right, top, bottom = 58, 464, 62, 302
	legendTop, legendRow     = bottom + 72, 22
)

var legendColumns = []int{12, 248}

// draw returns the plot in a theme.
func (p plot) draw(th int) ([]byte, error) {
	type line struct {
		Name, Color, Dash, Path string
		LegendX, LegendY        int
	}
	type label struct{ At, Label string }
	// Some processors round a product and a sum at once. With float64, all round the product first:
	// the plot is the same everywhere.
	x := func(ms float64) string {
		return px(left + float64((right-left)*((math.Log10(ms)-float64(p.low))/float64(p.high-p.low))))
	}
	y := func(percent int) string { return px(bottom - float64((bottom-top)*(float64(percent)/100))) }
	var lines []line
	for _, look := range drawn {
		points := p.lines[look.name]
		if len(points) == 0 {
			continue
		}
		l := line{Name: look.name, Color: look.colors[th], Dash: look.dash}
		l.LegendX = legendColumns[len(lines)%len(legendColumns)]
		l.LegendY = legendTop + len(lines)/len(legendColumns)*legendRow
		for percent, ms := range points {
			l.Path += " " + x(ms) + " " + y(percent)
		}
		lines = append(lines, l)
	}
	var xTicks, yTicks []label
	for e := p.low; e <= p.high; e++ {
		ms := math.Pow10(e)
		xTicks = append(xTicks, label{x(ms), strconv.FormatFloat(ms, 'f', -1, 64)})
	}
	for percent := 0; percent <= 100; percent += 25 {
		yTicks = append(yTicks, label{y(percent), fmt.Sprintf("%d%%", percent)})
	}
	rows := (len(lines) + len(legendColumns) - 1) / len(legendColumns)
	var b bytes.Buffer
	err := plotTemplate.Execute(&b, map[string]any{
		"Height": legendTop + rows*legendRow - 4,
		"Paper":  themes[th].paper, "Ink": themes[th].ink, "Grid": themes[th].grid,
		"Title": plotTitle, "Desc": p.desc,
		"Left": left, "Right": right, "Top": top, "Bottom": bottom,
		"XTicks": xTicks, "YTicks": yTicks, "Lines": lines,
	})
	return b.Bytes(), err
}

// px writes a coordinate.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

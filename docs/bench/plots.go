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

// drawn are the contestants in the plots, and how: colours of each theme. Where colours are alike
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

// A chart is lines of all drawn contestants that have points.
type chart struct {
	name, title string
	desc        string // for those who cannot see it
	x, y        string
	xAxis       axis
	yAxis       axis
	lines       map[string][]point
	marks       bool
}

type point struct{ x, y float64 }

func (r *results) charts() []chart {
	rate, fair := (*contention).rate, (*contention).fairness
	return []chart{
		r.handoffChart(),
		fightChart(chart{
			name: "one-key", title: "Locks per second, one key for all", y: "locks per second",
			desc: "All clients together.",
		}, r.OneKey, rate, "%.0f"),
		fightChart(chart{
			name: "fairness", title: "Fairness, one key for all", y: "Jain's index: 1 if all get in equally often",
			desc:  "Jain's index: 1 if all get in equally often.",
			yAxis: axis{high: 1, ticks: []tick{{0, "0"}, {0.25, "0.25"}, {0.5, "0.5"}, {0.75, "0.75"}, {1, "1"}}},
		}, r.OneKey, fair, "%.2f"),
		fightChart(chart{
			name: "own-keys", title: "Locks per second, a key for each client", y: "locks per second",
			desc: "All clients together.",
		}, r.OwnKeys, rate, "%.0f"),
	}
}

// handoffChart has lines that rise from 0 to 1: how many hand-offs took at most so long.
func (r *results) handoffChart() chart {
	c := chart{
		name: "handoff", title: "Hand-off with ten waiters",
		x: "ms from Unlock to the next holder's Lock", y: "share of hand-offs that took at most so long",
		yAxis: axis{high: 1, ticks: []tick{{0, "0%"}, {0.25, "25%"}, {0.5, "50%"}, {0.75, "75%"}, {1, "100%"}}},
		lines: map[string][]point{},
	}
	var medians []string
	var all []float64
	for _, look := range drawn {
		w := r.Waits[look.name]
		if w == nil || len(w.Handoffs) == 0 {
			continue
		}
		c.lines[look.name] = shares(w.Handoffs)
		medians = append(medians, look.name+" "+seconds(quantile(w.Handoffs, 0.5)))
		for _, p := range c.lines[look.name] {
			all = append(all, p.x)
		}
	}
	c.xAxis = logAxis(all)
	c.desc = "The time from a holder's Unlock to the next holder's Lock. Medians: " + strings.Join(medians, ", ") + "."
	return c
}

// file is where the plot is in a theme, from docs.
func (c chart) file(th theme) string { return "bench/plots/" + c.name + th.suffix + ".svg" }

// html shows the plot in the theme of the page. It is one line: Markdown around it stays Markdown.
func (c chart) html() string {
	alt := template.HTMLEscapeString(c.title + ". " + c.desc)
	return fmt.Sprintf(`<picture><source media="(prefers-color-scheme: dark)" srcset="%s"><img alt="%s" src="%s"></picture>`,
		c.file(themes[1]), alt, c.file(themes[0]))
}

// shares returns which share of the times is at most so many milliseconds, in steps of a hundredth.
func shares(values times) (points []point) {
	if len(values) == 0 {
		return nil
	}
	for i := range 101 {
		q := float64(i) / 100
		points = append(points, point{1000 * quantile(values, q), q})
	}
	return points
}

// fightChart has a figure of contention over the number of clients.
func fightChart(c chart, fights map[string]map[int]*contention, of func(*contention) float64, format string) chart {
	c.x, c.marks, c.lines = "clients", true, map[string][]point{}
	most := slices.Max(contenders)
	c.xAxis = axis{low: 1, high: float64(most), log: true}
	for _, n := range contenders {
		c.xAxis.ticks = append(c.xAxis.ticks, tick{float64(n), strconv.Itoa(n)})
	}
	var last []string
	var all []float64
	for _, look := range drawn {
		for _, n := range contenders {
			f := fights[look.name][n]
			if f == nil || !(of(f) > 0) {
				continue
			}
			c.lines[look.name] = append(c.lines[look.name], point{float64(n), of(f)})
			all = append(all, of(f))
			if n == most {
				last = append(last, look.name+" "+fmt.Sprintf(format, of(f)))
			}
		}
	}
	if c.yAxis.ticks == nil {
		c.yAxis = logAxis(all)
	}
	c.desc += fmt.Sprintf(" With %d clients: %s.", most, strings.Join(last, ", "))
	return c
}

// An axis shows the values from low to high.
type axis struct {
	low, high float64
	log       bool
	ticks     []tick
}

type tick struct {
	value float64
	label string
}

// share returns where on the axis v is: 0 at its begin, 1 at its end.
func (a axis) share(v float64) float64 {
	if a.log {
		return math.Log(v/a.low) / math.Log(a.high/a.low)
	}
	return (v - a.low) / (a.high - a.low)
}

// logAxis is long enough for all values. Its ticks are 1, 2, 5, 10 and so on, or powers of ten.
func logAxis(values []float64) axis {
	if len(values) == 0 {
		values = []float64{1}
	}
	low, high := slices.Min(values), slices.Max(values)
	ticks := logTicks(low, high, 1, 2, 5)
	if len(ticks) > 10 {
		ticks = logTicks(low, high, 1)
	}
	return axis{low: ticks[0].value, high: ticks[len(ticks)-1].value, log: true, ticks: ticks}
}

// logTicks are the factors times powers of ten, from the last one that is not above low to the
// first one above high.
func logTicks(low, high float64, factors ...float64) (ticks []tick) {
	for e := int(math.Floor(math.Log10(low))); ; e++ {
		for _, factor := range factors {
			v := factor * math.Pow10(e)
			if v <= low {
				ticks = nil
			}
			ticks = append(ticks, tick{v, strconv.FormatFloat(v, 'f', -1, 64)})
			if v > high {
				return ticks
			}
		}
	}
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
func (c chart) draw(th int) ([]byte, error) {
	type mark struct{ X, Y string }
	type line struct {
		Name, Color, Dash, Path string
		Marks                   []mark
		LegendX, LegendY        int
	}
	type label struct{ At, Label string }
	// Some processors round a product and a sum at once. With float64, all round the product first:
	// the plot is the same everywhere.
	x := func(v float64) string { return px(left + float64((right-left)*c.xAxis.share(v))) }
	y := func(v float64) string { return px(bottom - float64((bottom-top)*c.yAxis.share(v))) }
	var lines []line
	for _, look := range drawn {
		points := c.lines[look.name]
		if len(points) == 0 {
			continue
		}
		l := line{Name: look.name, Color: look.colors[th], Dash: look.dash}
		l.LegendX = legendColumns[len(lines)%len(legendColumns)]
		l.LegendY = legendTop + len(lines)/len(legendColumns)*legendRow
		for i, p := range points {
			l.Path += " "
			if i == 0 {
				l.Path = "M"
			}
			l.Path += x(p.x) + " " + y(p.y)
			if c.marks {
				l.Marks = append(l.Marks, mark{x(p.x), y(p.y)})
			}
		}
		lines = append(lines, l)
	}
	var xTicks, yTicks []label
	for _, t := range c.xAxis.ticks {
		xTicks = append(xTicks, label{x(t.value), t.label})
	}
	for _, t := range c.yAxis.ticks {
		yTicks = append(yTicks, label{y(t.value), t.label})
	}
	rows := (len(lines) + len(legendColumns) - 1) / len(legendColumns)
	var b bytes.Buffer
	err := plotTemplate.Execute(&b, map[string]any{
		"Height": legendTop + rows*legendRow - 4,
		"Paper":  themes[th].paper, "Ink": themes[th].ink, "Grid": themes[th].grid,
		"Title": c.title, "Desc": c.desc, "X": c.x, "Y": c.y,
		"Left": left, "Right": right, "Top": top, "Bottom": bottom,
		"XTicks": xTicks, "YTicks": yTicks, "Lines": lines,
	})
	return b.Bytes(), err
}

// px writes a coordinate.
func px(v float64) string { return strconv.FormatFloat(math.Round(v*10)/10, 'f', -1, 64) }

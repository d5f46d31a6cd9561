package main

import (
	"bytes"
	"fmt"
	"image/color"
	"os"
	"path/filepath"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// drawn are the contestants in the plots, and how. Steps 01 to 04 wait as step 05 does: their lines would hide it.
var drawn = []struct {
	name  string
	color color.Color
	dash  []vg.Length
}{
	{"step 05", rgb(0x8ecae6), nil},
	{"step 06", rgb(0x219ebc), nil},
	{"step 07", rgb(0x023047), nil},
	{"step 08 on 5", rgb(0x023047), dashed},
	{bsmName, rgb(0xfb8500), nil},
	{redsync1, rgb(0x6a994e), nil},
	{redsync5, rgb(0x6a994e), dashed},
	{rueidisName, rgb(0xc1121f), nil},
	{rueidisProc, rgb(0xc1121f), dashed},
}

var dashed = []vg.Length{vg.Points(5), vg.Points(3)}

func rgb(c uint32) color.Color {
	return color.RGBA{R: uint8(c >> 16), G: uint8(c >> 8), B: uint8(c), A: 255}
}

// plot writes the plots into a folder.
func (r *results) plot(dir string) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	fights := func(all map[string]map[int]*contention, y func(*contention) float64) func(string) plotter.XYs {
		return func(name string) plotter.XYs {
			var points plotter.XYs
			for _, n := range contenders {
				if f := all[name][n]; f != nil && y(f) > 0 {
					points = append(points, plotter.XY{X: float64(n), Y: y(f)})
				}
			}
			return points
		}
	}
	for _, c := range []chart{
		{file: "handoff.svg", title: "Hand-off with ten waiters", x: "time from Unlock to the next holder's Lock, ms", y: "share of hand-offs",
			logX: true, points: r.handoffCurve},
		{file: "one-key.svg", title: "One key", x: "clients", y: "locks per second", logX: true, logY: true, ticks: contenders,
			points: fights(r.OneKey, (*contention).rate), marks: true},
		{file: "fairness.svg", title: "One key", x: "clients", y: "fairness (Jain)", logX: true, ticks: contenders,
			points: fights(r.OneKey, (*contention).fairness), marks: true},
		{file: "own-keys.svg", title: "A key for each client", x: "clients", y: "locks per second", logX: true, logY: true, ticks: contenders,
			points: fights(r.OwnKeys, (*contention).rate), marks: true},
	} {
		svg, err := c.draw()
		if err != nil {
			return fmt.Errorf("%s: %w", c.file, err)
		}
		if err := os.WriteFile(filepath.Join(dir, c.file), svg, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// handoffCurve rises from 0 to 1: how many hand-offs took at most so long.
func (r *results) handoffCurve(name string) plotter.XYs {
	w := r.Waits[name]
	if w == nil {
		return nil
	}
	return cumulative(w.Handoffs)
}

func cumulative(seconds []float64) plotter.XYs {
	var points plotter.XYs
	for i, s := range slices.Sorted(slices.Values(seconds)) {
		points = append(points, plotter.XY{X: s * 1000, Y: float64(i+1) / float64(len(seconds))})
	}
	return points
}

// A chart is lines of all drawn contestants that have points.
type chart struct {
	file, title, x, y string
	logX, logY, marks bool
	ticks             []int // on the x axis, if not chosen by themselves
	points            func(name string) plotter.XYs
}

func (c chart) draw() ([]byte, error) {
	plot.DefaultFont = font.Font{Typeface: "Liberation", Variant: "Sans"}
	p := plot.New()
	p.Title.Text, p.X.Label.Text, p.Y.Label.Text = c.title, c.x, c.y
	p.Title.TextStyle.Font.Size, p.X.Padding, p.Y.Padding = vg.Points(13), vg.Points(4), vg.Points(4)
	if c.logX {
		p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if c.logY {
		p.Y.Scale, p.Y.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	}
	if c.ticks != nil {
		var ticks []plot.Tick
		for _, n := range c.ticks {
			ticks = append(ticks, plot.Tick{Value: float64(n), Label: fmt.Sprint(n)})
		}
		p.X.Tick.Marker = plot.ConstantTicks(ticks)
	}
	grid := plotter.NewGrid()
	grid.Horizontal.Color, grid.Vertical.Color = rgb(0xdddddd), rgb(0xdddddd)
	p.Add(grid)
	legend := plot.NewLegend()
	legend.Top, legend.Left, legend.YPosition, legend.Padding = true, true, draw.PosCenter, vg.Points(4)
	for _, d := range drawn {
		points := c.points(d.name)
		if len(points) == 0 {
			continue
		}
		line, err := plotter.NewLine(points)
		if err != nil {
			return nil, err
		}
		line.LineStyle = draw.LineStyle{Color: d.color, Width: vg.Points(2), Dashes: d.dash}
		p.Add(line)
		legend.Add(d.name, line)
		if c.marks {
			scatter, err := plotter.NewScatter(points)
			if err != nil {
				return nil, err
			}
			scatter.GlyphStyle = draw.GlyphStyle{Color: d.color, Radius: vg.Points(3), Shape: draw.CircleGlyph{}}
			p.Add(scatter)
		}
	}
	if !c.logY {
		p.Y.Min, p.Y.Max = 0, 1.02
	}

	const width, height, legendWidth = 640, 360, 165
	canvas := vgsvg.New(vg.Points(width), vg.Points(height))
	all := draw.New(canvas)
	all.FillPolygon(color.White, []vg.Point{all.Min, {X: all.Max.X, Y: all.Min.Y}, all.Max, {X: all.Min.X, Y: all.Max.Y}})
	p.Draw(draw.Crop(all, vg.Points(6), -vg.Points(legendWidth), vg.Points(4), -vg.Points(6)))
	legend.Draw(draw.Crop(all, vg.Points(width-legendWidth+8), 0, 0, -vg.Points(30)))

	var b bytes.Buffer
	_, err := canvas.WriteTo(&b)
	return b.Bytes(), err
}

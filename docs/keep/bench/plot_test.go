package main

import (
	"encoding/xml"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// A drawing is what a plot has, as far as the tests ask.
type drawing struct {
	Title string `xml:"title"`
	Desc  string `xml:"desc"`
	Rect  struct {
		Fill string `xml:"fill,attr"`
	} `xml:"rect"`
	Texts  []string `xml:"text"`
	Groups []struct {
		Stroke string `xml:"stroke,attr"`
		Path   struct {
			D string `xml:"d,attr"`
		} `xml:"path"`
	} `xml:"g"`
}

func drawn(t *testing.T, r *results, th theme) (d drawing) {
	t.Helper()
	svg, err := r.plot(th)
	require.NoError(t, err)
	require.NoError(t, xml.Unmarshal(svg, &d), "it is not well-formed")
	return d
}

func TestPlot_HasALineForEachLockThatWaits(t *testing.T) {
	r := madeUp()
	r.Waits[redsync1].Handoffs = handoffs(0.010, 0.100)
	for i, th := range themes {
		d := drawn(t, r, th)
		require.Equal(t, []string{"#ffffff", "#0d1117"}[i], d.Rect.Fill)
		require.Contains(t, d.Texts, d.Title, "its title is for screen readers only")
		require.Contains(t, d.Desc, "redsync 10 ms, 100 ms;", "who cannot see it learns no figure")
		lines := d.Groups[1:] // after the labels of the axis
		for n, c := range waitingOnes() {
			require.Contains(t, d.Texts, c.name)
			if c.name == redsync1 {
				y := plotTop + n*plotRow
				require.Equal(t, fmt.Sprintf("M318 %dH388m0 -5v10", y), lines[n].Path.D, "its line is not from 10 to 100 ms")
				require.Equal(t, th.Library, lines[n].Stroke)
			}
		}
		require.Len(t, lines, len(waitingOnes()))
		require.Equal(t, th.Step, lines[0].Stroke)
	}
}

func TestPlot_BesideItsAxisIsRefused(t *testing.T) {
	for _, bad := range []float64{99e-6, 0.151, math.NaN()} {
		r := madeUp()
		r.Waits["step 05"].Handoffs = times{bad}
		_, err := r.plot(themes[0])
		require.ErrorContains(t, err, "step 05: ")
		require.ErrorContains(t, err, "beside the axis")
	}
}

func TestThemes_HaveContrast(t *testing.T) {
	require.InDelta(t, 4.48, contrast(t, "#777777", "#ffffff"), 0.01)
	for _, th := range themes {
		require.Greater(t, contrast(t, th.Ink, th.Paper), 7.0)
		require.Greater(t, contrast(t, th.Step, th.Paper), 4.5)
		require.Greater(t, contrast(t, th.Library, th.Paper), 4.5)
	}
}

// contrast is that of WCAG 2: 1 for equal colours, 21 for black and white.
func contrast(t *testing.T, a, b string) float64 {
	luminance := func(color string) float64 {
		var c [3]uint8
		_, err := fmt.Sscanf(color, "#%02x%02x%02x", &c[0], &c[1], &c[2])
		require.NoError(t, err)
		var linear [3]float64
		for i, v := range c {
			s := float64(v) / 255
			if linear[i] = s / 12.92; s > 0.04045 {
				linear[i] = math.Pow((s+0.055)/1.055, 2.4)
			}
		}
		return 0.2126*linear[0] + 0.7152*linear[1] + 0.0722*linear[2]
	}
	l := []float64{luminance(a), luminance(b)}
	slices.Sort(l)
	return (l[1] + 0.05) / (l[0] + 0.05)
}

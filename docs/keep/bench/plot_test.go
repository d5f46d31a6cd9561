package main

import (
	"encoding/xml"
	"fmt"
	"math"
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
				require.Equal(t, fmt.Sprintf("M310 %dH376m0 -5v10", y), lines[n].Path.D, "its line is not from 10 to 100 ms")
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
		require.ErrorContains(t, err, "off the axis")
	}
}

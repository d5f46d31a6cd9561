package main

import (
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// An element of a picture.
type element struct {
	name, text string
	attr       map[string]string
}

// elements reads an SVG, and fails if it is not well-formed.
func elements(t *testing.T, svg []byte) (list []element) {
	t.Helper()
	d := xml.NewDecoder(strings.NewReader(string(svg)))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return list
		}
		require.NoError(t, err)
		switch token := token.(type) {
		case xml.StartElement:
			e := element{name: token.Name.Local, attr: map[string]string{}}
			for _, a := range token.Attr {
				e.attr[a.Name.Local] = a.Value
			}
			list = append(list, e)
		case xml.CharData:
			if len(list) > 0 {
				list[len(list)-1].text += strings.TrimSpace(string(token))
			}
		}
	}
}

func texts(list []element, name string) (found []string) {
	for _, e := range list {
		if e.name == name {
			found = append(found, e.text)
		}
	}
	return found
}

// plotsOf returns the plot of a run in which hand-offs are spread, in each theme.
func plotsOf(t *testing.T) (plots [len(themes)][]byte) {
	t.Helper()
	r := onTheLimit()
	for i, c := range waitingOnes() {
		var spread times
		for j := range 500 {
			spread = append(spread, 0.0004*math.Pow(1.013, float64(j))*float64(i+1))
		}
		r.Waits[c.name].Handoffs = spread
	}
	for i := range themes {
		var err error
		plots[i], err = r.plot().draw(i)
		require.NoError(t, err)
	}
	return plots
}

func TestPlot_IsReadableOnAPhone(t *testing.T) {
	for _, svg := range plotsOf(t) {
		for _, e := range elements(t, svg) {
			if e.name == "svg" {
				require.Equal(t, "480", e.attr["width"])
				require.Equal(t, "0 0 480 "+e.attr["height"], e.attr["viewBox"])
				require.Equal(t, "sans-serif", e.attr["font-family"], "it needs a font that not everybody has")
			}
			if size, ok := e.attr["font-size"]; ok {
				px, err := strconv.Atoi(size)
				require.NoError(t, err)
				require.GreaterOrEqual(t, px*358/480, 10, "this text is too small on a screen of 358 px")
			}
		}
		require.Less(t, len(svg), 15_000, "it is too large")
		require.NotRegexp(t, `\d\.\d{3}`, string(svg), "it has coordinates that nobody sees")
		require.NotContains(t, string(svg), "NaN")
	}
}

func TestPlot_SaysWhatItShows(t *testing.T) {
	for _, svg := range plotsOf(t) {
		all := elements(t, svg)
		require.Contains(t, texts(all, "text"), texts(all, "title")[0], "its title is for screen readers only")
		require.Contains(t, texts(all, "desc")[0], "rueidislock", "who cannot see it learns no figure")
		for _, look := range drawn {
			require.Contains(t, texts(all, "text"), look.name, "its legend does not name everybody")
		}
	}
}

func TestPlot_HasTheBackgroundOfItsTheme(t *testing.T) {
	for i, svg := range plotsOf(t) {
		for _, e := range elements(t, svg) {
			if e.name == "rect" {
				require.Equal(t, "480", e.attr["width"])
				require.Equal(t, []string{"#ffffff", "#0d1117"}[i], e.attr["fill"])
			}
		}
	}
}

func TestThemes_HaveContrast(t *testing.T) {
	for i, th := range themes {
		require.Greater(t, contrast(t, th.ink, th.paper), 7.0, "text on %s", th.paper)
		for _, look := range drawn {
			color := look.colors[i]
			require.Greater(t, contrast(t, color, th.paper), 4.5, "%s (%s) on %s", look.name, color, th.paper)
			for _, other := range drawn {
				same := other.name != look.name && other.dash == look.dash && other.colors[i] == color
				require.False(t, same, "%s and %s look the same", look.name, other.name)
			}
		}
	}
}

// contrast is that of WCAG 2: 1 for equal colours, 21 for black and white.
func contrast(t *testing.T, a, b string) float64 {
	luminance := func(color string) float64 {
		require.Regexp(t, regexp.MustCompile(`^#[0-9a-f]{6}$`), color)
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

func TestContrast(t *testing.T) {
	require.InDelta(t, 21, contrast(t, "#000000", "#ffffff"), 1e-9)
	require.InDelta(t, 4.48, contrast(t, "#777777", "#ffffff"), 0.01)
}

func TestPlot_OfTheSameResultsIsTheSameBytes(t *testing.T) {
	require.Equal(t, plotsOf(t), plotsOf(t))
}

func TestHundredths_ThinOutTimes(t *testing.T) {
	var values times
	for i := range 1000 {
		values = append(values, float64(1000-i)/1000)
	}
	ms := hundredths(values)
	require.Len(t, ms, 101)
	require.Equal(t, []float64{1, 500, 1000}, []float64{ms[0], ms[50], ms[100]})
}

func TestDecades_AreAroundAllValues(t *testing.T) {
	for _, c := range []struct {
		values    []float64
		low, high int
	}{
		{[]float64{98, 0.7}, -1, 2},
		{[]float64{1, 1}, 0, 1},
		{[]float64{2e6, 3, 0.3}, -1, 7},
		{nil, 0, 1},
	} {
		low, high := decades(c.values)
		require.Equal(t, []int{c.low, c.high}, []int{low, high}, "%v", c.values)
	}
}

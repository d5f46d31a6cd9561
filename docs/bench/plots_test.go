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

// plotsOf returns the plots of a run in which hand-offs are spread, by file.
func plotsOf(t *testing.T) map[string][]byte {
	t.Helper()
	r := onTheLimit()
	for i, c := range waitingOnes() {
		var spread times
		for j := range 500 {
			spread = append(spread, 0.0004*math.Pow(1.013, float64(j))*float64(i+1))
		}
		r.Waits[c.name].Handoffs = spread
	}
	plots := map[string][]byte{}
	for _, c := range r.charts() {
		for i, th := range themes {
			svg, err := c.draw(i)
			require.NoError(t, err)
			plots[c.name+th.suffix] = svg
		}
	}
	return plots
}

func TestPlots_AreReadableOnAPhone(t *testing.T) {
	plots := plotsOf(t)
	require.Len(t, plots, 8)
	for name, svg := range plots {
		for _, e := range elements(t, svg) {
			if e.name == "svg" {
				require.Equal(t, "480", e.attr["width"], name)
				require.Equal(t, "0 0 480 "+e.attr["height"], e.attr["viewBox"], name)
				require.Equal(t, "sans-serif", e.attr["font-family"], "%s needs a font that not everybody has", name)
			}
			if size, ok := e.attr["font-size"]; ok {
				px, err := strconv.Atoi(size)
				require.NoError(t, err)
				require.GreaterOrEqual(t, px*358/480, 10, "%s: this text is too small on a screen of 358 px", name)
			}
		}
		require.Less(t, len(svg), 15_000, "%s is too large", name)
		require.NotRegexp(t, `\d\.\d{3}`, string(svg), "%s has coordinates that nobody sees", name)
		require.NotContains(t, string(svg), "NaN", name)
	}
}

func TestPlots_SayWhatTheyShow(t *testing.T) {
	plots := plotsOf(t)
	titles := map[string]string{}
	for name, svg := range plots {
		all := elements(t, svg)
		title := texts(all, "title")[0]
		require.Contains(t, texts(all, "text"), title, "%s: its title is for screen readers only", name)
		require.Contains(t, texts(all, "desc")[0], "rueidislock", "%s: who cannot see it learns no figure", name)
		for _, look := range drawn {
			require.Contains(t, texts(all, "text"), look.name, "%s: its legend does not name everybody", name)
		}
		name = strings.TrimSuffix(name, "-dark")
		require.Contains(t, []string{"", name}, titles[title], "two plots have this title: %s", title)
		titles[title] = name
	}
}

func TestPlots_HaveTheBackgroundOfTheirTheme(t *testing.T) {
	for name, svg := range plotsOf(t) {
		want := "#ffffff"
		if strings.HasSuffix(name, "-dark") {
			want = "#0d1117"
		}
		for _, e := range elements(t, svg) {
			if e.name == "rect" {
				require.Equal(t, "480", e.attr["width"], name)
				require.Equal(t, want, e.attr["fill"], name)
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

func TestPlots_OfTheSameResultsAreTheSameBytes(t *testing.T) {
	require.Equal(t, plotsOf(t), plotsOf(t))
}

func TestShares_AreThinnedOut(t *testing.T) {
	var values times
	for i := range 1000 {
		values = append(values, float64(1000-i)/1000)
	}
	points := shares(values)
	require.Len(t, points, 101)
	require.Equal(t, point{1, 0}, points[0])
	require.Equal(t, point{500, 0.5}, points[50])
	require.Equal(t, point{1000, 1}, points[100])
	require.Empty(t, shares(nil))
}

func TestLogAxis_HasAFewRoundTicksAroundAllValues(t *testing.T) {
	for _, c := range []struct {
		low, high float64
		want      []string
	}{
		{0.7, 98, []string{"0.5", "1", "2", "5", "10", "20", "50", "100"}},
		{1000, 1000, []string{"1000", "2000"}},
		{0.3, 2e6, []string{"0.1", "1", "10", "100", "1000", "10000", "100000", "1000000", "10000000"}},
	} {
		a := logAxis([]float64{c.high, c.low})
		var labels []string
		for _, tick := range a.ticks {
			labels = append(labels, tick.label)
		}
		require.Equal(t, c.want, labels)
		require.GreaterOrEqual(t, a.share(c.low), 0.0)
		require.LessOrEqual(t, a.share(c.high), 1.0)
	}
}

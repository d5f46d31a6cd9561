package main

import (
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot/plotter"
)

func TestRows(t *testing.T) {
	require.Equal(t, "| step 05 | 1 | 2 |\n| redsync | 3 | 4 |", rows([][]string{{"step 05", "1", "2"}, {"redsync", "3", "4"}}))
}

func TestWrap(t *testing.T) {
	word := strings.Repeat("x", 40)
	require.Equal(t, word+" "+word+" "+word+"\n  "+word, wrap(word+" "+word+"\n"+word+" "+word, "  "))
}

func TestBenchName_IsOneWord(t *testing.T) {
	require.Equal(t, "bsm_redislock_+_watchdog", benchName("bsm/redislock + watchdog"))
}

func TestCumulative(t *testing.T) {
	require.Equal(t, plotter.XYs{{X: 1, Y: 0.25}, {X: 2, Y: 0.5}, {X: 3, Y: 0.75}, {X: 4, Y: 1}}, cumulative([]float64{0.003, 0.001, 0.002, 0.004}))
}

func TestPlots_AreWellFormedAndNameEverybody(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, onTheLimit().plot(dir))
	for _, file := range []string{"handoff.svg", "one-key.svg", "fairness.svg", "own-keys.svg"} {
		svg, err := os.ReadFile(filepath.Join(dir, file))
		require.NoError(t, err)
		for d := xml.NewDecoder(strings.NewReader(string(svg))); !errors.Is(err, io.EOF); _, err = d.Token() {
			require.NoError(t, err, file)
		}
		for _, d := range drawn {
			require.Contains(t, string(svg), ">"+d.name+"<", file)
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestPageAndPlots_AreThoseOfTheLastRun(t *testing.T) {
	r, err := load()
	require.NoError(t, err, "without results, nobody knows whether page and plots are true: go run . -write")
	require.Equal(t, full, r.Plan, "these results mean little, or are not those of this program: go run . -write")
	files, err := r.files()
	require.NoError(t, err)
	var names []string
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(readDir, name))
		assert.NoError(t, err)
		assert.True(t, string(want) == string(got), "docs/read/%s is not what results.json gives: go run . -render", name)
		names = append(names, filepath.Join(readDir, name))
	}
	plots, err := filepath.Glob(readDir + "/pictures/handoff*")
	require.NoError(t, err)
	require.Subset(t, names, plots, "a plot that no run has made")
}

func TestRows(t *testing.T) {
	require.Equal(t, "| step 05 | 1 | 2 |\n| redsync | 3 | 4 |", rows([][]string{{"step 05", "1", "2"}, {"redsync", "3", "4"}}))
}

func TestBenchName_IsOneWord(t *testing.T) {
	require.Equal(t, "bsm_redislock_+_watchdog", benchName("bsm/redislock + watchdog"))
}

func TestPage_BeginsWithThreeSentencesAndAPlot(t *testing.T) {
	r := onTheLimit()
	paced := func(name string, micros float64) {
		for i := range r.Pairs[name].Paced {
			r.Pairs[name].Paced[i] = micros / 1e6
		}
	}
	paced("step 05", 230)
	paced("step 07", 250)
	paced("step 08 on 5", 800)
	paced(redsync5, 500)
	r.Hung[twoHung].Paced = times{690e-6}
	r.Attempts[0].Lock = 5 * time.Second
	r.Waits["step 01"].Handoffs = times{0.009}
	r.Waits["step 02"].Handoffs = times{0.012}
	r.Waits["step 06"].Handoffs = times{0.0013}
	r.Waits["step 07"].Handoffs = times{0.0012}
	for _, name := range []string{"step 03", "step 04", "step 05"} {
		r.Waits[name].Handoffs = times{0.010}
	}
	parts := strings.Split(pageOf(t, r), "\n\n")
	require.Equal(t, strings.Join([]string{
		"A lock+unlock without competition takes 230 µs in step 05 and 250 µs in step 07, " +
			"1.15 and 1.25 times as long as the two bare commands that no lock can do without.",
		"When the holder leaves, the next of ten waiters is inside after 1.3 ms in step 06 and 1.2 ms in step 07, " +
			"which are woken, and after 9 ms to 12 ms in steps 01 to 05, which ask every 30 ms.",
		"Redlock on five nodes (step 08) takes 800 µs, 1.60 times as long as redsync on the same nodes; " +
			"with two of the five hung, step 08 takes 690 µs, and redsync 5 s to lock.",
	}, "\n"), parts[1])
	require.Regexp(t, `^<picture>.*handoff-dark.svg.*</picture>$`, parts[2])
	require.Regexp(t, `^\| lock \|`, parts[5], "the table that most readers want comes after the plot and a sentence about each")

	r.Attempts[0].Failed = "not locked"
	require.Contains(t, pageOf(t, r), "takes 690 µs, and redsync's attempt fails.\n")
	r.Waits["step 01"].Handoffs, r.Waits["step 02"].Handoffs = times{0.010}, times{0.010}
	require.Contains(t, pageOf(t, r), "and after 10 ms in steps 01 to 05")
}

func TestPage_FromAQuickRunSaysSo(t *testing.T) {
	r := onTheLimit()
	require.NotContains(t, pageOf(t, r), "mean nothing.**")
	r.Plan = quick
	require.Contains(t, pageOf(t, r), "# Benchmarks: the eight locks beside the libraries people use\n\n**From a -quick run: these figures mean nothing.**\n\n")
}

func TestPage_FoldsAllTablesButOne(t *testing.T) {
	page := pageOf(t, onTheLimit())
	folded := regexp.MustCompile(`(?s)<details><summary>[^\n]+</summary>\n\n.*?\n\n</details>\n`)
	require.NotEmpty(t, folded.FindString(page))
	open := folded.ReplaceAllString(page, "")
	require.NotContains(t, open, "details>", "this is no fold, or Markdown in it is not read as such")
	require.Equal(t, 1, strings.Count(open, "\n|---|"), "one table is for every reader, and all others are folded")
	require.NotContains(t, strings.Join(folded.FindAllString(page, -1), ""), "\n## ", "a heading is folded: no link leads to it")
}

func TestPage_OpenTableComparesTheLocks(t *testing.T) {
	r := onTheLimit()
	r.Pairs["step 01"].Paced = times{128.9e-6}
	r.Costs["step 04"] = cost{Trips: 3}
	r.Costs["step 08 on 5"] = cost{Trips: 10.07}
	r.Waits["step 05"].Commands = series{65.93}
	r.Waits[redsync1] = &waiting{} // the first holder did not get in
	require.Contains(t, pageOf(t, r), `
| lock | lock+unlock | allocations | round trips | commands/s of a waiter | hand-off |
|---|---:|---:|---:|---:|---:|
| step 01 | 129 µs | 28 | 2 | 1 | 400 µs |
| step 02 | 200 µs | 28 | 2 | 1 | 400 µs |
| step 03 | 200 µs | 28 | 2 | 1 | 400 µs |
| step 04 | 200 µs | 28 | 3 | 1 | 400 µs |
| step 05 | 220 µs | 28 | 2 | 66 | 400 µs |
| step 06 | 200 µs | 28 | 2 | 1 | 400 µs |
| step 07 | 200 µs | 28 | 2 | 1 | 400 µs |
| bsm/redislock | 200 µs | 28 | 2 | 1 | 400 µs |
| bsm/redislock + watchdog | 200 µs | 28 | 2 | 1 | 400 µs |
| redsync | 200 µs | 28 | 2 | - | - |
| rueidislock | 200 µs | 28 | 2 | 1 | 400 µs |
| step 08 on 5 | 190 µs | 28 | 2 | 1 | 400 µs |
| redsync on 5 | 200 µs | 28 | 2 | 1 | 400 µs |

`)
	require.NotContains(t, pageOf(t, r), "NaN")
}

func TestPage_SummaryCountsTheGoals(t *testing.T) {
	require.Contains(t, pageOf(t, onTheLimit()), "<summary>16 goals: 16 met</summary>")
	met, missed, even := goal{met: true}, goal{}, goal{even: true}
	require.Equal(t, "3 goals: 1 met, 1 missed, 1 with no difference seen", goalCount([]goal{missed, met, even}))
	require.Equal(t, "3 goals: 2 met, 1 with no difference seen", goalCount([]goal{met, met, even}))
}

func TestPage_HasThePlotForBothThemes(t *testing.T) {
	page := pageOf(t, onTheLimit())
	require.Contains(t, page, `<picture><source media="(prefers-color-scheme: dark)" srcset="pictures/handoff-dark.svg"><img alt="Hand-off with ten waiters.`)
	require.Contains(t, page, `src="pictures/handoff.svg"></picture>`)
}

func TestPage_FencedLinesFit(t *testing.T) {
	for i, part := range strings.Split(pageOf(t, onTheLimit()), "```") {
		for line := range strings.Lines(part) {
			if i%2 == 1 {
				require.LessOrEqual(t, utf8.RuneCountInString(line), 101, line)
			}
		}
	}
}

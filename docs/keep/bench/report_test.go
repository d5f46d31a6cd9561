package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// madeUp are results in which all locks are alike: the tests change one figure after the other.
func madeUp() *results {
	r := newResults(full)
	r.Machine = full.machine("7.0.15")
	several := func(v float64) []float64 { return slices.Repeat([]float64{v}, r.Plan.Rounds) }
	taking := func(busy float64) *pairs {
		return &pairs{Busy: several(busy), Paced: several(2 * busy), Allocs: several(28)}
	}
	r.Pairs = map[string]*pairs{}
	for _, c := range alone() {
		r.Pairs[c.name] = taking(100e-6)
		r.Costs[c.name] = cost{Trips: 2 * float64(c.nodes), Commands: 4, Bytes: 200}
	}
	for _, c := range waitingOnes() {
		r.Waits[c.name] = &waiting{Commands: series{1, 1, 1}, Handoffs: handoffs(400e-6, 600e-6)}
	}
	for _, c := range manyOnes() {
		r.Many[c.name] = map[int]*many{}
		for _, n := range manyWaiters {
			r.Many[c.name][n] = &many{Times: times{0.1, 0.2, 0.3}, Commands: series{1, 2, 3}, Conns: series{20, 20, 20}}
		}
	}
	r.Hung = map[string]*pairs{allWell: taking(100e-6), twoHung: taking(150e-6)}
	r.Attempts = []attempt{{Options: "ContextTimeoutEnabled", Lock: time.Second, Unlock: 2 * time.Second}}
	return r
}

func (r *results) paced(name string, seconds float64) {
	r.Pairs[name].Paced = slices.Repeat(times{seconds}, r.Plan.Rounds)
}

func handoffs(median, p99 float64) []float64 {
	return append(slices.Repeat([]float64{median}, 900), slices.Repeat([]float64{p99}, 100)...)
}

func pageOf(t *testing.T, r *results) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.page(&b))
	return b.String()
}

func TestPageAndPlot_AreThoseOfTheLastRun(t *testing.T) {
	r, err := load()
	require.NoError(t, err, "without results, no one knows whether page and plot are true: go run . -write")
	require.Equal(t, full, r.Plan, "these results mean little, or are not those of this program: go run . -write")
	text, err := os.ReadFile("results.json")
	require.NoError(t, err)
	again, err := r.file()
	require.NoError(t, err)
	require.True(t, string(text) == string(again), "results.json has what this program does not write")
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

func TestPage_BeginsWithThreeSentencesTheTableAndThePlot(t *testing.T) {
	r := madeUp()
	r.paced("step 05", 230e-6)
	r.paced("step 07", 250e-6)
	r.paced("step 08 on 5", 800e-6)
	r.paced(redsync5, 500e-6)
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
		"A lock+unlock without competition takes 230 µs in step 05 and 250 µs in step 07; " +
			"the two bare commands that no lock can do without take 200 µs.",
		"When the holder leaves, the next of ten waiters is inside after 1.3 ms in step 06 and 1.2 ms in step 07, " +
			"which are woken, and after 9 ms to 12 ms in steps 01 to 05, which ask every 30 ms.",
		"Redlock on five nodes takes 800 µs in step 08, and 500 µs in redsync; " +
			"with two of the five hung, step 08 takes 690 µs, and redsync 5 s to lock.",
	}, "\n"), parts[1])
	require.Regexp(t, `^\| lock \|`, parts[2])
	require.Regexp(t, `^<picture><source media="\(prefers-color-scheme: dark\)" srcset="pictures/handoff-dark.svg">`+
		`<img alt="Hand-off with ten waiters[^"]*; step 06 1.3 ms, 1.3 ms;[^"]*" src="pictures/handoff.svg"></picture>$`, parts[4])

	r.Attempts[0].Failed = "not locked"
	require.Contains(t, pageOf(t, r), "takes 690 µs, and redsync's attempt fails.\n")
	r.Waits["step 01"].Handoffs, r.Waits["step 02"].Handoffs = times{0.010}, times{0.010}
	require.Contains(t, pageOf(t, r), "and after 10 ms in steps 01 to 05")
}

func TestPage_OpenTableComparesTheLocks(t *testing.T) {
	r := madeUp()
	r.Pairs["step 01"].Paced = times{128.9e-6}
	r.Costs["step 04"] = cost{Trips: 3}
	r.Costs["step 08 on 5"] = cost{Trips: 10.07}
	r.Waits["step 05"].Commands = series{65.93}
	r.Waits[redsync1] = &waiting{} // the first holder did not get in
	require.Contains(t, pageOf(t, r), `
| lock | lock+unlock | allocations | round trips | commands/s of a waiter | hand-off | hand-off, p99 |
|---|---:|---:|---:|---:|---:|---:|
| step 01 | 129 µs | 28 | 2 | 1 | 400 µs | 600 µs |
| step 02 | 200 µs | 28 | 2 | 1 | 400 µs | 600 µs |
| step 03 | 200 µs | 28 | 2 | 1 | 400 µs | 600 µs |
| step 04 | 200 µs | 28 | 3 | 1 | 400 µs | 600 µs |
| step 05 | 200 µs | 28 | 2 | 66 | 400 µs | 600 µs |
| step 06 | 200 µs | 28 | 2 | 1 | 400 µs | 600 µs |
| step 07 | 200 µs | 28 | 2 | 1 | 400 µs | 600 µs |
| bsm/redislock | 200 µs | 28 | 2 | 1 | 400 µs | 600 µs |
| bsm/redislock + watchdog | 200 µs | 28 | 2 | 1 | 400 µs | 600 µs |
| redsync | 200 µs | 28 | 2 | - | - | - |
| rueidislock | 200 µs | 28 | 2 | 1 | 400 µs | 600 µs |
| step 08 on 5 | 200 µs | 28 | 2 | 1 | 400 µs | 600 µs |
| redsync on 5 | 200 µs | 28 | 2 | 1 | 400 µs | 600 µs |

`)
}

func TestPage_ComparesWithTheBareCommandsAndWithALibrary(t *testing.T) {
	r := madeUp()
	r.paced(bsmWatchdog, 400e-6)
	r.paced(rawFive, 100e-6)
	r.paced(redsync5, 600e-6)
	for _, want := range []string{
		"| raw pair | 1 | 0.50 (0.50 to 0.50) | 200 µs | 100 µs | 4 | 200 |\n",
		"| step 07 | 1.00 (1.00 to 1.00) | 0.50 (0.50 to 0.50) | 200 µs | 100 µs | 4 | 200 |\n",
		"| bsm/redislock + watchdog | 2.00 (2.00 to 2.00) | 1 | 400 µs |",
		"| step 08 on 5 | 2.00 (2.00 to 2.00) | 0.33 (0.33 to 0.33) | 200 µs |",
		"| redsync on 5 | 6.00 (6.00 to 6.00) | 1 | 600 µs |",
		"Step 08 takes 300 µs for a lock+unlock, and 200 µs with none hung; round by round, 1.50 (1.50 to 1.50) times as long.",
		"| ContextTimeoutEnabled | 1 s | 2 s |\n",
		"Each lock was handed on 1000 to 1000 times,",
	} {
		require.Contains(t, pageOf(t, r), want)
	}
}

func TestPage_SaysHowManyOfTheWaitersWereNotServed(t *testing.T) {
	r := madeUp()
	r.Many["step 08 on 5"][1000].Late = 401
	delete(r.Many["step 05"], 1000) // as in a -quick run
	for _, want := range []string{
		"| step 08 on 5 | 200 ms, 2, 20 | 200 ms, 2, 20 | 599 of 1000 in 30 s, 2, 20 |\n",
		"| step 05 | 200 ms, 2, 20 | 200 ms, 2, 20 | - |\n",
	} {
		require.Contains(t, pageOf(t, r), want)
	}
}

func TestPage_FromAQuickRunSaysSo(t *testing.T) {
	r := madeUp()
	require.NotContains(t, pageOf(t, r), "mean nothing.**")
	r.Plan = quick
	require.Contains(t, pageOf(t, r), "# Benchmarks: the eight locks and the libraries people use\n\n**From a -quick run: these figures mean nothing.**\n\n")
}

func TestPage_SaysWhichCallsFailed(t *testing.T) {
	r := madeUp()
	require.NotContains(t, pageOf(t, r), "made again")
	for _, text := range []string{"first", "second"} {
		r.failed("step 05, 1000 waiters", errors.New(text))
	}
	require.Contains(t, pageOf(t, r), "\n\n- 2 calls failed and were made again (step 05, 1000 waiters); the first one: first\n\n</details>\n")
}

func TestPage_FoldsAllTablesButOne(t *testing.T) {
	page := pageOf(t, madeUp())
	folded := regexp.MustCompile(`(?s)<details><summary>[^\n]+</summary>\n\n.*?\n\n</details>\n`)
	require.NotEmpty(t, folded.FindString(page))
	open := folded.ReplaceAllString(page, "")
	require.NotContains(t, open, "details>", "this is not a fold, or Markdown in it is not read as such")
	require.Equal(t, 1, strings.Count(open, "\n|---|"), "one table is for every reader, and all others are folded")
	require.NotContains(t, strings.Join(folded.FindAllString(page, -1), ""), "\n## ", "a heading is folded: no link leads to it")
}

func TestPage_IsShortAndWellWritten(t *testing.T) {
	page := pageOf(t, madeUp())
	require.LessOrEqual(t, strings.Count(page, "\n"), 180, "180 lines are enough")
	for _, bad := range []string{"NaN", "%!", "<no value>", "\n\n\n", ".\n## "} {
		require.NotContains(t, page, bad)
	}
	for i, part := range strings.Split(page, "```") {
		for line := range strings.Lines(part) {
			if i%2 == 1 {
				require.LessOrEqual(t, utf8.RuneCountInString(line), 101, line)
			}
		}
	}
}

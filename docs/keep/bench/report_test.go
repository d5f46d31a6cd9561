package main

import (
	"errors"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// madeUp are results in which all locks are alike: the tests change some figures.
func madeUp() *results {
	r := newResults(full)
	r.Machine = full.machine("7.0.15")
	for _, c := range contestants {
		r.Locks[c.name] = &figures{Pair: 200 * time.Microsecond, OfBare: "1", Trips: 2}
		if c.waits {
			r.Locks[c.name] = &figures{200 * time.Microsecond, "1", 2, 1, 400 * time.Microsecond, 600 * time.Microsecond, 1000}
		}
	}
	for _, c := range manyOnes() {
		r.Many[c.name] = map[int]many{}
		for _, n := range manyWaiters {
			r.Many[c.name][n] = many{Took: 200 * time.Millisecond, Commands: 2}
		}
	}
	second := attempt{time.Second, time.Second}
	r.Hung = hung{150 * time.Microsecond, "1.50", second, second}
	return r
}

func pageOf(t *testing.T, r *results) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, report.Execute(&b, r))
	return b.String()
}

func TestPage_IsThatOfTheLastRun(t *testing.T) {
	r, err := load()
	require.NoError(t, err, "without results, no one knows whether the page is true: go run . -write")
	require.Equal(t, full, r.Plan, "these results mean little, or are not those of this program: go run . -write")
	for _, c := range contestants {
		require.Contains(t, r.Locks, c.name, "there are no results of it: go run . -write")
	}
	text, err := os.ReadFile(resultsFile)
	require.NoError(t, err)
	require.True(t, string(r.file()) == string(text), "results.json has what this program does not write")
	page, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	require.True(t, pageOf(t, r) == string(page), "docs/read/benchmarks.md is not what results.json gives: go run . -render")
}

func TestPage_HasTheFiguresInTheirPlaces(t *testing.T) {
	r := madeUp()
	*r.Locks["step 05"] = figures{230 * time.Microsecond, "1.08 (0.92 to 1.22)", 2.07, 66, 10 * time.Millisecond, 22 * time.Millisecond, 900}
	// Of redsync, no one got in.
	*r.Locks["redsync"] = figures{Pair: 298 * time.Microsecond, OfBare: "1.24", Trips: 2}
	r.Locks["redsync on 5"].Pair = 500 * time.Microsecond
	r.Locks["step 06"].Handoff = 1300 * time.Microsecond
	r.Hung = hung{690 * time.Microsecond, "0.97 (0.89 to 1.08)", attempt{5 * time.Second, 6 * time.Second}, attempt{402 * time.Millisecond, 7 * time.Second}}
	r.Many["step 08 on 5"][1000] = many{30 * time.Second, 5, 401}
	delete(r.Many["step 05"], 1000) // as in a -quick run
	r.failed("step 05, 1000 waiters", errors.New("no answer"))
	r.failed("step 05, 1000 waiters", errors.New("no answer"))
	page := pageOf(t, r)
	for _, want := range []string{
		"\nWithout competition, a lock+unlock takes 230 µs in step 05 and 200 µs in step 07; the two commands that every safe lock needs take 200 µs.\n",
		"\nWhen the holder releases and ten wait, the next is inside after 1.3 ms in step 06 and 400 µs in step 07. Step 05, which polls every 30 ms, takes 10 ms.\n",
		"\nRedlock on five nodes takes 200 µs in step 08 and 500 µs in redsync. With two of the five hung, step 08 takes 690 µs, but redsync needs 5 s to lock.\n",
		"\n| raw pair | 200 µs | 1 | 2 | - | - | - |\n",
		"\n| step 05 | 230 µs | 1.08 (0.92 to 1.22) | 2.1 | 66 | 10 ms | 22 ms |\n",
		"\n| redsync | 298 µs | 1.24 | 2 | - | - | - |\n",
		"\n| redsync on 5 | 500 µs | 1 | 2 | 1 | 400 µs | 600 µs |\n\n",
		"lock+unlock, 0.97 (0.89 to 1.08) times as long",
		"redsync takes 5 s to lock and 6 s to unlock, and with `ContextTimeoutEnabled` 402 ms and 7 s.",
		"\n| step 05 | 200 ms, 2 | 200 ms, 2 | - |\n",
		"\n| step 08 on 5 | 200 ms, 2 | 200 ms, 2 | 599 of 1000 in 30 s, 5 |\n",
		"\n- 2 calls failed and were made again: step 05, 1000 waiters\n\n",
	} {
		require.Contains(t, page, want)
	}
	for _, bad := range []string{"NaN", "%!", "<no value>", "<nil>", "\n\n\n", ".\n## ", "mean nothing.**"} {
		require.NotContains(t, page, bad)
	}
	r.Plan = quick
	require.Contains(t, pageOf(t, r), "\n\n**From a -quick run: these figures mean nothing.**\n\n")
}

func TestPage_FoldsAllTablesButOne(t *testing.T) {
	page := pageOf(t, madeUp())
	open := regexp.MustCompile(`(?s)<details><summary>[^\n]+</summary>\n\n.*?\n\n</details>\n`).ReplaceAllString(page, "")
	require.NotContains(t, open, "details>", "this is not a fold, or Markdown in it is not read as such")
	require.Equal(t, 1, strings.Count(open, "\n|---|"), "one table is for every reader, and all others are folded")
	require.Equal(t, strings.Count(page, "\n## "), strings.Count(open, "\n## "), "a heading is folded: no link leads to it")
}

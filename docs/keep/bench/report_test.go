package main

import (
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func lastRun(t *testing.T) *results {
	t.Helper()
	r, err := load()
	require.NoError(t, err, "without results, no one knows whether the page is true: go run . -write")
	return r
}

func pageOf(t *testing.T, r *results) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, report.Execute(&b, r))
	return b.String()
}

func TestPage_IsThatOfTheLastRun(t *testing.T) {
	r := lastRun(t)
	require.Equal(t, full, r.Plan, "these results mean little, or are not those of this program: go run . -write")
	for _, c := range contestants {
		require.Contains(t, r.Locks, c.name, "there are no results of it: go run . -write")
	}
	text, err := os.ReadFile(resultsFile)
	require.NoError(t, err)
	require.True(t, string(r.file()) == string(text), "results.json has what this program does not write")
	pages, err := r.pages()
	require.NoError(t, err)
	for file, want := range pages {
		page, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, want == string(page), "%s is not what results.json gives: go run . -render", file)
	}
}

// What the page of the last run need not have.
func TestPage_SaysWhatFailedAndWhatWasNotMeasured(t *testing.T) {
	r := lastRun(t)
	// No one got in.
	r.Locks["redsync"].Handoff = 0
	r.Many["step 08 on 5"][1000] = many{30 * time.Second, 5, 401}
	delete(r.Many["step 05"], 1000) // as in a -quick run
	for range 2 {
		r.failed("step 05, 1000 waiters", errors.New("no answer"))
	}
	page := pageOf(t, r)
	require.Regexp(t, `\n\| redsync \| .* \| - \| - \|\n`, page)
	require.Regexp(t, `\n\| step 05 \| .* \| - \|\n`, page)
	require.Regexp(t, `\n\| step 08 on 5 \| .* \| 599 of 1000 in 30 s, 5 \|\n`, page)
	require.Contains(t, page, "\n- 2 calls failed and were made again: step 05, 1000 waiters\n\n")
	for _, bad := range []string{"NaN", "%!", "<no value>", "<nil>", "\n\n\n", ".\n## "} {
		require.NotContains(t, page, bad)
	}
}

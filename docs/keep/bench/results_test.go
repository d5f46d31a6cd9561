package main

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResults_AreTheSameAfterTheirFile(t *testing.T) {
	r := onTheLimit()
	r.Pairs["step 05"].Failed.add(errTest("no answer"))
	r.Apart = nil
	file, err := r.file()
	require.NoError(t, err)
	again, err := parseResults(file)
	require.NoError(t, err)
	require.Equal(t, r, again)

	twice, err := again.file()
	require.NoError(t, err)
	require.Equal(t, string(file), string(twice), "each time they are read and written, they change")
}

type errTest string

func (e errTest) Error() string { return string(e) }

func TestResults_FileIsShortAndHasALineForEachSeries(t *testing.T) {
	r := onTheLimit()
	r.Pairs[raw].Busy = times{0.000125512345, 0.0101234567, 28.6123456789}
	r.Many["step 05"][1000].Commands = series{31.9712345, 1500405, 0.341234567, 0}
	file, err := r.file()
	require.NoError(t, err)
	require.Contains(t, string(file), `"Busy": [125.51,10123,28612346]`, "µs, with five digits or whole")
	require.Contains(t, string(file), `"Commands": [31.971,1500405,0.34123,0]`)
}

func TestResults_WithAFigureThatIsNoneAreRefused(t *testing.T) {
	r := onTheLimit()
	r.Pairs[raw].Busy[3] = math.NaN()
	_, err := r.file()
	require.ErrorContains(t, err, "NaN")
}

func TestFailures_KeepTheirNumberAndTheFirst(t *testing.T) {
	r := onTheLimit()
	for _, text := range []string{"first", "second"} {
		r.Many["step 05"][1000].Failed.add(errTest(text))
	}
	require.Contains(t, strings.Join(r.errors(), "\n"), "2 calls failed and were made again (step 05, 1000 waiters); the first one: first")
}

package main

import (
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestResults_AreTheSameAfterTheirFile(t *testing.T) {
	r := madeUp()
	r.failed("step 05", errors.New("no answer"))
	file, err := r.file()
	require.NoError(t, err)
	again, err := parseResults(file)
	require.NoError(t, err)
	require.Equal(t, r, again)
}

func TestResults_FileIsShortAndHasALineForEachSeries(t *testing.T) {
	r := madeUp()
	r.Pairs[raw].Busy = times{0.000125512345, 0.0101234567, 28.6123456789}
	r.Many["step 05"][1000].Commands = series{31.9712345, 1500405, 0.341234567, 0}
	file, err := r.file()
	require.NoError(t, err)
	require.Contains(t, string(file), `"Busy": [125.51,10123,28612346]`, "µs, with five digits or whole")
	require.Contains(t, string(file), `"Commands": [31.971,1500405,0.34123,0]`)
}

func TestResults_WithAFigureThatIsNoneAreRefused(t *testing.T) {
	r := madeUp()
	r.Pairs[raw].Busy[3] = math.NaN()
	_, err := r.file()
	require.ErrorContains(t, err, "NaN")
}

func TestResults_OfAnotherProgramAreRefused(t *testing.T) {
	r := madeUp()
	delete(r.Pairs, "step 05")
	file, err := r.file()
	require.NoError(t, err)
	_, err = parseResults(file)
	require.ErrorContains(t, err, "nothing about step 05")
}

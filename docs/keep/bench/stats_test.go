package main

import (
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRatio_ComparesRoundByRound(t *testing.T) {
	// The machine was ten times as slow in every second round. The medians of both are
	// far apart by chance; in each round, a took one and a half times as long as b.
	a := []float64{15, 150, 15, 150, 15, 150, 15}
	b := []float64{10, 100, 10, 100, 10, 100, 10}
	got := ratio(a, b)
	require.Equal(t, estimate{1.5, 1.5, 1.5}, got)
	require.EqualValues(t, 150, a[1], "ratio has sorted its arguments: rounds no longer match")
}

func TestMedian_HasAnInterval(t *testing.T) {
	got := median([]float64{5, 1, 4, 2, 3, 9, 7, 8, 6})
	require.True(t, got.mid == 5 && got.lo < 5 && got.hi > 5 && got.lo >= 1 && got.hi <= 9, "median of 1 to 9 is %+v", got)
	require.Equal(t, "2.00", median([]float64{2}).String(), "one measurement has no interval")
}

func TestQuantile(t *testing.T) {
	var values []float64
	for i := 200; i > 0; i-- {
		values = append(values, float64(i))
	}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.5, 100}, {0.99, 198}, {1, 200}} {
		require.Equal(t, c.want, quantile(values, c.q), "the %v-quantile of 1 to 200", c.q)
	}
	require.True(t, math.IsNaN(quantile(nil, 0.5)), "nothing has a median")
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		23_456 * time.Nanosecond:     "23.5 µs",
		4_567 * time.Microsecond:     "4.57 ms",
		15_432 * time.Millisecond:    "15.4 s",
		999_900 * time.Nanosecond:    "1e+03 µs",
		1_200_000 * time.Microsecond: "1.2 s",
	} {
		require.Equal(t, want, duration(d))
	}
}

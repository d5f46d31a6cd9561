package main

import (
	"math"
	"testing"
	"time"
)

func TestRatio_ComparesRoundByRound(t *testing.T) {
	// The machine was ten times as slow in every second round. The medians of both are far apart by chance; in each
	// round, a took one and a half times as long as b.
	a := []float64{15, 150, 15, 150, 15, 150, 15}
	b := []float64{10, 100, 10, 100, 10, 100, 10}
	got := ratio(a, b)
	if got.mid != 1.5 || got.lo != 1.5 || got.hi != 1.5 {
		t.Errorf("ratio is %v, want 1.5 without any doubt", got)
	}
	if a[1] != 150 {
		t.Error("ratio has sorted its arguments: rounds do not match any more")
	}
}

func TestMedian_HasAnInterval(t *testing.T) {
	got := median([]float64{5, 1, 4, 2, 3, 9, 7, 8, 6})
	if got.mid != 5 || !(got.lo < 5) || !(got.hi > 5) || got.lo < 1 || got.hi > 9 {
		t.Errorf("median of 1 to 9 is %+v", got)
	}
	if s := median([]float64{2}).String(); s != "2.00" {
		t.Errorf("one measurement gives %q: there is no interval", s)
	}
}

func TestQuantile(t *testing.T) {
	var values []float64
	for i := 200; i > 0; i-- {
		values = append(values, float64(i))
	}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.5, 100}, {0.99, 198}, {1, 200}} {
		if got := quantile(values, c.q); got != c.want {
			t.Errorf("the %v-quantile of 1 to 200 is %v, want %v", c.q, got, c.want)
		}
	}
	if !math.IsNaN(quantile(nil, 0.5)) {
		t.Error("nothing has a median")
	}
}

func TestQuantileEstimate_HasAnInterval(t *testing.T) {
	var values []float64
	for i := 1000; i > 0; i-- {
		values = append(values, float64(i))
	}
	got := quantileEstimate(values, 0.99)
	if got.mid != 990 || got.lo < 975 || got.lo > 990 || got.hi < 990 || got.hi > 1000 {
		t.Errorf("the 99th percentile of 1 to 1000 is %+v", got)
	}
	if few := quantileEstimate(values[:20], 0.99); !math.IsInf(few.hi, 1) {
		t.Errorf("20 values bound a 99th percentile by %v", few.hi)
	}
}

func TestFairness(t *testing.T) {
	for _, c := range []struct {
		counts []int
		want   float64
	}{
		{[]int{7, 7, 7, 7}, 1},
		{[]int{9, 0, 0, 0}, 0.25},
		{[]int{1, 1, 0, 0}, 0.5},
	} {
		if got := fairness(c.counts); math.Abs(got-c.want) > 1e-9 {
			t.Errorf("the fairness of %v is %v, want %v", c.counts, got, c.want)
		}
	}
	if !math.IsNaN(fairness([]int{0, 0})) {
		t.Error("nobody got in, and that was fair")
	}
}

func TestDuration(t *testing.T) {
	for d, want := range map[time.Duration]string{
		23_456 * time.Nanosecond:     "23.5 µs",
		4_567 * time.Microsecond:     "4.57 ms",
		15_432 * time.Millisecond:    "15.4 s",
		999_900 * time.Nanosecond:    "1e+03 µs",
		1_200_000 * time.Microsecond: "1.2 s",
	} {
		if got := duration(d); got != want {
			t.Errorf("%d ns is written %q, want %q", d, got, want)
		}
	}
}

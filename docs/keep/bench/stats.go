package main

import (
	"fmt"
	"math"
	"slices"
	"time"

	"golang.org/x/perf/benchmath"
)

// An estimate is a median with its 95% confidence interval, as benchstat computes it.
type estimate struct{ mid, lo, hi float64 }

func median(values []float64) estimate {
	sample := benchmath.NewSample(slices.Clone(values), &benchmath.DefaultThresholds)
	s := benchmath.AssumeNothing.Summary(sample, 0.95)
	return estimate{s.Center, s.Lo, s.Hi}
}

// ratio estimates a/b from measurements of the same rounds: what disturbs a round
// disturbs both.
func ratio(a, b []float64) estimate {
	var ratios []float64
	for i := range min(len(a), len(b)) {
		ratios = append(ratios, a[i]/b[i])
	}
	return median(ratios)
}

// quantile returns the q-quantile of values: of 200 values, the 198th is the 0.99-quantile.
func quantile(values []float64, q float64) float64 {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[max(int(math.Ceil(q*float64(len(sorted))))-1, 0)]
}

func (e estimate) String() string {
	if math.IsInf(e.lo, 0) || math.IsInf(e.hi, 0) || math.IsNaN(e.lo) {
		return fmt.Sprintf("%.2f", e.mid)
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", e.mid, e.lo, e.hi)
}

// duration writes a time with three figures.
func duration(d time.Duration) string {
	switch {
	case d == 0:
		return "-" // nothing was measured
	case d < time.Millisecond:
		return fmt.Sprintf("%.3g µs", float64(d)/float64(time.Microsecond))
	case d < time.Second:
		return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
	default:
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

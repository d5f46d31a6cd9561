package main

import (
	"fmt"
	"math"
	"time"

	"github.com/aclements/go-moremath/stats"
	"golang.org/x/perf/benchmath"
)

// ratio is the median of a/b, with its 95% confidence interval, as benchstat computes it. It
// takes measurements of the same rounds: what disturbs a round disturbs both.
func ratio(a, b []float64) string {
	var ratios []float64
	for i := range a {
		ratios = append(ratios, a[i]/b[i])
	}
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(ratios, &benchmath.DefaultThresholds), 0.95)
	if math.IsInf(s.Lo, 0) || math.IsInf(s.Hi, 0) {
		return fmt.Sprintf("%.2f", s.Center) // a -quick run measures too little for an interval
	}
	return fmt.Sprintf("%.2f (%.2f to %.2f)", s.Center, s.Lo, s.Hi)
}

// median is 0 if nothing was measured.
func median(values []float64) float64 {
	if len(values) == 0 {
		return 0
	}
	return stats.Sample{Xs: values}.Quantile(0.5)
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

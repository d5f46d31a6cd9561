package search

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Two who take three steps each can come in 6!/(3!·3!) orders, and a fault once, anywhere.
// The one who moved last comes first among the options: a preemption is to choose the other.
func TestRun_PlaysEveryOrderOnce(t *testing.T) {
	play := func(faults, bound int) map[string]bool {
		played := map[string]bool{}
		runs := Run(bound, func(choose Choose) {
			left, last, order := map[string]int{"a": 3, "b": 3, "F": faults}, "a", ""
			for {
				var opts []Option
				for _, who := range []string{last, strings.Trim("ab", last)} {
					if left[who] > 0 {
						opts = append(opts, Option{Label: who, By: who})
					}
				}
				if left["F"] > 0 && len(opts) > 0 {
					opts = append(opts, Option{Label: "F"})
				}
				i := choose(opts)
				if len(opts) == 0 {
					played[order] = true
					return
				}
				left[opts[i].Label]--
				if order += opts[i].Label; opts[i].By != "" {
					last = opts[i].By
				}
			}
		})
		require.Len(t, played, runs, "no order twice")
		return played
	}
	require.Len(t, play(0, -1), 20)
	require.Len(t, play(1, -1), 20*7)
	require.Equal(t, map[string]bool{"aaabbb": true}, play(0, 0))
	require.Len(t, play(0, 1), 1+3, "b comes before one of her steps")
	require.Len(t, play(1, 0), 7)
}

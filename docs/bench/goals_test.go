package main

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// made up, so that each goal is met by a hair: the tests spoil one figure after the other.
func onTheLimit() *results {
	r := newResults(full)
	r.took = 10 * time.Minute
	r.redisVersion = "7.0.15"
	times := func(busy float64) *pairs {
		var p pairs
		for range r.plan.rounds {
			p.Busy, p.Paced = append(p.Busy, busy), append(p.Paced, 2*busy)
			p.Allocs, p.Bytes, p.N = append(p.Allocs, 30), append(p.Bytes, 1000), append(p.N, 1000)
		}
		return &p
	}
	r.pairs = map[string]*pairs{}
	for _, c := range alone() {
		r.pairs[c.name] = times(100e-6)
		r.costs[c.name] = cost{trips: 2 * float64(c.nodes), commands: 4, bytes: 200}
	}
	r.pairs["step 05"] = times(110e-6)
	r.pairs["step 08 on 5"] = times(75e-6)
	for _, c := range manyOnes() {
		for _, n := range manyWaiters {
			r.lines[line{c.name, n}] = &many{times: []float64{0.1, 0.2, 0.3}, commands: []float64{1, 2, 3}, conns: []float64{20, 20, 20}}
		}
	}
	r.apart = map[string]*pairs{}
	for name := range r.pairs {
		r.apart[name] = times(r.pairs[name].Busy[0])
	}
	r.hung = map[string]*pairs{allWell: times(100e-6), twoHung: times(150e-6)}
	r.attempts = []attempt{{options: "ContextTimeoutEnabled", lock: time.Second, unlock: time.Second}}
	for _, c := range waitingOnes() {
		r.waits[c.name] = &waiting{commands: []float64{1, 1, 1}, handoffs: handoffs(400e-6, 600e-6)}
	}
	for _, c := range contestants {
		for _, n := range contenders {
			r.fights[fight{c.name, n, true}] = &contention{rates: []float64{1000}, fairs: []float64{0.5}}
			r.fights[fight{c.name, n, false}] = &contention{rates: []float64{1000}, fairs: []float64{1}}
		}
	}
	r.dogs = map[string]*watchdogs{}
	for _, name := range watched {
		r.dogs[name] = &watchdogs{Locks: 10_000, Unlocked: 10_000}
	}
	return r
}

// handoffs are so many that medians and 99th percentiles have narrow intervals.
func handoffs(median, p99 float64) []float64 {
	return append(slices.Repeat([]float64{median}, 900), slices.Repeat([]float64{p99}, 100)...)
}

func pageOf(t *testing.T, r *results) string {
	t.Helper()
	var b strings.Builder
	require.NoError(t, r.page(&b))
	return b.String()
}

func missed(r *results) []string {
	var list []string
	for _, g := range r.goals() {
		if g.verdict() != "met" {
			list = append(list, g.what)
		}
	}
	return list
}

func TestGoals_AreMetOnTheLimit(t *testing.T) {
	require.Empty(t, missed(onTheLimit()))
}

func TestGoals_AreMissedBeyondTheLimit(t *testing.T) {
	slower := func(times []float64) {
		for i := range times {
			times[i] *= 1.01
		}
	}
	for want, spoil := range map[string]func(*results){
		"lock+unlock, step 05 / raw pair, apart":                 func(r *results) { slower(r.apart["step 05"].Busy) },
		"lock+unlock, step 05 / raw pair, paced":                 func(r *results) { slower(r.pairs["step 05"].Paced) },
		"allocations per lock+unlock, step 05":                   func(r *results) { r.pairs["step 05"].Allocs = []float64{31, 31, 31} },
		"lock+unlock, step 07 / bsm/redislock + watchdog, apart": func(r *results) { slower(r.apart["step 07"].Busy) },
		"lock+unlock, step 07 / bsm/redislock + watchdog, paced": func(r *results) { slower(r.pairs["step 07"].Paced) },
		"allocations per lock+unlock, step 07":                   func(r *results) { r.pairs["step 07"].Allocs = []float64{31, 31, 31} },
		"lock+unlock, step 08 on 5 / redsync on 5, apart":        func(r *results) { slower(r.apart["step 08 on 5"].Busy) },
		"lock+unlock, step 08 on 5 / redsync on 5, paced":        func(r *results) { slower(r.pairs["step 08 on 5"].Paced) },
		"lock+unlock, step 08 with 2 of 5 hung / none, paced":    func(r *results) { slower(r.hung[twoHung].Paced) },
		"round trips per lock+unlock, steps 03 to 07":            func(r *results) { r.costs["step 06"] = cost{trips: 2.05} },
		"commands per second and waiter, step 06":                func(r *results) { r.waits["step 06"].commands = []float64{1.01} },
		"commands per second and waiter, step 07":                func(r *results) { r.waits["step 07"].commands = []float64{1.01} },
		"hand-off, median, step 06":                              func(r *results) { r.waits["step 06"].handoffs = handoffs(401e-6, 600e-6) },
		"hand-off, p99, step 06":                                 func(r *results) { r.waits["step 06"].handoffs = handoffs(400e-6, 601e-6) },
		"hand-off, median, step 07":                              func(r *results) { r.waits["step 07"].handoffs = handoffs(401e-6, 600e-6) },
		"hand-off, p99, step 07":                                 func(r *results) { r.waits["step 07"].handoffs = handoffs(400e-6, 601e-6) },
	} {
		r := onTheLimit()
		spoil(r)
		assert.Equal(t, []string{want}, missed(r))
	}
}

func TestGoals_DoNotJudgeWhereTheKernelPutsTheProcesses(t *testing.T) {
	r := onTheLimit()
	for _, name := range []string{"step 05", "step 07", "step 08 on 5"} {
		for i := range r.pairs[name].Busy {
			r.pairs[name].Busy[i] *= 2
		}
	}
	require.Empty(t, missed(r), "busy pairs took twice as long, and that is called a miss")
}

func TestPage_SaysHowManyOfTheWaitersWereNotServed(t *testing.T) {
	r := onTheLimit()
	r.lines[line{"step 08 on 5", 1000}].late = 401
	delete(r.lines, line{"step 05", 1000}) // as in a -quick run
	var b strings.Builder
	require.NoError(t, r.manyPart(&b))
	for _, want := range []string{
		"| step 08 on 5 | 200 ms | 2 | 20 | 200 ms | 2 | 20 | 599 of 1000 in 30 s | 2 | 20 |\n",
		"| step 05 | 200 ms | 2 | 20 | 200 ms | 2 | 20 | - | - | - |\n",
	} {
		require.Contains(t, b.String(), want)
	}
}

func TestHandoff_IsNotCalledMissedForADifferenceThatIsChance(t *testing.T) {
	r := onTheLimit()
	var ours, theirs []float64
	for i := range 500 {
		ours, theirs = append(ours, float64(1000+i)*1e-6), append(theirs, float64(998+i)*1e-6)
	}
	r.waits["step 06"].handoffs, r.waits[rueidisName].handoffs = ours, theirs
	r.waits["step 07"].handoffs = handoffs(2, 2)
	verdicts := map[string]string{}
	for _, g := range r.goals() {
		verdicts[g.what] = g.verdict()
	}
	require.Equal(t, "no difference seen", verdicts["hand-off, median, step 06"], "2 of 1250 µs more, in intervals of some 100 µs")
	require.Equal(t, "**missed**", verdicts["hand-off, median, step 07"], "2 s instead of 1.2 ms")
}

func TestEveryGoal_HasAReasonToPrintWhenItIsMissed(t *testing.T) {
	for _, g := range onTheLimit().goals() {
		require.NotEmpty(t, g.why, "%s: if it is missed, nobody learns why", g.what)
	}
}

func TestPage_SaysWhatIsMissedAndWhy(t *testing.T) {
	r := onTheLimit()
	r.costs["step 04"] = cost{trips: 3}
	page := pageOf(t, r)
	for _, want := range []string{
		"| lock+unlock, step 05 / raw pair, apart | at most 1.10 | 1.10 (1.10 to 1.10) | met |\n",
		"| round trips per lock+unlock, steps 03 to 07 | 2 each | 03: 2, 04: 3, 05: 2, 06: 2, 07: 2 | **missed** |\n",
		"- **Missed: round trips per lock+unlock, steps 03 to 07.**\n  " + wrap(whyTrips, "  ") + "\n",
		"| step 08 on 5 | 10, 2 on each node |",
		"Nobody ever met somebody else inside.",
	} {
		require.Contains(t, page, want)
	}
	require.NotContains(t, page, whyStep05[:50], "the page excuses a goal that is met")
	require.LessOrEqual(t, strings.Count(page, "\n"), 300, "300 lines are enough")
	for _, bad := range []string{"NaN", "%!", "<no value>", "\n\n\n", ".\n## "} {
		require.NotContains(t, page, bad, "the page is badly written")
	}
}

func TestPage_WithoutTaskset(t *testing.T) {
	r := onTheLimit()
	r.apart = nil
	require.Contains(t, pageOf(t, r), "| step 05 | 1.10 (1.10 to 1.10) | 1.10 (1.10 to 1.10) | - |", "what was not measured must be a dash")
}

func TestPage_DoesNotHideThatTwoWereInside(t *testing.T) {
	r := onTheLimit()
	r.fights[fight{"step 03", 16, true}].doubles = 3
	require.Contains(t, pageOf(t, r), "**3 times somebody met somebody else inside.**")
}

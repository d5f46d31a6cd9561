package main

import (
	"fmt"
	"math"
	"strings"
)

// A goal is a limit for a measured figure.
type goal struct {
	what  string
	limit string
	got   string
	met   bool
	even  bool   // not met, but the run does not tell the two apart
	why   string // printed when it is missed
}

func (g goal) verdict() string {
	switch {
	case g.met:
		return "met"
	case g.even:
		return "no difference seen"
	}
	return "**missed**"
}

// reason is why it is missed, in one line.
func (g goal) reason() string { return strings.Join(strings.Fields(g.why), " ") }

// atMost is a goal for a ratio. Its median decides; the interval is printed beside it.
func atMost(what string, limit float64, got estimate, why string) goal {
	return goal{what: what, limit: fmt.Sprintf("at most %.2f", limit), got: got.String(), met: got.mid <= limit, why: why}
}

// goals compares the results with what the locks were meant to reach.
func (r *results) goals() []goal {
	goals := r.ratioGoal("step 05", raw, 1.10, whyStep05)
	goals = append(goals, r.allocs("step 05", 28, "", whyAllocs05))
	goals = append(goals, r.ratioGoal("step 07", bsmWatchdog, 1.00, whyStep07)...)
	watchdog := math.Round(median(r.Pairs[bsmWatchdog].Allocs).mid)
	goals = append(goals, r.allocs("step 07", watchdog, ", as "+bsmWatchdog, whyAllocs07))
	goals = append(goals, r.ratioGoal("step 08 on 5", redsync5, 0.95, whyStep08)...)
	goals = append(goals,
		atMost("lock+unlock, step 08 with 2 of 5 hung / none, paced", 1.50, ratio(r.Hung[twoHung].Paced, r.Hung[allWell].Paced), whyHung),
		r.roundTrips(),
	)
	for _, step := range []string{"step 06", "step 07"} {
		goals = append(goals, r.commandsWhileWaiting(step))
		goals = append(goals, r.handoff(step, "median", 0.5), r.handoff(step, "p99", 0.99))
	}
	return goals
}

// ratioGoal is a goal for pairs, twice: apart, and paced. Busy pairs without that say
// where the kernel put the processes.
func (r *results) ratioGoal(a, b string, limit float64, why string) []goal {
	what := fmt.Sprintf("lock+unlock, %s / %s", a, b)
	var goals []goal
	if r.Apart != nil {
		goals = append(goals, atMost(what+", apart", limit, ratio(r.Apart[a].Busy, r.Apart[b].Busy), why))
	}
	return append(goals, atMost(what+", paced", limit, ratio(r.Pairs[a].Paced, r.Pairs[b].Paced), why))
}

func (r *results) allocs(step string, limit float64, of, why string) goal {
	n := math.Round(median(r.Pairs[step].Allocs).mid)
	return goal{what: "allocations per lock+unlock, " + step, limit: fmt.Sprintf("at most %.0f", limit) + of, got: fmt.Sprintf("%.0f", n), met: n <= limit, why: why}
}

// roundTrips are 2 for each lock that has only to ask and to release.
func (r *results) roundTrips() goal {
	g := goal{what: "round trips per lock+unlock, steps 03 to 07", limit: "2 each", met: true, why: whyTrips}
	var got []string
	for _, step := range []string{"step 03", "step 04", "step 05", "step 06", "step 07"} {
		trips := r.Costs[step].Trips
		got = append(got, fmt.Sprintf("%s: %.3g", strings.TrimPrefix(step, "step "), trips))
		g.met = g.met && math.Abs(trips-2) < 0.01
	}
	g.got = strings.Join(got, ", ")
	return g
}

func (r *results) commandsWhileWaiting(step string) goal {
	got := quantile(r.Waits[step].Commands, 0.5)
	return goal{what: "commands per second and waiter, " + step, limit: "at most 1", got: fmt.Sprintf("%.2f", got), met: got <= 1, why: whyWaiting}
}

// handoff compares a step with rueidislock as two processes would be: each client has
// connections of its own.
func (r *results) handoff(step, name string, q float64) goal {
	got, other := quantileEstimate(r.Waits[step].Handoffs, q), quantileEstimate(r.Waits[rueidisName].Handoffs, q)
	text := func(e estimate) string {
		return fmt.Sprintf("%s (%s to %s)", seconds(e.mid), seconds(e.lo), seconds(e.hi))
	}
	return goal{
		what:  fmt.Sprintf("hand-off, %s, %s", name, step),
		limit: "at most rueidislock's " + text(other),
		got:   text(got),
		met:   got.mid <= other.mid,
		even:  got.overlaps(other),
		why:   whyHandoff,
	}
}

// Why a goal is missed, as far as the code shows it. Printed only beside a miss.
const (
	whyStep05 = `Beyond the raw pair, step 05 makes a handle and a random token, and bounds its release by a context of 3 s. It sends its
release script as text (EVAL), the raw pair as a hash (EVALSHA).`

	whyAllocs05 = `Beyond the raw pair, step 05 allocates its handle, its token, and the context that bounds its release.`

	whyStep07 = `Both renew. Step 07's scripts also keep a depth and publish the release (8 commands on the server, with bsm/redislock 6), and
it sends them as text (EVAL), bsm/redislock as hashes (EVALSHA).`

	whyAllocs07 = `Step 07 allocates a hold with a context and a timer, and a context that bounds its release; the watchdog of bsm/redislock's
README a context, a goroutine and a ticker.`

	whyStep08 = `Client and servers share the processors of one machine: what counts is the work, not the waiting that step 08 saves by going on at
the majority. Its scripts keep a depth (7 commands on each node, with redsync 4) and are sent as text (EVAL), and it sets a timer for its watchdog.`

	whyHung = `Each pair leaves its acquisition behind on the two nodes that hang: a goroutine for each, and a connection while the pool has one, until
go-redis gives it up.`

	whyTrips = `Step 04 reads the token, compares it in the client and then deletes: three round trips, and the window between the last
two is what step 05 closes with a script. It is that step's bug, not its price.`

	whyWaiting = `A waiter asks when its subscription stands, when the holder releases, and when the holder's lease ends or 10 s are over;
in between it sleeps.`

	whyHandoff = `Both wake all ten waiters, and all ten ask. rueidislock asks with a shorter script, on the connection that brings the message;
steps 06 and 07 ask on another one.`
)

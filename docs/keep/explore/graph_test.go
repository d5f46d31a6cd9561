package main

import (
	"os"
	"reflect"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/explore/internal/graph"
)

// graphOf explores a cell, and compares each schedule with an earlier graph, if there is
// one.
func graphOf(t *testing.T, j job, earlier *graph.Graph) (c cell, err error) {
	t.Helper()
	j.Graph = true
	if earlier != nil {
		if err := j.compareWith(earlier); err != nil {
			return c, err
		}
	}
	inLab(t, steps[j.Step], j, func(l *lab) { c, err = l.cell(), l.err })
	return c, err
}

// The same schedule twice is the same story: what docs/play shows is what is played. And the
// way into the page changes nothing. These are small cells, or a part of large ones: play
// -check, in .ci/run, plays all.
func TestTheGraph_IsWhatIsPlayed(t *testing.T) {
	for _, c := range []struct {
		step  int
		fault string
		part  bool
	}{
		{1, "hung-1", false}, {3, "resent", false}, {4, "stolen", false}, {6, "waits", false}, {7, "slow-answers", false}, {9, "restart", false},
		{4, "slow", true}, {5, "resent", true}, {7, "pause", true}, {7, "dead", true}, {7, "restart-waits", true}, {8, "restart", true}, {8, "healing", true},
	} {
		j := steps[c.step].job(c.fault)
		if c.part {
			j.Bound = 0
		}
		found, err := graphOf(t, j, nil)
		require.NoError(t, err)
		require.NotZero(t, found.Schedules)
		require.True(t, reflect.DeepEqual(found.Graph, found.Graph.Pack().Unpack()), "%v: packed and unpacked, it is another graph", j)
		_, err = graphOf(t, j, found.Graph)
		require.NoError(t, err)

		b := graph.NewBuilder()
		b.Merge(found.Graph, found.Graph.Cells...)
		b.Merge(found.Graph, found.Graph.Cells...)
		require.Len(t, b.Graph.States, len(found.Graph.States), "to merge the same cell again adds no state")
	}
}

// The page is in the repository, so the same locks must give the same graph on any machine.
// Go runs the goroutines of a client in another order each time, above all on several
// processors; and here, go-redis subscribes and asks again in the same moment.
func TestTheGraph_IsTheSameInAnyOrderOfGoroutines(t *testing.T) {
	if os.Getenv("BUILDS") == "" {
		t.Skip("it takes seconds. Play it as .ci/run does: BUILDS=1 go test -C docs/keep ./explore")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	first, err := graphOf(t, steps[7].job("pause-waits"), nil)
	require.NoError(t, err)
	runtime.GOMAXPROCS(4)
	for i := range 3 {
		found, err := graphOf(t, steps[7].job("pause-waits"), first.Graph) // it names what differs
		require.NoError(t, err, "build %d on 4 processors", i+1)
		found.Job = first.Job
		require.True(t, reflect.DeepEqual(first, found), "build %d on 4 processors gives another graph", i+1)
	}
}

// A check of a graph that cannot fail proves nothing.
func TestAWrongGraph_IsCaught(t *testing.T) {
	for what, spoil := range map[string]func(*graph.Graph){
		"a record that did not happen": func(g *graph.Graph) { g.Records[len(g.Records)-1].Text += "?" },
		"no such cell":                 func(g *graph.Graph) { g.Cells = nil },
		"another time":                 func(g *graph.Graph) { g.Records[len(g.Records)/2].At++ },
		"an option with another text":  func(g *graph.Graph) { g.Options[0].Text += "?" },
		"a state that is another one":  func(g *graph.Graph) { g.States[g.Cells[0].State].Edges[0].To-- },
		"two orders that are not one": func(g *graph.Graph) {
			e := g.States[g.Cells[0].State].Edges
			e[0].To, e[1].To = e[1].To, e[0].To
		},
		"a verdict that no one gave": func(g *graph.Graph) {
			g.Records = append(g.Records, trace.Record{Kind: trace.Verdict, Text: "X: no one"})
			e := &g.States[0].Edges[0]
			e.Records = append(e.Records, len(g.Records)-1)
		},
	} {
		found, err := graphOf(t, steps[3].job("twice"), nil)
		require.NoError(t, err)
		spoil(found.Graph)
		_, err = graphOf(t, steps[3].job("twice"), found.Graph)
		require.ErrorContains(t, err, "03/twice", what)
	}
}

// A way beyond the bound, which no schedule took, is none in the graph.
func TestAScheduleThatWasNotPlayed_IsCaught(t *testing.T) {
	found, err := graphOf(t, steps[8].job("none"), nil)
	require.NoError(t, err)
	added := false
	for _, s := range found.Graph.States {
		for i, e := range s.Edges {
			if e.To == graph.Unexplored && !added {
				s.Edges[i].To, added = graph.End, true
			}
		}
	}
	require.True(t, added)
	_, err = graphOf(t, steps[8].job("none"), found.Graph)
	require.ErrorContains(t, err, "08/none")
}

package main

import (
	"fmt"
	"os"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/explore/internal/graph"
)

// graphOf explores a cell.
func graphOf(t *testing.T, j job) (c cell, played []graph.Schedule) {
	t.Helper()
	j.Graph = true
	inLab(t, steps[j.Step], j, func(l *lab) { c, played = l.cell(), l.played })
	require.NotEmpty(t, played)
	return c, played
}

// The same schedule twice is the same story: what docs/play shows is what is played. And the
// way into the page changes nothing. These are small cells, or a part of large ones:
// explore -check, in .ci/run, plays all.
func TestTheGraph_IsWhatIsPlayed(t *testing.T) {
	all := graph.NewBuilder()
	for _, c := range []struct {
		step  int
		fault string
		part  bool
	}{
		{1, "hung-1", false}, {3, "resent", false}, {6, "waits", false}, {7, "slow-answers", false},
		{4, "stolen", true}, {9, "restart", true}, {4, "slow", true}, {5, "resent", true}, {7, "pause", true}, {7, "dead", true}, {7, "restart-waits", true}, {8, "restart", true}, {8, "healing", true},
	} {
		j := steps[c.step].job(c.fault)
		if c.part {
			j.Bound = 0
		}
		found, _ := graphOf(t, j)
		_, again := graphOf(t, j)
		all.Merge(found.Graph)
		require.NoError(t, compare(&all.Graph, all.Graph.Cells[len(all.Graph.Cells)-1], again, found.Violating()))
		states := len(all.Graph.States)
		all.Merge(found.Graph)
		require.Len(t, all.Graph.States, states, "to merge the same cell again adds no state")
	}
	require.Equal(t, &all.Graph, all.Graph.Pack().Unpack(), "packed and unpacked, it is another graph")
}

// The page is in the repository, so the same locks must give the same graph on any machine.
// Go runs the goroutines of a client in another order each time, above all on several
// processors; and here, go-redis subscribes and asks again in the same moment.
func TestTheGraph_IsTheSameInAnyOrderOfGoroutines(t *testing.T) {
	if os.Getenv("BUILDS") == "" {
		t.Skip("it takes seconds. Play it as .ci/run does: BUILDS=1 go test -C docs/keep ./explore")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	j := steps[7].job("pause-waits")
	j.Bound = 3
	first, _ := graphOf(t, j)
	runtime.GOMAXPROCS(4)
	for i := range 3 {
		found, played := graphOf(t, j)
		require.NoError(t, compare(first.Graph, first.Graph.Cells[0], played, found.Violating()), "build %d on 4 processors", i+1)
		require.True(t, reflect.DeepEqual(first, found), "build %d on 4 processors gives another graph", i+1)
	}
}

// A check of a graph that cannot fail proves nothing.
func TestAWrongGraph_IsCaught(t *testing.T) {
	for _, c := range []struct {
		step  int
		fault string
		what  string
		spoil func(*graph.Graph)
	}{
		{3, "twice", "a record that did not happen", func(g *graph.Graph) { g.Records[len(g.Records)-1].Text += "?" }},
		{3, "twice", "another time", func(g *graph.Graph) { g.Records[len(g.Records)/2].At++ }},
		{3, "twice", "an option with another text", func(g *graph.Graph) { g.Options[0].Text += "?" }},
		{3, "twice", "a state that is another one", func(g *graph.Graph) { g.States[g.Cells[0].State].Edges[0].To-- }},
		{3, "twice", "two orders that are not one", func(g *graph.Graph) {
			e := g.States[g.Cells[0].State].Edges
			e[0].To, e[1].To = e[1].To, e[0].To
		}},
		{3, "twice", "a verdict that no one gave", func(g *graph.Graph) {
			g.Records = append(g.Records, trace.Record{Kind: trace.Verdict, Text: "X: no one"})
			e := &g.States[0].Edges[0]
			e.Records = append(e.Records, len(g.Records)-1)
		}},
		{8, "none", "a way beyond the bound, which no schedule took", func(g *graph.Graph) {
			for _, s := range g.States {
				if i := slices.IndexFunc(s.Edges, func(e graph.Edge) bool { return e.To == graph.Unexplored }); i >= 0 {
					s.Edges[i].To = graph.End
					return
				}
			}
		}},
	} {
		found, played := graphOf(t, steps[c.step].job(c.fault))
		c.spoil(found.Graph)
		err := compare(found.Graph, found.Graph.Cells[0], played, found.Violating())
		require.ErrorContains(t, err, fmt.Sprintf("%02d/%s", c.step, c.fault), c.what)
	}
}

package main

import (
	"os"
	"reflect"
	"runtime"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/explore/internal/graph"
	"example.com/redislock-steps/docs/internal/trace"
)

// graphOf explores a cell, and compares each schedule with an earlier graph, if there is one.
func graphOf(t *testing.T, n int, fault string, earlier *graph.Graph) (c cell, err error) {
	t.Helper()
	j := steps[n].job(fault)
	j.Graph = true
	if earlier != nil {
		if err := j.compareWith(earlier); err != nil {
			return c, err
		}
	}
	inLab(t, steps[n], j, func(l *lab) { c, err = l.cell(), l.err })
	return c, err
}

// What docs/play shows is what is played, in every schedule; and the way into the page
// changes nothing. These are small cells: play -check, in .ci/run, plays all.
func TestTheGraph_IsWhatIsPlayed(t *testing.T) {
	for _, c := range []struct {
		step  int
		fault string
	}{{1, "hung-1"}, {3, "resent"}, {4, "stolen"}, {6, "waits"}, {7, "slow-answers"}, {9, "restart"}} {
		found, err := graphOf(t, c.step, c.fault, nil)
		require.NoError(t, err)
		require.True(t, reflect.DeepEqual(found.Graph, found.Graph.Pack().Unpack()), "%v: packed and unpacked, it is another graph", found.Job)
		_, err = graphOf(t, c.step, c.fault, found.Graph)
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
		t.Skip("it takes seconds. Play it as .ci/run does: BUILDS=1 go test ./docs/explore")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	first, err := graphOf(t, 7, "pause-waits", nil)
	require.NoError(t, err)
	runtime.GOMAXPROCS(4)
	for i := range 3 {
		found, err := graphOf(t, 7, "pause-waits", first.Graph) // it names what differs
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
		found, err := graphOf(t, 3, "twice", nil)
		require.NoError(t, err)
		spoil(found.Graph)
		_, err = graphOf(t, 3, "twice", found.Graph)
		require.ErrorContains(t, err, "03/twice", what)
	}
}

// A way beyond the bound, which no schedule took, is none in the graph.
func TestAScheduleThatWasNotPlayed_IsCaught(t *testing.T) {
	found, err := graphOf(t, 8, "none", nil)
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
	_, err = graphOf(t, 8, "none", found.Graph)
	require.ErrorContains(t, err, "08/none")
}

// In Lock, step 08 pauses at random, and has no graph. All others have one.
func TestWhichCells_HaveAGraph(t *testing.T) {
	jobs, err := matrix(0, "")
	require.NoError(t, err)
	for _, j := range jobs {
		waits := strings.HasSuffix(j.Fault, "waits")
		require.Equal(t, j.Step != 8 || !waits, j.repeats(), "%s", j)
	}
}

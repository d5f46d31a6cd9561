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

// graphOf explores a cell, and lets look at its graph.
func graphOf(t *testing.T, n int, fault string, look func(*lab, cell)) {
	t.Helper()
	j := steps[n].job(fault)
	j.Graph = true
	inLab(t, steps[n], j, func(l *lab) { look(l, l.cell()) })
}

// What docs/play shows is what replay plays, on every edge; and the way into the page
// changes nothing. These are small cells: play -check, in .ci/run, plays all.
func TestTheGraph_IsWhatReplayPlays(t *testing.T) {
	for _, c := range []struct {
		step  int
		fault string
	}{{1, "hung-1"}, {3, "resent"}, {4, "stolen"}, {6, "waits"}, {7, "slow-answers"}, {9, "restart"}} {
		graphOf(t, c.step, c.fault, func(l *lab, found cell) {
			_, err := l.check(found.Graph)
			require.NoError(t, err)
			require.True(t, reflect.DeepEqual(found.Graph, found.Graph.Pack().Unpack()), "%v: packed and unpacked, it is another graph", l.job)
			all, violating := found.Graph.Count()
			at := found.Graph.Cells[0].State
			require.Equal(t, []int{found.Schedules, found.Violating()}, []int{all[at], violating[at]}, "%v: schedules, and those that violate", l.job)

			b := graph.NewBuilder()
			b.Merge(found.Graph)
			b.Merge(found.Graph)
			require.Len(t, b.Graph.States, len(found.Graph.States), "to merge the same cell again adds no state")
		})
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
	var first cell
	for i, processors := range []int{1, 4, 4, 4} {
		runtime.GOMAXPROCS(processors)
		graphOf(t, 7, "pause-waits", func(l *lab, found cell) {
			if i == 0 {
				first = found
			}
			_, err := l.check(first.Graph) // it names what differs
			require.NoError(t, err, "build %d, on %d processors", i+1, processors)
			require.True(t, reflect.DeepEqual(first, found), "build %d, on %d processors, gives another graph", i+1, processors)
		})
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
		graphOf(t, 3, "twice", func(l *lab, found cell) {
			spoil(found.Graph)
			_, err := l.check(found.Graph)
			require.ErrorContains(t, err, "03/twice", what)
		})
	}
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

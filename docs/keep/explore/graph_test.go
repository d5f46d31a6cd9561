package main

import (
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/explore/internal/graph"
)

// told is what the graph of one cell tells of the schedule with a path, as data.mjs reads it. It
// does not know of a last point.
func told(g *graph.Graph, path []string) (s graph.Schedule) {
	last := trace.Record{Inside: []string{}}
	tell := func(list []int, at int64) {
		for _, i := range list {
			r := g.Records.List[i]
			r.At += at
			if r.Inside == nil {
				r.Inside = last.Inside
			}
			if r.Redis == nil {
				r.Redis = last.Redis
			} else {
				r.Redis = slices.Clone(r.Redis)
				for i, k := range r.Redis {
					if k.Until != 0 {
						r.Redis[i].Until += r.At
					}
					if k.Until > 0 {
						r.Redis[i].Until--
					}
				}
			}
			last, at = r, r.At
			s.Records = append(s.Records, r)
		}
	}
	c := g.Cells[0]
	tell(c.Records, 0)
	at, state := c.At, c.State
	for _, label := range path {
		p := graph.Point{At: at, Records: len(s.Records), Idle: g.States.List[state].Idle}
		var chosen graph.Edge
		for _, e := range g.States.List[state].Edges {
			p.Options = append(p.Options, g.Options.List[e.Option])
			if g.Options.List[e.Option].Label == label {
				chosen = e
			}
		}
		s.Path, s.Points = append(s.Path, label), append(s.Points, p)
		tell(chosen.Records, at)
		at, state = at+chosen.After, chosen.To
	}
	return s
}

// The same schedule twice is the same story: what docs/play shows is what is played. These are
// small cells, or a part of large ones: explore -check, in .ci/run, plays all.
func TestTheGraph_IsWhatIsPlayed(t *testing.T) {
	for name, bound := range map[string]int{
		"01/hung-1": -1, "03/resent": -1, "06/waits": -1, "07/slow-answers": -1, "08/none": 1,
		"04/stolen": 0, "09/restart": 0, "04/slow": 0, "05/resent": 0, "07/pause": 0, "07/dead": 0, "07/restart-waits": 0, "08/restart": 0, "08/healing": 0,
	} {
		c, _ := explored(t, named(t, name), bound)
		_, again := explored(t, named(t, name), bound)
		var merged graph.Graph
		merged.Merge(c.Graph)
		for _, s := range again {
			s.Points = s.Points[:len(s.Path)]
			require.Equal(t, s, told(&merged, s.Path), name)
		}
		states := len(merged.States.List)
		merged.Merge(c.Graph)
		require.Len(t, merged.States.List, states, "to merge the same cell again adds no state")
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
	first, _ := explored(t, named(t, "07/pause-waits"), 3)
	runtime.GOMAXPROCS(4)
	for range 3 {
		again, _ := explored(t, named(t, "07/pause-waits"), 3)
		require.Equal(t, first.found, again.found)
	}
}

package main

import (
	"os"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/keep/explore/internal/graph"
)

// The page is in the repository, so the same locks must give the same graph on any machine.
// These are small cells, or a part of large ones: explore -check plays all.
func TestTheGraph_IsTheSameAgain(t *testing.T) {
	for name, bound := range map[string]int{
		"01/hung-1": -1, "03/resent": -1, "06/waits": -1, "07/slow-answers": -1, "08/none": 1,
		"04/stolen": 0, "09/restart": 0, "04/slow": 0, "05/resent": 0, "07/pause": 0, "07/dead": 0, "07/restart-waits": 0, "08/restart": 0, "08/healing": 0,
	} {
		first, again := explored(t, named(t, name), bound), explored(t, named(t, name), bound)
		require.Equal(t, first.found, again.found, name)

		var merged graph.Graph
		merged.Merge(first.Graph)
		packed := merged.Pack()
		merged.Merge(first.Graph)
		require.Equal(t, packed.Shapes, merged.Pack().Shapes, "to merge the same cell again adds no state")
	}
}

// Go runs the goroutines of a client in another order each time, above all on several
// processors; and here, go-redis subscribes and asks again in the same moment.
func TestTheGraph_IsTheSameInAnyOrderOfGoroutines(t *testing.T) {
	if os.Getenv("BUILDS") == "" {
		t.Skip("it takes seconds. Play it as .ci/run does: BUILDS=1 go test -C docs/keep ./explore")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	first := explored(t, named(t, "07/pause-waits"), 3)
	runtime.GOMAXPROCS(4)
	for range 3 {
		require.Equal(t, first.found, explored(t, named(t, "07/pause-waits"), 3).found)
	}
}

package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// How votes are counted, without a network.

func TestVotesThatAreThere_CountAfterTheDeadline(t *testing.T) {
	for range 100 { // a select would choose at random
		v := newTally(5)
		for n := range 3 {
			v.votes <- vote{node: n + 1, yes: true}
		}
		v.count(ctx, time.Now().Add(-time.Second), v.majority)
		require.True(t, v.majority(),
			"the process was paused, and three votes had arrived before it looked, but one was dropped")
	}
}

package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// How votes are counted and when a node is healed, without a network.

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

func TestHealing_NeitherReplacesAJobNorFollowsTheRelease(t *testing.T) {
	waits := &job{}
	n := &node{busy: true, next: waits}
	n.heal(New(nil, key, ttl).newHold())
	require.Same(t, waits, n.next, "the node is busy, but its next job was replaced")

	released := New(nil, key, ttl).newHold()
	released.closing = true
	n = &node{}
	n.heal(released)
	require.Nil(t, n.next, "Unlock has begun, but the node is to acquire the lock again")
}

package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What a client can do to a lock on five nodes, in addition to more_5_client_test.go.

func TestOneOfFiveIsDown_NoCallWaitsForIt(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			lab.stop(0)
			for range 3 {
				for _, h := range []*handle{alice, bob} {
					start := time.Now()
					require.NoError(t, h.TryLock(ctx), "four of five nodes work, but %s was refused", h.who)
					took := time.Since(start)
					require.Less(t, took, slack(51*time.Millisecond),
						"one of five nodes is down, but %s's TryLock took %v", h.who, took)
					start = time.Now()
					require.NoError(t, h.Unlock(ctx), "four of five nodes work, but %s's Unlock failed", h.who)
					took = time.Since(start)
					require.Less(t, took, slack(51*time.Millisecond),
						"one of five nodes is down, but %s's Unlock took %v", h.who, took)
				}
			}
		})
	})
}

func TestEachNodesReplyToTheAcquireIsLost_ItIsSentAgain(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			lab.loseReply("alice")
			require.NoError(t, alice.TryLock(ctx),
				"each node has run alice's command and its reply was lost; sent again, it finds her own lock, but TryLock "+
					"returned an error")
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
		})
	})
}

func TestTwoNodesWereDownDuringUnlock_TheyVoteInTheNextTryLock(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			back := []func(){lab.stop(0), lab.stop(1)}
			require.NoError(t, alice.Unlock(ctx), "three of five nodes work, but alice's Unlock failed")
			for node, up := range back {
				up()
				lab.stop(3 + node)
			}
			require.NoError(t, alice.TryLock(ctx),
				"nodes 1 to 3 are up, but alice was refused: her last Unlock still keeps nodes 1 and 2 busy")
			require.NoError(t, alice.Unlock(ctx), "three of five nodes work, but alice's Unlock failed")
		})
	})
}

func TestTheValidityEndsAndTooFewAnswered_NobodyHasRefused(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, ttl/100)
			alice.NodeTimeout = 3 * ttl / 100
			for node := range nodes {
				if node < 3 {
					lab.stop(node)
				} else {
					lab.hang(node)
				}
			}
			err := alice.TryLock(ctx)
			require.Error(t, err, "no node has answered, but TryLock returned nil")
			require.NotErrorIs(t, err, ErrNotAcquired,
				"three nodes are down and two hang, but alice's error says that the lock is taken")
		})
	})
}

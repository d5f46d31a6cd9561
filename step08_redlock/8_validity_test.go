package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Also from step 08 on: what a lock on several nodes easily gets wrong when some are slow, hang
// or come back empty. The lock before has one. NodeTimeout limits the wait for a node; the
// validity of a lock is its TTL, minus the time that acquiring took, minus the drift of clocks.

func TestTheRepliesComeAfterTheValidity_TheLockIsNotAcquired(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		alice.NodeTimeout = 3 * ttl
		late := func(_ string, nth int) bool { return nth == 1 }
		lab.inject("alice", &hook{match: late, after: func() { time.Sleep(2 * ttl) }, again: true})
		lab.note("alice will be paused for 2 ttl before she reads the replies")
		bobIn := make(chan error, 1)
		time.AfterFunc(ttl*3/2, func() { bobIn <- bob.TryLock(ctx) }) // her keys have expired
		require.ErrorIs(t, alice.TryLock(ctx), ErrNotAcquired,
			"five nodes said yes two ttl ago and bob is inside, but alice's TryLock did not return ErrNotAcquired")
		require.NoError(t, <-bobIn)
		require.NoError(t, bob.Unlock(ctx), "alice gave up, but she released bob's lock")
	})
}

func TestTwoNodesHang_CostsAtMostOneNodeTimeout(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, carol := lab.lock("alice"), lab.client("carol")
		alice.NodeTimeout = slack(50 * time.Millisecond)
		lab.hang(0)
		lab.hang(1)

		start := time.Now()
		require.NoError(t, alice.TryLock(ctx), "three of five nodes work, but alice cannot lock")
		require.Less(t, time.Since(start), slack(time.Millisecond),
			"three nodes had said yes, but alice waited for the two that hang")
		start = time.Now()
		require.NoError(t, alice.Unlock(ctx), "three of five nodes work, but alice cannot release")
		require.Less(t, time.Since(start), slack(time.Millisecond),
			"three nodes had released the lock, but alice waited for the two that hang")

		// Now nodes 3 and 4 say yes and node 5 says no: it takes those that hang to decide.
		require.NoError(t, lab.lockOn("carol", carol.nodes[4:], key, ttl).TryLock(ctx))
		for range 3 {
			start = time.Now()
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotAcquired,
				"node 5 says no and two nodes hang, but alice did not get ErrNotAcquired")
			require.Less(t, time.Since(start), alice.NodeTimeout+slack(time.Millisecond),
				"two nodes hang, but that cost more than one NodeTimeout")
		}
	})
}

func TestThreeNodesHang_NodeTimeoutLimitsTheWait(t *testing.T) {
	for _, story := range []struct{ ttl, set, want time.Duration }{
		{ttl, 0, 50 * time.Millisecond}, // 0, the default: ttl/10, but at most 50ms
		{100 * time.Millisecond, 0, 10 * time.Millisecond},
		{ttl, 300 * time.Millisecond, 300 * time.Millisecond},
	} {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, story.ttl)
			alice.NodeTimeout = story.set
			for node := range 3 {
				lab.hang(node)
			}
			start := time.Now()
			err := alice.TryLock(ctx)
			require.Error(t, err, "three of five nodes hang, but alice has a lock")
			require.NotErrorIs(t, err, ErrNotAcquired,
				"three of five nodes hang, but the error says that the lock is taken")
			require.InDelta(t, story.want, time.Since(start), float64(slack(time.Millisecond)),
				"three of five nodes hang, the ttl is %v and NodeTimeout is %v, but alice waited for a different "+
					"time", story.ttl, story.set)
		})
	}
}

func TestNodesThatAreDown_CountForTheMajority(t *testing.T) {
	for i, mayFail := range []int{0, 0, 1, 1, 2} {
		inLab(t, func(t *T, lab *lab) {
			n := i + 1
			some := lab.client("alice").nodes[:n]
			for node := range mayFail {
				lab.stop(node)
			}
			alice := lab.lockOn("alice", some, key, ttl)
			require.NoError(t, alice.TryLock(ctx), "%d of %d nodes are down, but alice cannot lock", mayFail, n)
			require.NoError(t, alice.Unlock(ctx), "%d of %d nodes are down, but alice cannot release", mayFail, n)
			lab.stop(mayFail)
			require.Error(t, alice.TryLock(ctx),
				"%d of %d nodes are down and the rest are not a majority, but alice has a lock", mayFail+1, n)
		})
	}
}

func TestTwoNodesRestartEmpty_TheyGetTheLockAgain(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.TryLock(ctx))
		lab.wait()
		lab.restartEmpty(0)
		lab.restartEmpty(1)
		require.Len(t, lab.keys(), 3)
		// Two renewals: the first may have its majority before a node reports that it
		// lacks the lock.
		time.Sleep(slack(ttl))
		require.Len(t, lab.keys(), 5,
			"two nodes have lost alice's lock and she has renewed the others, but she did not re-acquire it on those "+
				"two")
		require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
		require.Len(t, lab.keys(), 5, "alice is inside once more, but some nodes have released her lock")
		require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")
		require.Empty(t, lab.keys(), "alice has left, but the nodes that got the lock later still have it")
	})
}

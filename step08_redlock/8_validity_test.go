package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Also from step 08 on: what a lock on several nodes easily gets wrong when some are slow, hang
// or come back empty. The locks before have one node. What is new:
//
//	NodeTimeout     limits the wait for a node
//	validity        the ttl, minus the time that acquiring took, minus the drift of clocks
//	ErrNotAcquired  a majority has answered, and too few said yes in time; if too few answer, the
//	                error is another one
//	healing         a node that came back empty gets the lock again if a majority renewed it

func TestTheRepliesComeAfterTheValidity_TheLockIsNotAcquired(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		alice.NodeTimeout = 3 * ttl // no node times out: only the validity can refuse
		lab.delayReply("alice", 2*ttl)
		lab.note("alice will be paused for 2 ttl before she reads the replies")
		bobIn := make(chan error, 1)
		time.AfterFunc(ttl*3/2, func() { bobIn <- bob.TryLock(ctx) }) // her keys have expired
		requireRefused(t, alice,
			"five nodes said yes two ttl ago and bob is inside, but alice's TryLock did not return ErrNotAcquired")
		require.NoError(t, <-bobIn)
		require.NoError(t, bob.Unlock(ctx), "alice gave up, but she released bob's lock")
	})
}

func TestTwoNodesHang_TheMajorityDecides(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
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
	})
}

func TestTwoNodesHangAndOneRefuses_ThatTakesOneNodeTimeout(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, carol := lab.lock("alice"), lab.lockOn("carol", lab.client("carol").nodes[4:], key, ttl)
		alice.NodeTimeout = slack(50 * time.Millisecond)
		require.NoError(t, carol.TryLock(ctx)) // on node 5, nodes[4:], alone
		lab.hang(0)
		lab.hang(1)
		for range 3 { // 2 yes, 1 no, 2 silent; and no call waits for the one before
			start := time.Now()
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotAcquired,
				"node 5 says no and two nodes hang, but alice did not get ErrNotAcquired")
			require.Less(t, time.Since(start), alice.NodeTimeout+slack(time.Millisecond),
				"two nodes hang, but that cost more than one NodeTimeout")
		}
	})
}

func TestThreeNodesHang_NodeTimeoutLimitsTheWait(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		alice.NodeTimeout = slack(300 * time.Millisecond)
		for node := range 3 {
			lab.hang(node)
		}
		start := time.Now()
		err := alice.TryLock(ctx)
		require.Error(t, err, "three of five nodes hang, but alice has a lock")
		require.NotErrorIs(t, err, ErrNotAcquired,
			"three of five nodes hang, but the error says that the lock is taken")
		require.InDelta(t, alice.NodeTimeout, time.Since(start), float64(slack(time.Millisecond)),
			"three of five nodes hang, but alice did not wait for just one NodeTimeout")
	})
}

func TestTheMajorityIsOfAllNodes_AlsoOfThoseThatAreDown(t *testing.T) {
	for _, some := range []struct{ nodes, mayFail int }{{1, 0}, {2, 0}, {3, 1}, {4, 1}, {5, 2}} {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes[:some.nodes], key, ttl)
			for node := range some.mayFail {
				lab.stop(node)
			}
			require.NoError(t, alice.TryLock(ctx),
				"%d of %d nodes are down, but alice cannot lock", some.mayFail, some.nodes)
			require.NoError(t, alice.Unlock(ctx),
				"%d of %d nodes are down, but alice cannot release", some.mayFail, some.nodes)
			lab.stop(some.mayFail) // one more
			require.Error(t, alice.TryLock(ctx),
				"%d of %d nodes are down and the rest are not a majority, but alice has a lock",
				some.mayFail+1, some.nodes)
		})
	}
}

func TestTwoNodesRestartEmpty_TheyGetTheLockAgain(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx))
		lab.wait() // for the last two replies: she continued after three
		lab.restartEmpty(0)
		lab.restartEmpty(1)
		time.Sleep(slack(2 * ttl)) // the next renewals find out which nodes lack the lock
		require.Len(t, lab.keys(), 5,
			"two nodes have lost alice's lock and she has renewed the others, but she did not re-acquire it on those "+
				"two")
		require.NoError(t, alice.Unlock(ctx), "alice is inside, but she cannot leave")
		require.Empty(t, lab.keys(), "alice has left, but the nodes that got the lock later still have it")
	})
}

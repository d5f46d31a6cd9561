package redislock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Also from step 08 on: how long a hold is safe, and how long a node may take. These stories need ValidUntil and
// NodeTimeout.

func TestTheRepliesComeAfterTheValidity_ThatIsNoLock(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		alice.NodeTimeout = 3 * ttl                                   // as if she had been paused while the replies were waiting for her
		late := func(_ redis.Cmder, nth int) bool { return nth == 2 } // EVALSHA, which no node knows yet, and EVAL
		lab.announce("alice", &twist{match: late, after: func() { time.Sleep(2 * ttl) }, again: true})
		bobIn := make(chan error, 1)
		time.AfterFunc(ttl*3/2, func() { bobIn <- bob.TryLock(ctx) }) // her keys have expired
		require.ErrorIs(t, alice.TryLock(ctx), ErrNotAcquired, "five nodes said yes two ttl ago, bob is inside, and alice goes in, too")
		require.NoError(t, <-bobIn)
		require.NoError(t, bob.Unlock(ctx), "alice gave up, and released bob's lock")
	})
}

func TestTwoNodesHang_CostsAtMostOneNodeTimeout(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, carol := lab.lock("alice"), lab.client("carol")
		alice.NodeTimeout = slack(50 * time.Millisecond)
		lab.hang(0)
		lab.hang(1)

		start := time.Now()
		require.NoError(t, alice.TryLock(ctx), "three of five nodes are well, and alice cannot lock")
		require.Less(t, time.Since(start), slack(time.Millisecond), "three nodes had said yes, and alice waited for the two that hang")
		require.NoError(t, alice.Unlock(ctx), "three of five nodes are well, and alice cannot release")
		require.Less(t, time.Since(start), slack(time.Millisecond), "three nodes had said yes, and alice waited for the two that hang")

		require.NoError(t, newLock(carol.nodes[4:], key, ttl).TryLock(ctx)) // now it takes all nodes to decide
		for range 3 {
			start = time.Now()
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotAcquired)
			require.Less(t, time.Since(start), alice.NodeTimeout+slack(time.Millisecond), "two nodes hang, and that cost more than one NodeTimeout")
		}
	})
}

func TestSlowNodes_TheNextAttemptWaitsForTheLastRelease(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := lab.lock("alice")
		lab.stop(0) // so a slow node is needed for a majority
		always := func(redis.Cmder, int) bool { return true }
		slow := func() { time.Sleep(10 * time.Millisecond) }
		lab.announce("alice", &twist{match: always, again: true, after: slow, nodes: []int{1, 2}})
		for range 10 {
			require.NoError(t, alice.TryLock(ctx), "a slow node was busy with alice's own release, and that counted as a no")
			require.NoError(t, alice.Unlock(ctx))
		}
	})
}

func TestTheMajority_IsOfTheNodesAsConfigured(t *testing.T) {
	for i, mayFail := range []int{0, 0, 1, 1, 2} {
		inLab(t, func(t *testing.T, lab *lab) {
			n := i + 1
			some := lab.client("alice").nodes[:n]
			for node := range mayFail {
				lab.stop(node)
			}
			alice := newLock(some, key, ttl)
			require.NoError(t, alice.TryLock(ctx), "%d of %d nodes are down, and alice cannot lock", mayFail, n)
			require.NoError(t, alice.Unlock(ctx), "%d of %d nodes are down, and alice cannot release", mayFail, n)
			lab.stop(mayFail)
			require.Error(t, alice.TryLock(ctx), "%d of %d nodes are down: the rest is no majority, and alice has a lock", mayFail+1, n)
		})
	}
}

func TestRenewals_NeedAMajorityAndNoMore(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.stop(0)
		lab.hang(1)
		time.Sleep(10 * ttl)
		requireNotLost(t, alice, "three of five nodes were renewed all along")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice was not told of a loss, and bob is inside with her")

		lab.stop(2)
		requireLost(t, alice, ttl, "two of five nodes are left, alice's validity is over, and she was not told")
		require.False(t, time.Now().Before(alice.ValidUntil()), "alice was told of the loss, and her hold is still valid")
	})
}

func TestNodeTimeout_DefaultAndOverride(t *testing.T) {
	for _, story := range []struct{ ttl, set, want time.Duration }{
		{ttl, 0, 50 * time.Millisecond},
		{100 * time.Millisecond, 0, 10 * time.Millisecond},
		{ttl, 300 * time.Millisecond, 300 * time.Millisecond},
	} {
		inLab(t, func(t *testing.T, lab *lab) {
			alice := newLock(lab.client("alice").nodes, key, story.ttl)
			alice.NodeTimeout = story.set
			for node := range 3 {
				lab.hang(node)
			}
			start := time.Now()
			err := alice.TryLock(ctx)
			require.Error(t, err, "three of five nodes hang, and alice has a lock")
			require.NotErrorIs(t, err, ErrNotAcquired, "three of five nodes hang, and alice is told that somebody holds the lock")
			require.InDelta(t, story.want, time.Since(start), float64(slack(time.Millisecond)), "ttl %v, NodeTimeout %v", story.ttl, story.set)
		})
	}
}

func TestNodesThatAreNoFiveNodes_AreRefusedBeforeAnyCommand(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		five := lab.client("alice").nodes
		for what, lock := range map[string]*Lock{
			"there are no nodes":                     New(nil, key, ttl),
			"node 2: the Redis client is nil":        New([]redis.UniversalClient{five[0], nil, five[2]}, key, ttl),
			"nodes 1 and 3 are the same Redis":       New([]redis.UniversalClient{five[0], five[1], five[0]}, key, ttl),
			"NodeTimeout is -1s, it must not be neg": {nodes: New(five, key, ttl).nodes, key: key, ttl: ttl, NodeTimeout: -time.Second},
		} {
			require.ErrorContains(t, lock.TryLock(ctx), what, "alice made a mistake, and the error does not name it")
		}
		require.Zero(t, lab.timeline.sent(), "alice made a mistake, and it was sent to Redis")
	})
}

// sequential is Redlock as one of the source articles tells it: node after node, half the ttl for all of them, an equal
// part of that for each, and over the total it is a failure even with a majority.
type sequential struct {
	nodes []redis.UniversalClient
	token string
}

func (s *sequential) TryLock() error {
	total, start, yes := ttl/2, time.Now(), 0
	for _, node := range s.nodes {
		one, cancel := context.WithTimeout(ctx, total/time.Duration(len(s.nodes)))
		if took, _ := acquireScript.Run(one, node, []string{key}, s.token, ttl.Milliseconds(), 1).Bool(); took {
			yes++
		}
		cancel()
	}
	if yes > len(s.nodes)/2 && time.Since(start) <= total {
		return nil
	}
	for _, node := range s.nodes {
		one, cancel := context.WithTimeout(ctx, total/time.Duration(len(s.nodes)))
		releaseScript.Run(one, node, []string{key}, s.token, 0)
		cancel()
	}
	return ErrNotAcquired
}

// interruptible lets a context end the wait for a reply, without which the variant waits for 5s where it allows 1s.
func interruptible(opt *redis.Options) { opt.ContextTimeoutEnabled, opt.MaxRetries = true, -1 }

func TestNodeAfterNode_TwoThatHangCostTheirWholePart(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := &sequential{lab.client("alice", interruptible).nodes, newToken()}
		bob := newLock(lab.client("bob").nodes, "another lock", ttl)
		lab.hang(0)
		lab.hang(1)
		start := time.Now()
		require.NoError(t, alice.TryLock())
		require.InDelta(t, ttl/5, time.Since(start), float64(slack(10*time.Millisecond)), "node after node, two that hang cost a fifth of half the ttl each")
		start = time.Now()
		require.NoError(t, bob.TryLock(ctx))
		require.Less(t, time.Since(start), slack(time.Millisecond), "asked at once, two that hang cost nothing")
	})
}

func TestNodeAfterNode_OverTheTotalAMajorityIsNoLock(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := &sequential{lab.client("alice", interruptible).nodes, newToken()}
		last := func(_ redis.Cmder, nth int) bool { return nth == 2 } // EVALSHA, which the node does not know yet, and EVAL
		lab.announce("alice", &twist{match: last, after: func() { time.Sleep(ttl / 2) }, nodes: []int{4}})
		require.ErrorIs(t, alice.TryLock(), ErrNotAcquired, "five nodes said yes, it took more than half the ttl, and alice goes in")
		require.Empty(t, lab.keys(), "alice gave up and left her keys")
	})
}

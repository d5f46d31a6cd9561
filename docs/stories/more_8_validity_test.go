package redislock

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// More about the nodes: slow ones, split votes, healing, queues and errors.

// Slow nodes.

func TestSlowNodes_TheNextAttemptWaitsForTheLastRelease(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			lab.stop(0) // so a slow node is needed for a majority
			always := func(string, int) bool { return true }
			slow := func() { time.Sleep(10 * time.Millisecond) }
			lab.inject("alice", &hook{match: always, again: true, after: slow, nodes: []int{1, 2}})
			for range 10 {
				require.NoError(t, alice.TryLock(ctx),
					"a slow node was busy with alice's own release, but that counted as a no")
				require.NoError(t, alice.Unlock(ctx))
			}
		})
	})
}

func TestEveryAnswerTakes60ms_TheHoldIsKeptAndReleased(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			lease := ttl * 6 / 10 // NodeTimeout is 50ms
			alice, bob := lab.lockOn("alice", lab.client("alice").nodes, key, lease), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			lab.far("alice", 60*time.Millisecond)
			time.Sleep(5 * lease)
			requireNotLost(t, alice, "all five nodes were renewed throughout, each reply took 60ms")
			requireRefused(t, bob, "alice was not notified of a loss, but bob is inside with her")
			require.NoError(t, alice.Unlock(ctx),
				"alice released all five nodes and each reply took 60ms, but Unlock returned an error")
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

func TestLockOnAColdClientFarAway_GoesOnUntilItHasTheLock(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			// The first command on a new connection takes five round trips: 200ms.
			alice.NodeTimeout = 50 * time.Millisecond
			lab.far("alice", 40*time.Millisecond)
			patience, cancel := context.WithTimeout(ctx, ttl)
			defer cancel()
			require.NoError(t, alice.Lock(patience),
				"no one holds the lock and every node replies within 40ms once it is connected, but alice cannot lock")
			require.NoError(t, alice.Unlock(ctx), "every node replies within 40ms, but alice cannot release")
			require.Empty(t, lab.keys(), "alice has left, but something of her attempts was left behind")
		})
	})
}

func TestTwoNodesAreSlower_UnlockWaitsForThem(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			lab.slow(3, 5*time.Millisecond, "alice")
			lab.slow(4, 5*time.Millisecond, "alice")
			require.NoError(t, alice.TryLock(ctx))
			time.Sleep(slack(ttl / 100)) // all nodes have replied
			require.NoError(t, alice.Unlock(ctx))
			require.Empty(t, lab.keys(),
				"Unlock returned nil, but slower nodes still have alice's lock: the next client, if it needs them, is "+
					"refused")
		})
	})
}

func TestTwoNodesAreBusyAndTwoOthersSlower_UnlockWaitsForThem(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			lab.slow(0, 5*time.Millisecond, "alice")
			lab.slow(1, 5*time.Millisecond, "alice")
			require.NoError(t, alice.TryLock(ctx)) // nodes 1 and 2 still acquire
			lab.slow(3, 20*time.Millisecond, "alice")
			lab.slow(4, 20*time.Millisecond, "alice")
			require.NoError(t, alice.Unlock(ctx))
			require.Empty(t, lab.keys(),
				"two nodes came late to the release and have voted, but Unlock did not wait for two others, which still "+
					"have alice's lock")
		})
	})
}

func TestAllNodesAreSlowAndTwoAreSlower_UnlockWaitsForThem(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			alice.NodeTimeout = slack(50 * time.Millisecond)
			require.NoError(t, alice.TryLock(ctx))
			for node := range 5 {
				lab.slow(node, 2*alice.NodeTimeout+time.Duration(node/3)*alice.NodeTimeout/2, "alice")
			}
			require.NoError(t, alice.Unlock(ctx), "every node replies, but alice cannot release")
			require.Empty(t, lab.keys(),
				"Unlock returned nil, but two nodes, half a NodeTimeout slower than the others, still have alice's lock")
		})
	})
}

func TestANodeIsTooSlowForANestedTryLock_ItIsStillReleased(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "the node must be a little slower than NodeTimeout")
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			time.Sleep(ttl / 100) // all nodes have replied
			lab.slow(4, 60*time.Millisecond, "alice")
			for range 2 { // the second time, nothing is sent to node 5, because its first reply is late
				require.NoError(t, alice.TryLock(ctx), "four of five nodes work, but alice may not nest")
			}
			time.Sleep(ttl / 10)
			for range 3 {
				require.NoError(t, alice.Unlock(ctx), "four of five nodes work, but alice cannot release")
			}
			time.Sleep(ttl / 10)
			require.Empty(t, lab.keys(),
				"node 5 was too slow for a nested TryLock, but it was not released: it still has alice's lock")
		})
	})
}

func TestANestedTryLockWasNotAnsweredInTime_UnlockWaitsForTheNodes(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "the replies must arrive a little after NodeTimeout")
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			lab.far("alice", 60*time.Millisecond)
			require.Error(t, alice.TryLock(ctx),
				"no node replied within NodeTimeout, but alice's nested TryLock returned nil")
			require.NoError(t, alice.Unlock(ctx), "all nodes work, 60ms away, but alice cannot release")
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

func TestTheRequestEndsAfterTryLock_SlowerNodesStillGetTheLock(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			lab.slow(3, 5*time.Millisecond, "alice")
			lab.slow(4, 5*time.Millisecond, "alice")
			request, cancel := context.WithCancel(ctx)
			require.NoError(t, alice.TryLock(request))
			lab.note("alice's request has ended")
			cancel()
			time.Sleep(slack(ttl / 100))
			require.Len(t, lab.keys(), 5,
				"alice's request ended after three of five nodes had replied, but the others did not get the lock")
		})
	})
}

func TestTheContextInterruptsAnAcquisitionOnItsWay_TheReleaseComesAfterIt(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice", func(opt *redis.Options) { opt.ContextTimeoutEnabled = true })
			require.NoError(t, alice.TryLock(ctx)) // connections
			require.NoError(t, alice.Unlock(ctx))
			lab.hang(1)
			lab.hang(2)
			var slow atomic.Bool
			lab.server(0).intercept(func(*message) bool {
				if !slow.Swap(true) {
					time.Sleep(slack(ttl / 100))
				}
				return false
			})
			lab.note("what alice sends to node 1 next takes %v to get there", slack(ttl/100))
			request, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, alice.TryLock(request), context.DeadlineExceeded)
			time.Sleep(slack(ttl / 10))
			require.False(t, lab.server(0).Exists(key),
				"alice's context ended and she sent a release on another connection, but it overtook the acquisition: "+
					"node 1 keeps her lock for a ttl")
		})
	})
}

// Nodes that hang, and what waits for them.

func TestNodeTimeout_IsATenthOfTheTTLAndAtMost50msByDefault(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, story := range []struct{ ttl, want time.Duration }{
			{ttl, 50 * time.Millisecond},
			{100 * time.Millisecond, 10 * time.Millisecond},
		} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lockOn("alice", lab.client("alice").nodes, key, story.ttl)
				alice.NodeTimeout = 0
				for node := range 3 {
					lab.hang(node)
				}
				start := time.Now()
				err := alice.TryLock(ctx)
				require.Error(t, err, "three of five nodes hang, but alice has a lock")
				require.NotErrorIs(t, err, ErrNotAcquired,
					"three of five nodes hang, but the error says that the lock is taken")
				require.InDelta(t, story.want, time.Since(start), float64(slack(time.Millisecond)),
					"three of five nodes hang, the ttl is %v and NodeTimeout is not set, but alice waited for a different "+
						"time", story.ttl)
			})
		}
	})
}

func TestLockWhileAllNodesHangFor150ms_GoesOnUntilItHasTheLock(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx)) // connections
			require.NoError(t, alice.Unlock(ctx))
			alice.NodeTimeout = 50 * time.Millisecond
			time.AfterFunc(150*time.Millisecond, everyNode(lab.hang))
			patience, cancel := context.WithTimeout(ctx, ttl)
			defer cancel()
			require.NoError(t, alice.Lock(patience),
				"no one holds the lock and all nodes paused for 150ms, but alice gave up")
			require.NoError(t, alice.Unlock(ctx))
			require.Empty(t, lab.keys(), "alice has left, but something of her attempts was left behind")
		})
	})
}

func TestAllNodesHangOneAfterTheOther_TryLockTakesTwoNodeTimeouts(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			alice.NodeTimeout = slack(50 * time.Millisecond)
			require.NoError(t, alice.TryLock(ctx)) // connections
			require.NoError(t, alice.Unlock(ctx))
			for node := range 3 {
				lab.hang(node)
			}
			time.AfterFunc(alice.NodeTimeout/2, func() { // nodes 4 and 5 have granted the lock
				lab.hang(3)
				lab.hang(4)
			})
			start := time.Now()
			err := alice.TryLock(ctx)
			require.Error(t, err, "three of five nodes hang, but alice has a lock")
			require.Less(t, time.Since(start), 2*alice.NodeTimeout+slack(time.Millisecond),
				"alice waited one NodeTimeout for the acquisition, but longer than another one to undo it")
		})
	})
}

func TestANodeHangsDuringTheHold_ThatCostsOneNodeTimeout(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			alice.NodeTimeout = slack(50 * time.Millisecond)
			require.NoError(t, alice.TryLock(ctx))
			goOn := lab.hang(0)
			start := time.Now()
			require.NoError(t, alice.Unlock(ctx), "four of five nodes work, but alice cannot release")
			require.Less(t, time.Since(start), alice.NodeTimeout+slack(time.Millisecond),
				"one node hangs, but alice waited for it longer than NodeTimeout")
			for range 3 {
				start = time.Now()
				require.NoError(t, alice.TryLock(ctx), "four of five nodes work, but alice cannot lock")
				require.NoError(t, alice.Unlock(ctx), "four of five nodes work, but alice cannot release")
				require.Less(t, time.Since(start), slack(2*time.Millisecond),
					"one node still hangs, but alice waited for it once more")
			}
			goOn()
			time.Sleep(slack(ttl / 10))
			require.Empty(t, lab.keys(), "alice has left and the node resumed, but it has her lock")
		})
	})
}

func TestANodeThatHangs_IsNotSentWhatItCannotAnswer(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx)) // connections
			require.NoError(t, alice.Unlock(ctx))
			alice.NodeTimeout = 100 * time.Millisecond // go-redis waits 5s, longer than the story takes
			goOn := lab.hang(0)
			before := lab.sentTo(0)
			for range 20 {
				require.NoError(t, alice.TryLock(ctx), "four of five nodes work, but alice cannot lock")
				time.Sleep(alice.NodeTimeout + 10*time.Millisecond)
				require.NoError(t, alice.Unlock(ctx), "four of five nodes work, but alice cannot release")
			}
			goOn()
			time.Sleep(ttl)
			require.LessOrEqual(t, lab.sentTo(0)-before, 2,
				"a node hung while alice locked 20 times and could answer only the first time, but it was sent more when "+
					"it resumed")
			require.Empty(t, lab.keys(), "alice has left and the node resumed, but it has her lock")
		})
	})
}

func TestAMajorityHangs_UnlockDoesNotWaitForTheRest(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			alice.NodeTimeout = slack(time.Second)
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			for node := range 3 {
				lab.hang(node)
			}
			start := time.Now()
			require.Error(t, alice.Unlock(ctx), "three of five nodes hang, but Unlock returned nil")
			require.Less(t, time.Since(start), 3*time.Second+slack(500*time.Millisecond),
				"three of five nodes hang, but Unlock waited %v", time.Since(start))
		})
	})
}

func TestTheContextEndsWhileNodesHang_TheOthersAreReleasedBeforeTryLockReturns(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			for node := range 3 {
				lab.hang(node)
			}
			request, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
			defer cancel()
			require.ErrorIs(t, alice.TryLock(request), context.DeadlineExceeded)
			lab.crash("alice") // her process ends
			require.Empty(t, lab.keys(), "alice gave up and her process ended, but nodes that work keep her lock for a ttl")
		})
	})
}

func TestNodesHang_QueuesStayBounded(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "nodes must hang for longer than go-redis waits")
		again := func(h *handle, waiting context.Context) {
			for waiting.Err() == nil {
				h.TryLock(ctx)
				time.Sleep(ttl / 50)
				h.Unlock(ctx)
			}
		}
		for _, story := range []struct {
			what string
			hung int
			call func(h *handle, waiting context.Context)
		}{
			{"waits for the lock", 5, func(h *handle, waiting context.Context) { h.Lock(waiting) }},
			{"locks and unlocks", 2, again},
			{"holds the lock, locks once more and unlocks", 2, func(h *handle, waiting context.Context) {
				h.TryLock(ctx)
				again(h, waiting)
				h.Unlock(ctx)
			}},
		} {
			inLab(t, func(t *T, lab *lab) {
				lab.trace.untold = true
				alice := lab.lock("alice")
				goOn := func() {}
				for node := range story.hung {
					others, one := goOn, lab.hang(node)
					goOn = func() { others(); one() }
				}
				waiting, cancel := context.WithTimeout(ctx, 2*ttl)
				defer cancel()
				story.call(alice, waiting)
				require.LessOrEqual(t, goroutines(lab), 100,
					"%d of five nodes hang and alice %s, but more than a hundred goroutines wait for these nodes, more "+
						"and more of them", story.hung, story.what)
				goOn()
				time.Sleep(ttl)
				require.NoError(t, alice.TryLock(ctx), "the nodes resumed, but alice cannot lock")
				require.NoError(t, alice.Unlock(ctx), "the nodes resumed, but alice cannot release")
				require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
			})
		}
	})
}

func TestOneNodeIsDownAndOneHangs_EachRenewalIsSentOnce(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			lab.stop(3)
			lab.hang(4)
			time.Sleep(ttl / 2) // the first renewal
			before := []int{lab.sentTo(0), lab.sentTo(3), lab.sentTo(4)}
			time.Sleep(3 * ttl)
			for i, node := range []int{0, 3, 4} {
				require.InDelta(t, 9, lab.sentTo(node)-before[i], 1,
					"three of five nodes answered each of nine renewals, but node %d was sent something else", node+1)
			}
		})
	})
}

func TestANodeDoesNotAnswerTheRelease_ItIsNotAskedForLong(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "go-redis waits 5s for a reply")
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			lab.hang(0)
			before := lab.sentTo(0)
			require.NoError(t, alice.Unlock(ctx), "four of five nodes work, but alice cannot release")
			time.Sleep(30 * time.Second)
			require.Equal(t, 1, lab.sentTo(0)-before,
				"node 1 hangs, go-redis gave up after 5s and the release may take 3s, but it was sent again: the next "+
					"command for this node waits behind it")
		})
	})
}

// Votes.

func TestLock_SplitVote_Resolves(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			lab.slow(0, time.Millisecond, "bob")
			lab.slow(1, time.Millisecond, "bob")
			lab.slow(2, time.Millisecond, "alice")
			lab.slow(3, time.Millisecond, "alice")
			lab.stop(4)
			patience, cancel := context.WithTimeout(ctx, ttl/2)
			defer cancel()
			bobIn := make(chan error, 1)
			go func() {
				err := bob.Lock(patience)
				if err == nil {
					err = bob.Unlock(ctx)
				}
				bobIn <- err
			}()
			require.NoError(t, alice.Lock(patience),
				"no one holds the lock, but alice and bob come at the same time and get two nodes each, again and again")
			require.NoError(t, alice.Unlock(ctx))
			require.NoError(t, <-bobIn,
				"no one holds the lock, but alice and bob come at the same time and get two nodes each, again and again")
		})
	})
}

func TestAWaiter_AsksTenToTwentyTimesASecond(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "a busy machine polls less often")
		// In a minute, chance decides nothing: delays of 100ms on average pass, those of 120ms do not.
		const wait, most, least = 60, 21 * 60, 10*60 - 40
		inLab(t, func(t *T, lab *lab) {
			lab.trace.untold = true
			one := lab.client("bob").nodes[:1] // more would answer the same
			alice, bob := lab.lock("alice"), lab.lockOn("bob", one, key, ttl)
			require.NoError(t, alice.TryLock(ctx))
			patience, cancel := context.WithTimeout(ctx, wait*time.Second)
			defer cancel()
			require.ErrorIs(t, bob.Lock(patience), ErrNotAcquired,
				"bob gave up, but his error does not say that the lock is taken")
			asked := lab.sent(func(r *record) bool { return r.Who == "bob" })
			require.GreaterOrEqual(t, asked, least,
				"bob waited for %d seconds, but he polled only %d times: he will notice late that alice has left",
				wait, asked)
			require.LessOrEqual(t, asked, most,
				"bob waited for %d seconds, but he sent a node %d commands: with many waiters, the nodes have nothing "+
					"else to do", wait, asked)
		})
	})
}

func TestTwoNodesSayNoFirst_TheOtherThreeDecide(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			alice.NodeTimeout = slack(50 * time.Millisecond)
			require.NoError(t, alice.TryLock(ctx))
			lab.server(0).FlushAll()
			lab.server(1).FlushAll()
			lab.note("an operator deletes all keys of nodes 1 and 2")
			for node := range 3 {
				lab.slow(node+2, 3*alice.NodeTimeout/2, "alice")
			}
			require.NoError(t, alice.Unlock(ctx),
				"two of five nodes have lost alice's lock and reply so at once, three have released it, but Unlock "+
					"returned an error")
		})
	})
}

func TestTryLock_NestedTooFewNodes_KeepsTheHold(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			lab.restartEmpty(0)
			goOn1, goOn2 := lab.hang(1), lab.hang(2)
			err := alice.TryLock(ctx)
			require.Error(t, err, "two of five nodes said yes, but alice's nested TryLock returned nil")
			require.NotErrorIs(t, err, ErrNotHeld,
				"one of five nodes has lost alice's lock and two hang, but the error says that she has lost the lock")
			require.ErrorContains(t, err, "2 of 5 nodes said yes, 1 no", "the error does not count the votes")
			requireNotLost(t, alice, "one of five nodes has lost alice's lock and two hang")
			goOn1()
			goOn2()
			time.Sleep(2 * ttl)
			requireNotLost(t, alice, "four of five nodes were renewed throughout")
			require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

func TestANodeThatSaidNo_IsNotReleased(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lockOn("bob", lab.client("bob").nodes[:3], key, 6*ttl)
			require.NoError(t, bob.TryLock(ctx))
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotAcquired, "bob has three of five nodes, but alice was not refused")
			time.Sleep(slack(ttl / 100)) // she may release in the background
			for node := range 3 {        // she cannot have been refused before all three had said no
				require.Equal(t, 2, lab.sentTo(node), "node %d said no to alice, but she sent it a release anyway", node+1)
			}
		})
	})
}

func TestATryLockFailsBetweenTwoUnlocks_ANodeRemembersTheFirst(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl)
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			lab.stop(4)
			var from atomic.Int32
			from.Store(2) // the replies of nodes 3 and 4 are lost, then those of 1 and 2 as well
			lab.inject("alice", &hook{match: isWrite, again: true,
				lose: func(m *message) bool { return m.wire.server.node >= int(from.Load()) }})
			require.Error(t, alice.Unlock(ctx), "two of five nodes have replied, but Unlock returned nil")
			from.Store(0)
			require.Error(t, alice.TryLock(ctx), "no node has replied, but TryLock returned nil")
			lab.removeHooks("alice")
			time.Sleep(slack(ttl / 100))
			require.NoError(t, alice.Unlock(ctx),
				"four of five nodes have run alice's release; a TryLock of hers failed and she unlocks again, but the "+
					"release by two of them was forgotten")
		})
	})
}

func TestATryLockBetweenTwoUnlocks_TheSecondOneReleasesTheRest(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			time.Sleep(slack(ttl / 100)) // all nodes have replied
			var heal []func()
			for node := range 3 {
				heal = append(heal, lab.answerErrors(node))
			}
			require.Error(t, alice.Unlock(ctx), "three of five nodes rejected alice's release, but Unlock returned nil")
			for node := range 3 {
				heal[node]()
			}
			require.NoError(t, alice.TryLock(ctx),
				"alice has unlocked, but three of five nodes still have her key, and that blocks her")
			require.NoError(t, alice.Unlock(ctx),
				"three of five nodes still have alice's key, but when she unlocks again, Unlock returned an error")
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

func TestANodeIsDownBetweenTwoHolds_NothingOfTheFirstStaysOnIt(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl)
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			start := lab.stop(4)
			require.NoError(t, alice.Unlock(ctx))
			require.NoError(t, alice.TryLock(ctx))
			start()
			require.NoError(t, alice.Unlock(ctx))
			time.Sleep(slack(ttl / 100))
			require.Empty(t, lab.keys(),
				"node 5 was down for alice's first Unlock and up for her second, but the key of her first acquisition "+
					"was left on it")
		})
	})
}

func TestANodeKeepsTheFirstHold_HealingReplacesItByTheSecond(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl)
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			answer := lab.answerErrors(4)
			require.NoError(t, alice.Unlock(ctx))
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			answer()
			time.Sleep(5 * ttl) // two renewals: a node whose vote comes late is healed by the next one
			lab.stop(0)
			lab.stop(1)
			time.Sleep(6 * ttl)
			requireNotLost(t, alice,
				"node 5 still had the key of alice's first hold and was not healed: nodes 3 and 4 are not a majority")
		})
	})
}

func TestClientsThatCannotBeCompared_AreNodesLikeOthers(t *testing.T) {
	each(t, func(t *testing.T) {
		type labelled struct {
			redis.UniversalClient
			labels []string
		}
		inLab(t, func(t *T, lab *lab) {
			var some []redis.UniversalClient
			for _, rdb := range lab.client("alice").nodes {
				some = append(some, labelled{rdb, []string{"zone a"}})
			}
			alice := lab.lockOn("alice", some, key, ttl)
			require.NotPanics(t, func() { require.NoError(t, alice.TryLock(ctx)) },
				"alice's clients are values that == cannot compare, but TryLock panicked")
			require.NoError(t, alice.Unlock(ctx))
		})
	})
}

func TestTryLock_InvalidNodes_SendsNothing(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			five := lab.client("alice").nodes
			negative := newLock(five, key, ttl)
			negative.NodeTimeout = -time.Second
			for _, mistake := range []struct {
				of   string
				lock *lockOf
				says string // the error
			}{
				{"gives New no nodes", newLock(nil, key, ttl), "nodes"},
				{"gives New nil as node 2", newLock([]redis.UniversalClient{five[0], nil, five[2]}, key, ttl), "node 2"},
				{"gives New the same client as nodes 1 and 3", newLock([]redis.UniversalClient{five[0], five[1], five[0]}, key, ttl), "node 3"},
				{"sets NodeTimeout to -1s", negative, "NodeTimeout"},
			} {
				lab.note("alice %s", mistake.of)
				err := mistake.lock.TryLock(ctx)
				require.ErrorContains(t, err, mistake.says, "alice made a mistake, but the error does not name it")
				require.NotErrorIs(t, err, ErrNotAcquired, "alice made a mistake, but the error says that the lock is taken")
			}
			require.Zero(t, lab.sent(), "alice made a mistake, but it was sent to Redis")
		})
	})
}

// Renewing and healing.

func TestRenewals_NeedAMajorityAndNoMore(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			lab.stop(0)
			lab.hang(1)
			time.Sleep(10 * ttl)
			requireNotLost(t, alice, "three of five nodes were renewed throughout")
			require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
				"alice was not notified of a loss, but bob is inside with her")

			lab.stop(2)
			requireLost(t, alice, ttl,
				"two of five nodes are left and alice's validity has ended, but she was not notified")
			require.False(t, time.Now().Before(alice.ValidUntil()),
				"alice was notified of the loss, but her lease is still valid")
		})
	})
}

func TestTwoNodesRestartEmptyWhileTheOwnerNests_OnlyItsOuterUnlockFreesThem(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			lab.restartEmpty(0)
			lab.restartEmpty(1)
			require.Len(t, lab.keys(), 3, "two of five nodes have restarted empty, but not three keys are left")
			time.Sleep(slack(2 * ttl)) // the next renewals find out which nodes lack the lock
			require.Len(t, lab.keys(), 5, "alice has renewed, but she did not re-acquire the lock on the two empty nodes")
			require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
			require.Len(t, lab.keys(), 5, "alice is inside once more, but some nodes have released her lock")
			require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")
			require.Empty(t, lab.keys(), "alice has left, but the nodes that got the lock later still have it")
		})
	})
}

func TestOnlyOneNodeRenews_TheOthersAreNotHealed(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice", func(opt *redis.Options) { opt.ContextTimeoutEnabled = true }) // several renewals fit in
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			lab.replace(1, "it restarts empty")
			lab.replace(2, "it restarts empty")
			lab.hang(3)
			lab.hang(4)
			requireLost(t, alice, ttl,
				"one of five nodes has alice's key, two have lost it and two hang, so another client may have come and "+
					"gone, but she was not notified of the loss")
		})
	})
}

func TestAMajorityIsLostAtOnce_NoHealingHidesIt(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			for node := range 3 {
				lab.restartEmpty(node)
			}
			require.NoError(t, bob.TryLock(ctx), "three of five nodes are free, but bob was refused")
			require.NoError(t, bob.Unlock(ctx))
			requireLost(t, alice, ttl/2,
				"bob was inside in the meantime, but alice's watchdog re-acquired the free nodes and she was not notified")
			require.Len(t, lab.keys(), 2, "alice has lost the lock, but her watchdog acquired it on free nodes")
		})
	})
}

func TestANodeHangsAndTwoFailOnce_OneMoreRenewalFitsIn(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			const short = 3 * time.Second // go-redis waits longer for a reply
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, short)
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			lab.hang(0)
			for node := 1; node <= 2; node++ {
				lab.inject("alice", &hook{match: isWrite, nodes: []int{node}, reply: errors.New(demoted)})
			}
			time.Sleep(2 * short)
			requireNotLost(t, alice, "one of five nodes hung and two refused one renewal each, but alice did not ask again in time")
		})
	})
}

func TestSomebodyElseHoldsANode_HealingLeavesItAlone(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lockOn("bob", lab.client("bob").nodes[:1], key, 10*ttl)
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			lab.restartEmpty(0)
			require.NoError(t, bob.TryLock(ctx))
			bobs := lab.owner(0)
			time.Sleep(slack(2 * ttl))
			require.Equal(t, bobs, lab.owner(0), "bob holds node 1, but alice's watchdog took it from him")
			requireNotLost(t, alice, "four of five nodes were renewed throughout")
			require.NoError(t, bob.Unlock(ctx))
			require.Len(t, lab.keys(), 4, "bob has left node 1, but something is there")
			time.Sleep(slack(ttl))
			require.Len(t, lab.keys(), 5, "bob has left node 1, but alice's watchdog has not re-acquired it")
			require.NoError(t, alice.Unlock(ctx))
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

func TestTheHoldIsLostBeforeANodeIsAsked_TheNodeIsNotTaken(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, ttl/10)
			alice.MaxHold = ttl / 20
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			resume := lab.hang(4)
			require.NoError(t, alice.Unlock(ctx))
			require.NoError(t, alice.TryLock(ctx))
			requireLost(t, alice, ttl, "MaxHold has ended, but alice was not notified")
			time.Sleep(slack(ttl / 10))
			resume()
			time.Sleep(slack(ttl / 1000))
			require.Empty(t, lab.keys(),
				"alice was notified that the lock is lost, but node 5, which was busy with her release, now has her key")
		})
	})
}

// Errors.

func TestTheContextEndsWhileLockFindsTooFewNodes_TheErrorDoesNotSayTaken(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, fault := range faults[1:3] {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				for node := range 3 {
					fault.fail(lab, node)
				}
				patience, cancel := context.WithTimeout(ctx, ttl/10)
				defer cancel()
				start := time.Now()
				err := alice.Lock(patience)
				require.InDelta(t, ttl/10, time.Since(start), float64(slack(110*time.Millisecond)),
					"three of five nodes %s, but alice did not wait until her context ended", fault.name)
				require.ErrorIs(t, err, context.DeadlineExceeded,
					"three of five nodes %s and alice's context has ended, but the error does not say so", fault.name)
				require.NotErrorIs(t, err, ErrNotAcquired,
					"three of five nodes %s, but the error says that the lock is taken", fault.name)
				require.ErrorContains(t, err, "of 5 nodes said yes",
					"three of five nodes %s, but the error does not count the votes", fault.name)
			})
		}
	})
}

func TestTheContextCutsOffAnAttemptAfterARefusal_TheErrorSaysTaken(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, bob.TryLock(ctx))
			request, cancel := context.WithCancel(ctx)
			lab.inject("alice", &hook{match: nthIs(3), again: true, before: func() { bob.Unlock(ctx) },
				lose: func(*message) bool { cancel(); return true }})
			err := alice.Lock(request)
			require.ErrorIs(t, err, context.Canceled, "alice's context ended, but the error does not say so")
			require.ErrorIs(t, err, ErrNotAcquired,
				"alice was refused, and her context cut her next attempt off, but the error does not say that the lock "+
					"was taken")
		})
	})
}

func TestTheContextEndsWithinAnAttempt_TheErrorSaysThatTheLockIsTaken(t *testing.T) {
	each(t, func(t *testing.T) {
		t.Run("TryLock, and one node hangs", func(t *testing.T) {
			needsVirtualTime(t, "four replies must come within 10ms")
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				require.NoError(t, alice.TryLock(ctx))
				lab.wait()
				lab.hang(4)
				patience, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
				defer cancel()
				err := bob.TryLock(patience)
				require.ErrorIs(t, err, ErrNotAcquired,
					"four of five nodes replied that the lock is taken before bob's context ended, but the error does "+
						"not say so")
				require.ErrorIs(t, err, context.DeadlineExceeded, "bob's context ended, but the error does not say so")
			})
		})
		t.Run("Lock, and the nodes are far", func(t *testing.T) {
			needsVirtualTime(t, "a new connection and a reply 40ms away must come within 100ms")
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				require.NoError(t, alice.TryLock(ctx))
				lab.far("bob", 10*time.Millisecond) // a new connection takes several round trips
				patience, cancel := context.WithTimeout(ctx, ttl/10)
				bob.Lock(patience)
				cancel()
				lab.far("bob", 40*time.Millisecond)
				for waited := 100 * time.Millisecond; waited < 400*time.Millisecond; waited += 7 * time.Millisecond {
					time.Sleep(100 * time.Millisecond) // for the replies to the attempt before
					lab.wait()
					patience, cancel := context.WithTimeout(ctx, waited)
					err := bob.Lock(patience)
					cancel()
					require.ErrorIs(t, err, ErrNotAcquired,
						"alice holds the lock and every node works, 40 ms away, but after %v the error does not say that "+
							"the lock is taken", waited)
					require.ErrorIs(t, err, context.DeadlineExceeded, "bob's context ended, but the error does not say so")
				}
			})
		})
	})
}

func TestLockWhenAMajorityRefusesTheCommand_ComesBackAtOnce(t *testing.T) {
	each(t, func(t *testing.T) {
		refuse := func(lab *lab, node int) {
			lab.server(node).SetError("NOPERM User alice has no permissions to run the 'evalsha' command")
		}
		closed := func(lab *lab, node int) { lab.client("alice").nodes[node].(*redis.Client).Close() }
		for _, story := range []struct {
			name string
			fail func(lab *lab, node int)
			says string
		}{{"nodes reply NOPERM", refuse, "NOPERM"}, {"clients are closed", closed, "closed"}} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				story.fail(lab, 0)
				story.fail(lab, 1)
				require.NoError(t, alice.Lock(ctx), "two of five %s, but alice cannot lock", story.name)
				require.NoError(t, alice.Unlock(ctx), "two of five %s, but alice cannot release", story.name)
				story.fail(lab, 2)
				patience, cancel := context.WithTimeout(ctx, ttl)
				defer cancel()
				start := time.Now()
				err := alice.Lock(patience)
				require.Less(t, time.Since(start), slack(10*time.Millisecond),
					"three of five %s and waiting does not change that, but alice waited", story.name)
				require.ErrorContains(t, err, story.says, "three of five %s, but the error does not say so", story.name)
				require.NotErrorIs(t, err, ErrNotAcquired,
					"three of five %s, but the error says that the lock is taken", story.name)
			})
		}
	})
}

func TestTwoNodesRefuseTheCommand_LockWaitsForTheOthers(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			for node := range 2 {
				lab.server(node).SetError("NOPERM User alice has no permissions to run the 'evalsha' command")
			}
			lab.note("nodes 1 and 2 reply NOPERM")
			require.NoError(t, bob.TryLock(ctx), "three of five nodes work, but bob was refused")
			time.AfterFunc(ttl/10, func() { bob.Unlock(ctx) })
			patience, cancel := context.WithTimeout(ctx, ttl/2)
			defer cancel()
			require.NoError(t, alice.Lock(patience),
				"two of five nodes reply NOPERM and bob held the others for %v, but alice did not wait for them", ttl/10)
		})
	})
}

func TestThreeNodesAreDown_TheErrorNamesThem(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			for node := range 3 {
				lab.stop(node + 1)
			}
			err := alice.TryLock(ctx)
			for node := range 5 {
				name := fmt.Sprintf("node %d", node+1)
				if node == 0 || node == 4 {
					require.NotContains(t, err.Error(), name, "node %d works, but the error names it", node+1)
				} else {
					require.ErrorContains(t, err, name, "node %d is down, but the error does not name it", node+1)
				}
			}
		})
	})
}

func TestANodeRefusesTheRelease_ItIsNotAskedAgain(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			lab.server(0).SetError("NOPERM User alice has no permissions to run the 'evalsha' command")
			lab.note("node 1 replies NOPERM")
			before := lab.sentTo(0)
			require.NoError(t, alice.Unlock(ctx), "four of five nodes work, but alice cannot release")
			require.Equal(t, 1, lab.sentTo(0)-before,
				"node 1 rejected alice's release and a retry does not change that, but she sent it again")
		})
	})
}

// Helpers.

// slow delays what clients send to a node.
func (l *lab) slow(node int, later time.Duration, names ...string) {
	s := l.server(node)
	s.intercept(func(m *message) bool {
		if slices.Contains(names, m.wire.client.name) {
			time.Sleep(later)
		}
		return false
	})
	l.fault("from now on, what %s sends arrives %v later at %s", strings.Join(names, " or "), later, s.name)
}

// sentTo returns how many commands have been sent to a node so far.
func (l *lab) sentTo(node int) int { return l.sent(func(r *record) bool { return r.Node == node+1 }) }

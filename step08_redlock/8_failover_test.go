package redislock

import (
	"context"
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 8: losing a minority of the masters, at any moment and in any way, neither loses nor blocks the lock. With
// a single master, these stories lose that one.

const minority = max(1, (nodes-1)/2)

func TestAMasterFailsOverBeforeReplicating_TheLockIsNotGivenTwice(t *testing.T) {
	for node := range nodes {
		t.Run(fmt.Sprintf("node %d", node+1), func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				require.NoError(t, alice.TryLock(ctx))
				lab.failover(node)
				require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
					"alice's lock died with the master of node %d: bob is inside with her", node+1)
				require.NoError(t, alice.Unlock(ctx), "one master died, and alice cannot release her lock")
				require.NoError(t, bob.TryLock(ctx), "alice has left, and bob was refused")
			})
		})
	}
}

// faults are the ways in which a node fails. Each returns how it comes back.
var faults = []struct {
	name string
	fail func(lab *lab, node int) (heal func())
}{
	{"down", (*lab).stop},
	{"hung", (*lab).hang},
	{"restarted empty", (*lab).restartEmpty},
	{"answers errors", (*lab).answerErrors},
}

func (l *lab) answerErrors(node int) (stop func()) {
	s := l.server(node)
	s.SetError("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.")
	l.fault("%s answers errors", s.name)
	return func() { s.SetError("") }
}

// restartEmpty restarts a node that has no persistence.
func (l *lab) restartEmpty(node int) (nothing func()) {
	l.replace(node, "it restarts without its data")
	return func() {}
}

// eachMinority plays a story for every way in which nodes fail, and every set of nodes that may fail together.
func eachMinority(t *testing.T, story func(t *T, lab *lab, failed string, fail func())) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				for set := 1; set < 1<<nodes; set++ {
					if bits.OnesCount(uint(set)) > minority {
						continue
					}
					var which []int
					for node := range nodes {
						if set>>node&1 == 1 {
							which = append(which, node+1)
						}
					}
					var heal []func()
					failed := fmt.Sprintf("nodes %v of %d failed (%s)", which, nodes, fault.name)
					story(t, lab, failed, func() {
						for _, number := range which {
							heal = append(heal, fault.fail(lab, number-1))
						}
					})
					for _, heal := range heal {
						heal()
					}
					lab.passTTL() // what a node kept that did not hear of the release
				}
			})
		})
	}
}

// passTTL lets a ttl pass. On real servers, where that takes its time, the keys expire at once.
func (l *lab) passTTL() {
	if !realTime {
		time.Sleep(ttl)
		return
	}
	for node := range nodes {
		l.server(node).FastForward(ttl)
	}
}

func TestAnyMinorityFailsBeforeTheAcquire_TheLockWorks(t *testing.T) {
	eachMinority(t, func(t *T, lab *lab, failed string, fail func()) {
		alice := lab.lock("alice")
		fail()
		require.NoError(t, alice.TryLock(ctx), "%s, and nobody can lock", failed)
		require.NoError(t, alice.Unlock(ctx), "%s, and alice cannot release", failed)
	})
}

func TestAnyMinorityFailsDuringTheHold_TheLockIsKept(t *testing.T) {
	eachMinority(t, func(t *T, lab *lab, failed string, fail func()) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		fail()
		bobErr := bob.TryLock(ctx)
		require.Error(t, bobErr, "%s under alice's lock, and bob is inside with her", failed)
		require.ErrorIs(t, bobErr, ErrNotAcquired, "%s under alice's lock, and bob does not hear that she holds it", failed)
		require.NoError(t, alice.Unlock(ctx), "%s under alice's lock, and she cannot release it", failed)
	})
}

func TestTheMajorityIsGone_NobodyGetsInAndNothingStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		for node := range nodes/2 + 1 {
			lab.stop(node)
		}
		err := alice.TryLock(ctx)
		require.Error(t, err, "a majority of the nodes is down, and alice has a lock")
		require.NotErrorIs(t, err, ErrNotAcquired, "a majority of the nodes is down, and alice is told that somebody holds the lock")
		require.ErrorContains(t, err, fmt.Sprintf("%d of %d nodes", nodes-nodes/2-1, nodes), "the error does not say how many nodes answered what")
		require.Empty(t, lab.keys(), "alice did not get the lock, and a part of it stayed behind")
	})
}

// Control: with a single node there is the whole lock or nothing.
func TestOthersHoldAnyOfTheNodes_AMajorityDecides(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.client("bob")
		for taken := range 1 << nodes {
			var others []*handle
			for node := range nodes {
				if taken>>node&1 == 1 {
					other := lab.lockOn("bob", bob.nodes[node:node+1], key, ttl)
					require.NoError(t, other.TryLock(ctx))
					others = append(others, other)
				}
			}
			err := alice.TryLock(ctx)
			if free := nodes - len(others); free > nodes/2 {
				require.NoError(t, err, "%d of %d nodes are free, and alice was refused", free, nodes)
				require.NoError(t, alice.Unlock(ctx))
			} else {
				require.ErrorIs(t, err, ErrNotAcquired, "%d of %d nodes are free, and alice was not refused", free, nodes)
			}
			require.Len(t, lab.keys(), len(others), "alice did not hold the lock any more, and a part of it stayed behind")
			for _, other := range others {
				require.NoError(t, other.Unlock(ctx), "alice did not get the lock, and released somebody else's node")
			}
		}
	})
}

func TestTheContextEndsWhileNodesHang_NothingStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		var goOn []func()
		for node := range nodes/2 + 1 {
			goOn = append(goOn, lab.hang(node))
		}
		request, cancel := context.WithCancel(ctx)
		time.AfterFunc(10*time.Millisecond, cancel)
		start := time.Now()
		err := alice.TryLock(request)
		require.Less(t, time.Since(start), slack(100*time.Millisecond), "alice's request was cancelled, and TryLock hung on with the nodes")
		require.ErrorIs(t, err, context.Canceled, "alice's request was cancelled, and the error does not say so")

		for _, goOn := range goOn {
			goOn()
		}
		time.Sleep(slack(ttl / 10))
		require.Empty(t, lab.keys(), "alice gave up, the nodes went on, and her lock is there for nobody")
	})
}

func TestASlowNodeRunsTheAcquireAfterTheRelease_ItIsReleasedToo(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx)) // connections
		require.NoError(t, alice.Unlock(ctx))
		var goOn []func()
		for node := range minority {
			goOn = append(goOn, lab.hang(node))
		}
		require.NoError(t, alice.TryLock(ctx), "a minority of the nodes is slow, and nobody can lock")
		require.NoError(t, alice.Unlock(ctx), "a minority of the nodes is slow, and alice cannot release")
		time.Sleep(slack(ttl / 10))
		for _, goOn := range goOn {
			goOn()
		}
		time.Sleep(slack(ttl / 10))
		require.Empty(t, lab.keys(), "alice left long ago, and a slow node gave her its vote after that")
	})
}

func TestThreeNodesFailOneAfterTheOtherAndComeBack_TheLockIsKept(t *testing.T) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				require.NoError(t, alice.TryLock(ctx))
				for node := range nodes/2 + 1 {
					heal := fault.fail(lab, node)
					time.Sleep(slack(ttl)) // what the node had of the lock expires
					heal()
					time.Sleep(slack(ttl))
					require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
						"nodes failed one after the other (%s), each was well again before the next, %d so far: bob is inside with alice", fault.name, node+1)
				}
				require.NoError(t, alice.Unlock(ctx), "nodes failed one after the other (%s), each was well again before the next, and alice has lost her lock", fault.name)
				require.Empty(t, lab.keys(), "alice has left, and nodes that came back have her lock still")
				require.NoError(t, bob.TryLock(ctx), "alice has left, and bob was refused")
			})
		})
	}
}

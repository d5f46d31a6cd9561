package redislock

import (
	"context"
	"fmt"
	"math/bits"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 8: losing a minority of the masters, at any moment and in any way, neither
// loses nor blocks the lock. In these stories, a lock on a single Redis loses that one.

const minority = max(1, (nodes-1)/2)

func TestAMasterFailsOverBeforeReplicating_TheLockIsNotGivenTwice(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.failover(0)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "a master died, its replica knew nothing of alice's lock, and bob is inside with her")
		require.NoError(t, alice.Unlock(ctx), "a master died, but alice cannot release her lock")
		require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
	})
}

// faults are the ways in which a node fails. Each returns a function that heals the node.
var faults = []struct {
	name string
	fail func(lab *lab, node int) (heal func())
}{
	{"restarted empty", (*lab).restartEmpty},
	{"went down", (*lab).stop},
	{"hung", (*lab).hang},
	{"answered errors", (*lab).answerErrors},
}

func (l *lab) answerErrors(node int) (stop func()) {
	s := l.server(node)
	s.SetError("MISCONF Errors writing to the AOF file: No space left on device")
	l.fault("%s answers errors", s.name)
	return func() {
		s.SetError("")
		l.fault("%s answers again", s.name)
	}
}

// restartEmpty restarts a node that has no persistence.
func (l *lab) restartEmpty(node int) (nothing func()) {
	l.replace(node, "it restarts without its data")
	return func() {}
}

// nodeNames names nodes in a message, counted from 1.
func nodeNames(some []int) string {
	switch {
	case nodes == 1:
		return "the only Redis"
	case len(some) == 1:
		return fmt.Sprintf("node %d of %d", some[0], nodes)
	}
	return fmt.Sprintf("nodes %v of %d", some, nodes)
}

// firstNodes returns 1 to n.
func firstNodes(n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, i+1)
	}
	return numbers
}

// eachMinority plays a story for every way in which nodes fail, and every set of nodes
// that may fail together.
func eachMinority(t *testing.T, story func(t *T, lab *lab, failed string, fail func())) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			for set := 1; set < 1<<nodes; set++ {
				if bits.OnesCount(uint(set)) > minority {
					continue
				}
				inLab(t, func(t *T, lab *lab) {
					var some []int
					for node := range nodes {
						if set>>node&1 == 1 {
							some = append(some, node+1)
						}
					}
					story(t, lab, nodeNames(some)+" "+fault.name, func() {
						for _, number := range some {
							fault.fail(lab, number-1)
						}
					})
				})
			}
		})
	}
}

func TestAnyMinorityFailsDuringTheHold_TheLockIsKept(t *testing.T) {
	eachMinority(t, func(t *T, lab *lab, failed string, fail func()) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		fail()
		bobErr := bob.TryLock(ctx)
		require.Error(t, bobErr, "%s while alice held the lock, but bob is inside with her", failed)
		require.ErrorIs(t, bobErr, ErrNotAcquired, "%s while alice held the lock, but the error does not say that the lock is taken", failed)
		require.NoError(t, alice.Unlock(ctx), "%s while alice held the lock, but she cannot release it", failed)
	})
}

func TestAnyMinorityFailsBeforeTheAcquire_TheLockWorks(t *testing.T) {
	eachMinority(t, func(t *T, lab *lab, failed string, fail func()) {
		alice := lab.lock("alice")
		fail()
		require.NoError(t, alice.TryLock(ctx), "%s, but no one can lock", failed)
		require.NoError(t, alice.Unlock(ctx), "%s, but alice cannot release", failed)
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
					time.Sleep(slack(ttl)) // the node's key expires
					heal()
					time.Sleep(slack(ttl))
					require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
						"%s %s and came back, but bob is inside with alice", nodeNames(firstNodes(node+1)), fault.name)
				}
				failed := nodeNames(firstNodes(nodes/2+1)) + " " + fault.name
				require.NoError(t, alice.Unlock(ctx), "%s and came back, but alice has lost her lock", failed)
				require.Empty(t, lab.keys(), "%s and came back, alice has left, but her lock is still there", failed)
				require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
			})
		})
	}
}

func TestTheContextEndsWhileNodesHang_NothingStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		var goOn []func()
		for node := range nodes/2 + 1 {
			goOn = append(goOn, lab.hang(node))
		}
		hung := nodeNames(firstNodes(nodes/2 + 1))
		request, cancel := context.WithCancel(ctx)
		time.AfterFunc(10*time.Millisecond, func() {
			lab.note("alice's request is cancelled")
			cancel()
		})
		start := time.Now()
		err := alice.TryLock(request)
		require.Less(t, time.Since(start), slack(100*time.Millisecond), "%s hung, alice's request was cancelled after 10ms, but TryLock kept waiting", hung)
		require.ErrorIs(t, err, context.Canceled, "alice's request was cancelled, but the error does not say so")

		for _, goOn := range goOn {
			goOn()
		}
		time.Sleep(slack(ttl / 10))
		require.Empty(t, lab.keys(), "alice gave up, %s resumed, and a key that no one holds was left behind", hung)
	})
}

// Also passes on step 07, because a single Redis runs the delayed acquisition and then
// the release.
func TestASlowNodeRunsTheAcquireAfterTheRelease_ItIsReleasedToo(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx)) // connections
		require.NoError(t, alice.Unlock(ctx))
		var goOn []func()
		for node := range minority {
			goOn = append(goOn, lab.hang(node))
		}
		alice.TryLock(ctx)
		alice.Unlock(ctx)
		time.Sleep(slack(ttl / 10))
		for _, goOn := range goOn {
			goOn()
		}
		time.Sleep(slack(ttl / 10))
		require.Empty(t, lab.keys(), "alice left long ago, %s ran her acquisition after that, and a key that no one holds was left behind", nodeNames(firstNodes(minority)))
	})
}

// Also passes on step 07, because a single Redis that is down is an error too.
func TestTheMajorityIsGone_NobodyGetsInAndNothingStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		gone := nodeNames(firstNodes(nodes/2 + 1))
		for node := range nodes/2 + 1 {
			lab.stop(node)
		}
		err := alice.TryLock(ctx)
		require.Error(t, err, "%s went down, but alice has a lock", gone)
		require.NotErrorIs(t, err, ErrNotAcquired, "%s went down, but the error says that the lock is taken", gone)
		require.Empty(t, lab.keys(), "alice did not get the lock, but part of it was left behind")
	})
}

// Also passes on step 07, because a single Redis has either the whole lock or nothing.
func TestOthersHoldAnyOfTheNodes_AMajorityDecides(t *testing.T) {
	for taken := range 1 << nodes {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			limitHold(bob, time.Millisecond) // he does not re-acquire the nodes that he has lost
			require.NoError(t, bob.TryLock(ctx))
			time.Sleep(slack(ttl / 100)) // for a slow node
			owner, free := lab.owner(0), 0
			for node := range nodes {
				if taken>>node&1 == 0 {
					lab.server(node).FlushAll()
					lab.note("an operator deletes all keys of %s", lab.server(node).name)
					free++
				}
			}
			err := alice.TryLock(ctx)
			if free > nodes/2 {
				require.NoError(t, err, "bob holds %d of %d nodes, but alice was refused", nodes-free, nodes)
				require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
			} else {
				require.ErrorIs(t, err, ErrNotAcquired, "bob holds %d of %d nodes, but alice did not get ErrNotAcquired", nodes-free, nodes)
			}
			require.Len(t, lab.keys(), nodes-free, "alice does not hold the lock, but the nodes do not have exactly what bob holds")
			for node := range nodes {
				if taken>>node&1 == 1 {
					require.Equal(t, owner, lab.owner(node), "alice does not hold the lock, but she took a node from bob")
				}
			}
		})
	}
}

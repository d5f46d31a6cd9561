package redislock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// More of guarantee 8: nodes that fail one after the other, run a command late, or belong to
// others.

// firstNodes returns 1 to n.
func firstNodes(n int) (numbers []int) {
	for i := range n {
		numbers = append(numbers, i+1)
	}
	return numbers
}

func TestThreeNodesFailOneAfterTheOtherAndComeBack_TheLockIsKept(t *testing.T) {
	each(t, func(t *testing.T) {
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
						requireRefused(t, bob,
							"%s %s and came back, but bob is inside with alice", nodeNames(firstNodes(node+1)), fault.name)
					}
					failed := nodeNames(firstNodes(nodes/2+1)) + " " + fault.name
					require.NoError(t, alice.Unlock(ctx), "%s and came back, but alice has lost her lock", failed)
					require.Empty(t, lab.keys(), "%s and came back, alice has left, but her lock is still there", failed)
					require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
				})
			})
		}
	})
}

func TestTheContextEndsWhileNodesHang_NothingStays(t *testing.T) {
	each(t, func(t *testing.T) {
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
			require.Less(t, time.Since(start), slack(100*time.Millisecond),
				"%s hung, alice's request was cancelled after 10ms, but TryLock kept waiting", hung)
			require.ErrorIs(t, err, context.Canceled, "alice's request was cancelled, but the error does not say so")

			for _, goOn := range goOn {
				goOn()
			}
			time.Sleep(slack(ttl / 10))
			require.Empty(t, lab.keys(), "alice gave up, %s resumed, and a key that no one holds was left behind", hung)
		})
	})
}

// Also passes on step 07, because a single Redis runs the delayed acquisition and then
// the release.
func TestASlowNodeRunsTheAcquireAfterTheRelease_ItIsReleasedToo(t *testing.T) {
	each(t, func(t *testing.T) {
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
			require.Empty(t, lab.keys(),
				"alice left long ago, %s ran her acquisition after that, and a key that no one holds was left "+
					"behind", nodeNames(firstNodes(minority)))
		})
	})
}

// Also passes on step 07, because a single Redis that is down is an error too.
func TestTheMajorityIsGone_NobodyGetsInAndNothingStays(t *testing.T) {
	each(t, func(t *testing.T) {
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
	})
}

// Also passes on step 07, because a single Redis has either the whole lock or nothing.
func TestOthersHoldAnyOfTheNodes_AMajorityDecides(t *testing.T) {
	each(t, func(t *testing.T) {
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
					require.ErrorIs(t, err, ErrNotAcquired,
						"bob holds %d of %d nodes, but alice did not get ErrNotAcquired", nodes-free, nodes)
				}
				require.Len(t, lab.keys(), nodes-free,
					"alice does not hold the lock, but the nodes do not have exactly what bob holds")
				for node := range nodes {
					if taken>>node&1 == 1 {
						require.Equal(t, owner, lab.owner(node),
							"alice does not hold the lock, but she took a node from bob")
					}
				}
			})
		}
	})
}

// Unlock asks the nodes again only while that can change its result.
//
// Also passes on step 07, because its release asks again only after an error that may pass.
func TestUnlock_ReturnsWhenItsResultIsCertain(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, refuses := range []bool{false, true} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				require.NoError(t, alice.TryLock(ctx))
				for node := range nodes {
					if refuses { // as with rights that were taken away: that does not pass
						lab.server(node).SetError("NOPERM this user has no permissions to run the command")
					}
				}
				start := time.Now()
				require.Equal(t, refuses, alice.Unlock(ctx) != nil)
				require.Less(t, time.Since(start), slack(100*time.Millisecond),
					"every node has answered (with an error: %t), but Unlock kept asking", refuses)
			})
		}
	})
}

// Also passes on step 07, because a message wakes its waiters, or their context.
func TestTheContextEndsBetweenTwoAttempts_LockReturnsAtOnce(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			request, cancel := context.WithCancel(ctx)
			time.AfterFunc(10*time.Millisecond, cancel) // he tries again after 50 to 100 ms
			start := time.Now()
			require.ErrorIs(t, bob.Lock(request), context.Canceled)
			require.Less(t, time.Since(start), slack(20*time.Millisecond),
				"bob's request was cancelled, but Lock kept waiting")
		})
	})
}

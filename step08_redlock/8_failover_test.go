package redislock

import (
	"fmt"
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// Guarantee 8: losing a minority of the masters, before the hold or during it, neither loses nor
// blocks the lock. The locks before have one Redis: here, that one fails. A lock on five masters
// needs three of them.

func TestAMasterFailsOverBeforeReplicating_TheLockIsNotGivenTwice(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.failover(0)
		requireRefused(t, bob, "a master died, its replica knew nothing of alice's lock, and bob is inside with her")
		require.NoError(t, alice.Unlock(ctx), "a master died, but alice cannot release her lock")
		require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
	})
}

func TestAnyMinorityFailsDuringTheHold_TheLockIsKept(t *testing.T) {
	eachMinority(t, func(t *T, lab *lab, failed string, fail func()) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		fail()
		bobErr := bob.TryLock(ctx)
		require.Error(t, bobErr, "%s while alice held the lock, but bob is inside with her", failed)
		require.ErrorIs(t, bobErr, ErrNotAcquired,
			"%s while alice held the lock, but the error does not say that the lock is taken", failed)
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

const minority = max(1, (nodes-1)/2) // with one Redis, that one: so the locks before fail

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

// eachMinority plays a story for every way in which nodes fail, and every set of nodes
// that may fail together.
func eachMinority(t *testing.T, story func(t *T, lab *lab, failed string, fail func())) {
	for _, fault := range faults {
		t.Run(fault.name, func(t *testing.T) {
			for set := 1; set < 1<<nodes; set++ { // its bits are the nodes
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

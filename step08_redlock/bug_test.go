package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests pass while the last step's bugs exist. Persistence or a delayed restart
// removes the first, clocks that never jump the second. No lock can remove the third: the
// resource must check a fencing token.

// heldOnThree acquires the lock for alice while nodes 4 and 5 are down: she has exactly a
// majority.
func heldOnThree(t *T, lab *lab) *handle {
	t.Helper()
	alice := lab.lock("alice")
	start4, start5 := lab.stop(3), lab.stop(4)
	require.NoError(t, alice.TryLock(ctx))
	start4()
	start5()
	return alice
}

func TestBug_ExactlyThreeOfFiveAreHeldAndOneRestartsEmpty_TwoAreInside(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := heldOnThree(t, lab), lab.lock("bob")
		lab.restartEmpty(2)
		require.NoError(t, bob.TryLock(ctx), "nodes 3, 4 and 5 are free, but bob did not get them: the bug is gone")
		require.True(t, time.Now().Before(alice.ValidUntil()), "alice knew at once: the bug is gone")
	})
}

func TestBug_ExactlyThreeOfFiveAreHeldAndOneClockJumps_TwoAreInside(t *testing.T) {
	needsVirtualTime(t, "it needs a clock that jumps")
	inLab(t, func(t *T, lab *lab) {
		alice, bob := heldOnThree(t, lab), lab.lock("bob")
		lab.server(2).FastForward(ttl) // Redis expires keys by the wall clock
		lab.fault("the clock of node 3 jumps ahead by %v: alice's lock is gone there", ttl)
		require.NoError(t, bob.TryLock(ctx), "nodes 3, 4 and 5 are free, but bob did not get them: the bug is gone")
		require.True(t, time.Now().Before(alice.ValidUntil()), "alice knew at once: the bug is gone")
	})
}

func TestBug_TheHolderIsPausedBeyondItsValidity_ItsLateWriteOverwritesTheNextOwners(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		shop := &struct{ stock int }{100}

		require.NoError(t, alice.TryLock(ctx))
		require.True(t, time.Now().Before(alice.ValidUntil()), "alice has just got the lock, but it is not valid")
		aliceRead := shop.stock
		lab.note("alice's lease is valid, and she reads the stock, %d", aliceRead)
		lab.mute("alice", "alice is paused: a garbage collection, a page fault, SIGSTOP")
		time.Sleep(2 * ttl)
		require.NoError(t, bob.TryLock(ctx), "bob was refused while alice was paused: the bug is gone")
		shop.stock--
		lab.note("bob sells one and writes %d", shop.stock)
		require.NoError(t, bob.Unlock(ctx))
		shop.stock = aliceRead - 1
		lab.note("alice continues where she was, sells one and writes %d", shop.stock)

		require.Equal(t, 99, shop.stock, "both sales were counted: the bug is gone")
	})
}

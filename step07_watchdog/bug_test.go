package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests pass while step 07's bugs exist. Step 08 removes the first. No lock can
// remove the second: the resource must check a fencing token.

func TestBug_TheMasterFailsOverBeforeReplicating_TwoAreInside(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.failover(0)
		require.NoError(t, bob.TryLock(ctx), "the replica knew of alice's lock: the bug is gone")
		requireNotLost(t, alice, "alice knew at once, not only at her next renewal: the bug is gone")
	})
}

func TestBug_TheHolderIsPausedBeyondTheTTL_ItsLateWriteOverwritesTheNextOwners(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		shop := &struct{ stock int }{100}

		require.NoError(t, alice.TryLock(ctx))
		aliceRead := shop.stock
		lab.note("alice reads the stock, %d", aliceRead)
		lab.mute("alice", "alice is paused: a garbage collection, a page fault, SIGSTOP")
		time.Sleep(2 * ttl)
		require.NoError(t, bob.TryLock(ctx), "bob was refused while alice was paused: the bug is gone")
		shop.stock--
		lab.note("bob sells one and writes %d", shop.stock)
		require.NoError(t, bob.Unlock(ctx))
		requireLost(t, alice, 0, "alice was never notified")
		shop.stock = aliceRead - 1 // Lost is closed, but she had no time to check it
		lab.note("alice continues where she was, sells one and writes %d", shop.stock)

		require.Equal(t, 99, shop.stock, "both sales were counted: the bug is gone")
	})
}

package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests pass while step 03's bugs exist. Step 04 removes the first and the third,
// step 05 the second.

func TestBug_ALateHolder_DeletesTheNextOwnersLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		require.NoError(t, alice.TryLock(ctx))
		lab.note("alice works for longer than the ttl")
		time.Sleep(2 * ttl)
		require.NoError(t, bob.TryLock(ctx))
		require.NoError(t, alice.Unlock(ctx))
		require.NoError(t, carol.TryLock(ctx), "alice did not delete bob's lock: the bug is gone")
	})
}

func TestBug_TheReplyToDELIsLost_TheResendDeletesTheNextOwnersLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		require.NoError(t, alice.TryLock(ctx))
		var bobErr error
		lab.loseReply("alice", func() { bobErr = bob.TryLock(ctx) })
		require.NoError(t, alice.Unlock(ctx))
		require.NoError(t, bobErr)
		require.NoError(t, carol.TryLock(ctx),
			"the DEL that go-redis sent again did not delete bob's lock: the bug is gone")
	})
}

func TestBug_LostReplyToSET_HolderGetsErrNotAcquired(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		lab.loseReply("alice")
		require.ErrorIs(t, alice.TryLock(ctx), ErrNotAcquired, "alice recognised her own lock: the bug is gone")
		require.NotEmpty(t, lab.keys(), "alice's lock is not in Redis: ErrNotAcquired was the truth")
	})
}

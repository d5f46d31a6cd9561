package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// These tests pass while step 05's bugs exist. Step 06 removes the first, step 07 the
// second.

func TestBug_TheHolderLocksAgain_BlocksItself(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		end := time.Now().Add(ttl)
		require.NoError(t, alice.Lock(ctx))
		require.NoError(t, alice.Lock(ctx)) // after her own lease has expired
		require.False(t, time.Now().Before(end), "alice could lock again while she held the lock: the bug is gone")
	})
}

func TestBug_TheLeaseEndsDuringTheWork_TwoAreInside(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		time.Sleep(2 * ttl) // alice is still working
		require.NoError(t, bob.TryLock(ctx), "bob was refused while alice was still working: the bug is gone")
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice is notified only now")
	})
}

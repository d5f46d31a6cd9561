package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test passes while step 06's bug exists. Step 07 removes the bug.

func TestBug_TheLeaseEndsDuringTheWork_AnUpdateIsLost(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		shop := &struct{ stock int }{100}

		require.NoError(t, alice.TryLock(ctx))
		aliceRead := shop.stock
		lab.note("alice reads: %d left", aliceRead)
		time.Sleep(2 * ttl) // alice is still working
		require.NoError(t, bob.TryLock(ctx), "bob was refused while alice was still working: the bug is gone")
		shop.stock--
		lab.note("bob sells one: %d left", shop.stock)
		require.NoError(t, bob.Unlock(ctx))
		shop.stock = aliceRead - 1
		lab.note("alice sells one: %d left", shop.stock)
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice is notified only now")

		require.Equal(t, 99, shop.stock, "both sales were counted: the bug is gone")
	})
}

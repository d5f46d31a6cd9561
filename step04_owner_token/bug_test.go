package redislock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// This test passes while step 04's bug exists. Step 05 removes the bug.

func TestBug_TheLeaseEndsBetweenGETAndDEL_DeletesTheNextOwnersLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		require.NoError(t, alice.TryLock(ctx))
		var bobErr error
		lab.beforeWrite("alice", func() {
			lab.endLease()
			bobErr = bob.TryLock(ctx)
		})
		require.NoError(t, alice.Unlock(ctx))
		require.NoError(t, bobErr)
		require.NoError(t, carol.TryLock(ctx), "alice's DEL did not delete bob's lock: the bug is gone")
	})
}

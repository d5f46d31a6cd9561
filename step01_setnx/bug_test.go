package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test passes while step 01's bug exists. Step 02 removes the bug.

func TestBug_TheHolderDies_NobodyGetsInAgain(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.crash("alice")
		time.Sleep(forever)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is dead, but bob got her lock: the bug is gone")
	})
}

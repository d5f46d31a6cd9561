package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What is still broken in this step. Step 03 fixes it.

func TestBug_DiesBetweenSETNXAndEXPIRE_LockedForEver(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.crashAfter("alice", 1)
		require.Error(t, alice.TryLock(ctx))
		time.Sleep(forever)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "bob got a lock whose ttl was never set: the bug is gone")
	})
}

func TestBug_RedisRefusesTheEXPIRE_LockedForEver(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.failFrom("alice", 2, "NOPERM this user has no permissions to run the 'pexpire' command")
		require.ErrorContains(t, alice.TryLock(ctx), "NOPERM")
		time.Sleep(forever)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "bob got a lock whose ttl was never set: the bug is gone")
	})
}

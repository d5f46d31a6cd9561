package redislock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Guarantee 6: the owner may lock again, and only its outermost Unlock releases the lock. The lock
// before draws a new token for each TryLock, so it refuses its own holder. The owner is a handle,
// not a goroutine. If its hold is lost, TryLock returns ErrNotHeld until the outermost Unlock.

func TestTheOwnerLocksFiveTimes_OnlyTheFifthUnlockFrees(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		for range 4 {
			require.NoError(t, alice.TryLock(ctx), "alice holds the lock and locks again, but her own lock refused her")
		}
		for unlocked := range 5 {
			requireRefused(t, bob,
				"alice has locked 5 times and unlocked %d times, but bob is inside with her", unlocked)
			require.NoError(t, alice.Unlock(ctx),
				"alice has locked 5 times and unlocked %d times, but she cannot unlock once more", unlocked)
		}
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
			"alice unlocked once too often, but her Unlock did not return ErrNotHeld")
		require.NoError(t, bob.TryLock(ctx), "alice has unlocked as many times as she locked, but bob was refused")
	})
}

// Also passes on step 05, because no two calls of TryLock have the same token there.
func TestTwoHandlesInOneGoroutine_AreTwoOwners(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		first, second := lab.lock("alice"), lab.lock("alice")
		require.NoError(t, first.TryLock(ctx))
		requireRefused(t, second, "alice's first handle holds the lock, but her second one got it as well")
		require.ErrorIs(t, second.Unlock(ctx), ErrNotHeld,
			"alice's first handle holds the lock, but her second one released it")
		require.NoError(t, first.Unlock(ctx))
	})
}

func TestTheReplyToTheInnerUnlockIsLost_ItCountsOnce(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.TryLock(ctx), "alice holds the lock and locks again, but her own lock refused her")
		lab.loseReply("alice") // if the depth is in Redis, this command may run twice
		require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
		requireRefused(t, bob, "one Unlock was sent twice and counted twice: bob is inside with alice")
		require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")
		require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
	})
}

func TestTheHoldIsGoneAndTheOwnerLocksAgain_NoNewHoldBegins(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.endLease()
		require.NoError(t, bob.TryLock(ctx), "alice's lease has expired, but bob was refused")
		require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
		require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld,
			"bob was inside after alice's lease had expired, but her inner TryLock acquired the lock anew in the "+
				"middle of her work")
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
			"alice has lost the lock, but her Unlock did not return ErrNotHeld")
		require.NoError(t, alice.TryLock(ctx),
			"alice has unlocked and the lock is free, but she cannot acquire it anew")
	})
}

package redislock

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"
)

// Guarantee 6: the owner may lock again, and only its outermost Unlock releases the lock.

func TestTheOwnerLocksFiveTimes_OnlyTheFifthUnlockFrees(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		for range 4 {
			require.NoError(t, alice.TryLock(ctx), "alice holds the lock and locks again, but her own lock refused her")
		}
		for depth := 5; depth > 0; depth-- {
			require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
				"alice has locked 5 times and unlocked %d times, but bob is inside with her", 5-depth)
			require.NoError(t, alice.Unlock(ctx),
				"alice has locked 5 times and unlocked %d times, but she cannot unlock once more", 5-depth)
		}
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
			"alice unlocked once too often, but her Unlock did not return ErrNotHeld")
		require.NoError(t, bob.TryLock(ctx), "alice has unlocked as many times as she locked, but bob was refused")
	})
}

// Also passes on step 05, because two handles have different tokens there too.
func TestTwoHandlesInOneGoroutine_AreTwoOwners(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		first, second := lab.lock("alice"), lab.lock("alice")
		require.NoError(t, first.TryLock(ctx))
		require.ErrorIs(t, second.TryLock(ctx), ErrNotAcquired,
			"alice's first handle holds the lock, but her second one got it as well")
		require.ErrorIs(t, second.Unlock(ctx), ErrNotHeld,
			"alice's first handle holds the lock, but her second one released it")
		require.NoError(t, first.Unlock(ctx))
	})
}

// Also passes on step 05, because that lock refuses its owner and so counts nothing.
func TestTheReplyToTheInnerUnlockIsLost_ItCountsOnce(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		if lockAgain(t, alice) {
			lab.loseReply("alice", func() {})
			require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
		}
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
			"one Unlock was sent twice and counted twice: bob is inside with alice")
		require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")
		require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
	})
}

func TestTheOwnerLocksAgainWhenItsHoldIsGone_NoNewHoldBegins(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.wait()
		lab.endLease()
		require.NoError(t, bob.TryLock(ctx), "alice's lease has expired, but bob was refused")
		require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
		for range 2 {
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld,
				"bob was inside after alice's lease had expired, but her inner TryLock acquired the lock anew in the "+
					"middle of her work")
			require.Empty(t, lab.keys(), "alice's inner TryLock returned ErrNotHeld, but it acquired the lock anew")
		}
		require.NoError(t, bob.TryLock(ctx))
		require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld,
			"bob is inside and alice has lost the lock, but her inner TryLock did not return ErrNotHeld")
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
			"alice has lost the lock, but her Unlock did not return ErrNotHeld")
		require.NoError(t, bob.Unlock(ctx), "alice had lost the lock, but she changed bob's")
		require.NoError(t, alice.TryLock(ctx),
			"alice has unlocked and the lock is free, but she cannot acquire it anew")
	})
}

func TestWhoLooksAtTheKey_SeesHowOftenTheHolderIsInside(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, operator := lab.lock("alice"), lab.client("operator")
		depth := func() []string {
			lab.wait() // step 08 returns at a majority
			values, err := operator.nodes[0].HVals(ctx, key).Result()
			require.NoError(t, err, "the key is not a hash of a token and its depth")
			return values
		}
		require.NoError(t, alice.TryLock(ctx))
		require.Equal(t, []string{"1"}, depth(), "alice is inside once, but the key does not have depth 1")
		require.NoError(t, alice.TryLock(ctx), "alice holds the lock and locks again, but her own lock refused her")
		require.Equal(t, []string{"2"}, depth(), "alice is inside twice, but the key does not have depth 2")
		require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
		require.Equal(t, []string{"1"}, depth(), "alice is inside once more, but the key does not have depth 1")
		require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")

		lab.loseReply("alice", func() {})
		require.NoError(t, alice.TryLock(ctx))
		require.Equal(t, []string{"1"}, depth(),
			"the reply to alice's TryLock was lost and it was resent, but the key counts it twice")
	})
}

// lockAgain nests once and reports whether the lock lets its owner in. A lock that does
// not, as before step 06, returns ErrNotAcquired: the first story is about that. From
// step 06 on, ErrNotAcquired never goes to the owner.
func lockAgain(t *T, alice *handle) bool {
	t.Helper()
	err := alice.TryLock(ctx)
	if errors.Is(err, ErrNotAcquired) {
		return false
	}
	require.NoError(t, err, "alice holds the lock and locks again, but she got an error")
	return true
}

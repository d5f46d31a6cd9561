package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 4: only the owner releases the lock. The lock before deletes the key without a look
// at its owner. And since the key now shows the owner, a client whose reply was lost recognises
// its own.

func TestALateHolder_CannotDeleteTheNextOwnersLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		limitHold(alice, time.Millisecond) // no effect before step 07; there, it is not renewed
		require.NoError(t, alice.TryLock(ctx))
		lab.note("alice works for longer than the ttl")
		time.Sleep(2 * ttl)
		require.NoError(t, bob.TryLock(ctx), "alice's lock has expired, but bob was refused")
		err := alice.Unlock(ctx)
		requireRefused(t, carol, "alice came late and deleted bob's lock: carol is inside with bob")
		require.ErrorIs(t, err, ErrNotHeld,
			"alice's lock had expired long ago, but her Unlock did not return ErrNotHeld")
		require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
	})
}

func TestRedisEndsTheLeaseEarly_TheNextOwnersLockStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		require.NoError(t, alice.TryLock(ctx))
		lab.endLease() // early: by her own clock, alice still holds the lock
		require.NoError(t, bob.TryLock(ctx), "alice's lease has expired, but bob was refused")
		err := alice.Unlock(ctx)
		requireRefused(t, carol,
			"by alice's clock the lock was hers, but it was bob's and she deleted it: carol is inside with bob")
		require.ErrorIs(t, err, ErrNotHeld, "alice's lease had expired, but her Unlock did not return ErrNotHeld")
		require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
	})
}

func TestWhoWasRefusedUnlocks_TheHoldersLockStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		for range 2 { // the second time, bob's handle has held the lock before
			require.NoError(t, alice.TryLock(ctx))
			require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is inside, but bob did not get ErrNotAcquired")
			err := bob.Unlock(ctx) // deferred before he checked the error
			requireRefused(t, carol, "bob was refused, but his Unlock deleted alice's lock: carol is inside with her")
			require.ErrorIs(t, err, ErrNotHeld, "bob was refused, but his Unlock did not return ErrNotHeld")
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
			require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
			require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
		}
	})
}

// Also passes on step 03, because DEL returns 0 if there was nothing to delete.
func TestTheLeaseEndsJustBeforeTheDelete_UnlockSaysNotHeld(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx))
		lab.beforeWrite("alice", lab.endLease)
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
			"alice's lease expired before Redis deleted her key, but her Unlock did not return ErrNotHeld")
	})
}

// go-redis sends a command again whose reply was lost, and tells no one: here, a second SET
// that finds alice's own key.
func TestTheReplyToTheAcquireIsLost_NobodyIsLockedOut(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.loseReply("alice")
		// Two answers are right: she holds the lock, or an error and nothing is left.
		if alice.TryLock(ctx) != nil {
			require.NoError(t, bob.TryLock(ctx),
				"the reply to alice's acquisition was lost and she got an error, but the lock is hers: bob is locked "+
					"out until her ttl ends")
			return
		}
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is inside, but bob did not get ErrNotAcquired")
		require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
		require.NoError(t, bob.TryLock(ctx), "alice has unlocked once, but bob was refused")
	})
}

// requireRefused fails unless a client is refused because another one is inside; inside says
// what it means if the client gets in.
func requireRefused(t *T, l *handle, inside string, args ...any) {
	t.Helper()
	err := l.TryLock(ctx)
	if err != nil {
		inside, args = "another client is inside, but %s's error does not match ErrNotAcquired", []any{l.who}
	}
	require.ErrorIsf(t, err, ErrNotAcquired, inside, args...)
}

package redislock

import (
	"encoding/base64"
	"encoding/hex"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 4: only the owner releases the lock, and the owner knows that it is the owner.

func TestALateHolder_CannotDeleteTheNextOwnersLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		limitHold(alice, time.Millisecond)
		require.NoError(t, alice.TryLock(ctx))
		lab.note("alice works for longer than the ttl")
		time.Sleep(2 * ttl)
		require.NoError(t, bob.TryLock(ctx), "alice's lock has expired, and bob was refused")
		err := alice.Unlock(ctx)
		require.ErrorIs(t, carol.TryLock(ctx), ErrNotAcquired, "alice came late and deleted bob's lock: carol is inside with bob")
		require.ErrorIs(t, err, ErrNotHeld, "alice's lock had expired long ago, and her Unlock does not say so")
		require.NoError(t, bob.Unlock(ctx), "bob holds the lock and cannot release it")
	})
}

func TestTheRefusedOneUnlocks_TheHoldersLockStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		for range 2 { // the second time, bob's handle has had a hold of its own
			require.NoError(t, alice.TryLock(ctx))
			require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is inside, and bob was not refused")
			err := bob.Unlock(ctx) // deferred before he looked at the error
			require.ErrorIs(t, carol.TryLock(ctx), ErrNotAcquired,
				"bob was refused, unlocked anyway, and deleted alice's lock: carol is inside with her")
			require.ErrorIs(t, err, ErrNotHeld, "bob never got the lock, and his Unlock does not say so")
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock and cannot release it")
			require.NoError(t, bob.TryLock(ctx), "alice has left, and bob was refused")
			require.NoError(t, bob.Unlock(ctx), "bob holds the lock and cannot release it")
		}
	})
}

func TestTheReplyToTheAcquireIsLost_TheOwnerRecognisesItsLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.loseReply("alice", func() {})
		require.NoError(t, alice.TryLock(ctx), "the lock is alice's, and TryLock says that somebody else has it: nobody will release it")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is inside, and bob was not refused")
		require.NoError(t, alice.Unlock(ctx), "alice holds the lock and cannot release it")
		require.NoError(t, bob.TryLock(ctx), "alice has unlocked once, and bob was refused")
	})
}

func TestEveryAcquisition_HasATokenOfItsOwn(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		seen := map[string]bool{}
		for range 50 {
			require.NoError(t, alice.TryLock(ctx))
			token := lab.owner(0)
			require.False(t, seen[token], "alice has the lock for the second time, and its value is %q again: nothing distinguishes the second hold from the first", token)
			seen[token] = true
			require.NoError(t, alice.Unlock(ctx))
		}
		for token := range seen {
			require.Len(t, tokenBytes(token), 20, "the token %q is not 20 bytes in text form: others can have the same", token)
		}
	})
}

func tokenBytes(token string) []byte {
	for _, decode := range []func(string) ([]byte, error){
		hex.DecodeString, base64.StdEncoding.DecodeString, base64.RawStdEncoding.DecodeString, base64.RawURLEncoding.DecodeString,
	} {
		if b, err := decode(token); err == nil {
			return b
		}
	}
	return nil
}

// Control: these locks keep nothing in the handle.
func TestAnotherGoroutineLocksWhileUnlockIsUnderWay_ItsHoldCanBeReleased(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx))
		second := make(chan error, 1)
		lab.announce("alice", &twist{match: isWrite, after: func() {
			// Redis has released, and Unlock has not heard of it yet.
			go func() { second <- alice.TryLock(ctx) }()
			time.Sleep(10 * time.Millisecond)
		}})
		require.NoError(t, alice.Unlock(ctx), "alice holds the lock and cannot release it")
		require.NoError(t, <-second, "alice has released the lock, and another goroutine of hers was refused")
		require.NoError(t, alice.Unlock(ctx), "another goroutine had locked already when Unlock ended, and its hold was forgotten: nobody can release it")
		require.Empty(t, lab.keys(), "every goroutine that locked has unlocked, and the lock is not free")
	})
}

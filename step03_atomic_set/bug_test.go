package redislock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
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

// What follows shows how SET NX PX was written before, what SETEX and XX do instead, and what
// an Unlock deferred too early does.

// olderForm is how SET NX PX was written before Redis 2.6.12: two commands in a script,
// which runs as one.
var olderForm = redis.NewScript(`-- older-form value ttl
if redis.call('SETNX', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`)

func TestOlderForm_SETNXAndEXPIREInOneScript(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.client("alice").nodes[0], lab.client("bob").nodes[0]
		acquire := func(rdb redis.UniversalClient) (bool, error) {
			return olderForm.Eval(ctx, rdb, []string{key}, "locked", ttl.Milliseconds()).Bool()
		}
		lab.crashAfter("alice", 1)
		_, err := acquire(alice)
		require.Error(t, err, "alice was to die right after the script")

		acquired, err := acquire(bob)
		require.NoError(t, err)
		require.False(t, acquired, "alice's script has run, but bob was not refused")
		time.Sleep(slack(ttl))
		acquired, err = acquire(bob)
		require.NoError(t, err)
		require.True(t, acquired, "alice died right after the script, the ttl has expired, but bob is locked out")
	})
}

func TestSETWithXX_IsNotSETEX(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.client("alice").nodes[0], lab.client("bob").nodes[0]
		err := alice.Do(ctx, "SET", key, "alice", "XX", "EX", 10).Err()
		require.ErrorIs(t, err, redis.Nil, "the lock is free and alice asks with XX, but she got it")
		require.NoError(t, alice.Do(ctx, "SETEX", key, 10, "alice").Err(), "the lock is free, but SETEX failed")
		require.NoError(t, bob.Do(ctx, "SETEX", key, 10, "bob").Err(), "SETEX checked whether the lock is taken")
		require.Equal(t, "bob", lab.owner(0), "bob's SETEX left alice's lock alone")
	})
}

// runLocked runs work under the lock, unless another client holds it.
func runLocked(lock *handle, work func()) error {
	defer lock.Unlock(ctx) // whatever happens
	if err := lock.TryLock(ctx); err != nil {
		return err
	}
	work()
	return nil
}

func TestUnlockIsDeferredBeforeTheAnswer_TheRefusedOneDeletesTheHoldersLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		require.NoError(t, alice.TryLock(ctx))
		require.ErrorIs(t, runLocked(bob, func() {}), ErrNotAcquired)
		require.NoError(t, carol.TryLock(ctx), "bob was refused, but alice's lock is still there: the bug is gone")
	})
}

package redislock

import (
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// These tests pass while step 02's bug exists. Step 03 removes the bug.

func TestBug_DiesBetweenSETNXAndEXPIRE_NobodyGetsInAgain(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.crashAfter("alice", 1)
		require.Error(t, alice.TryLock(ctx))
		time.Sleep(forever)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "bob got a lock whose ttl was never set: the bug is gone")
	})
}

func TestBug_TheNetworkBreaksBetweenSETNXAndEXPIRE_NobodyGetsInAgain(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		impatient := func(opt *redis.Options) { opt.ReadTimeout = ttl / 10 }
		alice, bob := lab.lock("alice", impatient), lab.lock("bob")
		breaks := sync.OnceFunc(func() { lab.fault("from now on, nothing that alice sends arrives") })
		afterSETNX := func(_ string, nth int) bool { return nth > 1 }
		lab.inject("alice", &hook{match: afterSETNX, again: true, before: func() {
			breaks()
			c := lab.client("alice")
			c.mu.Lock()
			defer c.mu.Unlock()
			for _, w := range c.wires {
				w.silent.Store(true)
			}
		}})
		require.Error(t, alice.TryLock(ctx))
		require.Error(t, alice.Unlock(ctx), "nothing that alice sends arrives, but her DEL did")
		time.Sleep(forever)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "bob got a lock whose ttl was never set: the bug is gone")
	})
}

// As with appendfsync always: the server still has the key when it comes back.
func TestBug_RedisDiesBetweenSETNXAndEXPIRE_NobodyGetsInAgain(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		var start func()
		lab.afterNth("alice", 1, func() { start = lab.stop(0) })
		require.Error(t, alice.TryLock(ctx))
		start()
		time.Sleep(forever)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "bob got a lock whose ttl was never set: the bug is gone")
	})
}

func TestBug_RedisRefusesTheEXPIRE_NobodyGetsInAgain(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.failFrom("alice", 2, "NOPERM this user has no permissions to run the 'pexpire' command")
		require.ErrorContains(t, alice.TryLock(ctx), "NOPERM")
		time.Sleep(forever)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "bob got a lock whose ttl was never set: the bug is gone")
	})
}

// What follows shows a popular variant that is wrong: SETNX and PEXPIRE in a transaction.

// inTransaction sends both commands between MULTI and EXEC: all or none. But a
// transaction has no if: PEXPIRE runs whatever SETNX returned.
func inTransaction(rdb redis.UniversalClient) (acquired bool, err error) {
	var setnx *redis.Cmd
	_, err = rdb.TxPipelined(ctx, func(tx redis.Pipeliner) error {
		setnx = tx.Do(ctx, "SETNX", key, "locked")
		tx.PExpire(ctx, key, ttl)
		return nil
	})
	if err != nil {
		return false, err
	}
	return setnx.Bool()
}

func TestTransaction_ARefusedClient_ExtendsTheDeadHoldersLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.client("alice").nodes[0], lab.client("bob").nodes[0]
		acquired, err := inTransaction(alice)
		require.NoError(t, err)
		require.True(t, acquired, "the lock is free, but alice was refused")
		lab.crash("alice")
		for range 6 {
			time.Sleep(ttl / 2)
			acquired, err = inTransaction(bob)
			require.NoError(t, err)
			require.False(t, acquired,
				"bob has tried every half ttl, but he got in: his PEXPIRE no longer extends the key's lifetime")
		}
		lab.note("bob stops trying")
		time.Sleep(slack(ttl))
		acquired, err = inTransaction(bob)
		require.NoError(t, err)
		require.True(t, acquired, "bob has not tried for a ttl, but the lock is still there")
	})
}

package redislock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// This file shows a popular variant that is wrong: SETNX and PEXPIRE in a transaction.

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

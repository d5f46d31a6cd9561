package redislock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// byID is a lock whose owner is known by an id.
type byID struct {
	rdb redis.UniversalClient
	id  string
}

func (l byID) TryLock(ctx context.Context) (bool, error) {
	return l.rdb.SetNX(ctx, key, 1, ttl).Result()
}

func (l byID) Unlock(ctx context.Context) (bool, error) {
	return releaseScript.Run(ctx, l.rdb, []string{key}, l.id).Bool()
}

func TestTheValueIsOneAndTheIDIsCompared_NobodyCanUnlock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := byID{lab.client("alice").nodes[0], newToken()}, byID{lab.client("bob").nodes[0], newToken()}
		acquired, err := alice.TryLock(ctx)
		require.NoError(t, err)
		require.True(t, acquired)
		released, err := alice.Unlock(ctx)
		require.NoError(t, err)
		require.False(t, released, "alice released her lock: the bug is gone")

		acquired, err = bob.TryLock(ctx)
		require.NoError(t, err)
		require.False(t, acquired, "alice has unlocked, and bob got in: the bug is gone")
		time.Sleep(slack(ttl))
		acquired, err = bob.TryLock(ctx)
		require.NoError(t, err)
		require.True(t, acquired, "the ttl is over, and bob was refused")
	})
}

func TestRenewedWithXX_OverwritesTheNextOwnersLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.endLease()
		require.NoError(t, bob.TryLock(ctx))
		bobs := lab.owner(0)
		renewed, err := lab.client("alice").nodes[0].SetXX(ctx, key, alice.token.Load(), ttl).Result()
		require.NoError(t, err)
		require.True(t, renewed, "SET with XX has asked whose the lock is: the bug is gone")
		require.NotEqual(t, bobs, lab.owner(0), "alice has renewed, and bob's lock is untouched: the bug is gone")
		require.ErrorIs(t, bob.Unlock(ctx), ErrNotHeld)
	})
}

// couponLock returns the lock of one coupon.
func couponLock(opt *redis.Options, coupon int) *Lock {
	rdb := redis.NewClient(opt) // PoolSize: 100
	return New(rdb, fmt.Sprint(key, "-", coupon), ttl)
}

func TestAClientForEachLock_EachDialsAnew(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.client("alice")
		rdb := alice.nodes[0].(*redis.Client)
		dialled := func(lock func(coupon int) *Lock) int {
			before := len(alice.wires)
			for coupon := range 10 {
				l := lock(coupon)
				require.NoError(t, l.TryLock(ctx))
				require.NoError(t, l.Unlock(ctx))
			}
			return len(alice.wires) - before
		}
		require.Equal(t, 1, dialled(func(coupon int) *Lock {
			return New(rdb, fmt.Sprint(key, "-", coupon), ttl)
		}), "ten locks, one after the other, share a client")
		require.Equal(t, 10, dialled(func(coupon int) *Lock {
			l := couponLock(rdb.Options(), coupon)
			t.Cleanup(func() { l.rdb.Close() })
			return l
		}), "ten locks with a client each did not dial ten times: the bug is gone")
	})
}

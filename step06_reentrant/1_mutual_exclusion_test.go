package redislock

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// Guarantee 1: of clients that ask at the same moment, one gets the lock; Unlock lets the
// next one in, and Lock waits for it. The lock before (docs/step00) asks with EXISTS, and then
// sends SET.

// Also passes on step 00, because EXISTS and SET are enough as long as no other client
// comes in between.
func TestTheHolderLeaves_TheNextOneGetsIn(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx), "the lock is free, but alice was refused")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is inside, but bob did not get ErrNotAcquired")
		require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
		require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
		require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
		require.Empty(t, lab.keys(), "all clients have left, but something was left behind in Redis")
		require.NoError(t, alice.TryLock(ctx), "the lock is free, but alice was refused")
	})
}

// Also passes on step 00, because its Lock waits in the same way.
func TestAWaiter_EntersWhenTheHolderLeaves(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		start := time.Now()
		time.AfterFunc(ttl/2, func() { alice.Unlock(ctx) })
		// In virtual time, slack(d) is d; on real servers, it is more.
		patience, cancel := context.WithTimeout(ctx, slack(ttl/2+ttl/10))
		defer cancel()
		require.NoError(t, bob.Lock(patience), "alice left after half a ttl, but bob did not get in")
		require.GreaterOrEqual(t, time.Since(start), ttl/2, "bob entered while alice was inside")
	})
}

func TestTwoClientsComeAtOnce_OneGetsIn(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		var bobErr error
		// Just before alice's first write reaches Redis, all of bob's TryLock runs.
		turn := lab.beforeWrite("alice", func() { bobErr = bob.TryLock(ctx) })
		aliceErr := alice.TryLock(ctx)
		require.True(t, turn.fired(), "the lock is free, but alice's TryLock returned without trying to take it")
		require.NoError(t, bobErr, "the lock was free all through bob's TryLock, but he was refused")
		require.Error(t, aliceErr,
			"bob took the lock in the middle of alice's TryLock, but she got it as well: both are inside")
		require.ErrorIs(t, aliceErr, ErrNotAcquired, "bob is inside, but alice's error does not say so")
	})
}

// Three servers sell 100 coupons to 120 customers, twelve at a time.
func TestACouponShop_SellsEachCouponOnce(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		sold, left := sellCoupons(t, lab, true)
		require.Equal(t, 100, sold,
			"there were 100 coupons, but %d were sold and %d are left: sellers were inside together, and one "+
				"overwrote the other's sale", sold, left)
		require.Zero(t, left, "all 100 coupons were sold, but %d are left", left)
	})
}

// sellCoupons reads the stock, thinks, and writes it back. step 01 also sells without locks.
func sellCoupons(t *T, lab *lab, locked bool) (sold, left int) {
	lab.trace.untold = true
	var sales atomic.Int32
	var shop errgroup.Group
	shop.SetLimit(12)
	stock := key + "-stock"
	patience, cancel := context.WithTimeout(ctx, slack(6*ttl)) // it takes a few seconds
	defer cancel()
	require.NoError(t, lab.client("shop").nodes[0].Set(ctx, stock, 100, 0).Err())
	for customer := range 120 {
		name := fmt.Sprintf("server-%d", 1+customer%3)
		lock, server := lab.lock(name), lab.client(name).nodes[0]
		shop.Go(func() error {
			if locked {
				if err := lock.Lock(patience); err != nil {
					return err
				}
				defer lock.Unlock(ctx)
			}
			n, err := server.Get(ctx, stock).Int()
			if err != nil || n == 0 {
				return err
			}
			time.Sleep(5 * time.Millisecond) // think
			sales.Add(1)
			return server.Set(ctx, stock, n-1, 0).Err()
		})
	}
	require.NoError(t, shop.Wait(), "a seller could not enter within %v, or could not reach the stock", 6*ttl)
	left, err := lab.client("shop").nodes[0].Get(ctx, stock).Int()
	require.NoError(t, err)
	return int(sales.Load()), left
}

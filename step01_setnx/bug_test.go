package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This test passes while step 01's bug exists. Step 02 removes the bug.

func TestBug_TheHolderDies_NobodyGetsInAgain(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.crash("alice")
		time.Sleep(forever)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is dead, but bob got her lock: the bug is gone")
	})
}

// What follows shows why a lock is needed: without one, the shop sells coupons that it does
// not have.

func TestCouponShop_WithoutLockLosesUpdates(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		sold, left := sellCoupons(t, lab, false)
		require.Greater(t, sold+left, 100,
			"%d coupons were sold and %d are left: no sale was lost, so the shop cannot show that the lock "+
				"works", sold, left)
	})
}

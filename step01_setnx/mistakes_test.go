package redislock

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// This file shows why a lock is needed: without one, the shop sells coupons that it does
// not have.

func TestCouponShop_WithoutLockLosesUpdates(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		sold, left := sellCoupons(t, lab, false)
		require.Greater(t, sold+left, 100,
			"%d coupons were sold and %d are left: no sale was lost, so the shop cannot show that the lock "+
				"works", sold, left)
	})
}

package redislock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// More of guarantee 2: a ttl that is odd, too short, or rejected by Redis.

func TestTheTTLIsNoWholeNumberOfSeconds_ItLastsAsLongAsItSays(t *testing.T) {
	for _, ttl := range []time.Duration{500 * time.Millisecond, 1900 * time.Millisecond} {
		t.Run(ttl.String(), func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lockOn("alice", lab.client("alice").nodes, key, ttl), lab.lock("bob")
				limitHold(alice, time.Millisecond)
				lab.note("alice takes the lock for %v", ttl)
				require.NoError(t, alice.TryLock(ctx),
					"the lock is free, but alice, who wants it for %v, was refused", ttl)
				requireFreeAfter(t, ttl, bob, "alice forgot to unlock")
			})
		})
	}
}

func TestTryLock_InvalidTTL_SendsNothing(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		for _, bad := range []time.Duration{0, -1, -time.Second, time.Microsecond, time.Millisecond - 1} {
			lab.note("alice wants a lock with a ttl of %v", bad)
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, bad)
			waiting, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			for _, call := range []func(context.Context) error{alice.TryLock, alice.Lock} {
				err := call(waiting)
				require.Error(t, err, "a lock with a ttl of %v expires at once or never, but alice got no error", bad)
				require.NotErrorIs(t, err, ErrNotAcquired,
					"a ttl of %v is a mistake, but the error says that the lock is taken", bad)
			}
		}
		require.Zero(t, lab.sent(), "an invalid ttl was sent to Redis")
	})
}

// Also passes on step 01, because that lock has no ttl to reject.
func TestATTLOfAMillisecond_IsNotTooShortForRedis(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lockOn("alice", lab.client("alice").nodes, key, time.Millisecond)
		if err := alice.TryLock(ctx); err != nil { // where the clock drift allowance uses it up
			require.NotRegexp(t, "(at least|minimum of) 1ms", err.Error(),
				"alice's ttl is a millisecond, but the error says that it must be at least that")
		}
	})
}

func TestRedisRefusesTheTTL_TheHolderIsTold(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.mayMiss = true // one command may be all
		lab.failFrom("alice", 2, "NOPERM this user has no permissions to run the 'pexpire' command")
		if alice.TryLock(ctx) == nil {
			lab.crash("alice")
			time.Sleep(ttl + slack(ttl/10))
			require.NoError(t, bob.TryLock(ctx),
				"Redis rejected the second command of alice's TryLock, but it returned nil; she died, her ttl of %v "+
					"has passed, but bob is still locked out", ttl)
		}
	})
}

func TestTwoNames_EachHasItsOwnTTL(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lockOn("bob", lab.client("bob").nodes, key+"-tea", ttl)
		carol := lab.lock("carol")
		require.NoError(t, alice.TryLock(ctx))
		lab.crash("alice")
		time.Sleep(ttl / 2)
		require.NoError(t, bob.TryLock(ctx), "alice held one lock and bob wants another, but he was refused")
		time.Sleep(ttl/2 + slack(10*time.Millisecond))
		require.NoError(t, carol.TryLock(ctx),
			"alice died inside and her ttl of %v has passed, but bob took another lock in between, and carol "+
				"is still locked out", ttl)
	})
}

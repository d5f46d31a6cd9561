package redislock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 2: a holder that dies does not block others beyond the ttl.

func TestTheHolderDies_BobEntersWhenTheTTLEnds(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.crash("alice")
		requireFreeAfter(t, ttl, bob, "alice died inside")
	})
}

func TestTheHolderForgetsToUnlock_BobEntersWhenTheTTLEnds(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		limitHold(alice, time.Millisecond)
		require.NoError(t, alice.TryLock(ctx))
		lab.note("alice's request fails, and returns without Unlock")
		requireFreeAfter(t, ttl, bob, "alice forgot to unlock")
	})
}

func TestTheTTLIsNoWholeNumberOfSeconds_ItLastsAsLongAsItSays(t *testing.T) {
	for _, ttl := range []time.Duration{500 * time.Millisecond, 1900 * time.Millisecond} {
		t.Run(ttl.String(), func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lockOn("alice", lab.client("alice").nodes, key, ttl), lab.lock("bob")
				limitHold(alice, time.Millisecond)
				lab.note("alice takes the lock for %v", ttl)
				require.NoError(t, alice.TryLock(ctx), "the lock is free, but alice, who wants it for %v, was refused", ttl)
				requireFreeAfter(t, ttl, bob, "alice forgot to unlock")
			})
		})
	}
}

func requireFreeAfter(t *T, ttl time.Duration, bob *handle, story string) {
	t.Helper()
	time.Sleep(ttl - slack(10*time.Millisecond))
	require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "%s, her ttl of %v has not expired yet, but bob was not refused", story, ttl)
	time.Sleep(2 * slack(10*time.Millisecond))
	require.NoError(t, bob.TryLock(ctx), "%s, her ttl of %v has expired, but bob is still locked out", story, ttl)
}

func TestTheTTLIsOverAndTwoComeAtOnce_OneIsInside(t *testing.T) {
	for nth, came := 1, true; came && nth < 20; nth++ {
		t.Run(fmt.Sprintf("before command %d", nth), func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob, carol, dave := lab.lock("alice"), lab.lock("bob"), lab.lock("carol"), lab.lock("dave")
				require.NoError(t, alice.TryLock(ctx))
				lab.crash("alice")
				time.Sleep(ttl + slack(ttl/10))
				var carolErr error
				comes := lab.beforeNth("bob", nth, func() { carolErr = carol.TryLock(ctx) })
				bobErr := bob.TryLock(ctx)
				if came = comes.fired; !came {
					return // bob's TryLock sends fewer than nth commands: all cases are done
				}
				require.False(t, bobErr != nil && carolErr != nil, "alice died inside, her ttl of %v has expired, bob and carol come, but both are refused", ttl)
				require.False(t, bobErr == nil && carolErr == nil, "alice died inside, her ttl of %v has expired, bob and carol come at the same moment, and both are inside", ttl)
				require.ErrorIs(t, dave.TryLock(ctx), ErrNotAcquired, "alice's ttl has expired, bob or carol is inside, but dave was not refused")
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
				require.NotErrorIs(t, err, ErrNotAcquired, "a ttl of %v is a mistake, but the error says that the lock is taken", bad)
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
			require.NotRegexp(t, "(at least|minimum of) 1ms", err.Error(), "alice's ttl is a millisecond, but the error says that it must be at least that")
		}
	})
}

func TestRedisRefusesTheTTL_TheHolderIsTold(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		lab.failFrom("alice", 2, "NOPERM this user has no permissions to run the 'pexpire' command")
		if alice.TryLock(ctx) == nil {
			require.Positive(t, lab.server(0).TTL(key), "alice's TryLock returned nil, but the key has no ttl: if she dies now, no one can ever get in again")
		}
	})
}

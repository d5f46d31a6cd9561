package redislock

import (
	"context"
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
		requireFreeAfterTTL(t, bob, "alice died inside")
	})
}

func TestTheHolderForgetsToUnlock_BobEntersWhenTheTTLEnds(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		limitHold(alice, time.Millisecond)
		require.NoError(t, alice.TryLock(ctx))
		lab.note("alice's request fails, and returns without Unlock")
		requireFreeAfterTTL(t, bob, "alice forgot to unlock")
	})
}

func requireFreeAfterTTL(t *T, bob *handle, story string) {
	t.Helper()
	time.Sleep(ttl - slack(10*time.Millisecond))
	require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "%s, her ttl of %v is not over yet, and bob was not refused", story, ttl)
	time.Sleep(2 * slack(10*time.Millisecond))
	require.NoError(t, bob.TryLock(ctx), "%s, her ttl of %v is over, and bob is still locked out", story, ttl)
}

func TestATTLThatIsNoTTL_IsRefusedBeforeAnyCommand(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		for _, bad := range []time.Duration{0, -1, -time.Second, time.Microsecond, time.Millisecond - 1} {
			lab.note("alice wants a lock with a ttl of %v", bad)
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, bad)
			waiting, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			for _, call := range []func(context.Context) error{alice.TryLock, alice.Lock} {
				err := call(waiting)
				require.ErrorContains(t, err, bad.String(), "a lock with a ttl of %v ends at once or never, and alice is not told", bad)
				require.NotErrorIs(t, err, ErrNotAcquired, "a ttl of %v is a mistake, and the error says that somebody has the lock", bad)
			}
		}
		require.Zero(t, lab.sent(), "a ttl that is no ttl was sent to Redis")
	})
}

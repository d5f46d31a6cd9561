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
		requireFreeAfterTTL(t, bob, "alice forgot to unlock")
	})
}

func requireFreeAfterTTL(t *T, bob *handle, story string) {
	t.Helper()
	time.Sleep(ttl / 2)
	require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "%s half a ttl ago, and bob was not refused", story)
	time.Sleep(ttl/2 - slack(10*time.Millisecond))
	require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "%s, the ttl is not over yet, and bob was not refused", story)
	time.Sleep(2 * slack(10*time.Millisecond))
	require.NoError(t, bob.TryLock(ctx), "%s, the ttl is over, and bob is locked out: for ever", story)
}

func TestATTLThatIsNoTTL_IsRefusedBeforeAnyCommand(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		for _, bad := range []time.Duration{0, -1, -time.Second, time.Microsecond, time.Millisecond - 1} {
			lock := newLock(lab.client("alice").nodes, key, bad)
			waiting, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			for _, err := range []error{lock.TryLock(ctx), lock.Lock(waiting)} {
				require.ErrorContains(t, err, bad.String(), "a ttl of %v ends at once or never, and the error does not name it", bad)
				require.NotErrorIs(t, err, ErrNotAcquired, "a ttl of %v is a mistake, and is reported as a holder", bad)
			}
		}
		require.Zero(t, lab.sent(), "a ttl that is no ttl was sent to Redis")
	})
}

package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 2: a holder that dies does not block others beyond the ttl. The lock before sets no
// expiry.

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
		limitHold(alice, time.Millisecond) // no effect before step 07; there, it is not renewed
		require.NoError(t, alice.TryLock(ctx))
		lab.note("alice's request fails, and returns without Unlock")
		requireFreeAfter(t, ttl, bob, "alice forgot to unlock")
	})
}

// A client that itself deletes a lock whose ttl has passed may delete a newcomer's. Carol comes
// before each of bob's commands in turn.
func TestTheTTLIsOverAndTwoComeAtOnce_OneIsInside(t *testing.T) {
	n := eachNth(t, "before command %d", func(t *T, lab *lab, nth int) bool {
		alice, bob, carol, dave := lab.lock("alice"), lab.lock("bob"), lab.lock("carol"), lab.lock("dave")
		require.NoError(t, alice.TryLock(ctx))
		lab.crash("alice")
		time.Sleep(ttl + slack(ttl/10))
		var carolErr error
		comes := lab.beforeNth("bob", nth, func() { carolErr = carol.TryLock(ctx) })
		bobErr := bob.TryLock(ctx)
		if !comes.fired() {
			return false
		}
		inside := 0
		for _, err := range []error{bobErr, carolErr} {
			if err == nil {
				inside++
			}
		}
		require.NotZero(t, inside,
			"alice died inside, her ttl of %v has passed, bob and carol come, but both are refused", ttl)
		require.Equal(t, 1, inside,
			"alice died inside, her ttl of %v has passed, bob and carol come at the same moment, and both are "+
				"inside", ttl)
		time.Sleep(slack(ttl / 2)) // the one inside has a whole ttl
		require.ErrorIs(t, dave.TryLock(ctx), ErrNotAcquired,
			"alice's ttl has passed, bob or carol is inside, but dave was not refused")
		return true
	})
	require.Positive(t, n, "bob's TryLock sent no command, so carol could not come in the middle of it")
}

func requireFreeAfter(t *T, ttl time.Duration, bob *handle, story string) {
	t.Helper()
	time.Sleep(ttl - slack(10*time.Millisecond))
	require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
		"%s, her ttl of %v has not passed yet, but bob was not refused", story, ttl)
	time.Sleep(2 * slack(10*time.Millisecond))
	require.NoError(t, bob.TryLock(ctx), "%s, her ttl of %v has passed, but bob is still locked out", story, ttl)
}

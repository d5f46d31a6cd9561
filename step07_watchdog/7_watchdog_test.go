package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 7: work that takes longer than the ttl keeps the lock; a dead holder's lock still expires.

func TestWorkOfAHundredTTLs_BobIsRefusedAllAlong(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		for worked := 5; worked <= 100; worked += 5 {
			time.Sleep(5 * ttl)
			require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice has worked for %d ttl, and bob is inside with her", worked)
		}
		require.NoError(t, alice.Unlock(ctx), "alice worked for 100 ttl and lost her lock on the way")
		require.NoError(t, bob.TryLock(ctx), "alice has left, and bob was refused")
	})
}

func TestTheInnerUnlock_LeavesTheWatchdogAtWork(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.Unlock(ctx))
		time.Sleep(3 * ttl)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice left the inner lock, and nobody renews the outer one: bob is inside with her")
		require.NoError(t, alice.Unlock(ctx), "alice is inside once and cannot leave")
		lab.wait()
		sent := lab.sent()
		time.Sleep(3 * ttl)
		require.Equal(t, sent, lab.sent(), "alice has left altogether, and a watchdog goes on")
	})
}

// Control: the control. If it fails, the story above cannot fail: time stands still, or keys do not expire.
func TestRenewalsDoNotReachRedis_TheSameWorkLosesTheLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.failFrom("alice", 1, "the network swallows it")
		time.Sleep(slack(ttl))
		require.NoError(t, bob.TryLock(ctx), "no renewal has reached Redis, and alice's lock has not expired")
	})
}

func TestTheHolderDiesLate_ItsLockStillExpires(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		time.Sleep(5 * ttl)
		lab.crash("alice")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice died this moment, after 5 ttl of work, and her lock had expired long ago")
		time.Sleep(slack(ttl))
		require.NoError(t, bob.TryLock(ctx), "alice died a ttl ago, and her lock is renewed still")
	})
}

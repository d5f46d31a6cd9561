package redislock

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Guarantee 5: nothing fits between the check and the delete. The lock before sends GET, and then
// DEL: the lease can end in between, and go-redis sends a DEL again whose reply was lost.
//
// A release that cannot hurt the next owner may be sent at any time: by Unlock, even if its
// context has ended; after a TryLock that got no reply; and again, after a lost reply. If the
// lock itself sends it again, it knows that an earlier attempt may have run, and that finding
// nothing then is not a loss.

func TestTheLeaseEndsDuringUnlock_TheNextOwnersLockStays(t *testing.T) {
	n := eachNth(t, "before command %d", func(t *T, lab *lab, nth int) bool {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		require.NoError(t, alice.TryLock(ctx))
		var bobErr error
		end := lab.beforeNth("alice", nth, func() {
			lab.endLease()
			bobErr = bob.TryLock(ctx)
		})
		alice.Unlock(ctx)
		if !end.fired() {
			return false
		}
		require.NoError(t, bobErr, "alice's lease has expired, but bob was refused")
		requireRefused(t, carol,
			"alice's lease expired during her Unlock, bob entered, but she deleted his lock: carol is inside with bob")
		return true
	})
	require.Positive(t, n, "alice's Unlock sent no command, so her lease could not expire during it")
}

func TestTheReleaseIsSentAgain_TheNextOwnersLockStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		require.NoError(t, alice.TryLock(ctx))
		var bobErr error
		// When the reply to her next write is lost, bob enters; then the write comes again.
		lab.loseReply("alice", func() { bobErr = bob.TryLock(ctx) })
		err := alice.Unlock(ctx)
		require.NoError(t, bobErr, "alice has left, but bob was refused")
		requireRefused(t, carol,
			"the reply to alice's Unlock was lost and bob entered, but go-redis resent her DEL, which deleted his "+
				"lock: carol is inside with bob")
		require.NoError(t, err, "alice released her lock in time, but her Unlock returned an error")
	})
}

func TestTheRequestIsCancelled_UnlockStillReleases(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		request, cancel := context.WithCancel(ctx)
		require.NoError(t, alice.TryLock(request))
		lab.note("alice's request is cancelled")
		cancel()
		err := alice.Unlock(request)
		require.NoError(t, bob.TryLock(ctx),
			"alice's request was cancelled and her Unlock released nothing: bob is locked out, but no one is inside")
		require.NoError(t, err, "alice's lock was released, but her Unlock returned an error")
	})
}

func TestTheReplyToTheAcquireNeverComes_NothingStaysBehind(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
		alice, bob := lab.lock("alice", noResend), lab.lock("bob")
		lab.loseReply("alice")
		require.Error(t, alice.TryLock(ctx), "alice got no reply, but TryLock returned nil")
		time.Sleep(slack(ttl / 10)) // what she undoes may take a while
		require.NoError(t, bob.TryLock(ctx),
			"the reply to alice's TryLock was lost and she got an error, but what she left in Redis blocks bob")
	})
}

func TestTheReplyToTheReleaseIsLost_UnlockReturnsNil(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		for range 2 { // what Unlock remembers of the first hold does not count for the second
			require.NoError(t, alice.TryLock(ctx))
			lab.loseReply("alice")
			require.NoError(t, alice.Unlock(ctx),
				"Redis released alice's lock and the reply was lost; the command was resent and found nothing, but "+
					"Unlock returned an error")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice unlocked once too often, but her Unlock did not return ErrNotHeld")
		}
	})
}

package redislock

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 7: work that takes longer than the ttl keeps the lock; a dead holder's lock still
// expires. The lock before sets its ttl once, and hands out a lock even if the reply comes after
// it has passed.

func TestWorkOfAHundredTTLs_BobIsRefusedThroughout(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.note("alice begins to work, and will take a hundred times the ttl")
		for worked := 5; worked <= 100; worked += 5 {
			time.Sleep(5 * ttl)
			requireRefused(t, bob,
				"alice has worked for %d times the ttl and is not done, but bob is inside with her", worked)
		}
		require.NoError(t, alice.Unlock(ctx),
			"alice worked for a hundred times the ttl, but she lost her lock on the way")
		require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
	})
}

func TestTheContextOfTryLockEnds_TheLockIsStillRenewed(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		waiting, cancel := context.WithTimeout(ctx, ttl/10)
		defer cancel()
		require.NoError(t, alice.TryLock(waiting))
		lab.note("alice waits for %v at most; then she works for 3 ttl", ttl/10)
		time.Sleep(3 * ttl)
		requireRefused(t, bob,
			"the context of alice's TryLock has ended but her work has not, and bob is inside with her")
		require.NoError(t, alice.Unlock(ctx), "alice is inside, but she cannot leave")
	})
}

// A lease counts from before the command was sent, and not from its reply.
func TestTheReplyToTryLockComesAfterTheLease_TheLockIsNotAcquired(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.delayReply("alice", 2*ttl)
		lab.note("alice will be paused for 2 ttl before she reads the reply")
		bobIn := make(chan error, 1)
		time.AfterFunc(ttl*3/2, func() { bobIn <- bob.TryLock(ctx) }) // her key has expired
		require.Error(t, alice.TryLock(ctx),
			"Redis said yes two ttl ago and bob is inside, but alice's TryLock returned nil")
		require.NoError(t, <-bobIn)
		require.NoError(t, bob.Unlock(ctx), "alice gave up, but she released bob's lock")
	})
}

func TestTheOwnerNests_OnlyItsOuterUnlockEndsTheRenewals(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.TryLock(ctx), "alice holds the lock, but she may not lock again")
		require.NoError(t, alice.Unlock(ctx))
		lab.note("alice has left the inner lock and continues in the outer one")
		time.Sleep(3 * ttl)
		requireRefused(t, bob,
			"alice has unlocked only the inner lock and is still inside, but three times the ttl later bob is inside "+
				"with her")
		require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")
		sent := lab.sent()
		time.Sleep(3 * ttl)
		require.Equal(t, sent, lab.sent(), "alice has left altogether, but something is still sent for her")
	})
}

// Also passes on step 06, because a lock that is not renewed expires anyway.
func TestTheHolderDiesLate_ItsLockStillExpires(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.note("alice works for 5 ttl")
		time.Sleep(5 * ttl)
		lab.crash("alice")
		time.Sleep(slack(ttl))
		require.NoError(t, bob.TryLock(ctx), "alice died a ttl ago, but bob was refused")
	})
}

// Also passes on step 06, because a lock that is not renewed expires there too. It is the
// control: if the lock does not expire here, the stories above prove nothing.
func TestRenewalsDoNotReachRedis_TheSameWorkLosesTheLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.mute("alice", "alice's network is down: nothing that she sends arrives")
		time.Sleep(slack(ttl))
		require.NoError(t, bob.TryLock(ctx), "no renewal has reached Redis for a ttl, but bob was refused")
	})
}

// mute drops everything that a client sends from now on; the client itself continues.
func (l *lab) mute(name, why string) {
	l.wait()
	l.fault("%s", why)
	l.client(name).dead.Store(true)
}

// Also passes on step 06, because that lock renews nothing.
func TestARenewalMeetsTheNextOwner_HisLockStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		require.NoError(t, alice.TryLock(ctx))
		time.Sleep(ttl / 10)
		lab.endLease()
		require.NoError(t, bob.TryLock(ctx), "alice's lease has expired, but bob was refused")
		lab.crash("bob")
		time.Sleep(ttl + slack(ttl/10))
		require.NoError(t, carol.TryLock(ctx),
			"alice's lease had expired, and bob, who came next, died a ttl ago, but alice's renewals keep his lock: carol is refused")
	})
}

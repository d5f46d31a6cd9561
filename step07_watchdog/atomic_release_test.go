package redislock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Guarantee 5: nothing fits between the check and the delete, and a release gets through.

func TestTheLeaseEndsAnywhereInUnlock_TheNextOwnersLockStays(t *testing.T) {
	for nth, ended := 1, true; ended && nth < 20; nth++ {
		t.Run(fmt.Sprintf("before command %d", nth), func(t *testing.T) {
			inLab(t, func(t *testing.T, lab *lab) {
				alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
				require.NoError(t, alice.TryLock(ctx))
				var bobErr error
				end := lab.before("alice", nth, func() {
					lab.endLease()
					bobErr = bob.TryLock(ctx)
				})
				err := alice.Unlock(ctx)
				if ended = end.came; !ended {
					return // her Unlock has no command number nth: that was all
				}
				require.NoError(t, bobErr, "alice's lease is over, and bob was refused")
				require.ErrorIs(t, carol.TryLock(ctx), ErrNotAcquired,
					"alice's lease ended before command %d of her Unlock, bob entered, and she deleted his lock: carol is inside with bob", nth)
				require.ErrorIs(t, err, ErrNotHeld, "alice's lease had ended, and she was not told")
			})
		})
	}
}

func TestTheReplyToUnlockIsLost_TheResendHurtsNobody(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		require.NoError(t, alice.TryLock(ctx))
		var bobErr error
		lab.loseReply("alice", func() { bobErr = bob.TryLock(ctx) })
		alice.Unlock(ctx)
		require.NoError(t, bobErr, "alice has left, and bob was refused")
		require.ErrorIs(t, carol.TryLock(ctx), ErrNotAcquired,
			"the reply to alice's Unlock was lost, bob entered, go-redis sent it again and deleted his lock: carol is inside with bob")
	})
}

func TestUnlockUnderACancelledContext_ReleasesAllTheSame(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		request, cancel := context.WithCancel(ctx)
		require.NoError(t, alice.TryLock(request))
		cancel()
		require.NoError(t, alice.Unlock(request), "alice's request was cancelled, so her Unlock was never sent: bob waits for the ttl")
		require.NoError(t, bob.TryLock(ctx), "alice has left, and bob was refused")
	})
}

func TestUnlockAgainstAHungRedis_ComesBackWithinItsBound(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.Unlock(ctx))
		require.NoError(t, alice.TryLock(ctx))
		for node := range nodes {
			lab.hang(node)
		}
		start := time.Now()
		err := alice.Unlock(ctx)
		require.Less(t, time.Since(start), slack(4*time.Second), "Redis hangs, and alice's Unlock hung with it")
		require.Error(t, err, "Redis has not answered, and Unlock says that all is well")
		require.NotErrorIs(t, err, ErrNotHeld, "Redis has not answered, and Unlock says that the lock is not held")
	})
}

func TestTheReplyToTheAcquireIsLostAndNotAskedAgain_TheLockIsTakenBack(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
		alice, bob := lab.lock("alice", noResend), lab.lock("bob")
		lab.loseReply("alice", func() {})
		require.Error(t, alice.TryLock(ctx), "alice got no reply, and TryLock says that all is well")

		soon, cancel := context.WithTimeout(ctx, slack(ttl/3))
		defer cancel()
		require.NoError(t, bob.Lock(soon), "alice gave up, and the key that she left keeps bob out for a whole ttl")
	})
}

func TestTheContextEndsWhileTheAcquireIsUnderWay_TheLockIsTakenBack(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := lab.lock("alice")
		request, cancel := context.WithCancel(ctx)
		lab.loseReply("alice", cancel)
		err := alice.TryLock(request)
		require.ErrorIs(t, err, context.Canceled, "alice's request was cancelled before the reply came, and the error does not say so")
		time.Sleep(slack(ttl / 10))
		require.Empty(t, lab.keys(), "alice's request was cancelled before the reply came, and the lock is there for nobody")
	})
}

// Green before too: the token stays with the handle.
func TestUnlockFails_ItMayBeRepeated(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx))
		answer := func(message string) {
			for node := range nodes {
				lab.server(node).SetError(message)
			}
		}
		answer("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.")
		err := alice.Unlock(ctx)
		require.Error(t, err, "Redis refused, and Unlock says that all is well")
		require.NotErrorIs(t, err, ErrNotHeld, "Redis refused, and Unlock says that the lock is not held")
		answer("")
		require.NoError(t, alice.Unlock(ctx), "Redis is well again, and alice cannot release what she still holds")
		require.Empty(t, lab.keys(), "alice has left, and something stayed behind in Redis")
	})
}

// Green before too: without scripts there is nothing to forget.
func TestRedisForgetsItsScripts_UnlockWorks(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, operator := lab.lock("alice"), lab.client("ops")
		for range 2 {
			require.NoError(t, alice.TryLock(ctx))
			for _, rdb := range operator.nodes {
				require.NoError(t, rdb.ScriptFlush(ctx).Err())
			}
			require.NoError(t, alice.Unlock(ctx), "Redis has forgotten its scripts, and alice cannot release her lock")
		}
		require.Empty(t, lab.keys(), "alice has left, and something stayed behind in Redis")
	})
}

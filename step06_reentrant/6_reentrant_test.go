package redislock

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Guarantee 6: the owner may lock again, and only its outermost Unlock frees the lock.

func TestTheOwnerLocksFiveTimes_OnlyTheFifthUnlockFrees(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		for depth := range 5 {
			require.NoError(t, alice.TryLock(ctx), "alice holds the lock %d times and blocks herself", depth)
		}
		for depth := 5; depth > 0; depth-- {
			require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is still inside %d times, and bob was not refused", depth)
			require.NoError(t, alice.Unlock(ctx), "alice is inside %d times and cannot leave once", depth)
		}
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice unlocked once too often, and was not told")
		require.NoError(t, bob.TryLock(ctx), "alice has unlocked as often as she locked, and bob was refused")
	})
}

// Control: two handles never shared a token.
func TestTwoHandlesInOneGoroutine_AreTwoOwners(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		first, second := lab.lock("alice"), lab.lock("alice")
		require.NoError(t, first.TryLock(ctx))
		require.ErrorIs(t, second.TryLock(ctx), ErrNotAcquired, "a second handle walked in because the client is the same")
		require.ErrorIs(t, second.Unlock(ctx), ErrNotHeld, "a second handle released what the first one holds")
		require.NoError(t, first.Unlock(ctx))
	})
}

func TestTheReplyToTheInnerLockIsLost_ItCountsOnce(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.loseReply("alice", func() {})
		require.NoError(t, alice.TryLock(ctx), "alice holds the lock, locks again, the reply is lost, and go-redis asks again")
		require.NoError(t, alice.Unlock(ctx), "alice is inside twice and cannot leave once")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is inside once more, and bob is inside with her")
		require.NoError(t, alice.Unlock(ctx), "alice is inside once and cannot leave")
		require.NoError(t, bob.TryLock(ctx), "one TryLock was sent twice and counted twice: alice has left, and bob is locked out")
	})
}

func TestTheReplyToTheInnerUnlockIsLost_ItCountsOnce(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.TryLock(ctx), "alice holds the lock and blocks herself")
		lab.loseReply("alice", func() {})
		require.NoError(t, alice.Unlock(ctx), "alice is inside twice and cannot leave once")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "one Unlock was sent twice and counted twice: bob is inside with alice")
		require.NoError(t, alice.Unlock(ctx), "alice is inside once and cannot leave")
		require.NoError(t, bob.TryLock(ctx), "alice has left, and bob was refused")
	})
}

// Control: there the inner lock is refused.
func TestTheReplyToTheInnerLockIsLostAndNotAskedAgain_TheOuterHoldStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
		alice, bob := lab.lock("alice", noResend), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.loseReply("alice", func() {})
		require.Error(t, alice.TryLock(ctx), "alice got no reply, and TryLock says that all is well")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice took her inner lock back, and the outer one with it: bob is inside with her")
		require.NoError(t, alice.Unlock(ctx), "alice is inside once and cannot leave")
		require.NoError(t, bob.TryLock(ctx), "alice has left, and bob was refused")
	})
}

func TestTheOwnerLocksAgainWhenItsHoldIsGone_NoNewHoldBegins(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.endLease()
		for range 2 {
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld,
				"alice's hold is gone, she locks again inside, and does not hear that others may have been in between")
			require.Empty(t, lab.keys(), "alice was told that her hold is gone, and a new one began")
		}
		require.NoError(t, bob.TryLock(ctx))
		require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld, "bob is inside, and alice, who was there before, is not told so")
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice's hold is gone, and her Unlock does not say so")

		require.NoError(t, bob.Unlock(ctx), "bob's lock was touched by alice, whose hold was gone")
		require.NoError(t, alice.TryLock(ctx), "alice has unlocked, the lock is free, and she cannot begin a new hold")
	})
}

func TestTheKeyIsNoLock_ThatIsAnErrorAndItStays(t *testing.T) {
	for _, data := range []struct {
		name        string
		store, load func(rdb redis.UniversalClient) redis.Cmder
	}{
		{"a string",
			func(rdb redis.UniversalClient) redis.Cmder { return rdb.Set(ctx, key, "100 left", 0) },
			func(rdb redis.UniversalClient) redis.Cmder { return rdb.Get(ctx, key) }},
		{"a string with a ttl", // or a lock of step 05
			func(rdb redis.UniversalClient) redis.Cmder { return rdb.Set(ctx, key, "100 left", time.Hour) },
			func(rdb redis.UniversalClient) redis.Cmder { return rdb.Get(ctx, key) }},
		{"a hash without a ttl",
			func(rdb redis.UniversalClient) redis.Cmder { return rdb.HSet(ctx, key, "left", "100") },
			func(rdb redis.UniversalClient) redis.Cmder { return rdb.HGetAll(ctx, key) }},
	} {
		t.Run(data.name, func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				bob, shop := lab.lock("bob"), lab.client("shop").nodes
				require.NoError(t, bob.TryLock(ctx))
				require.NoError(t, bob.Unlock(ctx)) // Redis knows the scripts now, if there are any
				stored := func() (values []string) {
					for node, rdb := range shop {
						values = append(values, fmt.Sprint(data.load(rdb), " ends: ", lab.server(node).TTL(key) > 0))
					}
					return values
				}
				for _, rdb := range shop {
					data.store(rdb)
				}
				before := stored()
				waiting, cancel := context.WithTimeout(ctx, ttl/2)
				defer cancel()
				for _, err := range []error{bob.TryLock(ctx), bob.Lock(waiting)} {
					require.Error(t, err, "%s is in the way, and bob believes that he holds a lock", data.name)
					require.NotErrorIs(t, err, ErrNotAcquired, "%s is in the way, nobody will ever release it, and bob is told that somebody holds the lock", data.name)
				}
				require.NoError(t, waiting.Err(), "%s is in the way, nobody will ever release it, and bob waited for that", data.name)
				require.ErrorIs(t, bob.Unlock(ctx), ErrNotHeld, "bob has no lock, and his Unlock does not say so")
				require.Equal(t, before, stored(), "%s was stored there by somebody else, and bob has changed it", data.name)
			})
		})
	}
}

func TestTheInnerLock_NeverShortensTheTTL(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		limitHold(alice, time.Millisecond) // no renewal comes in between
		require.NoError(t, alice.TryLock(ctx))
		for node := range nodes {
			lab.server(node).SetTTL(key, time.Hour)
		}
		require.NoError(t, alice.TryLock(ctx), "alice holds the lock and blocks herself")
		require.NoError(t, alice.Unlock(ctx))
		for node := range nodes {
			require.Greater(t, lab.server(node).TTL(key), 59*time.Minute, "the lock was to last an hour, and locking again cut that short")
		}
	})
}

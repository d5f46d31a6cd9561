package fencing

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// The lock's stories: one holder at a time, as in step 05, and a number for each.

// Also passes on resources without the check, because the lock is the same.
func TestEachHold_HasTheNextNumber(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		for want := int64(1); want < 20; want++ {
			now, other := alice, bob
			if want%2 == 0 {
				now, other = bob, alice
			}
			token, err := now.TryLock(ctx)
			require.NoError(t, err)
			require.Equal(t, want, token, "the previous acquisition had %d", want-1)

			refused, err := other.TryLock(ctx)
			require.ErrorIs(t, err, ErrNotAcquired, "the lock is taken, but the other client was not refused")
			require.Zero(t, refused, "the other client was refused, but it got a token")
			if want%3 == 0 {
				time.Sleep(2 * ttl) // even a lock that expires has used up its number
			} else {
				require.NoError(t, now.Unlock(ctx))
			}
		}
		require.Equal(t, []string{fenceKey(key)}, lab.keys(), "all clients have left, but more than the counter was left behind")
		require.Zero(t, lab.server(0).TTL(fenceKey(key)), "the counter has a ttl: when it expires, the numbers start again")
	})
}

// Also passes on resources without the check, because the lock is the same.
func TestTheReplyToTheAcquireIsLost_TheResendHasTheSameToken(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.countTo(32)
		lab.loseReply("alice")
		token, err := alice.TryLock(ctx)
		require.NoError(t, err, "Redis gave alice the lock, the reply was lost and go-redis resent the command, but TryLock returned an error")
		require.EqualValues(t, 33, token, "alice's command was sent twice, but it was counted twice")
		require.NoError(t, alice.Unlock(ctx))

		token, err = bob.TryLock(ctx)
		require.NoError(t, err, "alice has unlocked once, but bob was refused")
		require.EqualValues(t, 34, token)
	})
}

// Also passes on resources without the check, because the lock is the same.
func TestTryLock_LostReplyNoRetry_SkipsANumber(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
		alice, bob := lab.lock("alice", noResend), lab.lock("bob")
		lab.countTo(32)
		lab.loseReply("alice")
		token, err := alice.TryLock(ctx)
		require.Error(t, err, "alice got no reply, but TryLock returned nil")
		require.NotErrorIs(t, err, ErrNotAcquired, "alice got no reply, but TryLock returned ErrNotAcquired")
		require.Zero(t, token, "alice has no lock, but she got a token")

		token, err = bob.TryLock(ctx)
		require.NoError(t, err, "alice gave up, but the key that she left blocks bob")
		require.EqualValues(t, 34, token, "33 was alice's, whether she knows it or not: the numbers must grow, they may have gaps")
	})
}

// Also passes on resources without the check, because the lock is the same.
func TestTryLock_CancelledInFlight_ReleasesKey(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		request, cancel := context.WithCancel(ctx)
		lab.loseReply("alice", cancel)
		_, err := alice.TryLock(request)
		require.ErrorIs(t, err, context.Canceled, "alice's request was cancelled before the reply came, but the error does not say so")
		token, err := bob.TryLock(ctx)
		require.NoError(t, err, "alice's request was cancelled before the reply came, but her key was left behind")
		require.EqualValues(t, 2, token)
	})
}

// Also passes on resources without the check, because the lock is the same.
func TestManyGoroutinesOnTwoHandles_NoTokenTwice(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		lab.trace.untold = true
		var mu sync.Mutex
		var tokens []int64
		var together errgroup.Group
		for _, name := range []string{"alice", "bob"} {
			lock := lab.lock(name)
			for range 8 {
				together.Go(func() error {
					waiting, cancel := context.WithTimeout(ctx, time.Hour)
					defer cancel()
					for range 5 {
						token, err := lock.Lock(waiting)
						if err != nil {
							return err
						}
						mu.Lock()
						tokens = append(tokens, token)
						mu.Unlock()
						time.Sleep(time.Millisecond)
						if err := lock.Unlock(ctx); err != nil {
							return err
						}
					}
					return nil
				})
			}
		}
		require.NoError(t, together.Wait())
		require.Len(t, tokens, 80)
		require.IsIncreasing(t, tokens, "an acquisition has a lower token than an earlier one")
	})
}

// Also passes on resources without the check, because the lock is the same.
func TestLock_WaitsAndReturnsTheNextToken(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		first := enter(t, alice)
		time.AfterFunc(ttl/2, func() { alice.Unlock(ctx) })

		waiting, cancel := context.WithTimeout(ctx, ttl)
		defer cancel()
		token, err := bob.Lock(waiting)
		require.NoError(t, err, "alice left after half a ttl, but bob did not get in")
		require.Equal(t, first+1, token, "bob tried many times and entered once, but his attempts were counted")

		short, cancel := context.WithTimeout(ctx, ttl/5)
		defer cancel()
		token, err = alice.Lock(short)
		require.ErrorIs(t, err, ErrNotAcquired, "alice gave up, but the error does not say that the lock is taken")
		require.ErrorIs(t, err, context.DeadlineExceeded, "alice's context ended, but the error does not say so")
		require.Zero(t, token)
	})
}

// Also passes on resources without the check, because the lock is the same.
func TestTheCounter_IsInTheClusterSlotOfTheLock(t *testing.T) {
	for key, want := range map[string]string{
		"coupons":          "{coupons}:fence",
		"a b":              "{a b}:fence",
		"{shop}:coupons":   "{shop}:coupons:fence",
		"shop:{7}:coupons": "shop:{7}:coupons:fence",
		"{a}{b}":           "{a}{b}:fence",
		"a{b":              "{a{b}:fence",
		"a}b{c}":           "a}b{c}:fence",
	} {
		// A slot is decided by what is between the first { and the first } after it, and
		// without that by the whole key.
		require.Equal(t, want, fenceKey(key), "%q and %q must be in one slot: otherwise no cluster runs the script", key, want)
	}
}

// Also passes on resources without the check, because the lock is the same.
func TestBadInputToTheLock_IsRefusedBeforeAnyCommand(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		rdb := lab.client("alice").nodes[0]
		for _, bad := range []struct {
			lock *Lock
			says string
		}{
			{New(nil, key, ttl), "client is nil"},
			{New(rdb, "", ttl), "key is empty"},
			{New(rdb, "a}b", ttl), "hash tag"},
			{New(rdb, "{}coupons", ttl), "hash tag"},
			{New(rdb, key, 0), "ttl 0s is below"},
			{New(rdb, key, -1), "ttl -1ns is below"},
			{New(rdb, key, time.Millisecond-1), "ttl 999.999µs is below"},
		} {
			waiting, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			for _, err := range []error{second(bad.lock.TryLock(ctx)), second(bad.lock.Lock(waiting)), bad.lock.Unlock(ctx)} {
				require.ErrorContains(t, err, bad.says, "alice made a mistake, but the error does not name it")
				require.ErrorContains(t, err, "fencing: ")
				require.NotErrorIs(t, err, ErrNotAcquired, "alice made a mistake, but the error says that the lock is taken")
				require.NotErrorIs(t, err, ErrNotHeld, "alice made a mistake, but the error says that she does not hold the lock")
			}
		}
		require.Zero(t, lab.sent(), "alice made a mistake, but it was sent to Redis")
	})
}

// Also passes on resources without the check, because the lock is the same.
func TestRedisIsDownOrRefuses_NobodyGetsATokenAndNothingStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		lab.server(0).Set(fenceKey(key), "not a number")
		// Without the release that TryLock sends after an error.
		_, err := alice.acquire(ctx, "alice")
		require.ErrorContains(t, err, "not an integer", "the counter is not a number, but the error does not say so")
		require.Equal(t, []string{fenceKey(key)}, lab.keys(), "alice got no number, but the lock is taken: the count must come first")

		lab.stop(0)
		token, err := alice.TryLock(ctx)
		require.Error(t, err, "Redis is down, but TryLock returned nil")
		require.NotErrorIs(t, err, ErrNotAcquired, "Redis is down, but TryLock returned ErrNotAcquired")
		require.ErrorContains(t, err, fmt.Sprintf("fencing: acquire %q", key))
		require.Zero(t, token)
	})
}

// Also passes on resources without the check, because the lock is the same.
func TestRedisForgetsItsScripts_TheLockAndTheResourceWork(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, operator := lab.lock("alice"), lab.client("ops").nodes[0]
		r := NewRedis(lab.client("alice").nodes[0])
		forget := func() { require.NoError(t, operator.ScriptFlush(ctx).Err()) }
		for before := range int64(2) {
			forget()
			token, err := alice.TryLock(ctx)
			require.NoError(t, err)
			require.Equal(t, before+1, token)
			forget()
			require.NoError(t, r.Create(ctx, stock, "100"))
			forget()
			require.NoError(t, write(r, token, 99))
			forget()
			require.Equal(t, 99, read(t, r, token))
			forget()
			require.NoError(t, alice.Unlock(ctx))
		}
	})
}

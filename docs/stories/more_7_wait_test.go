package redislock

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What services add to the lock: one limit for the wait, and another one for the work.
// production.md shows doWithin.

// doWithin is Do, except that it waits for the lock only for the time given. The limit of
// the work is ctx.
func doWithin(
	ctx context.Context, l *lockOf, wait time.Duration, work func(context.Context) error,
) error {
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	if err := l.Lock(waiting); err != nil {
		return fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	defer func() { _ = l.Unlock(ctx) }() // Do reports a loss
	return l.Do(ctx, work)               // nested: one more pair of commands
}

func TestTheWaitHasItsOwnLimit_TheWorkTakesLonger(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			wait := ttl / 5
			works := func(ctx context.Context) error {
				select {
				case <-ctx.Done():
					return context.Cause(ctx)
				case <-time.After(2 * ttl):
					return nil
				}
			}
			require.NoError(t, bob.TryLock(ctx))
			start := time.Now()
			err := doWithin(ctx, alice.lockOf, wait, works)
			took := time.Since(start)
			require.ErrorIs(t, err, ErrNotRun, "bob holds the lock, but alice's work may have run")
			require.ErrorIs(t, err, ErrNotAcquired, "bob holds the lock, but alice's error does not say so")
			require.Less(t, took, wait+slack(100*time.Millisecond),
				"alice waits for at most %v, but she waited for %v", wait, took)
			require.NoError(t, bob.Unlock(ctx))

			start = time.Now()
			require.NoError(t, doWithin(ctx, alice.lockOf, wait, works), "the limit of alice's wait ended her work")
			require.GreaterOrEqual(t, time.Since(start), 2*ttl, "alice's work was not done")
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

func TestTheWaitHasItsOwnLimit_TheWorkIsNotifiedOfALoss(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			err := doWithin(ctx, alice.lockOf, ttl, func(work context.Context) error {
				lab.endLease()
				require.NoError(t, bob.TryLock(ctx))
				select {
				case <-work.Done():
				case <-time.After(ttl):
				}
				require.ErrorIs(t, context.Cause(work), ErrLost,
					"bob is inside, but the context of alice's work has not ended")
				return nil
			})
			require.ErrorIs(t, err, ErrLost, "alice lost the lock during her work, but the result does not say so")
			require.NoError(t, bob.Unlock(ctx), "alice's Unlock released bob's lock")
		})
	})
}

func TestDo_ADoInsideDidNotRun_TheOuterOneDid(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			order, stock, bob := lab.lock("alice"), lab.lockOn("alice", lab.client("alice").nodes, "stock", ttl),
				lab.lockOn("bob", lab.client("bob").nodes, "stock", ttl)
			require.NoError(t, bob.TryLock(ctx))
			soon, cancel := context.WithTimeout(ctx, slack(ttl/100))
			defer cancel()
			err := order.Do(ctx, func(context.Context) error {
				return errors.Join(&fs.PathError{Op: "pack", Err: fs.ErrExist}, stock.Do(soon, func(context.Context) error { return nil }))
			})
			var packed *fs.PathError
			require.ErrorAs(t, err, &packed)
			require.NotErrorIs(t, err, ErrNotHeld)
			require.ErrorIs(t, err, ErrNotAcquired, "bob has the stock, but the error of alice's order does not say so")
			require.NotErrorIs(t, err, ErrNotRun,
				"alice's order has run as far as the stock, but the error says that it has not: she would do it twice")
		})
	})
}

func TestDo_TheWorkHasUnlocked_TheErrorSaysThatTheLockWasLost(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			err := alice.Do(ctx, func(work context.Context) error {
				require.NoError(t, alice.Unlock(ctx))
				return bob.TryLock(ctx)
			})
			require.ErrorIs(t, err, ErrLost, "alice's work unlocked too early and bob got in, but Do hid it")
			require.ErrorIs(t, err, ErrNotHeld, "alice's work unlocked too early, but Do's error does not say so")
		})
	})
}

package redislock

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// This file shows watchdogs as they are often written, and then two properties of this
// step's own. MaxHold keeps the lock's own watchdog from renewing.

// renewWhileBusy renews the lock while its owner is busy.
func renewWhileBusy(l *Lock, h *hold, done *atomic.Bool) {
	for !done.Load() {
		time.Sleep(l.ttl)
		if owns, err := l.extend(h); err != nil || !owns {
			return
		}
	}
}

func TestTheWatchdogSleepsAWholeTTL_TheLockIsLostBeforeItsFirstRenewal(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		limitHold(alice, time.Millisecond)
		require.NoError(t, alice.TryLock(ctx))
		var done atomic.Bool
		defer done.Store(true)
		go renewWhileBusy(alice.lockOf, alice.hold.Load(), &done)
		lab.note("alice works for longer than the ttl")
		time.Sleep(slack(ttl + time.Millisecond))
		require.NoError(t, bob.TryLock(ctx), "alice's watchdog has kept her lock: the bug is gone")
	})
}

// third is the time between two renewals of a lock with a ttl of so many seconds.
func third(seconds int) time.Duration { return time.Duration(seconds/3) * time.Second }

// renewEveryThird renews such a lock.
func renewEveryThird(l *Lock, h *hold, seconds int, done chan struct{}) {
	tick := time.Tick(third(seconds))
	for {
		select {
		case <-tick:
			l.extend(h)
		case <-done:
			return
		}
	}
}

func TestAThirdInWholeSeconds_OfTwoSecondsIsNever(t *testing.T) {
	for _, c := range []struct {
		seconds int
		kept    bool
	}{{3, true}, {2, false}} {
		inLab(t, func(t *T, lab *lab) {
			lease := time.Duration(c.seconds) * time.Second
			alice, bob := lab.lockOn("alice", lab.client("alice").nodes, key, lease), lab.lock("bob")
			limitHold(alice, time.Millisecond)
			require.NoError(t, alice.TryLock(ctx))
			done := make(chan struct{})
			defer close(done)
			go renewEveryThird(alice.lockOf, alice.hold.Load(), c.seconds, done)
			lab.note("alice has a lease of %v and works for longer", lease)
			time.Sleep(slack(lease + lease/2))
			require.Equal(t, c.kept, errors.Is(bob.TryLock(ctx), ErrNotAcquired), "is a lease of %v kept?", lease)
		})
	}
	require.Panics(t, func() { time.NewTicker(third(2)) }, "a ticker accepts a period of zero")
}

// A keeper renews locks until done is set.
type keeper struct{ done atomic.Bool }

func (k *keeper) renew(l *Lock, h *hold) {
	for !k.done.Load() {
		time.Sleep(l.ttl / 3)
		if owns, err := l.extend(h); err != nil || !owns {
			return
		}
	}
}

func (k *keeper) unlock(l *Lock) error {
	k.done.Store(true)
	return l.Unlock(ctx)
}

func TestOneFlagForAllLocks_ToReleaseOneLosesTheOthers(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		coupons, bob := lab.lock("alice"), lab.lock("bob")
		tea := lab.lockOn("alice", lab.client("alice").nodes, key+"-tea", ttl)
		var k keeper
		defer k.done.Store(true)
		for _, l := range []*handle{coupons, tea} {
			limitHold(l, time.Millisecond)
			require.NoError(t, l.TryLock(ctx))
			go k.renew(l.lockOf, l.hold.Load())
		}
		time.Sleep(ttl + ttl/2)
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice's locks are renewed, but bob is inside")
		require.NoError(t, k.unlock(tea.lockOf))
		lab.note("alice has released the other lock and continues to work")
		time.Sleep(slack(2 * ttl))
		require.NoError(t, bob.TryLock(ctx), "alice's lock on the coupons is still renewed: the bug is gone")
	})
}

// A watchdog in its own goroutine would be correct, too; this one costs nothing until it
// has something to do.
func TestAHoldShorterThanAThirdOfTheTTL_StartsNoGoroutine(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx)) // connections and their goroutines
		require.NoError(t, alice.Unlock(ctx))
		before := goroutines(lab)
		require.NoError(t, alice.TryLock(ctx))
		require.Equal(t, before, goroutines(lab), "alice has only just entered, but a goroutine is already waiting for her renewal")
	})
}

// A process is paused during the work, and the work ends before the watchdog runs again.
func TestThePauseEndsBeforeTheWatchdogRuns_DoReturnsErrLost(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		err := alice.Do(ctx, func(context.Context) error {
			alice.hold.Load().timer.Stop()
			lab.fault("alice's process stalls")
			time.Sleep(2 * ttl)
			require.NoError(t, bob.TryLock(ctx), "alice's lease has expired, but bob was refused")
			lab.loseReply("alice", func() {})
			return nil
		})
		require.ErrorIs(t, err, ErrLost, "bob entered while alice's process was stalled, but her Do did not return ErrLost")
	})
}

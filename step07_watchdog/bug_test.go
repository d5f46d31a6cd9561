package redislock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// These tests pass while step 07's bugs exist. Step 08 removes the first. No lock can
// remove the second: the resource must check a fencing token.

func TestBug_TheMasterFailsOverBeforeReplicating_TwoAreInside(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.failover(0)
		require.NoError(t, bob.TryLock(ctx), "the replica knew of alice's lock: the bug is gone")
		requireNotLost(t, alice, "alice knew at once, not only at her next renewal: the bug is gone")
	})
}

func TestBug_TheHolderIsPausedBeyondTheTTL_ItsLateWriteOverwritesTheNextOwners(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		shop := &struct{ stock int }{100}

		require.NoError(t, alice.TryLock(ctx))
		aliceRead := shop.stock
		lab.note("alice reads the stock, %d", aliceRead)
		lab.mute("alice", "alice is paused: a garbage collection, a page fault, SIGSTOP")
		time.Sleep(2 * ttl)
		require.NoError(t, bob.TryLock(ctx), "bob was refused while alice was paused: the bug is gone")
		shop.stock--
		lab.note("bob sells one and writes %d", shop.stock)
		require.NoError(t, bob.Unlock(ctx))
		requireLost(t, alice, 0, "alice was never notified")
		shop.stock = aliceRead - 1 // Lost is closed, but she had no time to check it
		lab.note("alice continues where she was, sells one and writes %d", shop.stock)

		require.Equal(t, 99, shop.stock, "both sales were counted: the bug is gone")
	})
}

// What follows shows watchdogs as they are often written, and then two properties of this
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
			// Not much longer: after a lease, her hold counts as lost, and extend sends nothing.
			time.Sleep(slack(lease + lease/4))
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
		require.ErrorIs(t, k.unlock(tea.lockOf), ErrLost) // to the lock, MaxHold has ended
		lab.note("alice has released the other lock and continues to work")
		time.Sleep(slack(2 * ttl))
		require.NoError(t, bob.TryLock(ctx), "alice's lock on the coupons is still renewed: the bug is gone")
	})
}

// A pool renews locks with a fixed number of workers.
type pool struct{ tasks chan func() }

func newPool(workers int) *pool {
	p := &pool{tasks: make(chan func(), 1000)}
	for range workers {
		go func() {
			for task := <-p.tasks; task != nil; task = <-p.tasks {
				task()
			}
		}()
	}
	return p
}

// keep renews a lock until the work is done.
func (p *pool) keep(l *Lock, h *hold, done *atomic.Bool) {
	p.tasks <- func() {
		for !done.Load() {
			time.Sleep(l.ttl / 3)
			if owns, err := l.extend(h); err != nil || !owns {
				return
			}
		}
	}
}

// keepByTimer is keep, mended: a task is one renewal, and a timer waits for the next.
func (p *pool) keepByTimer(l *Lock, h *hold, done *atomic.Bool) {
	time.AfterFunc(l.ttl/3, func() {
		if done.Load() {
			return
		}
		p.tasks <- func() {
			if owns, err := l.extend(h); err == nil && owns {
				p.keepByTimer(l, h, done)
			}
		}
	})
}

func TestTenWorkersRenew_TheEleventhLockIsKeptOnlyIfNoWorkerSleeps(t *testing.T) {
	for _, c := range []struct {
		keep func(*pool, *Lock, *hold, *atomic.Bool)
		kept bool
	}{{(*pool).keep, false}, {(*pool).keepByTimer, true}} {
		inLab(t, func(t *T, lab *lab) {
			const workers = 10
			var done atomic.Bool
			p := newPool(workers)
			defer func() {
				done.Store(true)
				time.Sleep(ttl)
				for range workers {
					p.tasks <- nil
				}
			}()
			locks := func(who string, n int) *handle {
				return lab.lockOn(who, lab.client(who).nodes, fmt.Sprint(key, "-", n), ttl)
			}
			for n := range workers + 1 {
				alice := locks("alice", n)
				limitHold(alice, time.Millisecond)
				require.NoError(t, alice.TryLock(ctx))
				c.keep(p, alice.lockOf, alice.hold.Load(), &done)
			}
			time.Sleep(ttl + ttl/2)
			for n := range workers {
				require.ErrorIs(t, locks("bob", n).TryLock(ctx), ErrNotAcquired,
					"a worker renews this lock of alice's, but bob got in")
			}
			require.Equal(t, c.kept, errors.Is(locks("bob", workers).TryLock(ctx), ErrNotAcquired),
				"is alice's eleventh lock kept?")
		})
	}
}

// renewOnOneConnection keeps a lock until the work is done. It takes a connection from
// the pool once, not for each renewal.
func renewOnOneConnection(rdb *redis.Client, l *Lock, h *hold, done *atomic.Bool) {
	conn := rdb.Conn()
	defer conn.Close() // back to the pool
	for !done.Load() {
		owns, err := conn.Eval(ctx, renewScript, []string{l.key},
			h.token, l.ttl.Milliseconds()).Bool()
		if err != nil || !owns {
			return
		}
		time.Sleep(l.ttl / 3)
	}
}

// renewFromThePool is the same, mended.
func renewFromThePool(rdb *redis.Client, l *Lock, h *hold, done *atomic.Bool) {
	for !done.Load() {
		owns, err := rdb.Eval(ctx, renewScript, []string{l.key},
			h.token, l.ttl.Milliseconds()).Bool()
		if err != nil || !owns {
			return
		}
		time.Sleep(l.ttl / 3)
	}
}

func TestARenewalKeepsItsConnection_EightLocksLeaveNoneOfEight(t *testing.T) {
	const size = 8
	smallPool := func(opt *redis.Options) { opt.PoolSize = size }
	for _, c := range []struct {
		renew func(*redis.Client, *Lock, *hold, *atomic.Bool)
		inUse int
	}{{renewOnOneConnection, size}, {renewFromThePool, 0}} {
		inLab(t, func(t *T, lab *lab) {
			var done atomic.Bool
			defer func() {
				done.Store(true)
				time.Sleep(ttl)
			}()
			rdbs := lab.client("alice", smallPool).nodes
			rdb := rdbs[0].(*redis.Client)
			for n := range size {
				alice := lab.lockOn("alice", rdbs, fmt.Sprint(key, "-", n), ttl)
				limitHold(alice, time.Millisecond)
				require.NoError(t, alice.TryLock(ctx))
				go c.renew(rdb, alice.lockOf, alice.hold.Load(), &done)
				lab.wait() // one at a time: this pool must not run dry
			}
			time.Sleep(ttl / 2)
			stats := rdb.PoolStats()
			require.EqualValues(t, c.inUse, stats.TotalConns-stats.IdleConns,
				"connections in use while all renewals sleep")
		})
	}
}

// renewAtMost renews a lock n times, if it lives as long.
func renewAtMost(n int, ttl time.Duration, renew func() (owns bool, err error)) {
	for i := 0; i < n; {
		owns, err := renew()
		if err != nil {
			continue // not counted: try again
		}
		if !owns {
			return
		}
		i++
		time.Sleep(ttl / 3)
	}
}

// renewWithPauses is the same, mended: it pauses after an error, too.
func renewWithPauses(n int, ttl time.Duration, renew func() (owns bool, err error)) {
	for i := 0; i < n; {
		pause := ttl / 3
		owns, err := renew()
		switch {
		case err != nil:
			pause = ttl / 30
		case !owns:
			return
		default:
			i++
		}
		time.Sleep(pause)
	}
}

func TestRedisAnswersErrors_ALoopWithoutAPauseSendsThousands(t *testing.T) {
	for _, c := range []struct {
		loop func(int, time.Duration, func() (bool, error))
		busy bool
	}{{renewAtMost, true}, {renewWithPauses, false}} {
		inLab(t, func(t *T, lab *lab) {
			lab.trace.untold = true
			alice := lab.lock("alice")
			limitHold(alice, time.Millisecond)
			require.NoError(t, alice.TryLock(ctx))
			lab.failFrom("alice", 1, "LOADING Redis is loading the dataset in memory")
			var sent atomic.Int64
			go c.loop(1, ttl, func() (bool, error) {
				if sent.Add(1) > 1000 {
					return false, nil // a loop without a pause would not let virtual time pass
				}
				return alice.extend(alice.hold.Load())
			})
			time.Sleep(50 * time.Millisecond)
			if c.busy {
				time.Sleep(slack(0)) // real servers may be slow
			}
			require.Equal(t, c.busy, sent.Load() > 10, "%d renewals in 50 ms", sent.Load())
		})
	}
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
		require.Equal(t, before, goroutines(lab),
			"alice has only just entered, but a goroutine is already waiting for her renewal")
	})
}

// A process is paused during the work, and the work ends before the watchdog runs again.
func TestThePauseEndsBeforeTheWatchdogRuns_DoReturnsErrLost(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		err := alice.Do(ctx, func(context.Context) error {
			alice.hold.Load().renewal.Stop()
			lab.fault("alice's process stalls")
			time.Sleep(2 * ttl)
			require.NoError(t, bob.TryLock(ctx), "alice's lease has expired, but bob was refused")
			lab.loseReply("alice")
			return nil
		})
		require.ErrorIs(t, err, ErrLost,
			"bob entered while alice's process was stalled, but her Do did not return ErrLost")
	})
}

func TestALockWithoutNew_SaysSoAndDoesNotPanic(t *testing.T) {
	var lock Lock
	require.ErrorContains(t, lock.TryLock(ctx), "client is nil",
		"the lock was not made by New, but the error does not say so")
	require.Nil(t, lock.Lost())
	require.Zero(t, lock.ValidUntil())
}

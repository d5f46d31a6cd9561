package redislock

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Also from step 07 on: the holder is told when it loses the lock. These stories need Lost, Do and MaxHold.

func TestRedisIsUnreachable_LostBeforeTheKeyCanExpire(t *testing.T) {
	for _, fault := range []struct {
		name string
		fail func(lab *lab, node int) (heal func())
	}{{"down", (*lab).stop}, {"hung", (*lab).hang}} {
		t.Run(fault.name, func(t *testing.T) {
			inLab(t, func(t *testing.T, lab *lab) {
				alice := lab.lock("alice")
				require.NoError(t, alice.TryLock(ctx))
				start := time.Now()
				expires := start.Add(lab.server(0).TTL(key))
				for node := range nodes {
					fault.fail(lab, node)
				}
				requireLost(t, alice, ttl, "Redis is %s, alice's lease is over, and she was not told", fault.name)
				require.Greater(t, time.Since(start), ttl/2, "Redis is %s, and alice gave up while her lease lasted", fault.name)
				require.True(t, time.Now().Before(expires.Add(slack(0))), "the key had expired before alice was told")
			})
		})
	}
}

func TestTheReplyComesAfterTheLease_ThatIsNoLock(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		late := func(_ redis.Cmder, nth int) bool { return nth == 2 } // EVALSHA, which Redis does not know yet, and EVAL
		lab.announce("alice", &twist{match: late, after: func() { time.Sleep(2 * ttl) }, again: true})
		bobIn := make(chan error, 1)
		time.AfterFunc(ttl*3/2, func() { bobIn <- bob.TryLock(ctx) }) // her key has expired
		require.Error(t, alice.TryLock(ctx), "Redis said yes two ttl ago, bob is inside, and alice goes in, too")
		require.NoError(t, <-bobIn)
		require.NoError(t, bob.Unlock(ctx), "alice gave up, and released bob's lock")
	})
}

func TestATTLThatTheDriftUsesUp_IsRefusedBeforeAnyCommand(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		for _, short := range []time.Duration{time.Millisecond, 2 * time.Millisecond} {
			alice := newLock(lab.client("alice").nodes, key, short)
			require.ErrorContains(t, alice.TryLock(ctx), short.String(), "the hold would be lost at once, and the error does not name the ttl")
		}
		require.Zero(t, lab.timeline.sent(), "a ttl that leaves no time was sent to Redis")
	})
}

func TestTheLockIsStolen_ToldAtTheNextRenewal_AndTheThiefIsNotHelped(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		time.Sleep(ttl / 10)
		lab.endLease()                   // somebody deletes her key
		limitHold(bob, time.Millisecond) // he does not renew
		require.NoError(t, bob.TryLock(ctx))
		entered := time.Now()

		requireLost(t, alice, ttl/3, "bob holds alice's lock, a renewal was due, and she was not told")
		for node := range nodes {
			left := ttl - time.Since(entered)
			require.LessOrEqual(t, lab.server(node).TTL(key), left+time.Millisecond, "alice's renewal prolonged bob's lock")
		}
		require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld, "alice has lost the lock and may go deeper into it")
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice has lost the lock, and Unlock says that all is well")
		require.NoError(t, bob.Unlock(ctx), "alice's Unlock released bob's lock")
	})
}

func TestRenewalsFailForAWhile_TheLockIsKept(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.refuse("alice", 1, "LOADING Redis is loading the dataset in memory")
		time.Sleep(ttl - slack(ttl/10))
		lab.stopTwists("alice")
		time.Sleep(5 * ttl)
		requireNotLost(t, alice, "renewals failed, and worked again before the lease was over")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice was not told of a loss, and bob is inside with her")
		require.NoError(t, alice.Unlock(ctx))
	})
}

func TestRepliesAreLate_TheLeaseCountsFromTheSend(t *testing.T) {
	for _, hold := range []time.Duration{0, ttl / 2} { // the acquire's reply, and the renewal's at ttl/3
		inLab(t, func(t *testing.T, lab *lab) {
			alice := lab.lock("alice")
			always := func(redis.Cmder, int) bool { return true }
			lab.announce("alice", &twist{match: always, again: true, after: func() { time.Sleep(20 * time.Millisecond) }})
			require.NoError(t, alice.TryLock(ctx))
			time.Sleep(hold)
			for node := range nodes {
				lab.stop(node)
			}
			left := ttl
			for node := range nodes {
				left = min(left, lab.server(node).TTL(key))
			}
			requireNotLost(t, alice, "alice's key lasts, and she was told of a loss")
			requireLost(t, alice, left-ttl/100, "Redis had the key 20ms before alice heard of it: she counts from too late")
		})
	}
}

func TestRedisIsBackAfterALoss_TheHoldIsNot(t *testing.T) {
	needsVirtualTime(t, "the hold ends only a few milliseconds before the key")
	inLab(t, func(t *testing.T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx))
		var start []func()
		for node := range nodes {
			start = append(start, lab.stop(node))
		}
		requireLost(t, alice, ttl, "Redis is down, alice's lease is over, and she was not told")
		for _, start := range start {
			start()
		}
		require.NotEmpty(t, lab.keys(), "the key was to last a little longer than the hold")
		require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld, "alice was told of a loss, Redis still has her key, and she may go deeper into a hold that is over")
		require.NoError(t, alice.Unlock(ctx))
	})
}

func TestIdleConnectionsHaveDied_RenewalsTakeOthersAndTheLockIsKept(t *testing.T) {
	for _, ttl := range []time.Duration{2 * time.Second, 10 * time.Second, time.Minute} { // go-redis waits 5s for a reply
		inLab(t, func(t *testing.T, lab *lab) {
			lab.timeline.crowd = true
			lab.fillPool("alice", 12)
			alice := newLock(lab.client("alice").nodes, key, ttl)
			require.NoError(t, alice.TryLock(ctx))
			for node := range nodes {
				lab.silence(node)
			}
			time.Sleep(5 * ttl)
			requireNotLost(t, alice, "Redis was well all along, only old connections were not")
			require.NoError(t, alice.Unlock(ctx), "Redis is well, and alice cannot release")
		})
	}
}

func TestUnlockWhileARenewalGoesSilent_TheReleaseGetsThrough(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := newLock(lab.client("alice").nodes, key, 6*ttl)
		require.NoError(t, alice.TryLock(ctx))
		for node := range nodes {
			lab.silence(node)
		}
		time.Sleep(slack(2*ttl + 100*time.Millisecond)) // a renewal has been sent, and will not be answered
		start := time.Now()
		err := alice.Unlock(ctx)
		require.Less(t, time.Since(start), slack(4*time.Second), "a renewal is not answered, and Unlock waited for it")
		if nodes == 1 {
			require.NoError(t, err, "a renewal was not answered, and the release was not sent")
		}
		time.Sleep(ttl)
		require.Empty(t, lab.keys(), "a renewal was not answered, and the release did not get through")
		time.Sleep(12 * ttl)
		requireNotLost(t, alice, "alice has unlocked")
	})
}

func TestUnlockWhileARenewalIsUnderWay_NothingComesAfterwards(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx))
		time.Sleep(ttl / 2)
		var goOn []func()
		for node := range nodes {
			goOn = append(goOn, lab.hang(node))
		}
		time.Sleep(ttl / 3) // a renewal has been sent
		unlocked := make(chan error, 1)
		go func() { unlocked <- alice.Unlock(ctx) }()
		time.Sleep(10 * time.Millisecond)
		for _, goOn := range goOn {
			goOn()
		}
		require.NoError(t, <-unlocked, "a renewal was under way, and Unlock failed")

		lab.wait()
		sent := lab.timeline.sent()
		time.Sleep(5 * ttl)
		require.Equal(t, sent, lab.timeline.sent(), "alice has unlocked, and her watchdog goes on")
		require.Zero(t, goroutines(lab), "alice has unlocked, and left a goroutine behind")
		requireNotLost(t, alice, "alice has unlocked")
		require.Empty(t, lab.keys(), "alice has unlocked, and the renewal brought the key back")
	})
}

func TestASecondHoldOnTheSameHandle_HasAWatchdogOfItsOwn(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.endLease()
		requireLost(t, alice, ttl/2, "alice's key is gone, and she was not told")
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld)

		require.NoError(t, alice.TryLock(ctx), "alice's first hold is over, the lock is free, and she was refused")
		requireNotLost(t, alice, "alice's first hold was lost, not her second")
		time.Sleep(5 * ttl)
		requireNotLost(t, alice, "the second hold was renewed all along")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "nobody renewed alice's second hold: bob is inside with her")
		require.NoError(t, alice.Unlock(ctx))
	})
}

func TestMaxHold_EndsAHoldThatIsNeverReleased(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		alice.MaxHold = 3 * ttl
		require.NoError(t, alice.TryLock(ctx))
		time.Sleep(3 * ttl)
		requireNotLost(t, alice, "MaxHold is over only now, and the last renewal lasts")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "MaxHold is over only now, and bob is inside with alice")
		requireLost(t, alice, ttl, "MaxHold was over a ttl ago, and alice was not told")
		time.Sleep(slack(ttl / 10))
		require.NoError(t, bob.TryLock(ctx), "MaxHold was over a ttl ago, and alice's lock is renewed still")
	})
}

func TestAHoldShorterThanAThirdOfTheTTL_StartsNoGoroutine(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx)) // connections and their goroutines
		require.NoError(t, alice.Unlock(ctx))
		before := goroutines(lab)
		require.NoError(t, alice.TryLock(ctx))
		require.Equal(t, before, goroutines(lab), "alice has just come in, and a goroutine waits for her renewal already")
		time.Sleep(ttl / 4)
		require.NoError(t, alice.Unlock(ctx))
		require.Equal(t, before, goroutines(lab), "alice has left, and a goroutine stayed behind")
	})
}

func TestDo_ReturnsTheErrorOfTheWork(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		soldOut := errors.New("sold out")
		require.ErrorIs(t, alice.Do(ctx, func(context.Context) error {
			require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice's work runs, and bob is inside with her")
			return soldOut
		}), soldOut)
		require.NoError(t, alice.Do(ctx, func(context.Context) error { return nil }))
		require.Empty(t, lab.keys(), "alice's work is done, and the lock was not released")
	})
}

func TestDo_CancelsTheWorkWhenTheLockIsLost(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := lab.lock("alice")
		err := alice.Do(ctx, func(work context.Context) error {
			lab.endLease()
			select {
			case <-work.Done():
			case <-time.After(ttl):
			}
			require.ErrorIs(t, context.Cause(work), ErrLost, "alice's lock is gone, and her work was not told")
			return nil // it does not mind
		})
		require.ErrorIs(t, err, ErrLost, "alice's lock was lost during the work, and Do says that all is well")
	})
}

func TestDo_ReturnsTheErrorOfTheWorkAndTheLoss(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := lab.lock("alice")
		soldOut := errors.New("sold out")
		err := alice.Do(ctx, func(work context.Context) error {
			lab.endLease()
			time.Sleep(ttl)
			return soldOut
		})
		require.ErrorIs(t, err, soldOut, "the lock was lost, and the error of the work with it")
		require.ErrorIs(t, err, ErrLost, "the work failed, and Do says nothing of the loss")
	})
}

func TestDo_ReleasesWhenTheWorkPanics(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice := lab.lock("alice")
		require.PanicsWithValue(t, "sold out", func() {
			alice.Do(ctx, func(context.Context) error { panic("sold out") })
		}, "the work panicked, and Do hid it")
		require.Empty(t, lab.keys(), "the work panicked, and the lock was not released")
	})
}

func TestDo_DoesNotWorkWithoutTheLock(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, bob.TryLock(ctx))
		waiting, cancel := context.WithTimeout(ctx, ttl/2)
		defer cancel()
		err := alice.Do(waiting, func(context.Context) error {
			t.Error("bob holds the lock, and alice's work runs")
			return nil
		})
		require.ErrorIs(t, err, ErrNotAcquired)
		require.ErrorIs(t, err, context.DeadlineExceeded)
	})
}

func requireLost(t *testing.T, l *Lock, within time.Duration, format string, args ...any) {
	t.Helper()
	if within > 0 {
		select {
		case <-l.Lost():
		case <-time.After(slack(within)):
		}
	}
	select {
	case <-l.Lost():
	default:
		require.Failf(t, "not told of a loss", format, args...)
	}
}

func requireNotLost(t *testing.T, l *Lock, why string) {
	t.Helper()
	select {
	case <-l.Lost():
		require.Fail(t, "told of a loss that was none", why)
	default:
	}
}

// stopTwists lets the client's commands go their way again.
func (l *lab) stopTwists(name string) {
	c := l.client(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.twists = nil
}

// goroutines counts those that the lock has started, when all have done what they can do now. Connections have some of
// their own, and stay.
func goroutines(lab *lab) int {
	lab.wait()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return bytes.Count(stacks, []byte("/lock.go:"))
}

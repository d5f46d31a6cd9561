package redislock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// More of guarantee 1: which error a call returns, waits that end, bad input, and goroutines
// that share a handle.

// Also passes on step 00, because its refused TryLock sends only EXISTS and leaves
// nothing to undo.
func TestTheHolderLeavesAnywhereInARefusedTryLock_TheLockIsFree(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, carolComes := range []bool{false, true} {
			eachNth(t, fmt.Sprintf("before command %%d, carol comes: %t", carolComes), func(t *T, lab *lab, nth int) bool {
				alice, bob, carol, dave := lab.lock("alice"), lab.lock("bob"), lab.lock("carol"), lab.lock("dave")
				require.NoError(t, alice.TryLock(ctx), "no one is inside, but alice was refused")
				var unlockErr, carolErr error
				leaves := lab.beforeNth("bob", nth, func() {
					if unlockErr = alice.Unlock(ctx); carolComes {
						carolErr = carol.TryLock(ctx)
					}
				})
				bobErr := bob.TryLock(ctx)
				if !leaves.fired() {
					return false
				}
				require.NoError(t, unlockErr, "alice holds the lock, but Unlock failed")
				require.NoError(t, carolErr, "alice has left in the middle of bob's TryLock, but carol was refused")
				inside := carol
				switch {
				case carolComes:
					require.Error(t, bobErr,
						"carol took the lock in the middle of bob's TryLock, but he got it as well: both are inside")
					require.ErrorIs(t, bobErr, ErrNotAcquired, "bob was refused, but not with ErrNotAcquired")
					require.ErrorIs(t, dave.TryLock(ctx), ErrNotAcquired,
						"alice left and carol came in the middle of bob's TryLock; he was refused, but what he did after "+
							"that let dave in with carol")
				case bobErr == nil:
					inside = bob
				default:
					require.ErrorIs(t, bobErr, ErrNotAcquired,
						"alice was inside when bob came, but the error does not say so")
					inside = nil
				}
				if inside != nil {
					require.NoError(t, inside.Unlock(ctx), "%s holds the lock, but Unlock failed", inside.who)
				}
				require.NoError(t, dave.TryLock(ctx),
					"alice left in the middle of bob's TryLock and no one is inside, but dave was refused")
				return true
			})
		}
	})
}

// Also passes on step 00, because its Lock polls as well.
func TestLock_EntersSoonWheneverTheHolderLeaves(t *testing.T) {
	each(t, func(t *testing.T) {
		for stays := ttl / 10; stays <= ttl/2; stays += ttl / 10 {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				require.NoError(t, alice.TryLock(ctx))
				time.AfterFunc(stays, func() { alice.Unlock(ctx) })
				patience, cancel := context.WithTimeout(ctx, slack(stays+ttl/10+10*time.Millisecond))
				defer cancel()
				require.NoError(t, bob.Lock(patience), "alice left after %v, but a second later bob was not inside", stays)
			})
		}
	})
}

// Also passes on step 00, because its TryLock checks the key every time.
func TestTheKeyIsDeletedAndBobIsInside_AliceIsRefused(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			for node := range nodes {
				lab.server(node).FlushAll()
			}
			lab.fault("an operator deletes alice's key")
			require.NoError(t, bob.TryLock(ctx), "the lock is free, but bob was refused")
			require.Error(t, alice.TryLock(ctx),
				"alice's key was deleted and bob is inside, but her TryLock returned nil: both are inside")
		})
	})
}

// Also passes on step 00, because its Lock polls as well, and go-redis checks the context
// before it sends.
func TestLock_ContextEndsTheWait(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			for _, end := range []error{context.Canceled, context.DeadlineExceeded} {
				start := time.Now()
				waiting, cancel := context.WithTimeout(ctx,
					map[error]time.Duration{context.Canceled: ttl / 3, context.DeadlineExceeded: ttl / 10}[end])
				defer cancel()
				if end == context.Canceled {
					lab.afterNth("bob", 2, func() { time.AfterFunc(10*time.Millisecond, func() { lab.wait(); cancel() }) })
				}
				err := bob.Lock(waiting)
				require.Error(t, err, "bob's context ended, but Lock returned nil: he believes that he is inside")
				require.ErrorIs(t, err, end, "bob's context ended, but the error does not say so")
				if end == context.Canceled {
					// No command is in flight here; a deadline may pass in the middle of one.
					require.ErrorIs(t, err, ErrNotAcquired,
						"bob gave up, but the error does not say that the lock is taken")
				}
				require.Less(t, time.Since(start), slack(ttl/5), "bob kept waiting after his context had ended")
				bobSent := func() int {
					time.Sleep(ttl / 20) // a TryLock that was cut off may be undone in the background
					return lab.sent(func(r *record) bool { return r.Who == "bob" })
				}
				before := bobSent()
				for _, err := range []error{bob.TryLock(waiting), bob.Lock(waiting)} {
					require.ErrorIs(t, err, end, "bob's context had ended before the call, but the error does not say so")
					require.NotErrorIs(t, err, ErrNotAcquired,
						"nothing was sent to Redis, but the error says that the lock is taken")
				}
				require.Equal(t, before, bobSent(), "bob's context had ended before the call, but something was sent")
			}
			require.NoError(t, alice.Unlock(ctx), "bob gave up waiting, but alice's lock is gone")
			require.Empty(t, lab.keys(), "bob gave up, alice has left, but something was left behind in Redis")
			require.NoError(t, bob.TryLock(ctx), "the lock is free, but bob, who gave up twice, was refused")
		})
	})
}

// Also passes on step 00, because a lost reply is an error there too, and any error
// except ErrNotAcquired ends the wait.
func TestTheReplyIsLostAndTheContextEnds_LockDoesNotSayThatTheLockIsTaken(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, taken := range []bool{false, true} { // then alice has been refused before
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				free := time.Now()
				if taken {
					require.NoError(t, bob.TryLock(ctx))
					free = free.Add(ttl / 10)
					time.AfterFunc(ttl/10, func() { bob.Unlock(ctx) })
				}
				request, cancel := context.WithCancel(ctx)
				asks := func(command string, nth int) bool { return isWrite(command, nth) && !time.Now().Before(free) }
				lab.inject("alice", &hook{match: asks, again: true, lose: func(*message) bool { cancel(); return true }})
				err := alice.Lock(request)
				require.Error(t, err, "a reply to alice was lost, her context ended, but Lock returned nil")
				require.NotContains(t, err.Error(), "%!",
					"a reply to alice was lost and her context ended, but the error from Lock is not well formed")
				if !taken { // otherwise the error may say what the last reply was
					require.NotErrorIs(t, err, ErrNotAcquired,
						"a reply to alice was lost, her context ended, but the error says that the lock is taken")
				}
			})
		}
	})
}

// Also passes on step 00, because its Lock polls as well.
func TestTheDeadlineMeetsThePoll_LockSaysThatTheLockIsTaken(t *testing.T) {
	each(t, func(t *testing.T) {
		const times = 100
		inLab(t, func(t *T, lab *lab) {
			lab.trace.untold = true
			alice, bob := lab.lockOn("alice", lab.client("alice").nodes, key, time.Hour), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			silent := 0
			for range times { // of two events at the same moment, either may come first
				start := time.Now()
				require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired)
				waiting, cancel := context.WithTimeout(ctx, time.Since(start)+30*time.Millisecond)
				if !errors.Is(bob.Lock(waiting), ErrNotAcquired) {
					silent++
				}
				cancel()
			}
			require.Less(t, silent, times/5,
				"alice holds the lock and bob's deadline coincides with his poll, but in %d of %d runs the error does "+
					"not say that the lock is taken", silent, times)
		})
	})
}

// Also passes on step 00, because it passes on the errors from go-redis as well.
func TestTryLock_RedisDown_IsNotErrNotAcquired(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, fault := range []struct {
			name   string
			fail   func(lab *lab, node int)
			passes func(err error) bool // on the error from go-redis
		}{
			{"unreachable", func(lab *lab, node int) { lab.stop(node) },
				// EOF: within a WATCH
				func(err error) bool { return errors.As(err, new(*net.OpError)) || errors.Is(err, io.EOF) }},
			{"loading", func(lab *lab, node int) {
				lab.server(node).SetError("LOADING Redis is loading the dataset in memory")
			},
				func(err error) bool { return errors.As(err, new(redis.Error)) }},
		} {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				require.NoError(t, alice.TryLock(ctx))
				for node := range nodes {
					fault.fail(lab, node)
				}
				waiting, cancel := context.WithTimeout(ctx, ttl/2) // alice still holds the lock
				defer cancel()
				for i, err := range []error{bob.TryLock(ctx), bob.Lock(waiting), alice.Unlock(ctx)} {
					call := []string{"bob's TryLock", "bob's Lock", "alice's Unlock"}[i]
					require.Error(t, err, "Redis is %s, but %s returned nil", fault.name, call)
					require.NotErrorIs(t, err, ErrNotAcquired,
						"Redis is %s, but %s returned ErrNotAcquired", fault.name, call)
					require.NotErrorIs(t, err, ErrNotHeld, "Redis is %s, but %s returned ErrNotHeld", fault.name, call)
					// A release that is sent again and again until its own time ends may return either error.
					own := call == "alice's Unlock" && errors.Is(err, context.DeadlineExceeded)
					require.True(t, fault.passes(err) || own,
						"Redis is %s, but the error from %s does not wrap the one that says so", fault.name, call)
					require.ErrorContains(t, err, "redislock: ", "the error from %s does not name its package", call)
					require.ErrorContains(t, err, fmt.Sprintf("%q", key),
						"the error from %s does not name the lock's key", call)
				}
			})
		}
	})
}

// Also passes on step 00, because its errors name the key as well.
func TestARefusal_NamesTheLock(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			notHeld := alice.Unlock(ctx)
			require.ErrorIs(t, notHeld, ErrNotHeld, "alice never locked, but Unlock did not return ErrNotHeld")
			require.NoError(t, alice.TryLock(ctx))
			waiting, cancel := context.WithTimeout(ctx, ttl/10)
			defer cancel()
			for call, err := range map[string]error{
				"alice's Unlock": notHeld, "bob's TryLock": bob.TryLock(ctx), "bob's Lock": bob.Lock(waiting),
			} {
				require.ErrorContains(t, err, "redislock: ", "the error from %s does not name its package", call)
				require.ErrorContains(t, err, fmt.Sprintf("%q", key),
					"the error from %s does not name the lock's key", call)
			}
		})
	})
}

// Also passes on step 00, because it returns the first error as well.
func TestACommandFailsAndBobIsInside_AliceIsNot(t *testing.T) {
	each(t, func(t *testing.T) {
		for what, fault := range map[string]*hook{
			"Redis rejected alice's first command": {reply: errors.New("OOM command not allowed")},
			"the reply to alice was lost":          {lose: func(*message) bool { return true }},
		} {
			inLab(t, func(t *T, lab *lab) {
				noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
				alice, bob := lab.lock("alice", noResend), lab.lock("bob")
				require.NoError(t, bob.TryLock(ctx))
				fault.match, fault.again = nthIs(1), true
				lab.inject("alice", fault)
				require.Error(t, alice.TryLock(ctx),
					"bob is inside and %s, but her TryLock returned nil: both are inside", what)
			})
		}
	})
}

// Also passes on step 00, because its Lock polls, and keeps no one out while it waits.
func TestOneGoroutineWaits_AnotherMayTry(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, bob.TryLock(ctx))
			waiting, cancel := context.WithTimeout(ctx, ttl/2)
			defer cancel()
			waited := make(chan error, 1)
			go func() { waited <- alice.Lock(waiting) }()
			time.Sleep(slack(ttl / 10))
			start := time.Now()
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotAcquired,
				"bob is inside and one goroutine of alice waits; another one tried, but was not refused")
			require.Less(t, time.Since(start), slack(ttl/10),
				"one goroutine of alice waits in Lock; another one only tried, but had to wait as well")
			require.ErrorIs(t, <-waited, ErrNotAcquired, "bob is inside, but alice's Lock returned another error")
		})
	})
}

// Also passes on step 00, because it passes on the errors from go-redis as well.
func TestLock_ClientClosedDuringTheWait_IsNotErrNotAcquired(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			start := time.Now()
			time.AfterFunc(ttl/10, func() {
				for _, rdb := range lab.client("bob").nodes {
					rdb.Close()
				}
			})
			waiting, cancel := context.WithTimeout(ctx, ttl/2)
			defer cancel()
			err := bob.Lock(waiting)
			require.Error(t, err, "bob's program closed the client while he waited, but Lock returned nil")
			require.NotErrorIs(t, err, ErrNotAcquired,
				"bob's program closed the client while he waited, but the error says only that the lock is taken")
			require.Less(t, time.Since(start), slack(ttl/5), "bob's program closed the client, but he kept waiting")
			require.NoError(t, alice.Unlock(ctx), "bob's client was closed, but alice's lock is gone")
		})
	})
}

// Also passes on step 00, because each name is its own key there too.
func TestTwoNames_AreTwoLocks(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lockOn("bob", lab.client("bob").nodes, key+"-tea", ttl)
			require.NoError(t, alice.TryLock(ctx))
			require.NoError(t, bob.TryLock(ctx), "alice holds one lock and bob wants another, but he was refused")
			require.NoError(t, bob.Unlock(ctx), "bob holds his lock, but Unlock failed")
			require.ErrorIs(t, bob.Unlock(ctx), ErrNotHeld,
				"bob has left, but his second Unlock did not return ErrNotHeld")
			require.NoError(t, alice.Unlock(ctx), "bob released his lock, but alice's is gone as well")
			require.Empty(t, lab.keys(), "all clients have left, but something was left behind in Redis")
		})
	})
}

// Also passes on step 00, because it validates its arguments before it sends anything as
// well.
func TestBadInput_IsRefusedBeforeAnyCommand(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.client("alice")
			ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"shard": addr(0)}, Dialer: alice.dial})
			defer ring.Close()
			waiting, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			ended, end := context.WithCancel(ctx)
			end()
			var none *redis.Client // a variable that was never set
			for _, mistake := range []struct {
				what string
				lock *lockOf
			}{
				{"key is empty", newLock(alice.nodes, "", ttl)},
				{"client is nil", newLock(make([]redis.UniversalClient, nodes), key, ttl)},
				{"client is nil", newLock(append([]redis.UniversalClient{none}, alice.nodes[1:]...), key, ttl)},
				// If a shard is unreachable, it moves the key to another one: two clients
				// would hold the lock.
				{"client is a Ring", newLock(append([]redis.UniversalClient{ring}, alice.nodes[1:]...), key, ttl)},
			} {
				what, lock := mistake.what, mistake.lock
				for _, err := range []error{lock.TryLock(ctx), lock.Lock(waiting), lock.Lock(ended)} {
					require.ErrorContains(t, err, what, "alice made a mistake, but the error does not name it")
					require.ErrorContains(t, err, "redislock: ")
					require.NotErrorIs(t, err, ErrNotAcquired,
						"alice made a mistake, but the error says that the lock is taken")
				}
				require.ErrorContains(t, lock.Unlock(ctx), what,
					"alice made a mistake, but the error from Unlock does not name it")
			}
			require.Zero(t, lab.sent(), "alice made a mistake, but it was sent to Redis")
		})
	})
}

// Also passes on step 00, because it keeps no state in the handle.
func TestSeveralGoroutinesShareAHandle_TheLockIsFreeAfterwards(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			lab.trace.untold = true
			alice := lab.lock("alice")
			var entered atomic.Int32
			var together sync.WaitGroup
			for i := range 40 {
				together.Go(func() {
					time.Sleep(time.Duration(i) * time.Millisecond / 5) // some leave, others arrive
					if alice.TryLock(ctx) == nil {
						entered.Add(1)
						time.Sleep(time.Millisecond)
						alice.Unlock(ctx)
					}
				})
			}
			together.Wait()
			require.Positive(t, entered.Load(), "the lock was free, but no goroutine got in")
			require.Empty(t, lab.keys(), "every goroutine that locked has unlocked, but the lock is not free")
		})
	})
}

// Also passes on step 00, because DEL returns 0 if there was nothing to delete.
func TestUnlockWithoutTheLock_SaysNotHeld(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice never locked, but Unlock did not return ErrNotHeld")
			require.NoError(t, alice.TryLock(ctx), "the lock is free, but alice was refused")
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice unlocked twice, but the second Unlock did not return ErrNotHeld")
		})
	})
}

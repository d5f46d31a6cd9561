package redislock

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

// Guarantee 1: two clients never hold the lock at once, Unlock lets the next one in, and Lock waits for it.

func TestTwoClientsAtTheSameMoment_ExactlyOneIsInside(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		var bobErr error
		lab.beforeWrite("alice", func() { bobErr = bob.TryLock(ctx) })
		aliceErr := alice.TryLock(ctx)

		require.False(t, aliceErr == nil && bobErr == nil,
			"alice and bob are both inside: she had seen the lock free, he took it, and she took it, too")
		require.NoError(t, bobErr, "the lock was free all through bob's TryLock, and he was refused")
		require.ErrorIs(t, aliceErr, ErrNotAcquired, "bob is inside, and alice was not told so")
	})
}

// Control: with nobody in between, EXISTS and SET do the same.
func TestUnlock_LetsTheNextOneIn(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx), "the lock is free, and alice was refused")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is inside, and bob was not refused")
		require.NoError(t, alice.Unlock(ctx), "alice holds the lock and cannot release it")
		require.NoError(t, bob.TryLock(ctx), "alice has left, and bob was refused")
		require.NoError(t, bob.Unlock(ctx), "bob holds the lock and cannot release it")
		require.Empty(t, lab.keys(), "everybody has left, and something stayed behind in Redis")
	})
}

// Control: a key that is not there cannot be deleted.
func TestUnlockOfAFreeLock_IsErrNotHeld(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice never locked, and Unlock did not say so")
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.Unlock(ctx))
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice unlocked twice, and was not told")
	})
}

// Control: waiting is a matter of asking again.
func TestLock_WaitsAndEntersAfterUnlock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		start := time.Now()
		time.AfterFunc(ttl/2, func() { alice.Unlock(ctx) })

		require.NoError(t, bob.Lock(ctx), "alice left after half a ttl, and bob did not get in")
		require.GreaterOrEqual(t, time.Since(start), ttl/2, "bob entered while alice was inside")
		require.Less(t, time.Since(start), slack(ttl/2+ttl/10), "bob noticed late that alice had left")
	})
}

// Control: waiting is a matter of asking again.
func TestLock_ContextEndsTheWait(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))

		for _, end := range []error{context.DeadlineExceeded, context.Canceled} {
			waiting, cancel := context.WithTimeout(ctx, ttl/5)
			if end == context.Canceled {
				time.AfterFunc(ttl/10, cancel)
			}
			start := time.Now()
			err := bob.Lock(waiting)
			cancel()
			require.ErrorIs(t, err, ErrNotAcquired, "bob gave up, and the error does not say that he has no lock")
			require.ErrorIs(t, err, end, "bob's context ended, and the error does not say so")
			require.LessOrEqual(t, time.Since(start), slack(ttl/5+100*time.Millisecond), "bob waited on after his context had ended")
		}

		require.NoError(t, alice.Unlock(ctx), "alice lost her lock because bob gave up waiting")
		require.Empty(t, lab.keys(), "bob gave up, alice has left, and something stayed behind in Redis")
		require.NoError(t, bob.TryLock(ctx), "bob's handle does not work any more after he gave up once")
	})
}

// Control: it is the key that is locked.
func TestTwoNames_AreTwoLocks(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, carol := lab.lock("alice"), lab.lock("carol")
		bob := lab.lockOn("bob", lab.client("bob").nodes, key+"-tea", ttl)
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, bob.TryLock(ctx), "alice holds one lock, bob wants another one, and was refused")
		require.NoError(t, bob.Unlock(ctx), "bob holds his lock and cannot release it")
		require.ErrorIs(t, carol.TryLock(ctx), ErrNotAcquired, "bob released his lock, and alice's with it: carol is inside with her")
		require.ErrorIs(t, bob.Unlock(ctx), ErrNotHeld, "bob holds nothing any more, and released a lock with another name")
		require.NoError(t, alice.Unlock(ctx), "alice holds her lock and cannot release it")
		require.Empty(t, lab.keys(), "everybody has left, and something stayed behind in Redis")
	})
}

// Control: go-redis asks the context before it sends.
func TestTheContextHasEnded_NothingIsSent(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx)) // connections
		require.NoError(t, alice.Unlock(ctx))
		require.ErrorIs(t, bob.Unlock(ctx), ErrNotHeld)
		sent := func() (n int) {
			for node := range nodes {
				n += lab.server(node).CommandCount()
			}
			return n
		}
		before := sent()

		cancelled, cancel := context.WithCancel(ctx)
		cancel()
		late, cancel := context.WithDeadline(ctx, time.Now().Add(-time.Second))
		defer cancel()
		for _, ended := range []context.Context{cancelled, late} {
			for _, err := range []error{alice.TryLock(ended), alice.Lock(ended)} {
				require.ErrorIs(t, err, ended.Err(), "alice's context had ended before she asked, and the error does not say so")
				require.NotErrorIs(t, err, ErrNotAcquired, "nobody holds the lock, nobody was asked, and alice is told that it is taken")
			}
		}
		require.Equal(t, before, sent(), "alice's context had ended before she asked, and something was sent")
		require.NoError(t, bob.TryLock(ctx), "alice did not get the lock, and it is not free")
	})
}

// Control: a lost reply is an error, and an error that is no refusal ends the wait.
func TestTheReplyIsLostAndTheContextEnds_LockDoesNotSayThatTheLockIsTaken(t *testing.T) {
	for _, waits := range []bool{false, true} {
		t.Run(map[bool]string{false: "at once", true: "after waiting"}[waits], func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				request, cancel := context.WithCancel(ctx)
				defer cancel()
				if waits {
					require.NoError(t, bob.TryLock(ctx))
					var once sync.Once
					lab.announce("alice", &twist{match: nthIs(3), again: true, // she has been refused
						before: func() { once.Do(func() { bob.Unlock(ctx) }) },
						lose:   func(*message) bool { cancel(); return true }})
				} else {
					lab.loseReply("alice", cancel)
				}
				err := alice.Lock(request)
				require.ErrorIs(t, err, context.Canceled, "alice's context ended, and the error does not say so")
				require.NotErrorIs(t, err, ErrNotAcquired,
					"Redis gave alice the lock, the reply was lost, her context ended, and she is told that somebody else has the lock")
			})
		})
	}
}

// Control: it needs no more than passing on the errors of go-redis.
func TestTheClientIsClosedWhileSomebodyWaits_LockSaysSo(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		closed := time.Now().Add(ttl / 10)
		time.AfterFunc(ttl/10, func() {
			for _, rdb := range lab.client("bob").nodes {
				rdb.Close()
			}
		})
		waiting, cancel := context.WithTimeout(ctx, ttl/2)
		defer cancel()
		err := bob.Lock(waiting)
		require.ErrorIs(t, err, redis.ErrClosed, "bob's program closed the client while he waited, and the error does not say so")
		require.Less(t, time.Since(closed), slack(200*time.Millisecond), "bob's program closed the client, and he waited on")
		require.NoError(t, alice.Unlock(ctx), "bob's client was closed, and alice lost her lock")
	})
}

// Control: it needs no more than passing on the errors of go-redis.
func TestRedisIsDown_AnErrorIsNotAnAnswer(t *testing.T) {
	for _, fault := range []struct {
		name  string
		fail  func(lab *lab, node int)
		cause any // a pointer to the type of the client's own error
	}{
		{"unreachable", func(lab *lab, node int) { lab.stop(node) }, new(*net.OpError)},
		{"loading", func(lab *lab, node int) {
			lab.server(node).SetError("LOADING Redis is loading the dataset in memory")
			lab.fault("Redis is loading")
		}, new(redis.Error)},
	} {
		t.Run(fault.name, func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				require.NoError(t, alice.TryLock(ctx))
				for node := range nodes {
					fault.fail(lab, node)
				}
				requireTrouble := func(err error, what string) {
					t.Helper()
					require.Error(t, err, "Redis is %s, and %s says that all is well", fault.name, what)
					require.NotErrorIs(t, err, ErrNotAcquired, "Redis is %s, and %s reports a holder", fault.name, what)
					require.NotErrorIs(t, err, ErrNotHeld, "Redis is %s, and %s reports that nothing is held", fault.name, what)
					require.ErrorAs(t, err, fault.cause, "Redis is %s, and %s does not pass on the error of go-redis", fault.name, what)
					require.ErrorContains(t, err, "redislock: ", "%s does not say who speaks", what)
					require.ErrorContains(t, err, fmt.Sprintf("%q", key), "%s does not say which lock it is about", what)
				}
				waiting, cancel := context.WithTimeout(ctx, ttl)
				defer cancel()
				requireTrouble(bob.TryLock(ctx), "bob's TryLock")
				requireTrouble(bob.Lock(waiting), "bob's Lock")
				requireTrouble(alice.Unlock(ctx), "alice's Unlock")
			})
		})
	}
}

// Control: it asks nothing of Redis.
func TestBadInput_IsRefusedBeforeAnyCommand(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		ring := redis.NewRing(&redis.RingOptions{
			Addrs: map[string]string{"one": "127.0.0.1:1", "two": "127.0.0.1:2"},
			Dialer: func(context.Context, string, string) (net.Conn, error) {
				t.Error("a Ring was to be refused before anything is sent, and it was dialled")
				return nil, net.ErrClosed
			},
			HeartbeatFrequency: time.Hour, // it asks by itself whether its shards are there
		})
		defer ring.Close()
		withRing := slices.Clone(lab.client("alice").nodes)
		withRing[nodes-1] = ring
		for what, lock := range map[string]*Lock{
			"the key is empty": newLock(lab.client("alice").nodes, "", ttl),
			"client is nil":    newLock(make([]redis.UniversalClient, nodes), key, ttl),
			// When a shard is unreachable, it moves the key to another one: two would hold the lock.
			"client is a Ring": newLock(withRing, key, ttl),
		} {
			waiting, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			ended, end := context.WithCancel(ctx)
			end()
			for _, err := range []error{lock.TryLock(ctx), lock.Lock(waiting), lock.Lock(ended)} {
				require.ErrorContains(t, err, what, "alice made a mistake, and the error does not name it")
				require.ErrorContains(t, err, "redislock: ")
				require.NotErrorIs(t, err, ErrNotAcquired, "alice made a mistake, and is told that somebody holds the lock")
			}
			require.Error(t, lock.Unlock(ctx), "alice made a mistake, and Unlock says that all is well")
		}
		require.Zero(t, lab.sent(), "alice made a mistake, and it was sent to Redis")
	})
}

// Control: these locks keep nothing in the handle.
func TestOneHandleInSeveralGoroutines_IsNotTornApart(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		lab.trace.untold = true
		alice := lab.lock("alice")
		var together errgroup.Group
		var entered atomic.Int32
		for range 8 {
			together.Go(func() error {
				for range 5 {
					if alice.TryLock(ctx) == nil {
						entered.Add(1)
						time.Sleep(time.Millisecond)
						alice.Unlock(ctx)
					}
				}
				return nil
			})
		}
		together.Wait()
		require.Positive(t, entered.Load(), "the lock was free, and no goroutine got in")
		require.Empty(t, lab.keys(), "every goroutine that locked has unlocked, and the lock is not free")
	})
}

// Three servers sell the same 100 coupons to 120 customers, four at a time each.
func TestCouponShop_SellsEachCouponOnce(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		sold, left := sellCoupons(t, lab, func(name string) (enter, leave func(context.Context) error) {
			lock := lab.lock(name)
			return lock.Lock, lock.Unlock
		})
		require.Equal(t, 100, sold+left, "%d sold, %d left: the lock let two sellers in, and one overwrote the other", sold, left)
		require.Equal(t, 0, left, "120 customers came, and %d of 100 coupons are left", left)
	})
}

// sellCoupons sells coupons as the articles do: read the stock, think, write it back.
func sellCoupons(t *T, lab *lab, door func(name string) (enter, leave func(context.Context) error)) (sold, left int) {
	lab.trace.untold = true
	owner := lab.client("owner").nodes[0]
	require.NoError(t, owner.Set(ctx, key+"-stock", 100, 0).Err())

	var customers, served atomic.Int32
	var sellers errgroup.Group
	for i := range 12 {
		server := fmt.Sprintf("server-%d", 1+i%3)
		enter, leave := door(server)
		stock := lab.client(server).nodes[0]
		sell := func() error {
			if err := enter(ctx); err != nil {
				return err
			}
			defer leave(ctx)
			n, err := stock.Get(ctx, key+"-stock").Int()
			if err != nil || n == 0 {
				return err
			}
			time.Sleep(5 * time.Millisecond) // think
			served.Add(1)
			return stock.Set(ctx, key+"-stock", n-1, 0).Err()
		}
		sellers.Go(func() error {
			for customers.Add(1) <= 120 {
				if err := sell(); err != nil {
					return err
				}
			}
			return nil
		})
	}
	require.NoError(t, sellers.Wait(), "a seller could not enter, or not reach the stock")
	left, err := owner.Get(ctx, key+"-stock").Int()
	require.NoError(t, err)
	require.GreaterOrEqual(t, left, 0, "more coupons were sold than there are")
	return int(served.Load()), left
}

package redislock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Guarantee 6, second part: those who wait are woken, they do not poll. Step 08 gives this up again: a message from
// one node says nothing about the majority, so there waiters ask again after a random delay.

func TestAWaiter_SendsNothingAndEntersInTheMillisecondOfTheRelease(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		limitHold(alice, time.Millisecond) // from step 07 on, her renewals would count
		require.NoError(t, alice.TryLock(ctx))
		entered := inBackground(func() error { return bob.Lock(ctx) })

		time.Sleep(slack(ttl / 10))
		before := lab.server(0).CommandCount()
		time.Sleep(ttl / 5)
		require.Equal(t, before, lab.server(0).CommandCount(), "bob waits, and asks again and again")

		released := time.Now()
		require.NoError(t, alice.Unlock(ctx))
		bobIn := <-entered
		require.NoError(t, bobIn.err, "alice has left, and bob did not get in")
		require.Less(t, bobIn.at.Sub(released), slack(time.Millisecond), "alice has left, and bob slept on")
	})
}

func TestTheLockIsReleasedBeforeTheWaiterListens_TheReleaseIsNotMissed(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		refused := time.Now()
		lab.afterNth("bob", 1, func() { alice.Unlock(ctx) })
		require.NoError(t, bob.Lock(ctx))
		require.Less(t, time.Since(refused), slack(10*time.Millisecond),
			"alice left after bob was refused and before he listened: he waits for a message that was sent already")
	})
}

func TestTheHolderDies_TheWaiterEntersWhenTheTTLEnds(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		start := time.Now()
		require.NoError(t, alice.TryLock(ctx))
		lab.crash("alice")
		require.NoError(t, bob.Lock(ctx))
		require.GreaterOrEqual(t, time.Since(start), ttl, "bob entered before the dead holder's ttl was over")
		require.Less(t, time.Since(start), slack(ttl+2*time.Millisecond), "the dead holder's ttl was over, and bob slept on")
	})
}

// Control: who polls listens to nobody.
func TestTheWaitersSubscriptionBreaks_TheReleaseIsNotMissed(t *testing.T) {
	for _, later := range []time.Duration{time.Millisecond, ttl / 10} { // it takes go-redis 40ms to subscribe again
		t.Run(fmt.Sprint("released ", later, " later"), func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				limitHold(alice, time.Millisecond) // from step 07 on, she does not renew in between
				require.NoError(t, alice.TryLock(ctx))
				entered := inBackground(func() error { return bob.Lock(ctx) })
				time.Sleep(slack(ttl / 10))
				lab.far("bob", 20*time.Millisecond)
				lab.client("bob").hangUp(func(w *wire) bool { return w.listens.Load() })
				lab.note("the connection on which bob listens breaks")
				time.Sleep(later)

				released := time.Now()
				require.NoError(t, alice.Unlock(ctx))
				bobIn := <-entered
				require.NoError(t, bobIn.err, "bob's subscription broke, and he did not get in")
				require.Less(t, bobIn.at.Sub(released), slack(200*time.Millisecond), "bob's subscription broke, alice has left, and he slept on")
			})
		})
	}
}

// Control: who polls is not told less after a restart.
func TestRedisIsAwayWhileSomebodyWaits_HeGetsInAfterwards(t *testing.T) {
	for _, keeps := range []bool{true, false} {
		t.Run(map[bool]string{true: "it keeps its keys", false: "it loses its keys"}[keeps], func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				limitHold(alice, time.Millisecond)
				require.NoError(t, alice.TryLock(ctx))
				entered := inBackground(func() error { return bob.Lock(ctx) })
				time.Sleep(slack(ttl / 10))

				up := lab.stop(0)
				time.Sleep(10 * time.Millisecond)
				if !keeps {
					lab.endLease()
				}
				up()

				free := time.Now()
				if keeps {
					time.Sleep(ttl / 10)
					select {
					case <-entered:
						require.Fail(t, "Redis kept alice's lock over its restart, and bob is inside with her")
					default:
					}
					free = time.Now()
					require.NoError(t, alice.Unlock(ctx), "Redis kept alice's lock over its restart, and she cannot release it")
				}
				bobIn := <-entered
				require.NoError(t, bobIn.err, "Redis is back, the lock is free, and bob did not get in")
				require.Less(t, bobIn.at.Sub(free), slack(200*time.Millisecond), "Redis is back, the lock is free, and bob slept on")
			})
		})
	}
}

// Control: who polls depends on nobody's message.
func TestManyWaitersGiveUpAroundTheRelease_TheLockIsFreeAndNobodyIsStuck(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		lab.trace.untold = true
		alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
		limitHold(alice, time.Millisecond)
		require.NoError(t, alice.TryLock(ctx))
		release := time.Now().Add(ttl / 2)
		var waiters []<-chan result
		for i := range 40 { // from a millisecond before the release to three after it
			handle := lab.lock(fmt.Sprint("customer-", i))
			waiters = append(waiters, inBackground(func() error {
				end := release.Add(time.Duration(i-10) * 100 * time.Microsecond)
				waiting, cancel := context.WithCancel(ctx)
				if i%2 == 0 {
					waiting, cancel = context.WithDeadline(ctx, end)
				}
				defer cancel()
				time.AfterFunc(time.Until(end), cancel)
				err := handle.Lock(waiting)
				if err == nil {
					return handle.Unlock(ctx)
				}
				return err
			}))
		}
		entered := inBackground(func() error { return bob.Lock(ctx) })
		time.Sleep(time.Until(release))
		require.NoError(t, alice.Unlock(ctx))

		for i, waiter := range waiters {
			if err := (<-waiter).err; err != nil {
				require.True(t, errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded),
					"customer %d gave up around the release, and the error does not say so: %v", i, err)
			}
		}
		bobIn := <-entered
		require.NoError(t, bobIn.err, "others gave up around the release, and bob, who did not, is not in")
		require.Less(t, bobIn.at.Sub(release), slack(ttl/10), "others gave up around the release, and bob, who did not, slept on")
		require.NoError(t, bob.Unlock(ctx), "bob holds the lock and cannot release it")
		require.Empty(t, lab.keys(), "everybody has left or given up, and the lock is not free")
		require.NoError(t, carol.TryLock(ctx), "everybody has left or given up, and carol was refused")
		requireNobodyListens(t)
	})
}

// Control: nobody publishes.
func TestTheHolderMayNotPublish_ItsReleaseIsNoFailure(t *testing.T) {
	inForbidden(t, "PUBLISH", func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.Unlock(ctx), "alice's user has no right to publish, her lock is released, and Unlock says that it is not")
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice unlocked once too often, and was not told")
		require.NoError(t, bob.TryLock(ctx), "alice has left, and bob was refused")
	})
}

// Control: nobody subscribes.
func TestTheWaiterMayNotSubscribe_HeGetsInWhenTheLeaseEnds(t *testing.T) {
	inForbidden(t, "SUBSCRIBE", func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		limitHold(alice, time.Millisecond)
		require.NoError(t, alice.TryLock(ctx))
		start := time.Now()
		time.AfterFunc(ttl/2, func() { alice.Unlock(ctx) }) // he cannot hear it
		require.NoError(t, bob.Lock(ctx), "bob's user has no right to subscribe, and he did not get in")
		require.LessOrEqual(t, time.Since(start), slack(ttl+2*time.Millisecond), "the lease was over, and bob slept on")
		requireNobodyListens(t)
	})
}

// inForbidden plays a story on a Redis whose user may not run a command, not in a script either.
func inForbidden(t *testing.T, command string, story func(t *T, lab *lab)) {
	t.Helper()
	needsVirtualTime(t, "it needs a user with other rights, see docs/realfaults")
	inLab(t, func(t *T, lab *lab) {
		for node := range nodes {
			memory := lab.server(node).backend.(*miniredis.Miniredis)
			memory.Server().SetPreHook(func(peer *miniserver.Peer, cmd string, _ ...string) bool {
				if cmd == command {
					peer.WriteError("NOPERM this user has no permissions to access one of the channels used as arguments")
				}
				return cmd == command
			})
		}
		lab.note("this user may not %s", command)
		story(t, lab)
	})
}

func TestAStrangerPublishesUnderTheKeysName_TheWaitersAreNotDisturbed(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		limitHold(alice, time.Millisecond)
		require.NoError(t, alice.TryLock(ctx))
		waiters := queue(lab)
		before := lab.sentByCustomers()
		lab.flood(key)
		time.Sleep(ttl / 10)
		require.Equal(t, before, lab.sentByCustomers(),
			"somebody uses a channel with the name of the key for something else, and those who wait ask for the lock at his messages")

		lab.flood(key)
		require.NoError(t, alice.Unlock(ctx))
		requireServed(t, waiters)
	})
}

// Control: who polls asks no more often.
func TestAStrangerPublishesOnTheLocksChannel_TheWaitersAskNowAndThen(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		limitHold(alice, time.Millisecond)
		require.NoError(t, alice.TryLock(ctx))
		waiters := queue(lab)
		before := lab.sentByCustomers()
		lab.flood("redislock:" + key)
		time.Sleep(ttl / 10)
		// go-redis keeps a hundred messages for a waiter. One question is the answer to all of them.
		asked := (lab.sentByCustomers() - before) / len(waiters)
		require.Less(t, asked, 2000/20, "2,000 messages came at once, and those who wait asked again and again")

		lab.flood("redislock:" + key)
		require.NoError(t, alice.Unlock(ctx))
		requireServed(t, waiters)
	})
}

// queue lets five customers wait for the lock, to leave as soon as they have it.
func queue(lab *lab) (waiters []<-chan result) {
	lab.trace.untold = true
	for i := range 5 {
		handle := lab.lock(fmt.Sprint("customer-", i), withSocketBuffer)
		waiters = append(waiters, inBackground(func() error {
			if err := handle.Lock(ctx); err != nil {
				return err
			}
			return handle.Unlock(ctx)
		}))
	}
	time.Sleep(slack(ttl / 10))
	return waiters
}

func requireServed(t *T, waiters []<-chan result) {
	t.Helper()
	for _, waiter := range waiters {
		require.NoError(t, (<-waiter).err, "alice has left, and somebody who waited did not get in, or could not leave")
	}
	requireNobodyListens(t)
}

// requireNobodyListens fails when a goroutine of go-redis is left that has a message which nobody takes.
func requireNobodyListens(t *T) {
	t.Helper()
	time.Sleep(slack(200 * time.Millisecond)) // after an error, go-redis pauses for half of that
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	require.Zero(t, bytes.Count(stacks, []byte("created by github.com/redis/go-redis/v9.(*channel)")),
		"nobody waits any more, and goroutines of go-redis stayed behind")
}

// sentByCustomers returns how many commands those who wait have sent so far.
func (l *lab) sentByCustomers() int {
	return l.sent(func(r *record) bool { return strings.HasPrefix(r.Who, "customer") })
}

// flood sends 2,000 messages to a channel, at once.
func (l *lab) flood(channel string) {
	for _, rdb := range l.client("stranger").nodes {
		rdb.Eval(ctx, "for i = 1, 2000 do redis.call('PUBLISH', ARGV[1], 'hello') end", nil, channel)
	}
}

// withSocketBuffer takes what comes from Redis at once, however late it is read. Without it, a server in memory waits for
// its slowest reader.
func withSocketBuffer(opt *redis.Options) {
	dial := opt.Dialer
	opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := dial(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		near, far := net.Pipe()
		arrived := make(chan []byte, 10_000)
		go func() {
			defer close(arrived)
			for {
				b := make([]byte, 1000)
				n, err := conn.Read(b)
				if err != nil {
					return
				}
				arrived <- b[:n]
			}
		}()
		go func() {
			defer far.Close()
			for b := range arrived {
				far.Write(b)
			}
		}()
		return buffered{near, conn}, nil
	}
}

type buffered struct {
	net.Conn // to read from
	wire     net.Conn
}

func (b buffered) Write(p []byte) (int, error) { return b.wire.Write(p) }

func (b buffered) Close() error {
	b.Conn.Close()
	return b.wire.Close()
}

type result struct {
	err error
	at  time.Time
}

// inBackground starts what takes its time, and returns where its result will come.
func inBackground(fn func() error) <-chan result {
	done := make(chan result, 1)
	go func() {
		err := fn()
		done <- result{err, time.Now()}
	}()
	return done
}

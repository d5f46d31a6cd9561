package redislock

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// More about waiters: subscriptions that break, crowds, strangers and missing rights.

// Also passes on step 05, because that lock polls and needs no message.
func TestTheSubscriptionDiesSilently_TheWaiterEntersWithinTenSeconds(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			const lease = time.Minute // also on real servers, where ttl is shorter than ten seconds
			var deaf atomic.Bool
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, lease)
			bob := lab.lockOn("bob", lab.client("bob", hearsUntil(&deaf)).nodes, key, lease)
			require.NoError(t, alice.TryLock(ctx))
			entered := inBackground(func() error { return bob.Lock(ctx) })
			time.Sleep(ttl / 2)
			lab.fault("the connection on which bob listens dies silently, new ones work")
			deaf.Store(true)
			lab.client("bob").hangUp(func(w *wire) bool { // that is, none: the lab's end is deaf as well
				w.silent.Store(w.listens.Load())
				return false
			})
			released := time.Now()
			require.NoError(t, alice.Unlock(ctx))
			requireEntered(t, <-entered, released, 10*time.Second, "alice has left, bob's subscription has died silently")
		})
	})
}

// hearsUntil makes a client whose subscriptions receive nothing once deaf is set.
func hearsUntil(deaf *atomic.Bool) func(*redis.Options) {
	return func(opt *redis.Options) {
		dial := opt.Dialer
		opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return &hearing{Conn: conn, deaf: deaf}, err
		}
	}
}

type hearing struct {
	net.Conn
	deaf    *atomic.Bool
	listens atomic.Bool
}

func (h *hearing) Write(p []byte) (int, error) {
	if bytes.Contains(bytes.ToLower(p), []byte("subscribe")) {
		h.listens.Store(true)
	}
	return h.Conn.Write(p)
}

func (h *hearing) Read(p []byte) (int, error) {
	for {
		if n, err := h.Conn.Read(p); err != nil || !h.listens.Load() || !h.deaf.Load() {
			return n, err
		}
	}
}

// Also passes on step 05, because that lock waits at least 15ms between two attempts.
func TestTheLeaseIsNearlyOver_TheWaiterDoesNotAskAgainAndAgain(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "bob must arrive in the last millisecond of the lease")
		for _, left := range []time.Duration{900 * time.Microsecond, 14 * time.Millisecond} {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				limitHold(alice, time.Millisecond)
				end := time.Now().Add(ttl)
				require.NoError(t, alice.TryLock(ctx))
				time.Sleep(time.Until(end) - left)
				err := bob.Lock(ctx)
				requireEntered(t, result{err, time.Now()}, end, ttl/100, "alice's ttl has expired")
				sent := lab.sent(func(r *record) bool { return r.Who == "bob" })
				require.LessOrEqual(t, sent, 4,
					"alice's lease had %v left, but bob sent %d commands in that time: with a thousand waiters, that is "+
						"a storm", left, sent)
			})
		}
	})
}

// Also passes on step 05, because that lock waits at least 15ms between two attempts,
// whatever the TTL is.
func TestTheTTLIsBeyondWhatADurationHolds_TheWaiterStillPauses(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "Redis must reply with a TTL that it has not")
		inLab(t, func(t *T, lab *lab) {
			const years = 400 // a time.Duration ends after 292
			alice, bob := lab.lock("alice"), lab.lock("bob")
			limitHold(alice, time.Millisecond)
			require.NoError(t, alice.TryLock(ctx))
			lab.fault("an operator sets the TTL of alice's key to %d years", years)
			for node := range nodes {
				memory := lab.server(node).backend.(*miniredis.Miniredis)
				memory.Server().SetPreHook(func(peer *miniserver.Peer, cmd string, _ ...string) bool {
					if cmd == "PTTL" {
						peer.WriteInt(years * 365 * 24 * 60 * 60 * 1000)
					}
					return cmd == "PTTL"
				})
			}
			err := bob.TryLock(ctx)
			require.ErrorIs(t, err, ErrNotAcquired, "alice is inside, but bob's error does not say so")
			require.NotRegexp(t, `-\d`, err.Error(),
				"alice's lock has a TTL of %d years, but bob's error says that it is negative", years)
			waiting, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			before := lab.sent()
			require.ErrorIs(t, bob.Lock(waiting), ErrNotAcquired, "alice is inside, but bob's error does not say so")
			asked := lab.sent() - before
			require.LessOrEqual(t, asked, 20,
				"alice's lock has a TTL of %d years, but bob sent %d commands in 100ms: that is a storm", years, asked)
		})
	})
}

// Also passes on step 05, because that lock polls and has no subscription.
func TestTheWaitersSubscriptionBreaks_TheReleaseIsNotMissed(t *testing.T) {
	each(t, func(t *testing.T) {
		// It takes go-redis 40ms to subscribe again.
		for _, later := range []time.Duration{time.Millisecond, ttl / 10} {
			t.Run(fmt.Sprint("released ", later, " later"), func(t *testing.T) {
				inLab(t, func(t *T, lab *lab) {
					alice, bob := lab.lock("alice"), lab.lock("bob")
					limitHold(alice, time.Millisecond) // from step 07 on, she does not renew in between
					require.NoError(t, alice.TryLock(ctx))
					entered := inBackground(func() error { return bob.Lock(ctx) })
					time.Sleep(slack(ttl / 10))
					lab.far("bob", 20*time.Millisecond)
					lab.client("bob").hangUp(func(w *wire) bool { return w.listens.Load() })
					lab.note("the connection on which bob listens breaks, if he has one")
					time.Sleep(later)

					released := time.Now()
					require.NoError(t, alice.Unlock(ctx))
					requireEntered(t, <-entered, released, 200*time.Millisecond, "bob's subscription broke, alice has left")
				})
			})
		}
	})
}

// Also passes on step 05, because that lock polls, and polling works again after a
// restart.
func TestLock_RedisAwayDuringTheWait_EntersAfterwards(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, keeps := range []bool{true, false} {
			t.Run(map[bool]string{true: "it keeps its keys", false: "it loses its keys"}[keeps], func(t *testing.T) {
				inLab(t, func(t *T, lab *lab) {
					alice, bob := lab.lock("alice"), lab.lock("bob")
					limitHold(alice, time.Millisecond)
					require.NoError(t, alice.TryLock(ctx))
					entered := inBackground(func() error { return bob.Lock(ctx) })
					// He listens, or has polled and waits for at least 15ms.
					time.Sleep(slack(2 * time.Millisecond))

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
						case bob := <-entered:
							require.NoError(t, bob.err, "Redis was away for 10ms, but bob's Lock did not wait any longer")
							require.Fail(t, "Redis kept alice's lock across its restart, but bob is inside with her")
						default:
						}
						free = time.Now()
						require.NoError(t, alice.Unlock(ctx),
							"Redis kept alice's lock across its restart, but she cannot release it")
					}
					requireEntered(t, <-entered, free, 200*time.Millisecond, "Redis is back, the lock is free")
				})
			})
		}
	})
}

// Also passes on step 05, because that lock polls and needs no message.
func TestManyWaitersGiveUpAroundTheRelease_TheLockIsFreeAndNobodyIsStuck(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			lab.trace.untold = true
			alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
			limitHold(alice, time.Millisecond)
			require.NoError(t, alice.TryLock(ctx))
			release := time.Now().Add(ttl / 2)
			var waiters []<-chan result
			for i := range 40 { // from a millisecond before the release to three milliseconds after it
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
						"customer %d gave up around the release, but the error does not say so: %v", i, err)
				}
			}
			requireEntered(t, <-entered, release, ttl/10, "others gave up around the release")
			require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
			require.Empty(t, lab.keys(), "all clients have left or given up, but the lock is not free")
			require.NoError(t, carol.TryLock(ctx), "all clients have left or given up, but carol was refused")
			requireNobodyListens(t)
		})
	})
}

// Also passes on step 05, because that lock publishes nothing.
func TestTheHolderMayNotPublish_ItsReleaseIsNoFailure(t *testing.T) {
	each(t, func(t *testing.T) {
		inForbidden(t, "PUBLISH", func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			require.NoError(t, alice.Unlock(ctx),
				"alice's user has no right to publish and her lock is released, but Unlock returned an error")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice unlocked once too often, but her Unlock did not return ErrNotHeld")
			require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
		})
	})
}

// Also passes on step 05, because that lock does not subscribe.
func TestTheWaiterMayNotSubscribe_HeGetsInWhenTheLeaseEnds(t *testing.T) {
	each(t, func(t *testing.T) {
		inForbidden(t, "SUBSCRIBE", func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			limitHold(alice, time.Millisecond)
			require.NoError(t, alice.TryLock(ctx))
			end := time.Now().Add(ttl)
			time.AfterFunc(ttl/2, func() { alice.Unlock(ctx) }) // he cannot hear it
			err := bob.Lock(ctx)
			requireEntered(t, result{err, time.Now()}, end, 2*time.Millisecond, "alice's lease would have expired")
			requireNobodyListens(t)
		})
	})
}

// inForbidden plays a story on a Redis whose user may not run a command, not even in a
// script.
func inForbidden(t *testing.T, command string, story func(t *T, lab *lab)) {
	t.Helper()
	needsVirtualTime(t, "it needs a user with other rights, see docs/keep/realfaults")
	inLab(t, func(t *T, lab *lab) {
		for node := range nodes {
			memory := lab.server(node).backend.(*miniredis.Miniredis)
			memory.Server().SetPreHook(func(peer *miniserver.Peer, cmd string, _ ...string) bool {
				if cmd == command {
					peer.WriteError(
						"NOPERM this user has no permissions to access one of the channels used as arguments")
				}
				return cmd == command
			})
		}
		lab.note("this user may not %s", command)
		story(t, lab)
	})
}

// Also passes on step 05, because that lock polls at about the same rate, whatever is
// published.
func TestAStrangerPublishes_TheWaitersAreNotDisturbed(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, channel := range []struct{ whose, prefix string }{{"of the key's name", ""}, {"of the lock", "redislock:"}} {
			t.Run("on the channel "+channel.whose, func(t *testing.T) {
				inLab(t, func(t *T, lab *lab) {
					alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl)
					limitHold(alice, time.Millisecond)
					require.NoError(t, alice.TryLock(ctx))
					waiters := queue(lab)
					asked := func(during func()) int {
						before := lab.sentByCustomers()
						during()
						time.Sleep(ttl / 10)
						return lab.sentByCustomers() - before
					}
					before := asked(func() {})
					after := asked(func() { lab.flood(channel.prefix + key) })
					require.LessOrEqual(t, after, before+before/4+99*len(waiters),
						"a stranger published 2,000 messages: the waiters sent %d commands in the %v before, and %d in "+
							"the %[2]v after", before, ttl/10, after)

					lab.flood(channel.prefix + key)
					require.NoError(t, alice.Unlock(ctx))
					for _, waiter := range waiters {
						require.NoError(t, (<-waiter).err, "alice has left, but a waiter did not get in or could not leave")
					}
					requireNobodyListens(t)
				})
			})
		}
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

// requireNobodyListens fails if go-redis has a goroutine left that waits to deliver a
// message.
func requireNobodyListens(t *T) {
	t.Helper()
	time.Sleep(slack(200 * time.Millisecond)) // after an error, go-redis pauses for half of that
	stacks := make([]byte, 4<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	require.Zero(t, bytes.Count(stacks, []byte("created by github.com/redis/go-redis/v9.(*channel)")),
		"no one waits any longer, but goroutines of go-redis were left behind")
}

// sentByCustomers returns how many commands the waiters have sent so far.
func (l *lab) sentByCustomers() int {
	return l.sent(func(r *record) bool { return strings.HasPrefix(r.Who, "customer") })
}

// flood sends 2,000 messages to a channel, at once.
func (l *lab) flood(channel string) {
	for _, rdb := range l.client("stranger").nodes {
		rdb.Eval(ctx, "for i = 1, 2000 do redis.call('PUBLISH', ARGV[1], 'hello') end", nil, channel)
	}
}

// withSocketBuffer accepts everything that Redis sends at once, however late it is read.
// Without it, an in-memory server waits for its slowest reader.
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

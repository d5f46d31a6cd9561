package redislock

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// On one Redis: how a wait ends, how waiters keep out of each other's way, and how often
// Unlock asks again.

func TestTheContextEndsAsTheLockIsGranted_LockReturnsNil(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, bob.TryLock(ctx))
			request, cancel := context.WithCancel(ctx)
			writes := 0
			granted := func(command string, nth int) bool { // the second attempt: bob leaves just before it
				if isWrite(command, nth) {
					writes++
				}
				return writes == 2
			}
			lab.inject("alice", &hook{match: granted, before: func() { bob.Unlock(ctx) }, after: cancel})
			require.NoError(t, alice.Lock(request),
				"alice's context ended as she was granted the lock; Lock returned an error, but she holds it")
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
		})
	})
}

func TestTheContextEndsDuringAnAttempt_TheErrorSaysEachThingOnce(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, attempt := range []int{1, 2} {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				require.NoError(t, bob.TryLock(ctx))
				request, cancel := context.WithCancel(ctx)
				writes := 0
				lab.inject("alice", &hook{after: cancel, match: func(command string, nth int) bool {
					if isWrite(command, nth) {
						writes++
					}
					return writes == attempt
				}})
				err := alice.Lock(request)
				require.ErrorIs(t, err, context.Canceled, "alice's context ended, but the error does not say so")
				require.Equal(t, 1, strings.Count(err.Error(), ErrNotAcquired.Error()),
					"alice was refused, and her error should say once that the lock is taken: %v", err)
				require.Equal(t, 1, strings.Count(err.Error(), context.Canceled.Error()),
					"alice's context ended, and her error should say so once: %v", err)
				require.NotContains(t, err.Error(), "%!", "the error from alice's Lock is not well formed")
			})
		}
	})
}

func TestTwentyWait_TheyDoNotPollInStep(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "it is about milliseconds")
		inLab(t, func(t *T, lab *lab) {
			lab.trace.untold = true
			holder := lab.lock("holder")
			require.NoError(t, holder.TryLock(ctx))
			var all sync.WaitGroup
			for range 20 {
				waiter := lab.lockOn("waiter", lab.client("waiter").nodes, key, ttl)
				all.Go(func() {
					waiter.lockOf.Lock(ctx)
					time.Sleep(time.Millisecond)
					waiter.lockOf.Unlock(ctx)
				})
			}
			time.Sleep(time.Second)
			start := time.Now()
			require.NoError(t, holder.Unlock(ctx))
			all.Wait()
			took := time.Since(start)
			require.Less(t, took, 400*time.Millisecond,
				"20 clients wait, and each is inside for 1ms, but the last one left only after %v: one enters at each "+
					"poll", took)
		})
	})
}

func TestTheClientIsClosed_UnlockSaysSoAtOnce(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			require.NoError(t, lab.client("alice").nodes[0].Close())
			start := time.Now()
			require.ErrorIs(t, alice.Unlock(ctx), redis.ErrClosed,
				"alice closed her client before Unlock, but the error does not say so")
			took := time.Since(start)
			require.Less(t, took, slack(50*time.Millisecond), "alice's client is closed for good, but Unlock took %v", took)
		})
	})
}

func TestAReplyIsLost_UnlockAsksAgainAtOnce(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			lab.loseReply("alice")
			start := time.Now()
			require.NoError(t, alice.Unlock(ctx), "alice's release has run and its reply was lost, but Unlock failed")
			took := time.Since(start)
			require.Less(t, took, slack(50*time.Millisecond), "one reply was lost, and alice's Unlock took %v", took)
		})
	})
}

func TestConnectionsBreakForAMoment_UnlockGetsThrough(t *testing.T) {
	each(t, func(t *testing.T) {
		type fault struct {
			what string
			hook *hook
		}
		faults := []fault{{"accepted connections and closed them", &hook{lose: func(*message) bool { return true }}}}
		for _, reply := range []string{"LOADING", "READONLY", "CLUSTERDOWN", "TRYAGAIN", "MASTERDOWN", "NOREPLICAS",
			"ERR max number of clients reached"} {
			faults = append(faults, fault{"replied " + reply, &hook{reply: errors.New(reply + " soon over")}})
		}
		for _, fault := range faults {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				require.NoError(t, alice.TryLock(ctx))
				fault.hook.match, fault.hook.again = isWrite, true
				lab.inject("alice", fault.hook)
				time.AfterFunc(150*time.Millisecond, func() { lab.removeHooks("alice") })
				require.NoError(t, alice.Unlock(ctx), "Redis %s for 150ms, but alice's Unlock gave up", fault.what)
				require.Empty(t, lab.keys(), "alice's Unlock returned nil, but something was left behind in Redis")
			})
		}
	})
}

func TestNoConnectionComesFree_UnlockIsAnError(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl) // Unlock tries for 3s
			require.NoError(t, alice.TryLock(ctx))
			var err error
			sendNothing(lab.client("alice"), context.DeadlineExceeded, func() { err = alice.Unlock(ctx) })
			require.Error(t, err, "alice's release was never sent, but Unlock returned nil")
			require.NotErrorIs(t, err, ErrNotHeld, "alice's release was never sent, but Unlock returned ErrNotHeld")
			require.NoError(t, alice.Unlock(ctx),
				"a connection is free again, but alice cannot release what she still holds")
		})
	})
}

// A full pool is a client whose connections are all in use for longer than Unlock waits,
// after some that were refused.
type full struct {
	unsent
	refused atomic.Int32
}

func (f *full) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if f.over.Load() {
			return next(ctx, cmd)
		}
		if f.refused.Add(-1) >= 0 {
			return &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
		}
		<-ctx.Done()
		return ctx.Err()
	}
}

func TestConnectionsAreRefusedAndThenThePoolIsFull_NothingWasSent(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			hook := &full{}
			hook.refused.Store(2)
			lab.client("alice").nodes[0].AddHook(hook)
			require.ErrorContains(t, alice.Unlock(ctx), "refused",
				"Redis refused connections, but alice's error does not say so")
			hook.over.Store(true)
			lab.endLease()
			require.NoError(t, bob.TryLock(ctx), "alice's lease has ended, but bob was refused")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice's release was never sent and bob is inside, but her second Unlock returned nil")
		})
	})
}

func TestThePoolIsFullForLonger_UnlockIsAnError(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl)
			require.NoError(t, alice.TryLock(ctx))
			lab.client("alice").nodes[0].AddHook(&full{})
			err := alice.Unlock(ctx)
			require.Error(t, err, "alice's release was never sent, but Unlock returned nil")
			require.NotErrorIs(t, err, ErrNotHeld, "alice's release was never sent, but Unlock returned ErrNotHeld")
		})
	})
}

func TestDialsTimeOutForAMoment_UnlockGetsThrough(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			var away atomic.Bool
			alice := lab.lock("alice", func(opt *redis.Options) {
				dial := opt.Dialer
				opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					if away.Load() { // the error of net's Dialer matches this one as well
						return nil, &net.OpError{Op: "dial", Net: "tcp", Err: context.DeadlineExceeded}
					}
					return dial(ctx, network, addr)
				}
			})
			require.NoError(t, alice.TryLock(ctx))
			lab.fault("alice's connection breaks, and for 350ms new ones time out")
			away.Store(true)
			lab.client("alice").hangUp(func(*wire) bool { return true })
			time.AfterFunc(350*time.Millisecond, func() { away.Store(false) })
			require.NoError(t, alice.Unlock(ctx), "dials timed out for 350ms, but alice's Unlock gave up")
			require.Empty(t, lab.keys(), "alice's Unlock returned nil, but something was left behind in Redis")
		})
	})
}

func TestNoConnectionMayBeMade_TheReleaseWasNotSent(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			sendNothing(lab.client("alice"), redis.ErrPoolExhausted, func() { alice.Unlock(ctx) })
			lab.endLease()
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice's lease expired before her release was sent, but Unlock returned nil")
		})
	})
}

// A clusterClient asks a dead master until it has reloaded where the masters are. Its
// replica has the lock.
type clusterClient struct {
	redis.UniversalClient
	dead, reloaded *atomic.Bool
}

func (c clusterClient) ReloadState(context.Context) { c.reloaded.Store(true) }
func (c clusterClient) Process(ctx context.Context, cmd redis.Cmder) error {
	if c.dead.Load() && !c.reloaded.Load() {
		return &net.OpError{Op: "dial", Err: errors.New("connection refused")}
	}
	return c.UniversalClient.Process(ctx, cmd)
}

// Real clusters: docs/keep/realfaults.
func TestTheMasterOfAClusterDies_UnlockFindsTheNewOne(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			var dead, reloaded atomic.Bool
			var clients []redis.UniversalClient
			for _, rdb := range lab.client("alice").nodes {
				clients = append(clients, clusterClient{rdb, &dead, &reloaded})
			}
			alice := lab.lockOn("alice", clients, key, ttl)
			require.NoError(t, alice.TryLock(ctx))
			require.NoError(t, alice.Unlock(ctx))
			require.False(t, reloaded.Load(), "nothing has failed, but alice's lock let the client ask all nodes for the masters")
			require.NoError(t, alice.TryLock(ctx))
			lab.fault("the master dies, and its replica, which has the lock, is promoted")
			dead.Store(true)
			require.NoError(t, alice.Unlock(ctx),
				"the replica has alice's lock, but her Unlock kept asking the dead master: no one told the client to look again")
			require.Empty(t, lab.keys(), "alice's Unlock returned nil, but her key is left on the new master")
		})
	})
}

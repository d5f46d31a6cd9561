package redislock

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// What the client between the lock and Redis can do to a lock: a Redis that is away for a
// moment, a wrapper of the caller's own, a hook, a mock, a circuit breaker. The lock is
// used only through New, TryLock, Lock and Unlock, so these stories are the same in all
// steps from 05 on. A story named TestLimit pins what no lock here prevents: it passes as
// long as the limit shows.

// away makes as many nodes unreachable as a lock can notice: the only one, or a majority.
// It returns once alice's connections to them are gone, so that her next command needs a
// new one.
func (l *lab) away() (back func()) {
	for node := range nodes/2 + 1 {
		l.stop(node)
		l.client("alice").nodes[node].Ping(ctx) // go-redis notices that its connection is broken
	}
	return func() {
		l.wait()
		for node := range nodes/2 + 1 { // all at once: Unlock may return when a majority is back
			s := l.at(addr(node))
			s.down.Store(false)
			l.fault("%s is up again", s.name)
		}
	}
}

func TestRedisRefusesConnectionsForAMoment_UnlockGetsThrough(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			time.AfterFunc(150*time.Millisecond, lab.away())
			start := time.Now()
			err, took := alice.Unlock(ctx), time.Since(start)
			time.Sleep(slack(ttl / 10)) // step 08 returns at a majority
			require.NoError(t, err, "Redis refused connections for 150ms, but alice's Unlock gave up after %v", took)
			require.Less(t, took, slack(time.Second), "Redis is back after 150ms, but alice's Unlock took %v", took)
			require.Empty(t, lab.keys(), "alice's Unlock returned nil, but something was left behind in Redis")
			require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
		})
	})
}

// inScript is how Redis up to 6.2, and miniredis, report an error of a command in a script.
const inScript = "ERR Error running script (call to f_6b1b): @user_script:6: @user_script: 6: -"

func TestRedisRefusesForAMoment_UnlockAsksAgain(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, reply := range []string{
			demoted, inScript + demoted, inScript + "NOREPLICAS Not enough good replicas to write.",
			"LOADING Redis is loading the dataset in memory",
			"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
			"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		} {
			for attempts := 1; attempts <= 2; attempts++ {
				inLab(t, func(t *T, lab *lab) {
					alice := lab.lock("alice")
					require.NoError(t, alice.TryLock(ctx))
					lab.fault("Redis replies to alice (attempts: %d): %s", attempts, reply)
					for hooks := range attempts * nodes {
						lab.inject("alice", &hook{match: isWrite, nodes: []int{hooks % nodes}, reply: errors.New(reply)})
					}
					err := alice.Unlock(ctx)
					require.NoError(t, err, "Redis refused alice's release for a moment, but her Unlock gave up")
					require.Empty(t, lab.keys(), "alice's Unlock returned nil, but something was left behind in Redis")
				})
			}
		}
	})
}

func TestThePoolIsExhaustedForAMoment_UnlockAsksAgain(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			lab.fault("for 150ms, all of alice's connections are in use")
			exhausted := &unsent{err: redis.ErrPoolExhausted} // at once, with MaxActiveConns
			for _, rdb := range lab.client("alice").nodes {
				rdb.AddHook(exhausted)
			}
			time.AfterFunc(150*time.Millisecond, func() { exhausted.over.Store(true) })
			require.NoError(t, alice.Unlock(ctx), "a connection came free after 150ms, but alice's Unlock gave up")
		})
	})
}

func TestRedisRefusesForGood_UnlockReturnsAtOnce(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, reply := range []string{
			"WRONGTYPE Operation against a key holding the wrong kind of value",
			inScript + "WRONGTYPE Operation against a key holding the wrong kind of value",
			"OOM command not allowed when used memory > 'maxmemory'.", // Redis runs a DEL anyway
			"NOAUTH Authentication required.", "NOPERM this user has no permissions to run the 'eval' command",
			"ERR unknown command 'eval'",
		} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				require.NoError(t, alice.TryLock(ctx))
				lab.answer(reply)
				start := time.Now()
				err := alice.Unlock(ctx)
				require.ErrorContains(t, err, reply, "Redis refused alice's release, but the error does not name the reply")
				require.Less(t, time.Since(start), slack(50*time.Millisecond),
					"a retry does not change this reply, but alice's Unlock repeated its release: %s", reply)
			})
		}
	})
}

func TestRedisStaysAway_UnlockTriesForThreeSecondsAndSaysWhatHappened(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, fault := range []struct {
			what string
			fail func(lab *lab)
			is   func(err error) bool
		}{
			{"refuses connections", func(lab *lab) { lab.away() }, refused},
			{"replies READONLY", func(lab *lab) { lab.answer(demoted) }, redis.IsReadOnlyError},
			{"replies READONLY, but not to the last attempt in time", func(lab *lab) {
				lab.far("alice", 185*time.Millisecond)
				lab.answer(demoted)
			}, redis.IsReadOnlyError},
		} {
			if nodes > 1 && strings.Contains(fault.what, "not to the last") {
				continue // there, the error counts the nodes that did not answer the last round
			}
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				require.NoError(t, alice.TryLock(ctx))
				fault.fail(lab)
				dials, sent := lab.client("alice").dials.Load(), lab.sent()
				start := time.Now()
				err := alice.Unlock(ctx)
				took := time.Since(start)
				require.Error(t, err, "Redis %s, but alice's Unlock returned nil", fault.what)
				require.NotErrorIs(t, err, ErrNotHeld, "Redis %s, but alice's Unlock returned ErrNotHeld", fault.what)
				require.True(t, fault.is(err),
					"Redis %s, but the error from alice's Unlock does not name it: %v", fault.what, err)
				require.NotErrorIs(t, err, context.DeadlineExceeded,
					"Redis %s, but the error from alice's Unlock names the end of a context, and hers has not "+
						"ended", fault.what)
				require.Greater(t, took, 2500*time.Millisecond,
					"Redis %s, and alice's Unlock gave up after %v: it has 3s", fault.what, took)
				require.Less(t, took, slack(3100*time.Millisecond),
					"Redis %s, but alice's Unlock did not return until %v had passed", fault.what, took)
				require.LessOrEqual(t, lab.client("alice").dials.Load()-dials, int64(40*nodes),
					"Redis %s, and alice's Unlock asks for a connection without a pause", fault.what)
				require.LessOrEqual(t, lab.sent()-sent, 40*nodes,
					"Redis %s, and alice's Unlock repeats its release without a pause", fault.what)
			})
		}
	})
}

// refused reports whether err says that a connection could not be made.
func refused(err error) bool {
	var network *net.OpError
	return errors.As(err, &network) && network.Op == "dial"
}

func TestRedisIsDead_TryLockSaysSoSoon(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, connected := range []bool{false, true} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				if connected {
					require.NoError(t, alice.TryLock(ctx))
					require.NoError(t, alice.Unlock(ctx))
				}
				for node := range nodes {
					lab.stop(node)
				}
				start := time.Now()
				err := alice.TryLock(ctx)
				took := time.Since(start)
				require.Error(t, err, "Redis is down, but alice's TryLock returned nil")
				require.NotErrorIs(t, err, ErrNotAcquired, "Redis is down, but alice's TryLock returned ErrNotAcquired")
				require.Less(t, took, slack(350*time.Millisecond),
					"Redis is down, but alice's TryLock did not return until %v had passed: undoing it may take 0.3s", took)
			})
		}
	})
}

func TestRedisIsAwayAfterALostReply_TryLockLeavesNothingInTheWay(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice", func(opt *redis.Options) { opt.MaxRetries = -1 }), lab.lock("bob")
			lab.loseReply("alice", func() {
				lab.fault("alice's TryLock has run, and its reply is lost; for 150ms, Redis refuses connections")
				for node := range nodes {
					s := lab.at(addr(node))
					s.down.Store(true)
					time.AfterFunc(150*time.Millisecond, func() { s.down.Store(false) })
				}
			})
			start := time.Now()
			require.Error(t, alice.TryLock(ctx), "alice got no reply, but TryLock returned nil")
			took := time.Since(start)
			require.Less(t, took, slack(350*time.Millisecond),
				"alice's TryLock did not return until %v had passed: undoing it may take 0.3s", took)
			time.Sleep(time.Until(start.Add(slack(400 * time.Millisecond))))
			if nodes == 1 { // with several nodes, the handle deletes such keys when it is used again
				require.NoError(t, bob.TryLock(ctx),
					"after alice's TryLock had run, Redis was away for 150ms; she got an error, but its key blocks bob")
				require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
			}
			require.NoError(t, alice.TryLock(ctx), "Redis is back, but what alice's TryLock left there blocks her next one")
		})
	})
}

// A breaker is a client in the caller's own wrapper. While it is open, it sends nothing:
// it returns its own error, and does not store it in the command.
type breaker struct {
	redis.UniversalClient
	open *atomic.Bool
}

var errOpen = errors.New("circuit breaker is open")

func (b breaker) Process(ctx context.Context, cmd redis.Cmder) error {
	if b.open.Load() {
		return errOpen
	}
	return b.UniversalClient.Process(ctx, cmd)
}

func TestAWrapperReturnsItsOwnError_UnlockPassesItOn(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			var open atomic.Bool
			var wrapped []redis.UniversalClient
			for _, rdb := range lab.client("alice").nodes {
				wrapped = append(wrapped, breaker{rdb, &open})
			}
			alice := lab.lockOn("alice", wrapped, key, ttl)
			require.NoError(t, alice.TryLock(ctx))
			lab.fault("the circuit breaker in alice's client opens")
			open.Store(true)
			err := alice.Unlock(ctx)
			require.ErrorIs(t, err, errOpen,
				"alice's client returned its own error, but the error from Unlock does not match it")
			lab.fault("the circuit breaker closes")
			open.Store(false)
			require.NoError(t, alice.Unlock(ctx), "alice's client works again, but she cannot release what she still holds")
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

// A tenant is a client that adds a prefix to every key, so that several customers can
// share one Redis.
type tenant string

// prefix changes the keys of the commands that a lock sends.
func (p tenant) prefix(cmd redis.Cmder) {
	args := cmd.Args()
	switch name := strings.ToLower(fmt.Sprint(args[0])); {
	case strings.HasPrefix(name, "eval"): // EVAL script numkeys key...
		args[3] = fmt.Sprint(p, args[3])
	case name == "set" || name == "get":
		args[1] = fmt.Sprint(p, args[1])
	}
}

// As a hook, it sees every command.
func (p tenant) DialHook(next redis.DialHook) redis.DialHook { return next }
func (p tenant) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		p.prefix(cmd)
		return next(ctx, cmd)
	}
}
func (p tenant) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// As a wrapper, it must act in Process. Step 05 also calls SetNX and Get; scripts are
// always sent through Process.
type tenantClient struct {
	redis.UniversalClient
	tenant
}

func (c tenantClient) Process(ctx context.Context, cmd redis.Cmder) error {
	c.prefix(cmd)
	return c.UniversalClient.Process(ctx, cmd)
}

func (c tenantClient) SetNX(ctx context.Context, on string, value any, ttl time.Duration) *redis.BoolCmd {
	return c.UniversalClient.SetNX(ctx, string(c.tenant)+on, value, ttl)
}

func (c tenantClient) Get(ctx context.Context, on string) *redis.StringCmd {
	return c.UniversalClient.Get(ctx, string(c.tenant)+on)
}

func TestTwoTenantsUseOneName_EachHasALockOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, kind := range []struct {
			what string
			as   func(rdb redis.UniversalClient, p tenant) redis.UniversalClient
		}{
			{"a hook", func(rdb redis.UniversalClient, p tenant) redis.UniversalClient { rdb.AddHook(p); return rdb }},
			{"a wrapper", func(rdb redis.UniversalClient, p tenant) redis.UniversalClient { return tenantClient{rdb, p} }},
		} {
			t.Run(kind.what, func(t *testing.T) {
				inLab(t, func(t *T, lab *lab) {
					lockOf := func(name string, p tenant) *handle {
						var rdbs []redis.UniversalClient
						for _, rdb := range lab.client(name).nodes {
							rdbs = append(rdbs, kind.as(rdb, p))
						}
						return lab.lockOn(name, rdbs, key, ttl)
					}
					alice, colleague, bob := lockOf("alice", "tea:"), lockOf("carol", "tea:"), lockOf("bob", "coffee:")
					renewed := alice.set("MaxHold", 0) // false: this lock has no watchdog
					require.NoError(t, alice.TryLock(ctx), "the lock is free, but alice was refused")
					require.NoError(t, bob.TryLock(ctx), "bob is another tenant than alice, but her lock keeps him out")
					requireRefused(t, colleague, "alice is inside, but carol, of the same tenant, is inside with her")
					for node := range nodes {
						require.False(t, lab.server(node).Exists(key),
							"%s prefixes alice's keys, but her lock was stored without the prefix", kind.what)
					}
					if renewed {
						time.Sleep(3*ttl + ttl/10)
						requireRefused(t, colleague,
							"%s prefixes the keys, and alice's lock was not renewed: carol is inside with her", kind.what)
					}
					require.NoError(t, alice.Unlock(ctx),
						"%s prefixes the keys, and alice holds the lock, but Unlock failed", kind.what)
					require.NoError(t, colleague.TryLock(ctx), "alice has left, but carol, of the same tenant, was refused")
					require.NoError(t, colleague.Unlock(ctx), "carol holds the lock, but Unlock failed")
					require.NoError(t, bob.Unlock(ctx), "the other tenant's lock was released, but bob's is gone as well")
					require.Empty(t, lab.keys(), "all clients have left, but something was left behind in Redis")
				})
			})
		}
	})
}

// A mock reads and sets the result of each command by reflection, as redismock does: the
// command must be a pointer to a struct that has val.
type mock struct{ panicked atomic.Value }

func (m *mock) look(cmd redis.Cmder) {
	defer func() {
		if p := recover(); p != nil { // in a goroutine of the lock's, it would end the process
			m.panicked.Store(fmt.Sprintf("%s: %v", strings.ToUpper(cmd.Name()), p))
		}
	}()
	if !reflect.ValueOf(cmd).Elem().FieldByName("val").CanAddr() {
		panic("cannot set val")
	}
}

func (m *mock) DialHook(next redis.DialHook) redis.DialHook { return next }
func (m *mock) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		m.look(cmd)
		return next(ctx, cmd)
	}
}
func (m *mock) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

func TestAMockSetsResultsByReflection_NothingPanics(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			var mock mock
			for _, rdb := range lab.client("alice").nodes {
				rdb.AddHook(&mock)
			}
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, bob.TryLock(ctx))
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotAcquired)
			require.NoError(t, bob.Unlock(ctx))
			require.NoError(t, alice.TryLock(ctx))
			time.Sleep(ttl / 2) // a renewal, if the lock has them
			require.Nil(t, mock.panicked.Load(),
				"alice tests her service with redismock, which panicked at a command of her lock")
			require.NoError(t, alice.Unlock(ctx))
			require.Nil(t, mock.panicked.Load(),
				"alice tests her service with redismock, which panicked at a command of her lock")
		})
	})
}

func TestRedisHangsAndTheCallerHasNoDeadline_UnlockNamesTheTimeout(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, options := range []func(*redis.Options){
			func(*redis.Options) {},
			// 1.1s, not 1s: otherwise a read would end together with the 3s of Unlock.
			func(opt *redis.Options) { opt.ReadTimeout = 1100 * time.Millisecond },
			// Here go-redis ends the read itself together with them, so the third read and the
			// context end at the same moment.
			func(opt *redis.Options) { opt.ReadTimeout, opt.ContextTimeoutEnabled = 1100*time.Millisecond, true },
		} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice", options)
				require.NoError(t, alice.TryLock(ctx))
				for node := range nodes {
					lab.hang(node)
				}
				err := alice.Unlock(context.Background())
				require.Error(t, err, "Redis has not answered, but Unlock returned nil")
				require.NotErrorIs(t, err, context.DeadlineExceeded,
					"alice's context has no deadline, but the error from Unlock names one")
				if nodes == 1 { // a lock on several nodes does not wait for go-redis, and counts them
					require.ErrorIs(t, err, os.ErrDeadlineExceeded,
						"Redis hangs, but the error from Unlock does not name the read that has timed out")
				}
			})
		}
	})
}

func TestAHookPrefixesTheKeys_AWaiterEntersAtOnce(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			for _, name := range []string{"alice", "bob"} {
				for _, rdb := range lab.client(name).nodes {
					rdb.AddHook(tenant("tea:"))
				}
			}
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			for node := range nodes {
				require.False(t, lab.server(node).Exists(key),
					"a hook prefixes alice's keys, but her lock was stored without the prefix")
			}
			leaves := time.Now().Add(ttl / 2)
			time.AfterFunc(ttl/2, func() { alice.Unlock(ctx) })
			patience, cancel := context.WithTimeout(ctx, 2*ttl)
			defer cancel()
			require.NoError(t, bob.Lock(patience), "alice left after half a ttl, but bob did not get in")
			late := time.Since(leaves)
			require.GreaterOrEqual(t, late, time.Duration(0), "bob entered while alice was inside")
			require.Less(t, late, slack(200*time.Millisecond),
				"a hook prefixes only the keys: alice has left, but bob did not get in until %v later", late)
		})
	})
}

// What follows is pinned, not mended: docs/read/client.md says so.

// A limiter refuses one command. go-redis asks it before it sends.
type limiter struct{ refuses atomic.Bool }

func (l *limiter) ReportResult(error) {}
func (l *limiter) Allow() error {
	if l.refuses.CompareAndSwap(true, false) {
		return errOpen
	}
	return nil
}

func TestLimit_ALimiterRefusesTheRelease_ItCountsAsALostReply(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			var limiters []*limiter // one for each node
			alice, bob := lab.lock("alice", func(opt *redis.Options) {
				limiters = append(limiters, &limiter{})
				opt.Limiter = limiters[len(limiters)-1]
			}), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			lab.endLease()
			require.NoError(t, bob.TryLock(ctx))
			for _, l := range limiters {
				l.refuses.Store(true)
			}
			lab.fault("alice's limiter refuses her next command: it is not sent")
			require.NoError(t, alice.Unlock(ctx),
				"alice's release was refused unsent, and bob is inside: now Unlock reports it, and the limit is gone")
			require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
		})
	})
}

// A retrier is a hook that sends a command again below the lock, which does not know.
type retrier struct{ tenant }

func (r retrier) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if errors.Is(err, io.EOF) {
			cmd.SetErr(nil)
			err = next(ctx, cmd)
		}
		return err
	}
}

func TestLimit_AHookResends_ALostReplyIsErrNotHeld(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			for _, rdb := range lab.client("alice").nodes {
				rdb.AddHook(retrier{})
			}
			require.NoError(t, alice.TryLock(ctx))
			lab.loseReply("alice")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"a hook resent alice's release, whose reply was lost, but Unlock knows better: the limit is gone")
			require.Empty(t, lab.keys(), "alice has released her lock, but something was left behind in Redis")
		})
	})
}

// A hasty hook gives up on a command after a second, and the command continues.
type hasty struct{ tenant }

func (hasty) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		args := cmd.Args()
		if fmt.Sprint(args[0]) != "eval" {
			return next(ctx, cmd)
		}
		sent, done := redis.NewCmd(ctx, args...), make(chan error, 1)
		go func() { done <- next(context.WithoutCancel(ctx), sent) }()
		select {
		case err := <-done:
			cmd.(interface{ SetVal(any) }).SetVal(sent.Val())
			cmd.SetErr(err)
			return err
		case <-time.After(time.Second):
			cmd.SetErr(context.DeadlineExceeded)
			return context.DeadlineExceeded
		}
	}
}

func TestLimit_AHookGivesUpOnTheRelease_UnlockRepeatedIsErrNotHeld(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl)
			require.NoError(t, alice.TryLock(ctx))
			for _, rdb := range lab.client("alice").nodes {
				rdb.AddHook(hasty{})
			}
			var goOn []func()
			for node := range nodes {
				goOn = append(goOn, lab.hang(node))
			}
			require.Error(t, alice.Unlock(ctx), "Redis hangs and a hook gave up on alice's release")
			for _, goOn := range goOn {
				goOn() // runs it
			}
			require.Empty(t, lab.keys(), "Redis has run alice's release, but something was left behind")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"a hook gave up on alice's release, which ran later, but her next Unlock knows that: the limit is gone")
		})
	})
}

func TestLimit_TheFirstCopyOfAnAcquisitionArrivesAfterTheRelease_ItsKeyStaysForATTL(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			impatient := func(opt *redis.Options) { opt.ReadTimeout = time.Second }
			alice, bob := lab.lock("alice", impatient), lab.lock("bob")
			var first *message
			lab.server(0).intercept(func(m *message) bool {
				if m.wire.client.name != "alice" || first != nil {
					return false
				}
				first = m
				return true
			})
			lab.fault("the next connection of alice stalls")
			require.NoError(t, alice.TryLock(ctx), "go-redis resent alice's command, but she was refused")
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
			time.Sleep(slack(2 * time.Second))
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
			lab.fault("what was sent on that connection arrives")
			late := record{Kind: "command", Who: "alice", Node: 1, Text: first.record.Text, Late: true}
			first.record = lab.trace.add(late)
			first.run(&hook{})
			lab.wait()
			require.True(t, lab.server(0).Exists(key),
				"alice's TryLock arrived after her Unlock, but it stored nothing: the limit is gone")
			if nodes > 1 {
				require.NoError(t, bob.TryLock(ctx),
					"one of five nodes has a key that no one holds, but bob did not get the other four")
				return
			}
			requireRefused(t, bob, "no one is inside, and bob got in: the limit is gone")
			time.Sleep(ttl)
			require.NoError(t, bob.TryLock(ctx), "that key has expired, but bob was refused")
		})
	})
}

func TestLimit_AnAutoPipelinerIgnoresTheContext_TryLockTakesLonger(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			var pipelines []redis.UniversalClient
			endsReads := func(opt *redis.Options) {
				opt.ReadTimeout, opt.ContextTimeoutEnabled = 1100*time.Millisecond, true
			}
			for _, rdb := range lab.client("alice", endsReads).nodes {
				pipeline, err := rdb.(*redis.Client).AutoPipeline()
				require.NoError(t, err)
				defer pipeline.Close()
				pipelines = append(pipelines, pipeline)
			}
			alice := lab.lockOn("alice", pipelines, key, ttl)
			require.NoError(t, alice.TryLock(ctx), "an AutoPipeliner can be alice's client, but TryLock failed")
			require.NoError(t, alice.Unlock(ctx), "an AutoPipeliner can be alice's client, but Unlock failed")
			for node := range nodes {
				lab.hang(node)
			}
			request, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
			defer cancel()
			start := time.Now()
			require.Error(t, alice.TryLock(request), "Redis hangs, but alice's TryLock returned nil")
			took := time.Since(start)
			if nodes > 1 {
				require.Less(t, took, slack(210*time.Millisecond),
					"a lock on several nodes waits for none, but TryLock took %v", took)
				return
			}
			require.Greater(t, took, 4*time.Second,
				"alice's context ended after 100ms and undoing takes 3s: TryLock took %v, the limit is gone", took)
		})
	})
}

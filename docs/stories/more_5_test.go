package redislock

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// demoted is what a server replies to a write once a failover has made it a replica.
const demoted = "READONLY You can't write against a read only replica."

// More of guarantee 5: lost replies, contexts that end, calls that are repeated, and what they
// leave behind in Redis.

func TestTheLeaseEndsDuringUnlock_UnlockSaysSo(t *testing.T) {
	each(t, func(t *testing.T) {
		ends := eachNth(t, "before command %d", func(t *T, lab *lab, nth int) bool {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			var bobErr error
			released := false // with an earlier command of this Unlock: some locks send more
			end := lab.beforeNth("alice", nth, func() {
				released = len(lab.keys()) == 0
				lab.endLease()
				bobErr = bob.TryLock(ctx)
			})
			err := alice.Unlock(ctx)
			if !end.fired() {
				return false
			}
			require.NoError(t, bobErr, "alice's lease has expired, but bob was refused")
			if released {
				require.NoError(t, err, "alice had released her lock in time, but her Unlock returned an error")
				return true
			}
			require.ErrorIs(t, err, ErrNotHeld,
				"alice's lease had expired, but her Unlock did not return ErrNotHeld")
			return true
		})
		require.Positive(t, ends, "alice's Unlock sent no command, so her lease could not expire during it")
	})
}

func TestRedisHangs_UnlockStillReturns(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			for node := range nodes {
				lab.hang(node)
			}
			start := time.Now()
			err := alice.Unlock(ctx)
			took := time.Since(start).Round(time.Millisecond)
			require.Less(t, took, slack(6*time.Second),
				"Redis hangs, but alice's Unlock did not return until %v had passed", took)
			require.Error(t, err, "Redis has not answered, but Unlock returned nil")
			require.NotErrorIs(t, err, ErrNotHeld, "Redis has not answered, but Unlock returned ErrNotHeld")
		})
	})
}

// Also passes on step 04, because that lock never releases after a failed TryLock.
func TestTheRefusalIsLost_TheHoldersLockStays(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
			alice, bob, carol := lab.lock("alice"), lab.lock("bob", noResend), lab.lock("carol")
			require.NoError(t, alice.TryLock(ctx))
			lab.loseReply("bob")
			require.Error(t, bob.TryLock(ctx), "bob got no reply, but TryLock returned nil")
			requireRefused(t, carol,
				"bob was refused, but he got no reply, released a lock that was never his and deleted alice's: carol is "+
					"inside with her")
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
		})
	})
}

// Also passes on step 04, because that lock never releases after a failed TryLock.
func TestTryLock_ExpiryDuringCleanUp_KeepsNextHoldersLock(t *testing.T) {
	each(t, func(t *testing.T) {
		eachNth(t, "before command %d of the clean-up", func(t *T, lab *lab, nth int) bool {
			noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
			alice, bob, carol := lab.lock("alice"), lab.lock("bob", noResend), lab.lock("carol")
			var aliceErr error
			end := lab.beforeNth("bob", 1+nth, func() {
				lab.endLease()
				aliceErr = alice.TryLock(ctx)
			})
			lab.loseReply("bob")
			require.Error(t, bob.TryLock(ctx), "bob got no reply, but TryLock returned nil")
			if !end.fired() {
				return false
			}
			require.NoError(t, aliceErr, "bob's lease has expired, but alice was refused")
			requireRefused(t, carol,
				"the reply to bob's TryLock was lost; while he undid his TryLock, his lease expired and alice entered, "+
					"but he deleted her lock: carol is inside with her")
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
			return true
		})
	})
}

// A lock that asks whose key has refused it may get no answer to that.
func TestTheQuestionAfterALostReplyIsNotAnswered_NothingStaysBehind(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			lab.inject("alice", &hook{again: true, lose: func(*message) bool { return true },
				match: func(command string, nth int) bool { // go-redis asks four times
					return nth == 1 || nth <= 6 && !isWrite(command, nth)
				}})
			if alice.TryLock(ctx) == nil {
				require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is inside, but bob did not get ErrNotAcquired")
				return
			}
			time.Sleep(slack(ttl / 10)) // what she undoes may take a while
			require.NoError(t, bob.TryLock(ctx),
				"the reply to alice's TryLock was lost and she got an error, but what she left in Redis blocks bob")
		})
	})
}

func TestTryLock_CancelledInFlight_ReleasesKey(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			request, cancel := context.WithCancel(ctx)
			lab.loseReply("alice", func() {
				lab.note("alice's request is cancelled")
				cancel()
			})
			err := alice.TryLock(request)
			require.ErrorIs(t, err, context.Canceled,
				"alice's request was cancelled before the reply came, but the error does not say so")
			time.Sleep(slack(ttl / 10))
			require.NoError(t, bob.TryLock(ctx),
				"alice's request was cancelled during TryLock, but what she left in Redis blocks bob")
		})
	})
}

func TestUnlock_RetriedAfterUnknownOutcome_ReturnsNil(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, fault := range []struct {
			name string
			fail func(lab *lab) (heal func())
			says string // Unlock's error
		}{
			{"Redis hung for a while", func(lab *lab) func() {
				hung := make(chan func(), nodes)
				lab.beforeWrite("alice", func() {
					for node := range nodes {
						hung <- lab.hang(node)
					}
				})
				return func() {
					for range nodes {
						(<-hung)()
					}
				}
			}, ""},
			{"all replies were lost", func(lab *lab) func() {
				begun := false
				match := func(command string, nth int) bool {
					begun = begun || isWrite(command, nth)
					return begun
				}
				lab.inject("alice", &hook{match: match, again: true, lose: func(*message) bool { return true }})
				return func() { lab.removeHooks("alice") }
			}, ""},
			{"a reply was lost, and then alice had no right to write", func(lab *lab) func() {
				for node := range nodes {
					written := false
					begun := func(command string, nth int) bool {
						written = written || isWrite(command, nth)
						return written
					}
					lab.inject("alice", &hook{match: begun, nodes: []int{node}, lose: func(*message) bool { return true }})
					lab.inject("alice", &hook{match: begun, nodes: []int{node}, reply: errors.New("NOPERM no right"), again: true})
				}
				return func() { lab.removeHooks("alice") }
			}, "NOPERM"},
		} {
			t.Run(fault.name, func(t *testing.T) {
				inLab(t, func(t *T, lab *lab) {
					// The ttl is longer than any Unlock waits.
					alice, bob := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl), lab.lock("bob")
					require.NoError(t, alice.TryLock(ctx))
					heal := fault.fail(lab)
					err := alice.Unlock(ctx)
					require.Error(t, err, "%s, but alice's Unlock returned nil", fault.name)
					require.ErrorContains(t, err, fault.says)
					require.NotErrorIs(t, err, ErrNotHeld, "%s, but alice's Unlock returned ErrNotHeld", fault.name)
					heal()
					require.NoError(t, bob.TryLock(ctx), "Redis has run alice's release, but bob was refused")
					require.NoError(t, alice.Unlock(ctx),
						"%s: alice's release has run, but she does not know; bob entered, she unlocks again, but Unlock "+
							"returned ErrNotHeld", fault.name)
					require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
						"alice unlocked once too often, but her Unlock did not return ErrNotHeld")
					require.NoError(t, bob.Unlock(ctx), "alice repeated her Unlock, but it released bob's lock")
				})
			})
		}
	})
}

func TestATryLockFailsBetweenTwoUnlocks_TheSecondOneKnowsOfTheFirst(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl)
			require.NoError(t, alice.TryLock(ctx))
			begun := false
			lab.inject("alice", &hook{again: true, lose: func(*message) bool { return true },
				match: func(command string, nth int) bool {
					begun = begun || isWrite(command, nth)
					return begun
				}})
			require.Error(t, alice.Unlock(ctx), "all replies were lost, but alice's Unlock returned nil")
			require.Error(t, alice.TryLock(ctx), "all replies were lost, but alice's TryLock returned nil")
			lab.removeHooks("alice")
			time.Sleep(slack(ttl / 100))
			require.NoError(t, alice.Unlock(ctx),
				"alice's release has run, but she does not know; a TryLock of hers fails, she unlocks again, but Unlock "+
					"returned ErrNotHeld")
		})
	})
}

// Also passes on step 04, because its Unlock returns ErrNotHeld whenever the key is gone.
func TestUnlock_LeaseExpiredFirst_ReturnsErrNotHeld(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, before := range []struct {
			name string
			fail func(lab *lab, alice *handle)
		}{
			{"a release whose reply was lost", func(lab *lab, alice *handle) { // of an earlier lock
				lab.loseReply("alice")
				alice.Unlock(ctx)
				alice.TryLock(ctx)
			}},
			{"a release to which no reply came", func(lab *lab, alice *handle) { // of an earlier lock
				lab.inject("alice", &hook{match: isWrite, again: true, lose: func(*message) bool { return true }})
				alice.Unlock(ctx)
				lab.removeHooks("alice")
				alice.TryLock(ctx)
			}},
			{"a release that Redis rejected", func(lab *lab, alice *handle) {
				lab.answer("LOADING Redis is loading the dataset in memory")
				alice.Unlock(ctx)
				lab.answer("")
			}},
			{"a release that did not reach Redis", func(lab *lab, alice *handle) {
				for node := range nodes {
					defer lab.stop(node)()
					// go-redis notices that the connection is broken.
					lab.client("alice").nodes[node].Ping(ctx)
				}
				alice.Unlock(ctx)
			}},
			{"a release that found the connection pool full", func(lab *lab, alice *handle) {
				sendNothing(lab.client("alice"), redis.ErrPoolTimeout, func() { alice.Unlock(ctx) })
			}},
			{"a release that waited for a connection until its timeout", func(lab *lab, alice *handle) {
				sendNothing(lab.client("alice"), context.DeadlineExceeded, func() { alice.Unlock(ctx) })
			}},
		} {
			t.Run("after "+before.name, func(t *testing.T) {
				inLab(t, func(t *T, lab *lab) {
					alice := lab.lock("alice")
					require.NoError(t, alice.TryLock(ctx))
					before.fail(lab, alice)
					lab.endLease()
					require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
						"alice's lease had expired before her release arrived, but Unlock returned nil")
				})
			})
		}
	})
}

// sendNothing runs fn while all commands of a client fail with err before they are sent.
// A full connection pool would deadlock the bubble.
func sendNothing(c *client, err error, fn func()) {
	hook := &unsent{err: err}
	for _, rdb := range c.nodes {
		rdb.AddHook(hook)
	}
	fn()
	c.lab.wait()
	hook.over.Store(true)
}

type unsent struct {
	err  error
	over atomic.Bool
}

func (u *unsent) DialHook(next redis.DialHook) redis.DialHook { return next }
func (u *unsent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		if u.over.Load() {
			return next(ctx, cmd)
		}
		return u.err
	}
}
func (u *unsent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return next
}

// Also passes on step 04, because it also keeps the token if Unlock fails.
func TestUnlockFails_ItMayBeRepeated(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl) // Unlock tries for 3s
			require.NoError(t, alice.TryLock(ctx))
			lab.answer("MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.")
			err := alice.Unlock(ctx)
			require.Error(t, err, "Redis rejected the release, but Unlock returned nil")
			require.NotErrorIs(t, err, ErrNotHeld, "Redis rejected the release, but Unlock returned ErrNotHeld")
			lab.answer("")
			require.NoError(t, alice.Unlock(ctx), "Redis works again, but alice cannot release what she still holds")
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

// Also passes on step 04, because it uses no scripts.
func TestAScript_NamesItsKey(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			named := make(chan []string, 100)
			for node := range nodes {
				lab.server(node).intercept(func(m *message) bool {
					if keys, ok := scriptKeys(m.args); ok {
						named <- keys
					}
					return false
				})
			}
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			stored := lab.server(0).key()
			time.Sleep(ttl / 2)
			require.NoError(t, alice.Unlock(ctx))
			lab.wait()
			close(named)
			for keys := range named {
				other := func(k string) bool { return hashTag(k) != hashTag(stored) }
				require.False(t, len(keys) == 0 || slices.ContainsFunc(keys, other),
					"alice's lock is at %q, but the KEYS of a script are %q: a Redis Cluster, which chooses the server "+
						"by KEYS, sends the script to the wrong one", stored, keys)
			}
		})
	})
}

// scriptKeys returns the KEYS of a script's call.
func scriptKeys(args []string) ([]string, bool) {
	if !strings.HasPrefix(strings.ToLower(args[0]), "eval") || len(args) < 3 {
		return nil, false
	}
	n, _ := strconv.Atoi(args[2])
	return args[3:min(3+n, len(args))], true
}

// hashTag returns the part of a key by which a cluster chooses the server.
func hashTag(key string) string {
	if _, rest, ok := strings.Cut(key, "{"); ok {
		if tag, _, ok := strings.Cut(rest, "}"); ok && tag != "" {
			return tag
		}
	}
	return key
}

// Also passes on step 04, because it uses no scripts.
func TestRedisForgetsItsScripts_UnlockWorks(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, operator := lab.lock("alice"), lab.client("ops")
			for range 2 {
				require.NoError(t, alice.TryLock(ctx))
				for _, rdb := range operator.nodes {
					require.NoError(t, rdb.ScriptFlush(ctx).Err())
				}
				require.NoError(t, alice.Unlock(ctx),
					"Redis has forgotten its scripts, but that keeps alice from releasing her lock")
			}
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

// answer makes Redis reply to every command with this error; "" ends that.
func (l *lab) answer(message string) {
	for node := range nodes {
		l.server(node).SetError(message)
	}
}

func TestUnlock_ConnectionReset_ReturnsNil(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice", func(opt *redis.Options) {
				dial := opt.Dialer
				opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := dial(ctx, network, addr)
					if err != nil {
						return nil, err
					}
					return resetConn{conn}, nil
				}
			})
			require.NoError(t, alice.TryLock(ctx))
			lab.loseReply("alice")
			require.NoError(t, alice.Unlock(ctx),
				"Redis released alice's lock and the connection was reset; the command was resent and found nothing, but "+
					"Unlock returned ErrNotHeld")
		})
	})
}

// resetConn is a connection that ends with a reset.
type resetConn struct{ net.Conn }

func (c resetConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if errors.Is(err, io.EOF) {
		err = &net.OpError{Op: "read", Net: "tcp", Err: syscall.ECONNRESET}
	}
	return n, err
}

// Also passes on step 04, because its release has no separate timeout and waits for the
// reply itself.
func TestUnlock_LateReply_LeaksNoGoroutine(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "the goroutines of a bubble are those of one story")
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			var goOn []func()
			for node := range nodes {
				goOn = append(goOn, lab.hang(node))
			}
			require.Error(t, alice.Unlock(ctx), "Redis has not answered, but Unlock returned nil")
			for _, goOn := range goOn {
				goOn()
			}
			time.Sleep(time.Minute) // which is longer than go-redis tries
			require.Zero(t, goroutines(lab),
				"alice's Unlock gave up long ago, but it left a goroutine behind that still has the reply for it")
		})
	})
}

func TestTheContextCutsOffAnAttemptAfterARefusal_TheErrorSaysThatTheLockIsTaken(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, retries := range []int{0, -1} { // go-redis's default, and none
			inLab(t, func(t *T, lab *lab) {
				// Then go-redis ends a read when the context ends.
				endsReads := func(opt *redis.Options) { opt.ContextTimeoutEnabled, opt.MaxRetries = true, retries }
				alice, bob := lab.lock("alice", endsReads), lab.lock("bob")
				require.NoError(t, bob.TryLock(ctx))
				leaves := time.Now().Add(ttl / 10)
				time.AfterFunc(ttl/10, func() { bob.Unlock(ctx) })
				later := func(command string, nth int) bool { return isWrite(command, nth) && !time.Now().Before(leaves) }
				attempt := lab.inject("alice", &hook{match: later, before: func() {
					for node := range nodes {
						lab.hang(node)
					}
				}})
				patience, cancel := context.WithTimeout(ctx, ttl/5)
				defer cancel()
				time.AfterFunc(ttl/5-ttl/50, cancel) // at the deadline, the read may end before the context
				err := alice.Lock(patience)
				require.True(t, attempt.fired(), "bob left while alice waited, but she did not try again")
				require.ErrorIs(t, err, context.Canceled,
					"alice's context has ended, but the error does not say so")
				if nodes == 1 { // a lock on several nodes says what the last votes were
					require.ErrorIs(t, err, ErrNotAcquired,
						"alice was refused, and her context ended during her next attempt, but the error does not say "+
							"that the lock is taken")
				}
			})
		}
	})
}

func TestAReplyIsLostAndAnotherGoroutineLocksWithTheHandle_UnlockReturnsNil(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, other := lab.lock("alice"), make(chan error, 1)
			require.NoError(t, alice.TryLock(ctx))
			lab.loseReply("alice", func() {
				go func() { other <- alice.TryLock(ctx) }()
				time.Sleep(slack(10 * time.Millisecond)) // some locks let it wait until Unlock returns
			})
			require.NoError(t, alice.Unlock(ctx),
				"alice's release has run and its reply was lost; before it was resent, another goroutine locked with the "+
					"same handle, and Unlock returned ErrNotHeld")
			require.NoError(t, <-other,
				"alice has released the lock, but another goroutine that uses her handle was refused")
			require.NoError(t, alice.Unlock(ctx), "the other goroutine holds the lock, but Unlock failed")
			require.Empty(t, lab.keys(), "all have left, but something was left behind in Redis")
		})
	})
}

// far makes each round trip of a client take longer from now on, even those that make a
// connection.
func (l *lab) far(name string, roundTrip time.Duration) {
	l.wait()
	l.client(name).far.Store(int64(roundTrip))
	l.fault("from now on, a round trip of %s takes %v", name, roundTrip)
}

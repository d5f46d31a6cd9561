package redislock

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// More of guarantee 6: a depth that is miscounted when replies are lost or calls meet.

func TestTryLock_ForeignKey_FailsAndKeepsIt(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, data := range []struct {
			name        string
			store, load func(rdb redis.UniversalClient) redis.Cmder
		}{
			{"a string",
				func(rdb redis.UniversalClient) redis.Cmder { return rdb.Set(ctx, key, "100 left", 0) },
				func(rdb redis.UniversalClient) redis.Cmder { return rdb.Get(ctx, key) }},
			{"a string with a ttl", // or a lock of step 05
				func(rdb redis.UniversalClient) redis.Cmder { return rdb.Set(ctx, key, "100 left", time.Hour) },
				func(rdb redis.UniversalClient) redis.Cmder { return rdb.Get(ctx, key) }},
			{"a hash without a ttl",
				func(rdb redis.UniversalClient) redis.Cmder { return rdb.HSet(ctx, key, "left", "100") },
				func(rdb redis.UniversalClient) redis.Cmder { return rdb.HGetAll(ctx, key) }},
		} {
			t.Run(data.name, func(t *testing.T) {
				inLab(t, func(t *T, lab *lab) {
					bob, shop := lab.lock("bob"), lab.client("shop").nodes
					stored := func() (values []string) {
						for node, rdb := range shop {
							values = append(values, fmt.Sprint(data.load(rdb), " ends: ", lab.server(node).TTL(key) > 0))
						}
						return values
					}
					for _, rdb := range shop {
						data.store(rdb)
					}
					before := stored()
					waiting, cancel := context.WithTimeout(ctx, slack(ttl/10))
					defer cancel()
					err := bob.Lock(waiting)
					require.True(t, waiting.Err() == nil,
						"%s was stored at the lock's key and no one will release it, but bob waited until he gave "+
							"up", data.name)
					for _, err := range []error{err, bob.TryLock(ctx)} {
						require.Error(t, err, "%s was stored at the lock's key, but bob got no error", data.name)
						require.NotErrorIs(t, err, ErrNotAcquired,
							"%s was stored at the lock's key, but the error says that the lock is taken", data.name)
					}
					require.ErrorIs(t, bob.Unlock(ctx), ErrNotHeld,
						"bob has no lock, but his Unlock did not return ErrNotHeld")
					require.Equal(t, before, stored(), "%s was stored at the lock's key, but bob has changed it", data.name)
				})
			})
		}
	})
}

func TestSomebodyHasTheLockOfAnOwnerThatLocksAgain_ItStays(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			lab.endLease()
			for range 2 { // what the first refusal leaves must not help the second
				require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld,
					"alice's lease has expired, but her inner TryLock did not return ErrNotHeld")
				require.Empty(t, lab.keys(), "alice's inner TryLock returned ErrNotHeld, but it acquired the lock anew")
			}
			require.NoError(t, bob.TryLock(ctx), "alice's lease has expired, but bob was refused")
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld,
				"bob is inside and alice has lost the lock, but her inner TryLock did not return ErrNotHeld")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice has lost the lock, but her Unlock did not return ErrNotHeld")
			require.NoError(t, bob.Unlock(ctx), "alice had lost the lock, but she changed bob's")
		})
	})
}

func TestWhoLooksAtTheKey_SeesHowOftenTheHolderIsInside(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, operator := lab.lock("alice"), lab.client("operator")
			depth := func() []string {
				lab.wait() // step 08 returns at a majority
				values, err := operator.nodes[0].HVals(ctx, key).Result()
				require.NoError(t, err, "the key is not a hash of a token and its depth")
				return values
			}
			require.NoError(t, alice.TryLock(ctx))
			require.Equal(t, []string{"1"}, depth(), "alice is inside once, but the key does not have depth 1")
			require.NoError(t, alice.TryLock(ctx), "alice holds the lock and locks again, but her own lock refused her")
			require.Equal(t, []string{"2"}, depth(), "alice is inside twice, but the key does not have depth 2")
			require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
			require.Equal(t, []string{"1"}, depth(), "alice is inside once more, but the key does not have depth 1")
			require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")

			lab.loseReply("alice")
			require.NoError(t, alice.TryLock(ctx))
			require.Equal(t, []string{"1"}, depth(),
				"the reply to alice's TryLock was lost and it was resent, but the key counts it twice")
		})
	})
}

// Also passes on step 05, because that lock refuses its owner and so counts nothing.
func TestTheReplyToTheInnerLockIsLost_ItCountsOnce(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			lab.loseReply("alice")
			if lockAgain(t, alice) {
				require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
			}
			requireRefused(t, bob, "alice is inside once more, but bob is inside with her")
			require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")
			require.NoError(t, bob.TryLock(ctx),
				"one TryLock was sent twice and counted twice: alice has left, but bob is locked out")
		})
	})
}

// Also passes on step 05, because that lock refuses its owner and so has no inner Unlock.
func TestTheReplyToTheInnerUnlockIsLost_ALaterLossIsReported(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			if lockAgain(t, alice) {
				lab.loseReply("alice")
				require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
			}
			lab.endLease()
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice's lease had expired before she left, but Unlock returned nil, because an earlier inner Unlock had "+
					"got no reply")
		})
	})
}

// Also passes on step 05, because that lock refuses its owner and so has no inner Unlock.
func TestTheInnerUnlock_TakesOneCommand(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			if lockAgain(t, alice) {
				before := lab.sent()
				require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
				require.Equal(t, nodes, lab.sent()-before, "alice's inner Unlock sent more than one command to a Redis")
			}
		})
	})
}

// Also passes on step 05, because each TryLock draws a new token there.
func TestUnlockWasNotAnswered_TheNextHoldHasAnotherToken(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			first := lab.owner(0)
			goOn := everyNode(lab.hang)
			require.Error(t, alice.Unlock(ctx), "Redis has not answered, but Unlock returned nil")
			goOn()
			lab.endLease() // if a release did not get through
			require.NoError(t, alice.TryLock(ctx), "alice's lease has expired, but she was refused")
			require.NotEqual(t, first, lab.owner(0),
				"alice acquired the lock for the second time, but with the first token: a late release of the first "+
					"would release the second")
			lab.endLease()
			require.NoError(t, bob.TryLock(ctx), "alice's lease has expired, but bob was refused")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"bob has the lock, but alice's Unlock remembers an earlier one without a reply and returned nil")
		})
	})
}

func TestTwoGoroutinesWithOneHandle_LockOneAfterTheOther(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			second := make(chan error, 1)
			lab.afterNth("alice", 1, func() {
				go func() { second <- alice.TryLock(ctx) }()
				time.Sleep(slack(time.Millisecond))
			})
			require.NoError(t, alice.TryLock(ctx), "the lock is free, but alice was refused")
			require.NoError(t, <-second,
				"alice's second goroutine came while her first one was locking, but her own lock refused it")
			require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
			require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")
			time.Sleep(slack(ttl / 100)) // for a slow node
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

// Also passes on step 05, because it keeps no count, so no call has to wait for another.
func TestUnlockDuringATryLock_ItCounts(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "Redis must resume before go-redis gives up, and after a release would")
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			bePatient(alice, ttl)
			require.NoError(t, alice.TryLock(ctx))
			goOn := everyNode(lab.hang)
			second := make(chan error, 1)
			go func() { second <- alice.TryLock(ctx) }()
			time.Sleep(time.Millisecond)
			unlocked := make(chan error, 1)
			go func() { unlocked <- alice.Unlock(ctx) }()
			time.Sleep(4 * time.Second)
			goOn()
			<-unlocked
			if <-second == nil {
				require.NoError(t, alice.Unlock(ctx), "alice is still inside once, but Unlock failed")
			}
			require.Empty(t, lab.keys(),
				"alice has locked twice and unlocked twice, once while Redis hung, but she is still inside: no one will "+
					"release that")
		})
	})
}

// Also passes on step 05, because that lock refuses its owner and so has no inner Unlock.
func TestTheHoldIsGoneBeforeTheInnerUnlock_NothingOfItComesBack(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, bobComes := range []bool{false, true} {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				require.NoError(t, alice.TryLock(ctx))
				if !lockAgain(t, alice) {
					return
				}
				lab.endLease()
				if bobComes {
					require.NoError(t, bob.TryLock(ctx), "alice's lease has expired, but bob was refused")
					err := alice.Unlock(ctx)
					again := alice.TryLock(ctx)
					require.Error(t, again, "alice's lease had expired and bob was inside, but her inner Unlock wrote "+
						"her into the lock again and she nested: both are inside")
					require.ErrorIs(t, again, ErrNotHeld,
						"alice's lease had expired and bob was inside, but her inner TryLock did not return ErrNotHeld")
					require.ErrorIs(t, err, ErrNotHeld,
						"alice's lease had expired and bob was inside, but her inner Unlock did not return ErrNotHeld")
					require.NoError(t, bob.Unlock(ctx), "alice's inner Unlock removed bob's lock")
					return
				}
				err := alice.Unlock(ctx)
				require.Empty(t, lab.keys(), "alice's lease had expired, but her inner Unlock created her key again")
				require.ErrorIs(t, err, ErrNotHeld,
					"alice's lease had expired, but her inner Unlock did not return ErrNotHeld")
			})
		}
	})
}

// Also passes on step 05, because that lock refuses its owner and so has nothing to undo.
func TestTryLock_NestedLostReply_KeepsOuterHold(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
			alice, bob := lab.lock("alice", noResend), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			lab.loseReply("alice")
			require.Error(t, alice.TryLock(ctx), "alice got no reply, but TryLock returned nil")
			requireRefused(t, bob, "alice undid her inner lock, but the outer one went with it: bob is inside with her")
			require.NoError(t, alice.Unlock(ctx), "alice is inside once, but she cannot leave")
			require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
		})
	})
}

// Also passes on step 05, because that lock refuses its owner and leaves the ttl
// unchanged.
func TestTheInnerLock_NeverShortensTheTTL(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			limitHold(alice, time.Millisecond) // no renewal comes in between
			require.NoError(t, alice.TryLock(ctx))
			for node := range nodes {
				lab.server(node).SetTTL(key, time.Hour)
			}
			lab.note("alice's lock has a ttl of an hour")
			if lockAgain(t, alice) {
				require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but she cannot leave once")
			}
			for node := range nodes {
				require.Greater(t, lab.server(node).TTL(key), 59*time.Minute,
					"alice's lock had a ttl of an hour, but locking again shortened it")
			}
		})
	})
}

// bePatient sets NodeTimeout on the locks that have it.
func bePatient(h *handle, d time.Duration) { h.set("NodeTimeout", d) }

// lockAgain nests once and reports whether the lock lets its owner in. A lock that does
// not, as before step 06, returns ErrNotAcquired: the first story is about that. From
// step 06 on, ErrNotAcquired never goes to the owner.
func lockAgain(t *T, alice *handle) bool {
	t.Helper()
	err := alice.TryLock(ctx)
	if errors.Is(err, ErrNotAcquired) {
		return false
	}
	require.NoError(t, err, "alice holds the lock and locks again, but she got an error")
	return true
}

// everyNode applies a fault to all nodes, and returns what ends it.
func everyNode(fail func(node int) (heal func())) (heal func()) {
	var heals []func()
	for node := range nodes {
		heals = append(heals, fail(node))
	}
	return func() {
		for _, heal := range heals {
			heal()
		}
	}
}

package redislock

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"weak"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// More about losses: renewals that are late, silent or fail, losses that meet other calls,
// and the errors of Do.

// Renewing.

func TestTheTTLIsNoWholeNumberOfSeconds_ItIsRenewedInTime(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "half a second may pass on a busy machine before a renewal is sent")
		for _, ttl := range []time.Duration{500 * time.Millisecond, 1900 * time.Millisecond} {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lockOn("alice", lab.client("alice").nodes, key, ttl), lab.lock("bob")
				require.NoError(t, alice.TryLock(ctx), "the lock is free, but alice, who wants it for %v, was refused", ttl)
				for range 20 {
					time.Sleep(ttl)
					requireRefused(t, bob,
						"alice has a ttl of %v and her work is not done, but bob is inside with her", ttl)
				}
				lab.crash("alice")
				time.Sleep(slack(ttl))
				require.NoError(t, bob.TryLock(ctx),
					"alice died and her last renewal expired after %v, but bob was refused", ttl)
			})
		}
	})
}

func TestATTLThatIsAccepted_CanBeRenewed(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "on a busy machine, delays exceed these ttls")
		for lease := time.Millisecond; lease < 7*time.Millisecond; lease += 100 * time.Microsecond {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lockOn("alice", lab.client("alice").nodes, key, lease)
				if err := alice.TryLock(ctx); lease < 5*time.Millisecond && err != nil {
					return // too short, and she gets the error before she starts
				} else {
					require.NoError(t, err, "a ttl of %v can be renewed, but was rejected", lease)
				}
				time.Sleep(5 * lease)
				requireNotLost(t, alice, fmt.Sprintf(
					"a ttl of %v was accepted and nothing failed, but the lock was lost", lease))
				require.NoError(t, alice.Unlock(ctx))
			})
		}
	})
}

func TestTheAnswerToTheAcquireTakesMostOfTheTTL_TheHoldIsKept(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			bePatient(alice, ttl)
			lab.delayReply("alice", ttl*3/4)
			require.NoError(t, alice.TryLock(ctx), "a quarter of alice's lease is left, but she was refused")
			time.Sleep(2 * ttl)
			requireNotLost(t, alice, "a quarter of alice's lease was left for a renewal, and Redis worked")
		})
	})
}

func TestAnswersToRenewalsTakeNearlyHalfTheTTL_TheHoldIsKept(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			lab.fillPool("alice", 30) // making a connection takes more round trips
			require.NoError(t, alice.TryLock(ctx))
			time.Sleep(ttl / 2)        // a renewal: Redis knows the script
			lab.far("alice", ttl*9/20) // go-redis waits 5s
			time.Sleep(3 * ttl)
			requireNotLost(t, alice, "each reply came while the lease was valid, and confirmed the renewal")
			requireRefused(t, bob, "alice was not notified of a loss, but bob is inside with her")
		})
	})
}

func TestRepliesAreLate_TheLeaseCountsFromTheSend(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, story := range []struct {
			last string // reply before Redis is down
			hold time.Duration
		}{{"acquisition", 0}, {"renewal", ttl / 2}} {
			t.Run(story.last, func(t *testing.T) {
				inLab(t, func(t *T, lab *lab) {
					alice := lab.lock("alice")
					always := func(string, int) bool { return true }
					lab.inject("alice", &hook{match: always, again: true,
						after: func() { time.Sleep(20 * time.Millisecond) }})
					require.NoError(t, alice.TryLock(ctx))
					time.Sleep(story.hold)
					everyNode(lab.stop)
					left := ttl
					for node := range nodes {
						left = min(left, lab.server(node).TTL(key))
					}
					requireNotLost(t, alice, "alice's key has not expired, but she was notified of a loss")
					requireLost(t, alice, left-ttl/100,
						"Redis had run the %s 20ms before alice got the reply, but she counts the lease from the "+
							"reply", story.last)
				})
			})
		}
	})
}

func TestValidUntil_IsTheTTLFromBeforeTheCommandLessTheDrift(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.Zero(t, alice.ValidUntil(), "alice holds nothing, but ValidUntil is not zero")
			require.Nil(t, alice.Lost(), "alice holds nothing, but Lost is not nil")

			drift := ttl/100 + 2*time.Millisecond
			start := time.Now()
			require.NoError(t, alice.TryLock(ctx))
			require.WithinDuration(t, start.Add(ttl-drift), alice.ValidUntil(), slack(0),
				"ValidUntil is not the time before the command plus a ttl minus the drift")

			time.Sleep(ttl / 2)
			lab.note("a renewal was due at ttl/3")
			require.WithinDuration(t, start.Add(ttl/3+ttl-drift), alice.ValidUntil(), slack(time.Millisecond),
				"a renewal was due at ttl/3, but ValidUntil is not that time plus a ttl minus the drift: alice would "+
					"give up too early, or too late")
			require.NoError(t, alice.Unlock(ctx))
			require.Zero(t, alice.ValidUntil(), "alice has left, but ValidUntil is not zero")
		})
	})
}

func TestRedisIsLoading_EachRenewalIsSentOnce(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "go-redis pauses before it resends")
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			lab.wait()
			lab.answer("LOADING Redis is loading the dataset in memory")
			before := lab.sent()
			requireLost(t, alice, ttl, "no renewal succeeds and alice's lease has expired, but her Lost is not closed")
			sent := (lab.sent() - before) / nodes
			require.GreaterOrEqual(t, sent, 12,
				"Redis is loading for two thirds of the ttl and alice's watchdog may send one renewal every ttl/20, but "+
					"each Redis was sent only %d", sent)
			require.LessOrEqual(t, sent, 21,
				"Redis is loading for two thirds of the ttl and alice's watchdog may send one renewal every ttl/30, but "+
					"each Redis was sent %d: go-redis resent some", sent)
		})
	})
}

func TestConnectionsHaveDied_RenewalsTakeOthersAndTheLockIsKept(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, story := range deadConnections {
			if !realTime || story.ttl == 2*time.Second {
				require.True(t, story.play(t, story.survived),
					"%+v: Redis worked throughout, only old connections were dead, but the lock is lost", story)
			}
		}
	})
}

// deadConnections is how many connections of a client may die silently during a hold, if the
// lock has the client for itself.
var deadConnections = []deadStory{
	{2 * time.Second, true, 4}, {10 * time.Second, true, 4}, {10 * time.Second, false, 1}, {30 * time.Second, false, 3},
}

type deadStory struct {
	ttl      time.Duration
	context  bool // ContextTimeoutEnabled: a renewal waits for ttl/10, and otherwise for 5s
	survived int
}

// play reports whether a lock is kept although so many connections have died.
func (s deadStory) play(t *testing.T, dead int) (kept bool) {
	inLab(t, func(t *T, lab *lab) {
		lab.lock("alice", func(opt *redis.Options) { opt.ContextTimeoutEnabled = s.context })
		lab.fillPool("alice", dead)
		alice := lab.lockOn("alice", lab.client("alice").nodes, key, s.ttl)
		require.NoError(t, alice.TryLock(ctx))
		for node := range nodes {
			lab.silence(node)
		}
		time.Sleep(5 * s.ttl)
		kept = !alice.ValidUntil().IsZero()
		if kept {
			require.NoError(t, alice.Unlock(ctx), "%+v: Redis works, but alice cannot release", s)
		}
	})
	return kept
}

func TestASecondHoldOnTheSameHandle_HasAWatchdogOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			lab.endLease()
			requireLost(t, alice, ttl/2, "alice's key is gone, but she was not notified")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld)

			require.NoError(t, alice.TryLock(ctx), "alice has lost the lock and it is free, but she was refused")
			requireNotLost(t, alice, "alice lost the lock the first time, but not the second")
			time.Sleep(5 * ttl)
			requireNotLost(t, alice, "the lock was renewed throughout the second time")
			requireRefused(t, bob, "no one renewed alice's lock the second time: bob is inside with her")
			require.NoError(t, alice.Unlock(ctx))
		})
	})
}

func TestAHoldShorterThanAThirdOfTheTTL_LeavesNoGoroutine(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx)) // connections and their goroutines
			require.NoError(t, alice.Unlock(ctx))
			before := goroutines(lab)
			require.NoError(t, alice.TryLock(ctx))
			time.Sleep(ttl / 4)
			require.NoError(t, alice.Unlock(ctx))
			require.LessOrEqual(t, goroutines(lab), before, "alice has left, but a goroutine was left behind")
			for range 10 {
				require.NoError(t, alice.TryLock(ctx))
				require.NoError(t, alice.Unlock(ctx))
			}
			sent := lab.sent()
			time.Sleep(ttl)
			require.Equal(t, sent, lab.sent(), "alice has left, but her watchdog still wakes up")
		})
	})
}

func TestTheTTLIsTakenAway_NestingDoesNotEndTheLock(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			for _, rdb := range lab.client("operator").nodes {
				require.NoError(t, rdb.Persist(ctx, key).Err())
			}
			require.NoError(t, alice.TryLock(ctx),
				"the key has lost its ttl and alice's lease is still valid, but her nested TryLock was refused")
			require.Error(t, bob.TryLock(ctx), "alice has locked twice, but her key is gone: bob is inside with her")
			require.NoError(t, alice.Unlock(ctx), "alice is inside twice, but her Unlock failed")
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
		})
	})
}

func TestNestingAfterMaxHold_DoesNotProlongTheLease(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			alice.MaxHold = 2 * ttl
			require.NoError(t, alice.TryLock(ctx))
			lab.note("alice never unlocks; MaxHold is %v", alice.MaxHold)
			time.Sleep(2*ttl + ttl/3)
			require.NoError(t, alice.TryLock(ctx),
				"MaxHold has ended and alice's last renewal is still valid, but her nested TryLock was refused")
			time.Sleep(slack(ttl - ttl/3))
			require.NoError(t, bob.TryLock(ctx),
				"MaxHold ended a ttl ago, but alice is still inside, because she nested after that")
		})
	})
}

func TestNestingDuringMaxHold_DoesNotRestartIt(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			alice.MaxHold = 3 * ttl
			require.NoError(t, alice.TryLock(ctx))
			time.Sleep(2 * ttl)
			require.NoError(t, alice.TryLock(ctx), "alice holds the lock, but her nested TryLock returned an error")
			requireLost(t, alice, 2*ttl+10*time.Millisecond,
				"alice's MaxHold ended a ttl ago, but she was not notified: her nested TryLock began it anew")
			time.Sleep(slack(ttl / 10))
			require.NoError(t, bob.TryLock(ctx), "alice's MaxHold ended a ttl ago, but bob was refused")
		})
	})
}

func TestANegativeMaxHold_IsRefusedBeforeAnyCommand(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			alice.MaxHold = -time.Second // the result of a subtraction
			for _, err := range []error{alice.TryLock(ctx), alice.Lock(ctx)} {
				require.ErrorContains(t, err, "MaxHold",
					"alice's MaxHold is negative, but the error does not say so")
				require.NotErrorIs(t, err, ErrNotAcquired,
					"alice's MaxHold is negative, but the error says that the lock is taken")
			}
			require.Zero(t, lab.sent(), "alice's MaxHold is negative, but something was sent to Redis")
		})
	})
}

func TestATTLThatTheDriftUsesUp_IsRefusedBeforeAnyCommand(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			nothingLeft := 2_020_202 * time.Nanosecond // 1% of it and 2ms are all of it
			for _, short := range []time.Duration{time.Millisecond, 2 * time.Millisecond, nothingLeft} {
				alice := lab.lockOn("alice", lab.client("alice").nodes, key, short)
				require.ErrorContains(t, alice.TryLock(ctx), short.String(),
					"a lock with a ttl of %v would be lost at once, but the error does not name the ttl", short)
			}
			require.Zero(t, lab.sent(), "a ttl that leaves no time was sent to Redis")
		})
	})
}

// A loss.

func TestALoss_SaysItsCause(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, story := range []struct {
			what string
			fail func(lab *lab)
			says string
			is   error
		}{
			{"the lease had expired", (*lab).endLease, "not held", ErrNotHeld},
			{"MaxHold had ended", func(*lab) {}, "MaxHold", nil},
			{"Redis hung", func(lab *lab) { everyNode(lab.hang) }, "timeout", os.ErrDeadlineExceeded},
			{"Redis was down", func(lab *lab) { everyNode(lab.stop) }, "connection refused", nil},
			{"Redis rejected the renewals", func(lab *lab) {
				lab.far("alice", ttl*3/100) // the last rejection comes after the end of the validity
				lab.failFrom("alice", 1, "NOPERM no permission")
			}, "NOPERM", nil},
		} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				alice.MaxHold = 2 * ttl
				var nested, cause error
				err := alice.Do(ctx, func(work context.Context) error {
					story.fail(lab)
					select {
					case <-work.Done():
					case <-time.After(5 * ttl): // then no assertion below holds
					}
					nested, cause = alice.TryLock(ctx), context.Cause(work)
					return nil
				})
				require.ErrorIs(t, nested, ErrNotHeld,
					"%s, but alice's nested TryLock did not return ErrNotHeld", story.what)
				for _, end := range []struct {
					of  string
					err error
				}{{"Do", err}, {"the nested TryLock", nested}, {"the cause of the work's context", cause}} {
					require.ErrorIs(t, end.err, ErrLost,
						"%s, but %s does not say that the lock is lost", story.what, end.of)
					require.ErrorContains(t, end.err, story.says, "%s, but %s does not say so", story.what, end.of)
					if story.is != nil {
						require.ErrorIs(t, end.err, story.is,
							"%s, but errors.Is does not find that in %s", story.what, end.of)
					}
				}
				require.Equal(t, story.is == ErrNotHeld, errors.Is(err, ErrNotHeld),
					"%s: Do's error must match ErrNotHeld if and only if Redis replied that the lock is no longer "+
						"alice's", story.what)
			})
		}
	})
}

func TestALossShowsInACall_LostAndValidUntilSaySo(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, story := range []struct {
			call  string
			depth int
			learn func(*handle) error
		}{
			{"a nested TryLock", 1, func(l *handle) error { return l.TryLock(ctx) }},
			{"an inner Unlock", 2, func(l *handle) error { return l.Unlock(ctx) }},
			{"the last Unlock", 1, func(l *handle) error { return l.Unlock(ctx) }},
		} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				for range story.depth {
					require.NoError(t, alice.TryLock(ctx))
				}
				lab.endLease()
				require.ErrorIs(t, story.learn(alice), ErrNotHeld,
					"alice's key is gone, but %s did not return ErrNotHeld", story.call)
				requireLost(t, alice, 0, "%s returned ErrNotHeld, but Lost was not closed", story.call)
				require.Zero(t, alice.ValidUntil(), "%s returned ErrNotHeld, but ValidUntil is not zero", story.call)
				sent := lab.sent()
				time.Sleep(ttl)
				require.Equal(t, sent, lab.sent(), "%s returned ErrNotHeld, but alice's watchdog keeps sending", story.call)
			})
		}
	})
}

func TestAnErrorLongBeforeTheLoss_IsNotItsCause(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			ttl := ttl / 2 // go-redis waits 5s for a reply, and then returns a timeout
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, ttl)
			require.NoError(t, alice.TryLock(ctx))
			lab.failFrom("alice", 1, "LOADING Redis is loading the dataset in memory")
			time.Sleep(ttl / 2)
			lab.removeHooks("alice")
			lab.note("Redis rejected a renewal, and accepts them again")
			time.Sleep(ttl)
			everyNode(lab.hang)
			requireLost(t, alice, ttl, "Redis hangs and alice's lease has expired, but she was not notified")
			err := alice.TryLock(ctx)
			require.ErrorIs(t, err, os.ErrDeadlineExceeded, "alice's renewals got no reply, but the error does not say so")
			require.NotContains(t, err.Error(), "LOADING",
				"alice's renewals got no reply, but the error names one from long before")
		})
	})
}

func TestTheNestedTryLockAfterALoss_DoesNotNeedRedis(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			everyNode(lab.hang)
			requireLost(t, alice, ttl, "Redis hangs and alice's lease has expired, but she was not notified")
			sent := lab.sent()
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld,
				"alice has lost the lock, but her nested TryLock did not return ErrNotHeld")
			require.Equal(t, sent, lab.sent(),
				"alice was notified of the loss, but her nested TryLock sent a command to Redis")
		})
	})
}

func TestTryLock_NestedReplyAfterLoss_ReturnsErrNotHeld(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "the lease must end within the milliseconds that a reply takes")
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			alice.MaxHold = time.Millisecond // no renewal
			require.NoError(t, alice.TryLock(ctx))
			// From then on, the key has 110ms left, the lease only 8ms.
			time.Sleep(ttl - ttl/100 - 10*time.Millisecond)
			lab.delayReply("alice", 20*time.Millisecond)
			err := alice.TryLock(ctx)
			requireLost(t, alice, 0, "alice's lease has expired, but she was not notified")
			require.ErrorIs(t, err, ErrNotHeld,
				"alice was notified of a loss before the reply to her nested TryLock came, but it did not return "+
					"ErrNotHeld")
			require.ErrorIs(t, err, ErrLost, "alice locks again and has lost the lock, but the error does not say so")
		})
	})
}

func TestTryLock_NestedReplyAtExpiry_ReturnsErrNotHeld(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "the reply must arrive at the moment when the lease ends")
		for range 10 { // whether the watchdog or the reply comes first is random, as after a pause
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				bePatient(alice, ttl)
				limitHold(alice, time.Millisecond)
				require.NoError(t, alice.TryLock(ctx))
				time.Sleep(ttl / 2)
				first := func(_ string, nth int) bool { return nth == 1 }
				lab.inject("alice", &hook{match: first, after: func() { time.Sleep(time.Until(alice.ValidUntil())) },
					again: true})
				require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld,
					"alice's lease ended while the reply to her nested TryLock was in flight, but it did not return "+
						"ErrNotHeld")
				requireLost(t, alice, 0, "alice's lease has expired, but she was not notified")
			})
		}
	})
}

func TestTheNestedTryLockIsAnsweredLate_TheHoldIsKept(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			bePatient(alice, 3*ttl)
			require.NoError(t, alice.TryLock(ctx))
			lab.delayReply("alice", 2*ttl)
			lab.note("the reply to alice's nested TryLock will take 2 ttl; renewals are sent in the meantime")
			require.NoError(t, alice.TryLock(ctx),
				"alice's lock was renewed throughout, but her nested TryLock, whose reply came late, was refused")
			requireNotLost(t, alice,
				"alice's lock was renewed throughout, and only the reply to a nested TryLock came late")
		})
	})
}

func TestLockAgainAfterALoss_DoesNotWait(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, fault := range []struct {
			name string
			fail func(lab *lab) (heal func())
		}{
			{"Redis was down", func(lab *lab) func() { return everyNode(lab.stop) }},
			{"Redis hung", func(lab *lab) func() { return everyNode(lab.hang) }},
			{"the lease had expired", func(lab *lab) func() { lab.endLease(); return func() {} }},
		} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				require.NoError(t, alice.TryLock(ctx))
				heal := fault.fail(lab)
				requireLost(t, alice, ttl, "%s, but alice was not notified", fault.name)
				heal()
				patience, cancel := context.WithTimeout(ctx, ttl)
				defer cancel()
				start := time.Now()
				require.ErrorIs(t, alice.Lock(patience), ErrNotHeld,
					"%s and alice has lost the lock, but her nested Lock did not return ErrNotHeld", fault.name)
				require.Less(t, time.Since(start), slack(ttl/10),
					"%s and alice has lost the lock, but her nested Lock waited", fault.name)
			})
		}
	})
}

func TestRedisIsBackAfterALoss_TheHoldIsNot(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "the lease ends only a few milliseconds before the key expires")
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			start := everyNode(lab.stop)
			requireLost(t, alice, ttl, "Redis is down and alice's lease has expired, but she was not notified")
			start()
			require.NotEmpty(t, lab.keys(), "the key had expired, but it should outlive the lease by a little")
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotHeld,
				"alice was notified of a loss, but her nested TryLock did not return ErrNotHeld, because Redis still has "+
					"her key")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice was notified of a loss, but because Redis still has her key, her Unlock returned nil")
			require.Empty(t, lab.keys(), "alice has left, but something was left behind in Redis")
		})
	})
}

func TestTheReplyComesAfterTheLease_LockTriesAgain(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			bePatient(alice, 3*ttl)
			lab.delayReply("alice", 2*ttl)
			lab.note("alice will be paused for 2 ttl before she reads the reply")
			patience, cancel := context.WithTimeout(ctx, 3*ttl)
			defer cancel()
			require.NoError(t, alice.Lock(patience),
				"one reply came too late and the lock is free, but alice no longer waits")
		})
	})
}

func TestARefusalComesLate_NothingIsSentAfterIt(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			bePatient(alice, 3*ttl)
			require.NoError(t, bob.TryLock(ctx))
			lab.delayReply("alice", 2*ttl)
			lab.note("alice will be paused for 2 ttl before she reads the reply")
			require.ErrorIs(t, alice.TryLock(ctx), ErrNotAcquired, "bob is inside, but alice was not refused")
			require.Equal(t, nodes, lab.sent(func(r *record) bool { return r.Who == "alice" }),
				"alice was refused and has nothing to undo, but she sent more")
		})
	})
}

// Unlock meets a renewal, or a loss.

func TestUnlockMeetsARenewal_NothingIsSentAfterwards(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "two things have to happen at the same moment")
		for range 20 { // either may come first
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				start := time.Now()
				require.NoError(t, alice.TryLock(ctx))
				time.Sleep(time.Until(start.Add(ttl / 3)))
				require.NoError(t, alice.Unlock(ctx))
				time.Sleep(time.Millisecond)
				sent := lab.sent()
				time.Sleep(time.Millisecond)
				require.Equal(t, sent, lab.sent(),
					"alice unlocked at the moment of a renewal, but her watchdog keeps sending")
			})
		}
	})
}

func TestUnlockDuringARenewal_NothingComesAfterwards(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			time.Sleep(ttl / 2)
			goOn := everyNode(lab.hang)
			time.Sleep(ttl / 3) // a renewal has been sent
			unlocked := make(chan error, 1)
			go func() { unlocked <- alice.Unlock(ctx) }()
			time.Sleep(10 * time.Millisecond)
			goOn()
			require.NoError(t, <-unlocked, "a renewal was in flight, but Unlock failed")

			sent := lab.sent()
			time.Sleep(5 * ttl)
			require.Equal(t, sent, lab.sent(), "alice has unlocked, but her watchdog keeps sending")
			require.Zero(t, goroutines(lab), "alice has unlocked, but she left a goroutine behind")
			requireNotLost(t, alice, "alice has unlocked")
			require.Empty(t, lab.keys(), "alice has unlocked, but the renewal created the key again")
		})
	})
}

func TestUnlockWhileARenewalGoesSilent_TheReleaseGetsThrough(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl)
			require.NoError(t, alice.TryLock(ctx))
			for node := range nodes {
				lab.silence(node)
			}
			// Now a renewal has been sent that will get no reply.
			time.Sleep(slack(2*ttl + 100*time.Millisecond))
			start := time.Now()
			err := alice.Unlock(ctx)
			require.Less(t, time.Since(start), slack(4*time.Second), "a renewal gets no reply, but Unlock waited for it")
			if nodes == 1 {
				require.NoError(t, err, "a renewal got no reply, but that kept the release from being sent")
			}
			time.Sleep(ttl)
			require.Empty(t, lab.keys(), "a renewal got no reply, but that kept the release from getting through")
			time.Sleep(12 * ttl)
			requireNotLost(t, alice, "alice has unlocked")
		})
	})
}

func TestARenewalArrivesAfterTheRelease_TheHoldIsNotLost(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "the renewal is held back before it reaches Redis")
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			held := make([]atomic.Bool, nodes)
			late := make(chan *message, nodes)
			for node := range nodes {
				lab.server(node).intercept(func(m *message) bool {
					first := !held[node].Swap(true)
					if first {
						late <- m
					}
					return first
				})
			}
			time.Sleep(ttl/3 + ttl/100)
			require.NoError(t, alice.Unlock(ctx), "a renewal was in flight, but Unlock failed")
			lab.wait() // then her renewal arrives
			for range nodes {
				(<-late).run(&hook{})
			}
			time.Sleep(2 * ttl)
			requireNotLost(t, alice, "alice had unlocked before her renewal arrived")
		})
	})
}

func TestTheReleaseIsAnsweredLate_NoRenewalComesMeanwhile(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			time.Sleep(ttl/3 - ttl/10) // a renewal is due soon
			scripts := func() int {    // PUBLISH may come after them
				return lab.sent(func(r *record) bool { return !strings.HasPrefix(r.Text, "PUBLISH") })
			}
			always := func(string, int) bool { return true }
			lab.inject("alice", &hook{match: always, after: func() { time.Sleep(ttl / 5) }, again: true})
			before := scripts()
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
			require.Equal(t, nodes, scripts()-before, "alice's release was in flight, but her watchdog sent a renewal")
			requireNotLost(t, alice, "alice has unlocked, only the reply was slow")
		})
	})
}

func TestTheReleaseIsAnsweredAfterTheLease_TheHoldIsNotLost(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, ttl/5)
			err := alice.Do(ctx, func(context.Context) error {
				lab.inject("alice", &hook{match: isWrite, after: func() { time.Sleep(ttl / 4) }, again: true})
				return nil
			})
			require.NoError(t, err,
				"alice released the lock in time and only the reply took longer than her lease, but Do reports a loss")
			requireNotLost(t, alice, "alice has unlocked, only the reply was slow")
		})
	})
}

func TestUnlockAfterALoss_SaysItsCause(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, story := range []struct {
			what string
			fail func(lab *lab)
			says string
		}{
			{"the lease had expired", (*lab).endLease, "not held"},
			{"MaxHold had ended", func(*lab) {}, "MaxHold"},
			{"Redis was down", func(lab *lab) { everyNode(lab.stop) }, "connection refused"},
		} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				alice.MaxHold = 2 * ttl
				require.NoError(t, alice.TryLock(ctx))
				story.fail(lab)
				requireLost(t, alice, 5*ttl, "%s, but alice was not notified", story.what)
				err := alice.Unlock(ctx)
				require.ErrorIs(t, err, ErrNotHeld,
					"%s and alice was notified, but her Unlock did not return ErrNotHeld", story.what)
				require.ErrorIs(t, err, ErrLost,
					"%s and alice was notified, but her Unlock does not match ErrLost", story.what)
				require.ErrorContains(t, err, story.says, "%s, but alice's Unlock does not name it", story.what)
			})
		}
	})
}

func TestTheReleaseAfterALossFails_UnlockMayBeRepeated(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			lab.failFrom("alice", 1, "NOPERM no permission")
			requireLost(t, alice, 2*ttl, "Redis rejected all renewals, but alice was not notified")
			lab.removeHooks("alice")
			lab.failFrom("alice", 1, "OOM out of memory")
			err := alice.Unlock(ctx)
			require.ErrorIs(t, err, ErrLost, "alice lost the lock and knows it, but her Unlock does not name it")
			require.ErrorContains(t, err, "NOPERM", "Redis had rejected alice's renewals, but her Unlock does not name it")
			require.ErrorContains(t, err, "OOM", "Redis rejected alice's release as well, but her Unlock does not name it")
			lab.removeHooks("alice")
			require.ErrorIs(t, alice.Unlock(ctx), ErrLost,
				"alice repeated her Unlock, but it forgot that the lock was lost")
			err = alice.Unlock(ctx)
			require.ErrorIs(t, err, ErrNotHeld, "alice unlocked once too often, but her Unlock did not return ErrNotHeld")
			require.NotErrorIs(t, err, ErrLost, "alice's hold has ended, but another Unlock matches ErrLost")
			require.NoError(t, alice.TryLock(ctx), "alice's hold has ended and the lock is free, but she cannot acquire it")
		})
	})
}

func TestTheLossIsKnown_ALostReplyToUnlockDoesNotHideIt(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			require.NoError(t, alice.TryLock(ctx))
			lab.endLease()
			require.NoError(t, bob.TryLock(ctx))
			requireLost(t, alice, ttl/3+10*time.Millisecond,
				"bob holds the lock and alice's renewal was due, but she was not notified")
			lab.loseReply("alice")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice's Lost is closed and bob is inside, but a reply to her Unlock was lost and it returned nil")
			require.NoError(t, bob.Unlock(ctx), "alice's Unlock released bob's lock")
		})
	})
}

func TestUnlockIsRepeatedUntilItsOutcomeIsKnown_ThenTheHoldIsOver(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			// Unlock waits 3s for a hung Redis.
			alice := lab.lockOn("alice", lab.client("alice").nodes, key, 6*ttl)
			require.NoError(t, alice.TryLock(ctx))
			goOn := everyNode(lab.hang)
			err := alice.Unlock(ctx)
			require.Error(t, err, "no node has replied, but Unlock returned nil")
			require.Zero(t, alice.ValidUntil(), "alice has unlocked, but her lease is still valid")
			goOn()
			time.Sleep(slack(ttl / 100))
			require.NoError(t, alice.Unlock(ctx),
				"alice's release got through and its reply was late, but when she unlocks again, Unlock returned an error")
			requireNotLost(t, alice, "alice has unlocked")
			require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld,
				"alice has unlocked for good, but another Unlock did not return ErrNotHeld")
		})
	})
}

// Do.

func TestDo_ItsOutcomesCanBeToldApart(t *testing.T) {
	each(t, func(t *testing.T) {
		soldOut := errors.New("sold out")
		for _, story := range []struct {
			outcome string
			before  func(lab *lab, giveUp func())
			during  func(lab *lab)
			matches []error
		}{
			{"another client holds the lock", func(lab *lab, giveUp func()) {
				lab.lock("bob").TryLock(ctx)
				lab.afterNth("alice", 2, func() { // refused, and soon nothing is in flight
					time.AfterFunc(10*time.Millisecond, func() { lab.wait(); giveUp() })
				})
			}, nil, []error{ErrNotRun, ErrNotAcquired, context.Canceled}},
			{"Redis is down", func(lab *lab, _ func()) { everyNode(lab.stop) }, nil, []error{ErrNotRun}},
			{"nothing fails", nil, nil, nil},
			{"the release gets no reply", nil, func(lab *lab) { everyNode(lab.hang) }, nil},
			{"the lock is lost", nil, func(lab *lab) { lab.endLease(); time.Sleep(ttl / 2) }, []error{ErrLost}},
			{"the release finds the lock lost", nil, (*lab).endLease, []error{ErrLost}},
		} {
			for _, result := range []error{nil, soldOut} {
				inLab(t, func(t *T, lab *lab) {
					alice := lab.lock("alice")
					request, cancel := context.WithTimeout(ctx, slack(ttl/10))
					defer cancel()
					if story.before != nil {
						story.before(lab, cancel)
					}
					ran := false
					err := alice.Do(request, func(context.Context) error {
						ran = true
						if story.during != nil {
							story.during(lab)
						}
						return result
					})
					require.Equal(t, !slices.Contains(story.matches, ErrNotRun), ran,
						"%s: alice's work should have run: %t, ran: %t", story.outcome, !ran, ran)
					for _, known := range []error{ErrNotRun, ErrNotAcquired, context.Canceled, ErrLost} {
						if slices.Contains(story.matches, known) {
							require.ErrorIs(t, err, known, "%s, but Do's error does not match %q", story.outcome, known)
						} else {
							require.NotErrorIs(t, err, known, "%s, but Do's error matches %q", story.outcome, known)
						}
					}
					if ran && result != nil {
						require.ErrorIs(t, err, result,
							"%s, but what the work returned is not in Do's error", story.outcome)
					}
					if ran && story.matches == nil {
						require.True(t, err == result,
							"%s, the work returned %v, but Do returned %v", story.outcome, result, err)
					}
				})
			}
		}
	})
}

func TestDo_ReleasesWhenTheWorkPanics(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			var panicked any
			var err error
			func() {
				defer func() { panicked = recover() }()
				err = alice.Do(ctx, func(context.Context) error { panic("sold out") })
			}()
			require.NoError(t, err, "the lock was free, but the work did not run")
			require.Equal(t, "sold out", panicked, "the work panicked, but Do hid it")
			require.Empty(t, lab.keys(), "the work panicked, but the lock was not released")
		})
	})
}

func TestDo_TheWorkIsOverBeforeTheLockIsFree(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			var over error
			require.NoError(t, alice.Do(ctx, func(work context.Context) error {
				lab.beforeWrite("alice", func() { over = work.Err() })
				return nil
			}))
			require.Error(t, over,
				"alice's lock was being released, but a goroutine that her work had started was not notified to stop")
		})
	})
}

func TestDo_AnInnerOneLeavesNothingWithTheHold(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			request := func() weak.Pointer[[1 << 20]byte] {
				body := new([1 << 20]byte)
				type name struct{}
				require.NoError(t, alice.lockOf.Do(context.WithValue(ctx, name{}, body),
					func(context.Context) error { return nil }))
				return weak.Make(body)
			}()
			time.Sleep(slack(ttl / 2)) // timers keep it too, until they fire
			runtime.GC()
			require.True(t, request.Value() == nil,
				"alice's request has ended, but her lock, which she still holds, keeps what belonged to the request")
			require.NoError(t, alice.Unlock(ctx))
		})
	})
}

func TestDo_TheWorkHasTheCallersContext(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			type name struct{}
			request, cancel := context.WithTimeout(context.WithValue(ctx, name{}, "alice"), ttl)
			deadline, _ := request.Deadline()
			var work context.Context
			require.NoError(t, alice.Do(request, func(ctx context.Context) error {
				work = ctx
				return nil
			}))
			require.ErrorIs(t, work.Err(), context.Canceled, "alice's work is done, but its context has not ended")
			require.ErrorIs(t, alice.Do(request, func(work context.Context) error {
				until, ok := work.Deadline()
				require.True(t, ok && until.Equal(deadline),
					"alice's request has a deadline, but her work's context does not have it")
				require.Equal(t, "alice", work.Value(name{}),
					"alice's request has a value, but her work's context does not have it")
				cancel()
				select {
				case <-work.Done():
				case <-time.After(ttl / 10):
				}
				require.ErrorIs(t, context.Cause(work), context.Canceled,
					"alice's request was cancelled, but her work was not notified")
				return work.Err()
			}), context.Canceled)
			require.Empty(t, lab.keys(), "alice's request was cancelled, but her lock was not released")
		})
	})
}

// Helpers.

// fillPool gives a client n idle connections to every node.
func (l *lab) fillPool(name string, n int) {
	for _, rdb := range l.client(name).nodes {
		conns := make([]*redis.Conn, n)
		for i := range conns {
			conns[i] = rdb.(*redis.Client).Conn()
			conns[i].ClientGetName(ctx) // any command connects it; this one counts as setup
		}
		for _, conn := range conns {
			conn.Close()
		}
	}
	l.note("%s has %d idle connections to each Redis", name, n)
}

// silence makes a node's current connections swallow everything, like a NAT that has
// forgotten them. Redis works, and so do new connections.
func (l *lab) silence(node int) {
	s := l.server(node)
	for _, c := range l.clients {
		c.hangUp(func(w *wire) bool {
			if w.server == s {
				w.silent.Store(true)
			}
			return false
		})
	}
	l.fault("the connections to %s die silently, new ones work", s.name)
}

package redislock

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// More of guarantee 4: tokens that repeat, releases that fail halfway, and answers that are
// none.

func TestALateHolderUnlocks_NobodyGetsInMeanwhile(t *testing.T) {
	each(t, func(t *testing.T) {
		eachNth(t, "after command %d", func(t *T, lab *lab, nth int) bool {
			alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
			require.NoError(t, alice.TryLock(ctx))
			lab.endLease()
			require.NoError(t, bob.TryLock(ctx), "alice's lease has expired, but bob was refused")
			var carolErr error
			comes := lab.afterNth("alice", nth, func() { carolErr = carol.TryLock(ctx) })
			err := alice.Unlock(ctx)
			if !comes.fired() {
				return false
			}
			require.ErrorIs(t, carolErr, ErrNotAcquired,
				"alice came late and removed bob's lock, if only for a moment: carol is inside with bob")
			require.ErrorIs(t, err, ErrNotHeld,
				"alice's lease had expired, but her Unlock did not return ErrNotHeld")
			require.NoError(t, bob.Unlock(ctx), "bob holds the lock, but Unlock failed")
			return true
		})
	})
}

func TestEveryAcquisition_HasATokenOfItsOwn(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			seen := map[string]bool{}
			for range 50 {
				require.NoError(t, alice.TryLock(ctx))
				token := lab.owner(0)
				require.NotEmpty(t, token, "alice is inside, but nothing is stored at her key")
				require.False(t, seen[token],
					"alice has the lock for the second time, but Redis has %q again: nothing distinguishes this "+
						"acquisition from the first", token)
				seen[token] = true
				require.NoError(t, alice.Unlock(ctx))
			}
			tokens := slices.Sorted(maps.Keys(seen))
			require.Greater(t, randomBits(tokens), 100.0,
				"alice's tokens look like %q and %q: about %.0f bits of them vary; with fewer than 100, other clients "+
					"can get the same token", tokens[0], tokens[1], randomBits(tokens))
		})
	})
}

// randomBits estimates the number of random bits in a token from how much these vary. For
// 50 UUIDs, which have 122 random bits, it returns 120; for 20 bytes in hexadecimal it
// returns 158. At a position where nearly every token differs, all 8 bits count as
// random.
func randomBits(tokens []string) (bits float64) {
	for i := range len(tokens[0]) {
		chars := map[byte]bool{}
		for _, token := range tokens {
			if i < len(token) {
				chars[token[i]] = true
			}
		}
		if len(chars) > 38 {
			bits += 8
			continue
		}
		bits += math.Log2(float64(len(chars)))
	}
	return bits
}

// Two processes share nothing, not even a counter. This program starts itself twice.
func TestTwoProcesses_NeverHaveTheSameToken(t *testing.T) {
	each(t, func(t *testing.T) {
		if os.Getenv(secondProcess) != "" {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice")
				for range 3 {
					alice.TryLock(ctx)
					fmt.Println(secondProcess, lab.owner(0))
					alice.Unlock(ctx)
				}
			})
			return
		}
		tokens := func() (list []string) {
			process := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
			process.Env = append(os.Environ(), secondProcess+"=yes", "GORACE=atexit_sleep_ms=0")
			out, err := process.Output()
			require.NoError(t, err, "a second process could not lock:\n%s", out)
			for line := range strings.Lines(string(out)) {
				if token, ok := strings.CutPrefix(line, secondProcess+" "); ok {
					list = append(list, strings.TrimSpace(token))
				}
			}
			require.Len(t, list, 3, "a second process could not lock:\n%s", out)
			require.NotContains(t, list, "", "alice is inside, but nothing is stored at her key")
			return list
		}
		first, second := tokens(), tokens()
		for _, token := range first {
			require.NotContains(t, second, token,
				"two processes stored the same value: each mistakes the other's lock for its own")
		}
	})
}

const secondProcess = "REDISLOCK_SECOND_PROCESS"

// Also passes on step 03, because it keeps no state in the handle.
func TestAnotherGoroutineLocksDuringUnlock_ItsHoldCanBeReleased(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice := lab.lock("alice")
			require.NoError(t, alice.TryLock(ctx))
			second := make(chan error, 1)
			lab.inject("alice", &hook{match: isWrite, after: func() {
				// Redis has released the lock, but Unlock has not got the reply yet.
				go func() { second <- alice.TryLock(ctx) }()
				time.Sleep(10 * time.Millisecond)
			}})
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
			require.NoError(t, <-second, "alice has released the lock, but another goroutine of hers was refused")
			require.NoError(t, alice.Unlock(ctx),
				"another goroutine had already locked when Unlock returned, but its lock was forgotten: no one can "+
					"release it")
			require.Empty(t, lab.keys(), "every goroutine that locked has unlocked, but the lock is not free")
		})
	})
}

func TestUnlockWithoutAHold_DoesNotNeedRedis(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob, carol := lab.lock("alice"), lab.lock("bob"), lab.lock("carol")
			require.NoError(t, alice.TryLock(ctx))
			require.NoError(t, alice.Unlock(ctx), "alice holds the lock, but Unlock failed")
			require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
			lab.endLease()
			require.ErrorIs(t, bob.Unlock(ctx), ErrNotHeld,
				"bob's lease had expired, but his Unlock did not return ErrNotHeld")
			sent := lab.sent()
			for _, handle := range []*handle{alice, bob, carol} {
				require.ErrorIs(t, handle.Unlock(ctx), ErrNotHeld,
					"%s holds nothing, but Unlock did not return ErrNotHeld", handle.who)
				require.Equal(t, sent, lab.sent(),
					"%s holds nothing, but Unlock sent a command to Redis: if Redis were down, it could not "+
						"answer", handle.who)
			}
		})
	})
}

// Also passes on step 03, because it passes on the errors from go-redis as well.
func TestRedisRefusesOneCommand_ThatIsAnErrorAndNoAnswer(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, story := range []struct {
			call  string
			taken bool
			known error
		}{{"TryLock", false, ErrNotAcquired}, {"TryLock", true, ErrNotAcquired}, {"Unlock", false, ErrNotHeld}} {
			eachNth(t, story.call+", command %d", func(t *T, lab *lab, nth int) bool {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				call := alice.TryLock
				switch {
				case story.taken && nodes > 1 && nth > 1:
					return false // all nodes have said no: what comes after that changes no answer
				case story.taken:
					require.NoError(t, bob.TryLock(ctx))
				case story.call == "Unlock":
					require.NoError(t, alice.TryLock(ctx))
					call = alice.Unlock
				}
				refusal := lab.inject("alice", &hook{match: nthIs(nth), again: true,
					reply: errors.New("OOM command not allowed when used memory > 'maxmemory'.")})
				err := call(ctx)
				if !refusal.fired() {
					return false
				}
				if err == nil && story.call == "Unlock" && bob.TryLock(ctx) == nil {
					return true // the lock is free without that command
				}
				require.Error(t, err, "Redis rejected command %d of alice's %s, but it returned nil", nth, story.call)
				require.NotErrorIs(t, err, story.known,
					"Redis rejected command %d of alice's %s, but it returned an answer anyway", nth, story.call)
				return true
			})
		}
	})
}

// Also passes on step 03, because a SET that is sent twice sets the ttl once.
func TestTheReplyToTheAcquireIsLostAndTheHolderDies_BobEntersWhenTheTTLEnds(t *testing.T) {
	each(t, func(t *testing.T) {
		inLab(t, func(t *T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			lab.loseReply("alice")
			alice.TryLock(ctx) // whatever it returns
			lab.crash("alice")
			time.Sleep(ttl + 2*slack(10*time.Millisecond))
			require.NoError(t, bob.TryLock(ctx),
				"the reply to alice's acquisition was lost, so it was sent twice; she died, her ttl of %v has passed, "+
					"but bob is still locked out", ttl)
		})
	})
}

// Also passes on step 03, whose TryLock sends a single command.
func TestRedisHangsInTheMiddleOfARefusedTryLock_ItReturnsInTime(t *testing.T) {
	each(t, func(t *testing.T) {
		for _, readTimeout := range []time.Duration{1100 * time.Millisecond, 5100 * time.Millisecond} {
			inLab(t, func(t *T, lab *lab) {
				options := func(opt *redis.Options) { opt.ReadTimeout = readTimeout }
				alice, bob := lab.lock("alice"), lab.lock("bob", options)
				require.NoError(t, alice.TryLock(ctx))
				hangs := lab.afterNth("bob", 1, func() { // steps 04 and 05 ask a second question
					for node := range nodes {
						lab.hang(node)
					}
				})
				request, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
				defer cancel()
				start := time.Now()
				err := bob.TryLock(request)
				took := time.Since(start)
				require.True(t, hangs.fired(), "bob's TryLock sent no command")
				require.Error(t, err, "alice is inside, but bob's TryLock returned nil: both are inside")
				require.Less(t, took, slack(3500*time.Millisecond+3*readTimeout),
					"Redis hung in the middle of bob's refused TryLock: it took %v, more than 3.5s and three reads", took)
			})
		}
	})
}

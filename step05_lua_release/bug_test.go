package redislock

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"log"
	rand1 "math/rand"
	"os"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// These tests pass while step 05's bugs exist. Step 06 removes the first, step 07 the
// second.

func TestBug_TheHolderLocksAgain_BlocksItself(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		end := time.Now().Add(ttl)
		require.NoError(t, alice.Lock(ctx))
		require.NoError(t, alice.Lock(ctx)) // after her own lease has expired
		require.False(t, time.Now().Before(end), "alice could lock again while she held the lock: the bug is gone")
	})
}

func TestBug_TheLeaseEndsDuringTheWork_TwoAreInside(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		time.Sleep(2 * ttl) // alice is still working
		require.NoError(t, bob.TryLock(ctx), "bob was refused while alice was still working: the bug is gone")
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice is notified only now")
	})
}

// What follows shows common mistakes with tokens and clients, and the whiteboard version of
// this step's lock.

// byID is a lock that identifies its owner by an id.
type byID struct {
	rdb redis.UniversalClient
	id  string
}

func (l byID) TryLock(ctx context.Context) (bool, error) {
	return l.rdb.SetNX(ctx, key, 1, ttl).Result()
}

func (l byID) Unlock(ctx context.Context) (bool, error) {
	return sendOnce(ctx, l.rdb, releaseScript, key, l.id)
}

func TestTheValueIsOneAndTheIDIsCompared_NobodyCanUnlock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := byID{lab.client("alice").nodes[0], rand.Text()}, byID{lab.client("bob").nodes[0], rand.Text()}
		acquired, err := alice.TryLock(ctx)
		require.NoError(t, err)
		require.True(t, acquired)
		released, err := alice.Unlock(ctx)
		require.NoError(t, err)
		require.False(t, released, "alice released her lock: the bug is gone")

		acquired, err = bob.TryLock(ctx)
		require.NoError(t, err)
		require.False(t, acquired, "alice has unlocked and bob got in: the bug is gone")
		time.Sleep(slack(ttl))
		acquired, err = bob.TryLock(ctx)
		require.NoError(t, err)
		require.True(t, acquired, "the ttl has expired, but bob was refused")
	})
}

func TestRenewedWithXX_OverwritesTheNextOwnersLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.endLease()
		require.NoError(t, bob.TryLock(ctx))
		bobs := lab.owner(0)
		renewed, err := lab.client("alice").nodes[0].SetXX(ctx, key, alice.token.Load(), ttl).Result()
		require.NoError(t, err)
		require.True(t, renewed, "SET with XX checked whose lock it is: the bug is gone")
		require.NotEqual(t, bobs, lab.owner(0), "alice has renewed, but bob's lock is untouched: the bug is gone")
		require.ErrorIs(t, bob.Unlock(ctx), ErrNotHeld)
	})
}

// couponLock returns the lock of one coupon.
func couponLock(opt *redis.Options, coupon int) *Lock {
	rdb := redis.NewClient(opt) // PoolSize: 100
	return New(rdb, fmt.Sprint(key, "-", coupon), ttl)
}

func TestAClientForEachLock_EachDialsAnew(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.client("alice")
		rdb := alice.nodes[0].(*redis.Client)
		dialled := func(lock func(coupon int) *Lock) int {
			before := len(alice.wires)
			for coupon := range 10 {
				l := lock(coupon)
				require.NoError(t, l.TryLock(ctx))
				require.NoError(t, l.Unlock(ctx))
			}
			return len(alice.wires) - before
		}
		require.Equal(t, 1, dialled(func(coupon int) *Lock {
			return New(rdb, fmt.Sprint(key, "-", coupon), ttl)
		}), "ten locks, one after the other, share a client")
		require.Equal(t, 10, dialled(func(coupon int) *Lock {
			l := couponLock(rdb.Options(), coupon)
			t.Cleanup(func() { l.rdb.Close() })
			return l
		}), "ten locks with a client each did not dial ten times: the bug is gone")
	})
}

// yesOrNo is a lock without errors: its calls return what happened, or so it seems.
type yesOrNo struct {
	rdb   redis.UniversalClient
	token string
}

func (l yesOrNo) TryLock(ctx context.Context) bool {
	acquired, _ := l.rdb.SetNX(ctx, key, l.token, ttl).Result()
	return acquired
}

func (l yesOrNo) Unlock(ctx context.Context) bool {
	if _, err := sendOnce(ctx, l.rdb, releaseScript, key, l.token); err != nil {
		log.Print("unlock: ", err)
	}
	return true
}

func TestALostReplyIsReturnedAsNo_TheRefusedOneHoldsTheLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
		alice, bob := yesOrNo{lab.client("alice", noResend).nodes[0], rand.Text()}, lab.lock("bob")
		lab.loseReply("alice")
		require.False(t, alice.TryLock(ctx))
		require.Equal(t, alice.token, lab.owner(0), "alice's reply was lost, and her key is gone: the bug is gone")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
			"alice has left, and her key did not refuse bob: the bug is gone")
	})
}

func TestAnErrorIsReturnedAsReleased_TheKeyStays(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		log.SetOutput(io.Discard)
		defer log.SetOutput(os.Stderr)
		alice, bob := yesOrNo{lab.client("alice").nodes[0], rand.Text()}, lab.lock("bob")
		require.True(t, alice.TryLock(ctx))
		start := lab.stop(0)
		require.True(t, alice.Unlock(ctx), "Redis is down, and Unlock did not return true: the bug is gone")
		start()
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
			"alice's Unlock returned true, and bob got in: the bug is gone")
	})
}

// numbered is a lock whose owner is a random number.
type numbered struct {
	rdb  redis.UniversalClient
	rand *rand1.Rand
	id   int
}

func (l *numbered) TryLock(ctx context.Context) (bool, error) {
	l.id = l.rand.Int()
	return l.rdb.SetNX(ctx, key, l.id, ttl).Result()
}

func (l *numbered) Unlock(ctx context.Context) (bool, error) {
	return sendOnce(ctx, l.rdb, releaseScript, key, l.id)
}

// unseeded is what math/rand drew from before Go 1.20, in every process.
func unseeded() *rand1.Rand { return rand1.New(rand1.NewSource(1)) }

func TestTheTokenIsAnUnseededNumber_ALateHolderDeletesTheNextOwnersLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := &numbered{rdb: lab.client("alice").nodes[0], rand: unseeded()}
		bob := &numbered{rdb: lab.client("bob").nodes[0], rand: unseeded()}
		acquired, err := alice.TryLock(ctx)
		require.NoError(t, err)
		require.True(t, acquired)
		lab.endLease()
		acquired, err = bob.TryLock(ctx)
		require.NoError(t, err)
		require.True(t, acquired)
		released, err := alice.Unlock(ctx)
		require.NoError(t, err)
		require.True(t, released, "alice came late, and her number was not bob's: the bug is gone")
		require.Empty(t, lab.owner(0), "alice came late, and bob still has his lock: the bug is gone")
	})
}

func TestTwoGoroutinesShareAField_TheRefusedOneOverwritesTheOwner(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		shared := &numbered{rdb: lab.client("alice").nodes[0], rand: unseeded()}
		acquired, err := shared.TryLock(ctx)
		require.NoError(t, err)
		require.True(t, acquired)
		acquired, err = shared.TryLock(ctx) // the other goroutine
		require.NoError(t, err)
		require.False(t, acquired)
		released, err := shared.Unlock(ctx)
		require.NoError(t, err)
		require.False(t, released, "the holder's own Unlock released its lock: the bug is gone")
		require.NotEmpty(t, lab.owner(0))
	})
}

// numkeys is the number of keys, not of all arguments: what follows the keys is ARGV.
func TestNumkeysCountsTheTokenAsWell_NobodyCanUnlock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, rdb := lab.lock("alice"), lab.client("alice").nodes[0]
		require.NoError(t, alice.TryLock(ctx))
		token := lab.owner(0)
		deleted, err := rdb.Do(ctx, "EVAL", releaseScript, 2, key, token).Bool()
		require.NoError(t, err)
		require.False(t, deleted, "the token was counted as a key, but the script found it in ARGV: the bug is gone")
		deleted, err = rdb.Do(ctx, "EVAL", releaseScript, 1, key, token).Bool()
		require.NoError(t, err)
		require.True(t, deleted, "the token is ARGV[1], but the script did not delete the lock")
	})
}

// The whiteboard version: what docs/read/interview/whiteboard.md shows of this step, in as few
// lines as are still right.

var compareAndDelete = redis.NewScript(`-- compare-and-delete token
if redis.call('GET', KEYS[1]) == ARGV[1] then
	return redis.call('DEL', KEYS[1])
end
return 0
`)

// acquire waits for the lock until ctx ends.
func acquire(
	ctx context.Context, rdb redis.Cmdable, key string, ttl time.Duration,
) (string, error) {
	token := rand.Text() // at least 128 random bits, new for every acquisition
	for {
		// SET key token EX ttl NX
		acquired, err := rdb.SetNX(ctx, key, token, ttl).Result()
		if err != nil {
			release(ctx, rdb, key, token) // Redis may have run it
			return "", err
		}
		if acquired {
			return token, nil
		}
		select {
		case <-ctx.Done():
			return "", ctx.Err()
		case <-time.After(30 * time.Millisecond):
		}
	}
}

// release is sent even if ctx has ended: a cancelled request must release, too.
func release(ctx context.Context, rdb redis.Cmdable, key, token string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	deleted, err := compareAndDelete.Run(ctx, rdb, []string{key}, token).Bool()
	if err == nil && !deleted {
		return ErrNotHeld // too late: another client may have been inside
	}
	return err
}

// whiteboard is a client that locks and unlocks in the timeline.
type whiteboard struct {
	lab   *lab
	who   string
	rdb   redis.UniversalClient
	token string
}

func (w *whiteboard) lock(ctx context.Context) error {
	return w.lab.call(w.who, "Lock", func() (err error) {
		w.token, err = acquire(ctx, w.rdb, key, ttl)
		return err
	})
}

func (w *whiteboard) unlock(ctx context.Context) error {
	return w.lab.call(w.who, "Unlock", func() error { return release(ctx, w.rdb, key, w.token) })
}

func onWhiteboard(t *testing.T, story func(t *T, lab *lab, alice, bob *whiteboard), change ...func(*redis.Options)) {
	inLab(t, func(t *T, lab *lab) {
		client := func(who string) *whiteboard {
			return &whiteboard{lab: lab, who: who, rdb: lab.client(who, change...).nodes[0]}
		}
		story(t, lab, client("alice"), client("bob"))
	})
}

func TestWhiteboard_OneIsInsideAndTheNextOneWaits(t *testing.T) {
	onWhiteboard(t, func(t *T, lab *lab, alice, bob *whiteboard) {
		require.NoError(t, alice.lock(ctx))
		waiting, cancel := context.WithTimeout(ctx, ttl/2)
		defer cancel()
		require.ErrorIs(t, bob.lock(waiting), context.DeadlineExceeded, "alice is inside, but bob is inside with her")
		require.ErrorIs(t, bob.unlock(ctx), ErrNotHeld, "bob was refused, but his unlock did not report it")
		require.NotEmpty(t, lab.owner(0), "bob was refused, but his unlock deleted alice's lock")

		request, cancel := context.WithCancel(ctx)
		cancel()
		require.NoError(t, alice.unlock(request), "alice's request was cancelled, but her lock was not released")
		require.NoError(t, bob.lock(ctx), "alice has left, but bob was refused")
	})
}

func TestWhiteboard_TheHolderIsLate_TheNextOwnersLockStays(t *testing.T) {
	onWhiteboard(t, func(t *T, lab *lab, alice, bob *whiteboard) {
		require.NoError(t, alice.lock(ctx))
		time.Sleep(slack(ttl)) // alice is slow, or dead
		waiting, cancel := context.WithTimeout(ctx, ttl)
		defer cancel()
		require.NoError(t, bob.lock(waiting), "the ttl has expired, but bob was refused")
		require.ErrorIs(t, alice.unlock(ctx), ErrNotHeld, "alice came late, but her unlock did not report it")
		require.Equal(t, bob.token, lab.owner(0), "alice came late and deleted bob's lock")
	})
}

func TestWhiteboard_LostReplyNoRetry_ReleasesKey(t *testing.T) {
	noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
	onWhiteboard(t, func(t *T, lab *lab, alice, bob *whiteboard) {
		lab.loseReply("alice")
		require.Error(t, alice.lock(ctx), "alice got no reply, but acquire returned nil")
		waiting, cancel := context.WithTimeout(ctx, ttl/2)
		defer cancel()
		require.NoError(t, bob.lock(waiting), "alice got an error, but what she left in Redis blocks bob")
	}, noResend)
}

// What the whiteboard version leaves out and this step's lock has.
func TestWhiteboard_TheReplyToTheAcquireIsLost_TheHolderWaitsForItself(t *testing.T) {
	onWhiteboard(t, func(t *T, lab *lab, alice, _ *whiteboard) {
		lab.loseReply("alice")
		waiting, cancel := context.WithTimeout(ctx, 2*ttl)
		defer cancel()
		start := time.Now()
		require.NoError(t, alice.lock(waiting))
		require.GreaterOrEqual(t, time.Since(start), ttl,
			"go-redis resent alice's SET and her own key refused it, but she did not wait for it to expire: this "+
				"lesson needs a new example")
	})
}

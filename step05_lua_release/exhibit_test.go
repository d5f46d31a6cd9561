package redislock

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// The whiteboard version: what docs/interview-systems.md shows of this step, in as few
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
	token := rand.Text() // 130 random bits, new for every hold
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

// release goes out although ctx has ended: a cancelled request releases, too.
func release(ctx context.Context, rdb redis.Cmdable, key, token string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 3*time.Second)
	defer cancel()
	deleted, err := compareAndDelete.Run(ctx, rdb, []string{key}, token).Bool()
	if err == nil && !deleted {
		return ErrNotHeld // too late: somebody else may have been inside
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
		require.ErrorIs(t, bob.lock(waiting), context.DeadlineExceeded, "alice is inside, and bob is inside with her")
		require.ErrorIs(t, bob.unlock(ctx), ErrNotHeld, "bob was refused, and his unlock does not say so")
		require.NotEmpty(t, lab.owner(0), "bob was refused, and his unlock deleted alice's lock")

		request, cancel := context.WithCancel(ctx)
		cancel()
		require.NoError(t, alice.unlock(request), "alice's request was cancelled, and her lock stayed")
		require.NoError(t, bob.lock(ctx), "alice has left, and bob was refused")
	})
}

func TestWhiteboard_TheHolderIsLate_TheNextOwnersLockStays(t *testing.T) {
	onWhiteboard(t, func(t *T, lab *lab, alice, bob *whiteboard) {
		require.NoError(t, alice.lock(ctx))
		time.Sleep(slack(ttl)) // alice is slow, or dead
		waiting, cancel := context.WithTimeout(ctx, ttl)
		defer cancel()
		require.NoError(t, bob.lock(waiting), "the ttl is over, and bob was refused")
		require.ErrorIs(t, alice.unlock(ctx), ErrNotHeld, "alice came late, and her unlock does not say so")
		require.Equal(t, bob.token, lab.owner(0), "alice came late and deleted bob's lock")
	})
}

func TestWhiteboard_TheReplyToTheAcquireIsLostAndNotAskedAgain_TheLockIsTakenBack(t *testing.T) {
	noResend := func(opt *redis.Options) { opt.MaxRetries = -1 }
	onWhiteboard(t, func(t *T, lab *lab, alice, bob *whiteboard) {
		lab.loseReply("alice", func() {})
		require.Error(t, alice.lock(ctx), "alice got no reply, and acquire says that all is well")
		waiting, cancel := context.WithTimeout(ctx, ttl/2)
		defer cancel()
		require.NoError(t, bob.lock(waiting), "alice got an error, and what she left in Redis keeps bob out")
	}, noResend)
}

// What the whiteboard leaves out, and the lock of this step has.
func TestWhiteboard_TheReplyToTheAcquireIsLost_TheHolderWaitsForItself(t *testing.T) {
	onWhiteboard(t, func(t *T, lab *lab, alice, _ *whiteboard) {
		lab.loseReply("alice", func() {})
		waiting, cancel := context.WithTimeout(ctx, 2*ttl)
		defer cancel()
		start := time.Now()
		require.NoError(t, alice.lock(waiting))
		require.GreaterOrEqual(t, time.Since(start), ttl,
			"go-redis sent alice's SET again, her own key refused it, and she did not wait for it to expire: this lesson needs a new example")
	})
}

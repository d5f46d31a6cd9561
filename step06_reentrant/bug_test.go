package redislock

import (
	"context"
	"crypto/rand"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// This test passes while step 06's bug exists. Step 07 removes the bug.

func TestBug_TheLeaseEndsDuringTheWork_AnUpdateIsLost(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		shop := &struct{ stock int }{100}

		require.NoError(t, alice.TryLock(ctx))
		aliceRead := shop.stock
		lab.note("alice reads: %d left", aliceRead)
		time.Sleep(2 * ttl) // alice is still working
		require.NoError(t, bob.TryLock(ctx), "bob was refused while alice was still working: the bug is gone")
		shop.stock--
		lab.note("bob sells one: %d left", shop.stock)
		require.NoError(t, bob.Unlock(ctx))
		shop.stock = aliceRead - 1
		lab.note("alice sells one: %d left", shop.stock)
		require.ErrorIs(t, alice.Unlock(ctx), ErrNotHeld, "alice is notified only now")

		require.Equal(t, 99, shop.stock, "both sales were counted: the bug is gone")
	})
}

// What follows shows another way to nest, and common mistakes in the scripts.

// countInClient is the other way to nest: the count stays in the client, and only the
// outermost TryLock and Unlock go to Redis.
type countInClient struct {
	*handle
	depth int
}

func (c *countInClient) TryLock(ctx context.Context) error {
	if c.depth == 0 {
		if err := c.handle.TryLock(ctx); err != nil {
			return err
		}
	}
	c.depth++
	c.lab.note("%s counts in the client: %d", c.who, c.depth)
	return nil
}

func (c *countInClient) Unlock(ctx context.Context) error {
	c.depth--
	c.lab.note("%s counts in the client: %d", c.who, c.depth)
	if c.depth > 0 {
		return nil
	}
	return c.handle.Unlock(ctx)
}

func TestCountInTheClient_OnlyTheOutermostTalksToRedis(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := &countInClient{handle: lab.lock("alice")}, lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		sent := lab.sent()
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.TryLock(ctx))
		require.NoError(t, alice.Unlock(ctx))
		require.NoError(t, alice.Unlock(ctx))
		require.Equal(t, sent, lab.sent(), "alice nests, but that went to Redis")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired, "alice is inside once more, but bob is inside with her")
		require.NoError(t, alice.Unlock(ctx))
		require.NoError(t, bob.TryLock(ctx), "alice has left, but bob was refused")
	})
}

func TestCountInTheClient_ALossIsNotNoticed(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := &countInClient{handle: lab.lock("alice")}, lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		lab.endLease()
		require.NoError(t, bob.TryLock(ctx))
		require.NoError(t, alice.TryLock(ctx),
			"alice's count has noticed that bob is inside: this lesson needs a new example")
	})
}

// nestScript takes the lock KEYS[1] for the token ARGV[2], or nests, for ARGV[1] ms.
var nestScript = redis.NewScript(`-- nest ttl token
local free = redis.call('EXISTS', KEYS[1]) == 0
if free or redis.call('HEXISTS', KEYS[1], ARGV[2]) == 1 then
	redis.call('HINCRBY', KEYS[1], ARGV[2], 1)
	redis.call('PEXPIRE', KEYS[1], ARGV[1])
	return 1
end
return 0
`)

// leaveScript undoes what nestScript did. Its arguments are the same.
var leaveScript = redis.NewScript(`-- leave ttl token
if redis.call('HEXISTS', KEYS[1], ARGV[2]) == 0 then
	return 0
end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
	redis.call('PEXPIRE', KEYS[1], ARGV[2])
	return 1
end
return redis.call('DEL', KEYS[1])
`)

func TestTheArgumentsAreMixedUp_TheInnerUnlockFreesTheLock(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		tokens := map[string]string{"alice": rand.Text(), "bob": rand.Text()}
		run := func(who, call string, script *redis.Script) error {
			return lab.call(who, call, func() error {
				did, err := script.Eval(ctx, lab.client(who).nodes[0],
					[]string{key}, ttl.Milliseconds(), tokens[who]).Bool()
				if err == nil && !did {
					return ErrNotAcquired
				}
				return err
			})
		}
		require.NoError(t, run("alice", "TryLock", nestScript))
		require.NoError(t, run("alice", "TryLock", nestScript))
		require.ErrorIs(t, run("bob", "TryLock", nestScript), ErrNotAcquired)
		require.NoError(t, run("alice", "Unlock", leaveScript), "alice is inside, but she cannot leave the inner lock")
		require.NoError(t, run("bob", "TryLock", nestScript),
			"alice is inside once more and bob was refused: the bug is gone")
	})
}

// counting acquires like acquireScript, but it adds one where that script sets the depth,
// as Redisson does. leaving subtracts one.
var (
	counting = redis.NewScript(`-- count token ttl
if redis.call('EXISTS', KEYS[1]) == 1 and redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call('HINCRBY', KEYS[1], ARGV[1], 1)
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`)
	leaving = redis.NewScript(`-- leave token
local depth = redis.call('HINCRBY', KEYS[1], ARGV[1], -1)
if depth == 0 then
	redis.call('DEL', KEYS[1])
end
return depth
`)
)

func TestCounting_OneAcquireIsSentTwice_OneReleaseDoesNotFree(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob, token := lab.client("alice").nodes[0], lab.lock("bob"), rand.Text()
		lab.loseReply("alice")
		acquired, err := counting.Eval(ctx, alice, []string{key}, token, ttl.Milliseconds()).Bool()
		require.NoError(t, err)
		require.True(t, acquired, "the lock is free, but alice was refused")
		left, err := leaving.Eval(ctx, alice, []string{key}, token).Int()
		require.NoError(t, err)
		require.Equal(t, 1, left,
			"the acquire was sent twice, but it was counted once: this lesson needs a new example")
		require.ErrorIs(t, bob.TryLock(ctx), ErrNotAcquired,
			"alice's release has freed the lock: this lesson needs a new example")
	})
}

// numbered is a reentrant lock whose caller says who it is, by a number.
type numbered struct{ rdb redis.UniversalClient }

func (l numbered) TryLock(ctx context.Context, id int) (bool, error) {
	return counting.Eval(ctx, l.rdb, []string{key}, id, ttl.Milliseconds()).Bool()
}

func (l numbered) Unlock(ctx context.Context, id int) error {
	reply, err := uncounting.Eval(ctx, l.rdb, []string{key}, id).Int()
	if err == nil && reply != 1 {
		return ErrNotHeld
	}
	return err
}

var uncounting = redis.NewScript(`-- leave token
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return -1 -- another's, or no one's
end
if redis.call('HINCRBY', KEYS[1], ARGV[1], -1) > 0 then
	return 0 -- still nested
end
return redis.call('DEL', KEYS[1])
`)

func TestTheCallerPassesItsID_TwoProcessesNestIntoEachOther(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		lock := func(who string, id int) error {
			return lab.call(who, "TryLock", func() error {
				acquired, err := numbered{lab.client(who).nodes[0]}.TryLock(ctx, id)
				if err == nil && !acquired {
					return ErrNotAcquired
				}
				return err
			})
		}
		require.NoError(t, lock("alice", 1))
		require.ErrorIs(t, lock("carol", 2), ErrNotAcquired,
			"alice is inside, but carol, with another id, is inside with her")
		require.NoError(t, lock("bob", 1), "bob passed the same id as alice and was refused: the bug is gone")
	})
}

func TestOneErrorForNestedAndLost_TheCallerCannotTell(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := numbered{lab.client("alice").nodes[0]}, numbered{lab.client("bob").nodes[0]}
		for range 2 {
			acquired, err := alice.TryLock(ctx, 1)
			require.NoError(t, err)
			require.True(t, acquired)
		}
		inner := alice.Unlock(ctx, 1)
		acquired, err := bob.TryLock(ctx, 2)
		require.NoError(t, err)
		require.False(t, acquired, "alice has left only the inner lock, but bob is inside with her")

		lab.endLease()
		acquired, err = bob.TryLock(ctx, 2)
		require.NoError(t, err)
		require.True(t, acquired)
		require.Error(t, inner, "alice's inner Unlock worked and returned nil: the bug is gone")
		require.Equal(t, inner, alice.Unlock(ctx, 1),
			"alice's Unlock tells a loss from an inner Unlock that worked: the bug is gone")
	})
}

// Package fencing is the epilogue of the eight locks: fencing tokens, and resources that
// check them.
//
//	Before: a holder that is paused beyond its lease writes late, over what the next
//	        owner has written. No lock can stop it: the lock is over, and the holder
//	        does not know.
//	Fix:    each hold has a number that is higher than those before it, the fencing
//	        token. It goes along with every access, and the resource refuses a token
//	        that is lower than the highest it has seen.
//	Broken: a counter on a Redis that fails over can give the same number twice. A
//	        resource that cannot compare tokens cannot be fenced.
//
// The lock is that of step 05; its acquisition is a script that also counts. Needs Redis
// 4.0 (HSET with several fields; the lock alone 2.6.12).
package fencing

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrNotAcquired means that somebody else holds the lock.
	ErrNotAcquired = errors.New("lock not acquired")

	// ErrNotHeld means that the lock to release is not held by this Lock, or no longer.
	ErrNotHeld = errors.New("lock not held")
)

// pollInterval is the time Lock waits between two attempts.
const pollInterval = 30 * time.Millisecond

// releaseTimeout is how long a release may take. It does not share the caller's deadline:
// a request that ran into its deadline must still give the lock back.
const releaseTimeout = 3 * time.Second

// acquireScript gives the lock KEYS[1] to the owner ARGV[1] for ARGV[2] milliseconds if
// it is free, and returns the next number of the counter KEYS[2]. If the lock has that
// owner already, the command was sent again because its reply was lost: the number stays.
// If somebody else has it, it returns 0. It counts first: if that fails, nothing has
// happened. The number is returned as text, because the numbers of Lua are float64.
var acquireScript = redis.NewScript(`-- acquire counter token ttl
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
	return redis.call('GET', KEYS[2])
end
if owner then
	return 0
end
redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('GET', KEYS[2])
`)

// releaseScript deletes the lock KEYS[1] if it belongs to the owner ARGV[1], and returns
// 1 if it did.
var releaseScript = redis.NewScript(`-- release token
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
return redis.call('DEL', KEYS[1])
`)

// Lock is one owner's handle on the lock named key. Two handles are two owners, even in
// one process. Its methods may be called from several goroutines.
type Lock struct {
	rdb redis.UniversalClient
	key string
	ttl time.Duration

	owner atomic.Value // string: the random value of the current hold, "" when there is none
}

// New returns a handle on the lock that is stored at key and lasts for ttl, at least a
// millisecond. Its counter is at {key}:fence, or at key:fence if the key has a hash tag
// of its own, and has no ttl. New sends nothing; TryLock and Lock refuse an empty key, a
// key with a } that ends no hash tag, a nil client or a ttl that is too short.
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return &Lock{rdb: rdb, key: key, ttl: ttl}
}

// TryLock makes one attempt to acquire the lock. It returns the fencing token of the
// hold, 1 or more; ErrNotAcquired when somebody else holds the lock; and any other error
// when the outcome is not known.
//
// The token belongs to the hold, so it is returned and not kept: a goroutine that was
// paused could ask the handle for its token, and get that of a newer hold.
func (l *Lock) TryLock(ctx context.Context) (token int64, err error) {
	if err := l.check(); err != nil {
		return 0, l.fail("acquire", err)
	}
	owner := newOwner()
	token, err = l.acquire(ctx, owner)
	if err != nil {
		// The command may have reached Redis before its reply was lost. Left alone, the
		// key would keep everybody out for a whole ttl. If this fails as well, the ttl
		// ends it. The number is used up.
		ctx, cancel := detach(ctx)
		defer cancel()
		l.release(ctx, owner)
		return 0, l.fail("acquire", err)
	}
	if token == 0 {
		return 0, l.fail("acquire", ErrNotAcquired)
	}
	l.owner.Store(owner)
	return token, nil
}

// Lock acquires the lock, waiting while somebody else holds it, and returns the fencing
// token of the hold. When ctx ends while it waits, the error matches both ErrNotAcquired
// and ctx.Err().
func (l *Lock) Lock(ctx context.Context) (token int64, err error) {
	for {
		token, err := l.TryLock(ctx)
		if !errors.Is(err, ErrNotAcquired) {
			return token, err // the lock, or what waiting does not change
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("%w: %w", err, ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

// Unlock releases the lock. It returns nil when the lock was released, ErrNotHeld when
// this Lock does not hold it, or no longer, and any other error when the outcome is not
// known; then it may be called again. It does not depend on ctx being alive, and returns
// within releaseTimeout.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("release", err)
	}
	owner, _ := l.owner.Load().(string)
	if owner == "" {
		return l.fail("release", ErrNotHeld)
	}
	ctx, cancel := detach(ctx)
	defer cancel()
	released, err := l.release(ctx, owner)
	if err != nil {
		return l.fail("release", err)
	}
	l.owner.CompareAndSwap(owner, "") // not a newer one: another goroutine may have locked since
	if !released {
		return l.fail("release", ErrNotHeld)
	}
	return nil
}

// acquire gives the lock to owner unless it is taken, and returns the fencing token, 0 if
// it is taken.
func (l *Lock) acquire(ctx context.Context, owner string) (token int64, err error) {
	return acquireScript.Run(ctx, l.rdb, []string{l.key, fenceKey(l.key)},
		owner, l.ttl.Milliseconds()).Int64()
}

// release deletes the lock if owner has it, and reports whether it did. It stops waiting
// by itself when ctx ends: by default, go-redis does not interrupt a read for that
// (ContextTimeoutEnabled), so a Redis that hangs would hold up the caller for many
// seconds.
func (l *Lock) release(ctx context.Context, owner string) (bool, error) {
	done := make(chan *redis.Cmd, 1)
	go func() { done <- releaseScript.Run(ctx, l.rdb, []string{l.key}, owner) }()
	select {
	case reply := <-done:
		return reply.Bool()
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// detach returns a context for a release: with the values of ctx, and a time limit of its own.
func detach(ctx context.Context) (context.Context, context.CancelFunc) {
	return context.WithTimeout(context.WithoutCancel(ctx), releaseTimeout)
}

// fenceKey names the counter of a lock. Redis Cluster runs a script only if all its keys
// are in one slot. It places a key by its hash tag, and by the whole key if it has none
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
func fenceKey(key string) string {
	if hashTag(key) != "" {
		return key + ":fence"
	}
	return "{" + key + "}:fence"
}

// hashTag returns what stands between the first { of a key and the next }, "" if there is
// none or nothing.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !closed {
		return ""
	}
	return tag
}

// newOwner returns 20 random bytes as text: no two acquisitions ever share it, whichever
// client, process or machine they come from
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/). It says
// whose the lock is; which of two holds is the newer one, only the number says.
func newOwner() string {
	b := make([]byte, 20)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// check refuses what must not reach Redis.
func (l *Lock) check() error {
	if l.rdb == nil {
		return errors.New("the Redis client is nil")
	}
	if _, ok := l.rdb.(*redis.Ring); ok {
		// It moves a key to another server when the first does not answer: then two
		// clients hold the lock.
		return errors.New("the Redis client is a Ring, which moves keys between servers: " +
			"use one server, Sentinel or a cluster")
	}
	if l.key == "" {
		return errors.New("the key is empty")
	}
	if strings.Contains(l.key, "}") && hashTag(l.key) == "" {
		return errors.New("the key has a } and no hash tag, " +
			"so no counter can be in its cluster slot")
	}
	if l.ttl < time.Millisecond {
		// Redis counts milliseconds, and refuses 0.
		return fmt.Errorf("the ttl is %v, it must be at least 1ms", l.ttl)
	}
	return nil
}

// fail says which lock err is about.
func (l *Lock) fail(op string, err error) error {
	return fmt.Errorf("fencing: %s %q: %w", op, l.key, err)
}

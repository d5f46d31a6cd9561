// Package redislock is a distributed lock on Redis. Step 4 of 8: a token says whose lock it is.
//
//	Before: DEL deletes the key, whoever holds it. A late holder removes the lock of the
//	        next owner.
//	Fix:    the value is a random token, new for every acquisition. Unlock reads it
//	        first and deletes only its own. The token also tells a lock taken by others
//	        from one that we took ourselves with a command whose reply was lost.
//	Broken: the lock can expire between GET and DEL. Then DEL removes the lock of the
//	        next owner after all.
//
// Needs Redis 2.6.12 (SET with NX and a ttl).
package redislock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
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

// Lock is one owner's handle on the lock named key. Two handles are two owners, even in
// one process. Its methods may be called from several goroutines.
type Lock struct {
	rdb redis.UniversalClient
	key string
	ttl time.Duration

	token atomic.Value // string: of the current hold, "" when there is none
}

// New returns a handle on the lock that is stored at key and lasts for ttl, at least a
// millisecond. It sends nothing; TryLock and Lock refuse an empty key, a nil client, a
// Ring or a ttl that is too short.
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return &Lock{rdb: rdb, key: key, ttl: ttl}
}

// TryLock makes one attempt to acquire the lock. It returns nil when the caller holds it,
// ErrNotAcquired when somebody else does, and any other error when the outcome is not
// known.
func (l *Lock) TryLock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("acquire", err)
	}
	token := newToken()
	if err := l.acquire(ctx, token); err != nil {
		return l.fail("acquire", err)
	}
	l.token.Store(token)
	return nil
}

// Lock acquires the lock, waiting while somebody else holds it. When ctx ends while it
// waits, the error matches both ErrNotAcquired and ctx.Err(). Any other error is that of
// a TryLock, and ends the wait.
func (l *Lock) Lock(ctx context.Context) error {
	for {
		err := l.TryLock(ctx)
		if !errors.Is(err, ErrNotAcquired) {
			return err // nil, or what waiting does not change
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, ctx.Err())
		case <-time.After(pollInterval):
		}
	}
}

// Unlock releases the lock. It returns nil when the lock was released, ErrNotHeld when
// this Lock does not hold it, or no longer, and any other error when the outcome is not
// known; then it may be called again.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("release", err)
	}
	token, _ := l.token.Load().(string)
	if token == "" {
		return l.fail("release", ErrNotHeld)
	}
	released, err := l.release(ctx, token)
	if err != nil {
		return l.fail("release", err)
	}
	l.token.CompareAndSwap(token, "") // not a newer one: another goroutine may have locked since
	if !released {
		return l.fail("release", ErrNotHeld)
	}
	return nil
}

// acquire stores token unless the lock is taken.
func (l *Lock) acquire(ctx context.Context, token string) error {
	acquired, err := l.rdb.SetNX(ctx, l.key, token, l.ttl).Result()
	if err == nil && !acquired {
		// When a reply is lost, go-redis sends the command again, and our own key refuses
		// it. Without this look, we would report a lock that we hold as taken, and nobody
		// would release it.
		acquired, err = l.owns(ctx, token)
	}
	if err != nil {
		return err
	}
	if !acquired {
		return ErrNotAcquired
	}
	return nil
}

// release deletes the lock if token owns it, and reports whether it did.
func (l *Lock) release(ctx context.Context, token string) (bool, error) {
	owns, err := l.owns(ctx, token)
	if err != nil || !owns {
		return false, err
	}
	deleted, err := l.rdb.Del(ctx, l.key).Result()
	return deleted == 1, err
}

// owns reports whether the lock belongs to token.
func (l *Lock) owns(ctx context.Context, token string) (bool, error) {
	value, err := l.rdb.Get(ctx, l.key).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return value == token, err
}

// newToken returns 20 random bytes as text: no two acquisitions ever share a token,
// whichever client, process or machine they come from
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
func newToken() string {
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
	if l.ttl < time.Millisecond {
		// Redis counts milliseconds, and go-redis takes 0 and -1 for "no expiry": locked for ever.
		return fmt.Errorf("the ttl is %v, it must be at least 1ms", l.ttl)
	}
	return nil
}

// fail says which lock err is about.
func (l *Lock) fail(op string, err error) error {
	return fmt.Errorf("redislock: %s %q: %w", op, l.key, err)
}

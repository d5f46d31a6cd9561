// Package redislock is a distributed lock on Redis. Step 1 of 8: SETNX and DEL.
//
//	Before: EXISTS, then SET. Two clients can both read "free" before either of them writes.
//	Fix:    SETNX asks and takes in one command. Redis runs commands one after the other,
//	        so of any number of clients exactly one is answered 1.
//	Broken: a holder that dies never sends its DEL. The key has no expiry: locked for ever.
//
// Needs Redis 1.0 (SETNX, DEL).
package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrNotAcquired means that somebody else holds the lock.
	ErrNotAcquired = errors.New("lock not acquired")

	// ErrNotHeld means that the lock to release is not held.
	ErrNotHeld = errors.New("lock not held")
)

// pollInterval is the time Lock waits between two attempts.
const pollInterval = 30 * time.Millisecond

// Lock is one owner's handle on the lock named key. Two handles are two owners, even in
// one process. Its methods may be called from several goroutines.
type Lock struct {
	rdb redis.UniversalClient
	key string
}

// New returns a handle on the lock that is stored at key. It sends nothing; TryLock and
// Lock refuse an empty key, a nil client or a Ring.
func New(rdb redis.UniversalClient, key string) *Lock {
	return &Lock{rdb: rdb, key: key}
}

// TryLock makes one attempt to acquire the lock. It returns nil when the caller holds it,
// ErrNotAcquired when somebody else does, and any other error when the outcome is not
// known.
func (l *Lock) TryLock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("acquire", err)
	}
	acquired, err := l.rdb.Do(ctx, "SETNX", l.key, "locked").Bool()
	if err != nil {
		return l.fail("acquire", err)
	}
	if !acquired {
		return l.fail("acquire", ErrNotAcquired)
	}
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

// Unlock releases the lock. It returns nil when the lock was released, ErrNotHeld when it
// was free, and any other error when the outcome is not known.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("release", err)
	}
	deleted, err := l.rdb.Del(ctx, l.key).Result()
	if err != nil {
		return l.fail("release", err)
	}
	if deleted == 0 {
		return l.fail("release", ErrNotHeld)
	}
	return nil
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
	return nil
}

// fail says which lock err is about.
func (l *Lock) fail(op string, err error) error {
	return fmt.Errorf("redislock: %s %q: %w", op, l.key, err)
}

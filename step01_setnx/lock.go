// Package redislock implements a distributed lock on Redis. Step 1 of 8: SETNX and DEL.
//
//	Before:       EXISTS, then SET. Two clients can both read "free" before either of
//	              them writes.
//	Fix:          SETNX checks and writes in one command. Redis runs one command at a
//	              time, so of any number of clients exactly one gets the reply 1.
//	Still broken: a holder that crashes never sends its DEL, and the key has no expiry:
//	              locked forever.
//
// Needs Redis 1.0 (SETNX, DEL).
package redislock

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	ErrNotAcquired = errors.New("lock not acquired") // usually because it is taken
	ErrNotHeld     = errors.New("lock not held")     // by any client
)

// pollInterval is the time that Lock waits between two attempts.
const pollInterval = 30 * time.Millisecond

// A Lock is a handle on the distributed lock stored at one key. It is safe for concurrent
// use.
type Lock struct {
	rdb redis.UniversalClient
	key string
}

// New returns a handle on the lock at key. New does not contact Redis. TryLock and Lock
// reject an empty key, a nil client and a Ring.
func New(rdb redis.UniversalClient, key string) *Lock {
	return &Lock{rdb: rdb, key: key}
}

// TryLock makes one attempt to acquire the lock. It returns ErrNotAcquired if the lock is
// taken. After any other error the outcome is unknown.
func (l *Lock) TryLock(ctx context.Context) error {
	if err := l.validate(); err != nil {
		return l.wrap("acquire", err)
	}
	acquired, err := l.rdb.Do(ctx, "SETNX", l.key, "locked").Bool()
	if err != nil {
		return l.wrap("acquire", err)
	}
	if !acquired {
		return l.wrap("acquire", ErrNotAcquired)
	}
	return nil
}

// Lock acquires the lock, waiting while it is taken. If ctx ends between two attempts, the
// error matches both ErrNotAcquired and ctx.Err(). Any other error from TryLock ends the
// wait and is returned.
func (l *Lock) Lock(ctx context.Context) error {
	for {
		err := l.TryLock(ctx)
		if !errors.Is(err, ErrNotAcquired) {
			return err // nil, or an error that waiting does not change
		}
		select {
		case <-ctx.Done():
		case <-time.After(pollInterval):
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

// Unlock releases the lock. It returns ErrNotHeld if the lock was free. After any other
// error the outcome is unknown.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.validate(); err != nil {
		return l.wrap("release", err)
	}
	deleted, err := l.rdb.Del(ctx, l.key).Result()
	if err != nil {
		return l.wrap("release", err)
	}
	if deleted == 0 {
		return l.wrap("release", ErrNotHeld)
	}
	return nil
}

// validate rejects what must not reach Redis.
func (l *Lock) validate() error {
	_, ring := l.rdb.(*redis.Ring)
	switch {
	case l.rdb == nil || reflect.ValueOf(l.rdb).IsZero(): // IsZero: a nil *redis.Client
		return errors.New("client is nil")
	case ring: // moves a key when its server is unreachable, so two clients can hold the lock
		return errors.New("client is a Ring: use one server, Sentinel or a cluster")
	case l.key == "":
		return errors.New("key is empty")
	}
	return nil
}

// wrap adds to err what failed and for which lock.
func (l *Lock) wrap(op string, err error) error {
	return fmt.Errorf("redislock: %s %q: %w", op, l.key, err)
}

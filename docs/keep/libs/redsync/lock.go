// Package redislock is redsync on one Redis, with its defaults, behind the calls of the stories.
package redislock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
)

// What the stories ask of an error.
var (
	ErrNotAcquired = errors.New("lock not acquired")
	ErrNotHeld     = errors.New("lock not held")
)

// Lock is one handle.
type Lock struct {
	key   string
	mutex *redsync.Mutex
}

// New returns a Mutex. Its Lock retries until its context ends: the default is 32 times.
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	mutex := redsync.New(goredis.NewPool(rdb)).NewMutex(key, redsync.WithExpiry(ttl), redsync.WithTries(1000))
	return &Lock{key, mutex}
}

// TryLock tries once.
func (l *Lock) TryLock(ctx context.Context) error {
	return l.acquired(ctx, l.mutex.TryLockContext(ctx))
}

// Lock waits.
func (l *Lock) Lock(ctx context.Context) error { return l.acquired(ctx, l.mutex.LockContext(ctx)) }

func (l *Lock) acquired(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.As(err, new(*redsync.ErrTaken)):
		err = fmt.Errorf("%w: %w", ErrNotAcquired, err)
	case errors.Is(err, redsync.ErrFailed) && ctx.Err() != nil: // the wait has ended
		err = fmt.Errorf("%w: %w: %w", ErrNotAcquired, ctx.Err(), err)
	}
	return fmt.Errorf("redislock: %q: %w", l.key, err)
}

// Unlock does not use the context, as redsync's README does not.
func (l *Lock) Unlock(context.Context) error {
	ok, err := l.mutex.Unlock()
	if ok {
		return nil
	}
	if errors.Is(err, redsync.ErrLockAlreadyExpired) || errors.As(err, new(*redsync.ErrTaken)) {
		err = fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	return fmt.Errorf("redislock: %q: %w", l.key, err)
}

// Package redislock is redsync on several Redis servers, extended every half expiry and unlocked
// without the caller's context, behind the calls of the stories.
package redislock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
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
	MaxHold time.Duration // how long a hold is extended; 0 is forever

	key string
	ttl time.Duration
	rs  *redsync.Redsync

	mu    sync.Mutex
	mutex *redsync.Mutex // of the last hold
	end   func()         // its extensions
}

// New returns a handle on a lock on all these servers.
func New(rdbs []redis.UniversalClient, key string, ttl time.Duration) *Lock {
	var pools []redsyncredis.Pool
	for _, rdb := range rdbs {
		pools = append(pools, goredis.NewPool(rdb))
	}
	return &Lock{key: key, ttl: ttl, rs: redsync.New(pools...)}
}

// TryLock tries once.
func (l *Lock) TryLock(ctx context.Context) error { return l.lock(ctx, 1) }

// Lock retries until its context ends: the default is 32 times.
func (l *Lock) Lock(ctx context.Context) error { return l.lock(ctx, 1000) }

func (l *Lock) lock(ctx context.Context, tries int) error {
	mutex := l.rs.NewMutex(l.key, redsync.WithExpiry(l.ttl), redsync.WithTries(tries))
	err := mutex.LockContext(ctx)
	switch {
	case err == nil:
		l.hold(mutex)
		return nil
	case errors.As(err, new(*redsync.ErrTaken)):
		err = fmt.Errorf("%w: %w", ErrNotAcquired, err)
	case errors.Is(err, redsync.ErrFailed) && ctx.Err() != nil: // the wait has ended
		err = fmt.Errorf("%w: %w: %w", ErrNotAcquired, ctx.Err(), err)
	}
	return fmt.Errorf("redislock: %q: %w", l.key, err)
}

func (l *Lock) hold(mutex *redsync.Mutex) {
	work, end := context.WithCancel(context.Background())
	if l.MaxHold > 0 {
		time.AfterFunc(l.MaxHold, end)
	}
	go l.extend(work, mutex)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.mutex, l.end = mutex, end
}

func (l *Lock) extend(work context.Context, mutex *redsync.Mutex) {
	half := time.NewTicker(l.ttl / 2)
	defer half.Stop()
	for {
		select {
		case <-work.Done():
			return
		case <-half.C:
			if time.Now().After(mutex.Until()) {
				return // it has expired
			}
			mutex.Extend()
		}
	}
}

// Unlock ends the extensions and unlocks.
func (l *Lock) Unlock(context.Context) error {
	l.mu.Lock()
	mutex, end := l.mutex, l.end
	l.mu.Unlock()
	if mutex == nil {
		return fmt.Errorf("redislock: %q: %w", l.key, ErrNotHeld)
	}
	end()
	ok, err := mutex.Unlock()
	if ok {
		return nil
	}
	if errors.Is(err, redsync.ErrLockAlreadyExpired) || errors.As(err, new(*redsync.ErrTaken)) {
		err = fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	return fmt.Errorf("redislock: %q: %w", l.key, err)
}

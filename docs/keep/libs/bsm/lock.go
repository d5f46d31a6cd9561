// Package redislock is bsm/redislock with the watchdog of its README, behind the calls of the
// stories.
package redislock

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/bsm/redislock"
	"github.com/redis/go-redis/v9"
)

// What the stories ask of an error.
var (
	ErrNotAcquired = errors.New("lock not acquired")
	ErrNotHeld     = errors.New("lock not held")
)

// Lock is one handle.
type Lock struct {
	MaxHold time.Duration // how long a hold is refreshed; 0 is forever

	client *redislock.Client
	key    string
	ttl    time.Duration

	mu     sync.Mutex
	held   *redislock.Lock // of the last hold
	cancel func()          // its work, and so its watchdog
}

// New returns a handle.
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return &Lock{client: redislock.New(rdb), key: key, ttl: ttl}
}

// TryLock tries once.
func (l *Lock) TryLock(ctx context.Context) error { return l.obtain(ctx, redislock.NoRetry()) }

// Lock tries every 100 ms, as in the package's example.
func (l *Lock) Lock(ctx context.Context) error {
	return l.obtain(ctx, redislock.LinearBackoff(100*time.Millisecond))
}

func (l *Lock) obtain(ctx context.Context, retry redislock.RetryStrategy) error {
	lock, err := l.client.Obtain(ctx, l.key, l.ttl, &redislock.Options{RetryStrategy: retry})
	if errors.Is(err, redislock.ErrNotObtained) {
		err = fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
	if err != nil {
		return fmt.Errorf("redislock: %q: %w", l.key, err)
	}
	work, cancel := context.WithCancel(context.Background())
	if l.MaxHold > 0 {
		time.AfterFunc(l.MaxHold, cancel)
	}
	l.mu.Lock()
	l.held, l.cancel = lock, cancel
	l.mu.Unlock()
	go func() {
		third := time.NewTicker(l.ttl / 3)
		defer third.Stop()
		for {
			select {
			case <-work.Done():
				return
			case <-third.C:
				if lock.Refresh(work, l.ttl, nil) != nil {
					cancel()
					return
				}
			}
		}
	}()
	return nil
}

// Unlock does not use the context, as the README with the watchdog does not.
func (l *Lock) Unlock(context.Context) error {
	l.mu.Lock()
	lock, cancel := l.held, l.cancel
	l.mu.Unlock()
	if cancel != nil {
		cancel()
	}
	err := lock.Release(context.Background())
	if errors.Is(err, redislock.ErrLockNotHeld) {
		err = fmt.Errorf("%w: %w", ErrNotHeld, err)
	}
	if err != nil {
		return fmt.Errorf("redislock: %q: %w", l.key, err)
	}
	return nil
}

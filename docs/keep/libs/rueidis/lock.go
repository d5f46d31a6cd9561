// Package redislock is rueidislock with one key, behind the calls of the stories. The servers of
// the stories have no CLIENT TRACKING, so it is without client-side caching.
package redislock

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

// What the stories ask of an error.
var (
	ErrNotAcquired = errors.New("lock not acquired")
	ErrNotHeld     = errors.New("lock not held")
)

// Lock is one handle. Each has its own Locker, as each plays another program.
type Lock struct {
	key    string
	locker rueidislock.Locker
	err    error // of opening it

	mu      sync.Mutex
	held    context.Context // of the last hold
	release func()
}

// New dials at once, as rueidis does, and takes the dialer from the stories' go-redis client.
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	options := rdb.(*redis.Client).Options()
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{
			InitAddress: []string{options.Addr}, DisableCache: true, ForceSingleClient: true,
			DialCtxFn: func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
				return options.Dialer(ctx, "tcp", addr)
			},
		},
		KeyValidity: ttl, KeyMajority: 1,
	})
	return &Lock{key: key, locker: locker, err: err}
}

// TryLock tries once.
func (l *Lock) TryLock(ctx context.Context) error {
	return l.lock(ctx, rueidislock.Locker.TryWithContext)
}

// Lock waits.
func (l *Lock) Lock(ctx context.Context) error { return l.lock(ctx, rueidislock.Locker.WithContext) }

type acquire func(rueidislock.Locker, context.Context, string) (context.Context, context.CancelFunc, error)

// lock ends the wait with ctx. A hold of rueidislock ends with the context that it was given,
// and that of a story must not: so it is another one.
func (l *Lock) lock(ctx context.Context, acquire acquire) error {
	if l.err != nil {
		return l.wrap(l.err)
	}
	hold, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := context.AfterFunc(ctx, end)
	held, release, err := acquire(l.locker, hold, l.key)
	ended()
	if err != nil {
		end()
		return l.wrap(err)
	}
	l.mu.Lock()
	l.held, l.release = held, func() { release(); end() }
	l.mu.Unlock()
	return nil
}

// Unlock calls the cancel of the hold. That reports nothing; the context of the hold does.
func (l *Lock) Unlock(context.Context) error {
	l.mu.Lock()
	held, release := l.held, l.release
	l.mu.Unlock()
	if held == nil || held.Err() != nil {
		return l.wrap(ErrNotHeld)
	}
	release()
	return nil
}

func (l *Lock) wrap(err error) error {
	if errors.Is(err, rueidislock.ErrNotLocked) {
		err = fmt.Errorf("%w: %w", ErrNotAcquired, err)
	}
	return fmt.Errorf("redislock: %q: %w", l.key, err)
}

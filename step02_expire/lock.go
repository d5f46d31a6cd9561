// Package redislock implements a distributed lock on Redis. Step 2 of 8: SETNX, then EXPIRE.
//
//	Before:       a holder that crashes never sends its DEL, and the key has no expiry:
//	              locked forever.
//	Fix:          the key gets a time to live. Redis deletes it after the TTL, whether or
//	              not its holder is alive.
//	Still broken: EXPIRE is a second command. If a client crashes before it, or Redis
//	              rejects it, the key has no expiry: locked forever.
//
// Needs Redis 2.6 (PEXPIRE, which is EXPIRE in milliseconds).
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
	ttl time.Duration
}

// New returns a handle on the lock at key, which expires after ttl (at least 1ms). New does
// not contact Redis. TryLock and Lock reject an empty key, a nil client, a Ring and a ttl
// that is too short.
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return &Lock{rdb: rdb, key: key, ttl: ttl}
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
	if err := l.rdb.PExpire(ctx, l.key, l.ttl).Err(); err != nil {
		return l.wrap("acquire", err)
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
	case l.ttl < time.Millisecond: // Redis counts in milliseconds; PEXPIRE 0 deletes the key
		return fmt.Errorf("ttl %v is below the minimum of 1ms", l.ttl)
	}
	return nil
}

// wrap adds to err what failed and for which lock.
func (l *Lock) wrap(op string, err error) error {
	return fmt.Errorf("redislock: %s %q: %w", op, l.key, err)
}

// Package redislock is a distributed lock on Redis. Step 5 of 8: check and delete in one script.
//
//	Before: the lock can expire between GET and DEL. Then DEL removes the lock of the next owner.
//	Fix:    a Lua script compares and deletes. Redis runs a script as one command: nothing fits in between.
//	        With that, the release is safe to send at any time, so it also takes back an acquisition whose
//	        outcome is unknown, and it goes out although the caller's context has ended.
//	Broken: a holder that locks again blocks itself. A lease that ends during the work lets the next owner in
//	        while the first one is still working.
//
// Needs Redis 2.6.12 (SET with NX and PX, EVALSHA).
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

// releaseTimeout is how long a release may take. It does not share the caller's deadline: a request that ran
// into its deadline must still give the lock back.
const releaseTimeout = 3 * time.Second

// releaseScript deletes the lock KEYS[1] if it belongs to the token ARGV[1], and returns 1 if it did.
var releaseScript = redis.NewScript(`-- release
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
return redis.call('DEL', KEYS[1])
`)

// Lock is one owner's handle on the lock named key. Two handles are two owners, also in one process.
// Its methods may be called from several goroutines.
type Lock struct {
	rdb redis.UniversalClient
	key string
	ttl time.Duration

	token atomic.Value // string: of the current hold, "" when there is none
}

// New returns a handle on the lock that is stored at key and lasts for ttl, at least a millisecond. It sends
// nothing; TryLock and Lock refuse an empty key, a nil client or a ttl that is too short.
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return &Lock{rdb: rdb, key: key, ttl: ttl}
}

// TryLock makes one attempt to acquire the lock. It returns nil when the caller holds it, ErrNotAcquired when
// somebody else does, and any other error when the outcome is not known.
func (l *Lock) TryLock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("acquire", err)
	}
	if err := ctx.Err(); err != nil {
		return l.fail("acquire", err) // nothing is sent, so nothing has to be taken back
	}
	token := newToken()
	acquired, err := l.acquire(ctx, token)
	if err != nil {
		// The command may have reached Redis before its reply was lost. Left alone, the key would keep
		// everybody out for a whole ttl. If this fails, too, the ttl ends it.
		ctx, cancel := detach(ctx)
		defer cancel()
		l.release(ctx, token)
		return l.fail("acquire", err)
	}
	if !acquired {
		return l.fail("acquire", ErrNotAcquired)
	}
	l.token.Store(token)
	return nil
}

// Lock acquires the lock, waiting while somebody else holds it. When ctx ends first, the error matches both
// ErrNotAcquired and ctx.Err().
func (l *Lock) Lock(ctx context.Context) error {
	for {
		err := l.TryLock(ctx)
		if err == nil || !errors.Is(err, ErrNotAcquired) && (ctx.Err() == nil || l.check() != nil) {
			return err
		}
		select {
		case <-ctx.Done():
			return l.fail("acquire", fmt.Errorf("%w: %w", ErrNotAcquired, ctx.Err()))
		case <-time.After(pollInterval):
		}
	}
}

// Unlock releases the lock. It returns nil when the lock was released, ErrNotHeld when this Lock does not hold
// it, or no longer, and any other error when the outcome is not known; then it may be called again. It does not
// depend on ctx being alive, and returns within releaseTimeout.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("release", err)
	}
	token, _ := l.token.Load().(string)
	if token == "" {
		return l.fail("release", ErrNotHeld)
	}
	ctx, cancel := detach(ctx)
	defer cancel()
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

// acquire stores token unless the lock is taken, and reports whether token owns it now.
func (l *Lock) acquire(ctx context.Context, token string) (bool, error) {
	acquired, err := l.rdb.SetNX(ctx, l.key, token, l.ttl).Result()
	if err != nil || acquired {
		return acquired, err
	}
	// When a reply is lost, go-redis sends the command again, and our own key refuses it. Without this look,
	// we would report a lock that we hold as taken, and nobody would release it.
	return l.owns(ctx, token)
}

// release deletes the lock if token owns it, and reports whether it did. It stops waiting by itself when ctx ends:
// by default, go-redis does not interrupt a read for that (ContextTimeoutEnabled), so a Redis that hangs would
// hold up the caller for many seconds.
func (l *Lock) release(ctx context.Context, token string) (bool, error) {
	done := make(chan *redis.Cmd, 1)
	go func() { done <- releaseScript.Run(ctx, l.rdb, []string{l.key}, token) }()
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

// owns reports whether the lock belongs to token.
func (l *Lock) owns(ctx context.Context, token string) (bool, error) {
	value, err := l.rdb.Get(ctx, l.key).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return value == token, err
}

// newToken returns 20 random bytes as text: no two acquisitions ever share a token, whichever client, process
// or machine they come from (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
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

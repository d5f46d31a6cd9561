// Package redislock is a distributed lock on Redis. Step 6 of 8: the owner may lock again, and waiters are woken.
//
//	Before: a holder that locks again blocks itself. Waiters poll.
//	Fix:    the key is a hash {token: depth}. The owner may nest; only its outermost Unlock frees the lock.
//	        The depth is set, never incremented: a command that go-redis sends twice counts once.
//	        The release publishes; waiters subscribe and sleep.
//	Broken: a lease that ends during the work lets the next owner in while the first one is still working.
//
// Needs Redis 5.0: before, a script that has read a PTTL may be forbidden to write.
package redislock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	// ErrNotAcquired means that somebody else holds the lock.
	ErrNotAcquired = errors.New("lock not acquired")

	// ErrNotHeld means that the lock to release is not held by this Lock, or no longer.
	ErrNotHeld = errors.New("lock not held")
)

// releaseTimeout is how long a release may take. It does not share the caller's deadline: a request that ran
// into its deadline must still give the lock back.
const releaseTimeout = 3 * time.Second

// acquireScript sets the depth of the token ARGV[1] in the lock KEYS[1] to ARGV[3] and lets the lock last for at
// least ARGV[2] milliseconds, if the token owns the lock, or if the lock is free and the depth is 1. It returns
// OK, or else the milliseconds that the lock still lasts: -1 for ever, -2 when it is free.
var acquireScript = redis.NewScript(`-- acquire
local lease = redis.call('PTTL', KEYS[1])
if lease == -2 and ARGV[3] == '1' or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
	if lease < tonumber(ARGV[2]) then
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
	end
	return 'OK'
end
return lease
`)

// releaseScript sets the depth of the token ARGV[1] in the lock KEYS[1] to ARGV[2], if the token owns the lock, and
// returns 1 if it does. At depth 0 it deletes the lock and wakes those who wait.
var releaseScript = redis.NewScript(`-- release
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return 0
end
if ARGV[2] ~= '0' then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
	return 1
end
redis.call('DEL', KEYS[1])
redis.pcall('PUBLISH', KEYS[1], 'released') -- a user without the channel's permission has released all the same
return 1
`)

// Lock is one owner's handle on the lock named key. Two handles are two owners, also in one process.
// Its methods may be called from several goroutines.
type Lock struct {
	rdb redis.UniversalClient
	key string
	ttl time.Duration

	// turn is taken for each command and what follows from it: Redis and we must count the same depth. It is a
	// channel, because waiting for it ends with the context.
	turn  chan struct{}
	token string // of the current hold, "" when there is none
	depth int    // how often the current hold was acquired and not released
}

// New returns a handle on the lock that is stored at key and lasts for ttl, at least a millisecond. It sends
// nothing; TryLock and Lock refuse an empty key, a nil client or a ttl that is too short.
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return &Lock{rdb: rdb, key: key, ttl: ttl, turn: make(chan struct{}, 1)}
}

// TryLock makes one attempt to acquire the lock. It returns nil when the caller holds it, ErrNotAcquired when
// somebody else does, and any other error when the outcome is not known.
//
// A holder may lock again, and must unlock as often. When its hold is gone, locking again is ErrNotHeld: what the
// hold protected so far may have changed, so a new hold can only begin after the last Unlock.
func (l *Lock) TryLock(ctx context.Context) error {
	_, err := l.tryLock(ctx)
	return err
}

// tryLock is TryLock. With ErrNotAcquired, it also returns how long the holder's lease lasts.
func (l *Lock) tryLock(ctx context.Context) (lease time.Duration, err error) {
	if err := l.check(); err != nil {
		return 0, l.fail("acquire", err)
	}
	if err := l.begin(ctx); err != nil {
		return 0, l.fail("acquire", err)
	}
	defer l.end()
	token := l.token
	if l.depth == 0 {
		token = newToken()
	}
	acquired, lease, err := l.acquire(ctx, token, l.depth+1)
	if err != nil {
		// The command may have reached Redis before its reply was lost. Left alone, the key would keep
		// everybody out for a whole ttl. If this fails, too, the ttl ends it.
		ctx, cancel := detach(ctx)
		defer cancel()
		l.release(ctx, token, l.depth)
		return 0, l.fail("acquire", err)
	}
	if !acquired && l.depth > 0 {
		return 0, l.fail("acquire again", ErrNotHeld)
	}
	if !acquired {
		return lease, l.fail("acquire", ErrNotAcquired)
	}
	l.token = token
	l.depth++
	return 0, nil
}

// Lock acquires the lock, waiting while somebody else holds it. When ctx ends first, the error matches both
// ErrNotAcquired and ctx.Err().
func (l *Lock) Lock(ctx context.Context) error {
	lease, err := l.tryLock(ctx)
	if err == nil || !errors.Is(err, ErrNotAcquired) && (ctx.Err() == nil || l.check() != nil) {
		return err
	}
	if ctx.Err() != nil {
		return l.fail("acquire", fmt.Errorf("%w: %w", ErrNotAcquired, ctx.Err()))
	}
	// The channel has the name of the key: in a cluster and in a ring, both are on the same server.
	sub := l.rdb.Subscribe(ctx, l.key)
	defer func() { go sub.Close() }() // it waits for a subscription that is being made, which takes long if Redis hangs
	// Every event is a reason to try again. The first one says that the subscription stands: a release before
	// that was not heard. A message that is lost costs no more than the rest of the holder's lease.
	events := sub.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(0))
	for {
		select {
		case <-ctx.Done():
			return l.fail("acquire", fmt.Errorf("%w: %w", ErrNotAcquired, ctx.Err()))
		case <-events:
		case <-time.After(lease):
		}
		lease, err = l.tryLock(ctx)
		if err == nil || !errors.Is(err, ErrNotAcquired) && ctx.Err() == nil {
			return err
		}
	}
}

// Unlock takes back one TryLock or Lock; the last one releases the lock. It returns nil when it did, ErrNotHeld
// when this Lock does not hold the lock, or no longer, and any other error when the outcome is not known. Then
// the Unlock has counted all the same; only the last one may be called again. It does not depend on ctx being
// alive. It returns within releaseTimeout; if it had to wait so long for another goroutine's TryLock on this handle,
// it has not counted.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("release", err)
	}
	ctx, cancel := detach(ctx)
	defer cancel()
	if err := l.begin(ctx); err != nil {
		return l.fail("release", err)
	}
	defer l.end()
	if l.token == "" {
		return l.fail("release", ErrNotHeld)
	}
	l.depth = max(l.depth-1, 0)
	released, err := l.release(ctx, l.token, l.depth)
	if err != nil {
		return l.fail("release", err)
	}
	if l.depth == 0 {
		l.token = ""
	}
	if !released {
		return l.fail("release", ErrNotHeld)
	}
	return nil
}

// acquire stores token with depth unless the lock is taken, and reports whether token owns it now, or else how
// long the holder's lease lasts.
func (l *Lock) acquire(ctx context.Context, token string, depth int) (acquired bool, lease time.Duration, err error) {
	reply, err := acquireScript.Run(ctx, l.rdb, []string{l.key}, token, l.ttl.Milliseconds(), depth).Result()
	if err != nil || reply == "OK" {
		return err == nil, 0, err
	}
	lease = l.ttl // the holder's key has no expiry: look again from time to time
	if pttl, ok := reply.(int64); ok && pttl >= 0 {
		lease = max(time.Duration(pttl), 1) * time.Millisecond
	}
	return false, lease, nil
}

// release sets the depth of token if token owns the lock, and reports whether it does; depth 0 deletes the lock.
// It stops waiting by itself when ctx ends: by default, go-redis does not interrupt a read for that
// (ContextTimeoutEnabled), so a Redis that hangs would hold up the caller for many seconds.
func (l *Lock) release(ctx context.Context, token string, depth int) (bool, error) {
	done := make(chan *redis.Cmd, 1)
	go func() { done <- releaseScript.Run(ctx, l.rdb, []string{l.key}, token, depth) }()
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

// newToken returns 20 random bytes as text: no two acquisitions ever share a token, whichever client, process
// or machine they come from (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
func newToken() string {
	b := make([]byte, 20)
	rand.Read(b) // never fails
	return hex.EncodeToString(b)
}

// begin waits for this goroutine's turn.
func (l *Lock) begin(ctx context.Context) error {
	if ctx.Err() != nil {
		return ctx.Err() // a select would take either
	}
	select {
	case l.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *Lock) end() { <-l.turn }

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

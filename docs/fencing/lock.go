// Package fencing is the epilogue of the eight locks: fencing tokens, and resources that
// check them.
//
//	Before:       a holder that is paused beyond its lease writes late, over what the next
//	              holder has written. No lock can stop it: the lease has expired, and the
//	              first holder does not know.
//	Fix:          each acquisition gets a number higher than all before it, the fencing
//	              token. Every access carries it, and the resource rejects a token that is
//	              lower than the highest it has seen.
//	Still broken: a counter on a Redis that fails over can give the same number twice. A
//	              resource that cannot compare tokens cannot be fenced.
//
// The lock is step 05's, but its acquisition is a script that also counts. Needs
// Redis 2.6.12 (SET with PX); the resource in Redis needs 4.0 (HSET with several fields).
package fencing

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

var (
	ErrNotAcquired = errors.New("lock not acquired") // usually because it is taken
	ErrNotHeld     = errors.New("lock not held")     // by this Lock, or lost in the meantime
)

// pollInterval is the time that Lock waits between two attempts.
const pollInterval = 30 * time.Millisecond

// acquireScript gives the lock KEYS[1] to the owner ARGV[1] for ARGV[2] milliseconds if it
// is free, and returns the next number of the counter KEYS[2]. It returns 0 if the lock is
// taken. If the owner already has the lock, this is a resend after a lost reply, and the
// number stays the same. The script counts first: if that fails, nothing has changed. It
// returns the number as text, because Lua's numbers are float64.
var acquireScript = redis.NewScript(`-- acquire counter token ttl
local owner = redis.call('GET', KEYS[1])
if owner == ARGV[1] then
	return redis.call('GET', KEYS[2])
end
if owner then
	return 0
end
redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return redis.call('GET', KEYS[2])
`)

// releaseScript deletes the lock KEYS[1] if it belongs to the owner ARGV[1], and returns 1
// if it did.
const releaseScript = `-- release token
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
return redis.call('DEL', KEYS[1])
`

// A Lock is a handle on the distributed lock stored at one key. Each Lock is a separate
// owner, even within one process. It is safe for concurrent use, but goroutines that share
// a Lock share its ownership: a late Unlock of one releases what another has acquired.
type Lock struct {
	rdb redis.UniversalClient
	key string
	ttl time.Duration

	owner         atomic.Pointer[string] // of the current acquisition; nil if there is none
	maybeReleased atomic.Pointer[string] // see replies.go
}

// New returns a handle on the lock at key, which expires after ttl (at least 1ms). Its
// counter is at {key}:fence, or at key:fence if the key has a hash tag, and never expires.
// New does not contact Redis. TryLock and Lock reject an empty key, a key with a } but
// without a hash tag, a nil client, a Ring and a ttl that is too short.
//
// If rdb is your own wrapper of a client, override Process: scripts do not pass through
// Eval. To act on every command, such as to prefix its key, use a hook (AddHook).
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return &Lock{rdb: rdb, key: key, ttl: ttl}
}

// TryLock makes one attempt to acquire the lock. It returns a fencing token of 1 or more,
// or ErrNotAcquired if the lock is taken. After any other error it has tried to
// release what it may have acquired, even if ctx has ended, for up to 3 seconds plus
// ReadTimeout; if that failed, or overtook the acquisition, the key expires after ttl. By
// default, ctx does not interrupt a read.
//
// The token belongs to this acquisition, so the handle does not keep it: a goroutine that
// was paused could read the token of a later acquisition from the handle.
func (l *Lock) TryLock(ctx context.Context) (token int64, err error) {
	if err := l.validate(); err != nil {
		return 0, l.wrap("acquire", err)
	}
	if err := ctx.Err(); err != nil {
		return 0, l.wrap("acquire", err) // nothing was sent, so there is nothing to release
	}
	// At least 128 random bits identify the owner. Only the number tells which acquisition
	// is later.
	owner := rand.Text()
	if token, err = l.acquire(ctx, owner); err != nil {
		l.undo(ctx, owner, err)
		return 0, l.wrap("acquire", err)
	}
	l.owner.Store(&owner)
	return token, nil
}

// Lock acquires the lock, waiting while it is taken, and returns its fencing token. If ctx
// ends during the wait, the error matches both ErrNotAcquired and ctx.Err(). Any other
// error from TryLock ends the wait and is returned.
func (l *Lock) Lock(ctx context.Context) (token int64, err error) {
	var before error
	for {
		token, err := l.TryLock(ctx)
		err = notCutOff(ctx, before, err)
		if !errors.Is(err, ErrNotAcquired) {
			return token, err // the lock, or an error that waiting does not change
		}
		before = err
		select {
		case <-ctx.Done():
		case <-time.After(around(pollInterval)):
		}
		if ctx.Err() != nil {
			return 0, fmt.Errorf("%w: %w", err, ctx.Err())
		}
	}
}

// Unlock releases the lock. It returns ErrNotHeld if the lock was not held or has been
// lost. After any other error the outcome is unknown, and Unlock may be called again.
//
// Unlock works even if ctx has ended. It takes at most 3 seconds, plus ReadTimeout if Redis
// hangs. If a reply is lost and the retry finds the lock gone or taken, Unlock assumes that
// the first attempt released it and returns nil.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.validate(); err != nil {
		return l.wrap("release", err)
	}
	owner := l.owner.Load()
	if owner == nil {
		return l.wrap("release", ErrNotHeld)
	}
	released, err := l.release(ctx, owner)
	if err != nil {
		return l.wrap("release", err)
	}
	l.owner.CompareAndSwap(owner, nil) // unless another goroutine has acquired since
	if !released {
		return l.wrap("release", ErrNotHeld)
	}
	return nil
}

// acquire gives the lock to owner unless it is taken, and returns the fencing token. After any
// other error the number may be used up.
func (l *Lock) acquire(ctx context.Context, owner string) (token int64, err error) {
	token, err = acquireScript.Run(ctx, l.rdb, []string{l.key, fenceKey(l.key)}, owner, l.ttl.Milliseconds()).Int64()
	if err == nil && token == 0 {
		err = ErrNotAcquired
	}
	return token, err
}

// release deletes the lock if owner has it, and reports whether it did.
func (l *Lock) release(ctx context.Context, owner *string) (bool, error) {
	return l.untilAnswered(ctx, releaseScript, owner)
}

// fenceKey names the counter of a lock. Redis Cluster runs a script only if all its keys
// are in one slot. It places a key by its hash tag, and by the whole key if it has none
// (https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/#hash-tags).
func fenceKey(key string) string {
	if hashTag(key) != "" {
		return key + ":fence"
	}
	return "{" + key + "}:fence"
}

// hashTag returns the text between the first { of a key and the next }, or "" if there is
// none.
func hashTag(key string) string {
	_, rest, _ := strings.Cut(key, "{")
	tag, _, closed := strings.Cut(rest, "}")
	if !closed {
		return ""
	}
	return tag
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
	case strings.Contains(l.key, "}") && hashTag(l.key) == "":
		return errors.New("key has a } but no hash tag: its counter cannot be in its cluster slot")
	case l.ttl < time.Millisecond: // whole milliseconds; to PX, 0 is an error
		return fmt.Errorf("ttl %v is below the minimum of 1ms", l.ttl)
	}
	return nil
}

// wrap adds to err what failed and for which lock.
func (l *Lock) wrap(op string, err error) error {
	return fmt.Errorf("fencing: %s %q: %w", op, l.key, err)
}

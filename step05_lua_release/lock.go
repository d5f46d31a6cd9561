// Package redislock is a distributed lock on Redis. Step 5 of 8: check and delete in one script.
//
//	Before: the lock can expire between GET and DEL. Then DEL removes the lock of the
//	        next owner.
//	Fix:    a Lua script compares and deletes. Redis runs a script as one command:
//	        nothing fits in between. With that, the release is safe to send at any time,
//	        so it also takes back an acquisition whose outcome is unknown, and it goes
//	        out although the caller's context has ended.
//	Broken: a holder that locks again blocks itself. A lease that ends during the work,
//	        or before the answer to the acquisition comes, lets the next owner in while
//	        the first one is still working.
//
// Needs Redis 2.6.12 (SET with NX and a ttl, EVALSHA).
package redislock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
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

// releaseTimeout is how long a release may take. It does not share the caller's deadline:
// a request that ran into its deadline must still give the lock back.
const releaseTimeout = 3 * time.Second

// releaseScript deletes the lock KEYS[1] if it belongs to the token ARGV[1], and returns
// 1 if it did.
var releaseScript = redis.NewScript(`-- release token
if redis.call('GET', KEYS[1]) ~= ARGV[1] then
	return 0
end
return redis.call('DEL', KEYS[1])
`)

// Lock is one owner's handle on the lock named key. Two handles are two owners, even in
// one process. Its methods may be called from several goroutines.
type Lock struct {
	rdb redis.UniversalClient
	key string
	ttl time.Duration

	token  atomic.Value // string: of the current hold, "" when there is none
	unsure atomic.Value // string: of a hold whose release was sent, and the answer lost
}

// New returns a handle on the lock that is stored at key and lasts for ttl, at least a
// millisecond. It sends nothing; TryLock and Lock refuse an empty key, a nil client, a
// Ring or a ttl that is too short.
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return &Lock{rdb: rdb, key: key, ttl: ttl}
}

// TryLock makes one attempt to acquire the lock. It returns nil when the caller holds it,
// ErrNotAcquired when somebody else does, and any other error when the outcome is not
// known; then it has tried to take the lock back. That may take releaseTimeout longer than
// go-redis waits for an answer, even if ctx has ended.
func (l *Lock) TryLock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("acquire", err)
	}
	if err := ctx.Err(); err != nil {
		return l.fail("acquire", err) // nothing is sent, so nothing has to be taken back
	}
	token := newToken()
	if err := l.acquire(ctx, token); err != nil {
		return l.fail("acquire", err)
	}
	l.token.Store(token)
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

// Unlock releases the lock. It returns nil when the lock was released, ErrNotHeld when
// this Lock did not hold it, or no longer, and any other error when the outcome is not
// known; then it may be called again. It does not depend on ctx being alive, and returns
// within releaseTimeout. When the answer to a release is lost and the lock is gone, that
// counts as released: whether Redis lost it in the same moment, nobody can tell.
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

// acquire stores token unless the lock is taken. After an error other than
// ErrNotAcquired, it has tried to take back what it may have done.
func (l *Lock) acquire(ctx context.Context, token string) error {
	acquired, err := l.rdb.SetNX(ctx, l.key, token, l.ttl).Result()
	if err == nil && !acquired {
		// When a reply is lost, go-redis sends the command again, and our own key refuses
		// it. Without this look, we would report a lock that we hold as taken, and nobody
		// would release it.
		acquired, err = l.owns(ctx, token)
	}
	if err != nil {
		// The command may have reached Redis before its reply was lost. Left alone, the
		// key would keep everybody out for a whole ttl. If this fails as well, the ttl
		// ends it.
		ctx, cancel := detach(ctx)
		defer cancel()
		l.release(ctx, token)
		return err
	}
	if !acquired {
		return ErrNotAcquired
	}
	return nil
}

// release deletes the lock if token owns it, and reports whether it did. The answer to a
// release can be lost after Redis has run it. Sent again, it finds nothing, and to say
// "not held" then would be a false alarm.
func (l *Lock) release(ctx context.Context, token string) (released bool, err error) {
	for range 4 { // as often as go-redis would
		released, err = l.run(ctx, releaseScript, token)
		if err == nil || !mayHaveRun(err) {
			break
		}
		if l.token.Load() == token { // and not of an acquisition that is taken back
			l.unsure.Store(token)
		}
	}
	return released || err == nil && l.unsure.Load() == token, err
}

// run sends a script once. It stops waiting by itself when ctx ends: by default, go-redis
// does not interrupt a read for that (ContextTimeoutEnabled), so a Redis that hangs would
// hold up the caller for many seconds.
func (l *Lock) run(ctx context.Context, script *redis.Script, args ...any) (bool, error) {
	done := make(chan *redis.Cmd, 1)
	go func() { done <- script.Run(ctx, once{l.rdb}, []string{l.key}, args...) }()
	select {
	case reply := <-done:
		return reply.Bool()
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// once is a client that sends a script once. By itself, go-redis sends again what was not
// answered, and does not say so (MaxRetries).
type once struct{ redis.UniversalClient }

func (c once) EvalSha(ctx context.Context, sha1 string, keys []string, args ...any) *redis.Cmd {
	return c.send(ctx, "evalsha", sha1, keys, args)
}

// Eval is for a Redis that has been restarted, or has never seen the script.
func (c once) Eval(ctx context.Context, script string, keys []string, args ...any) *redis.Cmd {
	return c.send(ctx, "eval", script, keys, args)
}

func (c once) send(ctx context.Context, name, script string, keys []string, args []any) *redis.Cmd {
	cmd := redis.NewCmd(ctx, slices.Concat([]any{name, script, len(keys), keys[0]}, args)...)
	c.Process(ctx, noRetry{cmd})
	return cmd
}

type noRetry struct{ *redis.Cmd }

func (noRetry) NoRetry() bool { return true }

// mayHaveRun reports whether Redis may have run a command that failed with err: not if it
// answered with an error, or could not be reached.
func mayHaveRun(err error) bool {
	var answer redis.Error
	var network *net.OpError
	return !errors.As(err, &answer) && !(errors.As(err, &network) && network.Op == "dial")
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

// newToken returns 20 random bytes as text: no two acquisitions ever share a token,
// whichever client, process or machine they come from
// (https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/).
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
	if _, ok := l.rdb.(*redis.Ring); ok {
		// It moves a key to another server when the first does not answer: then two
		// clients hold the lock.
		return errors.New("the Redis client is a Ring, which moves keys between servers: " +
			"use one server, Sentinel or a cluster")
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

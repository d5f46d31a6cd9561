// Package redislock is a distributed lock on Redis. Step 6 of 8: the owner may lock
// again, and waiters are woken.
//
//	Before: a holder that locks again blocks itself. Waiters poll.
//	Fix:    the key is a hash {token: depth}. The owner may nest; only its outermost
//	        Unlock frees the lock. The depth is set, never incremented: a command that
//	        go-redis sends twice counts once. The release publishes; waiters subscribe
//	        and sleep.
//	Broken: a lease that ends during the work, or before the answer to the acquisition
//	        comes, lets the next owner in while the first one is still working.
//
// Needs Redis 5.0: before, a script that has read a PTTL may be forbidden to write.
package redislock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"
)

var (
	// ErrNotAcquired means that somebody else holds the lock.
	ErrNotAcquired = errors.New("lock not acquired")

	// ErrNotHeld means that the lock to release is not held by this Lock, or no longer.
	ErrNotHeld = errors.New("lock not held")
)

// releaseTimeout is how long a release may take. It does not share the caller's deadline:
// a request that ran into its deadline must still give the lock back.
const releaseTimeout = 3 * time.Second

// acquireScript sets the depth of the token ARGV[1] in the lock KEYS[1] to ARGV[3] and
// lets the lock last for at least ARGV[2] milliseconds, if the token owns the lock, or if
// the lock is free and the depth is 1. It returns 1 if it did, or else minus the
// milliseconds that the lock still lasts. A key that lasts for ever is no lock of ours:
// nobody will release it, so that is an error.
var acquireScript = redis.NewScript(`-- acquire token ttl depth
local lease = redis.call('PTTL', KEYS[1])
if lease == -2 and ARGV[3] == '1' or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
	if lease < tonumber(ARGV[2]) then
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
	end
	return 1
end
if lease == -1 then
	return redis.error_reply('NOTTL the key has no ttl, so it is not a lock that somebody holds')
end
return -math.max(lease, 1)
`)

// releaseScript sets the depth of the token ARGV[1] in the lock KEYS[1] to ARGV[2], if
// the token owns the lock, and returns 1 if it does. At depth 0 it deletes the lock and
// wakes those who wait.
var releaseScript = redis.NewScript(`-- release token depth
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return 0
end
if ARGV[2] ~= '0' then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
	return 1
end
redis.call('DEL', KEYS[1])
-- A user without the channel's permission has released all the same.
redis.pcall('PUBLISH', 'redislock:' .. KEYS[1], 'released')
return 1
`)

// Lock is one owner's handle on the lock named key. Two handles are two owners, even in
// one process. Its methods may be called from several goroutines.
type Lock struct {
	rdb redis.UniversalClient
	key string
	ttl time.Duration

	// A mutex that a context can interrupt: Redis and we must count the same depth.
	mu     *semaphore.Weighted
	token  string // of the current hold, "" when there is none
	depth  int    // how often the current hold was acquired and not released
	unsure string // of a hold whose release was sent, and the answer lost
}

// New returns a handle on the lock that is stored at key and lasts for ttl, at least a
// millisecond. It sends nothing; TryLock and Lock refuse an empty key, a nil client, a
// Ring or a ttl that is too short.
func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return &Lock{rdb: rdb, key: key, ttl: ttl, mu: semaphore.NewWeighted(1)}
}

// TryLock makes one attempt to acquire the lock. It returns nil when the caller holds it,
// ErrNotAcquired when somebody else does, and any other error when the outcome is not
// known; then it has tried to take the lock back. That may take releaseTimeout longer than
// go-redis waits for an answer, even if ctx has ended.
//
// A holder may lock again, and must unlock as often. When its hold is gone, locking again
// is ErrNotHeld: what the hold protected so far may have changed, so a new hold can only
// begin after the last Unlock.
func (l *Lock) TryLock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("acquire", err)
	}
	if err := l.mu.Acquire(ctx, 1); err != nil {
		return l.fail("acquire", err) // nothing is sent, so nothing has to be taken back
	}
	defer l.mu.Release(1)
	token := l.token
	if l.depth == 0 {
		token = newToken()
	}
	err := l.acquire(ctx, token, l.depth+1)
	if l.depth > 0 && errors.Is(err, ErrNotAcquired) {
		err = ErrNotHeld
	}
	if err != nil {
		return l.fail("acquire", err)
	}
	l.token = token
	l.depth++
	return nil
}

// Lock acquires the lock, waiting while somebody else holds it. When ctx ends while it
// waits, the error matches both ErrNotAcquired and ctx.Err(). Any other error is that of
// a TryLock, and ends the wait.
func (l *Lock) Lock(ctx context.Context) error {
	var released <-chan any // nil until the first refusal
	for {
		err := l.TryLock(ctx)
		if !errors.Is(err, ErrNotAcquired) {
			return err // nil, or what waiting does not change
		}
		var lease taken
		errors.As(err, &lease)
		if released == nil {
			// Its first event says that the subscription stands: a release before that
			// was not heard.
			sub := l.rdb.Subscribe(ctx, "redislock:"+l.key)
			released = sub.ChannelWithSubscriptions(redis.WithChannelHealthCheckInterval(0))
			defer func() {
				go func() {
					sub.Close() // waits for a subscription under way: long if Redis hangs
					for range released {
					} // go-redis waits a minute to be rid of a message
				}()
			}()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, ctx.Err())
		case <-released:
			for len(released) > 0 {
				<-released // one attempt is the answer to all of them
			}
		case <-time.After(time.Duration(lease)):
			// A holder that dies wakes nobody, and a message may be lost.
		}
	}
}

// Unlock takes back one TryLock or Lock; the last one releases the lock. It returns nil
// when it did, ErrNotHeld when this Lock did not hold the lock, or no longer, and any
// other error when the outcome is not known. Then the Unlock has counted all the same;
// only the last one may be called again. It does not depend on ctx being alive. It waits
// for a TryLock of another goroutine on this handle, and then returns within
// releaseTimeout. When the answer to a release is lost and the lock is gone, that counts
// as released: whether Redis lost it in the same moment, nobody can tell.
func (l *Lock) Unlock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("release", err)
	}
	l.mu.Acquire(context.Background(), 1) // an Unlock that gave up would leave the lock held
	defer l.mu.Release(1)
	if l.token == "" {
		return l.fail("release", ErrNotHeld)
	}
	ctx, cancel := detach(ctx)
	defer cancel()
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

// acquire stores token with depth unless the lock is taken; then the error says for how
// long. After an error other than ErrNotAcquired, it has tried to take back what it may
// have done.
func (l *Lock) acquire(ctx context.Context, token string, depth int) error {
	reply, err := acquireScript.Run(ctx, l.rdb, []string{l.key},
		token, l.ttl.Milliseconds(), depth).Int64()
	if err != nil {
		// The command may have reached Redis before its reply was lost. Left alone, the
		// key would keep everybody out for a whole ttl. If this fails as well, the ttl
		// ends it.
		ctx, cancel := detach(ctx)
		defer cancel()
		l.release(ctx, token, depth-1)
		return err
	}
	if reply != 1 {
		return taken(-time.Duration(reply) * time.Millisecond)
	}
	return nil
}

// taken is ErrNotAcquired, with the time that the holder's lease lasts.
type taken time.Duration

func (t taken) Error() string {
	return fmt.Sprintf("%v: it is taken for another %v", ErrNotAcquired, time.Duration(t))
}
func (t taken) Unwrap() error { return ErrNotAcquired }

// release sets the depth of token if token owns the lock, and reports whether it did;
// depth 0 deletes the lock. The answer to that can be lost after Redis has run it. Sent
// again, it finds nothing, and to say "not held" then would be a false alarm.
func (l *Lock) release(ctx context.Context, token string, depth int) (released bool, err error) {
	for range 4 { // as often as go-redis would
		released, err = l.run(ctx, releaseScript, token, depth)
		if err == nil || !mayHaveRun(err) {
			break
		}
		if depth == 0 && token == l.token { // and not of an acquisition that is taken back
			l.unsure = token
		}
	}
	return released || err == nil && l.unsure == token, err
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
		// Redis counts milliseconds, and PEXPIRE with 0 deletes the key.
		return fmt.Errorf("the ttl is %v, it must be at least 1ms", l.ttl)
	}
	return nil
}

// fail says which lock err is about.
func (l *Lock) fail(op string, err error) error {
	return fmt.Errorf("redislock: %s %q: %w", op, l.key, err)
}

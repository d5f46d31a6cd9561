// Package redislock is a distributed lock on Redis. Step 7 of 8: a watchdog renews the
// lease while the work goes on.
//
//	Before: a lease that ends during the work lets the next owner in while the first one
//	        is still working.
//	Fix:    a watchdog renews the lease every ttl/3, only for its owner, until Unlock.
//	        When it cannot, it tells the holder (Lost, Do) before the key can expire.
//	Broken: the lock is on one Redis. When that fails and its replica takes over before
//	        it has received the lock, the next owner gets in. And a holder that is
//	        paused for longer than the ttl hears of its loss only after the pause: no
//	        lock can stop its late write, only the resource can (fencing).
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
	"os"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/semaphore"
)

var (
	// ErrNotAcquired means that somebody else holds the lock.
	ErrNotAcquired = errors.New("lock not acquired")

	// ErrNotHeld means that the lock to release is not held by this Lock, or no longer.
	ErrNotHeld = errors.New("lock not held")

	// ErrLost means that the lock was lost under its holder. Do cancels the work's context with it.
	ErrLost = errors.New("lock lost")

	// ErrNotRun means that Do did not get the lock, so the work did not begin.
	ErrNotRun = errors.New("the work did not run")
)

// releaseTimeout is how long a release may take. It does not share the caller's deadline:
// a request that ran into its deadline must still give the lock back.
const releaseTimeout = 3 * time.Second

// acquireScript sets the depth of the token ARGV[1] in the lock KEYS[1] to ARGV[3], if the
// token owns the lock, or if the lock is free and the depth is 1. At depth 1 it lets the
// lock last for ARGV[2] milliseconds; to prolong it after that is up to the watchdog,
// which knows MaxHold. It returns 1 if it did, or else minus the milliseconds
// that the lock still lasts. A key that lasts for ever is no lock of ours:
// nobody will release it, so that is an error.
var acquireScript = redis.NewScript(`-- acquire token ttl depth
local lease = redis.call('PTTL', KEYS[1])
if lease == -2 and ARGV[3] == '1' or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
	if ARGV[3] == '1' then
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

// renewScript lets the lock KEYS[1] last for ARGV[2] milliseconds from now if it belongs
// to the token ARGV[1], and returns 1 if it does.
var renewScript = redis.NewScript(`-- renew token ttl
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`)

// Lock is one owner's handle on the lock named key. Two handles are two owners, even in
// one process. Its methods may be called from several goroutines.
type Lock struct {
	rdb redis.UniversalClient
	key string
	ttl time.Duration

	// MaxHold is how long a hold is renewed; 0 is no limit. It frees the lock of a holder
	// that hangs or forgets to unlock: at most a ttl later, the hold is lost. Set it
	// before the lock is used.
	MaxHold time.Duration

	// A mutex that a context can interrupt: Redis and we must count the same depth.
	mu     *semaphore.Weighted
	token  string // of the current hold, "" when there is none
	depth  int    // how often the current hold was acquired and not released
	unsure string // of a hold whose release was sent, and the answer lost
	dog    atomic.Pointer[watchdog]
}

// New returns a handle on the lock that is stored at key and lasts for ttl, at least
// 3ms. It sends nothing; TryLock and Lock refuse an empty key, a nil client, a Ring or a
// ttl that is too short.
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
	} else if loss := l.dog.Load().loss(); loss != nil {
		return l.fail("acquire again", fmt.Errorf("%w: %w", ErrNotHeld, loss))
	}
	start := time.Now()
	err := l.acquire(ctx, start, token, l.depth+1)
	if dog := l.dog.Load(); l.depth > 0 {
		if errors.Is(err, ErrNotAcquired) {
			dog.lose(ErrNotHeld)
		} else if !time.Now().Before(*dog.valid.Load()) {
			dog.lose(os.ErrDeadlineExceeded) // after a pause, the watchdog may come too late
		}
		if loss := dog.loss(); loss != nil { // perhaps while the answer was on its way
			err = fmt.Errorf("%w: %w", ErrNotHeld, loss)
		}
	}
	if err != nil {
		return l.fail("acquire", err)
	}
	if l.depth == 0 {
		l.dog.Store(l.watch(token, start))
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
	if l.depth == 0 {
		l.dog.Load().stop()
	}
	released, err := l.release(ctx, l.token, l.depth)
	if err != nil {
		return l.fail("release", err)
	}
	if l.depth == 0 {
		l.token = ""
	}
	if !released {
		l.dog.Load().lose(ErrNotHeld)
		return l.fail("release", ErrNotHeld)
	}
	return nil
}

// Lost returns a channel that is closed when the current hold is lost: it is not the
// owner's any more, or Redis could not be reached for so long that it may not be. It is
// closed before the key can expire. Unlock is needed all the same, and does not close it:
// a goroutine that waits for it must wait for the end of the work as well. Without a
// hold, the channel is that of the last one, or nil.
func (l *Lock) Lost() <-chan struct{} {
	if dog := l.dog.Load(); dog != nil {
		return dog.lost.Done()
	}
	return nil
}

// ValidUntil returns the local time until which the current hold is safe, the zero time
// when there is none. The watchdog moves it on. Work that must not be late compares it
// with time.Now() before it begins something.
func (l *Lock) ValidUntil() time.Time {
	dog := l.dog.Load()
	if dog == nil || dog.work.Err() != nil {
		return time.Time{}
	}
	return *dog.valid.Load()
}

// Do runs fn while it holds the lock: Lock, fn, Unlock, also when fn panics. The context
// of fn is ctx, and ends with the cause ErrLost when the lock is lost. Do returns
// ErrNotRun and the error of Lock when fn did not run; else the error of fn, and ErrLost
// when the lock was lost, even if fn did not notice. A release whose outcome is not known
// is no error: the work is done, and the ttl ends the lock.
func (l *Lock) Do(ctx context.Context, fn func(context.Context) error) (err error) {
	if err := l.Lock(ctx); err != nil {
		return fmt.Errorf("%w: %w", ErrNotRun, err)
	}
	dog := l.dog.Load()
	work, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(dog.lost, func() { cancel(dog.loss()) })
	defer func() {
		stop()
		cancel(nil)
		l.Unlock(ctx)
		if loss := dog.loss(); loss != nil {
			err = errors.Join(err, l.fail("hold", loss))
		}
	}()
	return fn(work)
}

// watchdog keeps a hold alive and knows when it is lost.
type watchdog struct {
	token string
	valid atomic.Pointer[time.Time] // until when the hold is safe
	first *time.Timer               // starts renewing at ttl/3: shorter holds cost no goroutine
	lost  context.Context           // ends when the hold is lost
	end   context.CancelCauseFunc
	work  context.Context // ends with lost, and with Unlock
	over  context.CancelFunc
}

// watch starts the watchdog of a hold that was acquired by a command sent at start.
func (l *Lock) watch(token string, start time.Time) *watchdog {
	d := &watchdog{token: token}
	d.keep(l.validUntil(start))
	d.lost, d.end = context.WithCancelCause(context.Background())
	d.work, d.over = context.WithCancel(context.Background())
	d.first = time.AfterFunc(time.Until(start.Add(l.ttl/3)), func() { l.renew(d, start) })
	return d
}

func (d *watchdog) keep(until time.Time) { d.valid.Store(&until) }
func (d *watchdog) stop()                { d.first.Stop(); d.over() }
func (d *watchdog) lose(cause error)     { d.over(); d.end(fmt.Errorf("%w: %w", ErrLost, cause)) }

// loss returns why the hold was lost, nil if it was not.
func (d *watchdog) loss() error { return context.Cause(d.lost) }

// validUntil returns how long a lock that was acquired or renewed by a command sent at
// start is safe. The key lasts longer: it was set later, and clocks may differ a little.
func (l *Lock) validUntil(start time.Time) time.Time { return start.Add(l.ttl - l.drift()) }

// drift is what the validity leaves for clocks that differ: 1% of the ttl and 2ms, one of
// them because Redis counts whole milliseconds.
func (l *Lock) drift() time.Duration { return l.ttl/100 + 2*time.Millisecond }

// renew renews the lease every ttl/3, until the hold is over, or not valid any more. What
// is not answered is asked again soon: a connection that has died silently must not use
// up the lease, another one may do.
func (l *Lock) renew(d *watchdog, begin time.Time) {
	type answer struct {
		sent time.Time
		owns bool
		err  error
	}
	answers := make(chan answer)
	trouble := os.ErrDeadlineExceeded // why there was no renewal
	for next := time.NewTimer(0); ; {
		select {
		case <-d.work.Done():
			return
		case <-next.C:
			now := time.Now()
			left := d.valid.Load().Sub(now)
			switch {
			case left <= 0:
				d.lose(trouble)
			case l.MaxHold > 0 && now.Sub(begin) >= l.MaxHold:
				trouble = errors.New("MaxHold is over")
				next.Reset(left)
			default:
				trouble = os.ErrDeadlineExceeded
				next.Reset(min(l.ttl/30, left))
				go func() {
					owns, err := l.extend(d.work, d.token)
					select {
					case answers <- answer{now, owns, err}:
					case <-d.work.Done():
					}
				}()
			}
		case a := <-answers:
			switch valid := l.validUntil(a.sent); {
			case a.err != nil:
				trouble = a.err
			case !a.owns:
				d.lose(ErrNotHeld) // to renew now would prolong the lock of the next owner
			case valid.After(*d.valid.Load()):
				d.keep(valid)
				next.Reset(time.Until(a.sent.Add(l.ttl / 3)))
			}
		}
	}
}

// acquire stores token with depth unless the lock is taken; then the error says for how
// long. After an error other than ErrNotAcquired, it has tried to take back what it may
// have done.
func (l *Lock) acquire(ctx context.Context, start time.Time, token string, depth int) error {
	reply, err := acquireScript.Run(ctx, l.rdb, []string{l.key},
		token, l.ttl.Milliseconds(), depth).Int64()
	if reply == 1 && depth == 1 && !time.Now().Before(l.validUntil(start)) {
		// Somebody else may be inside by now.
		err = fmt.Errorf("%w: the answer came when the lock was not valid any more", ErrNotAcquired)
	}
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

// extend lets the lock last for a ttl from now if token owns it, and reports whether it does.
func (l *Lock) extend(ctx context.Context, token string) (bool, error) {
	return renewScript.Run(ctx, once{l.rdb}, []string{l.key}, token, l.ttl.Milliseconds()).Bool()
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
	if l.ttl <= l.drift() {
		// The hold would be lost at once.
		return fmt.Errorf("the ttl is %v, the allowance for clock drift leaves nothing of it",
			l.ttl)
	}
	return nil
}

// fail says which lock err is about.
func (l *Lock) fail(op string, err error) error {
	return fmt.Errorf("redislock: %s %q: %w", op, l.key, err)
}

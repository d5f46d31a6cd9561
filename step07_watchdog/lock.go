// Package redislock is a distributed lock on Redis. Step 7 of 8: a watchdog renews the lease while the work goes on.
//
//	Before: a lease that ends during the work lets the next owner in while the first one is still working.
//	Fix:    a watchdog renews the lease every ttl/3, only for its owner, until Unlock. When it cannot, it tells
//	        the holder (Lost, Do) before the key can expire.
//	Broken: the lock is on one Redis. When that fails and its replica takes over before it has received the
//	        lock, the next owner gets in. And a holder that is paused for longer than the ttl hears of its
//	        loss only after the pause: no lock can stop its late write, only the resource can (fencing).
//
// Needs Redis 5.0: before, a script that has read a PTTL may be forbidden to write.
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

	// ErrLost is the cause with which Do cancels the work's context when the lock was lost under its holder.
	ErrLost = errors.New("lock lost")
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

// renewScript lets the lock KEYS[1] last for ARGV[2] milliseconds from now if it belongs to the token ARGV[1], and
// returns 1 if it does.
var renewScript = redis.NewScript(`-- renew
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`)

// Lock is one owner's handle on the lock named key. Two handles are two owners, also in one process.
// Its methods may be called from several goroutines.
type Lock struct {
	rdb redis.UniversalClient
	key string
	ttl time.Duration

	// MaxHold is how long a hold is renewed; 0 is no limit. It frees the lock of a holder that hangs or forgets
	// to unlock: at most a ttl later, the hold is lost. Set it before the lock is used.
	MaxHold time.Duration

	// turn is taken for each command and what follows from it: Redis and we must count the same depth. It is a
	// channel, because waiting for it ends with the context.
	turn  chan struct{}
	token string // of the current hold, "" when there is none
	depth int    // how often the current hold was acquired and not released
	dog   atomic.Pointer[watchdog]
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
	} else if l.dog.Load().lost.Err() != nil {
		return 0, l.fail("acquire again", ErrNotHeld)
	}
	start := time.Now()
	acquired, lease, err := l.acquire(ctx, token, l.depth+1)
	if acquired && l.depth == 0 && !time.Now().Before(l.validUntil(start)) {
		// Somebody else may be inside by now, and our own watchdog would report the loss at once.
		lease, err = time.Millisecond, fmt.Errorf("%w: the answer came when the lock was not valid any more", ErrNotAcquired)
	}
	if err != nil {
		// The command may have reached Redis before its reply was lost. Left alone, the key would keep
		// everybody out for a whole ttl. If this fails, too, the ttl ends it.
		ctx, cancel := detach(ctx)
		defer cancel()
		l.release(ctx, token, l.depth)
		return lease, l.fail("acquire", err)
	}
	if !acquired && l.depth > 0 {
		return 0, l.fail("acquire again", ErrNotHeld)
	}
	if !acquired {
		return lease, l.fail("acquire", ErrNotAcquired)
	}
	if l.depth == 0 {
		l.dog.Store(l.watch(token, start))
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
	if l.depth == 0 {
		l.dog.Load().end()
	}
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

// Lost returns a channel that is closed when the current hold is lost: it is not the owner's any more, or Redis could
// not be reached for so long that it may not be. It is closed before the key can expire. Unlock is needed all the
// same. Without a hold, the channel is that of the last one, or nil.
func (l *Lock) Lost() <-chan struct{} {
	if dog := l.dog.Load(); dog != nil {
		return dog.lost.Done()
	}
	return nil
}

// Do runs fn while it holds the lock: Lock, fn, Unlock, also when fn panics. When the lock is lost, the context of fn is
// cancelled with the cause ErrLost. Do returns the errors of Lock, fn and Unlock, and ErrLost when the lock was lost,
// even if fn did not notice.
func (l *Lock) Do(ctx context.Context, fn func(context.Context) error) (err error) {
	if err := l.Lock(ctx); err != nil {
		return err
	}
	lost := l.dog.Load().lost
	work, cancel := context.WithCancelCause(ctx)
	stop := context.AfterFunc(lost, func() { cancel(ErrLost) })
	defer func() {
		stop()
		cancel(nil)
		released := l.Unlock(ctx)
		if lost.Err() != nil {
			released = l.fail("hold", ErrLost)
		}
		if err == nil {
			err = released
		} else if released != nil {
			err = fmt.Errorf("%w; %w", err, released)
		}
	}()
	return fn(work)
}

// watchdog keeps a hold alive and knows when it is lost.
type watchdog struct {
	token   string
	until   time.Time       // no renewal after this; zero is no limit
	lost    context.Context // ends when the hold is lost
	lose    context.CancelCauseFunc
	work    context.Context // of the renewals: ends with lost, and with stop
	stop    context.CancelFunc
	renewal *time.Timer   // starts the next renewal; so a hold shorter than ttl/3 costs no goroutine
	expiry  *time.Timer   // loses the hold when it has not been renewed in time
	busy    chan struct{} // taken while a renewal is under way
}

// watch starts the watchdog of a hold that was acquired by a command sent at start.
func (l *Lock) watch(token string, start time.Time) *watchdog {
	d := &watchdog{token: token, busy: make(chan struct{}, 1)}
	if l.MaxHold > 0 {
		d.until = start.Add(l.MaxHold)
	}
	d.lost, d.lose = context.WithCancelCause(context.Background())
	d.work, d.stop = context.WithCancel(d.lost)
	d.busy <- struct{}{}
	defer func() { <-d.busy }()
	d.expiry = time.AfterFunc(time.Until(l.validUntil(start)), func() { d.lose(ErrLost) })
	d.renewal = time.AfterFunc(time.Until(start.Add(l.ttl/3)), func() { l.renew(d) })
	return d
}

// validUntil returns how long a lock that was acquired or renewed by a command sent at start is safe. The key lasts
// longer: it was set later, and clocks may differ a little.
func (l *Lock) validUntil(start time.Time) time.Time {
	drift := l.ttl/100 + 2*time.Millisecond
	return start.Add(l.ttl.Truncate(time.Millisecond) - drift)
}

func (l *Lock) renew(d *watchdog) {
	d.busy <- struct{}{}
	defer func() { <-d.busy }()
	start := time.Now()
	if d.work.Err() != nil || !d.until.IsZero() && !start.Before(d.until) {
		return
	}
	// A connection that has gone silent must not use up the lease: another one may do.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(d.work), l.ttl/4)
	defer cancel()
	owns, err := l.run(ctx, d.work, renewScript, d.token, l.ttl.Milliseconds())
	switch {
	case d.work.Err() != nil:
		// Unlock came, or it took too long.
	case err != nil:
		d.renewal.Reset(l.ttl / 30) // it may pass before the lease ends
	case !owns:
		d.lose(ErrLost) // to renew now would prolong the lock of the next owner
	default:
		d.expiry.Reset(time.Until(l.validUntil(start)))
		d.renewal.Reset(time.Until(start.Add(l.ttl / 3)))
	}
}

// end stops the watchdog. It waits for a renewal that is under way, so that none reaches Redis after the release, but
// not so long that no time is left for the release.
func (d *watchdog) end() {
	d.stop()
	if !d.renewal.Stop() { // it has fired: the renewal is under way, or was the last one
		select {
		case d.busy <- struct{}{}:
			defer func() { <-d.busy }()
		case <-time.After(releaseTimeout / 3):
		}
		d.renewal.Stop()
	}
	d.expiry.Stop()
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
	return l.run(ctx, ctx, releaseScript, token, depth)
}

// run sends a script with the context send, and waits for the answer until ctx ends.
func (l *Lock) run(ctx, send context.Context, script *redis.Script, args ...any) (bool, error) {
	done := make(chan *redis.Cmd, 1)
	go func() { done <- script.Run(send, l.rdb, []string{l.key}, args...) }()
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
	if now := time.Now(); !l.validUntil(now).After(now) {
		return fmt.Errorf("the ttl is %v, the allowance for clock drift leaves nothing of it", l.ttl)
	}
	return nil
}

// fail says which lock err is about.
func (l *Lock) fail(op string, err error) error {
	return fmt.Errorf("redislock: %s %q: %w", op, l.key, err)
}

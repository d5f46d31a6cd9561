// Package redislock is a distributed lock on Redis. Step 8 of 8: Redlock, the same lock on a majority of N masters.
//
//	Before: the lock is on one Redis. When that fails and its replica takes over before it has received the
//	        lock, the next owner gets in.
//	Fix:    the lock is held when a majority of independent masters has said so within its validity, which is
//	        the ttl less the time that asking took and less the clock drift. A minority may fail in any way.
//	Broken: a hold on exactly a majority ends when one of its nodes restarts empty or its clock jumps. And a
//	        holder that is paused beyond its validity writes late all the same: no lock can stop that, only
//	        the resource can (fencing).
//
// The algorithm is on https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/. Run the nodes on
// independent machines, without replication, with appendfsync always or a restart delayed by the longest ttl.
//
// Needs Redis 5.0: before, a script that has read a PTTL may be forbidden to write.
package redislock

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"sync"
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

// Lock waits between minRetry and twice as long before it tries again, at random: clients that each got some nodes
// and no majority would else meet again and again.
const minRetry = 50 * time.Millisecond

// releaseTimeout is how long a release may take. It does not share the caller's deadline: a request that ran
// into its deadline must still give the lock back.
const releaseTimeout = 3 * time.Second

// acquireScript sets the depth of the token ARGV[1] in the lock KEYS[1] to ARGV[3] and lets the lock last for at
// least ARGV[2] milliseconds, if the token owns the lock, or if the lock is free and the depth is 1. It returns
// 1 if it did.
var acquireScript = redis.NewScript(`-- acquire
local lease = redis.call('PTTL', KEYS[1])
if lease == -2 and ARGV[3] == '1' or redis.call('HEXISTS', KEYS[1], ARGV[1]) == 1 then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
	if lease < tonumber(ARGV[2]) then
		redis.call('PEXPIRE', KEYS[1], ARGV[2])
	end
	return 1
end
return 0
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
	nodes []*node
	key   string
	ttl   time.Duration

	// MaxHold is how long a hold is renewed; 0 is no limit. It frees the lock of a holder that hangs or forgets
	// to unlock: at most a ttl later, the hold is lost. Set it before the lock is used.
	MaxHold time.Duration

	// NodeTimeout is how long one node may take to answer before it counts as failed, far less than the ttl;
	// 0 is 50ms, or a tenth of the ttl if that is less. Set it before the lock is used.
	NodeTimeout time.Duration

	// turn is taken for each command and what follows from it: Redis and we must count the same depth. It is a
	// channel, because waiting for it ends with the context.
	turn  chan struct{}
	token string // of the current hold, "" when there is none
	depth int    // how often the current hold was acquired and not released
	sent  []bool // whether the current hold's token was ever sent to a node; used in that node's queue only
	dog   atomic.Pointer[watchdog]
}

// New returns a handle on the lock that is stored at key on all nodes and lasts for ttl, at least a millisecond. The
// nodes are independent Redis masters, an odd number, best five. It sends nothing; TryLock and Lock refuse an empty key,
// no nodes, a nil client, the same client twice, or a ttl that is too short.
//
// Leave ReadTimeout and ContextTimeoutEnabled of the clients as they are: NodeTimeout bounds the wait, and a reply that
// go-redis gives up early lets the release reach a slow node before the acquisition, which then stays for its ttl.
func New(nodes []redis.UniversalClient, key string, ttl time.Duration) *Lock {
	l := &Lock{key: key, ttl: ttl, turn: make(chan struct{}, 1)}
	for _, rdb := range nodes {
		l.nodes = append(l.nodes, &node{rdb: rdb})
	}
	return l
}

// TryLock makes one attempt to acquire the lock. It returns nil when the caller holds it, ErrNotAcquired when
// no majority could be had because somebody else holds nodes, or not in time, and any other error when too few nodes
// answered to know.
//
// A holder may lock again, and must unlock as often. When its hold is gone, locking again is ErrNotHeld: what the
// hold protected so far may have changed, so a new hold can only begin after the last Unlock.
func (l *Lock) TryLock(ctx context.Context) error {
	if err := l.check(); err != nil {
		return l.fail("acquire", err)
	}
	if err := l.begin(ctx); err != nil {
		return l.fail("acquire", err)
	}
	defer l.end()
	token, sent := l.token, l.sent
	if l.depth == 0 {
		token, sent = newToken(), make([]bool, len(l.nodes))
	} else if l.dog.Load().lost.Err() != nil {
		return l.fail("acquire again", ErrNotHeld)
	}
	start := time.Now()
	votes := l.ask(context.WithoutCancel(ctx), sent, 0, acquireScript, token, l.ttl.Milliseconds(), l.depth+1)
	result := l.count(ctx, votes, tally.majority)
	if !result.majority() || !time.Now().Before(l.validUntil(start)) {
		// All nodes are told, also those that did not answer: they may have run the command, or will. Those
		// that answered are waited for, so that nobody meets what is left of this attempt.
		votes := l.release(ctx, sent, token, l.depth)
		l.count(context.WithoutCancel(ctx), votes, func(t tally) bool { return t.answered() >= result.answered() })
		return l.fail("acquire", l.refusal(ctx, result))
	}
	if l.depth == 0 {
		l.dog.Store(l.watch(token, sent, start))
	}
	l.token, l.sent = token, sent
	l.depth++
	return nil
}

// refusal says why the nodes' answers to an acquisition are not a lock.
func (l *Lock) refusal(ctx context.Context, result tally) error {
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %w", ctx.Err(), result)
	case l.depth > 0 && result.refused():
		return fmt.Errorf("%w: %w", ErrNotHeld, result)
	case !result.refused() && result.yes+result.no < result.quorum():
		return result // nobody knows whether somebody holds the lock
	case l.depth > 0:
		return result
	case result.majority():
		return fmt.Errorf("%w: the answers came when the lock was not valid any more: %w", ErrNotAcquired, result)
	default:
		return fmt.Errorf("%w: %w", ErrNotAcquired, result)
	}
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
		case <-time.After(minRetry + mathrand.N(minRetry)):
		}
	}
}

// Unlock takes back one TryLock or Lock; the last one releases the lock. It returns nil when it did, ErrNotHeld
// when this Lock does not hold the lock, or no longer, and any other error when the outcome is not known. Then
// the Unlock has counted all the same; only the last one may be called again. It does not depend on ctx being
// alive, and returns when a majority has answered. A node that hangs is released when it goes on, as long as go-redis
// waits for it (ReadTimeout, 5s by default); after that, its key lasts for the rest of its ttl. An Unlock that had to
// wait longer than releaseTimeout for another goroutine's TryLock on this handle has not counted.
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
	result := l.count(ctx, l.release(ctx, l.sent, l.token, l.depth), tally.majority)
	if !result.majority() && !result.refused() {
		return l.fail("release", result)
	}
	if l.depth == 0 {
		l.token = ""
	}
	if result.refused() {
		return l.fail("release", fmt.Errorf("%w: %w", ErrNotHeld, result))
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

// ValidUntil returns the local time until which the current hold is safe, the zero time when there is none. The
// watchdog moves it on. Work that must not be late compares it with time.Now() before it begins something.
func (l *Lock) ValidUntil() time.Time {
	dog := l.dog.Load()
	if dog == nil || dog.work.Err() != nil {
		return time.Time{}
	}
	return dog.valid.Load().(time.Time)
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
	sent    []bool
	valid   atomic.Value    // time.Time: until when the hold is safe
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
func (l *Lock) watch(token string, sent []bool, start time.Time) *watchdog {
	d := &watchdog{token: token, sent: sent, busy: make(chan struct{}, 1)}
	if l.MaxHold > 0 {
		d.until = start.Add(l.MaxHold)
	}
	d.lost, d.lose = context.WithCancelCause(context.Background())
	d.work, d.stop = context.WithCancel(d.lost)
	d.valid.Store(l.validUntil(start))
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
	result := l.count(d.work, l.ask(d.work, d.sent, l.ttl/4, renewScript, d.token, l.ttl.Milliseconds()), tally.majority)
	switch {
	case d.work.Err() != nil:
		// Unlock came, or it took too long.
	case result.refused():
		d.lose(ErrLost) // no majority can be had again
	case !result.majority():
		d.renewal.Reset(l.ttl / 30) // it may pass before the lease ends
	default:
		d.valid.Store(l.validUntil(start))
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

// A node is one Redis, and the queue of this handle's commands to it. A command waits until the one before it is
// answered. So a release that comes after an acquisition on a slow node runs after it, however late that is.
type node struct {
	rdb   redis.UniversalClient
	mu    sync.Mutex
	queue []func()
}

func (n *node) enqueue(command func()) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = append(n.queue, command)
	if len(n.queue) == 1 {
		go n.work(command)
	}
}

// work runs command, and what comes after it in the queue.
func (n *node) work(command func()) {
	for ; command != nil; command = n.next() {
		command()
	}
}

func (n *node) next() func() {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.queue = n.queue[1:]
	if len(n.queue) == 0 {
		return nil
	}
	return n.queue[0]
}

// vote is a node's answer.
type vote struct {
	yes bool
	err error
}

// run sends a script to a node and waits for its answer.
func (l *Lock) run(ctx context.Context, node int, script *redis.Script, args ...any) vote {
	yes, err := script.Run(ctx, l.nodes[node].rdb, []string{l.key}, args...).Bool()
	if err != nil {
		err = fmt.Errorf("node %d: %w", node+1, err)
	}
	return vote{yes, err}
}

// ask sends a script to all nodes at once. A node whose queue does not get to it within NodeTimeout is never sent it.
// The queue waits for the answer: for ever if patience is 0, because a release must not overtake an acquisition. It may
// overtake a renewal: a connection that has gone silent must not use up the lease, another one may do.
func (l *Lock) ask(ctx context.Context, sent []bool, patience time.Duration, script *redis.Script, args ...any) <-chan vote {
	ctx, cancel := context.WithTimeout(ctx, l.nodeTimeout())
	context.AfterFunc(ctx, cancel) // not when we return: a majority is enough for us, but all nodes should have it
	votes := make(chan vote, len(l.nodes))
	for i, node := range l.nodes {
		node.enqueue(func() {
			if ctx.Err() != nil {
				votes <- vote{err: fmt.Errorf("node %d: it has not answered an earlier command yet", i+1)}
				return
			}
			sent[i] = true
			if patience == 0 {
				votes <- l.run(ctx, i, script, args...)
				return
			}
			answered := make(chan struct{})
			go func() {
				votes <- l.run(ctx, i, script, args...)
				close(answered)
			}()
			select {
			case <-answered:
			case <-time.After(patience):
			}
		})
	}
	return votes
}

// release sets the depth of token on all nodes that were ever sent it, when their queue gets to that; depth 0 deletes
// the lock.
func (l *Lock) release(ctx context.Context, sent []bool, token string, depth int) <-chan vote {
	votes := make(chan vote, len(l.nodes))
	for i, node := range l.nodes {
		node.enqueue(func() {
			if !sent[i] {
				votes <- vote{}
				return
			}
			ctx, cancel := detach(ctx)
			defer cancel()
			votes <- l.run(ctx, i, releaseScript, token, depth)
		})
	}
	return votes
}

// count waits until enough nodes have answered, at most NodeTimeout, or until ctx ends. It does not rely on ctx to
// interrupt go-redis, which by default it does not (ContextTimeoutEnabled).
func (l *Lock) count(ctx context.Context, votes <-chan vote, enough func(tally) bool) tally {
	t := tally{nodes: len(l.nodes)}
	timeout := time.After(l.nodeTimeout())
	for t.answered() < t.nodes && !enough(t) {
		select {
		case v := <-votes:
			t.add(v)
		case <-timeout:
			return t
		case <-ctx.Done():
			return t
		}
	}
	return t
}

// tally is how the nodes have voted. As an error, it says so.
type tally struct {
	nodes, yes, no int
	errs           []error
}

func (t *tally) add(v vote) {
	switch {
	case v.err != nil:
		t.errs = append(t.errs, v.err)
	case v.yes:
		t.yes++
	default:
		t.no++
	}
}

func (t tally) answered() int { return t.yes + t.no + len(t.errs) }

// majority is counted over the nodes as configured, whether they are up or not.
func (t tally) quorum() int    { return t.nodes/2 + 1 }
func (t tally) majority() bool { return t.yes >= t.quorum() }
func (t tally) refused() bool  { return t.nodes-t.no < t.quorum() }

func (t tally) Error() string {
	s := fmt.Sprintf("%d of %d nodes said yes, %d no, %d failed, %d did not answer in time",
		t.yes, t.nodes, t.no, len(t.errs), t.nodes-t.answered())
	for _, err := range t.errs {
		s += "; " + err.Error()
	}
	return s
}

func (t tally) Unwrap() []error { return t.errs }

func (l *Lock) nodeTimeout() time.Duration {
	if l.NodeTimeout > 0 {
		return l.NodeTimeout
	}
	return min(50*time.Millisecond, l.ttl/10)
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
	if len(l.nodes) == 0 {
		return errors.New("there are no nodes")
	}
	for i, n := range l.nodes {
		if n.rdb == nil {
			return fmt.Errorf("node %d: the Redis client is nil", i+1)
		}
		for j, other := range l.nodes[:i] {
			if n.rdb == other.rdb { // it would have two votes
				return fmt.Errorf("nodes %d and %d are the same Redis client", j+1, i+1)
			}
		}
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
	if l.NodeTimeout < 0 {
		return fmt.Errorf("NodeTimeout is %v, it must not be negative", l.NodeTimeout)
	}
	return nil
}

// fail says which lock err is about.
func (l *Lock) fail(op string, err error) error {
	return fmt.Errorf("redislock: %s %q: %w", op, l.key, err)
}

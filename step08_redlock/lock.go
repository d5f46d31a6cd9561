// Package redislock is a distributed lock on Redis. Step 8 of 8: Redlock, the same lock
// on a majority of N masters.
//
//	Before: the lock is on one Redis. When that fails and its replica takes over before
//	        it has received the lock, the next owner gets in.
//	Fix:    the lock is held when a majority of independent masters has said so within
//	        its validity, which is the ttl less the time that asking took and less the
//	        clock drift. A minority may fail in any way.
//	Broken: a hold on exactly a majority ends when one of its nodes restarts empty or
//	        its clock jumps. And a holder that is paused beyond its validity writes late
//	        all the same: no lock can stop that, only the resource can (fencing).
//
// The algorithm is on
// https://redis.io/docs/latest/develop/clients/patterns/distributed-locks/. Run the nodes
// on independent machines, without replication, with appendfsync always or a restart
// delayed by the longest ttl.
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
	"net"
	"os"
	"reflect"
	"slices"
	"sync"
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

// Lock waits between minRetry and twice as long before it tries again, at random: clients
// that each got some nodes and no majority would else meet again and again.
const minRetry = 50 * time.Millisecond

// releaseTimeout is how long a release may take. It does not share the caller's deadline:
// a request that ran into its deadline must still give the lock back.
const releaseTimeout = 3 * time.Second

// acquireScript sets the depth of the token ARGV[1] in the lock KEYS[1] to ARGV[3], if the
// token owns the lock, or if the lock is free and the depth is 1. At depth 1 it lets the
// lock last for ARGV[2] milliseconds; to prolong it after that is up to the watchdog,
// which knows MaxHold. It returns 1 if it did. A key that lasts for ever
// is no lock of ours: nobody will release it, so that is an error.
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
return 0
`)

// releaseScript sets the depth of the token ARGV[1] in the lock KEYS[1] to ARGV[2], if
// the token owns the lock, and returns 1 if it does. At depth 0 it deletes the lock.
var releaseScript = redis.NewScript(`-- release token depth
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then
	return 0
end
if ARGV[2] ~= '0' then
	redis.call('HSET', KEYS[1], ARGV[1], ARGV[2])
	return 1
end
return redis.call('DEL', KEYS[1])
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
	nodes []*node
	key   string
	ttl   time.Duration

	// MaxHold is how long a hold is renewed; 0 is no limit. It frees the lock of a holder
	// that hangs or forgets to unlock: at most a ttl later, the hold is lost. Set it
	// before the lock is used.
	MaxHold time.Duration

	// NodeTimeout is how long TryLock waits for nodes that do not answer, and Unlock for
	// them when a majority has answered; 0 is 50ms, or a tenth of the ttl if that is
	// less. It must be far less than the ttl, and more than a node takes to answer: one
	// round trip, and on a cold connection up to eight (TCP, TLS, HELLO, CLIENT three
	// times, EVALSHA, EVAL). Set it before the lock is used.
	NodeTimeout time.Duration

	// A mutex that a context can interrupt: Redis and we must count the same depth.
	mu    *semaphore.Weighted
	token string // of the current hold, "" when there is none
	depth int    // how often the current hold was acquired and not released
	dog   atomic.Pointer[watchdog]
	queue sync.Mutex // of the nodes
}

// New returns a handle on the lock that is stored at key on all nodes and lasts for ttl,
// at least 3ms. The nodes are independent Redis masters, an odd number, best
// five. It sends nothing; TryLock and Lock refuse an empty key, no nodes, a nil client,
// the same client twice, a Ring, or a ttl that is too short.
//
// Leave ReadTimeout and ContextTimeoutEnabled of the clients as they are: NodeTimeout
// bounds the wait, and a reply that go-redis gives up early lets the release reach a slow
// node before the acquisition, which then stays for its ttl.
func New(nodes []redis.UniversalClient, key string, ttl time.Duration) *Lock {
	l := &Lock{key: key, ttl: ttl, mu: semaphore.NewWeighted(1)}
	for _, rdb := range nodes {
		l.nodes = append(l.nodes, &node{rdb: rdb})
	}
	return l
}

// TryLock makes one attempt to acquire the lock. It returns nil when the caller holds it,
// ErrNotAcquired when somebody else does, and any other error when the outcome is not
// known; then it has tried to take the lock back, for which it may take NodeTimeout longer
// than ctx allows.
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

// Lock acquires the lock, waiting while somebody else holds it, or while too few nodes
// answer to know. When ctx ends while it waits, the error matches ctx.Err(), and
// ErrNotAcquired if the nodes had just said that somebody else holds the lock. Any other
// error is that of a TryLock, and ends the wait.
func (l *Lock) Lock(ctx context.Context) error {
	for {
		err := l.TryLock(ctx)
		var t tally
		if !errors.As(err, &t) || t.hopeless() || errors.Is(err, ErrNotHeld) {
			return err // nil, or what waiting does not change
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", err, ctx.Err())
		case <-time.After(minRetry + mathrand.N(minRetry)):
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
				l.heal(d)
				next.Reset(time.Until(a.sent.Add(l.ttl / 3)))
			}
		}
	}
}

// acquire stores token with depth on all nodes, unless the lock is taken on a majority.
// After an error, it has told them to take back what they may have done, and waited for
// those that had answered.
func (l *Lock) acquire(ctx context.Context, start time.Time, token string, depth int) error {
	votes, _ := l.ask(token, false, func(n *node) (bool, error) {
		if time.Since(start) >= l.nodeTimeout() {
			if depth == 1 {
				n.lacks = token // so there is nothing to take back
			}
			return false, errBehind
		}
		return n.acquire(context.WithoutCancel(ctx), l.key, token, l.ttl.Milliseconds(), depth)
	})
	t := tally{nodes: len(l.nodes)}
	t.count(ctx, votes, l.nodeTimeout(), tally.majority)
	// When it is late, somebody else may be inside by now.
	late := depth == 1 && !time.Now().Before(l.validUntil(start))
	if t.majority() && !late {
		return nil
	}
	votes, rest := l.sendRelease(ctx, token, depth-1)
	back := tally{nodes: len(l.nodes)}
	back.count(context.Background(), votes, l.nodeTimeout(), rest)
	switch {
	case ctx.Err() != nil:
		return fmt.Errorf("%w: %v", ctx.Err(), t)
	case t.majority(): // and late
		return fmt.Errorf("%w: the answers came when the lock was not valid any more: %w",
			ErrNotAcquired, t)
	case t.refused(), depth == 1 && t.yes+t.no >= t.quorum():
		return fmt.Errorf("%w: %w", ErrNotAcquired, t)
	}
	return t // nobody knows
}

// release sets the depth of token on all nodes that may have it, and reports whether a
// majority did; depth 0 deletes the lock. When that is certain, it waits NodeTimeout for
// the rest, so that nobody meets what is left of the hold.
func (l *Lock) release(ctx context.Context, token string, depth int) (bool, error) {
	votes, rest := l.sendRelease(ctx, token, depth)
	t := tally{nodes: len(l.nodes)}
	t.count(ctx, votes, releaseTimeout, tally.decided)
	t.count(ctx, votes, l.nodeTimeout(), rest)
	return t.result()
}

// sendRelease sends what release says. The rest has voted but for nodes that have not yet
// answered what was sent before: they are released when they have.
func (l *Lock) sendRelease(
	ctx context.Context, token string, depth int,
) (votes chan vote, rest func(tally) bool) {
	held := token == l.token // or else it is an acquisition that is taken back
	votes, busy := l.ask(token, depth == 0, func(n *node) (bool, error) {
		return n.release(ctx, l.key, token, depth, held)
	})
	return votes, func(t tally) bool { return t.answered()+int(busy.Load()) >= len(l.nodes) }
}

// extend lets the lock last for a ttl from now on all nodes where token owns it, and
// reports whether a majority does. It does not wait for its turn: where there is no
// answer, another connection may do.
func (l *Lock) extend(ctx context.Context, token string) (bool, error) {
	votes := make(chan vote, len(l.nodes))
	for i, n := range l.nodes {
		go func() {
			yes, err := renewScript.Run(ctx, once{n.rdb}, []string{l.key},
				token, l.ttl.Milliseconds()).Bool()
			n.absent.Store(err == nil && !yes)
			votes <- vote{i, yes, err}
		}()
	}
	t := tally{nodes: len(l.nodes)}
	t.count(ctx, votes, l.ttl, tally.decided)
	return t.result()
}

// heal gives the lock to nodes that are free: they were down when it was acquired, or
// have lost it since. It comes after a renewal with a majority, and never counts for one:
// before that renewal, somebody else may have come and gone.
func (l *Lock) heal(d *watchdog) {
	l.ask(d.token, false, func(n *node) (bool, error) {
		if !n.absent.Swap(false) || d.work.Err() != nil { // the release has gone before
			return false, nil
		}
		return n.acquire(context.Background(), l.key, d.token, l.ttl.Milliseconds(), 1)
	})
}

// A node is one Redis. What ask sends to it waits for the answer to what was sent before:
// so a release that comes after an acquisition on a slow node runs after it, however late
// that is.
type node struct {
	rdb    redis.UniversalClient
	absent atomic.Bool   // whether it said at the last renewal that it does not have the lock
	last   chan struct{} // closed when the last turn is over
	turns  atomic.Int32  // that are not over
	token  string        // of the hold that the last one is about
	lacks  string        // a token that it does not have; used by whose turn it is, as is
	unsure string        // the token of a hold whose release was sent
}

func (n *node) acquire(
	ctx context.Context, key, token string, lease int64, depth int,
) (bool, error) {
	yes, err := acquireScript.Run(ctx, n.rdb, []string{key}, token, lease, depth).Bool()
	n.lacks = ""
	if err == nil && !yes {
		n.lacks = token
	}
	return yes, err
}

// release sends a release, unless the node does not have the lock. The answer can be lost
// after Redis has run it. Sent again, it finds nothing, and to say "not held" then would
// be a false alarm.
func (n *node) release(
	ctx context.Context, key, token string, depth int, held bool,
) (released bool, err error) {
	ctx, cancel := detach(ctx) // it may have waited for long
	defer cancel()
	for try := 0; try < 4 && n.lacks != token; try++ {
		released, err = releaseScript.Run(ctx, once{n.rdb}, []string{key}, token, depth).Bool()
		lost := err != nil && mayHaveRun(err) // the answer
		if held && depth == 0 && (released || lost) {
			n.unsure = token
		}
		if !lost {
			break
		}
	}
	return released || err == nil && n.unsure == token, err
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

// vote is a node's answer.
type vote struct {
	node int
	yes  bool
	err  error
}

// errBehind stands for the vote of a node that is not asked.
var errBehind = errors.New("not asked: it did not answer an earlier command in time")

// maxTurns is how many turns of a Lock may wait for a node. While it hangs, every attempt
// would add to them.
const maxTurns int32 = 4

// ask gives all nodes something to do for the hold of token, each when its turn comes. A
// node that is far behind is not asked, unless it must be, and was asked before for this
// hold. busy is how many still wait for their turn.
func (l *Lock) ask(
	token string, must bool, do func(n *node) (bool, error),
) (votes chan vote, busy *atomic.Int32) {
	l.queue.Lock()
	defer l.queue.Unlock()
	votes, busy = make(chan vote, len(l.nodes)), new(atomic.Int32)
	for i, n := range l.nodes {
		if n.turns.Load() >= maxTurns && !(must && n.token == token) {
			votes <- vote{node: i, err: errBehind}
			continue
		}
		n.token = token
		before, done := n.last, make(chan struct{})
		n.last = done
		waits := n.turns.Add(1) > 1
		if waits {
			busy.Add(1)
		}
		go func() {
			if waits {
				<-before
				busy.Add(-1)
			}
			yes, err := do(n)
			n.turns.Add(-1)
			close(done) // before the vote: whoever has counted it must not find the node busy
			votes <- vote{i, yes, err}
		}()
	}
	return votes, busy
}

// tally is how the nodes have voted. As an error, it says so.
type tally struct {
	nodes, yes, no int
	errs           []error
	broken         int // of the nodes with errs, those that Lock does not wait for
}

// count waits for votes until they are enough, at most for patience, or until ctx ends.
// It does not rely on ctx to interrupt go-redis, which by default it does not
// (ContextTimeoutEnabled).
func (t *tally) count(
	ctx context.Context, votes <-chan vote, patience time.Duration, enough func(tally) bool,
) {
	timeout := time.After(patience)
	for t.answered() < t.nodes && !enough(*t) {
		select {
		case v := <-votes:
			switch {
			case v.err != nil:
				t.errs = append(t.errs, fmt.Errorf("node %d: %w", v.node+1, v.err))
				var answer redis.Error
				if errors.As(v.err, &answer) || errors.Is(v.err, redis.ErrClosed) {
					t.broken++
				}
			case v.yes:
				t.yes++
			default:
				t.no++
			}
		case <-timeout:
			return
		case <-ctx.Done():
			return
		}
	}
}

func (t tally) answered() int { return t.yes + t.no + len(t.errs) }
func (t tally) quorum() int   { return t.nodes/2 + 1 } // of the nodes as configured, up or down

func (t tally) majority() bool { return t.yes >= t.quorum() }
func (t tally) refused() bool  { return t.nodes-t.no < t.quorum() }
func (t tally) decided() bool  { return t.majority() || t.refused() }
func (t tally) hopeless() bool { return t.nodes-t.broken < t.quorum() }

// result reports whether a majority said yes, and is an error unless that is certain.
func (t tally) result() (bool, error) {
	if t.decided() {
		return t.majority(), nil
	}
	return false, t
}

func (t tally) Error() string {
	return fmt.Sprintf("%d of %d nodes said yes, %d no, %d did not answer in time, %d failed %v",
		t.yes, t.nodes, t.no, t.nodes-t.answered(), len(t.errs), t.errs)
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
	if len(l.nodes) == 0 {
		return errors.New("there are no nodes")
	}
	for i, n := range l.nodes {
		if n.rdb == nil {
			return fmt.Errorf("node %d: the Redis client is nil", i+1)
		}
		if _, ok := n.rdb.(*redis.Ring); ok {
			// It moves a key to another server when the first does not answer: then two
			// clients hold the lock.
			return fmt.Errorf("node %d: the Redis client is a Ring, which moves keys between "+
				"servers: give each server as a node", i+1)
		}
		for j, other := range l.nodes[:i] {
			if reflect.ValueOf(n.rdb).Comparable() && n.rdb == other.rdb {
				// It would have two votes.
				return fmt.Errorf("nodes %d and %d are the same Redis client", j+1, i+1)
			}
		}
	}
	if l.key == "" {
		return errors.New("the key is empty")
	}
	if l.ttl <= l.drift() {
		// The hold would be lost at once.
		return fmt.Errorf("the ttl is %v, the allowance for clock drift leaves nothing of it",
			l.ttl)
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

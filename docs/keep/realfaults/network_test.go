//go:build unix

package realfaults

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/redislock-steps/docs/keep/locks"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Networks that lose what is sent.

// blackHole returns an address at which a dial hangs: the queue of its listener is full,
// and the kernel drops what else comes.
func blackHole(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0)
	require.NoError(t, err)
	t.Cleanup(func() { syscall.Close(fd) })
	require.NoError(t, syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	require.NoError(t, syscall.Listen(fd, 0))
	name, err := syscall.Getsockname(fd)
	require.NoError(t, err)
	addr := fmt.Sprintf("127.0.0.1:%d", name.(*syscall.SockaddrInet4).Port)
	for range 200 {
		conn, err := net.DialTimeout("tcp", addr, 500*time.Millisecond)
		if err != nil {
			return addr
		}
		t.Cleanup(func() { conn.Close() })
	}
	t.Skip("this system answers, however full the queue is")
	return ""
}

// noListener is an address at which nothing listens, and that no socket is given.
const noListener = "127.0.0.1:1"

// A nat is on a client's way to its servers. It forgets connections, and sends no reset:
// what the client sends is swallowed from then on, and so no answer comes.
type nat struct {
	dialed    atomic.Int64 // how many connections went through it
	forgotten atomic.Int64 // how many of them, the first ones, it has forgotten
}

func (n *nat) forget() { n.forgotten.Store(n.dialed.Load()) }

func (n *nat) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return natConn{conn, n, n.dialed.Add(1)}, err
}

type natConn struct {
	net.Conn
	nat    *nat
	number int64
}

func (c natConn) Write(b []byte) (int, error) {
	if c.number <= c.nat.forgotten.Load() {
		return len(b), nil
	}
	return c.Conn.Write(b)
}

// warm lets each client have n idle connections.
func warm(t *testing.T, rdbs []redis.UniversalClient, n int) {
	t.Helper()
	for _, rdb := range rdbs {
		var conns []*redis.Conn
		for range n {
			conn := rdb.(*redis.Client).Conn()
			require.NoError(t, conn.Ping(ctx).Err())
			conns = append(conns, conn)
		}
		for _, conn := range conns {
			require.NoError(t, conn.Close())
		}
		require.EqualValues(t, n, rdb.PoolStats().IdleConns)
	}
}

// How long a call takes when Redis cannot be reached. client.md shows these times:
// they are measured here, and must not become longer.
func TestRedisCannotBeReached_HowLongACallTakes(t *testing.T) {
	t.Parallel()
	defaults := redis.Options{}
	dial1s := redis.Options{DialTimeout: time.Second}
	once := redis.Options{DialTimeout: time.Second, DialerRetries: 1}
	page := redis.Options{DialTimeout: time.Second, DialerRetries: 1, ReadTimeout: time.Second, ContextTimeoutEnabled: true}
	hole, deaf, hung, busy := blackHole(t), serve(t, 1)[0], serve(t, 1)[0], serve(t, 1)[0]
	const ms, ever = time.Millisecond, time.Hour
	cases := []struct {
		what             string
		where            string // deaf has no connection, hung has one, busy three
		options          redis.Options
		patience         time.Duration // of the caller's context
		lock             bool          // Lock, not TryLock
		steps567, step08 time.Duration // the times on the page, or five times as much
	}{
		{"no answer to a dial; defaults", hole, defaults, ever, false, 106000 * ms, 1000 * ms},
		{"no answer to a dial; DialTimeout 1s", hole, dial1s, ever, false, 24800 * ms, 1000 * ms},
		{"no answer to a dial; DialTimeout 1s, DialerRetries 1", hole, once, ever, false, 5200 * ms, 1000 * ms},
		{"no answer to a dial; the page's", hole, page, ever, false, 5200 * ms, 1000 * ms},
		{"no answer to a dial; defaults, context of 100ms", hole, defaults, 100 * ms, false, 3100 * ms, 1100 * ms},
		{"no answer to a dial; the page's, context of 100ms", hole, page, 100 * ms, false, 1100 * ms, 1100 * ms},
		{"nothing listens; defaults, context of 100ms", noListener, defaults, 100 * ms, false, 600 * ms, 1100 * ms},
		{"nothing listens; the page's, context of 100ms", noListener, page, 100 * ms, false, 300 * ms, 200 * ms},
		{"nothing listens; defaults, Lock, context of 5s", noListener, defaults, 5000 * ms, true, 2200 * ms, 6000 * ms},
		{"nothing listens; the page's, Lock, context of 5s", noListener, page, 5000 * ms, true, 300 * ms, 6000 * ms},
		{"hangs, no connection; defaults, context of 100ms", deaf.Addr, defaults, 100 * ms, false, 10000 * ms, 1100 * ms},
		{"hangs, no connection; the page's, context of 100ms", deaf.Addr, page, 100 * ms, false, 3100 * ms, 1100 * ms},
		{"hangs; defaults", hung.Addr, defaults, ever, false, 15100 * ms, 1000 * ms},
		{"hangs; the page's", hung.Addr, page, ever, false, 5100 * ms, 1000 * ms},
		{"hangs, three connections; defaults", busy.Addr, defaults, ever, false, 5 * 25100 * ms, 5 * time.Second},
		{"hangs, three connections; the page's", busy.Addr, page, ever, false, 5 * 7100 * ms, 5 * time.Second},
		{"hangs; defaults, context of 100ms", hung.Addr, defaults, 100 * ms, false, 10000 * ms, 1100 * ms},
		{"hangs; the page's, context of 100ms", hung.Addr, page, 100 * ms, false, 3100 * ms, 1100 * ms},
	}
	took := make([][4]float64, len(cases)) // seconds, of steps 05 to 08
	begin := make(chan struct{})           // all at once: they sleep
	var calls sync.WaitGroup
	for i, c := range cases {
		for step := 5; step <= 8; step++ {
			rdbs := connect(t, slices.Repeat([]string{c.where}, nodesOf(step)), c.options)
			switch c.where {
			case hung.Addr:
				warm(t, rdbs, 1)
			case busy.Addr:
				warm(t, rdbs, 3)
			}
			lock := newLock(key, step, rdbs, 10*time.Second)
			call, want := lock.TryLock, c.steps567
			if c.lock {
				call = lock.Lock
			}
			if step == 8 {
				want = c.step08
			}
			calls.Go(func() {
				<-begin
				ctx, cancel := context.WithTimeout(ctx, c.patience)
				defer cancel()
				start := time.Now()
				err := call(ctx)
				took[i][step-5] = time.Since(start).Seconds()
				assert.Error(t, err, "step %02d, %s", step, c.what)
				assert.False(t, locks.Refused(err), "step %02d, %s: no node answered, but the error says that the lock is taken: %v", step, c.what, err)
				assert.Less(t, time.Since(start), want+time.Second, "step %02d, %s: it takes longer than client.md says", step, c.what)
			})
		}
	}
	require.NoError(t, deaf.Signal(syscall.SIGSTOP))
	require.NoError(t, hung.Signal(syscall.SIGSTOP))
	require.NoError(t, busy.Signal(syscall.SIGSTOP))
	close(begin)
	calls.Wait()
	table := ""
	for i, c := range cases {
		table += fmt.Sprintf("%-52s%8.2fs%8.2fs%8.2fs%8.2fs\n", c.what, took[i][0], took[i][1], took[i][2], took[i][3])
	}
	t.Logf("how long a call takes, steps 05 to 08:\n%s", table)
}

// How long Unlock takes when Redis hangs: 3 s, plus one ReadTimeout for an attempt that began
// before. client.md shows these times.
func TestRedisHangs_HowLongUnlockTakes(t *testing.T) {
	t.Parallel()
	server := serve(t, 1)[0]
	var calls sync.WaitGroup
	begin := make(chan struct{})
	for _, c := range []struct {
		what    string
		options redis.Options
		want    time.Duration // in 05 to 07
	}{
		{"defaults", redis.Options{}, 5 * time.Second},
		{"the page's", redis.Options{ReadTimeout: time.Second, ContextTimeoutEnabled: true}, 3 * time.Second},
		{"ReadTimeout 2.9s", redis.Options{ReadTimeout: 2900 * time.Millisecond}, 5800 * time.Millisecond},
	} {
		for step := 5; step <= 8; step++ { // step 08 on one node: it waits for none
			lock := newLock(fmt.Sprint(c.what, step), step, connect(t, []string{server.Addr}, c.options), time.Minute)
			require.NoError(t, lock.TryLock(ctx))
			calls.Go(func() {
				<-begin
				start := time.Now()
				err := lock.Unlock(ctx)
				t.Logf("step %02d, %s: Unlock takes %.2fs", step, c.what, time.Since(start).Seconds())
				assert.Error(t, err, "step %02d, %s", step, c.what)
				assert.False(t, locks.NotHeld(err), "step %02d, %s: Redis hangs, but the error says that the lock was lost: %v", step, c.what, err)
				assert.Less(t, time.Since(start), 5*c.want, "step %02d, %s: it takes longer than client.md says", step, c.what)
			})
		}
	}
	require.NoError(t, server.Signal(syscall.SIGSTOP))
	close(begin)
	calls.Wait()
}

// A NAT, a firewall or a load balancer has forgotten the idle connections, and sends no reset. A
// connection that go-redis has closed before that is never used when it is dead.
func TestIdleConnectionsHaveDiedSilently_ConnMaxIdleTimeAvoidsThem(t *testing.T) {
	t.Parallel()
	const idle = 500 * time.Millisecond
	server := serve(t, 1)[0]
	for _, c := range []struct {
		what        string
		options     redis.Options
		least, most time.Duration
	}{
		{"defaults", redis.Options{}, 5 * time.Second, 60 * time.Second},
		{"ConnMaxIdleTime below the time that the NAT keeps them", redis.Options{ConnMaxIdleTime: idle}, 0, slack},
	} {
		var n nat
		c.options.Dialer = n.dial
		rdbs := connect(t, []string{server.Addr}, c.options)
		lock := newLock("lock:"+c.what, 7, rdbs, 30*time.Second)
		warm(t, rdbs, 3)
		n.forget()
		time.Sleep(idle + idle/10)
		start := time.Now()
		err := lock.TryLock(ctx)
		took := time.Since(start)
		t.Logf("3 dead idle connections, %s: TryLock takes %v (%v)", c.what, took.Round(time.Millisecond), err)
		require.NoError(t, err)
		require.GreaterOrEqual(t, took, c.least, c.what)
		require.Less(t, took, c.most, c.what)
		require.NoError(t, lock.Unlock(ctx))
	}
}

//go:build unix

package realfaults

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/redislock-steps/docs/keep/locks"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Networks that lose what is sent, and servers that hang.

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

// optionsOfThePage are those of client.md.
var optionsOfThePage = redis.Options{ClientName: "alice-1", DialTimeout: time.Second, DialerRetries: 1, ReadTimeout: time.Second, ContextTimeoutEnabled: true}

// How long a call takes when Redis cannot be reached, or hangs. client.md shows these times:
// they are measured here, and must not become longer.
func TestRedisCannotBeReached_HowLongACallTakes(t *testing.T) {
	t.Parallel()
	defaults, page := redis.Options{}, optionsOfThePage
	dial1s := redis.Options{DialTimeout: time.Second}
	const ms, ever = time.Millisecond, time.Hour
	server := serve(t, 1)[0]
	hole, nothing, hangs := blackHole(t), "127.0.0.1:1", server.Addr // no socket is given port 1
	tryLock := func(l locks.Lock, ctx context.Context) error { return l.TryLock(ctx) }
	lock := func(l locks.Lock, ctx context.Context) error { return l.Lock(ctx) }
	unlock := func(l locks.Lock, ctx context.Context) error { return l.Unlock(ctx) } // has it
	cases := []struct {
		what             string
		where            string
		idle             int // connections in the pool
		options          redis.Options
		patience         time.Duration // of the caller's context
		call             func(locks.Lock, context.Context) error
		steps567, step08 time.Duration // the times on the page, or five times as much
	}{
		{"no answer to a dial; defaults", hole, 0, defaults, ever, tryLock, 106000 * ms, 1000 * ms},
		{"no answer to a dial; DialTimeout 1s", hole, 0, dial1s, ever, tryLock, 24800 * ms, 1000 * ms},
		{"no answer to a dial; the page's", hole, 0, page, ever, tryLock, 5200 * ms, 1000 * ms},
		{"no answer to a dial; defaults, context of 100ms", hole, 0, defaults, 100 * ms, tryLock, 3100 * ms, 1100 * ms},
		{"no answer to a dial; the page's, context of 100ms", hole, 0, page, 100 * ms, tryLock, 1100 * ms, 1100 * ms},
		{"nothing listens; defaults, context of 100ms", nothing, 0, defaults, 100 * ms, tryLock, 600 * ms, 1100 * ms},
		{"nothing listens; the page's, context of 100ms", nothing, 0, page, 100 * ms, tryLock, 300 * ms, 200 * ms},
		{"nothing listens; defaults, Lock, context of 5s", nothing, 0, defaults, 5000 * ms, lock, 2200 * ms, 6000 * ms},
		{"nothing listens; the page's, Lock, context of 5s", nothing, 0, page, 5000 * ms, lock, 300 * ms, 6000 * ms},
		{"hangs; defaults", hangs, 1, defaults, ever, tryLock, 15100 * ms, 1000 * ms},
		{"hangs; the page's", hangs, 1, page, ever, tryLock, 5100 * ms, 1000 * ms},
		{"hangs, three connections; defaults", hangs, 3, defaults, ever, tryLock, 5 * 25100 * ms, 5000 * ms},
		{"hangs, three connections; the page's", hangs, 3, page, ever, tryLock, 5 * 7100 * ms, 5000 * ms},
		{"hangs; defaults, context of 100ms", hangs, 1, defaults, 100 * ms, tryLock, 10000 * ms, 1100 * ms},
		{"hangs; the page's, context of 100ms", hangs, 1, page, 100 * ms, tryLock, 3100 * ms, 1100 * ms},
		{"hangs; defaults, Unlock", hangs, 1, defaults, ever, unlock, 5 * 5000 * ms, 5 * 5000 * ms},
		{"hangs; the page's, Unlock", hangs, 1, page, ever, unlock, 5 * 3000 * ms, 5 * 3000 * ms},
		{"hangs; ReadTimeout 2.9s, Unlock", hangs, 1, redis.Options{ReadTimeout: 2900 * ms}, ever, unlock, 5 * 5800 * ms, 5 * 5800 * ms},
	}
	took := make([][4]float64, len(cases)) // seconds, of steps 05 to 08
	begin := make(chan struct{})           // all at once: they sleep
	var calls sync.WaitGroup
	for i, c := range cases {
		for step := 5; step <= 8; step++ {
			rdbs := connect(t, slices.Repeat([]string{c.where}, nodesOf(step)), c.options)
			warm(t, rdbs, c.idle)
			l := newLock(key, step, rdbs, 10*time.Second)
			if i >= len(cases)-3 { // Unlock, on one node of step 08: it waits for none
				l = newLock(fmt.Sprint(c.what, step), step, rdbs[:1], time.Minute)
				require.NoError(t, l.TryLock(ctx))
			}
			want := c.steps567
			if step == 8 {
				want = c.step08
			}
			calls.Go(func() {
				<-begin
				ctx, cancel := context.WithTimeout(ctx, c.patience)
				defer cancel()
				start := time.Now()
				err := c.call(l, ctx)
				took[i][step-5] = time.Since(start).Seconds()
				assert.Error(t, err, "step %02d, %s", step, c.what)
				assert.False(t, locks.Refused(err) || locks.NotHeld(err), "step %02d, %s: no node answered, but the error says that one did: %v", step, c.what, err)
				assert.Less(t, time.Since(start), want+time.Second, "step %02d, %s: it takes longer than client.md says", step, c.what)
			})
		}
	}
	require.NoError(t, server.Signal(syscall.SIGSTOP))
	close(begin)
	calls.Wait()
	table := ""
	for i, c := range cases {
		table += fmt.Sprintf("%-52s%8.2fs%8.2fs%8.2fs%8.2fs\n", c.what, took[i][0], took[i][1], took[i][2], took[i][3])
	}
	t.Logf("how long a call takes, steps 05 to 08:\n%s", table)
}

package redislock

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// What a proxy or a service in front of Redis can do to a lock. Each of these limits is
// go-redis's, and pinned: docs/read/client.md says so.

// A noSubscribe is a connection through a proxy that closes it on SUBSCRIBE.
type noSubscribe struct {
	net.Conn
	closed *atomic.Int64
}

func (c noSubscribe) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("\r\nsubscribe\r\n")) {
		c.closed.Add(1)
		return len(b), c.Conn.Close()
	}
	return c.Conn.Write(b)
}

func TestLimit_AProxyClosesOnSubscribe_AWaiterMakesTenConnectionsASecond(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "it counts connections in a second")
		inLab(t, func(t *T, lab *lab) {
			var closed atomic.Int64 // connections on which bob has tried to subscribe
			alice, bob := lab.lock("alice"), lab.lock("bob", func(opt *redis.Options) {
				dial := opt.Dialer
				opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
					conn, err := dial(ctx, network, addr)
					return noSubscribe{conn, &closed}, err
				}
			})
			require.NoError(t, alice.TryLock(ctx))
			patience, cancel := context.WithTimeout(ctx, ttl)
			defer cancel()
			time.AfterFunc(5*time.Second, func() { alice.Unlock(ctx) })
			start := time.Now()
			require.NoError(t, bob.Lock(patience), "alice left after 5s, but bob did not get in")
			require.Greater(t, time.Since(start), 5*time.Second+ttl/10,
				"bob was woken without a subscription: the limit is gone")
			waited, n := time.Since(start).Seconds(), closed.Load()
			require.Greater(t, float64(n), 5*waited,
				"bob waited for %.1fs, on %d connections: the limit is gone", waited, n)
			require.Less(t, float64(n), 20*waited, "bob waited for %.1fs, and made %d connections", waited, n)
			time.Sleep(ttl)
			require.LessOrEqual(t, closed.Load(), n+1, "bob no longer waits, but still makes connections")
		})
	})
}

// enterprise connects to a service that announces MIGRATING after its reply to the first
// script, as Redis Enterprise does before it moves a shard, and then replies to nothing.
func enterprise(context.Context, string, string) (net.Conn, error) {
	near, far := net.Pipe()
	go func() {
		defer far.Close()
		for r := bufio.NewReader(far); ; {
			args, err := readCommand(r)
			switch {
			case err != nil:
				return
			case args[0] == "hello":
				io.WriteString(far, "%1\r\n+proto\r\n:3\r\n")
			case args[0] == "eval":
				io.WriteString(far, ":1\r\n>4\r\n+MIGRATING\r\n:1\r\n:10\r\n*0\r\n")
				io.Copy(io.Discard, r)
			default:
				io.WriteString(far, "+OK\r\n")
			}
		}
	}()
	return near, nil
}

func readCommand(r *bufio.Reader) (args []string, err error) {
	var n, size int
	_, err = fmt.Fscanf(r, "*%d\r\n", &n)
	for range n {
		if _, err := fmt.Fscanf(r, "$%d\r\n", &size); err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		args = append(args, strings.ToLower(string(word[:size])))
	}
	return args, err
}

func TestLimit_RedisEnterpriseAnnouncesMigrating_UnlockTakesTenSecondsByDefault(t *testing.T) {
	each(t, func(t *testing.T) {
		needsVirtualTime(t, "the server is not Redis")
		for _, c := range []struct {
			change      func(*redis.Options)
			least, most time.Duration
		}{
			{func(*redis.Options) {}, 5 * time.Second, 10 * time.Second}, // 10s since go-redis 9.23
			{func(opt *redis.Options) { opt.ContextTimeoutEnabled = true }, 3 * time.Second, 3 * time.Second},
		} {
			inLab(t, func(t *T, lab *lab) {
				alice := lab.lock("alice", c.change, func(opt *redis.Options) { opt.Dialer = enterprise })
				require.NoError(t, alice.TryLock(ctx))
				start := time.Now()
				require.Error(t, alice.Unlock(ctx), "Redis has not answered, but Unlock returned nil")
				took := time.Since(start)
				require.GreaterOrEqual(t, took, c.least, "Unlock takes only %v: the limit is gone", took)
				require.Less(t, took, c.most+100*time.Millisecond,
					"client.md says that Unlock takes %v, not %v", c.most, took)
			})
		}
	})
}

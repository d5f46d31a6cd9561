package redislock

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Also in steps 06 and 07: waiters are woken by a message. The lock before polls, every 15 to
// 45 ms. (In step 08, where a message from one node says nothing about the majority, waiters poll
// again, and these stories are not asked for.)

func TestAWaiter_SendsNothingAndEntersInTheMillisecondOfTheRelease(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		var sent atomic.Int64
		alice, bob := lab.lock("alice"), lab.lock("bob", countWrites(&sent))
		require.NoError(t, alice.TryLock(ctx))
		entered := inBackground(func() error { return bob.Lock(ctx) })

		time.Sleep(slack(ttl / 10))
		lab.note("bob waits; from now on his commands are counted")
		sent.Store(0)
		time.Sleep(ttl / 2) // go-redis's PING, every 3s by default, counts too: it must be off
		require.Equal(t, int64(0), sent.Load(),
			"bob waits for alice, but in the last %v alone he has sent %d commands to Redis", ttl/2, sent.Load())

		released := time.Now()
		require.NoError(t, alice.Unlock(ctx))
		requireEntered(t, <-entered, released, time.Millisecond, "alice has left")
	})
}

func TestTheLockIsReleasedBeforeTheWaiterListens_HeEntersAtOnce(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		require.NoError(t, alice.TryLock(ctx))
		start := time.Now()
		lab.afterNth("bob", 1, func() { alice.Unlock(ctx) })
		err := bob.Lock(ctx)
		requireEntered(t, result{err, time.Now()}, start, 10*time.Millisecond,
			"alice left at the moment when bob was refused")
	})
}

func TestTheHolderDies_TheWaiterEntersWhenTheTTLEnds(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		end := time.Now().Add(ttl)
		require.NoError(t, alice.TryLock(ctx))
		lab.crash("alice")
		patience, cancel := context.WithTimeout(ctx, ttl+slack(ttl/10))
		defer cancel()
		err := bob.Lock(patience)
		require.False(t, time.Now().Before(end), "alice died, but bob entered before her ttl had expired")
		requireEntered(t, result{err, time.Now()}, end, 2*time.Millisecond, "alice died, her ttl has expired")
		sent := lab.sent(func(r *record) bool { return r.Who == "bob" })
		require.LessOrEqual(t, sent, 10,
			"alice died, and bob got in when her ttl had expired, but he sent %d commands to Redis while he "+
				"waited", sent)
	})
}

// countWrites counts whatever a client sends.
func countWrites(sent *atomic.Int64) func(*redis.Options) {
	return func(opt *redis.Options) {
		dial := opt.Dialer
		opt.Dialer = func(ctx context.Context, network, addr string) (net.Conn, error) {
			conn, err := dial(ctx, network, addr)
			return counted{conn, sent}, err
		}
	}
}

type counted struct {
	net.Conn
	sent *atomic.Int64
}

func (c counted) Write(p []byte) (int, error) {
	c.sent.Add(1)
	return c.Conn.Write(p)
}

type result struct {
	err error
	at  time.Time
}

// requireEntered fails unless bob got in soon after the lock was free.
func requireEntered(t *T, entry result, free time.Time, soon time.Duration, why string) {
	t.Helper()
	require.NoError(t, entry.err, "%s, but bob did not get in", why)
	late := entry.at.Sub(free)
	require.Less(t, late, slack(soon),
		"%s, but bob did not get in until %v later", why, late.Round(100*time.Microsecond))
}

// inBackground runs fn in a goroutine and returns the channel that gets its result.
func inBackground(fn func() error) <-chan result {
	done := make(chan result, 1)
	go func() {
		err := fn()
		done <- result{err, time.Now()}
	}()
	return done
}

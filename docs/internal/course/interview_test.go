package course

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"os"
	"regexp"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	redislock "example.com/redislock-steps/step07_watchdog"
)

// onPage returns the Lua of an interview page, a Redis to run it, and what moves its clock.
func onPage(t *testing.T, name string) (scripts [][]string, server *miniredis.Miniredis, rdb *redis.Client, pass func(time.Duration)) {
	page, err := os.ReadFile("../../read/interview/" + name)
	require.NoError(t, err)
	scripts = regexp.MustCompile("(?s)```lua\n(.*?)```").FindAllStringSubmatch(string(page), -1)
	server, now := miniredis.RunT(t), time.Now()
	rdb = redis.NewClient(&redis.Options{Addr: server.Addr()})
	t.Cleanup(func() { rdb.Close() })
	pass = func(d time.Duration) {
		now = now.Add(d)
		server.SetTime(now)
		server.FastForward(d)
	}
	pass(0)
	return scripts, server, rdb, pass
}

var ctx = context.Background()
var errNotHeld = errors.New("the lock is not held")

// releaseWatched deletes the key if its value is the token, without a script.
func releaseWatched(ctx context.Context, rdb *redis.Client, key, token string) error {
	return rdb.Watch(ctx, func(tx *redis.Tx) error {
		value, err := tx.Get(ctx, key).Result()
		if err != nil || value != token {
			return cmp.Or(err, errNotHeld) // redis.Nil: there is no key
		}
		_, err = tx.TxPipelined(ctx, func(multi redis.Pipeliner) error {
			return multi.Del(ctx, key).Err()
		})
		return err // redis.TxFailedErr: the key has changed since WATCH
	}, key)
}

// The interview's release with WATCH deletes its own lock, and no other: not even one that is
// acquired between its GET and its EXEC. A transaction on another connection deletes that one.
func TestInterview_AReleaseWithWatchDeletesOnlyItsOwnLock(t *testing.T) {
	_, server, rdb, _ := onPage(t, "release.md")
	other := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer other.Close()
	var act func() // once, between the GET and the transaction
	server.Server().SetPreHook(func(_ *miniserver.Peer, command string, _ ...string) bool {
		if do := act; do != nil && command == "MULTI" {
			act = nil
			do()
		}
		return false
	})

	require.ErrorIs(t, releaseWatched(ctx, rdb, "lock", "alice"), redis.Nil)
	server.Set("lock", "alice")
	require.ErrorIs(t, releaseWatched(ctx, rdb, "lock", "bob"), errNotHeld)
	require.NoError(t, releaseWatched(ctx, rdb, "lock", "alice"))
	require.False(t, server.Exists("lock"))

	bobGetsIn := func() { other.Set(ctx, "lock", "bob", time.Minute) }
	server.Set("lock", "alice")
	act = bobGetsIn
	require.ErrorIs(t, releaseWatched(ctx, rdb, "lock", "alice"), redis.TxFailedErr)
	server.CheckGet(t, "lock", "bob")

	server.Set("lock", "alice")
	act = func() { other.SetNX(ctx, "lock", "bob", time.Minute) }
	require.NoError(t, releaseWatched(ctx, rdb, "lock", "alice"), "a refused client changes nothing")

	server.Set("lock", "alice")
	act = func() { other.PExpire(ctx, "lock", time.Minute) }
	require.ErrorIs(t, releaseWatched(ctx, rdb, "lock", "alice"), redis.TxFailedErr, "a renewal")

	act = bobGetsIn
	require.NoError(t, rdb.Watch(ctx, func(tx *redis.Tx) error {
		_, err := rdb.TxPipelined(ctx, func(multi redis.Pipeliner) error {
			return multi.Del(ctx, "lock").Err()
		})
		return err
	}, "lock"))
	require.False(t, server.Exists("lock"), "on another connection nothing is watched")
}

// The interview's read/write lock keeps readers and writers apart, lets readers in together, and
// lets no reader overtake a writer that waits. The part of a client that dies ends at its deadline.
func TestInterview_AReadWriteLock(t *testing.T) {
	scripts, _, rdb, pass := onPage(t, "nesting.md")
	run := func(script int, token string) bool {
		got, err := rdb.Eval(ctx, scripts[1+script][1], []string{"readers:{7}", "writer:{7}"}, token, 10_000).Bool()
		require.NoError(t, err)
		return got
	}
	read := func(token string) bool { return run(0, token) }
	write := func(token string) bool { return run(1, token) }

	require.True(t, read("r1"))
	require.True(t, read("r2"), "readers are inside together")
	require.True(t, read("r2"), "sent twice")
	require.False(t, write("w1"), "readers are inside")
	require.False(t, read("r3"), "no reader overtakes a writer that waits")
	require.False(t, write("w2"), "one writer waits at a time")
	rdb.ZRem(ctx, "readers:{7}", "r1")
	require.False(t, write("w1"), "a reader is left")
	rdb.ZRem(ctx, "readers:{7}", "r2")
	require.True(t, write("w1"))
	require.True(t, write("w1"), "sent twice")
	require.False(t, read("r3"))
	require.False(t, write("w2"))
	pass(10 * time.Second)
	require.True(t, read("r3"), "the writer died")
	pass(9 * time.Second)
	require.True(t, read("r4"))
	pass(time.Second)
	require.False(t, write("w2"), "r4 is left")
	pass(9 * time.Second)
	require.True(t, write("w2"), "both readers died, each at its own deadline")
}

// The interview's fair lock goes to those who wait, in the order in which they came. A waiter that
// has died holds no one up for longer than it may be silent, and a holder for a TTL.
func TestInterview_AFairLock(t *testing.T) {
	scripts, _, rdb, pass := onPage(t, "nesting.md")
	enters := func(token string) bool {
		pass(time.Second)
		got, err := rdb.Eval(ctx, scripts[0][1], []string{"lock:{7}", "queue:{7}", "alive:{7}"}, token, 10_000, 5_000).Bool()
		require.NoError(t, err)
		return got
	}
	require.True(t, enters("alice"))
	require.True(t, enters("alice"), "sent twice")
	require.False(t, enters("bob"))
	require.False(t, enters("carol"))
	rdb.Del(ctx, "lock:{7}")
	require.False(t, enters("dave"), "bob and carol came before")
	require.False(t, enters("carol"), "bob came before")
	require.True(t, enters("bob"))
	require.False(t, enters("carol"))
	pass(8 * time.Second)
	require.True(t, enters("erin"), "bob has died, and carol and dave have been silent for too long")
	require.False(t, enters("carol"), "her place is lost")
	require.Equal(t, int64(1), rdb.ZCard(ctx, "queue:{7}").Val(), "only carol waits")
}

// lead runs work in one process at a time, until ctx ends. The context of work ends when the lock
// is lost; work has to stop then.
func lead(ctx context.Context, lock *redislock.Lock, work func(context.Context) error) {
	for ctx.Err() == nil {
		if err := lock.Do(ctx, work); err != nil {
			log.Print(err) // ErrNotRun: not elected; ErrLost: no longer the leader
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second): // do not spin while Redis is down
		}
	}
}

// A leader that cannot reach Redis steps down before the next one starts, and can be elected again.
func TestInterview_ALeaderStepsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log.SetOutput(io.Discard)
		defer log.SetOutput(os.Stderr)
		defer time.Sleep(time.Minute) // until the clients have seen that they are closed
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true)
		defer server.Close()
		ctx, cancel := context.WithCancel(ctx)
		var cutOff, leads [2]atomic.Bool
		var elected [2]atomic.Int32
		var done sync.WaitGroup
		for i := range 2 {
			rdb := redis.NewClient(&redis.Options{MaxRetries: -1, Dialer: func(context.Context, string, string) (net.Conn, error) {
				if cutOff[i].Load() {
					return nil, io.EOF
				}
				conn, err := server.Dial()
				return &wire{conn, &cutOff[i]}, err
			}})
			defer rdb.Close()
			done.Go(func() {
				lead(ctx, redislock.New(rdb, "leader", 10*time.Second), func(ctx context.Context) error {
					elected[i].Add(1)
					leads[i].Store(true)
					defer leads[i].Store(false)
					assert.False(t, leads[1-i].Load(), "two lead")
					<-ctx.Done()
					return nil
				})
			})
		}
		time.Sleep(time.Hour)
		first := 0
		if leads[1].Load() {
			first = 1
		}
		require.True(t, leads[first].Load())
		require.Zero(t, elected[1-first].Load(), "the leader has renewed its lock for an hour")
		cutOff[first].Store(true)
		time.Sleep(time.Minute)
		require.True(t, leads[1-first].Load())
		cutOff[first].Store(false)
		cutOff[1-first].Store(true)
		time.Sleep(time.Minute)
		require.True(t, leads[first].Load())
		require.Equal(t, int32(2), elected[first].Load())
		cancel()
		done.Wait()
	})
}

// A wire is a connection that can be cut.
type wire struct {
	net.Conn
	cut *atomic.Bool
}

func (w *wire) Write(b []byte) (int, error) {
	if w.cut.Load() {
		return 0, io.EOF
	}
	return w.Conn.Write(b)
}

// The interview's semaphore has a permit for five, even if one of them dies.
func TestInterview_ASemaphoreOfFive(t *testing.T) {
	scripts, _, rdb, pass := onPage(t, "locks.md")
	enters := func(token int) bool {
		got, err := rdb.Eval(ctx, scripts[0][1], []string{"permits"}, token, 10_000, 5).Bool()
		require.NoError(t, err)
		return got
	}
	for token := range 5 {
		require.True(t, enters(token))
		pass(time.Second)
	}
	require.False(t, enters(5), "the sixth")
	require.True(t, enters(4), "sent twice")
	pass(5 * time.Second)
	require.True(t, enters(5), "the first has died")
	require.False(t, enters(6), "the four others have not")
	rdb.ZRem(ctx, "permits", "1")
	require.True(t, enters(6), "one has left")
}

// ZADD alone would let the key end a TTL after the last acquire. No renewal brings a permit back.
func TestInterview_ARenewalOutlivesOneTTL(t *testing.T) {
	scripts, _, rdb, pass := onPage(t, "locks.md")
	readWrite, _, _, _ := onPage(t, "nesting.md")
	run := func(script string, args ...any) bool {
		got, err := rdb.Eval(ctx, script, []string{"set:{7}", "writer:{7}"}, args...).Bool()
		require.NoError(t, err)
		return got
	}
	for _, kind := range []struct{ holds, other string }{{scripts[0][1], scripts[0][1]}, {readWrite[1][1], readWrite[2][1]}} {
		rdb.FlushAll(ctx)
		require.True(t, run(kind.holds, "alice", 10_000, 1))
		for range 4 {
			pass(5 * time.Second)
			require.True(t, run(scripts[0][1], "alice", 10_000, 0))
		}
		require.False(t, run(kind.other, "bob", 10_000, 1), "alice has renewed")
		pass(10 * time.Second)
		require.True(t, run(kind.other, "bob", 10_000, 1), "alice has died")
		require.False(t, run(scripts[0][1], "alice", 10_000, 0))
	}
}

// The interview's two scripts of a flash sale do what the page says of them, in the order in which
// resends hurt: a sale sent twice, a refund sent three times, and a sale that arrives after both.
func TestCases_TheFlashSaleSellsEachPieceOnceAndPutsItBackOnce(t *testing.T) {
	scripts, server, rdb, _ := onPage(t, "cases.md")
	run := func(script, order, customer int) int {
		got, err := rdb.Eval(ctx, scripts[script][1], []string{"stock:{42}", "bought:{42}"},
			fmt.Sprint("order:", order), fmt.Sprint("user:", customer), 1).Int()
		require.NoError(t, err)
		return got
	}
	sell := func(order, customer int) int { return run(0, order, customer) }
	putBack := func(order int) { run(1, order, 0) }

	server.Set("stock:{42}", "10")
	var sold []int
	for order := range 200 {
		first, again := sell(order, order), sell(order, order)
		require.Equal(t, first, again, "order %d was sent twice", order)
		if first == 1 {
			sold = append(sold, order)
		}
	}
	require.Len(t, sold, 10)
	require.Equal(t, 0, sell(200, 200), "sold out")
	for _, order := range sold {
		for range 3 {
			putBack(order)
		}
		require.Equal(t, -2, sell(order, order), "resent after order %d was closed", order)
	}
	stock, _ := server.Get("stock:{42}")
	require.Equal(t, "10", stock)
	putBack(201)
	require.Equal(t, -2, sell(201, 201), "closed before its sale arrived")
	require.Equal(t, 1, sell(202, 202))
	require.Equal(t, -1, sell(203, 202), "the limit of one customer")
}

package course

import (
	"context"
	"fmt"
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

	require.True(t, read("r1") && read("r2") && read("r2"), "readers are inside together; one is sent twice")
	require.False(t, write("w1"), "readers are inside")
	require.True(t, read("r1") && !read("r3") && !write("w2"), "r1 is inside, and its reply was lost; no one else overtakes a writer that waits")
	rdb.ZRem(ctx, "readers:{7}", "r1")
	require.False(t, write("w1"), "a reader is left")
	rdb.ZRem(ctx, "readers:{7}", "r2")
	require.True(t, write("w1") && !read("r3") && write("w1"), "a writer is inside; it is sent twice")
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
		pass(time.Second / 2)
		got, err := rdb.Eval(ctx, scripts[0][1], []string{"lock:{7}", "queue:{7}", "alive:{7}"}, token, 10_000, 5_000).Bool()
		require.NoError(t, err)
		return got
	}
	require.True(t, enters("alice"))
	require.True(t, enters("alice"), "sent twice")
	require.False(t, enters("ann") || enters("bob") || enters("carol"))
	rdb.Del(ctx, "lock:{7}")
	rdb.ZRem(ctx, "queue:{7}", "ann")
	require.False(t, enters("dave") || enters("carol"), "bob came before")
	require.True(t, enters("bob"), "ann came first, and has given up")
	pass(10 * time.Second)
	require.True(t, enters("erin"), "bob has died, and carol and dave have been silent for too long")
}

// lead runs work in one process at a time, until ctx ends. The context of work ends when the lock
// is lost; work has to stop then.
func lead(ctx context.Context, lock *redislock.Lock, work func(context.Context) error) {
	for ctx.Err() == nil {
		if err := lock.Do(ctx, work); err != nil {
			log.Print(err)          // ErrNotRun: not elected; ErrLost: no longer the leader
			time.Sleep(time.Second) // do not spin while Redis is down
		}
	}
}

// A leader that cannot reach Redis steps down before the next starts; one whose key is gone, later.
func TestInterview_ALeaderStepsDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := miniredis.NewMiniRedis()
		server.ClockTTL(true)
		defer server.Close()
		ctx, cancel := context.WithCancel(ctx)
		var clients [2]*redis.Client
		var elected [2]atomic.Int32
		var leaders atomic.Int32
		var done sync.WaitGroup
		dial := func(context.Context, string, string) (net.Conn, error) { return server.Dial() }
		for i := range clients {
			clients[i] = redis.NewClient(&redis.Options{Addr: "127.0.0.1:6379", Dialer: dial})
			done.Go(func() {
				lead(ctx, redislock.New(clients[i], "leader", 10*time.Second), func(ctx context.Context) error {
					elected[i].Add(1)
					assert.Equal(t, int32(1), leaders.Add(1), "two lead")
					<-ctx.Done()
					leaders.Add(-1)
					return nil
				})
			})
		}
		time.Sleep(time.Hour)
		require.Equal(t, int32(1), elected[0].Load()+elected[1].Load(), "the leader has renewed its lock for an hour")
		first := int(elected[1].Load())
		clients[first].Close()
		time.Sleep(time.Minute)
		server.Del("leader")
		time.Sleep(time.Minute)
		require.Equal(t, int32(2), elected[1-first].Load(), "after the first leader's client was closed, and after the key was gone")
		cancel()
		done.Wait()
		clients[1-first].Close()
	})
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
	require.True(t, !enters(5) && enters(4), "the sixth, and one that is sent twice")
	pass(5 * time.Second)
	require.True(t, enters(5) && !enters(6), "the first has died, and the four others have not")
	rdb.ZRem(ctx, "permits", "1")
	require.True(t, enters(6), "one has left")
}

// A refused SET NX of go-redis is false, or redis.Nil. With GET, redis.Nil is the lock.
func TestInterview_ARefusedSETNX(t *testing.T) {
	_, _, rdb, _ := onPage(t, "locks.md")
	plain, withGet := redis.SetArgs{Mode: "NX"}, redis.SetArgs{Mode: "NX", Get: true}
	require.ErrorIs(t, rdb.SetArgs(ctx, "lock", "alice", withGet).Err(), redis.Nil, "alice holds it")
	require.ErrorIs(t, rdb.SetArgs(ctx, "lock", "bob", plain).Err(), redis.Nil)
	require.Equal(t, "alice", rdb.SetArgs(ctx, "lock", "bob", withGet).Val())
	acquired, err := rdb.SetNX(ctx, "lock", "bob", time.Minute).Result()
	require.True(t, !acquired && err == nil)
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

// A sale is sent twice, a refund three times, and a sale arrives after both.
func TestCases_TheFlashSaleSellsEachPieceOnceAndPutsItBackOnce(t *testing.T) {
	scripts, server, rdb, _ := onPage(t, "cases.md")
	run := func(script, order, customer int) int {
		got, err := rdb.Eval(ctx, scripts[script][1], []string{"stock:{42}", "bought:{42}"},
			fmt.Sprint("order:", order), fmt.Sprint("user:", customer), 1).Int()
		require.NoError(t, err)
		return got
	}
	sell := func(order, customer int) int { return run(0, order, customer) }

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
			run(1, order, 0)
		}
		require.Equal(t, -2, sell(order, order), "resent after order %d was closed", order)
	}
	server.CheckGet(t, "stock:{42}", "10")
	run(1, 201, 0)
	require.Equal(t, []int{-2, 1, -1}, []int{sell(201, 201), sell(202, 202), sell(203, 202)}, "closed before its sale arrived; sold; the limit of one customer")
}

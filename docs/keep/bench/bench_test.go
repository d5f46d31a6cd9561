// What the locks cost, next to raw go-redis and three libraries, on redis-server processes that
// the benchmarks start themselves. main.go runs them in rounds.
package main

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sync/semaphore"

	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
)

const (
	ttl       = 30 * time.Second
	busy      = 16               // goroutines of one client, each with its own key
	section   = time.Millisecond // that each of many waiters stays inside
	manyBound = 30 * time.Second // for all of them
	holdTTL   = 10 * time.Second // short, so that all renew
)

func TestMain(m *testing.M) {
	logging.Disable() // go-redis reports connections that were cut; here that is on purpose
	os.Exit(m.Run())
}

// A server is a redis-server of our own.
type server struct {
	*redisproc.Process
	admin *redis.Client
}

// start starts five servers that end with the benchmark.
func start(b *testing.B) (servers []server) {
	for range 5 {
		p, err := redisproc.Server(b.TempDir())
		require.NoError(b, err)
		admin := redis.NewClient(&redis.Options{Addr: p.Addr})
		b.Cleanup(func() { admin.Close(); p.Kill() })
		servers = append(servers, server{p, admin})
	}
	return servers
}

// with opens a contestant on servers for one client, which has then sent its scripts.
func (c contestant) with(b *testing.B, servers []server, ttl time.Duration) locker {
	var addrs []string
	for _, s := range servers[:c.nodes] {
		addrs = append(addrs, s.Addr)
	}
	l, err := c.open(addrs, ttl)
	require.NoError(b, err)
	b.Cleanup(l.close)
	require.NoError(b, l.pair(b.Context(), "warm:"+c.name))
	return l
}

func inParallel(n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(busy)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// used is what this process and servers have used.
type used struct {
	client, servers float64 // seconds of processors
	received        float64 // bytes that servers have received
	commands        float64 // that they have run, those of scripts included
}

func use(servers []server) (u used) {
	for _, s := range servers {
		info := s.admin.InfoMap(context.Background(), "cpu", "stats")
		number := func(section, key string) float64 {
			n, _ := strconv.ParseFloat(info.Item(section, key), 64)
			return n
		}
		u.servers += number("CPU", "used_cpu_user") + number("CPU", "used_cpu_sys")
		u.received += number("Stats", "total_net_input_bytes")
		u.commands += number("Stats", "total_commands_processed") - 1 // this INFO
	}
	var own syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &own)
	u.client = time.Duration(own.Utime.Nano() + own.Stime.Nano()).Seconds()
	return u
}

// BenchmarkPair is a lock+unlock, of one goroutine and of many, and a TryLock that is refused.
func BenchmarkPair(b *testing.B) {
	servers, keys := start(b), make([]string, 100_000) // a late answer may leave one
	for number, c := range contestants {
		for i := range keys {
			keys[i] = fmt.Sprintf("%02d:%07d", number, i)
		}
		l, nodes := c.with(b, servers, ttl), servers[:c.nodes]
		var pairs, failed atomic.Int64
		pair := func() {
			// Not a deadline: without one, bsm/redislock sets its own, as in its README. On a
			// busy machine, rueidislock has waited for a message that never came.
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			defer time.AfterFunc(2*time.Second, cancel).Stop()
			if err := l.pair(ctx, keys[pairs.Add(1)%int64(len(keys))]); err != nil && failed.Add(1)*100 > pairs.Load()+1000 {
				b.Fatalf("%s: one of a hundred calls fails: %v", c.name, err)
			}
		}
		b.Run("call=alone/lock="+c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				pair()
			}
		})
		b.Run("call=busy/lock="+c.name, func(b *testing.B) {
			b.SetParallelism(busy / runtime.GOMAXPROCS(0))
			before := use(nodes)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					pair()
				}
			})
			after, n := use(nodes), float64(b.N)
			b.ReportMetric((after.client-before.client)/n, "client-sec/op")
			b.ReportMetric((after.servers-before.servers)/n, "redis-sec/op")
			b.ReportMetric((after.received-before.received)/n, "sent-bytes/op")
		})
		b.Run("call=refused/lock="+c.name, func(b *testing.B) {
			release, err := c.with(b, servers, ttl).lock(b.Context(), "taken:"+c.name)
			require.NoError(b, err)
			for b.Loop() {
				if l.try(b.Context(), "taken:"+c.name) == nil {
					b.Fatal("it got a lock that is taken")
				}
			}
			release(context.Background())
		})
	}
}

// BenchmarkHung is a lock+unlock while two of five nodes take commands and never answer.
func BenchmarkHung(b *testing.B) {
	servers, list := start(b), named("step_08_on_5", "redsync_on_5", "redsync_WithFailFast_on_5")
	var lockers []locker
	for _, c := range list {
		lockers = append(lockers, c.with(b, servers, 8*time.Second)) // redsync's default
	}
	for _, s := range servers[:2] {
		require.NoError(b, s.Signal(syscall.SIGSTOP))
	}
	for i, c := range list {
		b.Run("lock="+c.name, func(b *testing.B) {
			for n := 0; b.Loop(); n++ {
				require.NoError(b, lockers[i].pair(b.Context(), fmt.Sprint(c.name, n)))
			}
		})
	}
}

// BenchmarkWaiters is the time from an Unlock until n waiters, all of one client, have left.
func BenchmarkWaiters(b *testing.B) {
	servers := start(b)
	var list []contestant
	for _, c := range named("step_05", "step_06", "step_07", "bsm_redislock", "redsync", "rueidislock", "step_08_on_5", "redsync_on_5", "redsync_WithFailFast_on_5") {
		list = append(list, c)
		if c.name == "step_07" || c.name == "step_08_on_5" {
			open := c.open
			list = append(list, contestant{c.name + ",_one_at_a_time", c.nodes, func(addrs []string, ttl time.Duration) (locker, error) {
				l, err := open(addrs, ttl)
				l.lock = oneAtATime(l.lock)
				return l, err
			}})
		}
	}
	for _, n := range []int{10, 100, 1000} {
		if testing.Short() && n > 10 {
			break
		}
		for _, c := range list {
			b.Run(fmt.Sprintf("waiters=%d/lock=%s", n, c.name), func(b *testing.B) {
				for b.Loop() {
					b.StopTimer()
					serve(b, c, servers[:c.nodes], n)
				}
			})
		}
	}
}

func serve(b *testing.B, c contestant, servers []server, n int) {
	for _, s := range servers {
		s.admin.FlushAll(context.Background())
	}
	holder, waiter := c.with(b, servers, ttl), c.with(b, servers, ttl)
	leave, err := holder.lock(b.Context(), "waiting")
	require.NoError(b, err)
	ctx, cancel := context.WithCancel(b.Context())
	in := make(chan unlock, n)
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	for range n {
		waiting.Go(func() {
			for ctx.Err() == nil { // one that gives up asks again, as a service would
				if unlock, err := waiter.lock(ctx, "waiting"); err == nil {
					in <- unlock
					return
				}
			}
		})
	}
	time.Sleep(300*time.Millisecond + time.Duration(n)*3*time.Millisecond) // until all wait
	before, late, left := use(servers), time.After(manyBound), n
	b.StartTimer()
	for leave(context.Background()); left > 0; left-- {
		select {
		case leave = <-in:
			time.Sleep(section)
			leave(context.Background())
			continue
		case <-late:
		}
		break
	}
	b.StopTimer()
	b.ReportMetric(use(servers).commands-before.commands, "commands/op")
	b.ReportMetric(float64(left), "left-out/op")
	b.StartTimer()
}

// oneAtATime lets one goroutine of the process at a time ask for the lock, and the others
// wait for that one: a service with many waiters has this around its lock.
func oneAtATime(lock lockFunc) lockFunc {
	turn := semaphore.NewWeighted(1)
	return func(ctx context.Context, key string) (unlock, error) {
		if err := turn.Acquire(ctx, 1); err != nil {
			return nil, err
		}
		release, err := lock(ctx, key)
		if err != nil {
			turn.Release(1)
			return nil, err
		}
		return func(ctx context.Context) error { defer turn.Release(1); return release(ctx) }, nil
	}
}

// BenchmarkHolds is what locks cost that are held and renewed, all by one process.
func BenchmarkHolds(b *testing.B) {
	n, held := 10_000, holdTTL*12/10
	if testing.Short() {
		n, held = 100, 100*time.Millisecond
	}
	servers := start(b)
	for _, c := range named("step_07", "bsm_redislock_with_watchdog", "rueidislock", "step_08_on_5") {
		b.Run("lock="+c.name, func(b *testing.B) {
			for b.Loop() {
				l := c.with(b, servers, holdTTL)
				inParallel(busy, func(i int) error { return l.pair(b.Context(), fmt.Sprint(c.name, i)) })
				before, goroutines, unlocks := inUse(), runtime.NumGoroutine(), make([]unlock, n)
				err := inParallel(n, func(i int) (err error) {
					unlocks[i], err = l.lock(b.Context(), fmt.Sprintf("hold:%05d", i))
					return err
				})
				require.NoError(b, err)
				time.Sleep(100 * time.Millisecond)
				b.ReportMetric(float64(inUse()-before)/float64(n), "B/hold")
				b.ReportMetric(float64(runtime.NumGoroutine()-goroutines), "goroutines")
				begin := use(servers[:c.nodes])
				time.Sleep(held)
				end := use(servers[:c.nodes])
				b.ReportMetric((end.commands-begin.commands)/held.Seconds(), "commands/s")
				b.ReportMetric((end.client-begin.client)/held.Seconds(), "processors")
				var lost atomic.Int64
				inParallel(n, func(i int) error {
					if unlocks[i](context.Background()) != nil {
						lost.Add(1)
					}
					return nil
				})
				b.ReportMetric(float64(lost.Load()), "lost")
			}
		})
	}
}

// inUse is the memory of objects and stacks.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

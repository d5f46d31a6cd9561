package main

import (
	"context"
	"fmt"
	"math"
	"net"
	"os"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
)

// holds is what locks cost that are held and renewed, all by one process.
type holds struct {
	Memory     int     // bytes for each
	Goroutines int     // of all, while nothing is renewed
	Commands   float64 // of all, per second
	Client     float64 // of one processor
	Lost       int
}

// holdTTL is short, so that all renew while commands are counted.
const holdTTL = 10 * time.Second

func holders() []contestant {
	return named("step 07", "bsm/redislock, its watchdog", "rueidislock", "step 08 on 5")
}

func (r *results) measureHolds(ctx context.Context, servers []*server) error {
	for _, n := range r.Plan.Holds {
		for _, c := range holders() {
			h, err := r.hold(ctx, c, servers[:c.nodes], n)
			if err != nil {
				return fmt.Errorf("%s, %d holds: %w", c.name, n, err)
			}
			if r.Holds[c.name] == nil {
				r.Holds[c.name] = map[int]holds{}
			}
			r.Holds[c.name][n] = h
		}
	}
	return nil
}

func (r *results) hold(ctx context.Context, c contestant, servers []*server, n int) (h holds, err error) {
	l, err := c.open(network{servers: servers, expiry: holdTTL})
	if err != nil {
		return h, err
	}
	defer l.close()
	for _, s := range servers {
		if err := s.admin.FlushAll(ctx).Err(); err != nil {
			return h, err
		}
	}
	r.load(&entrant{name: c.name, locker: l}) // connections
	before, goroutines := inUse(), runtime.NumGoroutine()
	unlocks := make([]unlock, n)
	err = inParallel(n, func(i int) (err error) {
		for range 5 { // a machine with much to do answers some of them too late
			if unlocks[i], err = l.lock(ctx, fmt.Sprintf("hold:%d", i)); err == nil {
				return nil
			}
			r.failed(fmt.Sprintf("%s, taking %d locks", c.name, n), err)
		}
		return err
	})
	if err != nil {
		return h, err
	}
	time.Sleep(100 * time.Millisecond)
	h.Memory, h.Goroutines = int(inUse()-before)/n, runtime.NumGoroutine()-goroutines
	client := processorTime()
	commands, took, err := commandsDuring(servers, func() { time.Sleep(r.Plan.Held) })
	h.Client = math.Round(1000*(processorTime()-client).Seconds()/took.Seconds()) / 1000
	h.Commands = math.Round(float64(commands) / took.Seconds())
	for _, s := range servers {
		left, wrong := s.admin.DBSize(ctx).Result()
		if wrong != nil {
			return h, wrong
		}
		h.Lost = max(h.Lost, n-int(left))
	}
	if err != nil {
		return h, err
	}
	return h, inParallel(n, func(i int) error { return unlocks[i](ctx) })
}

func inParallel(n int, do func(i int) error) error {
	var group errgroup.Group
	group.SetLimit(busy)
	for i := range n {
		group.Go(func() error { return do(i) })
	}
	return group.Wait()
}

// inUse is the memory of objects and stacks.
func inUse() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapInuse + m.StackInuse
}

// onCluster is what a lock+unlock costs a Redis Cluster of six masters.
type onCluster struct {
	Server time.Duration // processor time of all nodes
	Bus    float64       // messages between the nodes
}

func (r *results) measureCluster(ctx context.Context, _ []*server) error {
	dir, err := os.MkdirTemp("", "cluster")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	processes, err := redisproc.Cluster(ctx, dir, 6, 0)
	defer func() {
		for _, p := range processes {
			p.Kill()
		}
	}()
	if err != nil {
		return err
	}
	var servers []*server
	var addrs []string
	for _, p := range processes {
		s := &server{p, redis.NewClient(&redis.Options{Addr: p.Addr})}
		defer s.admin.Close()
		servers, addrs = append(servers, s), append(addrs, p.Addr)
	}
	published := func() (sum int) {
		for _, s := range servers {
			_, after, _ := strings.Cut(s.admin.ClusterInfo(ctx).Val(), "cluster_stats_messages_publish_sent:")
			line, _, _ := strings.Cut(after, "\r")
			n, _ := strconv.Atoi(line) // no line: none was sent
			sum += n
		}
		return sum
	}
	var entrants []*entrant
	for _, step := range []int{5, 6, 7} {
		rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
		defer rdb.Close()
		e := &entrant{name: fmt.Sprintf("step %02d", step), locker: lockerOf(step, []redis.UniversalClient{rdb}, ttl)}
		entrants = append(entrants, e)
		r.load(e) // connections
	}
	all := map[string][]onCluster{}
	err = inTurns(ctx, r.Plan.Loads, entrants, func(e *entrant) error {
		server, bus := processorTimeOf(servers), published()
		pairs := r.load(e)
		all[e.name] = append(all[e.name], onCluster{(processorTimeOf(servers) - server) / time.Duration(pairs), float64(published()-bus) / float64(pairs)})
		return nil
	})
	for name, list := range all {
		var server, bus []float64
		for _, c := range list {
			server, bus = append(server, c.Server.Seconds()), append(bus, c.Bus)
		}
		r.Cluster[name] = onCluster{seconds(median(server)), math.Round(10*median(bus)) / 10}
	}
	return err
}

// A farConn is one to a server far away: an answer comes a round trip after the question.
type farConn struct {
	net.Conn
	trip  time.Duration
	asked time.Time
}

func (c *farConn) Write(b []byte) (int, error) {
	c.asked = time.Now()
	return c.Conn.Write(b)
}

func (c *farConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	time.Sleep(time.Until(c.asked.Add(c.trip)))
	return n, err
}

// far is the longest round trip over which a client of step 08 without open connections still
// locks, in each of some attempts: with one TryLock, and with Lock in three seconds.
type far struct{ TryLock, Lock time.Duration }

func (r *results) measureFar(ctx context.Context, servers []*server) error {
	for _, ms := range []int{2, 4, 6, 8, 10, 12, 16, 20, 30, 40, 60} {
		trip := time.Duration(ms) * time.Millisecond
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			time.Sleep(trip)
			conn, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &farConn{Conn: conn, trip: trip}, err
		}
		cold := func(lock func(locker, context.Context) error) bool {
			for range r.Plan.Waits {
				l, err := openStep(8)(network{servers: servers[:5], options: redis.Options{Dialer: dial}})
				if err == nil {
					ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
					err = lock(l, ctx)
					cancel()
				}
				time.Sleep(20 * trip) // until its releases have arrived
				l.close()
				for _, s := range servers[:5] {
					s.admin.FlushAll(context.Background())
				}
				if err != nil {
					return false
				}
			}
			return true
		}
		if cold(func(l locker, ctx context.Context) error { return l.try(ctx, "far") }) {
			r.Far.TryLock = trip
		}
		if cold(func(l locker, ctx context.Context) error { return l.pair(ctx, "far") }) {
			r.Far.Lock = trip
		}
	}
	return ctx.Err()
}

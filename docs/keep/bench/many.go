package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

const (
	section   = time.Millisecond // that each of many waiters stays inside
	manyBound = 30 * time.Second // for all of them
)

var manyWaiters = []int{10, 100, 1000}

// manyOnes are the ways to wait from step 05 on, and those in which one of a process
// waits for all of them.
func manyOnes() []contestant {
	list := those(func(c contestant) bool {
		return slices.Contains([]string{"step 05", "step 06", "step 07", rueidisProc, "step 08 on 5"}, c.name)
	})
	for _, c := range list {
		if c.name == "step 07" || c.name == "step 08 on 5" {
			list = append(list, contestant{name: c.name + ", one at a time", nodes: c.nodes, waits: true, open: openInTurns(c.open)})
		}
	}
	return list
}

// turnsLocker lets one goroutine of the process at a time ask for the lock, and the
// others wait for that one: a service with many waiters has this around its lock.
type turnsLocker struct {
	locker
	turn chan struct{}
}

func openInTurns(open func(network) (locker, error)) func(network) (locker, error) {
	return func(n network) (locker, error) {
		l, err := open(n)
		return turnsLocker{l, make(chan struct{}, 1)}, err
	}
}

func (t turnsLocker) lock(ctx context.Context, key string) (unlock, error) {
	select {
	case t.turn <- struct{}{}:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	release, err := t.locker.lock(ctx, key)
	if err != nil {
		<-t.turn
		return nil, err
	}
	return func() error { defer func() { <-t.turn }(); return release() }, nil
}

// many is what it costs to let n clients in, one after the other, that all wait in one process.
type many struct {
	Times    times  // from the holder's unlock until the last one has left, one of each round
	Commands series // run by all servers in that time
	Conns    series // that the waiters have opened
	Late     int    // waiters that were not served within manyBound, in the worst round
}

// measureMany measures the most waiters in one round: it is long, and each of them is a sample.
func (r *results) measureMany(ctx context.Context, servers []*server) error {
	for _, n := range manyWaiters {
		rounds := r.Plan.Many
		if n == slices.Max(manyWaiters) {
			rounds = r.Plan.Most
		}
		err := inTurns(ctx, rounds, manyOnes(), func(c contestant) error {
			if r.Many[c.name] == nil {
				r.Many[c.name] = map[int]*many{}
			}
			where := fmt.Sprintf("%s, %d waiters", c.name, n)
			return named(where, of(r.Many[c.name], n).measure(c, servers, n, func(err error) { r.failed(where, err) }))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// measure lets n waiters of one process wait until they have all asked, frees the lock,
// and waits until all were inside. It reports locks and unlocks that fail.
func (m *many) measure(c contestant, servers []*server, n int, failed func(error)) error {
	servers = servers[:c.nodes]
	if err := flush(servers); err != nil {
		return err
	}
	holder, err := c.open(network{servers: servers})
	if err != nil {
		return err
	}
	defer holder.close()
	first, cancelFirst := bounded(patience)
	defer cancelFirst()
	release, err := holder.lock(first, "many")
	if err != nil {
		return err
	}
	if err := resetCounts(servers); err != nil { // also the count of connections
		return err
	}

	l, err := c.open(network{servers: servers})
	if err != nil {
		return err
	}
	defer l.close()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var wg sync.WaitGroup
	var served atomic.Int64
	for range n {
		wg.Go(func() {
			release, err := lockAgain(ctx, l, "many", failed)
			if err != nil {
				return
			}
			served.Add(1)
			time.Sleep(section)
			if err := release(); err != nil {
				failed(err)
			}
		})
	}
	// Until they have all asked, subscribed, and so on.
	time.Sleep(300*time.Millisecond + time.Duration(n)*3*time.Millisecond)

	commands, took, err := commandsDuring(servers, func() error {
		if err := release(); err != nil {
			return err
		}
		defer time.AfterFunc(manyBound, cancel).Stop()
		wg.Wait()
		return nil
	})
	if err != nil {
		return err
	}
	conns, err := connectionsOpened(servers)
	m.Times = append(m.Times, took.Seconds())
	m.Commands = append(m.Commands, commands)
	m.Conns = append(m.Conns, float64(conns))
	m.Late = max(m.Late, n-int(served.Load()))
	return err
}

// connectionsOpened returns how many connections the servers have taken since resetCounts.
func connectionsOpened(servers []*server) (sum int, err error) {
	err = each(servers, func(ctx context.Context, admin *redis.Client) error {
		n, err := strconv.Atoi(admin.InfoMap(ctx, "Stats").Item("Stats", "total_connections_received"))
		sum += n
		return err
	})
	return sum, err
}

// cell has the time, the commands and the connections.
func (m *many) cell(waiters int) string {
	if m == nil {
		return "-"
	}
	took := seconds(quantile(m.Times, 0.5))
	if m.Late > 0 {
		took = fmt.Sprintf("%d of %d in %s", waiters-m.Late, waiters, duration(manyBound))
	}
	return fmt.Sprintf("%s, %.0f, %.0f", took, quantile(m.Commands, 0.5), quantile(m.Conns, 0.5))
}

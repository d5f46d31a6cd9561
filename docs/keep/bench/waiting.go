package main

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
)

const (
	waiters   = 10
	patience  = 5 * time.Second  // with ten waiters of whom none gets in
	section   = time.Millisecond // that each of many waiters stays inside
	manyBound = 30 * time.Second // for all of them
)

var manyWaiters = []int{10, 100, 1000}

// An entry is a client that has got in.
type entry struct {
	client int
	at     time.Time
	unlock unlock
}

// A crowd is a holder and those that wait for it.
type crowd struct {
	ctx     context.Context
	cancel  context.CancelFunc
	lockers []locker // of the processes; the last one is that of all other clients
	failed  func(error)
	in      chan entry // has room for all
	wg      sync.WaitGroup
	holder  entry
}

// gather lets n clients wait for one that holds the lock. Each process has its own
// connections.
func gather(c contestant, servers []*server, n, processes int, failed func(error)) (_ *crowd, err error) {
	for _, s := range servers {
		if err := s.admin.FlushAll(context.Background()).Err(); err != nil {
			return nil, err
		}
	}
	cr := &crowd{failed: failed, in: make(chan entry, n+1)}
	cr.ctx, cr.cancel = context.WithCancel(context.Background())
	defer func() {
		if err != nil {
			cr.leave()
		}
	}()
	for range processes {
		l, err := c.open(network{servers: servers})
		if err != nil {
			return nil, err
		}
		cr.lockers = append(cr.lockers, l)
	}
	cr.join(0)
	if cr.holder, err = cr.next(patience); err != nil {
		return nil, err
	}
	for i := range n {
		cr.join(i + 1)
	}
	// Until they have all asked, subscribed, and so on.
	time.Sleep(300*time.Millisecond + time.Duration(n)*3*time.Millisecond)
	return cr, nil
}

// join locks. If that fails, it tries again, as a service would.
func (c *crowd) join(client int) {
	l := c.lockers[min(client, len(c.lockers)-1)]
	c.wg.Go(func() {
		for {
			unlock, err := l.lock(c.ctx, "waiting")
			switch {
			case err == nil:
				c.in <- entry{client, time.Now(), unlock}
				return
			case c.ctx.Err() != nil:
				return
			}
			c.failed(err)
		}
	})
}

// next returns the next client that has got in.
func (c *crowd) next(patience time.Duration) (entry, error) {
	select {
	case e := <-c.in:
		return e, nil
	case <-time.After(patience):
		return entry{}, fmt.Errorf("no client has got in for %v, although the lock was free", patience)
	}
}

// leave ends all waiting, and unlocks what a client still gets.
func (c *crowd) leave() {
	c.cancel()
	c.wg.Wait()
	for len(c.in) > 0 {
		(<-c.in).unlock(context.Background())
	}
	for _, l := range c.lockers {
		l.close()
	}
}

// measureWaiting lets ten clients wait: first for a holder that stays; then the holders leave
// one after the other.
func (r *results) measureWaiting(ctx context.Context, servers []*server) error {
	commands, handoffs := map[string][]float64{}, map[string][]float64{}
	err := inTurns(ctx, r.Plan.Waits, waitingOnes(), func(c contestant) error {
		failed := func(err error) { r.failed(c.name+", waiting", err) }
		crowd, err := gather(c, servers[:c.nodes], waiters, waiters+1, failed)
		if err != nil {
			failed(err)
			return nil
		}
		defer crowd.leave()
		n, took, err := commandsDuring(servers[:c.nodes], func() { time.Sleep(r.Plan.Quiet) })
		if err != nil {
			return err
		}
		commands[c.name] = append(commands[c.name], float64(n)/took.Seconds()/waiters)
		handoffs[c.name] = append(handoffs[c.name], crowd.handOn(r.Plan.Moving)...)
		return nil
	})
	for name, took := range handoffs {
		f := r.Locks[name]
		f.Commands, f.Handoff = math.Round(median(commands[name])), seconds(median(took))
	}
	return err
}

// handOn lets the holders leave one after the other, and returns how many seconds each
// hand-off took.
func (c *crowd) handOn(d time.Duration) (handoffs []float64) {
	for end := time.Now().Add(d); time.Now().Before(end); {
		// Not always at the same point of a client's polling interval.
		time.Sleep(10*time.Millisecond + rand.N(20*time.Millisecond))
		start := time.Now()
		if err := c.holder.unlock(context.Background()); err != nil {
			c.failed(err)
		}
		next, err := c.next(patience)
		if err != nil {
			c.failed(err)
			return handoffs // the others may wait forever; leave ends that
		}
		handoffs = append(handoffs, next.at.Sub(start).Seconds())
		c.join(c.holder.client)
		c.holder = next
	}
	c.holder.unlock(context.Background())
	return handoffs
}

// many is what it costs to let n clients in, one after the other, that all wait in one
// process.
type many struct {
	Took     time.Duration // from the holder's unlock until the last one has left
	Commands int           // run by all servers in that time
	Late     int           `json:",omitzero"` // waiters that were not served within manyBound
}

// manyOnes are the ways to wait from step 05 on, and those in which one of a process
// waits for all of them.
func manyOnes() (list []contestant) {
	for _, c := range contestants {
		switch c.name {
		case "step 05", "step 06", "bsm/redislock", "redsync", "rueidislock", "redsync on 5", "redsync on 5, WithFailFast":
			list = append(list, c)
		case "step 07", "step 08 on 5":
			open := func(n network) (locker, error) {
				l, err := c.open(n)
				l.lock = oneAtATime(l.lock)
				return l, err
			}
			list = append(list, c, contestant{name: c.name + ", one at a time", nodes: c.nodes, open: open})
		}
	}
	return list
}

// oneAtATime lets one goroutine of the process at a time ask for the lock, and the others
// wait for that one: a service with many waiters has this around its lock.
func oneAtATime(lock lockFunc) lockFunc {
	turn := make(chan struct{}, 1)
	return func(ctx context.Context, key string) (unlock, error) {
		select {
		case turn <- struct{}{}:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
		release, err := lock(ctx, key)
		if err != nil {
			<-turn
			return nil, err
		}
		return func(ctx context.Context) error { defer func() { <-turn }(); return release(ctx) }, nil
	}
}

// measureMany takes, of some rounds, the middle one: the most waiters have one, which is
// long, and each of them is a sample.
func (r *results) measureMany(ctx context.Context, servers []*server) error {
	for _, n := range manyWaiters {
		rounds := r.Plan.Many
		if n == slices.Max(manyWaiters) {
			rounds = r.Plan.Most
		}
		all := map[string][]many{}
		err := inTurns(ctx, rounds, manyOnes(), func(c contestant) error {
			where := fmt.Sprintf("%s, %d waiters", c.name, n)
			m, err := serve(c, servers[:c.nodes], n, func(err error) { r.failed(where, err) })
			if err != nil {
				return fmt.Errorf("%s: %w", where, err)
			}
			all[c.name] = append(all[c.name], m)
			return nil
		})
		if err != nil {
			return err
		}
		for name, list := range all {
			slices.SortFunc(list, func(a, b many) int { return int(a.Took - b.Took) })
			if r.Many[name] == nil {
				r.Many[name] = map[int]many{}
			}
			r.Many[name][n] = list[len(list)/2]
		}
	}
	return nil
}

// serve frees the lock when n waiters of one process have asked, and waits until all were
// inside.
func serve(c contestant, servers []*server, n int, failed func(error)) (m many, err error) {
	crowd, err := gather(c, servers, n, 2, failed)
	if err != nil {
		return m, err
	}
	defer crowd.leave()
	m.Late = n
	m.Commands, m.Took, err = commandsDuring(servers, func() {
		end := time.Now().Add(manyBound)
		for now := crowd.holder; ; m.Late-- {
			if err := now.unlock(context.Background()); err != nil {
				failed(err)
			}
			if m.Late == 0 {
				return
			}
			if now, err = crowd.next(time.Until(end)); err != nil {
				return // too late
			}
			time.Sleep(section)
		}
	})
	return m, err
}

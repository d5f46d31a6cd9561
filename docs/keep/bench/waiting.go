package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"
)

const (
	waiters  = 10
	patience = 5 * time.Second // with ten waiters of whom none gets in
)

// waiting is what it costs to wait, and how soon a waiter is inside when the holder leaves.
type waiting struct {
	Commands series // per second and waiter, while the holder stays: one of each round
	Handoffs times  // from the call of the holder's unlock to the return of the next one's lock
}

func (r *results) measureWaiting(ctx context.Context, servers []*server) error {
	return inTurns(ctx, r.Plan.Waits, waitingOnes(), func(c contestant) error {
		where := c.name + ", waiting"
		return named(where, of(r.Waits, c.name).measure(c, servers, r.Plan, func(err error) { r.failed(where, err) }))
	})
}

// An entry is a client that has got in, or has given up.
type entry struct {
	client int
	at     time.Time
	unlock unlock
	err    error
}

// crowd is waiters+1 clients. Each is its own process, so to speak: it has its own connections.
type crowd struct {
	ctx     context.Context
	lockers []locker
	failed  func(error)
	in      chan entry // has room for all
	wg      sync.WaitGroup
}

func (c *crowd) join(client int) {
	c.wg.Go(func() {
		unlock, err := lockAgain(c.ctx, c.lockers[client], "waiting", c.failed)
		c.in <- entry{client, time.Now(), unlock, err}
	})
}

// lockAgain locks. If that fails, it tries again, as a service would, until ctx ends.
func lockAgain(ctx context.Context, l locker, key string, failed func(error)) (unlock, error) {
	for {
		unlock, err := l.lock(ctx, key)
		if err == nil || ctx.Err() != nil {
			return unlock, err
		}
		failed(err)
	}
}

// next returns the next client that has got in.
func (c *crowd) next() (entry, error) {
	select {
	case e := <-c.in:
		return e, e.err
	case <-time.After(patience):
		return entry{}, fmt.Errorf("no client has got in for %v, although the lock was free", patience)
	}
}

// leave ends all waiting, and unlocks what a client still gets.
func (c *crowd) leave(cancel context.CancelFunc) {
	cancel()
	c.wg.Wait()
	for len(c.in) > 0 {
		if e := <-c.in; e.err == nil {
			e.unlock()
		}
	}
}

// measure lets 10 clients wait: first for a holder that stays; then the holders leave one after
// the other. It reports locks and unlocks that fail.
func (w *waiting) measure(c contestant, servers []*server, p plan, failed func(error)) error {
	servers = servers[:c.nodes]
	if err := flush(servers); err != nil {
		return err
	}
	var lockers []locker
	for range waiters + 1 {
		if c.proc && len(lockers) > 0 {
			lockers = append(lockers, lockers[0])
			continue
		}
		l, err := c.open(network{servers: servers})
		if err != nil {
			return err
		}
		defer l.close()
		lockers = append(lockers, l)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	crowd := &crowd{ctx: ctx, lockers: lockers, failed: failed, in: make(chan entry, waiters+1)}
	defer crowd.leave(cancel)
	crowd.join(0)
	holder, err := crowd.next()
	if err != nil {
		failed(err)
		return nil
	}
	for i := 1; i <= waiters; i++ {
		crowd.join(i)
	}
	time.Sleep(300 * time.Millisecond) // until they have all asked, subscribed, and so on

	commands, took, err := commandsDuring(servers, func() error { time.Sleep(p.Quiet); return nil })
	if err != nil {
		return err
	}
	w.Commands = append(w.Commands, commands/took.Seconds()/waiters)

	for end := time.Now().Add(p.Moving); time.Now().Before(end); {
		// Not always at the same point of a client's polling interval.
		time.Sleep(10*time.Millisecond + rand.N(20*time.Millisecond))
		start := time.Now()
		if err := holder.unlock(); err != nil {
			failed(err)
		}
		next, err := crowd.next()
		if err != nil {
			failed(err)
			return nil // the others may wait forever; cancel ends that
		}
		w.Handoffs = append(w.Handoffs, next.at.Sub(start).Seconds())
		crowd.join(holder.client)
		holder = next
	}

	holder.unlock()
	return nil
}

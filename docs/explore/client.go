package main

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

// A client is one process with a program.
type client struct {
	world *world
	id    int
	name  string
	lock  lock
	rdbs  []redis.UniversalClient
	wires []*wire

	phase  atomic.Int32  // what its program does
	gate   chan struct{} // the explorer lets the client go on at the resource
	atGate atomic.Bool
	died   chan struct{}
	dead   atomic.Bool
	cut    bool // it cannot dial
	gaveUp bool // its write is in the network
	frozen atomic.Bool
}

type phase = int32

const (
	idle phase = iota
	acquiring
	holding
	releasing
	done
)

var names = []string{"alice", "bob", "carol", "dave"}

func (w *world) newClient(i int) *client {
	c := &client{world: w, id: i, name: names[i], gate: make(chan struct{}), died: make(chan struct{})}
	for n := range w.nodes {
		opt := &redis.Options{
			// go-redis would leave the bubble to resolve a host name, and when a pool runs dry.
			Addr: fmt.Sprintf("10.0.0.%d:6379", n+1), Dialer: c.dial, PoolSize: 100,
			// No pause at all (-1) is a timer of length 0; on such a timer, Go 1.26 crashes now and then in a
			// bubble under the race detector.
			DialerRetries: 1, MinRetryBackoff: time.Nanosecond, MaxRetryBackoff: time.Nanosecond,
			// A command may be in flight for as long as the explorer likes.
			ReadTimeout: -1, WriteTimeout: -1, DisableIdentity: true,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}
		if w.fault.client != nil {
			w.fault.client(opt)
		}
		c.rdbs = append(c.rdbs, redis.NewClient(opt))
	}
	c.lock = w.step.make(c.rdbs)
	w.clients = append(w.clients, c)
	return c
}

// run runs a program, if the client lives until its end.
func (c *client) run(program func(*client) bool) {
	for range 2 { // who does not get the lock tries once more
		if program(c) || c.world.job.Once || !c.pauseAtGate() {
			break
		}
	}
	c.phase.Store(done)
	c.world.notify()
}

// crash ends a client: its connections break, it cannot dial, and what it has in flight is lost.
func (c *client) crash() {
	if c.dead.Load() {
		return
	}
	c.world.mu.Lock()
	c.dead.Store(true)
	c.world.mu.Unlock()
	close(c.died)
	c.disconnect(func(*wire) bool { return true })
}

// disconnect breaks connections. What is in flight on them is lost.
func (c *client) disconnect(these func(*wire) bool) {
	w := c.world
	w.mu.Lock()
	w.flight = slices.DeleteFunc(w.flight, func(m *message) bool { return m.wire.client == c && these(m.wire) })
	wires := slices.Clone(c.wires)
	w.mu.Unlock()
	for _, wire := range wires {
		if these(wire) {
			wire.Close()
		}
	}
}

// cycle is the program of all clients: acquire, read the resource, write it, release.
func cycle(c *client) (acquired bool) {
	if !c.acquire() {
		return false
	}
	c.use()
	c.release()
	return true
}

func (c *client) acquire() bool {
	ctx := context.Background()
	if c.id == 0 && c.world.fault.deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.world.fault.deadline)
		defer cancel()
	}
	c.phase.Store(acquiring)
	err := c.lock.TryLock(ctx)
	if c.dead.Load() {
		return false
	}
	if err != nil {
		c.phase.Store(idle)
		return false
	}
	c.phase.Store(holding)
	time.Sleep(latency / 10) // a lock that is over already tells it now
	if c.lost() {
		return true // it is told at once
	}
	c.world.enter(c)
	return true
}

// pauseAtGate waits until the explorer lets the client go on.
func (c *client) pauseAtGate() bool {
	c.arriveAtGate()
	defer func() { c.atGate.Store(false) }()
	select {
	case <-c.gate:
		return true
	case <-c.died:
		return false
	}
}

func (c *client) arriveAtGate() {
	c.atGate.Store(true)
	c.world.notify()
}

// again is a holder that locks again.
func (c *client) again() bool {
	c.phase.Store(acquiring)
	err := c.lock.TryLock(context.Background())
	c.phase.Store(holding)
	if c.dead.Load() {
		return false
	}
	if err != nil && !c.lost() && c.world.owns(c) {
		c.world.violate(blocked, "%s is kept out by its own lock", c.name)
	}
	return err == nil
}

// use reads the resource and writes it, unless it is told meanwhile that the lock is lost.
func (c *client) use() {
	if c.world.inside[c] == 0 {
		return
	}
	if c.work() && !c.gaveUp {
		c.world.write(c)
	}
	c.world.leave(c)
}

// work waits for the explorer.
func (c *client) work() (lasts bool) {
	c.arriveAtGate()
	defer func() { c.atGate.Store(false) }()
	var lost <-chan struct{}
	if l, ok := c.lock.(loser); ok {
		lost = l.Lost()
	}
	select {
	case <-c.gate:
		return true
	case <-c.died:
		return false
	case <-lost:
	}
	if !c.frozen.Load() {
		return false
	}
	return c.pauseAtGate() // the pause came between the last look at Lost and the write
}

func (c *client) lost() bool {
	if l, ok := c.lock.(loser); ok {
		select {
		case <-l.Lost():
			return true
		default:
		}
	}
	return false
}

func (c *client) release() {
	if c.dead.Load() {
		return
	}
	c.phase.Store(releasing)
	c.lock.Unlock(context.Background())
}

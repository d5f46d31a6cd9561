package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
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

	phase      atomic.Int32  // of its program
	gate       chan struct{} // the explorer lets the client go on at the resource
	atGate     atomic.Bool
	cause      int          // the choice that has brought the client to the gate
	freed      atomic.Int32 // how many nodes its hold was on that it has released itself
	died       chan struct{}
	dead       atomic.Bool
	frozen     atomic.Bool // paused: it notices nothing
	cut        bool        // it cannot dial
	gaveUp     bool        // its write is in the network
	complaints []violation
	delay      time.Duration // of the answers to it
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

// run runs the client's program, if it lives until its end.
func (c *client) run() {
	if c.id == 0 {
		c.warm(c.world.fault.idle)
	}
	program := cycle
	if c.id == 0 && c.world.fault.program != nil {
		program = c.world.fault.program
	}
	switch {
	case !c.world.Once: // who does not get the lock tries once more
		if !program(c) && !c.world.fault.wait && c.atTheGate(nil) {
			program(c)
		}
	case c.atTheGate(nil): // who tries only once may come late
		program(c)
	}
	c.phase.Store(done)
	c.world.notify()
}

// cycle is the program of most clients: acquire, read the resource, write it, release.
func cycle(c *client) (acquired bool) {
	if !c.acquire() {
		return false
	}
	c.use()
	c.release()
	return true
}

// nested locks twice, unlocks once, works, and unlocks.
func nested(c *client) bool {
	if !c.acquire() {
		return false
	}
	c.phase.Store(acquiring)
	err := c.lock.TryLock(context.Background())
	c.phase.Store(holding)
	if err != nil && !c.dead.Load() && !c.lost() && c.world.owns(c) {
		c.complain(blocked, "%s is kept out by its own lock", c.name)
	}
	if err == nil {
		c.release()
		c.phase.Store(holding)
	}
	c.use()
	c.release()
	return true
}

func unlocksTwice(c *client) bool {
	acquired := cycle(c)
	if acquired {
		c.release()
	}
	return acquired
}

// unlocksAgain unlocks a second time if the first does not say what came of it.
func unlocksAgain(c *client) bool {
	if !c.acquire() {
		return false
	}
	c.use()
	if known := c.release(); !known {
		c.release()
	}
	return true
}

// warm leaves n idle connections to each node.
func (c *client) warm(n int) {
	for _, rdb := range c.rdbs {
		var open []*redis.Conn
		for range n {
			conn := rdb.(*redis.Client).Conn()
			conn.Ping(context.Background())
			open = append(open, conn)
		}
		for _, conn := range open {
			conn.Close()
		}
	}
}

func (c *client) acquire() bool {
	fault, deadline := c.world.fault, time.Duration(0)
	if c.id == 0 {
		deadline = fault.deadline
	}
	try := c.lock.TryLock
	if fault.wait {
		try, deadline = c.lock.Lock, patience
	}
	ctx := context.Background()
	if deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	c.phase.Store(acquiring)
	c.freed.Store(0)
	err := try(ctx)
	if err != nil && fault.passes && !c.dead.Load() {
		c.complain(unavailable, "%s gives up: %v", c.name, err)
	}
	if err != nil || c.dead.Load() {
		c.phase.Store(idle)
		return false
	}
	c.phase.Store(holding)
	time.Sleep(latency / 10) // a lock that is over already tells it now
	if !c.lost() {
		c.world.enter(c)
	}
	return true
}

// use writes the resource, unless the client is told before that its lock is lost.
func (c *client) use() {
	if c.world.inside[c] == 0 {
		return
	}
	goOn := c.atTheGate(c.lostChannel())
	if !goOn && c.frozen.Load() { // the pause came between the last look at Lost and the write
		goOn = c.atTheGate(nil)
	}
	if !goOn && !c.dead.Load() && c.world.fault.keeps {
		c.complain(falseAlarm, "%s is told that its lock is lost", c.name)
	}
	if goOn && !c.gaveUp {
		c.world.write(c)
	}
	c.world.leave(c)
}

// release reports whether it is known what came of it.
func (c *client) release() (known bool) {
	if c.dead.Load() {
		return true
	}
	c.phase.Store(releasing)
	err := c.lock.Unlock(context.Background())
	if err == nil {
		c.freed.Store(0)
		return true
	}
	notHeld := strings.Contains(err.Error(), "lock not held") // ErrNotHeld is another one in each step
	if notHeld && !c.dead.Load() && (int(c.freed.Load()) > len(c.world.nodes)/2 || c.world.owns(c)) {
		c.complain(falseAlarm, "%s is told that it did not hold the lock, and it did", c.name)
	}
	return notHeld
}

// complain leaves a violation to the judge, who looks when all clients are quiet.
func (c *client) complain(k kind, format string, args ...any) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	c.complaints = append(c.complaints, violation{kind: k, text: fmt.Sprintf(format, args...)})
}

// atTheGate waits until the explorer lets the client go on.
func (c *client) atTheGate(lost <-chan struct{}) bool {
	c.world.mu.Lock()
	c.cause = c.world.cause
	c.world.mu.Unlock()
	c.atGate.Store(true)
	defer c.atGate.Store(false)
	c.world.notify()
	select {
	case <-c.gate:
		return true
	case <-c.died:
	case <-lost:
	}
	return false
}

// lostChannel is nil if the lock does not tell.
func (c *client) lostChannel() <-chan struct{} {
	if l, ok := c.lock.(loser); ok {
		return l.Lost()
	}
	return nil
}

func (c *client) lost() bool {
	select {
	case <-c.lostChannel():
		return true
	default:
		return false
	}
}

// crash ends a client: its connections break, it cannot dial, and what it has in flight is lost.
func (c *client) crash() {
	if !c.dead.Load() {
		c.world.mu.Lock()
		c.dead.Store(true)
		c.world.mu.Unlock()
		close(c.died)
		c.disconnect(nil)
	}
}

// disconnect breaks the client's connections to a node, or to all. What is in flight on them is lost.
func (c *client) disconnect(n *node) {
	w := c.world
	these := func(wire *wire) bool { return wire.client == c && (n == nil || n == wire.node) }
	w.mu.Lock()
	w.flight = slices.DeleteFunc(w.flight, func(m *message) bool { return these(m.wire) })
	wires := slices.Clone(c.wires)
	w.mu.Unlock()
	for _, wire := range wires {
		if these(wire) {
			wire.Close()
		}
	}
}

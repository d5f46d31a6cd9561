package main

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"

	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/locks"
)

const patience = 2 * ttl // of a client in Lock

// A Client is one process with a lock and a program.
type Client struct {
	Name   string
	Lock   locks.Lock
	GaveUp bool          // its write is in the network
	Gate   chan struct{} // lets the client continue at the resource
	Cut    bool          // it cannot dial
	Delay  time.Duration // of the answers to it
	Frozen atomic.Bool   // paused: it notices nothing

	s      *Schedule
	id     int // in the order in which they have joined
	rules  rules
	rdbs   []redis.UniversalClient
	phase  atomic.Int32
	atGate atomic.Bool // it waits to continue at the resource
	dead   atomic.Bool
	died   chan struct{}

	asked   map[string]bool // what it has sent in this call, and Redis has not answered
	calls   int
	refused map[int]int64 // when it could not reach a node, the last time

	// As the judge sees it:
	inside bool
	freed  atomic.Int32 // how many nodes its hold was on that it has released itself
	read   int
	gone   time.Time // since when its key is not there
	passed bool      // another client was inside: having the key again does not help
}

// The phases of a client's program.
const (
	Idle int32 = iota
	Acquiring
	Holding
	Releasing
	Done
)

// newClient adds a client that does not run yet. The third is there to try the lock at the end.
func (s *Schedule) newClient(i int) *Client {
	rules := *s.rules
	if i > 0 {
		rules.Program, rules.Deadline, rules.Idle = nil, 0, 0
	}
	if rules.Program == nil {
		rules.Program = works
	}
	c := &Client{
		Name: []string{"alice", "bob", "carol"}[i], s: s, id: i, rules: rules, Gate: make(chan struct{}), died: make(chan struct{}),
		asked: map[string]bool{}, refused: map[int]int64{},
	}
	for _, n := range s.Nodes {
		opt := &redis.Options{
			// go-redis would leave the bubble to resolve a host name, and when a pool runs dry.
			Addr: fmt.Sprintf("10.0.0.%d:6379", n.N), Dialer: c.Dial, PoolSize: 100,
			// No pause at all (-1) is a timer of length 0; on such a timer, Go 1.26
			// crashes now and then in a bubble under the race detector.
			DialerRetries: 1, MinRetryBackoff: time.Nanosecond, MaxRetryBackoff: time.Nanosecond,
			// A command may be in flight for as long as the explorer likes.
			ReadTimeout: -1, WriteTimeout: -1, DisableIdentity: true,
			// Commands are short. To clear 64 KiB for each connection would take long.
			ReadBufferSize: 4096, WriteBufferSize: 4096,
			MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
		}
		if rules.Options != nil {
			rules.Options(opt)
		}
		c.rdbs = append(c.rdbs, redis.NewClient(opt))
	}
	c.Lock = s.stage.lock.make(c.rdbs)
	s.Clients = append(s.Clients, c)
	return c
}

// run runs the client's program, if it lives until its end. A client that does not get the lock
// tries once more.
func (c *Client) run() {
	for _, rdb := range c.rdbs { // idle connections to each node
		var open []*redis.Conn
		for range c.rules.Idle {
			conn := rdb.(*redis.Client).Conn()
			conn.Ping(context.Background())
			open = append(open, conn)
		}
		for _, conn := range open {
			conn.Close()
		}
	}
	got := c.acquire()
	if !got && !c.rules.Wait && c.atTheGate(nil) {
		got = c.acquire()
	}
	if got {
		c.rules.Program(c)
	}
	c.phase.Store(Done)
	c.s.notify()
}

// What a client does with the lock.

func works(c *Client) {
	c.use()
	c.release()
}

func unlocksTwice(c *Client) {
	works(c)
	c.release()
}

// unlocksAgain unlocks a second time if the first does not say what came of it.
func unlocksAgain(c *Client) {
	c.use()
	if known := c.release(); !known {
		c.release()
	}
}

// nested locks again, unlocks once, works, and unlocks.
func nested(c *Client) {
	c.phase.Store(Acquiring)
	err := c.Call("TryLock", func() error { return c.Lock.TryLock(context.Background()) })
	c.phase.Store(Holding)
	if err != nil && !c.dead.Load() && !c.Lost() && c.s.owns(c) {
		c.s.violate(c, Blocked, "%s holds the lock, but is kept out", c.Name)
	}
	if err == nil {
		c.release()
		c.phase.Store(Holding)
	}
	works(c)
}

func (c *Client) acquire() bool {
	method, try, deadline := "TryLock", c.Lock.TryLock, c.rules.Deadline
	if c.rules.Wait {
		method, try, deadline = "Lock", c.Lock.Lock, patience
	}
	ctx := context.Background()
	if deadline > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, deadline)
		defer cancel()
	}
	c.phase.Store(Acquiring)
	c.freed.Store(0)
	err := c.Call(method, func() error { return try(ctx) })
	if err != nil && c.rules.Passes && !c.dead.Load() {
		c.s.violate(c, Unavailable, "%s gives up: %v", c.Name, err)
	}
	if err != nil || c.dead.Load() {
		c.phase.Store(Idle)
		return false
	}
	c.phase.Store(Holding)
	time.Sleep(latency / 10) // a lock that has ended already reports it now
	if c.Lost() {
		c.hearsOfLoss()
	} else {
		c.s.enter(c)
	}
	return true
}

// use writes the resource, unless the client hears before that its lock is lost.
func (c *Client) use() {
	if !c.inside {
		return
	}
	var lost <-chan struct{} // nil if the lock does not tell
	if l, tells := c.Lock.(loser); tells {
		lost = l.Lost()
	}
	goOn := c.atTheGate(lost)
	if !goOn && c.Frozen.Load() { // the pause came between the last look at Lost and the write
		goOn = c.atTheGate(nil)
	}
	if !goOn && !c.dead.Load() {
		c.hearsOfLoss()
		if c.rules.Keeps {
			c.s.violate(c, FalseAlarm, "%s hears that its lock is lost", c.Name)
		}
	}
	if goOn && !c.GaveUp {
		c.s.Write(c)
	}
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.inside, c.gone, c.passed = false, time.Time{}, false
	c.later(-1, trace.Record{})
}

func (c *Client) hearsOfLoss() {
	c.Later(0, trace.Record{Kind: trace.Note, Text: "hears that its lock is lost"})
}

// release reports whether it is known what came of it.
func (c *Client) release() (known bool) {
	if c.dead.Load() {
		return true
	}
	c.phase.Store(Releasing)
	err := c.Call("Unlock", func() error { return c.Lock.Unlock(context.Background()) })
	if err == nil {
		c.freed.Store(0)
		return true
	}
	// Not errors.Is: ErrNotHeld is another one in each step.
	notHeld := strings.Contains(err.Error(), "lock not held")
	lost := strings.Contains(err.Error(), "lock lost") // known before: the key may be there
	lasted := int(c.freed.Load()) > len(c.s.Nodes)/2 || c.s.owns(c)
	if notHeld && !lost && !c.dead.Load() && lasted {
		c.s.violate(c, FalseAlarm, "%s hears that it did not hold the lock, and it did", c.Name)
	}
	return notHeld
}

// atTheGate waits until the explorer lets the client continue.
func (c *Client) atTheGate(lost <-chan struct{}) bool {
	c.atGate.Store(true)
	defer c.atGate.Store(false)
	c.s.notify()
	select {
	case <-c.Gate:
		return true
	case <-c.died:
	case <-lost:
	}
	return false
}

// Lost reports whether the lock has said so.
func (c *Client) Lost() bool { return locks.Lost(c.Lock) }

type loser interface{ Lost() <-chan struct{} }

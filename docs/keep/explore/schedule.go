package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/fencing"
	"example.com/redislock-steps/docs/internal/trace"
)

// A schedule is one order of events. It lists what can happen next, lets it happen, and lets
// time pass when nothing can. A command is in flight until it is delivered. What happens is
// written into a trace.

// A Stage is where the schedules of a cell play: all in one bubble, and on the same nodes.
type Stage struct {
	lock    lock
	rules   rules
	clients int

	nodes   []*Node
	scripts map[string]string // sources by SHA-1
}

// rules are what can happen besides what clients do, and what changes for them. A fault strikes
// once in a schedule.
type rules struct {
	Program  func(*Client) // of alice with the lock: nil is to write the resource and release
	Deadline time.Duration // of her acquire
	Idle     int           // connections that she has besides

	Options func(*redis.Options) // nil is go-redis's defaults
	Wait    bool                 // clients use Lock instead of TryLock
	Passes  bool                 // it passes, so a client in Lock should wait
	Keeps   bool                 // it does not end a hold

	Reorder bool                       // commands may overtake each other
	Scripts bool                       // sending a script again is a separate step
	Grace   time.Duration              // how late a holder may be notified of a sudden loss
	Gone    bool                       // a node is gone for good, and a newcomer tries the lock
	Missing bool                       // from the start only a majority of nodes is there
	Strike  func(s *Schedule) []Option // in what ways it can strike now
}

// A Schedule is one order of events.
type Schedule struct {
	Played
	Nodes   []*Node
	Clients []*Client
	Found   []Violation

	Struck  bool   // the fault has happened
	Late    func() // what is still in the network: a write to the resource, or an answer
	Waiting bool   // time may pass once more, so that a holder is notified of its loss
	Pauses  int    // how often time has passed since the fault

	stage *Stage
	rules *rules
	last  string // who moved last

	activity chan struct{}   // one value: something was sent, or a program has ended
	sent     atomic.Int32    // messages
	resource *fencing.Memory // what the lock is for

	mu      sync.Mutex
	wires   []*wire
	flight  []*Message
	begin   time.Time
	tokens  map[string]string // their names
	had     map[string]int    // tokens by client
	keys    []trace.Key       // as of the last record
	inside  []string          // as of the last record
	pending []pending
}

// Open starts the nodes, and plays a schedule of one client: then they know the scripts, and the
// stage their names.
func (st *Stage) Open() {
	st.scripts = map[string]string{}
	for i := range st.lock.nodes {
		st.nodes = append(st.nodes, newNode(i+1))
	}
	first := *st
	first.clients, first.rules = 1, rules{}
	first.Play(func([]Option) int { return 0 })
}

// Close ends the nodes. Until then, what a broken lock has left over ends; otherwise the
// bubble would report a deadlock.
func (st *Stage) Close() {
	time.Sleep(24 * time.Hour)
	for _, n := range st.nodes {
		n.Close()
	}
}

// Play runs one schedule: choose picks what happens next, until all programs have ended.
// Then it is asked a last time, with nothing to choose from.
func (st *Stage) Play(choose Choose) *Schedule {
	s := &Schedule{
		stage: st, rules: &st.rules, Nodes: st.nodes, activity: make(chan struct{}, 1), begin: time.Now(),
		tokens: map[string]string{}, had: map[string]int{}, keys: make([]trace.Key, len(st.nodes)), inside: []string{},
		resource: fencing.NewMemory(),
	}
	s.resource.Create(context.Background(), key, "0")
	for _, n := range s.Nodes {
		n.reset(st.scripts)
	}
	if s.rules.Missing {
		for _, n := range s.Spare() {
			n.Down = true
			s.Happens(n, "is down")
		}
	}
	for i := range st.clients {
		go s.newClient(i).run()
	}
	for {
		time.Sleep(latency)
		s.Wait()
		s.sweep()
		s.look()
		opts := s.options()
		if len(opts) == 0 && s.advance() {
			continue
		}
		if s.settled(opts) {
			opts[0].do()
			continue
		}
		p := Point{At: s.Now(), Records: len(s.Records), Idle: s.idle()}
		for _, o := range opts {
			o.do = nil // a graph of many schedules should not keep them all
			p.Options = append(p.Options, o)
		}
		s.Points = append(s.Points, p)
		n := choose(opts)
		if len(opts) == 0 {
			s.settle()
			return s
		}
		s.Path = append(s.Path, opts[n].Label)
		if opts[n].by != "" {
			s.last = opts[n].by
		}
		opts[n].do()
	}
}

// settled reports whether there are no choices left: after the fault, all clients that
// are left ask for the lock again and again. If their pauses are random, one is enough: no
// name of a schedule could say how long it is.
func (s *Schedule) settled(opts []Option) bool {
	if !s.rules.Wait || !s.Struck || len(opts) == 0 || s.Late != nil {
		return false
	}
	left := 0
	for _, c := range s.Clients {
		if c.phase.Load() == Acquiring && !c.dead.Load() {
			left++
		} else if c.phase.Load() != Done && !c.dead.Load() {
			left = len(s.Clients) + 1
		}
	}
	return s.stage.lock.random && s.Pauses > 0 || left == 1 || left <= len(s.Clients) && s.Pauses > 2
}

// sweep delivers the renewals of holds that have ended: their clients know it, and nothing
// depends on when they arrive. It writes nothing of them, because whether they are sent
// at all may hang on two timers that end at the same moment.
func (s *Schedule) sweep() {
	over := func(m *Message) bool { return m.Back && m.Lost() }
	for m := s.First(over); m != nil; m = s.First(over) {
		m.Drop()
		m.Answer(m.wire.run(m.args))
		s.readKeys()
		s.Wait()
	}
}

// options lists what can happen next: first that the client that moved last continues, then
// the others, then the fault.
func (s *Schedule) options() (opts []Option) {
	clients := slices.Clone(s.Clients)
	slices.SortStableFunc(clients, func(a, b *Client) int {
		switch s.last {
		case a.Name:
			return -1
		case b.Name:
			return 1
		}
		return 0
	})
	for _, c := range clients {
		if c.atGate.Load() {
			text := "tries" // to get the lock
			if c.phase.Load() == Holding {
				text = "writes"
			}
			opts = append(opts, Option{Label: strings.ToUpper(c.Name[:1]), by: c.Name, Text: text, do: func() { c.Gate <- struct{}{} }})
		}
		for _, m := range c.InFlight() {
			opts = append(opts, Option{Label: m.Label(), by: c.Name, Text: m.Text, Line: m.Line, do: m.Deliver})
		}
	}
	if late := s.Late; late != nil {
		opts = append(opts, Option{Label: "W", do: func() { s.Late = nil; late() }})
	}
	if !s.Struck && s.rules.Strike != nil {
		opts = append(opts, s.rules.Strike(s)...)
	}
	if s.Waiting && slices.ContainsFunc(s.Clients, s.unaware) {
		opts = append(opts, Option{Label: "T", do: func() {
			s.Waiting = false
			s.Pass(ttl, renewals)
		}})
	}
	return opts
}

// Strike is a fault that strikes now, as an option: at something of alice's if it is by her, at
// a message of hers if that is not nil.
func (s *Schedule) Strike(by string, m *Message, strike func()) Option {
	o := Option{Label: "F", by: by, do: func() {
		s.Struck = true
		strike()
	}}
	if m != nil {
		o.Label, o.Text, o.Line = "F"+m.Label(), m.Text, m.Line
	}
	return o
}

// idle says in a letter for each client why nothing of it can happen next.
func (s *Schedule) idle() (idle string) {
	for _, c := range s.Clients {
		switch {
		case c.dead.Load():
			idle += "d" // it is dead
		case c.phase.Load() == Done:
			idle += "e" // it has ended
		case c.atGate.Load() || len(c.InFlight()) > 0:
			idle += "." // it can continue
		case slices.ContainsFunc(s.flight, func(m *Message) bool { return m.Client == c && m.Node.Hung }):
			idle += "h" // a node hangs
		default:
			idle += "w" // it waits for an answer, or for time to pass
		}
	}
	return idle
}

// Spare returns the nodes that are more than a majority.
func (s *Schedule) Spare() []*Node { return s.Nodes[len(s.Nodes)/2+1:] }

// Tells reports whether the locks tell their holders of a loss: those of steps 07 and 08 do.
func (s *Schedule) Tells() bool { _, tells := s.Clients[0].Lock.(loser); return tells }

// Happens says what happens to a node, a client, or otherwise.
func (s *Schedule) Happens(to any, text string) {
	r := trace.Record{Kind: trace.Fault, Text: text}
	switch to := to.(type) {
	case *Node:
		r.Node = to.N
	case *Client:
		r.Who = to.Name
	}
	s.Tell(r)
}

// everything and renewals say what arrives while time passes. Renewals are what is sent in the
// background.
func everything(*Message) bool { return true }
func renewals(m *Message) bool { return m.Back && !m.Frozen.Load() }

// Pass lets time pass. Of what is sent during it, or was before, some arrives; the rest
// is as late as the time is long.
func (s *Schedule) Pass(d time.Duration, arrives func(*Message) bool) {
	s.Tell(trace.Record{Kind: trace.Note, Text: fmt.Sprintf("%v pass", d.Round(time.Millisecond))})
	s.arrive(d, arrives)
}

func (s *Schedule) arrive(d time.Duration, arrives func(*Message) bool) {
	for end := time.Now().Add(d); ; {
		s.Wait()
		s.look()
		if m := s.First(arrives); m != nil {
			m.Deliver()
			continue
		}
		left := time.Until(end)
		if left <= 0 {
			return
		}
		select {
		case <-s.activity:
		case <-time.After(s.expiry(left)): // when a key expires is a moment to look
		}
	}
}

// advance lets time pass until something moves. It returns false when all programs have ended.
func (s *Schedule) advance() bool {
	i := slices.IndexFunc(s.Clients, func(c *Client) bool { return c.phase.Load() != Done && !c.dead.Load() })
	if i < 0 {
		return false
	}
	c := s.Clients[i]
	for end := time.Now().Add(time.Hour); time.Now().Before(end); {
		free, begin, waits := s.owned("") == 0, time.Now(), s.rules.Wait && c.phase.Load() == Acquiring
		select {
		case <-s.activity:
			if s.Struck {
				s.Pauses++
			}
			if s.Wait(); free && waits && time.Since(begin) > ttl/2 {
				s.violate(nil, Asleep, "a client waits, and the lock is free")
			}
			return true
		case <-time.After(s.expiry(time.Until(end))): // then the lock is free
			s.Wait()
		}
	}
	s.violate(nil, Stuck, "%s waits forever", c.Name)
	c.Crash()
	return true
}

// settle ends a schedule: what is in flight arrives, a ttl passes, and nothing may be left over.
func (s *Schedule) settle() {
	for _, c := range s.Clients {
		c.Frozen.Store(false)
	}
	if s.rules.Gone {
		s.arrive(ttl+time.Second, everything)
		s.probe()
	}
	for _, n := range s.Nodes {
		switch {
		case n.Down:
			s.Happens(n, "is up again")
		case n.Hung:
			s.Happens(n, "goes on")
		}
		n.Down, n.Hung = false, false
	}
	s.arrive(ttl+time.Second, everything)
	switch n := s.owned(""); {
	case n > len(s.Nodes)/2:
		s.violate(nil, Locked, "no one is inside, but the lock stays taken")
	case n > 0:
		s.violate(nil, Leftover, "a key is left over")
	}
	sent := s.sent.Load()
	s.arrive(5*ttl, everything)
	if s.sent.Load() > sent {
		s.violate(nil, Leftover, "commands are still sent when all have unlocked")
	}
	for _, c := range s.Clients {
		c.Crash()
		for _, rdb := range c.rdbs {
			rdb.Close()
		}
	}
	time.Sleep(2 * ttl) // the watchdogs of those who died find out
	synctest.Wait()
}

// probe lets a newcomer try the lock: with one node gone, it must be free and work.
func (s *Schedule) probe() {
	c := s.newClient(len(s.Clients))
	result := make(chan error, 1)
	go func() { result <- c.Call("TryLock", func() error { return c.Lock.TryLock(context.Background()) }) }()
	s.arrive(time.Second, everything)
	select {
	case err := <-result:
		if err != nil {
			s.violate(nil, Unavailable, "%s cannot acquire the free lock: %v", c.Name, err)
		}
		go c.Call("Unlock", func() error { return c.Lock.Unlock(context.Background()) })
		s.arrive(time.Second, everything)
	default:
		s.violate(nil, Unavailable, "%s waits for the free lock", c.Name)
		c.Crash()
	}
}

// expiry returns how long it takes until a key expires, at most d.
func (s *Schedule) expiry(d time.Duration) time.Duration {
	for _, node := range s.Nodes {
		if expiry := node.TTL(key); expiry > 0 {
			d = min(d, expiry)
		}
	}
	return d
}

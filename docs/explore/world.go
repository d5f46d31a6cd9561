package main

import (
	"bytes"
	"context"
	"crypto/sha1"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing/synctest"
	"time"

	"example.com/redislock-steps/docs/fencing"
)

// latency is what a command takes to reach Redis. It is also the time in which go-redis sends a command again.
const latency = 100 * time.Microsecond

// A world is one schedule: the clients, the servers, and what is on its way between them.
type world struct {
	job     job
	step    step
	fault   fault
	nodes   []*node
	clients []*client
	judge
	story

	mu       sync.Mutex
	flight   []*message
	seq      int
	activity chan struct{} // holds one value when something was sent or a program has ended

	last    *client // who moved last
	entered *bool   // a client has come in
	idle    int     // the goroutines of the bubble when no client is there
	struck  bool    // the fault has happened
	late    func()  // a write to the resource that is still in the network
	waiting bool    // time may pass once more, so that a holder hears of its loss
}

// An option is something that can happen next.
type option struct {
	label string // in the schedule's name
	by    *client
	do    func()
}

// play runs one schedule: choose picks what happens next, until all programs have ended.
func (s *lab) play(choose func([]option) int) *world {
	w := &world{job: s.job, entered: &s.entered, idle: s.idle, step: s.step, fault: s.fault, nodes: s.nodes, activity: make(chan struct{}, 1)}
	w.judge = judge{inside: map[*client]int{}, read: map[*client]int{}, gone: map[*client]time.Time{}}
	if s.step.n == 9 {
		w.memory = fencing.NewMemory()
		w.memory.Create(context.Background(), key, "0")
	}
	w.story.start(s.scripts)
	for _, n := range w.nodes {
		n.reset(s.scripts)
	}
	goroutines := runtime.NumGoroutine()
	for i := range s.Clients {
		c := w.newClient(i)
		program := cycle
		if i == 0 && w.fault.program != nil {
			program = w.fault.program
		}
		go c.run(program)
	}
	for {
		w.quiet()
		w.sweep()
		w.look()
		opts := w.options()
		if len(opts) == 0 && !w.advance() {
			break
		}
		if len(opts) > 0 {
			n := choose(opts)
			if n < 0 {
				w.end()
				return nil // all that can follow has been seen
			}
			opt := opts[n]
			w.path = append(w.path, opt.label)
			if opt.by != nil {
				w.last = opt.by
			}
			s.entered = false
			opt.do()
		}
	}
	w.settle(goroutines)
	return w
}

// quiet waits until no client can do anything before something is delivered or time passes.
func (w *world) quiet() {
	time.Sleep(latency)
	synctest.Wait()
}

func (w *world) send(m *message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seq++
	m.seq = w.seq
	m.back = m.wire.client.phase.Load() == holding
	w.flight = append(w.flight, m)
	w.notify()
}

func (w *world) notify() {
	select {
	case w.activity <- struct{}{}:
	default:
	}
}

// sweep delivers the renewals of holds that are over: their clients know it, and nothing depends on when they arrive.
// It tells nothing of them, because whether they are sent at all may hang on two timers that end at the same moment.
func (w *world) sweep() {
	for _, c := range w.clients {
		for _, m := range w.sent(c) {
			if m.back && c.lost() {
				w.take(m)
				m.wire.answer(m.wire.run(m.args))
				synctest.Wait()
			}
		}
	}
}

// options lists what can happen next: first that the client that moved last goes on, then the others, then the fault.
func (w *world) options() (opts []option) {
	for _, c := range w.clients {
		if c.atGate.Load() {
			opts = append(opts, option{strings.ToUpper(c.name[:1]), c, func() { c.gate <- struct{}{} }})
		}
		for _, m := range w.sent(c) {
			opts = append(opts, option{w.label(m), c, func() { w.deliver(m) }})
		}
	}
	slices.SortStableFunc(opts, func(a, b option) int {
		switch {
		case a.by == w.last && b.by != w.last:
			return -1
		case a.by != w.last && b.by == w.last:
			return 1
		}
		return 0
	})
	if w.late != nil {
		opts = append(opts, option{"W", nil, w.late})
	}
	if !w.struck && w.fault.strike != nil {
		opts = append(opts, w.fault.strike(w)...)
	}
	if w.waiting && w.anyLoss() {
		opts = append(opts, option{"T", nil, func() {
			w.waiting = false
			w.pass(ttl)
		}})
	}
	return opts
}

// sent returns the messages of a client that can be delivered next: the oldest on each node, because a network
// that reorders them is a fault of its own.
func (w *world) sent(c *client) (list []*message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := map[*node]bool{}
	for _, m := range w.flight {
		if m.wire.client != c || m.wire.node.hung || seen[m.wire.node] && !w.fault.reorder {
			continue
		}
		seen[m.wire.node] = true
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b *message) int { return a.wire.node.n - b.wire.node.n })
	return list
}

// label names a message in a schedule: a is alice's next command, a2 that to the second node.
func (w *world) label(m *message) string {
	label := m.wire.client.name[:1]
	if len(w.nodes) > 1 {
		label += fmt.Sprint(m.wire.node.n + 1)
	}
	for _, other := range w.flight {
		if other == m {
			break
		}
		if other.wire.client == m.wire.client && other.wire.node == m.wire.node {
			label += "_" // overtakes an older one
		}
	}
	return label
}

// deliver lets Redis run a command, and the client read the reply. When Redis has forgotten a script, nothing has
// happened yet: then the script itself is delivered as well, unless that is what is explored.
func (w *world) deliver(m *message) {
	reply := w.execute(m)
	m.wire.answer(reply)
	if !bytes.HasPrefix(reply, []byte("-NOSCRIPT")) || w.fault.id == "flush" {
		return
	}
	w.quiet()
	for _, again := range w.sent(m.wire.client) {
		if again.wire.node == m.wire.node {
			w.deliver(again)
		}
	}
}

// execute lets Redis run a command.
func (w *world) execute(m *message) (reply []byte) {
	w.take(m)
	n, c := m.wire.node, m.wire.client
	before := n.Exists(key)
	if m.args[0] == "eval" {
		w.scripts[fmt.Sprintf("%x", sha1.Sum([]byte(m.args[1])))] = m.args[1]
	}
	reply = m.wire.run(m.args)
	w.tell("%s", w.line(m, reply))
	w.deletes(n, c, before)
	return reply
}

// take takes a message out of the network.
func (w *world) take(m *message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flight = slices.DeleteFunc(w.flight, func(other *message) bool { return other == m })
}

// advance lets time pass until something moves. It returns false when all programs have ended.
func (w *world) advance() bool {
	for _, c := range w.clients {
		if c.phase.Load() == done || c.dead.Load() {
			continue
		}
		select {
		case <-w.activity:
			return true
		case <-time.After(time.Hour):
			w.violate(stuck, "%s waits for ever", c.name)
			c.crash()
			return true
		}
	}
	return false
}

// pass lets time pass. What the clients send meanwhile in the background, renewals, is delivered unless drop says no;
// everything else that is in flight is as late as the time is long.
func (w *world) pass(d time.Duration) { w.passUnless(d, func(*message) bool { return false }) }

func (w *world) passUnless(d time.Duration, drop func(*message) bool) {
	w.tell("-- %v pass", d)
	for end := time.Now().Add(d); ; {
		synctest.Wait()
		w.look()
		if m := w.background(); m != nil {
			if drop(m) {
				w.tell("%s", w.line(m, []byte("-(lost)")))
				w.take(m)
				m.wire.Close()
			} else {
				w.deliver(m)
			}
			continue
		}
		left := time.Until(end)
		if left <= 0 {
			return
		}
		select {
		case <-w.activity:
		case <-time.After(w.untilExpiry(left)):
		}
	}
}

// untilExpiry returns the time until the next key expires, at most d: that is a moment to look.
func (w *world) untilExpiry(d time.Duration) time.Duration {
	for _, n := range w.nodes {
		if left := n.TTL(key); left > 0 {
			d = min(d, left)
		}
	}
	return d
}

// background returns the next message that was sent in the background. What was sent to several nodes at once is in flight
// in any order.
func (w *world) background() (next *message) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, m := range w.flight {
		if !m.back || m.wire.node.hung || m.wire.client.frozen.Load() {
			continue
		}
		if next == nil || m.wire.client == next.wire.client && m.wire.node.n < next.wire.node.n || m.wire.client.id < next.wire.client.id {
			next = m
		}
	}
	return next
}

// settle ends a schedule: what is in flight arrives, a ttl passes, and nothing may be left over.
func (w *world) settle(goroutines int) {
	for _, c := range w.clients {
		c.frozen.Store(false)
	}
	if w.fault.gone == 1 || w.fault.gone > 0 && w.fault.gone <= (len(w.nodes)-1)/2 {
		w.arrive(ttl + time.Second)
		w.probe()
	}
	for _, n := range w.nodes {
		n.down, n.hung = false, false
	}
	w.arrive(ttl + time.Second)
	w.freed()
	sent := w.seq
	w.arrive(5 * ttl)
	if w.seq > sent {
		w.violate(leftover, "commands are still sent when all have unlocked")
	}
	w.end()
	if runtime.NumGoroutine() > goroutines && inBubble() > w.idle { // the runtime has goroutines of its own, outside
		w.violate(leftover, "a goroutine is left over")
	}
}

// inBubble counts the goroutines of the bubble.
func inBubble() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte(", synctest bubble "))
}

// end ends all clients.
func (w *world) end() {
	for _, c := range w.clients {
		c.crash()
		for _, rdb := range c.rdbs {
			rdb.Close()
		}
	}
	time.Sleep(2 * ttl) // the watchdogs of those who died find out
	synctest.Wait()
}

// arrive lets everything in flight arrive, and what is sent because of it, for a time.
func (w *world) arrive(d time.Duration) {
	end := time.After(d)
	for {
		w.quiet()
		var m *message
		for _, c := range w.clients {
			if list := w.sent(c); m == nil && len(list) > 0 {
				m = list[0]
			}
		}
		if m != nil {
			w.deliver(m)
			continue
		}
		select {
		case <-w.activity:
		case <-end:
			return
		}
	}
}

// probe lets a newcomer try the lock: with one node gone, or a minority of them, it must be free and work.
func (w *world) probe() {
	c := w.newClient(len(w.clients))
	result := make(chan error, 1)
	go func() { result <- c.lock.TryLock(context.Background()) }()
	w.arrive(time.Second)
	select {
	case err := <-result:
		if err != nil {
			w.violate(unavailable, "%s cannot acquire the free lock: %v", c.name, err)
			return
		}
	default:
		w.violate(unavailable, "%s waits for the free lock", c.name)
		c.crash()
		return
	}
	go c.lock.Unlock(context.Background())
	w.arrive(time.Second)
}

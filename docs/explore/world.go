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

// A world is one schedule: the clients, the nodes, and what is on its way between them.
type world struct {
	*lab
	judge
	story
	clients []*client

	mu       sync.Mutex
	flight   []*message
	seq      int           // messages sent
	activity chan struct{} // holds one value when something was sent or a program has ended

	last    *client // who moved last
	struck  bool    // the fault has happened
	late    func()  // what is still in the network: a write to the resource, or an answer
	lateOn  string  // what it changes
	waiting bool    // time may pass once more, so that a holder hears of its loss

	cause   int             // the choice that what is sent now comes from, -1 if none
	entered bool            // the last choice has let a client in
	pauses  int             // how often time has passed since the fault
	forced  bool            // nothing had to be chosen
	changed string          // what the last choice has changed, and what followed without one
	history map[rune]string // of each of these things
}

// An option is something that can happen next.
type option struct {
	label string // in the schedule's name
	by    *client
	cause int    // the choice without which it would not be there, -1 if none is known
	on    string // what it changes: nodes by number, the resource (R), what the clients send (s)
	do    func()
}

const everything = "123456789Rs"

// play runs one schedule: choose picks what happens next, until all programs have ended. Then it is asked a last time,
// with nothing to choose from. It can end the schedule with -1: all that can follow has been seen.
func (l *lab) play(choose func(*world, []option) int) *world {
	w := &world{lab: l, activity: make(chan struct{}, 1), cause: -1, history: map[rune]string{}}
	w.judge = judge{inside: map[*client]int{}, read: map[*client]int{}, gone: map[*client]time.Time{}, passed: map[*client]bool{}}
	if l.step.n == 9 {
		w.memory = fencing.NewMemory()
		w.memory.Create(context.Background(), key, "0")
	}
	w.story = story{begin: time.Now(), tokens: map[string]string{}, had: map[string]int{}}
	for _, n := range w.nodes {
		n.reset(l.scripts)
	}
	if l.fault.missing {
		for _, n := range w.spare() {
			n.down = true
			w.tell("-- %s is down", n.name())
		}
	}
	goroutines := runtime.NumGoroutine()
	for i := range l.Clients {
		go w.newClient(i).run()
	}
	for chosen, sent := (option{}), 0; ; {
		w.quiet()
		w.mark(chosen, sent)
		w.sweep()
		w.look()
		opts := w.options()
		if len(opts) == 0 && w.advance() {
			continue
		}
		if w.settled(opts) {
			chosen, sent, w.entered, w.forced, w.brief = opts[0], w.seq, false, true, true
			chosen.do()
			continue
		}
		n := choose(w, opts)
		if n < 0 {
			w.end()
			return nil
		}
		if len(opts) == 0 {
			w.settle(goroutines)
			return w
		}
		chosen, sent, w.entered, w.forced, w.brief = opts[n], w.seq, false, false, false
		w.path = append(w.path, chosen.label)
		if chosen.by != nil {
			w.last = chosen.by
		}
		w.causes(len(w.path) - 1)
		chosen.do()
	}
}

// mark notes what a choice has changed.
func (w *world) mark(o option, sent int) {
	if o.label == "" {
		return
	}
	changed := o.on
	if w.entered {
		changed += "R"
	}
	if w.seq > sent {
		changed += "s"
	}
	if w.everyOrder {
		changed = everything
	}
	if w.forced { // it follows from the last choice
		w.changed += changed
		return
	}
	w.changed = changed
	for _, thing := range changed {
		switch {
		case thing <= '9':
			w.history[thing] += o.label
		case thing == 'R' || o.by == nil:
			w.history[thing] += o.label[:1]
		default:
			w.history[thing] += "."
		}
	}
}

// state names what can follow: the same things have happened in the same order to each node and to the resource, as much
// was sent before the fault, and the same client goes on. Schedules that differ otherwise differ in the order of independent commands.
func (w *world) state() string {
	s := fmt.Sprint(w.history)
	if w.last != nil {
		s += w.last.name
	}
	return s
}

// settled reports whether nothing is chosen any more: after the fault, all clients that are left ask for the lock again and
// again. On several nodes, one pause is enough: its length is chosen at random, and no name of a schedule could say it.
func (w *world) settled(opts []option) bool {
	if !w.fault.wait || !w.struck || len(opts) == 0 || w.late != nil {
		return false
	}
	if len(w.nodes) > 1 && w.pauses > 0 {
		return true
	}
	left := 0
	for _, c := range w.clients {
		if phase := c.phase.Load(); phase == acquiring && !c.dead.Load() {
			left++
		} else if phase != done && !c.dead.Load() {
			return false
		}
	}
	return left == 1 || w.pauses > 2
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
	m.cause = w.cause
	m.back = m.wire.client.phase.Load() == holding
	w.flight = append(w.flight, m)
	w.notify()
}

func (w *world) causes(choice int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cause = choice
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
	over := func(m *message) bool { return m.back && m.wire.client.lost() }
	for m := w.first(over); m != nil; m = w.first(over) {
		w.take(m)
		m.wire.Write(m.wire.run(m.args))
		synctest.Wait()
	}
}

// options lists what can happen next: first that the client that moved last goes on, then the others, then the fault.
func (w *world) options() (opts []option) {
	for _, c := range w.clients {
		if c.atGate.Load() {
			on := "" // it tries to get the lock
			if c.phase.Load() == holding {
				on = "R"
			}
			opts = append(opts, option{strings.ToUpper(c.name[:1]), c, c.cause, on, func() { c.gate <- struct{}{} }})
		}
		for _, m := range w.sent(c) {
			opts = append(opts, option{w.label(m), c, m.cause, m.wire.node.String(), func() { w.deliver(m) }})
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
		opts = append(opts, option{"W", nil, -1, w.lateOn, w.late})
	}
	if !w.struck && w.fault.strike != nil {
		opts = append(opts, w.fault.strike(w)...)
	}
	if w.waiting && w.anyLoss() {
		opts = append(opts, option{"T", nil, -1, everything, func() {
			w.waiting = false
			w.pass(ttl, renewals)
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
		label += m.wire.node.String()
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
	if delay := m.wire.client.delay; delay > 0 {
		time.AfterFunc(delay, func() { m.wire.Write(reply) })
		return
	}
	m.wire.Write(reply)
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
	n := m.wire.node
	before := n.Exists(key)
	if m.args[0] == "eval" {
		w.scripts[fmt.Sprintf("%x", sha1.Sum([]byte(m.args[1])))] = m.args[1]
	}
	reply = m.wire.run(m.args)
	if m.wire.closed.Load() {
		m.wire.unsubscribe() // what was sent before runs all the same
	}
	w.tell("%s", w.line(m, reply))
	w.deletes(n, m.wire.client, before)
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
		w.causes(-1)
		for end := time.Now().Add(time.Hour); ; {
			free, begin, waits := w.keys() == 0, time.Now(), w.fault.wait && c.phase.Load() == acquiring
			select {
			case <-w.activity:
				if w.struck {
					w.pauses++
				}
				if free && waits && time.Since(begin) > ttl/2 {
					w.violate(asleep, "a client waits, and the lock is free")
				}
				return true
			case <-time.After(w.expiry(time.Until(end))): // then the lock is free
			}
			if !time.Now().Before(end) {
				w.violate(stuck, "%s waits for ever", c.name)
				c.crash()
				return true
			}
		}
	}
	return false
}

// pass lets time pass. Of what is sent meanwhile, or was before, some arrives; the rest is as late as the time is long.
func (w *world) pass(d time.Duration, arrives func(*message) bool) {
	w.tell("-- %v pass", d)
	w.arrive(d, arrives)
}

func (w *world) arrive(d time.Duration, arrives func(*message) bool) {
	for end := time.Now().Add(d); ; {
		synctest.Wait()
		w.look()
		if m := w.first(arrives); m != nil {
			w.deliver(m)
			continue
		}
		left := time.Until(end)
		if left <= 0 {
			return
		}
		select {
		case <-w.activity:
		case <-time.After(w.expiry(left)): // when a key expires is a moment to look
		}
	}
}

// expiry returns how long it takes until a key expires, at most d.
func (w *world) expiry(d time.Duration) time.Duration {
	for _, n := range w.nodes {
		if expiry := n.TTL(key); expiry > 0 {
			d = min(d, expiry)
		}
	}
	return d
}

// first returns the first message that arrives.
func (w *world) first(arrives func(*message) bool) *message {
	for _, c := range w.clients {
		for _, m := range w.sent(c) {
			if arrives(m) {
				return m
			}
		}
	}
	return nil
}

func all(*message) bool { return true }

// renewals are what is sent in the background.
func renewals(m *message) bool { return m.back && !m.wire.client.frozen.Load() }

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

// inBubble counts the goroutines of the bubble.
func inBubble() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte(", synctest bubble "))
}

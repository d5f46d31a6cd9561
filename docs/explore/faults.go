package main

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A fault is a row of the matrix. It strikes once in a schedule, and the explorer tries every point.
type fault struct {
	id, title string
	needs     func(step) bool         // nil: all steps
	program   func(*client) bool      // of alice; nil is cycle
	client    func(*redis.Options)    // nil: go-redis's defaults
	deadline  time.Duration           // of alice's acquire
	reorder   bool                    // her commands may overtake each other
	grace     time.Duration           // a holder may hear of its loss so late: there is no warning
	gone      int                     // nodes that are gone for the rest of the schedule
	strike    func(w *world) []option // in what ways it can strike now
}

const (
	long   = ttl * 3 / 2 // longer than a lease
	notice = ttl         // by then, the lease that the holder knows of is over
)

var faults = []fault{
	{id: "none", title: "nothing fails"},
	{id: "nested", title: "the holder locks again", program: nested},
	{id: "twice", title: "the holder unlocks twice", program: unlocksTwice},
	{id: "crash-acquire", title: "a client dies while it acquires", strike: crash(acquiring)},
	{id: "crash-hold", title: "the holder dies", strike: crash(holding)},
	{id: "crash-release", title: "the holder dies while it releases", strike: crash(releasing)},
	{id: "slow", title: "the work takes longer than the ttl", strike: during(func(w *world, c *client) { w.pass(long) }, acquiring, holding, releasing)},
	{id: "resent", title: "a reply is lost, go-redis sends the command again", strike: loseReply},
	{id: "unsent", title: "a reply is lost, and go-redis does not retry", strike: loseReply, client: noRetry},
	{id: "nested-resent", title: "the holder has locked twice, a reply is lost, the command is sent again", needs: from(6), program: nested, strike: loseReply},
	{id: "deadline", title: "the context of an acquire ends, its command arrives", client: obeyContext, deadline: time.Second, strike: endContext},
	{id: "late-set", title: "the same, and it arrives after the clean-up", client: obeyContext, deadline: time.Second, reorder: true, strike: endContext},
	{id: "late-reply", title: "the reply to an acquire comes after a ttl", strike: delayReply},
	{id: "pause", title: "a client is paused for longer than the ttl", strike: during(pause, acquiring, holding, releasing)},
	{id: "late-write", title: "a write to the resource arrives after its writer has given up", strike: delayWrite},
	{id: "renewal-once", title: "a renewal fails once", needs: renews, client: noRetry, strike: during(failRenewals(1), holding)},
	{id: "renewal-all", title: "the holder cannot reach Redis any more", needs: renews, strike: during(cutOff, holding)},
	{id: "stolen", title: "the key is overwritten by somebody else", grace: notice, strike: during(steal, holding, releasing)},
	{id: "deleted", title: "the key is deleted by hand", grace: notice, strike: during(deleteKey, holding, releasing)},
	{id: "failover", title: "the master fails over to an empty replica", grace: notice, strike: anywhere(failOver)},
	{id: "restart", title: "a node restarts empty, at once", grace: notice, strike: anywhere(restart)},
	{id: "restart-late", title: "a node restarts empty, after more than a ttl", strike: anywhere(restartLate)},
	{id: "clock", title: "a node's clock jumps forward by a ttl", grace: notice, strike: anywhere(jump)},
	{id: "flush", title: "the script cache is flushed", needs: from(5), strike: anywhere(flushScripts)},
	{id: "down-1", title: "one node is down", gone: 1, strike: anywhere(down)},
	{id: "down-2", title: "two nodes are down", needs: only(8), gone: 2, strike: anywhere(down)},
	{id: "down-3", title: "three nodes are down", needs: only(8), gone: 3, strike: anywhere(down)},
	{id: "hung-1", title: "one node hangs", gone: 1, client: timeouts, strike: anywhere(hang)},
	{id: "hung-2", title: "two nodes hang", needs: only(8), gone: 2, client: timeouts, strike: anywhere(hang)},
	{id: "hung-3", title: "three nodes hang", needs: only(8), gone: 3, client: timeouts, strike: anywhere(hang)},
}

func faultNamed(id string) (fault, bool) {
	for _, f := range faults {
		if f.id == id {
			return f, true
		}
	}
	return fault{}, false
}

func (f fault) applies(s step) bool { return f.needs == nil || f.needs(s) }

func from(n int) func(step) bool { return func(s step) bool { return s.n >= n } }
func only(n int) func(step) bool { return func(s step) bool { return s.n == n } }
func renews(s step) bool         { return s.n == 7 || s.n == 8 }

func noRetry(o *redis.Options)     { o.MaxRetries = -1 }
func obeyContext(o *redis.Options) { o.ContextTimeoutEnabled = true }
func timeouts(o *redis.Options)    { o.ReadTimeout, o.WriteTimeout = 0, 0 }

// during strikes at alice, at every point of these phases.
func during(do func(*world, *client), phases ...phase) func(*world) []option {
	return func(w *world) []option {
		alice := w.clients[0]
		for _, p := range phases {
			if alice.phase.Load() == p && !alice.dead.Load() {
				return []option{{"F", nil, func() { w.struck = true; do(w, alice) }}}
			}
		}
		return nil
	}
}

// anywhere strikes as long as anybody does something. After it, time may pass, in which a holder is told.
func anywhere(do func(*world)) func(*world) []option {
	return func(w *world) []option {
		for _, c := range w.clients {
			if c.phase.Load() != done && !c.dead.Load() {
				return []option{{"F", nil, func() {
					w.struck, w.waiting = true, renews(w.step)
					do(w)
				}}}
			}
		}
		return nil
	}
}

// onMessage strikes at each command that alice has in flight in a phase.
func onMessage(do func(*world, *message), phases ...phase) func(*world) []option {
	return func(w *world) (opts []option) {
		alice := w.clients[0]
		for _, p := range phases {
			if alice.phase.Load() != p {
				continue
			}
			for _, m := range w.sent(alice) {
				opts = append(opts, option{"F" + w.label(m), alice, func() { w.struck = true; do(w, m) }})
			}
		}
		return opts
	}
}

func crash(p phase) func(*world) []option {
	return during(func(w *world, c *client) {
		w.tell("-- %s dies", c.name)
		c.crash()
	}, p)
}

var loseReply = onMessage(func(w *world, m *message) {
	w.execute(m)
	w.tell("-- this reply is lost, the connection breaks")
	m.wire.Close()
}, acquiring, holding, releasing)

// endContext lets the deadline of alice's acquire pass while its command is under way.
func endContext(w *world) []option {
	alice := w.clients[0]
	if alice.phase.Load() != acquiring || len(w.sent(alice)) == 0 {
		return nil
	}
	return []option{{"F", nil, func() {
		w.struck = true
		w.pass(w.fault.deadline + latency)
	}}}
}

// delayReply lets Redis run what alice has sent to acquire; she reads the answers after the ttl.
func delayReply(w *world) []option {
	alice := w.clients[0]
	if alice.phase.Load() != acquiring || len(w.sent(alice)) == 0 {
		return nil
	}
	return []option{{"F", nil, func() {
		w.struck = true
		var answers []func()
		for _, m := range w.sent(alice) {
			reply := w.execute(m)
			answers = append(answers, func() { m.wire.answer(reply) })
		}
		w.pass(long)
		for _, answer := range answers {
			answer()
		}
	}}}
}

func pause(w *world, c *client) {
	w.tell("-- %s is paused", c.name)
	c.frozen.Store(true)
	w.pass(long)
	w.tell("-- %s goes on", c.name)
	c.frozen.Store(false)
}

// delayWrite puts alice's write into the network. She gives up waiting for it; it takes effect later.
func delayWrite(w *world) []option {
	alice := w.clients[0]
	if !alice.atGate.Load() || alice.phase.Load() != holding {
		return nil
	}
	return []option{{"F", alice, func() {
		w.struck = true
		w.tell("-- %s's write is delayed, she gives up", alice.name)
		alice.gaveUp = true
		w.late = func() { w.late = nil; w.write(alice) }
		alice.gate <- struct{}{}
	}}}
}

// failRenewals lets a ttl and more pass, in which the first n renewals are lost.
func failRenewals(n int) func(*world, *client) {
	return func(w *world, c *client) {
		failed := 0
		w.passUnless(long, func(m *message) bool {
			failed++
			return failed <= n
		})
	}
}

// cutOff takes alice's connections away. Her lease ends, and she must hear of it before.
func cutOff(w *world, c *client) {
	w.tell("-- %s is cut off from Redis", c.name)
	c.disconnect(func(*wire) bool { return true })
	c.cut = true
	w.pass(long)
}

func steal(w *world, _ *client) {
	w.tell("-- somebody else overwrites the key")
	for _, n := range w.nodes {
		kind := n.Type(key)
		if kind == "" {
			continue
		}
		n.Del(key)
		if kind == "hash" {
			n.HSet(key, "thief", "1")
		} else {
			n.Set(key, "thief")
		}
		n.SetTTL(key, ttl)
		n.owner = &client{name: "somebody else"}
	}
	w.waiting = renews(w.step)
}

func deleteKey(w *world, _ *client) {
	w.tell("-- somebody deletes the key")
	for _, n := range w.nodes {
		n.Del(key)
	}
	w.waiting = renews(w.step)
}

func failOver(w *world) { w.empty("the master dies, an empty replica takes over") }
func restart(w *world)  { w.empty("node 1 restarts empty") }

func (w *world) empty(what string) {
	w.tell("-- %s", what)
	w.disconnect(w.nodes[0])
	w.nodes[0].forget()
}

func restartLate(w *world) {
	w.tell("-- node 1 stops")
	n := w.nodes[0]
	w.disconnect(n)
	n.down = true
	w.pass(long)
	w.tell("-- node 1 starts again, empty")
	n.forget()
	n.down = false
}

func jump(w *world) {
	w.tell("-- the clock of node 1 jumps forward by a ttl")
	w.nodes[0].FastForward(ttl)
}

func flushScripts(w *world) {
	w.tell("-- SCRIPT FLUSH")
	for _, n := range w.nodes {
		n.flushScripts()
	}
}

func down(w *world) {
	w.tell("-- %s down", nodesGone(w.fault.gone))
	for _, n := range w.nodes[:min(w.fault.gone, len(w.nodes))] {
		n.down = true
		w.disconnect(n)
	}
}

func hang(w *world) {
	w.tell("-- %s hung", nodesGone(w.fault.gone))
	for _, n := range w.nodes[:min(w.fault.gone, len(w.nodes))] {
		n.hung = true
	}
}

func nodesGone(n int) string {
	if n == 1 {
		return "node 1 is"
	}
	return fmt.Sprintf("nodes 1 to %d are", n)
}

// nested locks twice, unlocks once, works, and unlocks.
func nested(c *client) bool {
	if !c.acquire() {
		return false
	}
	if c.again() {
		c.release()
		c.phase.Store(holding)
	}
	c.use()
	c.release()
	return true
}

func unlocksTwice(c *client) bool {
	if !cycle(c) {
		return false
	}
	c.release()
	return true
}

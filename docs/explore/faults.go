package main

import (
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"
)

// A fault is a row of the matrix. It strikes once in a schedule, and the explorer tries every point.
type fault struct {
	id, title string
	steps     [2]int                  // from, to; nil is all
	program   func(*client) bool      // of alice; nil is cycle
	client    func(*redis.Options)    // nil is go-redis's defaults
	deadline  time.Duration           // of alice's acquire
	wait      bool                    // the clients use Lock in place of TryLock
	reorder   bool                    // alice's commands may overtake each other
	grace     time.Duration           // a holder may hear of its loss so late: there is no warning
	gone      int                     // nodes that are gone for the rest of the schedule
	strike    func(w *world) []option // in what ways it can strike now
}

const (
	long   = ttl * 3 / 2 // longer than a lease
	notice = ttl         // by then, the lease that the holder knows of is over
)

var (
	renewing = [2]int{7, 8}
	scripted = [2]int{5, 9}
	many     = [2]int{8, 8}
)

var faults = []fault{
	{id: "none", title: "nothing fails"},
	{id: "waits", title: "nothing fails, the clients wait in Lock", wait: true},
	{id: "nested", title: "the holder locks again", program: nested},
	{id: "twice", title: "the holder unlocks twice", program: unlocksTwice},
	{id: "crash-acquire", title: "a client dies while it acquires", strike: during(crash, acquiring)},
	{id: "crash-hold", title: "the holder dies", strike: during(crash, holding)},
	{id: "crash-release", title: "the holder dies while it releases", strike: during(crash, releasing)},
	{id: "slow", title: "the work takes longer than the ttl", strike: during(slow, acquiring, holding, releasing)},
	{id: "resent", title: "a reply is lost, go-redis sends the command again", strike: loseReply},
	{id: "unsent", title: "a reply is lost, and go-redis does not retry", strike: loseReply, client: noRetry},
	{id: "nested-resent", title: "the holder has locked twice, a reply is lost, the command is sent again", steps: [2]int{6, 9}, program: nested, strike: loseReply},
	{id: "deadline", title: "the context of an acquire ends, its command arrives", client: obeyContext, deadline: time.Second, strike: inFlight(endContext)},
	{id: "late-set", title: "the same, and it arrives after the clean-up", client: obeyContext, deadline: time.Second, reorder: true, strike: inFlight(endContext)},
	{id: "late-reply", title: "the reply to an acquire comes after a ttl", strike: inFlight(delayReplies)},
	{id: "pause", title: "a client is paused for longer than the ttl", strike: during(pause, acquiring, holding, releasing)},
	{id: "late-write", title: "a write to the resource arrives after its writer has given up", strike: delayWrite},
	{id: "renewal-once", title: "a renewal fails once", steps: renewing, client: noRetry, strike: during(failRenewal, holding)},
	{id: "renewal-all", title: "the holder cannot reach Redis any more", steps: renewing, strike: during(cutOff, holding)},
	{id: "stolen", title: "the key is overwritten by somebody else", grace: notice, strike: during(steal, holding, releasing)},
	{id: "deleted", title: "the key is deleted by hand", grace: notice, strike: during(deleteKey, holding, releasing)},
	{id: "failover", title: "the master fails over to an empty replica", grace: notice, strike: onNode1(failOver)},
	{id: "restart", title: "a node restarts empty, at once", grace: notice, strike: onNode1(restart)},
	{id: "restart-late", title: "a node restarts empty, after more than a ttl", strike: anywhere(restartLate)},
	{id: "clock", title: "a node's clock jumps forward by a ttl", grace: notice, strike: changing("1", jump)},
	{id: "flush", title: "the script cache is flushed", steps: scripted, strike: anywhere(flushScripts)},
	{id: "down-1", title: "one node is down", gone: 1, strike: anywhere(down)},
	{id: "down-2", title: "two nodes are down", steps: many, gone: 2, strike: anywhere(down)},
	{id: "down-3", title: "three nodes are down", steps: many, gone: 3, strike: anywhere(down)},
	{id: "hung-1", title: "one node hangs", gone: 1, client: timeouts, strike: anywhere(hang)},
	{id: "hung-2", title: "two nodes hang", steps: many, gone: 2, client: timeouts, strike: anywhere(hang)},
	{id: "hung-3", title: "three nodes hang", steps: many, gone: 3, client: timeouts, strike: anywhere(hang)},
}

func faultNamed(id string) (fault, error) {
	list := ""
	for _, f := range faults {
		if f.id == id {
			return f, nil
		}
		list += fmt.Sprintf("\n  %-14s %s", f.id, f.title)
	}
	return fault{}, fmt.Errorf("there is no fault %q; the faults are:%s", id, list)
}

func (f fault) applies(s step) bool {
	return f.steps[0] == 0 || f.steps[0] <= s.n && s.n <= f.steps[1]
}

func noRetry(o *redis.Options)     { o.MaxRetries = -1 }
func obeyContext(o *redis.Options) { o.ContextTimeoutEnabled = true }
func timeouts(o *redis.Options)    { o.ReadTimeout, o.WriteTimeout = 0, 0 }

// Where a fault can strike.

// on is a fault that strikes now, as an option.
func (w *world) on(what string, strike func(*world)) []option {
	return []option{{"F", nil, -1, what, func() {
		w.struck = true
		strike(w)
	}}}
}

// during strikes at alice, at every point of these phases.
func during(strike func(*world, *client), phases ...phase) func(*world) []option {
	return func(w *world) []option {
		alice := w.clients[0]
		for _, p := range phases {
			if alice.phase.Load() == p && !alice.dead.Load() {
				return w.on(everything, func(w *world) { strike(w, alice) })
			}
		}
		return nil
	}
}

// inFlight strikes when a command of alice's acquire is under way.
func inFlight(strike func(*world, *client)) func(*world) []option {
	acquires := during(strike, acquiring)
	return func(w *world) []option {
		if len(w.sent(w.clients[0])) == 0 {
			return nil
		}
		return acquires(w)
	}
}

// anywhere strikes as long as anybody does something. After it, time may pass, in which a holder is told.
func anywhere(strike func(*world)) func(*world) []option { return changing(everything, strike) }

// onNode1 is the same for what happens to the first node only. A client that sends something may lose it.
func onNode1(strike func(*world)) func(*world) []option { return changing("1s", strike) }

func changing(what string, strike func(*world)) func(*world) []option {
	return func(w *world) []option {
		for _, c := range w.clients {
			if c.phase.Load() != done && !c.dead.Load() {
				return w.on(what, func(w *world) {
					w.waiting = w.tells()
					strike(w)
				})
			}
		}
		return nil
	}
}

// loseReply strikes at each command that alice has in flight, or waits for.
func loseReply(w *world) (opts []option) {
	alice := w.clients[0]
	if p := alice.phase.Load(); p != acquiring && p != holding && p != releasing {
		return nil
	}
	for _, m := range w.sent(alice) {
		opts = append(opts, option{"F" + w.label(m), alice, -1, everything, func() {
			w.struck = true
			w.execute(m)
			w.tell("-- this reply is lost, the connection breaks")
			m.wire.Close()
		}})
	}
	return opts
}

// delayWrite puts alice's write into the network. She gives up waiting for it; it takes effect later.
func delayWrite(w *world) []option {
	alice := w.clients[0]
	if !alice.atGate.Load() || alice.phase.Load() != holding {
		return nil
	}
	return []option{{"F", alice, -1, everything, func() {
		w.struck = true
		w.tell("-- %s's write is delayed, she gives up", alice.name)
		alice.gaveUp = true
		w.late = func() { w.late = nil; w.write(alice) }
		alice.gate <- struct{}{}
	}}}
}

// What a fault does to a client.

func crash(w *world, c *client) {
	w.tell("-- %s dies", c.name)
	c.crash()
}

func slow(w *world, _ *client) { w.pass(long, renewals) }

func pause(w *world, c *client) {
	w.tell("-- %s is paused", c.name)
	c.frozen.Store(true)
	w.pass(long, renewals)
	w.tell("-- %s goes on", c.name)
	c.frozen.Store(false)
}

// endContext lets the deadline of an acquire pass while its command is under way.
func endContext(w *world, _ *client) { w.pass(w.fault.deadline+latency, renewals) }

// delayReplies lets Redis run what a client has sent; it reads the answers after the ttl.
func delayReplies(w *world, c *client) {
	var answers []func()
	for _, m := range w.sent(c) {
		reply := w.execute(m)
		answers = append(answers, func() { m.wire.Write(reply) })
	}
	w.pass(long, renewals)
	for _, answer := range answers {
		answer()
	}
}

// failRenewal lets a ttl and more pass, in which the first renewal is lost.
func failRenewal(w *world, _ *client) {
	failed := false
	w.pass(long, func(m *message) bool {
		if renewals(m) && !failed {
			failed = true
			w.tell("%s", w.line(m, []byte("-(lost)")))
			w.take(m)
			m.wire.Close()
			return false
		}
		return renewals(m)
	})
}

// cutOff takes a client's connections away. Its lease ends, and it must hear of it before.
func cutOff(w *world, c *client) {
	w.tell("-- %s is cut off from Redis", c.name)
	c.cut = true
	c.disconnect(nil)
	w.pass(long, renewals)
}

// What a fault does to the key or to nodes.

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
	w.waiting = w.tells()
}

func deleteKey(w *world, _ *client) {
	w.tell("-- somebody deletes the key")
	for _, n := range w.nodes {
		n.Del(key)
	}
	w.waiting = w.tells()
}

func failOver(w *world) { w.stop("the master dies, an empty replica takes over").forget() }
func restart(w *world)  { w.stop("node 1 restarts empty").forget() }

func restartLate(w *world) {
	n := w.stop("node 1 stops")
	n.down = true
	w.pass(long, renewals)
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
	for _, n := range w.goner("down") {
		n.down = true
		w.disconnect(n)
	}
}

func hang(w *world) {
	for _, n := range w.goner("hung") {
		n.hung = true
	}
}

// goner is the nodes that are gone.
func (w *world) goner(how string) []*node {
	if w.fault.gone == 1 {
		w.tell("-- node 1 is %s", how)
	} else {
		w.tell("-- nodes 1 to %d are %s", w.fault.gone, how)
	}
	return w.nodes[:min(w.fault.gone, len(w.nodes))]
}

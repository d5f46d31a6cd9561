package main

import (
	"cmp"
	"fmt"
	"slices"
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
	missing   bool                    // from the start there is only a majority of the nodes
	idle      int                     // connections that alice has besides
	keeps     bool                    // it does not end a hold
	passes    bool                    // it passes, so a client in Lock should wait
	strike    func(w *world) []option // in what ways it can strike now
}

const (
	long     = ttl * 3 / 2 // longer than a lease
	notice   = ttl         // by then, the lease that the holder knows of is over
	patience = 2 * ttl     // of a client in Lock
	far      = ttl / 5     // the time of an answer that is slow, and of use
)

var (
	renewing = [2]int{7, 8}
	scripted = [2]int{5, 9}
	single   = [2]int{1, 7}
	many     = [2]int{8, 8}
)

var faults = []fault{
	{id: "none", title: "nothing fails"},
	{id: "waits", title: "nothing fails, the clients wait in Lock", wait: true},
	{id: "nested", title: "the holder locks again", program: nested},
	{id: "twice", title: "the holder unlocks twice", program: unlocksTwice},
	{id: "crash-acquire", title: "a client dies while it acquires", strike: during(crash, acquiring)},
	{id: "crash-hold", title: "the holder dies", strike: during(crash, holding)},
	{id: "crash-waits", title: "the holder dies, the clients wait in Lock", wait: true, strike: during(crash, holding)},
	{id: "crash-release", title: "the holder dies while it releases", strike: during(crash, releasing)},
	{id: "slow", title: "the work takes longer than the ttl", keeps: true, strike: during(slow, acquiring, holding, releasing)},
	{id: "resent", title: "a reply is lost, go-redis sends the command again", strike: loseReply},
	{id: "resent-waits", title: "a reply is lost, the command is sent again, the clients wait in Lock", wait: true, strike: loseReply},
	{id: "unsent", title: "a reply is lost, and go-redis does not retry", strike: loseReply, client: noRetry},
	{id: "nested-resent", title: "the holder has locked twice, a reply is lost, the command is sent again", steps: [2]int{6, 9}, program: nested, strike: loseReply},
	{id: "deadline", title: "the context of an acquire ends, its command arrives", client: obeyContext, deadline: time.Second, strike: inFlight(endContext)},
	{id: "late-set", title: "the same, and it arrives after the clean-up", client: obeyContext, deadline: time.Second, reorder: true, strike: inFlight(endContext)},
	{id: "slow-answer", title: "an answer is slow, but within the validity", program: unlocksAgain, strike: holdBack},
	{id: "slow-answers", title: "all answers are slow, but within the validity, and the work takes longer than the ttl", steps: renewing, keeps: true, strike: during(slowAnswers, holding)},
	{id: "late-reply", title: "the reply to an acquire comes after a ttl", strike: inFlight(delayReplies)},
	{id: "pause", title: "a client is paused for longer than the ttl", strike: during(pause, acquiring, holding, releasing)},
	{id: "pause-waits", title: "a client is paused for longer than the ttl, the clients wait in Lock", steps: single, wait: true, strike: during(pause, acquiring, holding, releasing)},
	{id: "late-write", title: "a write to the resource arrives after its writer has given up", strike: delayWrite},
	{id: "renewal-once", title: "a renewal fails once", steps: renewing, keeps: true, client: noRetry, strike: during(failRenewal, holding)},
	{id: "renewal-all", title: "the holder cannot reach Redis any more", steps: renewing, strike: during(cutOff, holding)},
	{id: "dead", title: "the holder's idle connections are dead", client: timeouts, idle: 10, keeps: true, strike: during(dieSilently, holding)},
	{id: "stolen", title: "the key is overwritten by somebody else", grace: notice, strike: during(steal, holding, releasing)},
	{id: "deleted", title: "the key is deleted by hand", grace: notice, strike: during(deleteKey, holding, releasing)},
	{id: "failover", title: "the master fails over to an empty replica", grace: notice, strike: onNode1(failOver)},
	{id: "restart", title: "a node restarts empty, at once", grace: notice, strike: onNode1(restart)},
	{id: "restart-waits", title: "a node restarts empty, the clients wait in Lock", steps: single, wait: true, grace: notice, strike: onNode1(restartAndWork)},
	{id: "restart-late", title: "a node restarts empty, after more than a ttl", strike: anywhere(restartLate)},
	{id: "healed", title: "a node comes back and is healed, another one restarts empty", steps: many, missing: true, keeps: true, grace: notice, strike: during(healed, holding)},
	{id: "healing", title: "a node comes back, another one restarts empty before it is healed", steps: many, missing: true, grace: notice, strike: during(healing, holding)},
	{id: "clock", title: "a node's clock jumps forward by a ttl", grace: notice, strike: changing("1", jump)},
	{id: "flush", title: "the script cache is flushed", steps: scripted, keeps: true, strike: anywhere(flushScripts)},
	{id: "down-1", title: "one node is down", gone: 1, strike: anywhere(down)},
	{id: "down-2", title: "two nodes are down", steps: many, gone: 2, strike: anywhere(down)},
	{id: "down-3", title: "three nodes are down", steps: many, gone: 3, strike: anywhere(down)},
	{id: "outage-waits", title: "a majority is down for a while, the clients wait in Lock", steps: many, wait: true, keeps: true, passes: true, strike: anywhere(outage)},
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

// holdBack lets a command of alice's run, and keeps its answer back. It arrives when half a ttl has passed.
func holdBack(w *world) (opts []option) {
	alice := w.clients[0]
	if p := alice.phase.Load(); p != acquiring && p != holding && p != releasing {
		return nil
	}
	for _, m := range w.sent(alice) {
		opts = append(opts, option{"F" + w.label(m), alice, -1, everything, func() {
			w.struck = true
			reply := w.execute(m)
			w.tell("-- this answer is slow")
			w.lateOn = everything
			w.late = func() {
				w.late = nil
				w.pass(ttl/2, renewals)
				w.tell("-- the answer arrives")
				m.wire.Write(reply)
			}
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
		w.lateOn = "R"
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

// slowAnswers lets all answers to a client take their time.
func slowAnswers(w *world, c *client) {
	w.tell("-- from now on each answer to %s takes %v", c.name, far)
	c.delay = far
	w.pass(long, renewals)
}

// dieSilently takes a client's idle connections away, and nobody tells the client. What it sends on them is lost.
func dieSilently(w *world, c *client) {
	w.mu.Lock()
	for _, wire := range c.wires {
		wire.silent.Store(!slices.ContainsFunc(w.flight, func(m *message) bool { return m.wire == wire }))
	}
	w.mu.Unlock()
	w.tell("-- the idle connections of %s are dead, and nobody has said so", c.name)
	if w.tells() {
		w.pass(long, renewals)
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

// restartAndWork gives those who poll the time to do it.
func restartAndWork(w *world) {
	restart(w)
	w.pass(time.Second, func(m *message) bool { return m.wire.client != w.clients[0] })
}

func restartLate(w *world) {
	n := w.stop("node 1 stops")
	n.down = true
	w.pass(long, renewals)
	w.tell("-- node 1 starts again, empty")
	n.forget()
	n.down = false
}

// healed lets the nodes that were missing come back, the holder renew, and node 1 restart.
func healed(w *world, _ *client) { comeBack(w, renewals) }

// healing is the same, and what should heal them is under way.
func healing(w *world, _ *client) {
	comeBack(w, func(m *message) bool { return renewals(m) && !w.heals(m) })
}

func comeBack(w *world, arrives func(*message) bool) {
	for _, n := range w.spare() {
		w.tell("-- %s starts again, empty", n.name())
		n.forget()
		n.down = false
	}
	w.pass(ttl*4/5, arrives) // two renewals
	restart(w)
	w.waiting = w.tells()
}

// heals reports whether a message gives a holder's lock to a node that does not have it.
func (w *world) heals(m *message) bool {
	return m.back && len(m.args) > 1 && scriptName(cmp.Or(w.scripts[m.args[1]], m.args[1])) == "acquire"
}

// outage is a majority that is down for less than the validity, and keeps its data.
func outage(w *world) {
	w.tell("-- nodes 1 to %d are down", len(w.nodes)/2+1)
	majority := w.nodes[:len(w.nodes)/2+1]
	for _, n := range majority {
		n.down = true
		w.disconnect(n)
	}
	w.pass(ttl/2, all)
	w.pauses++
	w.tell("-- they are back")
	for _, n := range majority {
		n.down = false
	}
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

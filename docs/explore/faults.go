package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/explore/internal/client"
	"example.com/redislock-steps/docs/explore/internal/network"
	"example.com/redislock-steps/docs/explore/internal/schedule"
	"example.com/redislock-steps/docs/explore/internal/search"
)

// A fault is a row of the matrix. The explorer tries every point at which it can strike.
type fault struct {
	id, title string
	steps     [2]int // from, to
	schedule.Fault
}

const (
	long   = ttl * 3 / 2 // longer than a lease
	notice = ttl         // by then, the lease that the holder knows of is over
	far    = ttl / 5     // the time of an answer that is slow, and of use
)

var (
	all       = [2]int{1, 9}
	single    = [2]int{1, 7}
	scripted  = [2]int{5, 9}
	reentrant = [2]int{6, 9}
	renewing  = [2]int{7, 8}
	many      = [2]int{8, 8}

	busy = []client.Phase{client.Acquiring, client.Holding, client.Releasing}
)

var faults = []fault{
	{"none", "nothing fails", all, schedule.Fault{}},
	{"waits", "nothing fails, the clients wait in Lock", all, schedule.Fault{Clients: client.Rules{Wait: true}}},
	{"nested", "the holder locks again", all, schedule.Fault{Clients: client.Rules{Alice: client.Alice{Program: client.Nested}}}},
	{"twice", "the holder unlocks twice", all, schedule.Fault{Clients: client.Rules{Alice: client.Alice{Program: client.UnlocksTwice}}}},
	{"crash-acquire", "a client dies while it acquires", all, schedule.Fault{Strike: during(crash, client.Acquiring)}},
	{"crash-hold", "the holder dies", all, schedule.Fault{Strike: during(crash, client.Holding)}},
	{"crash-waits", "the holder dies, the clients wait in Lock", all, schedule.Fault{Clients: client.Rules{Wait: true}, Strike: during(crash, client.Holding)}},
	{"crash-release", "the holder dies while it releases", all, schedule.Fault{Strike: during(crash, client.Releasing)}},
	{"slow", "the work takes longer than the ttl", all, schedule.Fault{Clients: client.Rules{Keeps: true}, Strike: during(slow, client.Acquiring, client.Holding, client.Releasing)}},
	{"resent", "a reply is lost, go-redis sends the command again", all, schedule.Fault{Strike: eachInFlight(loseReply)}},
	{"resent-waits", "a reply is lost, the command is sent again, the clients wait in Lock", all, schedule.Fault{Clients: client.Rules{Wait: true}, Strike: eachInFlight(loseReply)}},
	{"unsent", "a reply is lost, and go-redis does not retry", all, schedule.Fault{Clients: client.Rules{Options: noRetry}, Strike: eachInFlight(loseReply)}},
	{"nested-resent", "the holder has locked twice, a reply is lost, the command is sent again", reentrant, schedule.Fault{Clients: client.Rules{Alice: client.Alice{Program: client.Nested}}, Strike: eachInFlight(loseReply)}},
	{"deadline", "the context of an acquire ends, its command arrives", all, schedule.Fault{Clients: client.Rules{Alice: client.Alice{Deadline: time.Second}, Options: obeyContext}, Strike: inFlight(endContext)}},
	{"late-set", "the context of an acquire ends, its command arrives after the clean-up", all, schedule.Fault{Clients: client.Rules{Alice: client.Alice{Deadline: time.Second}, Options: obeyContext}, Reorder: true, Strike: inFlight(endContext)}},
	{"slow-answer", "an answer is slow, but within the validity", all, schedule.Fault{Clients: client.Rules{Alice: client.Alice{Program: client.UnlocksAgain}}, Strike: eachInFlight(holdBack)}},
	{"slow-answers", "all answers are slow, but within the validity, and the work takes longer than the ttl", renewing, schedule.Fault{Clients: client.Rules{Keeps: true}, Strike: during(slowAnswers, client.Holding)}},
	{"late-reply", "the reply to an acquire comes after a ttl", all, schedule.Fault{Strike: inFlight(delayReplies)}},
	{"pause", "a client is paused for longer than the ttl", all, schedule.Fault{Strike: during(pause, client.Acquiring, client.Holding, client.Releasing)}},
	{"pause-waits", "a client is paused for longer than the ttl, the clients wait in Lock", single, schedule.Fault{Clients: client.Rules{Wait: true}, Strike: during(pause, client.Acquiring, client.Holding, client.Releasing)}},
	{"late-write", "a write to the resource arrives after its writer has given up", all, schedule.Fault{Strike: delayWrite}},
	{"renewal-once", "a renewal fails once", renewing, schedule.Fault{Clients: client.Rules{Keeps: true, Options: noRetry}, Strike: during(failRenewal, client.Holding)}},
	{"renewal-all", "the holder cannot reach Redis any more", renewing, schedule.Fault{Strike: during(cutOff, client.Holding)}},
	{"dead", "the holder's idle connections are dead", all, schedule.Fault{Clients: client.Rules{Alice: client.Alice{Idle: 10}, Options: timeouts, Keeps: true}, Strike: during(dieSilently, client.Holding)}},
	{"stolen", "the key is overwritten by somebody else", all, schedule.Fault{Grace: notice, Strike: during(steal, client.Holding, client.Releasing)}},
	{"deleted", "the key is deleted by hand", all, schedule.Fault{Grace: notice, Strike: during(deleteKey, client.Holding, client.Releasing)}},
	{"failover", "the master fails over to an empty replica", all, schedule.Fault{Grace: notice, Strike: onNode1(failOver)}},
	{"restart", "a node restarts empty, at once", all, schedule.Fault{Grace: notice, Strike: onNode1(restart)}},
	{"restart-waits", "a node restarts empty, the clients wait in Lock", single, schedule.Fault{Clients: client.Rules{Wait: true}, Grace: notice, Strike: onNode1(restartAndWork)}},
	{"restart-late", "a node restarts empty, after more than a ttl", all, schedule.Fault{Strike: anywhere(restartLate)}},
	{"healed", "a node comes back and is healed, another one restarts empty", many, schedule.Fault{Clients: client.Rules{Keeps: true}, Missing: true, Grace: notice, Strike: during(healed, client.Holding)}},
	{"healing", "a node comes back, another one restarts empty before it is healed", many, schedule.Fault{Missing: true, Grace: notice, Strike: during(healing, client.Holding)}},
	{"clock", "a node's clock jumps forward by a ttl", all, schedule.Fault{Grace: notice, Strike: changing("1", jump)}},
	{"flush", "the script cache is flushed", scripted, schedule.Fault{Clients: client.Rules{Keeps: true}, Scripts: true, Strike: anywhere(flushScripts)}},
	{"down-1", "one node is down", all, schedule.Fault{Gone: 1, Strike: anywhere(down(1))}},
	{"down-2", "two nodes are down", many, schedule.Fault{Gone: 2, Strike: anywhere(down(2))}},
	{"down-3", "three nodes are down", many, schedule.Fault{Gone: 3, Strike: anywhere(down(3))}},
	{"outage-waits", "a majority is down for a while, the clients wait in Lock", many, schedule.Fault{Clients: client.Rules{Wait: true, Keeps: true, Passes: true}, Strike: anywhere(outage)}},
	{"hung-1", "one node hangs", all, schedule.Fault{Clients: client.Rules{Options: timeouts}, Gone: 1, Strike: anywhere(hang(1))}},
	{"hung-2", "two nodes hang", many, schedule.Fault{Clients: client.Rules{Options: timeouts}, Gone: 2, Strike: anywhere(hang(2))}},
	{"hung-3", "three nodes hang", many, schedule.Fault{Clients: client.Rules{Options: timeouts}, Gone: 3, Strike: anywhere(hang(3))}},
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

func (f fault) applies(s step) bool { return f.steps[0] <= s.n && s.n <= f.steps[1] }

func noRetry(o *redis.Options)     { o.MaxRetries = -1 }
func obeyContext(o *redis.Options) { o.ContextTimeoutEnabled = true }
func timeouts(o *redis.Options)    { o.ReadTimeout, o.WriteTimeout = 0, 0 }

// Where a fault can strike.

type (
	strike   = func(*schedule.Schedule) []search.Option
	toAlice  = func(*schedule.Schedule, *client.Client)
	toOthers = func(*schedule.Schedule)
)

// during strikes at alice, at every point of these phases.
func during(what toAlice, phases ...client.Phase) strike {
	return func(s *schedule.Schedule) []search.Option {
		alice := s.Clients[0]
		if !slices.Contains(phases, alice.Phase()) || alice.Dead() {
			return nil
		}
		return s.Strike(search.Everything, func() { what(s, alice) })
	}
}

// inFlight strikes when a command of alice's acquire is under way.
func inFlight(what toAlice) strike {
	acquires := during(what, client.Acquiring)
	return func(s *schedule.Schedule) []search.Option {
		if len(s.Clients[0].InFlight()) == 0 {
			return nil
		}
		return acquires(s)
	}
}

// eachInFlight strikes at each command that alice has in flight, or waits for.
func eachInFlight(what func(*schedule.Schedule, *client.Client, *network.Message)) strike {
	return func(s *schedule.Schedule) (opts []search.Option) {
		alice := s.Clients[0]
		if !slices.Contains(busy, alice.Phase()) {
			return nil
		}
		for _, m := range alice.InFlight() {
			opts = append(opts, s.StrikeAt(m, func() { what(s, alice, m) }))
		}
		return opts
	}
}

// anywhere strikes as long as anybody does something. After it, time may pass, in which a
// holder can hear of its loss.
func anywhere(what toOthers) strike { return changing(search.Everything, what) }

// onNode1 is the same for what happens to the first node only. A client that sends
// something may lose it.
func onNode1(what toOthers) strike { return changing("1s", what) }

func changing(things string, what toOthers) strike {
	return func(s *schedule.Schedule) []search.Option {
		for _, c := range s.Clients {
			if c.Phase() != client.Done && !c.Dead() {
				return s.Strike(things, func() {
					s.Waiting = s.Tells()
					what(s)
				})
			}
		}
		return nil
	}
}

// What a fault does to a client.

func crash(s *schedule.Schedule, c *client.Client) {
	c.Crash()
	s.OnClient(c, "dies")
}

func slow(s *schedule.Schedule, _ *client.Client) { s.Pass(long, schedule.Renewals) }

func pause(s *schedule.Schedule, c *client.Client) {
	s.OnClient(c, "is paused")
	c.Frozen.Store(true)
	s.Pass(long, schedule.Renewals)
	s.OnClient(c, "goes on")
	c.Frozen.Store(false)
}

// endContext lets the deadline of an acquire pass while its command is under way.
func endContext(s *schedule.Schedule, _ *client.Client) {
	s.Pass(time.Second+network.Latency, schedule.Renewals)
}

func loseReply(_ *schedule.Schedule, _ *client.Client, m *network.Message) { m.Lose() }

// holdBack lets a command of alice's run, and keeps its answer back. It arrives when half
// a ttl has passed.
func holdBack(s *schedule.Schedule, c *client.Client, m *network.Message) {
	reply := m.Execute()
	s.OnClient(c, "does not get this reply yet")
	s.LateOn = search.Everything
	s.Late = func() {
		s.Pass(ttl/2, schedule.Renewals)
		s.OnClient(c, "gets the reply")
		m.Answer(reply)
	}
}

// delayWrite puts alice's write into the network. She gives up waiting for it; it takes
// effect later.
func delayWrite(s *schedule.Schedule) []search.Option {
	alice := s.Clients[0]
	if _, waits := alice.AtGate(); !waits || alice.Phase() != client.Holding {
		return nil
	}
	return []search.Option{s.StrikeAt(nil, func() {
		s.OnClient(alice, "gives up: her write is delayed")
		alice.GaveUp = true
		s.LateOn = "R"
		s.Late = func() { s.Write(&alice.Holder) }
		alice.Gate <- struct{}{}
	})}
}

// delayReplies lets Redis run what a client has sent; it reads the answers after the ttl.
func delayReplies(s *schedule.Schedule, c *client.Client) {
	var answers []func()
	for _, m := range c.InFlight() {
		reply := m.Execute()
		answers = append(answers, func() { m.Answer(reply) })
	}
	s.OnClient(c, "does not get the reply yet")
	s.Pass(long, schedule.Renewals)
	s.OnClient(c, "gets the reply")
	for _, answer := range answers {
		answer()
	}
}

// slowAnswers lets all answers to a client take their time.
func slowAnswers(s *schedule.Schedule, c *client.Client) {
	s.OnClient(c, fmt.Sprintf("waits %v for each reply from now on", far))
	c.Delay = far
	s.Pass(long, schedule.Renewals)
}

// dieSilently takes a client's idle connections away.
func dieSilently(s *schedule.Schedule, c *client.Client) {
	c.Silence()
	s.OnClient(c, "loses her idle connections, and nobody notices")
	if s.Tells() {
		s.Pass(long, schedule.Renewals)
	}
}

// failRenewal lets a ttl and more pass, in which the first renewal is lost.
func failRenewal(s *schedule.Schedule, c *client.Client) {
	failed := false
	s.Pass(long, func(m *network.Message) bool {
		if schedule.Renewals(m) && !failed {
			failed = true
			s.OnClient(c, "is not heard, her connection breaks: "+m.Text)
			m.Drop()
			m.Break()
			return false
		}
		return schedule.Renewals(m)
	})
}

// cutOff takes a client's connections away. Its lease ends, and it must hear of it before.
func cutOff(s *schedule.Schedule, c *client.Client) {
	s.OnClient(c, "is cut off from Redis")
	c.Cut = true
	c.Disconnect(nil)
	s.Pass(long, schedule.Renewals)
}

// What a fault does to the key or to nodes.

func steal(s *schedule.Schedule, _ *client.Client)     { byHand(s, "overwrites", (*network.Node).Steal) }
func deleteKey(s *schedule.Schedule, _ *client.Client) { byHand(s, "deletes", (*network.Node).Delete) }

func byHand(s *schedule.Schedule, does string, what func(*network.Node)) {
	for _, n := range s.Nodes {
		what(n)
	}
	s.Happens("somebody else " + does + " the key")
	s.Waiting = s.Tells()
}

func failOver(s *schedule.Schedule) { restartNode1(s, "dies, an empty replica takes over") }
func restart(s *schedule.Schedule)  { restartNode1(s, "restarts empty") }

func restartNode1(s *schedule.Schedule, text string) {
	s.Nodes[0].Restart()
	s.OnNode(s.Nodes[0], text)
	s.Disconnect(s.Nodes[0])
}

// restartAndWork gives those who poll the time to do it.
func restartAndWork(s *schedule.Schedule) {
	restart(s)
	s.Pass(time.Second, func(m *network.Message) bool { return m.Host != s.Clients[0].Host })
}

func restartLate(s *schedule.Schedule) {
	stop(s, s.Nodes[:1])
	s.Pass(long, schedule.Renewals)
	up(s, s.Nodes[:1])
}

// up starts nodes, empty.
func up(s *schedule.Schedule, nodes []*network.Node) {
	for _, n := range nodes {
		n.Restart()
		n.Down = false
		s.OnNode(n, "starts again, empty")
	}
}

// healed lets the nodes that were missing come back, the holder renew, and node 1 restart.
func healed(s *schedule.Schedule, _ *client.Client) { comeBack(s, schedule.Renewals) }

// healing is the same, and what should heal them is under way.
func healing(s *schedule.Schedule, _ *client.Client) {
	comeBack(s, func(m *network.Message) bool { return schedule.Renewals(m) && !heals(m) })
}

func comeBack(s *schedule.Schedule, arrives func(*network.Message) bool) {
	up(s, s.Spare())
	s.Pass(ttl*4/5, arrives) // two renewals
	restart(s)
	s.Waiting = s.Tells()
}

// heals reports whether a message gives a holder's lock to a node that does not have it.
func heals(m *network.Message) bool { return m.Back && m.Runs("acquire") }

// outage is a majority that is down for less than the validity, and keeps its data.
func outage(s *schedule.Schedule) {
	majority := s.Nodes[:len(s.Nodes)/2+1]
	stop(s, majority)
	s.Pass(ttl/2, schedule.All)
	s.Pauses++
	for _, n := range majority {
		n.Down = false
		s.OnNode(n, "is up again")
	}
}

func stop(s *schedule.Schedule, nodes []*network.Node) {
	for _, n := range nodes {
		n.Down = true
		s.OnNode(n, "is down")
		s.Disconnect(n)
	}
}

func down(n int) toOthers {
	return func(s *schedule.Schedule) { stop(s, s.Nodes[:min(n, len(s.Nodes))]) }
}

func hang(n int) toOthers {
	return func(s *schedule.Schedule) {
		for _, n := range s.Nodes[:min(n, len(s.Nodes))] {
			n.Hung = true
			s.OnNode(n, "hangs")
		}
	}
}

func jump(s *schedule.Schedule) {
	s.OnNode(s.Nodes[0], fmt.Sprintf("has its clock jump forward by %v", ttl))
	s.Nodes[0].FastForward(ttl)
}

func flushScripts(s *schedule.Schedule) {
	for _, n := range s.Nodes {
		n.FlushScripts()
		s.OnNode(n, "SCRIPT FLUSH")
	}
}

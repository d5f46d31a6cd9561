package main

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// A fault is a row of the matrix. The explorer tries every point at which it can strike.
type fault struct {
	id, title string
	steps     [2]int // from, to
	rules
	red []red // what it breaks; every other cell is expected to be green
}

// A red is what is expected to go wrong in some steps, and why.
type red struct {
	from, to int
	kinds    string
	why      string
}

// expected returns what should go wrong in a cell; no kinds are green.
func (c cell) expected() red {
	for _, r := range c.fault.red {
		if r.from <= c.lock.step && c.lock.step <= r.to {
			return r
		}
	}
	return red{}
}

// Why a lock fails.
const (
	noOwner      = "DEL does not check the owner: a late or repeated one takes the next owner's lock"
	gap          = "the lock changes hands between GET and DEL"
	endsEarly    = "the lease ends while its holder is at work, and nothing renews it"
	noExpiry     = "the key has no ttl, and its holder can or will not delete it"
	halfDone     = "between SETNX and PEXPIRE the key has no ttl"
	lost         = "the only copy of the lock is gone, and its holder is notified at the next renewal at best"
	counter      = "the counter is lost with the lock, and a number comes twice; docs/fencing has the ways out"
	paused       = "no lock can stop a holder that does not know that time has passed; the resource can"
	only1        = "there is only one node"
	ownKey       = "a resent SETNX is refused by its own key, which no one deletes then"
	again        = "a release that is sent again finds nothing, and says that the lock was not held"
	bareMajority = "the holder had exactly a majority, and one of it is empty now"
	nesting      = "the owner's second TryLock is refused like any other client's"
)

const (
	long   = ttl * 3 / 2 // longer than a lease
	notice = ttl         // after that, the lease that the holder knows of has ended
)

var (
	all       = [2]int{1, 9}
	single    = [2]int{1, 7}
	scripted  = [2]int{5, 9}
	reentrant = [2]int{6, 9}
	renewing  = [2]int{7, 8}
	many      = [2]int{8, 8}

	busy = []int32{Acquiring, Holding, Releasing}
)

// endsHolds is what a fault does after which a holder works on without the lock. Steps 01
// to 04 then delete the next owner's.
func endsHolds(from, to int, why string) []red {
	return []red{
		{from, 3, "XLD", why + "; " + noOwner},
		{4, 4, "XLD", why + "; " + gap},
		{5, to, "XL", why},
	}
}

// resent is what a lost reply does, whose command is sent again.
var resent = []red{
	{1, 2, "DKN", noOwner + "; " + ownKey + "; " + again},
	{3, 3, "DN", noOwner + "; " + again},
	{4, 4, "DN", "the DEL is sent again, without the GET; " + again},
}

// emptied is what a node does that is empty.
var emptied = append(endsHolds(1, 7, lost), red{8, 8, "XL", bareMajority}, red{9, 9, "L", counter})

// unfinished is what an acquire does that does not get to its end.
var unfinished = []red{{1, 1, "K", noExpiry}, {2, 2, "K", halfDone}}

var faults = []fault{
	{"none", "nothing fails", all, rules{}, nil},
	{"waits", "nothing fails, the clients wait in Lock", all, rules{Wait: true}, nil},
	{"nested", "the holder locks again", all, rules{Program: nested}, []red{{1, 5, "B", nesting}, {9, 9, "B", nesting}}},
	{"twice", "the holder unlocks twice", all, rules{Program: unlocksTwice}, []red{{1, 3, "D", noOwner}}},
	{"crash-acquire", "a client dies while it acquires", all,
		rules{Strike: during(crash, Acquiring)}, []red{{2, 2, "K", halfDone}}},
	{"crash-hold", "the holder dies", all,
		rules{Strike: during(crash, Holding)}, []red{{1, 1, "K", noExpiry}}},
	{"crash-waits", "the holder dies, the clients wait in Lock", all,
		rules{Wait: true, Strike: during(crash, Holding)}, []red{{1, 1, "K", noExpiry}}},
	{"crash-release", "the holder dies while it releases", all,
		rules{Strike: during(crash, Releasing)}, []red{{1, 1, "K", noExpiry}}},
	{"slow", "the work takes longer than the ttl", all,
		rules{Keeps: true, Strike: during(slow, busy...)}, endsHolds(2, 6, endsEarly)},
	{"resent", "a reply is lost, go-redis sends the command again", all,
		rules{Strike: eachInFlight(loseReply)}, resent},
	{"resent-waits", "a reply is lost, the command is sent again, the clients wait in Lock", all,
		rules{Wait: true, Strike: eachInFlight(loseReply)}, resent},
	{"unsent", "a reply is lost, and go-redis does not retry", all,
		rules{Options: noRetry, Strike: eachInFlight(loseReply)}, unfinished},
	{"nested-resent", "the holder has locked twice, a reply is lost, the command is sent again", reentrant,
		rules{Program: nested, Strike: eachInFlight(loseReply)}, []red{{9, 9, "B", nesting}}},
	{"deadline", "the context of an acquire ends, its command arrives", all,
		rules{Deadline: time.Second, Options: obeyContext, Strike: inFlight(endContext)}, unfinished},
	{"late-set", "the context of an acquire ends, its command arrives after the clean-up", all,
		rules{Deadline: time.Second, Options: obeyContext, Reorder: true, Strike: inFlight(endContext)}, unfinished},
	{"slow-answer", "an answer is slow, but within the validity", all,
		rules{Program: unlocksAgain, Strike: eachInFlight(holdBack)}, nil},
	{"slow-answers", "all answers are slow, but within the validity, and the work takes longer than the ttl", renewing,
		rules{Keeps: true, Strike: during(slowAnswers, Holding)}, nil},
	{"late-reply", "the reply to an acquire comes after a ttl", all, rules{Strike: inFlight(delayReplies)}, []red{
		{2, 3, "XLD", "the lease counts from the reply, not from the request; " + noOwner},
		{4, 4, "XLD", "as step 03; " + gap},
		{5, 6, "XL", "no one checks how long the reply took"},
	}},
	{"pause", "a client is paused for longer than the ttl", all,
		rules{Strike: during(pause, busy...)}, endsHolds(2, 8, paused)},
	{"pause-waits", "a client is paused for longer than the ttl, the clients wait in Lock", single,
		rules{Wait: true, Strike: during(pause, busy...)}, endsHolds(2, 7, paused)},
	{"late-write", "a write to the resource arrives after its writer has released the lock", all,
		rules{Strike: delayWrite}, []red{{1, 8, "L", "the write is in flight when the lock is released; only the resource sees it arrive"}}},
	{"renewal-once", "a renewal fails once", renewing,
		rules{Keeps: true, Options: noRetry, Strike: during(failRenewal, Holding)}, nil},
	{"renewal-all", "the holder can no longer reach Redis", renewing,
		rules{Strike: during(cutOff, Holding)}, nil},
	{"dead", "the holder's idle connections are dead", all,
		rules{Idle: 3, Options: impatient, Keeps: true, Strike: during(dieSilently, Holding)}, nil},
	{"stolen", "another program overwrites the key", all,
		rules{Grace: notice, Strike: during(overwrite, Holding, Releasing)},
		[]red{{1, 3, "D", noOwner}, {4, 4, "D", gap}}},
	{"deleted", "the key is deleted by hand", all,
		rules{Grace: notice, Strike: during(remove, Holding, Releasing)}, []red{
			{1, 3, "XLD", "nothing protects a key from DEL by hand; " + noOwner},
			{4, 4, "XLD", "as step 03; " + gap},
			{5, 8, "XL", "nothing protects a key from DEL by hand"},
		}},
	{"failover", "the master fails over to an empty replica", all,
		rules{Grace: notice, Strike: anywhere(empties("dies, an empty replica takes over"))}, emptied},
	{"restart", "a node restarts empty, at once", all,
		rules{Grace: notice, Strike: anywhere(restart)}, emptied},
	{"restart-waits", "a node restarts empty, the clients wait in Lock", single,
		rules{Wait: true, Grace: notice, Strike: anywhere(restartAndWork)}, endsHolds(1, 7, lost)},
	{"restart-late", "a node restarts empty, after more than a ttl", all, rules{Strike: anywhere(restartLate)}, []red{
		{1, 3, "XLD", lost + "; " + noOwner},
		{4, 6, "XL", endsEarly},
		{9, 9, "L", counter},
	}},
	{"healed", "a node comes back and is healed, another one restarts empty", many,
		rules{Keeps: true, Missing: true, Grace: notice, Strike: during(healed, Holding)}, nil},
	{"healing", "a node comes back, another one restarts empty before it is healed", many,
		rules{Missing: true, Grace: notice, Strike: during(healing, Holding)}, []red{{8, 8, "XLT", bareMajority + "; a node that gets the lock again after that makes up a majority, as if nothing had happened"}}},
	{"clock", "a node's clock jumps forward by a ttl", all, rules{Grace: notice, Strike: anywhere(jump)}, []red{
		{2, 3, "XLD", "Redis ends the lease too early; " + noOwner},
		{4, 4, "XLD", "as step 03; " + gap},
		{5, 7, "XL", "Redis ends the lease too early"},
		{8, 8, "XL", "the holder had exactly a majority, and on one of its nodes the lease has expired"},
	}},
	{"flush", "the script cache is flushed", scripted,
		rules{Keeps: true, Scripts: true, Strike: anywhere(flushScripts)}, nil},
	{"down-1", "one node is down", all, rules{Gone: true, Strike: anywhere(down(1))}, []red{
		{1, 1, "KU", only1 + "; " + noExpiry},
		{2, 2, "KU", only1 + "; " + halfDone},
		{3, 7, "U", only1},
		{9, 9, "U", only1},
	}},
	{"down-2", "two nodes are down", many, rules{Strike: anywhere(down(2))}, nil},
	{"down-3", "three nodes are down", many, rules{Strike: anywhere(down(3))}, nil},
	{"outage-waits", "a majority is down for a while, the clients wait in Lock", many,
		rules{Wait: true, Keeps: true, Passes: true, Strike: anywhere(outage)}, nil},
	{"hung-1", "one node hangs", all, rules{Options: timeouts, Gone: true, Strike: anywhere(hang(1))}, []red{
		{1, 1, "KU", only1 + "; " + noExpiry},
		{2, 2, "DKU", only1 + "; the DEL is sent again; " + halfDone},
		{3, 3, "DU", only1 + "; the DEL is sent again, and runs when the node continues"},
		{4, 4, "DU", only1 + "; the DEL is sent again, without the GET"},
		{5, 7, "U", only1},
		{9, 9, "U", only1},
	}},
	{"hung-2", "two nodes hang", many, rules{Options: timeouts, Strike: anywhere(hang(2))}, nil},
	{"hung-3", "three nodes hang", many, rules{Options: timeouts, Strike: anywhere(hang(3))}, nil},
}

func faultNamed(id string) (fault, error) {
	if i := slices.IndexFunc(faults, func(f fault) bool { return f.id == id }); i >= 0 {
		return faults[i], nil
	}
	return fault{}, fmt.Errorf("there is no fault %q; docs/explore/README.md lists them", id)
}

func (f fault) applies(l lock) bool { return f.steps[0] <= l.step && l.step <= f.steps[1] }

func noRetry(o *redis.Options)     { o.MaxRetries = -1 }
func obeyContext(o *redis.Options) { o.ContextTimeoutEnabled = true }
func timeouts(o *redis.Options)    { o.ReadTimeout, o.WriteTimeout = 0, 0 }
func impatient(o *redis.Options)   { o.ReadTimeout, o.ContextTimeoutEnabled = 9*time.Second/10, true }

// Where a fault can strike.

type strike = func(*Schedule) []Option

// during strikes at alice, at every point of these phases.
func during(what func(*Schedule, *Client), phases ...int32) strike {
	return func(s *Schedule) []Option {
		alice := s.Clients[0]
		if !slices.Contains(phases, alice.phase.Load()) || alice.dead.Load() {
			return nil
		}
		return []Option{s.Strike("", nil, func() { what(s, alice) })}
	}
}

// inFlight strikes when a command of alice's acquire is in flight.
func inFlight(what func(*Schedule, *Client)) strike {
	return func(s *Schedule) []Option {
		if len(s.Clients[0].InFlight()) == 0 {
			return nil
		}
		return during(what, Acquiring)(s)
	}
}

// eachInFlight strikes at each command that alice has in flight, or waits for.
func eachInFlight(what func(*Schedule, *Message)) strike {
	return func(s *Schedule) (opts []Option) {
		alice := s.Clients[0]
		if !slices.Contains(busy, alice.phase.Load()) {
			return nil
		}
		for _, m := range alice.InFlight() {
			opts = append(opts, s.Strike(alice.Name, m, func() { what(s, m) }))
		}
		return opts
	}
}

// anywhere strikes as long as any client does something. After it, time may pass, in which
// a holder can be notified of its loss.
func anywhere(what func(*Schedule)) strike {
	return func(s *Schedule) []Option {
		if !slices.ContainsFunc(s.Clients, func(c *Client) bool { return c.phase.Load() != Done && !c.dead.Load() }) {
			return nil
		}
		return []Option{s.Strike("", nil, func() {
			s.Waiting = s.Tells()
			what(s)
		})}
	}
}

// What a fault does to a client.

func crash(s *Schedule, c *Client) {
	c.Crash()
	s.Happens(c, "dies")
}

func slow(s *Schedule, _ *Client) { s.Pass(long, renewals) }

func pause(s *Schedule, c *Client) {
	s.Happens(c, "is paused")
	c.Frozen.Store(true)
	s.Pass(long, renewals)
	s.Happens(c, "goes on")
	c.Frozen.Store(false)
}

// endContext lets the deadline of an acquire pass while its command is in flight.
func endContext(s *Schedule, _ *Client) { s.Pass(time.Second+latency, renewals) }

// loseReply lets Redis run a command, and the connection breaks before the client reads the reply.
func loseReply(_ *Schedule, m *Message) {
	m.lost = true
	m.Execute()
	m.wire.breaks()
}

// holdBack lets a command run, and keeps its answer back. It arrives when half a ttl has passed.
func holdBack(s *Schedule, m *Message) {
	reply := m.Execute()
	s.Happens(m.Client, "does not get this reply yet")
	s.Late = func() {
		s.Pass(ttl/2, renewals)
		s.Happens(m.Client, "gets the reply")
		m.Answer(reply)
	}
}

// delayWrite puts alice's write into the schedule. She gives up waiting for it; it takes
// effect later.
func delayWrite(s *Schedule) []Option {
	alice := s.Clients[0]
	if !alice.atGate.Load() || alice.phase.Load() != Holding {
		return nil
	}
	return []Option{s.Strike(alice.Name, nil, func() {
		s.Happens(alice, "gives up: her write is delayed")
		alice.GaveUp = true
		s.Late = func() { s.Write(alice) }
		alice.Gate <- struct{}{}
	})}
}

// delayReplies lets Redis run what a client has sent; it reads the answers after the ttl.
func delayReplies(s *Schedule, c *Client) {
	sent, replies := c.InFlight(), [][]byte{}
	for _, m := range sent {
		replies = append(replies, m.Execute())
	}
	s.Happens(c, "does not get the reply yet")
	s.Pass(long, renewals)
	s.Happens(c, "gets the reply")
	for i, m := range sent {
		m.Answer(replies[i])
	}
}

// slowAnswers lets all answers to a client take a time that is slow, and of use.
func slowAnswers(s *Schedule, c *Client) {
	c.Delay = ttl / 5
	s.Happens(c, fmt.Sprintf("waits %v for each reply from now on", c.Delay))
	s.Pass(long, renewals)
}

// dieSilently breaks a client's idle connections, and it does not notice. What it sends on them
// is lost.
func dieSilently(s *Schedule, c *Client) {
	for _, w := range s.wires {
		w.silent.Store(w.client == c && !slices.ContainsFunc(s.flight, func(m *Message) bool { return m.wire == w }))
	}
	s.Happens(c, "loses her idle connections without noticing")
	if s.Tells() {
		s.Pass(long, renewals)
	}
}

// failRenewal lets a ttl and more pass, in which the first renewal is lost.
func failRenewal(s *Schedule, c *Client) {
	failed := false
	s.Pass(long, func(m *Message) bool {
		if renewals(m) && !failed {
			failed = true
			s.Happens(c, "is not heard, her connection breaks: "+m.Text)
			m.Drop()
			m.wire.breaks()
			return false
		}
		return renewals(m)
	})
}

// cutOff takes a client's connections away. Its lease ends, and it must be notified before that.
func cutOff(s *Schedule, c *Client) {
	s.Happens(c, "is cut off from Redis")
	c.Cut = true
	s.Disconnect(c, nil)
	s.Pass(long, renewals)
}

// What a fault does to the key or to nodes.

func overwrite(s *Schedule, _ *Client) { byHand(s, "overwrites", (*Node).Steal) }
func remove(s *Schedule, _ *Client)    { byHand(s, "deletes", func(n *Node) { n.Del(key) }) }

// byHand is what another program does to the key.
func byHand(s *Schedule, does string, what func(*Node)) {
	for _, n := range s.Nodes {
		what(n)
	}
	s.Happens(nil, "another program "+does+" the key")
	s.Waiting = s.Tells()
}

// empties is node 1 with nothing in it, at once.
func empties(text string) func(*Schedule) {
	return func(s *Schedule) {
		s.Nodes[0].Restart()
		s.Happens(s.Nodes[0], text)
		s.Disconnect(nil, s.Nodes[0])
	}
}

var restart = empties("restarts empty")

// restartAndWork gives those who poll the time to do it.
func restartAndWork(s *Schedule) {
	restart(s)
	s.Pass(time.Second, func(m *Message) bool { return m.Client != s.Clients[0] })
}

func restartLate(s *Schedule) {
	stop(s, s.Nodes[:1])
	s.Pass(long, renewals)
	up(s, s.Nodes[:1])
}

// up starts nodes, empty.
func up(s *Schedule, nodes []*Node) {
	for _, n := range nodes {
		n.Restart()
		n.Down = false
		s.Happens(n, "starts again, empty")
	}
}

// comeBack lets the nodes that were missing come back, the holder renew, and node 1 restart.
func comeBack(s *Schedule, arrives func(*Message) bool) {
	up(s, s.Spare())
	s.Pass(ttl*4/5, arrives) // two renewals
	restart(s)
	s.Waiting = s.Tells()
}

func healed(s *Schedule, _ *Client) { comeBack(s, renewals) }

// healing is the same, and the command that should heal them is in flight.
func healing(s *Schedule, _ *Client) {
	comeBack(s, func(m *Message) bool { return renewals(m) && !heals(m) })
}

// heals reports whether a message gives a holder's lock to a node that does not have it.
func heals(m *Message) bool { return m.Back && strings.HasPrefix(m.Text, "acquire ") }

// outage is a majority that is down for less than the validity, and keeps its data.
func outage(s *Schedule) {
	majority := s.Nodes[:len(s.Nodes)/2+1]
	stop(s, majority)
	s.Pass(ttl/2, everything)
	s.Pauses++
	for _, n := range majority {
		n.Down = false
		s.Happens(n, "is up again")
	}
}

func stop(s *Schedule, nodes []*Node) {
	for _, n := range nodes {
		n.Down = true
		s.Happens(n, "is down")
		s.Disconnect(nil, n)
	}
}

func down(n int) func(*Schedule) {
	return func(s *Schedule) { stop(s, s.Nodes[:min(n, len(s.Nodes))]) }
}

func hang(n int) func(*Schedule) {
	return func(s *Schedule) {
		for _, n := range s.Nodes[:min(n, len(s.Nodes))] {
			n.Hung = true
			s.Happens(n, "hangs")
		}
	}
}

func jump(s *Schedule) {
	s.Happens(s.Nodes[0], fmt.Sprintf("has its clock jump forward by %v", ttl))
	s.Nodes[0].FastForward(ttl)
}

func flushScripts(s *Schedule) {
	for _, n := range s.Nodes {
		n.FlushScripts()
		s.Happens(n, "SCRIPT FLUSH")
	}
}

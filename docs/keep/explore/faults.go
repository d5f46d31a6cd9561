package main

import (
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/keep/explore/internal/schedule"
	"example.com/redislock-steps/docs/keep/explore/internal/search"
)

// A fault is a row of the matrix. The explorer tries every point at which it can strike.
type fault struct {
	id, title string
	steps     [2]int // from, to
	schedule.Fault
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
	far    = ttl / 5     // the time of an answer that is slow, and of use
)

var (
	all       = [2]int{1, 9}
	single    = [2]int{1, 7}
	scripted  = [2]int{5, 9}
	reentrant = [2]int{6, 9}
	renewing  = [2]int{7, 8}
	many      = [2]int{8, 8}

	busy = []schedule.Phase{schedule.Acquiring, schedule.Holding, schedule.Releasing}
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
	{"none", "nothing fails", all, schedule.Fault{}, nil},
	{"waits", "nothing fails, the clients wait in Lock", all, schedule.Fault{Wait: true}, nil},
	{"nested", "the holder locks again", all, schedule.Fault{Program: schedule.Nested}, []red{{1, 5, "B", nesting}, {9, 9, "B", nesting}}},
	{"twice", "the holder unlocks twice", all, schedule.Fault{Program: schedule.UnlocksTwice}, []red{{1, 3, "D", noOwner}}},
	{"crash-acquire", "a client dies while it acquires", all,
		schedule.Fault{Strike: during(crash, schedule.Acquiring)}, []red{{2, 2, "K", halfDone}}},
	{"crash-hold", "the holder dies", all,
		schedule.Fault{Strike: during(crash, schedule.Holding)}, []red{{1, 1, "K", noExpiry}}},
	{"crash-waits", "the holder dies, the clients wait in Lock", all,
		schedule.Fault{Wait: true, Strike: during(crash, schedule.Holding)}, []red{{1, 1, "K", noExpiry}}},
	{"crash-release", "the holder dies while it releases", all,
		schedule.Fault{Strike: during(crash, schedule.Releasing)}, []red{{1, 1, "K", noExpiry}}},
	{"slow", "the work takes longer than the ttl", all,
		schedule.Fault{Keeps: true, Strike: during(slow, busy...)}, endsHolds(2, 6, endsEarly)},
	{"resent", "a reply is lost, go-redis sends the command again", all,
		schedule.Fault{Strike: eachInFlight(loseReply)}, resent},
	{"resent-waits", "a reply is lost, the command is sent again, the clients wait in Lock", all,
		schedule.Fault{Wait: true, Strike: eachInFlight(loseReply)}, resent},
	{"unsent", "a reply is lost, and go-redis does not retry", all,
		schedule.Fault{Options: noRetry, Strike: eachInFlight(loseReply)}, unfinished},
	{"nested-resent", "the holder has locked twice, a reply is lost, the command is sent again", reentrant,
		schedule.Fault{Program: schedule.Nested, Strike: eachInFlight(loseReply)}, []red{{9, 9, "B", nesting}}},
	{"deadline", "the context of an acquire ends, its command arrives", all,
		schedule.Fault{Deadline: time.Second, Options: obeyContext, Strike: inFlight(endContext)}, unfinished},
	{"late-set", "the context of an acquire ends, its command arrives after the clean-up", all,
		schedule.Fault{Deadline: time.Second, Options: obeyContext, Reorder: true, Strike: inFlight(endContext)}, unfinished},
	{"slow-answer", "an answer is slow, but within the validity", all,
		schedule.Fault{Program: schedule.UnlocksAgain, Strike: eachInFlight(holdBack)}, nil},
	{"slow-answers", "all answers are slow, but within the validity, and the work takes longer than the ttl", renewing,
		schedule.Fault{Keeps: true, Strike: during(slowAnswers, schedule.Holding)}, nil},
	{"late-reply", "the reply to an acquire comes after a ttl", all, schedule.Fault{Strike: inFlight(delayReplies)}, []red{
		{2, 3, "XLD", "the lease counts from the reply, not from the request; " + noOwner},
		{4, 4, "XLD", "as step 03; " + gap},
		{5, 6, "XL", "no one checks how long the reply took"},
	}},
	{"pause", "a client is paused for longer than the ttl", all,
		schedule.Fault{Strike: during(pause, busy...)}, endsHolds(2, 8, paused)},
	{"pause-waits", "a client is paused for longer than the ttl, the clients wait in Lock", single,
		schedule.Fault{Wait: true, Strike: during(pause, busy...)}, endsHolds(2, 7, paused)},
	{"late-write", "a write to the resource arrives after its writer has given up", all,
		schedule.Fault{Strike: delayWrite}, []red{{1, 8, "L", "the write is in flight when the lock is released; only the resource sees it arrive"}}},
	{"renewal-once", "a renewal fails once", renewing,
		schedule.Fault{Keeps: true, Options: noRetry, Strike: during(failRenewal, schedule.Holding)}, nil},
	{"renewal-all", "the holder can no longer reach Redis", renewing,
		schedule.Fault{Strike: during(cutOff, schedule.Holding)}, nil},
	{"dead", "the holder's idle connections are dead", all,
		schedule.Fault{Idle: 3, Options: impatient, Keeps: true, Strike: during(dieSilently, schedule.Holding)}, nil},
	{"stolen", "another program overwrites the key", all,
		schedule.Fault{Grace: notice, Strike: during(overwrite, schedule.Holding, schedule.Releasing)},
		[]red{{1, 3, "D", noOwner}, {4, 4, "D", gap}}},
	{"deleted", "the key is deleted by hand", all,
		schedule.Fault{Grace: notice, Strike: during(deleteKey, schedule.Holding, schedule.Releasing)}, []red{
			{1, 3, "XLD", "nothing protects a key from DEL by hand; " + noOwner},
			{4, 4, "XLD", "as step 03; " + gap},
			{5, 8, "XL", "nothing protects a key from DEL by hand"},
		}},
	{"failover", "the master fails over to an empty replica", all,
		schedule.Fault{Grace: notice, Strike: anywhere(failOver)}, emptied},
	{"restart", "a node restarts empty, at once", all,
		schedule.Fault{Grace: notice, Strike: anywhere(restart)}, emptied},
	{"restart-waits", "a node restarts empty, the clients wait in Lock", single,
		schedule.Fault{Wait: true, Grace: notice, Strike: anywhere(restartAndWork)}, endsHolds(1, 7, lost)},
	{"restart-late", "a node restarts empty, after more than a ttl", all, schedule.Fault{Strike: anywhere(restartLate)}, []red{
		{1, 3, "XLD", lost + "; " + noOwner},
		{4, 6, "XL", endsEarly},
		{9, 9, "L", counter},
	}},
	{"healed", "a node comes back and is healed, another one restarts empty", many,
		schedule.Fault{Keeps: true, Missing: true, Grace: notice, Strike: during(healed, schedule.Holding)}, nil},
	{"healing", "a node comes back, another one restarts empty before it is healed", many,
		schedule.Fault{Missing: true, Grace: notice, Strike: during(healing, schedule.Holding)}, []red{{8, 8, "XLT", bareMajority + "; a node that gets the lock again after that makes up a majority, as if nothing had happened"}}},
	{"clock", "a node's clock jumps forward by a ttl", all, schedule.Fault{Grace: notice, Strike: anywhere(jump)}, []red{
		{2, 3, "XLD", "Redis ends the lease too early; " + noOwner},
		{4, 4, "XLD", "as step 03; " + gap},
		{5, 7, "XL", "Redis ends the lease too early"},
		{8, 8, "XL", "the holder had exactly a majority, and on one of its nodes the lease has expired"},
	}},
	{"flush", "the script cache is flushed", scripted,
		schedule.Fault{Keeps: true, Scripts: true, Strike: anywhere(flushScripts)}, nil},
	{"down-1", "one node is down", all, schedule.Fault{Gone: 1, Strike: anywhere(down(1))}, []red{
		{1, 1, "KU", only1 + "; " + noExpiry},
		{2, 2, "KU", only1 + "; " + halfDone},
		{3, 7, "U", only1},
		{9, 9, "U", only1},
	}},
	{"down-2", "two nodes are down", many, schedule.Fault{Gone: 2, Strike: anywhere(down(2))}, nil},
	{"down-3", "three nodes are down", many, schedule.Fault{Gone: 3, Strike: anywhere(down(3))}, nil},
	{"outage-waits", "a majority is down for a while, the clients wait in Lock", many,
		schedule.Fault{Wait: true, Keeps: true, Passes: true, Strike: anywhere(outage)}, nil},
	{"hung-1", "one node hangs", all, schedule.Fault{Options: timeouts, Gone: 1, Strike: anywhere(hang(1))}, []red{
		{1, 1, "KU", only1 + "; " + noExpiry},
		{2, 2, "DKU", only1 + "; the DEL is sent again; " + halfDone},
		{3, 3, "DU", only1 + "; the DEL is sent again, and runs when the node continues"},
		{4, 4, "DU", only1 + "; the DEL is sent again, without the GET"},
		{5, 7, "U", only1},
		{9, 9, "U", only1},
	}},
	{"hung-2", "two nodes hang", many, schedule.Fault{Options: timeouts, Gone: 2, Strike: anywhere(hang(2))}, nil},
	{"hung-3", "three nodes hang", many, schedule.Fault{Options: timeouts, Gone: 3, Strike: anywhere(hang(3))}, nil},
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

func (f fault) applies(l lock) bool { return f.steps[0] <= l.step && l.step <= f.steps[1] }

func noRetry(o *redis.Options)     { o.MaxRetries = -1 }
func obeyContext(o *redis.Options) { o.ContextTimeoutEnabled = true }
func timeouts(o *redis.Options)    { o.ReadTimeout, o.WriteTimeout = 0, 0 }
func impatient(o *redis.Options)   { o.ReadTimeout, o.ContextTimeoutEnabled = 9*time.Second/10, true }

// Where a fault can strike.

type strike = func(*schedule.Schedule) []search.Option

// during strikes at alice, at every point of these phases.
func during(what func(*schedule.Schedule, *schedule.Client), phases ...schedule.Phase) strike {
	return func(s *schedule.Schedule) []search.Option {
		alice := s.Clients[0]
		if !slices.Contains(phases, alice.Phase()) || alice.Dead() {
			return nil
		}
		return []search.Option{s.Strike("", nil, func() { what(s, alice) })}
	}
}

// inFlight strikes when a command of alice's acquire is in flight.
func inFlight(what func(*schedule.Schedule, *schedule.Client)) strike {
	acquires := during(what, schedule.Acquiring)
	return func(s *schedule.Schedule) []search.Option {
		if len(s.Clients[0].InFlight()) == 0 {
			return nil
		}
		return acquires(s)
	}
}

// eachInFlight strikes at each command that alice has in flight, or waits for.
func eachInFlight(what func(*schedule.Schedule, *schedule.Message)) strike {
	return func(s *schedule.Schedule) (opts []search.Option) {
		alice := s.Clients[0]
		if !slices.Contains(busy, alice.Phase()) {
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
func anywhere(what func(*schedule.Schedule)) strike {
	return func(s *schedule.Schedule) []search.Option {
		active := func(c *schedule.Client) bool { return c.Phase() != schedule.Done && !c.Dead() }
		if !slices.ContainsFunc(s.Clients, active) {
			return nil
		}
		return []search.Option{s.Strike("", nil, func() {
			s.Waiting = s.Tells()
			what(s)
		})}
	}
}

// What a fault does to a client.

func crash(s *schedule.Schedule, c *schedule.Client) {
	c.Crash()
	s.Happens(c, "dies")
}

func slow(s *schedule.Schedule, _ *schedule.Client) { s.Pass(long, schedule.Renewals) }

func pause(s *schedule.Schedule, c *schedule.Client) {
	s.Happens(c, "is paused")
	c.Frozen.Store(true)
	s.Pass(long, schedule.Renewals)
	s.Happens(c, "goes on")
	c.Frozen.Store(false)
}

// endContext lets the deadline of an acquire pass while its command is in flight.
func endContext(s *schedule.Schedule, _ *schedule.Client) {
	s.Pass(time.Second+schedule.Latency, schedule.Renewals)
}

func loseReply(_ *schedule.Schedule, m *schedule.Message) { m.Lose() }

// holdBack lets a command run, and keeps its answer back. It arrives when half a ttl has passed.
func holdBack(s *schedule.Schedule, m *schedule.Message) {
	reply := m.Execute()
	s.Happens(m.Client, "does not get this reply yet")
	s.Late = func() {
		s.Pass(ttl/2, schedule.Renewals)
		s.Happens(m.Client, "gets the reply")
		m.Answer(reply)
	}
}

// delayWrite puts alice's write into the schedule. She gives up waiting for it; it takes
// effect later.
func delayWrite(s *schedule.Schedule) []search.Option {
	alice := s.Clients[0]
	if !alice.AtGate() || alice.Phase() != schedule.Holding {
		return nil
	}
	return []search.Option{s.Strike(alice.Name, nil, func() {
		s.Happens(alice, "gives up: her write is delayed")
		alice.GaveUp = true
		s.Late = func() { s.Write(alice) }
		alice.Gate <- struct{}{}
	})}
}

// delayReplies lets Redis run what a client has sent; it reads the answers after the ttl.
func delayReplies(s *schedule.Schedule, c *schedule.Client) {
	var answers []func()
	for _, m := range c.InFlight() {
		reply := m.Execute()
		answers = append(answers, func() { m.Answer(reply) })
	}
	s.Happens(c, "does not get the reply yet")
	s.Pass(long, schedule.Renewals)
	s.Happens(c, "gets the reply")
	for _, answer := range answers {
		answer()
	}
}

// slowAnswers lets all answers to a client take their time.
func slowAnswers(s *schedule.Schedule, c *schedule.Client) {
	s.Happens(c, fmt.Sprintf("waits %v for each reply from now on", far))
	c.Delay = far
	s.Pass(long, schedule.Renewals)
}

// dieSilently takes a client's idle connections away.
func dieSilently(s *schedule.Schedule, c *schedule.Client) {
	c.Silence()
	s.Happens(c, "loses her idle connections without noticing")
	if s.Tells() {
		s.Pass(long, schedule.Renewals)
	}
}

// failRenewal lets a ttl and more pass, in which the first renewal is lost.
func failRenewal(s *schedule.Schedule, c *schedule.Client) {
	failed := false
	s.Pass(long, func(m *schedule.Message) bool {
		if schedule.Renewals(m) && !failed {
			failed = true
			s.Happens(c, "is not heard, her connection breaks: "+m.Text)
			m.Drop()
			m.Break()
			return false
		}
		return schedule.Renewals(m)
	})
}

// cutOff takes a client's connections away. Its lease ends, and it must be notified before that.
func cutOff(s *schedule.Schedule, c *schedule.Client) {
	s.Happens(c, "is cut off from Redis")
	c.Cut = true
	c.Disconnect(nil)
	s.Pass(long, schedule.Renewals)
}

// What a fault does to the key or to nodes.

func overwrite(s *schedule.Schedule, _ *schedule.Client) {
	byHand(s, "overwrites", (*schedule.Node).Steal)
}
func deleteKey(s *schedule.Schedule, _ *schedule.Client) {
	byHand(s, "deletes", func(n *schedule.Node) { n.Del(key) })
}

// byHand is what another program does to the key.
func byHand(s *schedule.Schedule, does string, what func(*schedule.Node)) {
	for _, n := range s.Nodes {
		what(n)
	}
	s.Happens(nil, "another program "+does+" the key")
	s.Waiting = s.Tells()
}

func failOver(s *schedule.Schedule) { restartNode1(s, "dies, an empty replica takes over") }
func restart(s *schedule.Schedule)  { restartNode1(s, "restarts empty") }

func restartNode1(s *schedule.Schedule, text string) {
	s.Nodes[0].Restart()
	s.Happens(s.Nodes[0], text)
	s.Disconnect(s.Nodes[0])
}

// restartAndWork gives those who poll the time to do it.
func restartAndWork(s *schedule.Schedule) {
	restart(s)
	s.Pass(time.Second, func(m *schedule.Message) bool { return m.Client != s.Clients[0] })
}

func restartLate(s *schedule.Schedule) {
	stop(s, s.Nodes[:1])
	s.Pass(long, schedule.Renewals)
	up(s, s.Nodes[:1])
}

// up starts nodes, empty.
func up(s *schedule.Schedule, nodes []*schedule.Node) {
	for _, n := range nodes {
		n.Restart()
		n.Down = false
		s.Happens(n, "starts again, empty")
	}
}

// healed lets the nodes that were missing come back, the holder renew, and node 1 restart.
func healed(s *schedule.Schedule, _ *schedule.Client) { comeBack(s, schedule.Renewals) }

// healing is the same, and the command that should heal them is in flight.
func healing(s *schedule.Schedule, _ *schedule.Client) {
	comeBack(s, func(m *schedule.Message) bool { return schedule.Renewals(m) && !heals(m) })
}

func comeBack(s *schedule.Schedule, arrives func(*schedule.Message) bool) {
	up(s, s.Spare())
	s.Pass(ttl*4/5, arrives) // two renewals
	restart(s)
	s.Waiting = s.Tells()
}

// heals reports whether a message gives a holder's lock to a node that does not have it.
func heals(m *schedule.Message) bool { return m.Back && m.Runs("acquire") }

// outage is a majority that is down for less than the validity, and keeps its data.
func outage(s *schedule.Schedule) {
	majority := s.Nodes[:len(s.Nodes)/2+1]
	stop(s, majority)
	s.Pass(ttl/2, schedule.All)
	s.Pauses++
	for _, n := range majority {
		n.Down = false
		s.Happens(n, "is up again")
	}
}

func stop(s *schedule.Schedule, nodes []*schedule.Node) {
	for _, n := range nodes {
		n.Down = true
		s.Happens(n, "is down")
		s.Disconnect(n)
	}
}

func down(n int) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) { stop(s, s.Nodes[:min(n, len(s.Nodes))]) }
}

func hang(n int) func(*schedule.Schedule) {
	return func(s *schedule.Schedule) {
		for _, n := range s.Nodes[:min(n, len(s.Nodes))] {
			n.Hung = true
			s.Happens(n, "hangs")
		}
	}
}

func jump(s *schedule.Schedule) {
	s.Happens(s.Nodes[0], fmt.Sprintf("has its clock jump forward by %v", ttl))
	s.Nodes[0].FastForward(ttl)
}

func flushScripts(s *schedule.Schedule) {
	for _, n := range s.Nodes {
		n.FlushScripts()
		s.Happens(n, "SCRIPT FLUSH")
	}
}

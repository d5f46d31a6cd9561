package redislock

// The test harness of the stories: real go-redis clients and in-memory Redis servers
// (miniredis) inside a testing/synctest bubble. Time is virtual: time.Sleep(time.Hour)
// takes no time, and keys expire by it. A story runs in one goroutine; hooks inject what
// happens in between.
//
// This file has what stories call. Below it are the network and the timeline, in
// lab_net_test.go. docs/read/testing.md explains it.
//
//lint:file-ignore U1000 some of this only later steps need

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

const latency = 100 * time.Microsecond // from a client to Redis; the reply takes no time

// docs/keep/realfaults sets other values, to play the stories on real servers.
var (
	ctx        = context.Background()
	key        = "coupons"
	ttl        = 10 * time.Second
	forever    = 365 * 24 * time.Hour
	afterwards = 24 * time.Hour // in which everything that still runs notices the end of the story

	realTime         = false
	play             = synctest.Test
	settle           = func(*lab) { synctest.Wait() }
	slack            = func(d time.Duration) time.Duration { return d }
	needsVirtualTime = func(t *testing.T, why string) {}
	newRedis         = newMemory
)

// T is a story's test. Its first failed assertion is the story's verdict.
type T struct {
	*testing.T
	lab *lab
}

func (t *T) Errorf(format string, args ...any) {
	t.Helper()
	t.lab.trace.add(record{Kind: "verdict", Text: fmt.Sprintf(format, args...)})
	t.T.Errorf(format, args...)
}

// A lab is where one story plays.
type lab struct {
	t       *testing.T
	trace   *trace
	clients map[string]*client // by name
	mayMiss bool               // a story in which some locks send too little for a hook
	settles chan struct{}      // a turn: synctest.Wait is for one at a time

	mu      sync.Mutex
	servers map[string]*server // by address
}

// inLab plays a story and prints its timeline if it fails, or with -v.
func inLab(t *testing.T, story func(t *T, lab *lab)) {
	t.Helper()
	play(t, func(t *testing.T) {
		learnScripts.Do(func() {
			lab := newLab(t)
			defer lab.close()
			lab.trace.untold = true
			lock := lab.lockOn("nobody", lab.client("nobody").nodes, key+"-scripts", ttl)
			lock.TryLock(ctx)
			time.Sleep(ttl / 2) // a renewal, if the lock has them
			lock.Unlock(ctx)
		})
		lab := newLab(t)
		defer lab.close()
		told := &T{t, lab}
		story(told, lab)
		lab.requireAllStruck(told)
	})
}

// eachNth plays a story with nth 1, 2, 3 and so on, and returns how often it was true. It ends
// when the story returns false: its client has sent fewer than nth commands.
func eachNth(t *testing.T, name string, story func(t *T, lab *lab, nth int) bool) (n int) {
	for more := true; more && n < 20; {
		t.Run(fmt.Sprintf(name, n+1), func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				more = story(t, lab, n+1)
				lab.mayMiss = lab.mayMiss || !more
			})
		})
		if more {
			n++
		}
	}
	return n
}

// Each Redis has the lock's scripts loaded, like one in use. Otherwise every first call
// would send its script twice.
var (
	learnScripts sync.Once
	scripts      sync.Map // sources by SHA-1, once they have been sent
)

func newLab(t *testing.T) *lab {
	logging.Disable()
	l := &lab{t: t, clients: map[string]*client{}, servers: map[string]*server{}, settles: make(chan struct{}, 1)}
	l.trace = &trace{lab: l, start: time.Now(), names: map[string]string{}, tokens: map[string]int{},
		shared: map[string]bool{}}
	for node := range nodes {
		l.serve(node)
	}
	return l
}

// close ends a story, even a failed one: it cuts the clients off and lets a day pass, so
// that everything that still runs notices and ends. Otherwise the bubble would report a
// deadlock instead of the failed assertion.
func (l *lab) close() {
	l.wait() // for the replies that no client waited for
	l.trace.end()
	for _, c := range l.clients {
		c.cut()
	}
	// Close waits on a mutex for connections that are being made and for commands that
	// sleep before a resend. In the meantime, virtual time would stall.
	time.Sleep(min(time.Second, afterwards))
	for _, c := range l.clients {
		for _, rdb := range c.nodes {
			rdb.Close()
		}
	}
	time.Sleep(afterwards)
	for _, s := range l.servers {
		s.Close()
	}
}

// wait lets everything in flight arrive.
func (l *lab) wait() { l.settles <- struct{}{}; settle(l); <-l.settles }

// server returns a node's Redis after everything in flight has arrived.
func (l *lab) server(node int) *server {
	l.wait()
	return l.at(addr(node))
}

// keys returns what is stored on all nodes.
func (l *lab) keys() (keys []string) {
	for node := range nodes {
		keys = append(keys, l.server(node).Keys()...)
	}
	return keys
}

// owner returns the token at a node's key, or "" if the lock is free there.
func (l *lab) owner(node int) string { return l.server(node).owner() }

// lock returns a new handle on the story's lock for the client called name.
func (l *lab) lock(name string, change ...func(*redis.Options)) *handle {
	return l.lockOn(name, l.client(name, change...).nodes, key, ttl)
}

// lockOn returns a new handle on another lock, or on some of the nodes.
func (l *lab) lockOn(name string, rdbs []redis.UniversalClient, on string, ttl time.Duration) *handle {
	if on != key || len(rdbs) != nodes {
		name += " on another lock"
	}
	return &handle{newLock(rdbs, on, ttl), l, name}
}

// removeHooks removes the client's hooks.
func (l *lab) removeHooks(name string) {
	c := l.client(name)
	defer c.inTurn()()
	c.hooks = nil
}

// beforeNth runs fn just before the client's nth command from now on reaches Redis.
func (l *lab) beforeNth(name string, nth int, fn func()) *hook {
	return l.inject(name, &hook{match: nthIs(nth), before: fn})
}

// afterNth runs fn after Redis has run the client's nth command from now on, before the
// client gets the reply.
func (l *lab) afterNth(name string, nth int, fn func()) *hook {
	return l.inject(name, &hook{match: nthIs(nth), after: fn})
}

// beforeWrite runs fn just before the client's next command that is not only a read
// reaches Redis.
func (l *lab) beforeWrite(name string, fn func()) *hook {
	return l.inject(name, &hook{match: isWrite, before: fn})
}

// failFrom makes Redis reply with an error to the client's nth command from now on, and
// to all that follow.
func (l *lab) failFrom(name string, nth int, message string) *hook {
	match := func(_ string, n int) bool { return n >= nth }
	return l.inject(name, &hook{match: match, reply: errors.New(message), again: true})
}

// loseReply loses the next reply to a write of the client, on every node: Redis has run
// the command, but the connection breaks before the client gets the reply. Then it runs
// then, and the command is resent by go-redis or by the lock. An error reply is not lost,
// because it changed nothing.
func (l *lab) loseReply(name string, then ...func()) {
	var mu sync.Mutex
	lost := map[*server]bool{}
	done := make(chan struct{})
	l.inject(name, &hook{match: isWrite, again: true, lose: func(m *message) bool {
		mu.Lock()
		again, first := lost[m.wire.server], len(lost) == 0
		lost[m.wire.server] = true
		mu.Unlock()
		if again {
			return false
		}
		if first {
			for _, fn := range then {
				fn()
			}
			close(done)
		}
		<-done
		return true
	}})
}

// delayReply makes the replies to the client's next command, on every node, come d later.
func (l *lab) delayReply(name string, d time.Duration) {
	l.inject(name, &hook{match: nthIs(1), after: func() { time.Sleep(d) }, again: true})
}

// crash kills the client called name.
func (l *lab) crash(name string) {
	l.wait()
	l.trace.add(record{Kind: "fault", Text: name + " dies", Gone: name})
	l.client(name).cut()
}

// crashAfter kills the client after Redis has run its nth command from now on.
func (l *lab) crashAfter(name string, nth int) *hook {
	return l.afterNth(name, nth, func() { l.crash(name) })
}

// limitHold sets MaxHold on the locks that have it. Otherwise their watchdog would renew
// a forgotten lock as long as its process is alive.
func limitHold(h *handle, d time.Duration) {
	if h.set("MaxHold", d) {
		h.lab.note("%s's MaxHold is %v: the lock is not renewed after that", h.who, d)
	}
}

// endLease advances Redis's clocks until every lock that is held now has expired.
func (l *lab) endLease() {
	for node := range nodes {
		l.server(node).FastForward(ttl)
	}
	l.fault("the clock of Redis jumps ahead by %v: all leases have expired", ttl)
}

// stop makes a node unreachable. It keeps its data, and may be started again.
func (l *lab) stop(node int) (start func()) {
	s := l.server(node)
	s.down.Store(true)
	l.fault("%s is down", s.name)
	l.disconnect(s)
	return func() {
		l.wait()
		s.down.Store(false)
		l.fault("%s is up again", s.name)
	}
}

// hang stops a node like SIGSTOP: it accepts connections and commands, but runs nothing.
// When it resumes, it runs everything it was sent in the meantime, even if no client
// still waits for that.
func (l *lab) hang(node int) (goOn func()) {
	var mu sync.Mutex
	var held []*message
	s := l.server(node)
	s.intercept(func(m *message) bool {
		mu.Lock()
		defer mu.Unlock()
		held = append(held, m)
		return true
	})
	l.fault("%s hangs", s.name)
	return func() {
		l.wait()
		s.intercept(nil)
		l.fault("%s resumes", s.name)
		for _, m := range held {
			m.record = l.trace.add(record{Kind: "command", Who: m.record.Who, Node: m.record.Node,
				Text: m.record.Text, Late: true})
			m.run(&hook{})
		}
		l.wait()
	}
}

// failover kills a node's master before it has replicated anything. An empty replica
// takes over.
func (l *lab) failover(node int) {
	l.replace(node, "the master dies, and a replica that never received the lock takes over")
}

// replace replaces a node's Redis with an empty one.
func (l *lab) replace(node int, what string) {
	old := l.server(node)
	l.serve(node)
	l.fault("%s: %s", old.name, what)
	l.disconnect(old)
	old.Close()
}

// note adds a row from the story itself; fault adds one about something that breaks or
// works again.
func (l *lab) note(format string, args ...any) {
	l.trace.add(record{Kind: "note", Text: fmt.Sprintf(format, args...)})
}
func (l *lab) fault(format string, args ...any) {
	l.trace.add(record{Kind: "fault", Text: fmt.Sprintf(format, args...)})
}

// sent returns how many commands have been sent so far, even to an unreachable Redis: all
// of them, or those that a story selects.
func (l *lab) sent(of ...func(*record) bool) (n int) {
	l.wait()
	l.trace.mu.Lock()
	defer l.trace.mu.Unlock()
	for _, r := range l.trace.records {
		if (r.Kind == "command" && !r.Late || r.Kind == "refused") && (of == nil || of[0](r)) {
			n++
		}
	}
	return n
}

// call reports a call of the lock in the timeline. new_test.go wraps each step's lock
// with it.
func (l *lab) call(who, name string, call func() error) error {
	who, other, _ := strings.Cut(who, " ")
	name = strings.TrimSpace(name + " " + other)
	l.trace.add(record{Kind: "call", Who: who, Text: name})
	err := call()
	if l.client(who).dead.Load() {
		return err // the caller is dead
	}
	result := record{Kind: "return", Who: who, Text: name, Reply: "ok"}
	if err != nil {
		result.Reply, result.Err = err.Error(), namesOf(err)
	}
	l.trace.add(result)
	return err
}

// goroutines waits until all goroutines are blocked and counts those that the lock has
// started, without those of its connections.
func goroutines(lab *lab) int {
	lab.wait()
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	return len(ofTheLock.FindAll(stacks, -1))
}

var ofTheLock = regexp.MustCompile(`/step0\w+/[a-z]+\.go:`)

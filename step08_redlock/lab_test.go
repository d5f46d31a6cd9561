package redislock

// The laboratory in which the stories play: real go-redis clients and in-memory Redis
// servers (miniredis) inside a testing/synctest bubble. Time is virtual:
// time.Sleep(time.Hour) takes no time, and keys expire by it. A story runs in one
// goroutine; a twist puts in what happens in between. All that a client sends passes one
// place, wire.serve: there commands are delayed, lost and refused, and from there they
// enter the trace. docs/read/testing.md explains it.
//
//lint:file-ignore U1000 some of this only later steps need

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

const latency = 100 * time.Microsecond // from a client to Redis; the way back takes no time

// docs/keep/realfaults sets others, to play the stories on real servers.
var (
	ctx        = context.Background()
	key        = "coupons"
	ttl        = 10 * time.Second
	forever    = 365 * 24 * time.Hour
	afterwards = 24 * time.Hour // in which whatever still runs finds out that the story has ended

	realTime         = false
	play             = synctest.Test
	settle           = func(*lab) { synctest.Wait() }
	slack            = func(d time.Duration) time.Duration { return d }
	needsVirtualTime = func(t *testing.T, why string) {}
	newRedis         = newMemory
)

// T is the test of a story. Its first failed assertion is the story's verdict.
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

	mu      sync.Mutex
	servers map[string]*server // by address
}

// inLab plays a story and prints its timeline: with -v, and when the story failed.
func inLab(t *testing.T, story func(t *T, lab *lab)) {
	t.Helper()
	play(t, func(t *testing.T) {
		learnScripts.Do(func() {
			lab := newLab(t)
			defer lab.close()
			lab.trace.untold = true
			lock := lab.lockOn("nobody", lab.client("nobody").nodes, key+"-scripts", ttl)
			lock.TryLock(ctx)
			time.Sleep(ttl / 2) // a renewal, if there are any
			lock.Unlock(ctx)
		})
		lab := newLab(t)
		defer lab.close()
		story(&T{t, lab}, lab)
	})
}

// Each Redis knows the lock's scripts, as one in use does. Otherwise every first call
// would send its script once more.
var (
	learnScripts sync.Once
	scripts      sync.Map // sources by SHA-1, once they were sent
)

func newLab(t *testing.T) *lab {
	logging.Disable()
	l := &lab{t: t, clients: map[string]*client{}, servers: map[string]*server{}}
	l.trace = &trace{lab: l, start: time.Now(), names: map[string]string{key: "coupons"}, tokens: map[string]int{}}
	for node := range nodes {
		l.serve(node)
	}
	return l
}

// close ends a story, even a failed one: it cuts the clients off and lets a day pass, in
// which whatever still runs finds that out and ends. Otherwise the bubble would report a
// deadlock instead of the failed assertion.
func (l *lab) close() {
	l.wait() // for the replies that no client waited for
	l.trace.end()
	for _, c := range l.clients {
		c.cut()
	}
	// Close waits on a mutex for connections that are being made and for commands that
	// sleep before they are sent again. Virtual time would stand still meanwhile.
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

// A backend is what a lab sees of a Redis, past the clients: a miniredis, or a real one.
type backend interface {
	Exists(key string) bool
	Type(key string) string
	Get(key string) (string, error)
	HKeys(key string) ([]string, error)
	Keys() []string
	Set(key, value string) error
	TTL(key string) time.Duration
	SetTTL(key string, ttl time.Duration)
	FastForward(d time.Duration) // lets keys expire early
	FlushAll()
	SetError(message string) // the answer to every command, until it is ""
	Close()
	Dial() (net.Conn, error)
}

// newMemory returns a miniredis whose keys expire by the clock of the bubble, and which
// knows the lock's scripts.
func newMemory(int) backend {
	m := miniredis.NewMiniRedis()
	m.ClockTTL(true)
	conn, _ := m.Dial() // starts it without a port
	defer conn.Close()
	scripts.Range(func(_, source any) bool {
		proto.Write(conn, []string{"SCRIPT", "LOAD", source.(string)})
		proto.Read(bufio.NewReader(conn))
		return true
	})
	return m
}

// A server is one Redis.
type server struct {
	backend
	name  string // in timelines and messages
	node  int
	down  atomic.Bool                         // refuses connections
	holds atomic.Pointer[func(*message) bool] // takes what is sent to a server that hangs
}

func addr(node int) string { return fmt.Sprintf("10.0.0.%d:6379", node+1) }

// serve starts an empty Redis for a node.
func (l *lab) serve(node int) {
	name := map[bool]string{true: "Redis", false: fmt.Sprint("node ", node+1)}[nodes == 1]
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers[addr(node)] = &server{backend: newRedis(node), node: node, name: name}
}

// wait lets everything that is on its way arrive.
func (l *lab) wait() { settle(l) }

// server returns the Redis of a node, when everything that is on its way there has arrived.
func (l *lab) server(node int) *server {
	l.wait()
	return l.at(addr(node))
}

func (l *lab) at(addr string) *server {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.servers[addr]
}

// keys returns what is stored on all nodes.
func (l *lab) keys() (keys []string) {
	for node := range nodes {
		keys = append(keys, l.server(node).Keys()...)
	}
	return keys
}

// owner returns the token that a node's key belongs to, "" when the lock is free there.
func (l *lab) owner(node int) string { return l.server(node).owner() }

func (s *server) owner() string {
	switch s.Type(key) {
	case "string":
		token, _ := s.Get(key)
		return token
	case "hash":
		fields, _ := s.HKeys(key)
		return strings.Join(fields, " ")
	}
	return ""
}

// A client is one process, with connections of its own.
type client struct {
	lab   *lab
	name  string
	nodes []redis.UniversalClient
	dead  atomic.Bool
	far   atomic.Int64 // time.Duration: of a round trip, beside the latency

	commands atomic.Int64 // that it has sent
	dials    atomic.Int64 // connections that it has made

	turn   chan struct{} // holds one value while a twist is looked for, or runs
	twists []*twist

	mu    sync.Mutex
	wires []*wire
}

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

// client returns the client called name, and makes it when it is first spoken of.
func (l *lab) client(name string, change ...func(*redis.Options)) *client {
	if c := l.clients[name]; c != nil {
		return c
	}
	c := &client{lab: l, name: name, turn: make(chan struct{}, 1)}
	l.clients[name] = c
	for node := range nodes {
		opt := &redis.Options{
			// go-redis would leave the bubble to resolve a host name, and when a pool runs dry.
			Addr: addr(node), Dialer: c.dial, PoolSize: 100,
			// Random pauses would make every timeline different. No pause at all (-1) is
			// a timer of length 0, and on such a timer Go 1.26 crashes now and then in a
			// bubble under the race detector.
			DialerRetries: 1, MinRetryBackoff: time.Nanosecond, MaxRetryBackoff: time.Nanosecond,
		}
		for _, change := range change {
			change(opt)
		}
		c.nodes = append(c.nodes, redis.NewClient(opt))
	}
	return c
}

// oneWay is what a message takes to Redis, or back, beside the latency.
func (c *client) oneWay() time.Duration { return time.Duration(c.far.Load()) / 2 }

func (c *client) dial(_ context.Context, _, addr string) (net.Conn, error) {
	time.Sleep(2 * c.oneWay())
	s := c.lab.at(addr)
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	if c.dead.Load() || c.makesTooMany() {
		return nil, refused
	}
	if s.down.Load() {
		c.lab.trace.add(record{Kind: "refused", Who: c.name, Node: s.node + 1, Text: "cannot reach " + s.name + ": connection refused"})
		return nil, refused
	}
	up, err := s.Dial()
	if err != nil {
		return nil, err
	}
	near, far := net.Pipe()
	w := &wire{Conn: far, up: up, client: c, server: s, replies: make(chan string)}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wires = append(c.wires, w)
	go w.read()
	go w.listen()
	return pipe{near, w}, nil
}

// cut ends a client: its connections die, and it cannot dial again.
func (c *client) cut() {
	c.dead.Store(true)
	c.hangUp(func(*wire) bool { return true })
}

func (c *client) hangUp(on func(*wire) bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, w := range c.wires {
		if on(w) {
			w.Close()
		}
	}
}

// pipe is the client's end of a connection. Broken, it says what a TCP connection says.
type pipe struct {
	net.Conn
	wire *wire
}

func (p pipe) Read(b []byte) (int, error) {
	n, err := p.Conn.Read(b)
	if after := p.wire.after.Swap(nil); after != nil && err == nil {
		(*after)()
	}
	if p.wire.client.dead.Load() {
		return 0, io.EOF
	}
	return n, eof(err)
}

func (p pipe) Write(b []byte) (int, error)        { n, err := p.Conn.Write(b); return n, eof(err) }
func (p pipe) SetReadDeadline(t time.Time) error  { return eof(p.Conn.SetReadDeadline(t)) }
func (p pipe) SetWriteDeadline(t time.Time) error { return eof(p.Conn.SetWriteDeadline(t)) }

func eof(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return io.EOF
	}
	return err
}

// A wire is a connection between a client and a server.
type wire struct {
	net.Conn          // to the client
	up       net.Conn // to the server
	client   *client
	server   *server
	replies  chan string
	after    atomic.Pointer[func()] // what comes between the next reply and the client
	silent   atomic.Bool            // it has died, and neither end knows
	listens  atomic.Bool            // it has subscribed
	queues   bool                   // between MULTI and EXEC: what comes is not run yet
}

// A message is a command that has arrived.
type message struct {
	wire   *wire
	args   []string
	record *record
}

// read takes what the client sends, one command after the other.
func (w *wire) read() {
	var unanswered *record
	for r := bufio.NewReader(w.Conn); ; {
		command, err := proto.Read(r)
		if err != nil {
			break
		}
		args, _ := proto.ReadStrings(command)
		switch name := strings.ToLower(args[0]); {
		case name == "subscribe":
			w.listens.Store(true)
			w.client.lab.trace.add(record{Kind: "note", Who: w.client.name, Text: "listens on " + w.client.lab.trace.name(args[1])})
			fallthrough
		case w.listens.Load():
			time.Sleep(w.client.oneWay())
			proto.Write(w.up, args)
		case name == "hello" || name == "client" || name == "ping": // go-redis's own affairs
			time.Sleep(2 * w.client.oneWay())
			w.Write(w.run(args))
		default:
			unanswered = w.serve(args)
		}
	}
	if unanswered == nil { // otherwise a Redis that hangs still has to run it
		w.up.Close()
	} else if !w.client.dead.Load() && !w.server.down.Load() {
		w.client.lab.trace.add(record{Kind: "timeout", Who: unanswered.Who, Text: "waits no longer for the reply to " + unanswered.Text})
	}
}

// listen takes what the server sends: replies, and what a subscriber hears.
func (w *wire) listen() {
	defer w.Close()
	defer close(w.replies)
	for r := bufio.NewReader(w.up); ; {
		answer, err := proto.Read(r)
		if err != nil {
			return
		}
		if !w.listens.Load() {
			w.replies <- answer
			continue
		}
		if words := strings.Split(answer, "\r\n"); len(words) > 6 && words[2] == "message" {
			// Redis may be busy publishing: nothing can be asked about its keys.
			w.client.lab.trace.addTo(nil, record{Kind: "note", Who: w.client.name, Text: "hears: " + words[6]})
		}
		w.Write([]byte(answer))
	}
}

// run lets the server run a command. The reply is empty when the connection has broken.
func (w *wire) run(args []string) (reply []byte) {
	proto.Write(w.up, args)
	return []byte(<-w.replies)
}

// serve is the way of a command: to Redis, through it, and back. A story can get in at
// each point. It returns the command's record if that was not answered.
func (w *wire) serve(args []string) (unanswered *record) {
	c, s := w.client, w.server
	time.Sleep(latency + c.oneWay())
	tw := c.arrive(s.node, w.name(args))
	if c.dead.Load() {
		return nil
	}
	m := &message{wire: w, args: args}
	holds := s.holds.Load()
	held := holds != nil && *holds != nil && (*holds)(m) || w.silent.Load() || c.isTooBusy()
	m.record = c.lab.trace.add(record{Kind: "command", Who: c.name, Node: s.node + 1, Text: c.lab.trace.text(c.name, args), held: held})
	if held {
		return m.record
	}
	m.run(tw)
	return nil
}

// name is what a command is called, that of MULTI if Redis only queues it.
func (w *wire) name(args []string) string {
	name := strings.ToLower(args[0])
	w.queues = name == "multi" || w.queues && name != "exec" && name != "discard"
	if w.queues {
		return "multi"
	}
	return name
}

// tooBusy is how many commands no client has a reason to send in a story.
const tooBusy = 10_000

// isTooBusy ends the story of a lock that asks again and again: nobody answers it any
// more. Otherwise it would ask for a year of virtual time.
func (c *client) isTooBusy() bool {
	n := c.commands.Add(1)
	if n == tooBusy && !realTime {
		(&T{c.lab.t, c.lab}).Errorf("%s has sent %d commands, and goes on: a lock that waits must not ask Redis without a pause", c.name, n)
	}
	return n >= tooBusy && !realTime
}

// tooMany is how many connections no client has a reason to make in a story.
const tooMany = 1000

// makesTooMany is the same for a lock that connects, or subscribes, again and again.
func (c *client) makesTooMany() bool {
	n := c.dials.Add(1)
	if n == tooMany && !realTime {
		(&T{c.lab.t, c.lab}).Errorf("%s has made %d connections, and goes on: a lock needs one for each call that is under way", c.name, n)
	}
	return n >= tooMany && !realTime
}

// run lets Redis answer, and the client read the answer.
func (m *message) run(tw *twist) {
	w, tr := m.wire, m.wire.client.lab.trace
	var reply []byte
	if tw.reply != nil {
		reply = []byte("-" + tw.reply.Error() + "\r\n")
	} else if reply = w.run(m.args); len(reply) == 0 {
		return
	}
	tr.reply(m.record, reply)
	time.Sleep(w.client.oneWay())
	if tw.after != nil {
		w.after.Store(&tw.after)
	}
	if tw.lose != nil && reply[0] != '-' && tw.lose(m) {
		tr.lose(m.record)
		w.Close()
	}
	w.Write(reply)
}

// A twist is something that a story lets happen in the middle of a client's commands.
type twist struct {
	match  func(command string, nth int) bool // nth: on its node, since the twist was announced
	before func()                             // runs just before the command reaches Redis
	reply  error                              // Redis's answer instead of running the command
	after  func()                             // runs when the command is done, but not answered
	lose   func(m *message) bool              // whether the reply, which is no error, is lost
	again  bool                               // at every match, not only the first
	nodes  []int                              // only there; nil is everywhere
	seen   map[int]int
	fired  bool
}

func (l *lab) announce(name string, tw *twist) *twist {
	l.wait() // what is on its way is not meant
	tw.seen = map[int]int{}
	c := l.client(name)
	defer c.inTurn()()
	c.twists = append(c.twists, tw)
	return tw
}

// stopTwists lets the client's commands go their way again.
func (l *lab) stopTwists(name string) {
	c := l.client(name)
	defer c.inTurn()()
	c.twists = nil
}

// inTurn lets one command of a client arrive at a time, whatever a twist does meanwhile.
// A mutex would stop the clock.
func (c *client) inTurn() (done func()) {
	c.turn <- struct{}{}
	return func() { <-c.turn }
}

// arrive returns the twist that the story has for this command, after having run what comes before.
func (c *client) arrive(node int, command string) (now *twist) {
	defer c.inTurn()()
	for _, tw := range c.twists {
		if tw.nodes != nil && !slices.Contains(tw.nodes, node) {
			continue
		}
		tw.seen[node]++
		if now == nil && (!tw.fired || tw.again) && tw.match(command, tw.seen[node]) {
			now, tw.fired = tw, true
		}
	}
	if now == nil {
		return &twist{}
	}
	if now.before != nil {
		now.before()
	}
	return now
}

func nthIs(n int) func(string, int) bool { return func(_ string, nth int) bool { return nth == n } }
func isWrite(command string, _ int) bool {
	return !slices.Contains([]string{"exists", "get", "pttl", "ttl", "hget", "hexists", "script", "watch", "unwatch", "multi"}, command)
}

// beforeNth runs fn just before the client's nth command from now on reaches Redis.
func (l *lab) beforeNth(name string, nth int, fn func()) *twist {
	return l.announce(name, &twist{match: nthIs(nth), before: fn})
}

// afterNth runs fn when Redis has run the client's nth command from now on, before the
// client hears of it.
func (l *lab) afterNth(name string, nth int, fn func()) *twist {
	return l.announce(name, &twist{match: nthIs(nth), after: fn})
}

// beforeWrite runs fn just before the client's next command that is not a mere read reaches Redis.
func (l *lab) beforeWrite(name string, fn func()) *twist {
	return l.announce(name, &twist{match: isWrite, before: fn})
}

// failFrom lets Redis answer an error to the client's nth command from now on, and to all
// that follow.
func (l *lab) failFrom(name string, nth int, message string) *twist {
	match := func(_ string, n int) bool { return n >= nth }
	return l.announce(name, &twist{match: match, reply: errors.New(message), again: true})
}

// loseReply loses the next reply to a write of the client, on every node: Redis has run
// the command, and the connection breaks before the client hears of it. Then it runs fn,
// and the command is sent again, by go-redis or by the lock. An error is not lost:
// nothing has happened yet.
func (l *lab) loseReply(name string, fn func()) {
	var mu sync.Mutex
	lost := map[*server]bool{}
	done := make(chan struct{})
	l.announce(name, &twist{match: isWrite, again: true, lose: func(m *message) bool {
		mu.Lock()
		again, first := lost[m.wire.server], len(lost) == 0
		lost[m.wire.server] = true
		mu.Unlock()
		if again {
			return false
		}
		if first {
			fn()
			close(done)
		}
		<-done
		return true
	}})
}

// crash kills the client called name.
func (l *lab) crash(name string) {
	l.wait()
	l.fault("%s dies", name)
	l.client(name).cut()
}

// crashAfter kills the client when Redis has run its nth command from now on.
func (l *lab) crashAfter(name string, nth int) *twist {
	return l.afterNth(name, nth, func() { l.crash(name) })
}

// limitHold sets MaxHold on the locks that have it. Their watchdog would hold a forgotten
// lock as long as its process lives.
func limitHold(h *handle, d time.Duration) {
	if h.set("MaxHold", d) {
		h.lab.note("%s's MaxHold is %v: the lock is not renewed after that", h.who, d)
	}
}

// set sets a field of the lock, and reports whether it has one.
func (h *handle) set(field string, d time.Duration) bool {
	f := reflect.ValueOf(h.lockOf).Elem().FieldByName(field)
	if f.IsValid() {
		f.SetInt(int64(d))
	}
	return f.IsValid()
}

// endLease lets Redis's clocks run until every lock that is held now has expired.
func (l *lab) endLease() {
	for node := range nodes {
		l.server(node).FastForward(ttl)
	}
	l.fault("the clock of Redis jumps ahead by %v: all leases are over", ttl)
}

// far lets each round trip of a client take longer from now on, even those that make a connection.
func (l *lab) far(name string, roundTrip time.Duration) {
	l.wait()
	l.client(name).far.Store(int64(roundTrip))
	l.fault("from now on, a round trip of %s takes %v", name, roundTrip)
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

// disconnect breaks all connections to a server.
func (l *lab) disconnect(s *server) {
	for _, c := range l.clients {
		c.hangUp(func(w *wire) bool { return w.server == s })
	}
}

// intercept lets holds see what is sent to a server from now on. What it takes is not run.
func (s *server) intercept(holds func(*message) bool) { s.holds.Store(&holds) }

// hang stops a node in the way SIGSTOP does: it takes connections and commands, and runs
// nothing. When it goes on, it runs all that it was sent meanwhile, even if nobody waits
// for that any more.
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
		l.fault("%s goes on", s.name)
		for _, m := range held {
			m.record = l.trace.add(record{Kind: "command", Who: m.record.Who, Node: m.record.Node, Text: m.record.Text, Late: true})
			m.run(&twist{})
		}
		l.wait()
	}
}

// failover kills a node's master before it has replicated anything. The replica that
// takes over is empty.
func (l *lab) failover(node int) {
	l.replace(node, "the master dies, and a replica that never received the lock takes over")
}

// replace puts an empty Redis where one was.
func (l *lab) replace(node int, what string) {
	old := l.server(node)
	l.serve(node)
	l.fault("%s: %s", old.name, what)
	l.disconnect(old)
	old.Close()
}

// note adds a row of the story itself, fault one about something that breaks or is well again.
func (l *lab) note(format string, args ...any) {
	l.trace.add(record{Kind: "note", Text: fmt.Sprintf(format, args...)})
}
func (l *lab) fault(format string, args ...any) {
	l.trace.add(record{Kind: "fault", Text: fmt.Sprintf(format, args...)})
}

// sent returns how many commands were sent so far, even to a Redis that could not be
// reached: all, or those that a story asks for.
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

// call reports a call of the lock. new_test.go wraps each step's lock so.
func (l *lab) call(who, name string, call func() error) error {
	who, other, _ := strings.Cut(who, " ")
	name = strings.TrimSpace(name + " " + other)
	l.trace.add(record{Kind: "call", Who: who, Text: name})
	err := call()
	if l.client(who).dead.Load() {
		return err // nobody is there to whom it returns
	}
	result := "ok"
	if err != nil {
		result = err.Error()
	}
	l.trace.add(record{Kind: "return", Who: who, Text: name, Reply: result})
	return err
}

// A trace is what has happened in a story. The same story leaves the same trace every
// time: tokens and scripts appear by name, and the set-up of connections does not appear.
// docs/internal/trace reads it.
type trace struct {
	lab    *lab
	untold bool // too many clients for a timeline
	start  time.Time

	mu      sync.Mutex
	records []*record
	names   map[string]string // of tokens
	tokens  map[string]int    // how many a client has had
}

// A record is one thing that has happened. docs/read/testing.md says what its fields mean.
type record struct {
	At    int64  `json:"at"`
	Who   string `json:"who,omitempty"`
	Node  int    `json:"node,omitempty"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Reply string `json:"reply,omitempty"`
	Lost  bool   `json:"lost,omitempty"`
	Late  bool   `json:"late,omitempty"`
	Redis []lock `json:"redis"`
	held  bool   // nobody will answer it soon
}

// A lock is what a node has at the story's key.
type lock struct {
	Token string `json:"token,omitempty"`
	Until int64  `json:"until,omitempty"`
}

func (tr *trace) now() int64 { return time.Since(tr.start).Microseconds() }

func (tr *trace) add(r record) *record { return tr.addTo(tr.locks(), r) }

func (tr *trace) addTo(locks []lock, r record) *record {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	r.At, r.Redis = tr.now(), locks
	if r.Kind == "refused" && slices.ContainsFunc(tr.records, func(o *record) bool { return o.At > r.At-10_000 && o.Who == r.Who && o.Text == r.Text }) {
		return nil // go-redis tries several times at once
	}
	tr.records = append(tr.records, &r)
	return &r
}

// locks returns what is in Redis now.
func (tr *trace) locks() []lock {
	locks := make([]lock, nodes)
	for node := range nodes {
		s := tr.lab.at(addr(node))
		if realTime || tr.untold || !s.Exists(key) {
			continue
		}
		if locks[node].Token = tr.name(s.owner()); s.TTL(key) > 0 {
			locks[node].Until = time.Since(tr.start.Add(-s.TTL(key))).Round(10 * time.Microsecond).Microseconds()
		}
	}
	return locks
}

// reply adds the answer to a command.
func (tr *trace) reply(r *record, reply []byte) {
	text, rest, _ := strings.Cut(string(reply), "\r\n")
	switch text[0] {
	case '_':
		text = "(nil)"
	case '$':
		text = strings.TrimSuffix(rest, "\r\n")
	case '*':
		words, _ := proto.Parse(string(reply)) // numbers as well: EXEC's
		text = strings.Trim(fmt.Sprint(words), "[]")
	default:
		text = text[1:]
	}
	text, locks := tr.name(text), tr.locks()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	r.Reply, r.Redis = text, locks
}

func (tr *trace) lose(r *record) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	r.Lost = true
}

// name returns what a token is called in the timeline.
func (tr *trace) name(s string) string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return strings.ReplaceAll(cmp.Or(tr.names[s], s), key, "coupons")
}

// text is a command as redis-cli shows it. A script has the names of itself and of its
// arguments in its first line, "-- name argument..."; a token has that of the client that
// used it first.
func (tr *trace) text(who string, args []string) string {
	words, command := []string{strings.ToUpper(args[0])}, strings.ToLower(args[0])
	for i, arg := range args[1:] {
		tr.mu.Lock()
		if i > 0 && len(arg) >= 20 && tr.names[arg] == "" && !strings.Contains(arg, " ") {
			// Nothing but a token is that long.
			tr.tokens[who]++
			tr.names[arg] = fmt.Sprintf("<%s-%d>", who, tr.tokens[who])
		}
		tr.mu.Unlock()
		words = append(words, cmp.Or(tr.name(arg), `""`))
		if command == "set" && i > 1 {
			words[i+1] = strings.ToUpper(words[i+1])
		}
	}
	if command == "script" && len(args) > 2 {
		return "SCRIPT LOAD " + namesIn(args[2], true)[0]
	}
	if !strings.HasPrefix(command, "eval") || len(args) < 4 {
		return strings.Join(words, " ")
	}
	names := namesIn(args[1], command == "eval")
	for i := 1; i < len(names) && 3+i < len(words); i++ {
		if names[i] != "token" {
			words[3+i] = names[i] + "=" + words[3+i]
		}
	}
	return strings.Join(append(names[:1:1], words[3:]...), " ")
}

// namesIn returns the names in the first line of a script, which is given by its SHA-1 or whole.
func namesIn(script string, whole bool) []string {
	if whole {
		scripts.Store(fmt.Sprintf("%x", sha1.Sum([]byte(script))), script)
	} else if known, ok := scripts.Load(script); ok {
		script = known.(string)
	}
	if first, _, _ := strings.Cut(script, "\n"); strings.HasPrefix(first, "-- ") && len(first) > 3 {
		return strings.Fields(first[3:])
	}
	return []string{"a script"}
}

// end prints the timeline, as far as it fits a screen. With -artifacts, it leaves the
// trace in the test's folder.
func (tr *trace) end() {
	if tr.untold {
		return
	}
	var file, rows bytes.Buffer
	for i, r := range tr.records {
		json.NewEncoder(&file).Encode(r)
		if r.Kind != "call" && r.Kind != "verdict" && i < 60 {
			fmt.Fprintf(&rows, "%9.1fms  %-6s %s%s\n", float64(r.At)/1000, cmp.Or(r.Who, "--"), r.Text, r.result())
		}
	}
	tr.lab.t.Logf("timeline:\n%s", rows.String())
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		os.WriteFile(filepath.Join(tr.lab.t.ArtifactDir(), "trace.jsonl"), file.Bytes(), 0o666)
	}
}

func (r *record) result() string {
	switch {
	case r.Lost:
		return " -> " + r.Reply + ", but the reply is lost"
	case r.Reply != "":
		return " -> " + r.Reply
	case r.Kind == "command":
		return " -> (no reply)"
	}
	return ""
}

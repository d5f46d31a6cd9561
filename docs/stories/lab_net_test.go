package redislock

// The lab's network: servers, clients and the wires between them. Authors of stories need
// not read this file. Everything that a client sends passes through wire.serve, which
// delays, loses and rejects commands and adds them to the trace.
//
//lint:file-ignore U1000 some of this only later steps need

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/proto"
	"github.com/redis/go-redis/v9"
)

// Half of a story's time was spent on collecting the garbage of its servers.
func init() { debug.SetGCPercent(400) }

// A backend is a Redis as the lab sees it: a miniredis or a real one.
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
	SetError(message string) // the reply to every command; "" ends that
	Close()
	Dial() (net.Conn, error)
}

// newMemory returns a miniredis whose keys expire by the bubble's clock and which has the
// lock's scripts loaded.
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
	holds atomic.Pointer[func(*message) bool] // takes what is sent to a hung server
}

func addr(node int) string { return fmt.Sprintf("10.0.0.%d:6379", node+1) }

// serve starts an empty Redis for a node.
func (l *lab) serve(node int) {
	name := fmt.Sprint("node ", node+1)
	if nodes == 1 {
		name = "Redis"
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers[addr(node)] = &server{backend: newRedis(node), node: node, name: name}
}

func (l *lab) at(addr string) *server {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.servers[addr]
}

// key is where the lock is stored: a lock may put something in front of its key.
func (s *server) key() string {
	for _, stored := range s.Keys() {
		if _, rest, ok := strings.Cut(stored, key); ok && strings.Trim(rest, "}") == "" {
			return stored
		}
	}
	return key
}

func (s *server) owner() string {
	switch s.Type(s.key()) {
	case "string":
		token, _ := s.Get(s.key())
		return token
	case "hash":
		fields, _ := s.HKeys(s.key())
		return strings.Join(fields, " ")
	}
	return ""
}

// A client is one process with its own connections.
type client struct {
	lab   *lab
	name  string
	nodes []redis.UniversalClient
	dead  atomic.Bool
	far   atomic.Int64 // time.Duration: of a round trip, in addition to the latency

	commands atomic.Int64 // that it has sent
	dials    atomic.Int64 // connections that it has made

	turn  chan struct{} // holds one value while a hook is looked up or runs
	hooks []*hook

	mu    sync.Mutex
	wires []*wire
}

// client returns the client called name and creates it on first use.
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
			// a timer of length 0, on which Go 1.26 sometimes crashes in a bubble under
			// the race detector.
			DialerRetries: 1, MinRetryBackoff: time.Nanosecond, MaxRetryBackoff: time.Nanosecond,
		}
		for _, change := range change {
			change(opt)
		}
		c.nodes = append(c.nodes, redis.NewClient(opt))
	}
	return c
}

// oneWay is the time that a message takes to or from Redis, in addition to the latency.
func (c *client) oneWay() time.Duration { return time.Duration(c.far.Load()) / 2 }

func (c *client) dial(_ context.Context, _, addr string) (net.Conn, error) {
	time.Sleep(2 * c.oneWay())
	s := c.lab.at(addr)
	refused := &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	if c.dead.Load() || c.overdoes(&c.dials, 1000,
		"%s has made %d connections and keeps going: a lock needs one for each call in progress") {
		return nil, refused
	}
	if s.down.Load() {
		c.lab.trace.add(record{Kind: "refused", Who: c.name, Node: s.node + 1,
			Text: "cannot reach " + s.name + ": connection refused"})
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

// pipe is the client's end of a connection. If broken, it returns TCP errors.
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
	after    atomic.Pointer[func()] // runs between the next reply and the client
	silent   atomic.Bool            // it has died, but neither end knows
	listens  atomic.Bool            // it has subscribed
	queues   bool                   // between MULTI and EXEC: commands are only queued
}

// A message is a command that has arrived.
type message struct {
	wire   *wire
	args   []string
	record *record
}

// read takes what the client sends, one command after another.
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
			w.client.lab.trace.add(record{Kind: "note", Who: w.client.name,
				Text: "listens on " + w.client.lab.trace.name(args[1])})
			fallthrough
		case w.listens.Load():
			if name == "ping" {
				w.client.lab.trace.add(record{Kind: "note", Who: w.client.name,
					Text: "go-redis sends PING on the connection that listens"})
			}
			time.Sleep(w.client.oneWay())
			proto.Write(w.up, args)
		case name == "hello" || name == "client" || name == "ping": // sent by go-redis itself
			time.Sleep(2 * w.client.oneWay())
			w.Write(w.run(args))
		default:
			unanswered = w.serve(args)
		}
	}
	if unanswered == nil { // otherwise a hung Redis still has to run it
		w.up.Close()
	} else if !w.client.dead.Load() && !w.server.down.Load() {
		w.client.lab.trace.add(record{Kind: "timeout", Who: unanswered.Who,
			Text: "no longer waits for the reply to " + unanswered.Text})
	}
}

// listen takes what the server sends: replies, and messages to a subscriber.
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
		if w.silent.Load() {
			continue
		}
		if words := strings.Split(answer, "\r\n"); len(words) > 6 && words[2] == "message" {
			// Redis may be busy publishing, so its keys cannot be read.
			w.client.lab.trace.addTo(nil, record{Kind: "message", Who: w.client.name, Text: "hears: " + words[6]})
		}
		w.Write([]byte(answer))
	}
}

// run runs a command on the server. The reply is empty if the connection has broken.
func (w *wire) run(args []string) (reply []byte) {
	proto.Write(w.up, args)
	return []byte(<-w.replies)
}

// serve takes a command to Redis, runs it and carries the reply. A story can interfere
// at each point. It returns the command's record if it gets no reply.
func (w *wire) serve(args []string) (unanswered *record) {
	c, s := w.client, w.server
	time.Sleep(latency + c.oneWay())
	h := c.arrive(s.node, w.name(args))
	if c.dead.Load() {
		return nil
	}
	m := &message{wire: w, args: args}
	holds := s.holds.Load()
	held := holds != nil && *holds != nil && (*holds)(m) || w.silent.Load() ||
		c.overdoes(&c.commands, 10_000,
			"%s has sent %d commands and keeps going: a lock that waits must not poll Redis without a pause")
	m.record = c.lab.trace.add(record{Kind: "command", Who: c.name, Node: s.node + 1,
		Text: c.lab.trace.text(c.name, args), held: held})
	if held {
		return m.record
	}
	m.run(h)
	return nil
}

// name returns the name of a command, or MULTI if Redis only queues it.
func (w *wire) name(args []string) string {
	name := strings.ToLower(args[0])
	w.queues = name == "multi" || w.queues && name != "exec" && name != "discard"
	if w.queues {
		return "multi"
	}
	return name
}

// overdoes fails the story of a lock that sends or connects without end: from then on, it
// gets no reply. Otherwise the story would take a year of virtual time.
func (c *client) overdoes(count *atomic.Int64, limit int64, says string) bool {
	n := count.Add(1)
	if n == limit && !realTime {
		(&T{c.lab.t, c.lab}).Errorf(says, c.name, n)
	}
	return n >= limit && !realTime
}

// run makes Redis reply and the client read the reply.
func (m *message) run(h *hook) {
	w, tr := m.wire, m.wire.client.lab.trace
	var reply []byte
	if h.reply != nil {
		reply = []byte("-" + h.reply.Error() + "\r\n")
	} else if reply = w.run(m.args); len(reply) == 0 {
		return
	}
	tr.reply(m.record, reply)
	time.Sleep(w.client.oneWay())
	if h.after != nil {
		w.after.Store(&h.after)
	}
	if h.lose != nil && reply[0] != '-' && h.lose(m) {
		tr.lose(m.record)
		w.Close()
	}
	w.Write(reply)
}

// A hook is a fault or another event that a story injects into a client's commands.
type hook struct {
	match  func(command string, nth int) bool // nth: on its node, since the hook was injected
	before func()                             // runs just before the command reaches Redis
	reply  error                              // Redis's reply instead of running the command
	after  func()                             // runs after the command, before its reply
	lose   func(m *message) bool              // whether the reply, which is not an error, is lost
	again  bool                               // at every match, not only the first
	nodes  []int                              // only there; nil is everywhere
	seen   map[int]int
	struck atomic.Bool // read by the story while a client may still send
}

func (l *lab) inject(name string, h *hook) *hook {
	l.wait() // what is already in flight does not count
	h.seen = map[int]int{}
	c := l.client(name)
	defer c.inTurn()()
	if h.lose != nil { // an earlier loss has ended: its hook would take the commands of this one
		c.hooks = slices.DeleteFunc(c.hooks, func(old *hook) bool { return old.fired() && old.lose != nil })
	}
	c.hooks = append(c.hooks, h)
	return h
}

// fired reports whether the event has come.
func (h *hook) fired() bool { return h.struck.Load() }

// inTurn lets only one command of a client arrive at a time, even while a hook runs. A
// mutex would stop the clock.
func (c *client) inTurn() (done func()) {
	c.turn <- struct{}{}
	return func() { <-c.turn }
}

// arrive returns the hook that the story has for this command, after running its before.
func (c *client) arrive(node int, command string) (now *hook) {
	defer c.inTurn()()
	for _, h := range c.hooks {
		if h.nodes != nil && !slices.Contains(h.nodes, node) {
			continue
		}
		h.seen[node]++
		if now == nil && (!h.fired() || h.again) && h.match(command, h.seen[node]) {
			now = h
			h.struck.Store(true)
		}
	}
	if now == nil {
		return &hook{}
	}
	if now.before != nil {
		now.before()
	}
	return now
}

// requireAllStruck fails a story whose fault or event never came: it shows nothing.
func (l *lab) requireAllStruck(t *T) {
	l.wait()
	for _, c := range l.clients {
		defer c.inTurn()()
		for _, h := range c.hooks {
			if !h.fired() && !l.mayMiss && !t.Failed() {
				t.Errorf("%s did not send the command at which the story strikes, so it shows nothing", c.name)
			}
		}
	}
}

func nthIs(n int) func(string, int) bool { return func(_ string, nth int) bool { return nth == n } }
func isWrite(command string, _ int) bool {
	return !slices.Contains(
		[]string{"exists", "get", "pttl", "ttl", "hget", "hexists", "script", "watch", "unwatch", "multi"}, command)
}

// disconnect breaks all connections to a server.
func (l *lab) disconnect(s *server) {
	for _, c := range l.clients {
		c.hangUp(func(w *wire) bool { return w.server == s })
	}
}

// intercept lets holds see what is sent to a server. What holds takes is not run.
func (s *server) intercept(holds func(*message) bool) { s.holds.Store(&holds) }

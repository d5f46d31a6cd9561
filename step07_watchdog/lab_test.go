package redislock

// The laboratory in which the stories play: real go-redis clients and in-memory Redis servers (miniredis)
// inside a testing/synctest bubble. Time is virtual: time.Sleep(time.Hour) takes no time, and keys expire by it.
// A story runs in one goroutine; what happens in between is put there by a twist. Faults that only later steps need
// stand in files of their own from that step on (lab_*_test.go). lab_real_test.go plays the stories on real servers.

import (
	"context"
	"errors"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
)

const latency = 100 * time.Microsecond // from a client to Redis; the way back takes no time

// Real servers have other ones.
var (
	clock      = "virtual"
	key        = "coupons"
	ttl        = 10 * time.Second
	forever    = 365 * 24 * time.Hour
	afterwards = 24 * time.Hour
)

var ctx = context.Background()

type lab struct {
	t        *testing.T
	clients  map[string]*client                      // by name
	newRedis func(c *client, node int) *redis.Client // how a client reaches a node
	timeline *timeline

	mu      sync.Mutex
	servers map[string]*server // by address
	masters []string           // the address at which each node of the lock is reached
}

// inLab plays a story and prints its timeline: with -v, and when the story failed.
func inLab(t *testing.T, story func(t *testing.T, lab *lab)) {
	t.Helper()
	play(t, func(t *testing.T) {
		lab := newLab(t)
		defer lab.close()
		story(t, lab)
	})
}

func newLab(t *testing.T) *lab {
	logging.Disable()
	l := &lab{t: t, servers: map[string]*server{}, clients: map[string]*client{}, timeline: newTimeline()}
	l.newRedis = func(c *client, node int) *redis.Client { return redis.NewClient(c.options(addr(node))) }
	for node := range nodes {
		l.serve(node, addr(node))
		l.masters = append(l.masters, addr(node))
	}
	return l
}

// close ends a story, also a failed one: it cuts the clients off and lets hours pass, in which whatever still
// runs finds that out and ends. Else the bubble would report a deadlock in place of the failed assertion.
func (l *lab) close() {
	l.wait() // for the replies that no client waited for
	l.t.Logf("timeline (%s time):\n%s", clock, l.timeline)
	for _, c := range l.clients {
		c.cut()
	}
	// Close waits on a mutex for connections that are being made and for commands that sleep before they are sent again.
	// Virtual time would stand still meanwhile.
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

// server is one Redis.
type server struct {
	backend
	node int
	down atomic.Bool                         // refuses connections
	hold atomic.Pointer[func(*wire, []byte)] // takes what is sent to a server that hangs
}

func addr(node int) string { return "10.0.0." + string(rune('1'+node)) + ":6379" }

// serve starts an empty Redis for a node at addr.
func (l *lab) serve(node int, addr string) *server {
	memory := miniredis.NewMiniRedis()
	memory.ClockTTL(true)
	s := &server{backend: memory, node: node}
	if realAddrs != nil {
		s.backend = newRealRedis(node)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.servers[addr] = s
	return s
}

// server returns the Redis of a node, when everything that is on its way there has arrived.
func (l *lab) server(node int) *server {
	l.wait()
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.servers[l.masters[node]]
}

// keys returns what is stored on all nodes.
func (l *lab) keys() (keys []string) {
	for node := range nodes {
		keys = append(keys, l.server(node).Keys()...)
	}
	return keys
}

// client is one process, with connections of its own.
type client struct {
	lab    *lab
	name   string
	change []func(*redis.Options)
	nodes  []redis.UniversalClient
	dead   atomic.Bool
	far    atomic.Int64                             // time.Duration: of a round trip, beside the latency
	lose   atomic.Pointer[func(*wire, []byte) bool] // whether a reply is lost on its way

	mu     sync.Mutex
	wires  []*wire
	twists []*twist
	paused chan struct{} // closed when the twist that is running ends
}

// lock returns a new handle on the story's lock for the client called name.
func (l *lab) lock(name string, change ...func(*redis.Options)) *Lock {
	return newLock(l.client(name, change...).nodes, key, ttl)
}

// client returns the client called name, and makes it when it is first spoken of.
func (l *lab) client(name string, change ...func(*redis.Options)) *client {
	if c := l.clients[name]; c != nil {
		return c
	}
	c := &client{lab: l, name: name, change: change}
	l.clients[name] = c
	for node := range nodes {
		rdb := l.newRedis(c, node)
		rdb.AddHook(hook{c, node})
		c.nodes = append(c.nodes, rdb)
	}
	return c
}

func (c *client) options(addr string) *redis.Options {
	opt := &redis.Options{
		// go-redis would leave the bubble to resolve a host name, and when a pool runs dry.
		Addr: addr, Dialer: c.dial, PoolSize: 100,
		// Random pauses would make every timeline different. No pause at all (-1) is a timer of length 0, and on
		// such a timer Go 1.26 crashes now and then in a bubble under the race detector.
		DialerRetries: 1, MinRetryBackoff: time.Nanosecond, MaxRetryBackoff: time.Nanosecond,
	}
	for _, change := range c.change {
		change(opt)
	}
	return opt
}

// wire is a connection from a client to a server.
type wire struct {
	net.Conn
	client  *client
	server  *server
	command string // the name of the last one sent
}

func (w *wire) Write(b []byte) (int, error) {
	w.command = "" // *2 $3 get ...
	if words := strings.Fields(string(b)); len(words) > 2 {
		w.command = strings.ToLower(words[2])
	}
	if hold := w.server.hold.Load(); hold != nil {
		(*hold)(w, b)
		return len(b), nil
	}
	n, err := w.Conn.Write(b)
	return n, eof(err)
}

func (w *wire) Read(b []byte) (int, error) {
	n, err := w.Conn.Read(b)
	if lose := w.client.lose.Load(); err == nil && lose != nil && (*lose)(w, b[:n]) {
		w.Close()
		return 0, io.EOF
	}
	return n, eof(err)
}

func (w *wire) SetReadDeadline(t time.Time) error  { return eof(w.Conn.SetReadDeadline(t)) }
func (w *wire) SetWriteDeadline(t time.Time) error { return eof(w.Conn.SetWriteDeadline(t)) }

// eof makes a closed pipe look like a connection that the other side has closed.
func eof(err error) error {
	if errors.Is(err, io.ErrClosedPipe) {
		return io.EOF
	}
	return err
}

// oneWay is what a message takes to Redis, or back, beside the latency.
func (c *client) oneWay() time.Duration { return time.Duration(c.far.Load()) / 2 }

func (c *client) dial(_ context.Context, _, addr string) (net.Conn, error) {
	time.Sleep(2 * c.oneWay())
	c.lab.mu.Lock()
	s := c.lab.servers[addr]
	c.lab.mu.Unlock()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead.Load() || s == nil || s.down.Load() {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	conn, err := s.Dial()
	if err != nil {
		return nil, err
	}
	w := &wire{Conn: conn, client: c, server: s}
	c.wires = append(c.wires, w)
	return w, nil
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

// crash kills the client called name.
func (l *lab) crash(name string) {
	l.wait()
	l.timeline.note("%s dies", name)
	l.client(name).cut()
}

// twist is something that a story lets happen in the middle of a client's commands.
type twist struct {
	match  func(cmd redis.Cmder, nth int) bool // nth: on its node, since the twist was announced
	before func()                              // runs just before the command reaches Redis
	reply  error                               // Redis's answer in place of running the command
	after  func()                              // runs when the command is done, before the client knows
	again  bool                                // also at the next match
	nodes  []int                               // only there; nil is everywhere
	seen   map[int]int
	came   bool
}

func (l *lab) announce(name string, tw *twist) *twist {
	l.wait() // what is on its way is not meant
	tw.seen = map[int]int{}
	c := l.client(name)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.twists = append(c.twists, tw)
	return tw
}

// beforeWrite runs fn just before the client's next command that is not a mere read reaches Redis.
func (l *lab) beforeWrite(name string, fn func()) *twist {
	return l.announce(name, &twist{match: func(cmd redis.Cmder, _ int) bool { return isWrite(cmd.Name()) }, before: fn})
}

func isWrite(command string) bool {
	switch command {
	case "exists", "get", "pttl", "ttl", "hget", "hexists", "hello", "client", "subscribe", "unsubscribe", "ping":
		return false
	}
	return true
}

// isSetup tells the commands by which go-redis sets up a connection.
func isSetup(cmd redis.Cmder) bool { return cmd.Name() == "hello" || cmd.Name() == "client" }

// hook sees every command of a client to a node.
type hook struct {
	client *client
	node   int
}

func (h hook) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessPipelineHook sees the commands of a pipeline, or of a transaction, arrive together: what a story lets come before
// one of them comes before all, and an error in place of one keeps all from running.
func (h hook) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) (err error) {
		if isSetup(cmds[0]) {
			time.Sleep(2 * h.client.oneWay())
			return next(ctx, cmds)
		}
		time.Sleep(latency + h.client.oneWay())
		tw := &twist{}
		for _, cmd := range cmds {
			if now := h.client.arrive(h.node, cmd); now != nil {
				tw = now
			}
		}
		if h.client.dead.Load() {
			return setErrors(cmds, net.ErrClosed)
		}
		var events []*event
		for _, cmd := range cmds {
			events = append(events, h.client.lab.timeline.command(h.client.name, h.node, cmd))
		}
		if tw.reply != nil {
			err = setErrors(cmds, tw.reply)
		} else {
			err = next(ctx, cmds)
		}
		for i, cmd := range cmds {
			h.client.lab.timeline.reply(events[i], cmd)
		}
		if tw.after != nil {
			tw.after()
		}
		if h.client.dead.Load() {
			return setErrors(cmds, net.ErrClosed)
		}
		time.Sleep(h.client.oneWay())
		return err
	}
}

func setErrors(cmds []redis.Cmder, err error) error {
	for _, cmd := range cmds {
		cmd.SetErr(err)
	}
	return err
}

func (h hook) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) (err error) {
		if isSetup(cmd) {
			time.Sleep(2 * h.client.oneWay())
			return next(ctx, cmd)
		}
		time.Sleep(latency + h.client.oneWay())
		tw := h.client.arrive(h.node, cmd)
		if h.client.dead.Load() {
			cmd.SetErr(net.ErrClosed)
			return net.ErrClosed
		}
		event := h.client.lab.timeline.command(h.client.name, h.node, cmd)
		if tw != nil && tw.reply != nil {
			err = tw.reply
		} else {
			err = next(ctx, cmd)
		}
		cmd.SetErr(err)
		h.client.lab.timeline.reply(event, cmd)
		if tw != nil && tw.after != nil {
			tw.after()
		}
		if h.client.dead.Load() {
			err = net.ErrClosed
			cmd.SetErr(err)
		}
		time.Sleep(h.client.oneWay())
		return err
	}
}

// arrive returns the twist that the story has for this command, after having run what comes before. Meanwhile
// the client's commands to other nodes wait.
func (c *client) arrive(node int, cmd redis.Cmder) (now *twist) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.paused != nil {
		paused := c.paused
		c.mu.Unlock()
		<-paused
		c.mu.Lock()
	}
	for _, tw := range c.twists {
		if tw.nodes != nil && !slices.Contains(tw.nodes, node) {
			continue
		}
		tw.seen[node]++
		if now == nil && (!tw.came || tw.again) && tw.match(cmd, tw.seen[node]) {
			now, tw.came = tw, true
		}
	}
	if now != nil && now.before != nil {
		c.paused = make(chan struct{})
		c.mu.Unlock()
		now.before()
		c.mu.Lock()
		close(c.paused)
		c.paused = nil
	}
	return now
}

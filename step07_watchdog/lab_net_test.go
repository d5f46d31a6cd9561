package redislock

// The lab's network: servers, clients and the wires between them. Authors of stories need
// not read this file. Everything that a client sends passes through wire.serve, which
// delays, loses and rejects commands and adds them to the trace: a timeline for people,
// records for programs.
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
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"

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
		switch {
		case !w.listens.Load():
			w.replies <- answer
			continue
		case w.silent.Load():
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
			"%s has sent %d commands and keeps going: someone polls without a pause, or waits without an end")
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
		after := func() { h.run(h.after) }
		w.after.Store(&after)
	}
	if h.lose != nil && reply[0] != '-' && h.lose(m) {
		tr.mu.Lock()
		m.record.Lost = true
		tr.mu.Unlock()
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
	struck atomic.Bool    // read by the story while a client may still send
	runs   sync.WaitGroup // before and after
}

func (l *lab) inject(name string, h *hook) *hook {
	l.wait() // what is already in flight does not count
	h.seen = map[int]int{}
	c := l.client(name)
	defer c.inTurn()()
	if h.lose != nil { // an earlier loss has ended: its hook would take the commands of this one
		c.hooks = slices.DeleteFunc(c.hooks, func(old *hook) bool { return old.struck.Load() && old.lose != nil })
	}
	c.hooks = append(c.hooks, h)
	return h
}

// fired waits for what the event calls, which the lock need not, and reports whether it has come.
func (h *hook) fired() bool   { time.Sleep(time.Nanosecond); h.runs.Wait(); return h.struck.Load() }
func (h *hook) run(fn func()) { h.runs.Add(1); defer h.runs.Done(); fn() }

// inTurn lets one command of a client arrive at a time, hook and all. A mutex would stop the clock.
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
		if now == nil && (!h.struck.Load() || h.again) && h.match(command, h.seen[node]) {
			now = h
			h.struck.Store(true)
		}
	}
	if now == nil {
		return &hook{}
	}
	if now.before != nil {
		now.run(now.before)
	}
	return now
}

// requireAllStruck fails a story whose fault or event never came: it shows nothing.
func (l *lab) requireAllStruck(t *T) {
	l.wait()
	for _, c := range l.clients {
		defer c.inTurn()()
		for _, h := range c.hooks {
			if !h.struck.Load() && !l.mayMiss && !t.Failed() {
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

// A trace is what has happened in a story. The same story leaves the same trace every
// time: tokens and scripts appear by name, and connection setup does not appear.
// docs/internal/trace reads it.
type trace struct {
	lab    *lab
	untold bool // too many clients for a timeline
	start  time.Time

	mu      sync.Mutex
	records []*record
	names   map[string]string // of tokens
	tokens  map[string]int    // how many each client has used
	shared  map[string]bool   // clients and tokens that were looked at
}

// A record is one event. docs/read/testing.md explains its fields.
type record struct {
	At    int64  `json:"at"`
	Who   string `json:"who,omitempty"`
	Node  int    `json:"node,omitempty"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Reply string `json:"reply,omitempty"`
	Lost  bool   `json:"lost,omitempty"`
	Late  bool   `json:"late,omitempty"`

	Err  []string `json:"err,omitempty"`
	Gone string   `json:"gone,omitempty"`
	Use  any      `json:"use,omitempty"`

	Redis []lock `json:"redis"`
	held  bool   // it will get no reply soon
}

// A named is an error that a record names.
type named struct {
	name string
	err  error
}

// lockErrors are those that all locks have. 7_lost_test.go adds the one of later locks.
var lockErrors = []named{{"ErrNotAcquired", ErrNotAcquired}, {"ErrNotHeld", ErrNotHeld}}

// namesOf returns the names of what errors.Is finds in err.
func namesOf(err error) (names []string) {
	for _, e := range append(slices.Clip(lockErrors),
		named{"context canceled", context.Canceled}, named{"context deadline exceeded", context.DeadlineExceeded}) {
		if errors.Is(err, e.err) {
			names = append(names, e.name)
		}
	}
	return names
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
	if r.Kind == "refused" && slices.ContainsFunc(tr.records,
		func(o *record) bool { return o.At > r.At-10_000 && o.Who == r.Who && o.Text == r.Text }) {
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
		if realTime || tr.untold || !s.Exists(s.key()) {
			continue
		}
		if locks[node].Token = tr.name(s.owner()); s.TTL(s.key()) > 0 {
			locks[node].Until = time.Since(tr.start.Add(-s.TTL(s.key()))).Round(10 * time.Microsecond).Microseconds()
		}
	}
	return locks
}

// reply adds the answer to a command.
func (tr *trace) reply(r *record, reply []byte) {
	text, rest, _ := strings.Cut(string(reply), "\r\n")
	if text == "$-1" || text == "*-1" { // in RESP2
		text = "_"
	}
	switch text[0] {
	case '_':
		text = "(nil)"
	case '$':
		if text = strings.TrimSuffix(rest, "\r\n"); text == "" {
			text = `""` // an empty text means that none came
		}
	case '*': // EXEC's may have numbers and (nil)
		var words []string
		for w := range strings.FieldsSeq(rest) {
			switch {
			case w == "_" || w == "$-1":
				words = append(words, "(nil)")
			case w[0] != '$': // a length
				words = append(words, strings.TrimLeft(w, ":+"))
			}
		}
		text = strings.Join(words, " ")
	default:
		text = text[1:]
	}
	text, locks := tr.name(text), tr.locks()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	r.Reply, r.Redis = text, locks
}

// name returns what a token is called in the timeline.
func (tr *trace) name(s string) string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return strings.ReplaceAll(cmp.Or(tr.names[s], s), key, "coupons")
}

// text returns a command as redis-cli shows it. A script's first line, "-- name
// argument...", names the script and its arguments; a token is named after the client
// that used it first.
func (tr *trace) text(who string, args []string) string {
	words, command := []string{strings.ToUpper(args[0])}, strings.ToLower(args[0])
	for i, arg := range args[1:] {
		tr.mu.Lock()
		if i > 0 && len(arg) >= 18 && tr.names[arg] == "" && !strings.ContainsAny(arg, " :") {
			// Only a token is that long.
			tr.tokens[who]++
			tr.names[arg] = fmt.Sprintf("<%s-%d>", who, tr.tokens[who])
		}
		first := tr.names[arg]
		other := first != "" && !strings.HasPrefix(first, "<"+who+"-") && !tr.shared[who+arg]
		tr.shared[who+arg] = true
		tr.mu.Unlock()
		if other {
			tr.addTo(nil, record{Kind: "note", Text: who + "'s token is " + first + ", which is not new"})
		}
		word := cmp.Or(tr.name(arg), `""`)
		if strings.ContainsFunc(word, unicode.IsControl) && command != "eval" && command != "script" {
			word = strconv.Quote(word) // a token made of a stack trace has line breaks
		}
		words = append(words, word)
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
	if len(names) > 1 { // what the first line does not name is not worth a reader's time
		words = words[:min(len(words), 3+len(names))]
	}
	return strings.Join(append(names[:1:1], words[3:]...), " ")
}

// namesIn returns the names in the first line of a script, which is given by its SHA-1 or
// in full.
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

// end prints as much of the timeline as fits on a screen. With -artifacts, it leaves the
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

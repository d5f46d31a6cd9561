package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
)

// latency is what a command takes to reach Redis. It is also the time in which go-redis sends
// a command again.
const latency = 100 * time.Microsecond

// A Message is a command in flight.
type Message struct {
	*Client
	Node  *Node
	Back  bool // sent in the background: the client's program was not in a call of the lock
	Text  string
	Line  string // of the lock, that sends it; "" is not known
	wire  *wire
	args  []string
	at    int64  // when it was sent, in µs
	order string // among those of one moment
	again bool   // it was sent before, and not answered
	lost  bool   // the reply will not arrive
}

// send puts a message in flight. Of what a client sends to a node in one moment, by several
// goroutines or on several connections, Go chooses what comes first, and not always the same; so
// this is put in order. A subscription comes last: it opens its own connection first.
func (s *Schedule) send(m *Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	m.Text = s.command(m)
	m.order = m.Text
	if strings.EqualFold(m.args[0], "SUBSCRIBE") {
		m.order = "~" + m.Text
		m.Line = "" // go-redis subscribes again by itself, too
	}
	question := m.Node.String() + m.Text
	m.again = m.asked[question]
	m.asked[question] = true
	if m.wire.silent.Load() {
		m.later(0, trace.Record{Kind: trace.Fault, Text: "sends on a dead connection: " + m.Text})
		return
	}
	s.sent.Add(1)
	m.Back = m.phase.Load() == Holding
	m.at = s.Now()
	s.flight = append(s.flight, m)
	slices.SortStableFunc(s.flight, func(a, b *Message) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.order, b.order)) })
	s.notify()
}

// notify says that something was sent, or a program has ended.
func (s *Schedule) notify() {
	select {
	case s.activity <- struct{}{}:
	default:
	}
}

// Wait waits until no client can do anything before something is delivered or time passes.
func (s *Schedule) Wait() {
	synctest.Wait()
	s.flush()
}

// InFlight returns the messages of a client that can be delivered next: the oldest on each
// node, because a network that reorders them is another fault.
func (c *Client) InFlight() (list []*Message) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	seen := map[*Node]bool{}
	for _, m := range c.s.flight {
		if m.Client == c && !m.Node.Hung && (!seen[m.Node] || c.s.rules.Reorder) {
			seen[m.Node] = true
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b *Message) int { return a.Node.N - b.Node.N })
	return list
}

// First returns the first message that arrives.
func (s *Schedule) First(arrives func(*Message) bool) *Message {
	for _, c := range s.Clients {
		for _, m := range c.InFlight() {
			if arrives(m) {
				return m
			}
		}
	}
	return nil
}

// Label names a message in a schedule: a is alice's next command, a2 that to the second node.
func (m *Message) Label() string {
	label := m.Name[:1]
	if len(m.s.Nodes) > 1 {
		label += m.Node.String()
	}
	for _, older := range m.s.flight[:slices.Index(m.s.flight, m)] {
		if older.Client == m.Client && older.Node == m.Node {
			label += "_" // it overtakes
		}
	}
	return label
}

// Deliver lets Redis run a command, and the client read the reply. When Redis has
// forgotten a script, nothing has happened yet: then the script itself is delivered as
// well, unless that is what is explored.
func (m *Message) Deliver() {
	reply := m.Execute()
	if m.Delay > 0 {
		time.AfterFunc(m.Delay, func() { m.Answer(reply) })
		return
	}
	m.Answer(reply)
	if m.s.happened(reply) {
		return
	}
	time.Sleep(latency)
	m.s.Wait()
	for _, again := range m.InFlight() {
		if again.Node == m.Node {
			again.Deliver()
		}
	}
}

// happened is false if Redis has forgotten the script, and will be sent it in the same step.
func (s *Schedule) happened(reply []byte) bool {
	return s.rules.Scripts || !bytes.HasPrefix(reply, []byte("-NOSCRIPT"))
}

// Execute lets Redis run a command.
func (m *Message) Execute() (reply []byte) {
	m.Drop()
	n := m.Node
	before := n.Exists(key)
	reply = m.wire.run(m.args)
	r := trace.Record{Kind: trace.Command, Who: m.Name, Node: n.N, Text: m.Text, Reply: m.s.learn(m, reply), Again: m.again, Lost: m.lost, Line: m.Line}
	if r.Late = m.wire.closed.Load(); r.Late {
		m.wire.unsubscribe() // what was sent before runs anyway
		r.Text += ", sent long ago"
	}
	after, owner := n.Exists(key), n.owner
	if !before && after {
		n.owner = m.Name
	}
	if m.lost {
		r.Reply += ", but the reply is lost"
	}
	deleted := before && !after
	if deleted && owner != m.Name {
		r.Mark = "deletes " + owner + "'s lock"
	}
	if m.s.happened(reply) {
		m.s.Tell(r)
	}
	switch {
	case r.Mark != "":
		m.s.violate(nil, Deleted, "%s deletes the lock of %s", m.Name, owner)
	case deleted:
		m.freed.Add(1)
	}
	return reply
}

// Answer lets the client read the reply.
func (m *Message) Answer(reply []byte) {
	m.s.mu.Lock()
	delete(m.asked, m.Node.String()+m.Text)
	m.s.mu.Unlock()
	m.wire.Write(reply)
}

// Drop takes a message out of the network.
func (m *Message) Drop() {
	m.s.mu.Lock()
	defer m.s.mu.Unlock()
	m.s.flight = slices.DeleteFunc(m.s.flight, func(other *Message) bool { return other == m })
}

// Crash ends a client: its connections break, it cannot dial, and what it has in flight is lost.
func (c *Client) Crash() {
	if !c.dead.Load() {
		c.s.mu.Lock()
		c.dead.Store(true)
		c.s.inside = slices.DeleteFunc(c.s.inside, func(name string) bool { return name == c.Name })
		c.s.mu.Unlock()
		close(c.died)
		c.s.Disconnect(c, nil)
	}
}

// Disconnect breaks the connections of a client, or to a node. What is in flight on them is lost.
func (s *Schedule) Disconnect(c *Client, n *Node) {
	s.mu.Lock()
	these := slices.DeleteFunc(slices.Clone(s.wires), func(w *wire) bool { return w.client != c && w.node != n })
	s.flight = slices.DeleteFunc(s.flight, func(m *Message) bool { return slices.Contains(these, m.wire) })
	s.mu.Unlock()
	for _, w := range these {
		w.breaks()
	}
}

// A wire is a connection of go-redis to a node. What go-redis sends is in flight until
// the explorer delivers it.
type wire struct {
	net.Conn // the node's end
	client   *Client
	node     *Node
	peer     *server.Peer
	line     atomic.Value                 // of the lock that sent the last command, or ""
	silent   atomic.Bool                  // it has died, and neither end knows
	closed   atomic.Bool                  // by go-redis
	broken   atomic.Bool                  // by a fault
	reply    atomic.Pointer[bytes.Buffer] // to the command that runs
}

// Dial is the Dialer of a client's go-redis.
func (c *Client) Dial(_ context.Context, _, addr string) (net.Conn, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	n := c.s.Nodes[addr[len("10.0.0.")]-'1']
	if c.dead.Load() || n.Down || c.Cut {
		called := "Redis"
		if len(c.s.Nodes) > 1 {
			called = "node " + n.String()
		}
		if !c.dead.Load() {
			c.later(0, trace.Record{Kind: trace.Refused, Node: n.N, Text: "cannot reach " + called + ": connection refused"})
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	near, far := net.Pipe()
	w := &wire{Conn: far, client: c, node: n}
	w.peer = server.NewPeer(bufio.NewWriterSize(fromNode{w}, 512))
	c.s.wires = append(c.s.wires, w)
	go w.read()
	return nearEnd{near, w}, nil
}

// nearEnd is go-redis's end. Broken, it says what a TCP connection says, after which
// go-redis tries again. A pipe says ErrClosedPipe, even to who sets a deadline.
type nearEnd struct {
	net.Conn
	wire *wire
}

func (e nearEnd) Write(b []byte) (int, error) {
	e.wire.line.Store(callerInLock()) // go-redis writes in the goroutine that calls it
	n, err := e.Conn.Write(b)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

func (e nearEnd) SetReadDeadline(t time.Time) error { e.Conn.SetReadDeadline(t); return nil }
func (e nearEnd) SetWriteDeadline(time.Time) error  { return nil }

// read puts in flight what go-redis sends. Commands that set up a connection are not
// worth a step: they run at once. What go-redis has asked when it hangs up, and was not
// answered, it no longer waits for.
func (w *wire) read() {
	s := w.client.s
	for r := bufio.NewReaderSize(w.Conn, 512); ; {
		command, err := server.ParseReply(r) // commands look like replies: lists of strings
		if err != nil {
			break
		}
		var args []string
		for _, arg := range command.([]any) {
			args = append(args, arg.(string))
		}
		if name := strings.ToLower(args[0]); name != "hello" && name != "client" && name != "ping" {
			s.send(&Message{wire: w, Client: w.client, Node: w.node, Line: w.line.Load().(string), args: args})
		} else if !w.silent.Load() {
			w.Write(w.run(args))
		}
	}
	w.closed.Store(true)
	w.unsubscribe()
	if w.broken.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.flight {
		if m.wire == w {
			m.later(0, trace.Record{Kind: trace.Timeout, Node: w.node.N, Text: "no longer waits for the reply to " + m.Text})
		}
	}
}

func (w *wire) breaks() {
	w.broken.Store(true)
	w.Close()
}

// unsubscribe ends the goroutines of a subscription.
func (w *wire) unsubscribe() { w.run([]string{"UNSUBSCRIBE"}) }

// run lets the node execute a command, and returns its reply.
func (w *wire) run(args []string) []byte {
	var reply bytes.Buffer
	w.reply.Store(&reply)
	w.node.Server().Dispatch(w.peer, args)
	w.peer.Flush()
	w.reply.Store(nil)
	return reply.Bytes()
}

// fromNode is what the node writes to: replies, and messages to a subscriber.
type fromNode struct{ *wire }

func (f fromNode) Write(b []byte) (int, error) {
	if reply := f.reply.Load(); reply != nil {
		return reply.Write(b)
	}
	return f.Conn.Write(b)
}

// callerInLock is the line of the innermost function of a lock on the stack, "" if there
// is none. The functions in send.go send for all of them: their caller says more.
func callerInLock() (line string) {
	var callers [64]uintptr
	frames := runtime.CallersFrames(callers[:runtime.Callers(3, callers[:])])
	for f, more := frames.Next(); more; f, more = frames.Next() {
		if strings.HasPrefix(f.Function, course.Module+"/step") || strings.HasPrefix(f.Function, course.Module+"/docs/fencing.") {
			file := path.Base(f.File)
			if line = fmt.Sprintf("%s:%d", file, f.Line); file != "send.go" {
				break
			}
		}
	}
	return line
}

// A Node is one Redis. All schedules of a cell share it. It is emptied in between; its
// scripts are loaded.
type Node struct {
	*miniredis.Miniredis
	N          int // from 1
	Down, Hung bool
	owner      string // who has stored the key that is there
	forgot     bool   // the scripts are no longer loaded
}

// newNode starts a node.
func newNode(number int) *Node {
	n := &Node{Miniredis: miniredis.NewMiniRedis(), N: number}
	n.ClockTTL(true)
	conn, err := n.Dial() // starts it
	if err != nil {
		panic(err) // it is in memory
	}
	conn.Close()
	return n
}

// owned counts the nodes that have the key, and where owner, if it is not "", has stored it.
func (s *Schedule) owned(owner string) (count int) {
	for _, n := range s.Nodes {
		if n.Exists(key) && (owner == "" || owner == n.owner) {
			count++
		}
	}
	return count
}

// reset empties a node for the next schedule.
func (n *Node) reset(scripts map[string]string) {
	n.FlushAll()
	n.Down, n.Hung, n.owner = false, false, ""
	if n.forgot {
		for _, source := range scripts {
			n.command("SCRIPT", "LOAD", source)
		}
		n.forgot = false
	}
}

// Restart empties a node, as a restart without persistence does.
func (n *Node) Restart() {
	n.FlushAll()
	n.FlushScripts()
}

func (n *Node) FlushScripts() {
	n.command("SCRIPT", "FLUSH")
	n.forgot = true
}

// Steal overwrites the key, if it is there, with another owner's.
func (n *Node) Steal() {
	kind := n.Type(key)
	if kind == "" {
		return
	}
	n.Del(key)
	if kind == "hash" {
		n.HSet(key, "thief", "1")
	} else {
		n.Set(key, "thief")
	}
	n.SetTTL(key, ttl)
	n.owner = "another program"
}

// value is what stands at the key: a token, or the field that is one.
func (n *Node) value() string {
	if fields, err := n.HKeys(key); err == nil {
		return strings.Join(fields, " ")
	}
	value, _ := n.Get(key)
	return value
}

func (n *Node) command(args ...string) {
	n.Server().Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), args)
}

func (n *Node) String() string { return strconv.Itoa(n.N) }

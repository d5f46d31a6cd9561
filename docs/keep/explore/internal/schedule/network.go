package schedule

import (
	"bytes"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"example.com/redislock-steps/docs/internal/trace"
)

const (
	Key = "coupons"
	TTL = 10 * time.Second

	// Latency is what a command takes to reach Redis. It is also the time in which
	// go-redis sends a command again.
	Latency = 100 * time.Microsecond
)

// A Net is the network in one schedule.
type Net struct {
	*Cluster
	Hosts    []*Host
	Reorder  bool                         // commands may overtake each other
	NoScript bool                         // sending a script that Redis lacks is a separate step
	Deleted  func(by *Host, owner string) // is called when a command has deleted the key
	Activity chan struct{}                // one value: something was sent, or a program has ended
	Records  []trace.Record
	Sent     atomic.Int32 // messages
	Cause    atomic.Int32 // the choice that what is sent now comes from, -1 if none

	mu      sync.Mutex
	flight  []*Message
	begin   time.Time
	tokens  map[string]string // their names
	had     map[string]int    // tokens by client
	keys    []trace.Key       // as of the last record
	inside  []string          // as of the last record
	pending []pending
}

// New returns an empty
func (c *Cluster) New() *Net {
	n := &Net{Cluster: c, Activity: make(chan struct{}, 1), begin: time.Now(), tokens: map[string]string{}, had: map[string]int{},
		keys: make([]trace.Key, len(c.Nodes)), inside: []string{}}
	n.Cause.Store(-1)
	for _, node := range n.Nodes {
		node.reset(n.scripts)
	}
	return n
}

// A Host is a client's end of the
type Host struct {
	Name   string
	Cut    bool          // it cannot dial
	Delay  time.Duration // of the answers to it
	Frozen atomic.Bool   // paused: it notices nothing
	Died   chan struct{}
	dead   atomic.Bool

	net     *Net
	id      int // in the order in which they have joined
	wires   []*wire
	atWork  func() bool
	asked   map[string]bool   // what it has sent in this call, and Redis has not answered
	lines   map[string]string // of the lock, by the words of the command that they send
	calls   int
	refused map[int]int64 // when it could not reach a node, the last time
}

// Join adds a host. At work, its program is not in a call of the lock.
func (n *Net) Join(name string, atWork func() bool) *Host {
	h := &Host{id: len(n.Hosts), Name: name, net: n, atWork: atWork, Died: make(chan struct{}), asked: map[string]bool{}, lines: map[string]string{}, refused: map[int]int64{}}
	n.Hosts = append(n.Hosts, h)
	return h
}

// A Message is a command in flight.
type Message struct {
	*Host
	Node  *Node
	Cause int  // the choice after which it was sent
	Back  bool // sent in the background: the client's program was not in a call of the lock
	Text  string
	Line  string // of the lock, that sends it; "" is not known
	wire  *wire
	sent  int64 // when, in µs
	args  []string
	again bool // it was sent before, and not answered
	lost  bool // the reply will not arrive
}

func (n *Net) send(m *Message) {
	n.mu.Lock()
	defer n.mu.Unlock()
	m.Text, m.Line = n.command(m), m.lines[strings.Join(m.args, " ")]
	question := m.Node.String() + m.Text
	m.again = m.asked[question]
	m.asked[question] = true
	if m.wire.silent.Load() {
		m.later(0, trace.Record{Kind: trace.Fault, Text: "sends on a dead connection: " + m.Text})
		return
	}
	n.Sent.Add(1)
	m.Cause, m.Back = int(n.Cause.Load()), m.atWork()
	m.sent = n.Now()
	n.flight = slices.Insert(n.flight, n.place(m), m)
	n.Notify()
}

// place is a message's position in flight: behind everything that was sent before. Of what a
// client sends to a node in one moment, by several goroutines or on several connections,
// Go chooses what comes first, and not always the same; so this is put in order, as far as
// nothing has been delivered in between.
func (n *Net) place(m *Message) int {
	at := len(n.flight)
	for i, other := range slices.Backward(n.flight) {
		if other.sent < m.sent || other.wire == m.wire {
			break
		}
		if other.Host == m.Host && other.Node == m.Node && compareSent(m, other) < 0 {
			at = i
		}
	}
	return at
}

// compareSent orders two messages of one moment. A subscription comes last: it opens
// its own connection first.
func compareSent(a, b *Message) int {
	if a, b := a.subscribes(), b.subscribes(); a != b {
		if a {
			return 1
		}
		return -1
	}
	return strings.Compare(a.Text, b.Text)
}

func (m *Message) subscribes() bool { return strings.EqualFold(m.args[0], "SUBSCRIBE") }

// givenUp is what happens to a command whose client has hung up.
func (n *Net) givenUp(w *wire) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.flight {
		if m.wire == w {
			w.host.later(0, trace.Record{Kind: trace.Timeout, Node: w.node.N, Text: "no longer waits for the reply to " + m.Text})
		}
	}
}

// Notify says that something was sent, or a program has ended.
func (n *Net) Notify() {
	select {
	case n.Activity <- struct{}{}:
	default:
	}
}

// Wait waits until no client can do anything before something is delivered or time passes.
func (n *Net) Wait() {
	synctest.Wait()
	n.flush()
}

// InFlight returns the messages of a host that can be delivered next: the oldest on each
// node, because a network that reorders them is another fault.
func (h *Host) InFlight() (list []*Message) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	seen := map[*Node]bool{}
	for _, m := range h.net.flight {
		if m.Host == h && !m.Node.Hung && (!seen[m.Node] || h.net.Reorder) {
			seen[m.Node] = true
			list = append(list, m)
		}
	}
	slices.SortStableFunc(list, func(a, b *Message) int { return a.Node.N - b.Node.N })
	return list
}

// First returns the first message that arrives.
func (n *Net) First(arrives func(*Message) bool) *Message {
	for _, h := range n.Hosts {
		for _, m := range h.InFlight() {
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
	if len(m.net.Nodes) > 1 {
		label += m.Node.String()
	}
	for _, other := range m.net.flight {
		if other == m {
			break
		}
		if other.Host == m.Host && other.Node == m.Node {
			label += "_" // overtakes an older one
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
	if m.net.NoScript || !unknownScript(reply) {
		return
	}
	time.Sleep(Latency)
	m.net.Wait()
	for _, again := range m.InFlight() {
		if again.Node == m.Node {
			again.Deliver()
		}
	}
}

// Execute lets Redis run a command.
func (m *Message) Execute() (reply []byte) {
	m.Drop()
	n := m.Node
	before := n.Exists(Key)
	reply = m.wire.run(m.args)
	text := m.net.learn(m, reply)
	if m.wire.closed.Load() {
		m.wire.unsubscribe() // what was sent before runs anyway
	}
	after, owner := n.Exists(Key), n.owner
	if !before && after {
		n.owner = m.Name
	}
	r := trace.Record{Kind: trace.Command, Who: m.Name, Node: n.N, Text: m.Text, Reply: text, Again: m.again, Lost: m.lost, Line: m.Line}
	if m.lost {
		r.Reply += ", but the reply is lost"
	}
	if r.Late = m.wire.closed.Load(); r.Late {
		r.Text += ", sent long ago"
	}
	deleted := before && !after
	if deleted && owner != m.Name {
		r.Mark = "deletes " + owner + "'s lock"
	}
	if m.net.NoScript || !unknownScript(reply) {
		m.net.Tell(r)
	}
	if deleted {
		m.net.Deleted(m.Host, owner)
	}
	return reply
}

// Silently delivers a message, and does not write it into the trace.
func (m *Message) Silently() {
	m.Drop()
	m.Answer(m.wire.run(m.args))
	m.net.readKeys()
	m.net.Wait()
}

func unknownScript(reply []byte) bool { return bytes.HasPrefix(reply, []byte("-NOSCRIPT")) }

// Answer lets the client read the reply.
func (m *Message) Answer(reply []byte) {
	m.net.mu.Lock()
	delete(m.asked, m.Node.String()+m.Text)
	m.net.mu.Unlock()
	m.wire.Write(reply)
}

// Drop takes a message out of the
func (m *Message) Drop() {
	m.net.mu.Lock()
	defer m.net.mu.Unlock()
	m.net.flight = slices.DeleteFunc(m.net.flight, func(other *Message) bool { return other == m })
}

// Lose lets Redis run a command, and the connection breaks before the client reads the reply.
func (m *Message) Lose() {
	m.lost = true
	m.Execute()
	m.Break()
}

// Break breaks the connection of a message.
func (m *Message) Break() { m.wire.breaks() }

// Dead reports whether the client has crashed.
func (h *Host) Dead() bool { return h.dead.Load() }

// Crash ends a client: its connections break, it cannot dial, and what it has in flight is lost.
func (h *Host) Crash() {
	if !h.Dead() {
		h.net.mu.Lock()
		h.dead.Store(true)
		h.net.inside = slices.DeleteFunc(h.net.inside, func(name string) bool { return name == h.Name })
		h.net.mu.Unlock()
		close(h.Died)
		h.Disconnect(nil)
	}
}

// Disconnect breaks the client's connections to a node, or to all. What is in flight on
// them is lost.
func (h *Host) Disconnect(n *Node) {
	these := func(w *wire) bool { return w.host == h && (n == nil || n == w.node) }
	h.net.mu.Lock()
	h.net.flight = slices.DeleteFunc(h.net.flight, func(m *Message) bool { return these(m.wire) })
	wires := slices.Clone(h.wires)
	h.net.mu.Unlock()
	for _, w := range wires {
		if these(w) {
			w.breaks()
		}
	}
}

// Disconnect breaks all connections to a node.
func (n *Net) Disconnect(node *Node) {
	for _, h := range n.Hosts {
		h.Disconnect(node)
	}
}

// Held reports whether the host has sent something to a node that hangs.
func (h *Host) Held() bool {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	return slices.ContainsFunc(h.net.flight, func(m *Message) bool { return m.Host == h && m.Node.Hung })
}

// Silence breaks a client's idle connections without notifying the client. What it
// sends on them is lost.
func (h *Host) Silence() {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	for _, w := range h.wires {
		w.silent.Store(!slices.ContainsFunc(h.net.flight, func(m *Message) bool { return m.wire == w }))
	}
}

// called is how a trace speaks of a node.
func (n *Net) called(node *Node) string {
	if len(n.Nodes) == 1 {
		return "Redis"
	}
	return "node " + node.String()
}

// Expiry returns how long it takes until a key expires, at most d.
func (n *Net) Expiry(d time.Duration) time.Duration {
	for _, node := range n.Nodes {
		if expiry := node.TTL(Key); expiry > 0 {
			d = min(d, expiry)
		}
	}
	return d
}

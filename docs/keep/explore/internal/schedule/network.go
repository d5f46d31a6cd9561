package schedule

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
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
	m.Back = m.Phase() == Holding
	m.at = s.Now()
	s.flight = append(s.flight, m)
	slices.SortStableFunc(s.flight, func(a, b *Message) int { return cmp.Or(cmp.Compare(a.at, b.at), strings.Compare(a.order, b.order)) })
	s.notify()
}

// givenUp is what happens to a command whose client has hung up.
func (s *Schedule) givenUp(w *wire) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.flight {
		if m.wire == w {
			w.client.later(0, trace.Record{Kind: trace.Timeout, Node: w.node.N, Text: "no longer waits for the reply to " + m.Text})
		}
	}
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
		if m.Client == c && !m.Node.Hung && (!seen[m.Node] || c.s.stage.Fault.Reorder) {
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
	for _, other := range m.s.flight {
		if other == m {
			break
		}
		if other.Client == m.Client && other.Node == m.Node {
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
	if m.s.stage.Fault.Scripts || !unknownScript(reply) {
		return
	}
	time.Sleep(Latency)
	m.s.Wait()
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
	text := m.s.learn(m, reply)
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
	if m.s.stage.Fault.Scripts || !unknownScript(reply) {
		m.s.Tell(r)
	}
	if deleted {
		m.s.deleted(m.Client, owner)
	}
	return reply
}

// Silently delivers a message, and does not write it into the trace.
func (m *Message) Silently() {
	m.Drop()
	m.Answer(m.wire.run(m.args))
	m.s.readKeys()
	m.s.Wait()
}

func unknownScript(reply []byte) bool { return bytes.HasPrefix(reply, []byte("-NOSCRIPT")) }

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

// Lose lets Redis run a command, and the connection breaks before the client reads the reply.
func (m *Message) Lose() {
	m.lost = true
	m.Execute()
	m.Break()
}

// Break breaks the connection of a message.
func (m *Message) Break() { m.wire.breaks() }

// Dead reports whether the client has crashed.
func (c *Client) Dead() bool { return c.dead.Load() }

// Crash ends a client: its connections break, it cannot dial, and what it has in flight is lost.
func (c *Client) Crash() {
	if !c.Dead() {
		c.s.mu.Lock()
		c.dead.Store(true)
		c.s.inside = slices.DeleteFunc(c.s.inside, func(name string) bool { return name == c.Name })
		c.s.mu.Unlock()
		close(c.died)
		c.Disconnect(nil)
	}
}

// Disconnect breaks the client's connections to a node, or to all. What is in flight on
// them is lost.
func (c *Client) Disconnect(n *Node) {
	these := func(w *wire) bool { return w.client == c && (n == nil || n == w.node) }
	c.s.mu.Lock()
	c.s.flight = slices.DeleteFunc(c.s.flight, func(m *Message) bool { return these(m.wire) })
	wires := slices.Clone(c.wires)
	c.s.mu.Unlock()
	for _, w := range wires {
		if these(w) {
			w.breaks()
		}
	}
}

// Disconnect breaks all connections to a node.
func (s *Schedule) Disconnect(node *Node) {
	for _, c := range s.Clients {
		c.Disconnect(node)
	}
}

// Held reports whether the client has sent something to a node that hangs.
func (c *Client) Held() bool {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	return slices.ContainsFunc(c.s.flight, func(m *Message) bool { return m.Client == c && m.Node.Hung })
}

// Silence breaks a client's idle connections without notifying the client. What it
// sends on them is lost.
func (c *Client) Silence() {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	for _, w := range c.wires {
		w.silent.Store(!slices.ContainsFunc(c.s.flight, func(m *Message) bool { return m.wire == w }))
	}
}

// Package schedule plays one order of events: it lists what can happen next, lets it
// happen, and lets time pass when nothing can. A command is in flight until it is
// delivered. What happens is written into a trace.
package schedule

import (
	"bytes"
	"context"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/fencing"
	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/explore/internal/graph"
	"example.com/redislock-steps/docs/keep/explore/internal/search"
	"example.com/redislock-steps/docs/keep/locks"
)

// Names are the clients' names. The last one is there to try the lock at the end.
var Names = []string{"alice", "bob", "carol"}

// A Stage is where the schedules of a cell play: all in one bubble, and on the same nodes.
type Stage struct {
	Lock    func([]redis.UniversalClient) locks.Lock
	Random  bool // it waits for random times
	Fault   Fault
	Clients int

	nodes   []*Node
	scripts map[string]string // sources by SHA-1
	idle    int               // the goroutines of the bubble when no client is there
}

// A Fault is what can happen besides what clients do, and what it changes for them. It
// strikes once in a schedule.
type Fault struct {
	Program  func(*Client) // of alice with the lock: nil is to write the resource and release
	Deadline time.Duration // of her acquire
	Idle     int           // connections that she has besides

	Options func(*redis.Options) // nil is go-redis's defaults
	Wait    bool                 // clients use Lock instead of TryLock
	Passes  bool                 // it passes, so a client in Lock should wait
	Keeps   bool                 // it does not end a hold

	Reorder bool                              // commands may overtake each other
	Scripts bool                              // sending a script again is a separate step
	Grace   time.Duration                     // how late a holder may be notified of a sudden loss
	Gone    int                               // nodes that are gone for the rest of the schedule
	Missing bool                              // from the start only a majority of nodes is there
	Strike  func(s *Schedule) []search.Option // in what ways it can strike now
}

// A Schedule is one order of events.
type Schedule struct {
	graph.Schedule
	Nodes   []*Node
	Clients []*Client
	Found   []Violation

	Struck  bool   // the fault has happened
	Late    func() // what is still in the network: a write to the resource, or an answer
	Waiting bool   // time may pass once more, so that a holder is notified of its loss
	Pauses  int    // how often time has passed since the fault

	stage *Stage
	last  string // who moved last

	activity chan struct{}   // one value: something was sent, or a program has ended
	sent     atomic.Int32    // messages
	resource *fencing.Memory // what the lock is for

	mu      sync.Mutex
	flight  []*Message
	begin   time.Time
	tokens  map[string]string // their names
	had     map[string]int    // tokens by client
	keys    []trace.Key       // as of the last record
	inside  []string          // as of the last record
	pending []pending
}

// Open starts the nodes, and plays a schedule of one client: then they know the scripts, and the
// stage their names.
func (st *Stage) Open(nodes int) {
	st.scripts = map[string]string{}
	for i := range nodes {
		st.nodes = append(st.nodes, newNode(i+1))
	}
	synctest.Wait()
	st.idle = inBubble()
	first := *st
	first.Clients, first.Fault = 1, Fault{}
	first.Play(func([]search.Option) int { return 0 })
}

// Close ends the nodes. Until then, what a broken lock has left over ends; otherwise the
// bubble would report a deadlock.
func (st *Stage) Close() {
	time.Sleep(24 * time.Hour)
	for _, n := range st.nodes {
		n.Close()
	}
}

// Play runs one schedule: choose picks what happens next, until all programs have ended.
// Then it is asked a last time, with nothing to choose from.
func (st *Stage) Play(choose search.Choose) *Schedule {
	s := &Schedule{
		stage: st, Nodes: st.nodes, activity: make(chan struct{}, 1), begin: time.Now(),
		tokens: map[string]string{}, had: map[string]int{}, keys: make([]trace.Key, len(st.nodes)), inside: []string{},
		resource: fencing.NewMemory(),
	}
	s.resource.Create(context.Background(), Key, "0")
	for _, n := range s.Nodes {
		n.reset(st.scripts)
	}
	if st.Fault.Missing {
		for _, n := range s.Spare() {
			n.Down = true
			s.Happens(n, "is down")
		}
	}
	goroutines := runtime.NumGoroutine()
	for i := range st.Clients {
		go s.newClient(i).run()
	}
	for {
		time.Sleep(Latency)
		s.Wait()
		s.sweep()
		s.look()
		opts := s.options()
		if len(opts) == 0 && s.advance() {
			continue
		}
		if s.settled(opts) {
			opts[0].Do()
			continue
		}
		p := graph.Point{At: s.Now(), Records: len(s.Records), Idle: s.idle()}
		for _, o := range opts {
			p.Options = append(p.Options, graph.Option{Label: o.Label, Text: o.Text, Line: o.Line})
		}
		s.Points = append(s.Points, p)
		n := choose(opts)
		if len(opts) == 0 {
			s.settle(goroutines)
			return s
		}
		s.Path = append(s.Path, opts[n].Label)
		if opts[n].By != "" {
			s.last = opts[n].By
		}
		opts[n].Do()
	}
}

// settled reports whether there are no choices left: after the fault, all clients that
// are left ask for the lock again and again. If their pauses are random, one is enough: no
// name of a schedule could say how long it is.
func (s *Schedule) settled(opts []search.Option) bool {
	if !s.stage.Fault.Wait || !s.Struck || len(opts) == 0 || s.Late != nil {
		return false
	}
	if s.stage.Random && s.Pauses > 0 {
		return true
	}
	left := 0
	for _, c := range s.Clients {
		if c.Phase() == Acquiring && !c.Dead() {
			left++
		} else if c.Phase() != Done && !c.Dead() {
			return false
		}
	}
	return left == 1 || s.Pauses > 2
}

// sweep delivers the renewals of holds that have ended: their clients know it, and nothing
// depends on when they arrive. It writes nothing of them, because whether they are sent
// at all may hang on two timers that end at the same moment.
func (s *Schedule) sweep() {
	over := func(m *Message) bool { return m.Back && m.Lost() }
	for m := s.First(over); m != nil; m = s.First(over) {
		m.Silently()
	}
}

// options lists what can happen next: first that the client that moved last continues, then
// the others, then the fault.
func (s *Schedule) options() (opts []search.Option) {
	clients := slices.Clone(s.Clients)
	slices.SortStableFunc(clients, func(a, b *Client) int {
		switch s.last {
		case a.Name:
			return -1
		case b.Name:
			return 1
		}
		return 0
	})
	for _, c := range clients {
		if c.AtGate() {
			text := "tries" // to get the lock
			if c.Phase() == Holding {
				text = "writes"
			}
			label, goesOn := strings.ToUpper(c.Name[:1]), func() { c.Gate <- struct{}{} }
			opts = append(opts, search.Option{Label: label, By: c.Name, Text: text, Do: goesOn})
		}
		for _, m := range c.InFlight() {
			opts = append(opts, search.Option{Label: m.Label(), By: c.Name, Text: m.Text, Line: m.Line, Do: m.Deliver})
		}
	}
	if late := s.Late; late != nil {
		opts = append(opts, search.Option{Label: "W", Do: func() { s.Late = nil; late() }})
	}
	if !s.Struck && s.stage.Fault.Strike != nil {
		opts = append(opts, s.stage.Fault.Strike(s)...)
	}
	if s.Waiting && slices.ContainsFunc(s.Clients, s.unaware) {
		opts = append(opts, search.Option{Label: "T", Do: func() {
			s.Waiting = false
			s.Pass(TTL, Renewals)
		}})
	}
	return opts
}

// Strike is a fault that strikes now, as an option: at something of alice's if it is by her, at
// a message of hers if that is not nil.
func (s *Schedule) Strike(by string, m *Message, strike func()) search.Option {
	o := search.Option{Label: "F", By: by, Do: func() {
		s.Struck = true
		strike()
	}}
	if m != nil {
		o.Label, o.Text, o.Line = "F"+m.Label(), m.Text, m.Line
	}
	return o
}

// idle says in a letter for each client why nothing of it can happen next.
func (s *Schedule) idle() string {
	idle := make([]byte, len(s.Clients))
	for i, c := range s.Clients {
		switch {
		case c.Dead():
			idle[i] = 'd' // it is dead
		case c.Phase() == Done:
			idle[i] = 'e' // it has ended
		case c.AtGate() || len(c.InFlight()) > 0:
			idle[i] = '.' // it can continue
		case c.Held():
			idle[i] = 'h' // a node hangs
		default:
			idle[i] = 'w' // it waits for an answer, or for time to pass
		}
	}
	return string(idle)
}

// Spare returns the nodes that are more than a majority.
func (s *Schedule) Spare() []*Node { return s.Nodes[len(s.Nodes)/2+1:] }

// Tells reports whether the locks tell their holders of a loss.
func (s *Schedule) Tells() bool { return s.Clients[0].Tells() }

// Happens says what happens to a node, a client, or otherwise.
func (s *Schedule) Happens(to any, text string) {
	r := trace.Record{Kind: trace.Fault, Text: text}
	switch to := to.(type) {
	case *Node:
		r.Node = to.N
	case *Client:
		r.Who = to.Name
	}
	s.Tell(r)
}

// inBubble counts the goroutines of the bubble.
func inBubble() int {
	stacks := make([]byte, 1<<20)
	return bytes.Count(stacks[:runtime.Stack(stacks, true)], []byte(", synctest bubble "))
}

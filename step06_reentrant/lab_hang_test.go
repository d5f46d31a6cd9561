package redislock

import (
	"bytes"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// From step 05 on: a command of a certain number, servers that hang or are far away, and connections that have died.
//
//lint:file-ignore U1000 some of these only later steps need

// before runs fn just before the client's nth command from now on reaches Redis.
func (l *lab) before(name string, nth int, fn func()) *twist {
	return l.announce(name, &twist{match: func(_ redis.Cmder, n int) bool { return n == nth }, before: fn})
}

// hang stops a node in the way SIGSTOP does: it takes connections and commands, and runs nothing. When it goes on, it
// runs all that it was sent meanwhile, even if nobody waits for that any more.
func (l *lab) hang(node int) (goOn func()) {
	var mu sync.Mutex
	var held []func()
	hold := func(w *wire, b []byte) {
		b = bytes.Clone(b)
		mu.Lock()
		defer mu.Unlock()
		held = append(held, func() {
			if _, err := w.Conn.Write(b); err != nil {
				conn, _ := w.server.Dial()
				conn.Write(b)
				go io.Copy(io.Discard, conn)
			}
		})
	}
	s := l.server(node)
	s.hold.Store(&hold)
	l.timeline.note("node %d hangs", node+1)
	return func() {
		l.wait()
		s.hold.Store(nil)
		l.timeline.note("node %d goes on", node+1)
		for _, run := range held {
			run()
		}
		l.wait()
	}
}

// far lets each round trip of a client take longer from now on, also those that make a connection.
func (l *lab) far(name string, roundTrip time.Duration) {
	l.wait()
	l.client(name).far.Store(int64(roundTrip))
	l.timeline.note("from now on, Redis is %v away from %s", roundTrip, name)
}

// slow lets what the clients called names send to a node arrive later.
func (l *lab) slow(node int, later time.Duration, names ...string) {
	s := l.server(node)
	slow := func(w *wire, b []byte) {
		if slices.Contains(names, w.client.name) {
			time.Sleep(later)
		}
		w.Conn.Write(b)
	}
	s.hold.Store(&slow)
	l.timeline.note("from now on, what %s sends arrives at node %d %v later", strings.Join(names, " or "), node+1, later)
}

// fillPool gives a client n connections to every node that wait to be used.
func (l *lab) fillPool(name string, n int) {
	for _, rdb := range l.client(name).nodes {
		conns := make([]*redis.Conn, n)
		for i := range conns {
			conns[i] = rdb.(*redis.Client).Conn()
			conns[i].ClientGetName(ctx) // any command connects it; this one counts as set-up
		}
		for _, conn := range conns {
			conn.Close()
		}
	}
	l.timeline.note("%s has %d connections to each node, which wait to be used", name, n)
}

// silence lets the connections that a node has now swallow everything, as when a NAT has forgotten them. Redis is well,
// and new connections work.
func (l *lab) silence(node int) {
	s := l.server(node)
	old := map[*wire]bool{}
	for _, c := range l.clients {
		c.hangUp(func(w *wire) bool {
			old[w] = true
			return false
		})
	}
	swallow := func(w *wire, b []byte) {
		if !old[w] {
			w.Conn.Write(b)
		}
	}
	s.hold.Store(&swallow)
	l.timeline.note("the connections to node %d go silent, new ones work", node+1)
}

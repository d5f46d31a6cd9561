package redislock

import (
	"bytes"
	"io"
	"sync"

	"github.com/redis/go-redis/v9"
)

// From step 05 on: a command of a certain number, and servers that hang.

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

package redislock

// Replies that are lost on their way.

import (
	"slices"
)

// loseReply loses the next reply to a write of the client, on every node: Redis has run the command, and the
// connection breaks before the client hears of it. Then it runs fn, and go-redis sends the command again.
// A refusal (NOSCRIPT) is not lost: nothing has happened yet.
func (l *lab) loseReply(name string, fn func()) {
	l.wait() // what is on its way is not meant
	c := l.client(name)
	lost := map[*server]bool{}
	var done chan struct{}
	lose := func(w *wire, reply []byte) bool {
		c.mu.Lock()
		if lost[w.server] || !isWrite(w.command) || reply[0] == '-' {
			c.mu.Unlock()
			return false
		}
		lost[w.server] = true
		first := done == nil
		if first {
			done = make(chan struct{})
		}
		c.mu.Unlock()

		l.timeline.lose(name, w.server.node)
		if first {
			fn()
			close(done)
		}
		<-done
		return true
	}
	c.lose.Store(&lose)
}

// lose notes that the reply to the client's command under way is lost.
func (tl *timeline) lose(who string, node int) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	for _, e := range slices.Backward(tl.events) {
		if e.who == who && e.node == node && e.reply == "" {
			e.reply = "(this reply is lost)"
			return
		}
	}
}

//go:build unix

package realfaults

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// A proxy is what a client takes for its server, and a replica for its master: it passes
// on all there is, until it is cut, or forgets its connections as a NAT does.
type proxy struct {
	listener net.Listener
	mu       sync.Mutex
	hung     bool // whether it forgets new connections at once
	passages []*passage
}

// A passage is a connection and what it is passed on to.
type passage struct {
	client, server net.Conn
	forgotten      atomic.Bool
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	p := &proxy{listener: listener}
	t.Cleanup(p.cut)
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				client.Close()
				continue
			}
			passing := &passage{client: client, server: server}
			p.mu.Lock()
			passing.forgotten.Store(p.hung)
			p.passages = append(p.passages, passing)
			p.mu.Unlock()
			go passing.pass(client, server)
			go passing.pass(server, client)
		}
	}()
	return p
}

func (p *passage) pass(from, to net.Conn) {
	defer from.Close()
	for b := make([]byte, 4096); ; {
		size, err := from.Read(b)
		switch {
		case p.forgotten.Load():
			io.Copy(io.Discard, from) // until it is closed, of which the other side does not hear
			return
		case err != nil:
			to.Close()
			return
		}
		to.Write(b[:size])
	}
}

func (p *proxy) addr() string { return p.listener.Addr().String() }

// forget forgets all connections there are, and if andLater, new ones as well: nothing
// comes through them from now on, and neither side notices.
func (p *proxy) forget(andLater bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.hung = andLater
	for _, passage := range p.passages {
		passage.forgotten.Store(true)
	}
}

// cut ends all connections, and takes no new ones. A replica keeps what it has, and gets
// nothing more.
func (p *proxy) cut() {
	p.listener.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, passage := range p.passages {
		passage.client.Close()
		passage.server.Close()
	}
}

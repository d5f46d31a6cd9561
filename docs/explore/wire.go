package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2/server"
)

// A wire is a connection of go-redis to a node. What is written to it is in flight until the explorer delivers it.
type wire struct {
	client *client
	node   *node
	peer   *server.Peer

	mu       sync.Mutex
	runs     bool          // a command, and out is its reply
	out      bytes.Buffer  // what is written otherwise is a message to a subscriber
	in       []byte        // replies that go-redis has not read
	more     chan struct{} // holds one value when there is more to read
	closed   chan struct{}
	deadline time.Time
}

// A message is a command in flight.
type message struct {
	wire *wire
	seq  int
	args []string
	back bool // sent in the background: the client's program was not in a call of the lock
}

func (c *client) dial(_ context.Context, _, addr string) (net.Conn, error) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	n := c.world.nodes[addr[len("10.0.0.")]-'1']
	if c.dead.Load() || n.down || c.cut {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	w := &wire{client: c, node: n, more: make(chan struct{}, 1), closed: make(chan struct{})}
	w.peer = server.NewPeer(bufio.NewWriter(fromNode{w}))
	c.wires = append(c.wires, w)
	return w, nil
}

// Write puts the commands in b in flight. Those that set up a connection are not worth a step: they run at once.
func (w *wire) Write(b []byte) (int, error) {
	if w.isClosed() {
		return 0, io.EOF
	}
	for rest := b; len(rest) > 0; {
		var args []string
		args, rest = parse(rest)
		if name := strings.ToLower(args[0]); name == "hello" || name == "client" {
			w.answer(w.run(args))
			continue
		}
		w.client.world.send(&message{wire: w, args: args})
	}
	return len(b), nil
}

// parse takes the first command off what go-redis sends: *2 $3 GET $7 coupons.
func parse(b []byte) (args []string, rest []byte) {
	number := func() int {
		line, after, _ := bytes.Cut(b, []byte("\r\n"))
		b = after
		n, _ := strconv.Atoi(string(line[1:]))
		return n
	}
	for range number() {
		n := number()
		args = append(args, string(b[:n]))
		b = b[n+2:]
	}
	return args, b
}

// run lets the node execute a command, and returns its reply.
func (w *wire) run(args []string) []byte {
	w.setRuns(true)
	w.node.Server().Dispatch(w.peer, args)
	w.peer.Flush()
	w.setRuns(false)
	return bytes.Clone(w.out.Bytes())
}

func (w *wire) setRuns(runs bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.runs = runs; runs {
		w.out.Reset()
	}
}

// fromNode is what the node writes to.
type fromNode struct{ *wire }

func (f fromNode) Write(b []byte) (int, error) {
	f.mu.Lock()
	if f.runs {
		defer f.mu.Unlock()
		return f.out.Write(b)
	}
	f.mu.Unlock()
	f.answer(b)
	return len(b), nil
}

// answer lets go-redis read a reply.
func (w *wire) answer(reply []byte) {
	w.mu.Lock()
	w.in = append(w.in, reply...)
	w.mu.Unlock()
	select {
	case w.more <- struct{}{}:
	default:
	}
}

func (w *wire) Read(b []byte) (int, error) {
	for {
		w.mu.Lock()
		n := copy(b, w.in)
		w.in = w.in[n:]
		var timeout <-chan time.Time
		if !w.deadline.IsZero() {
			timeout = time.After(max(time.Until(w.deadline), 1))
		}
		w.mu.Unlock()
		if n > 0 {
			return n, nil
		}
		select {
		case <-w.more:
		case <-w.closed:
			return 0, io.EOF
		case <-timeout:
			return 0, os.ErrDeadlineExceeded
		}
	}
}

func (w *wire) isClosed() bool {
	select {
	case <-w.closed:
		return true
	default:
		return false
	}
}

func (w *wire) Close() error {
	w.mu.Lock()
	open := !w.isClosed()
	if open {
		close(w.closed)
	}
	w.mu.Unlock()
	if open {
		w.node.Server().Dispatch(w.peer, []string{"UNSUBSCRIBE"}) // the node's goroutines of a subscription end
	}
	return nil
}

func (w *wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = t
	return nil
}

func (w *wire) SetDeadline(t time.Time) error    { return w.SetReadDeadline(t) }
func (*wire) SetWriteDeadline(t time.Time) error { return nil }
func (*wire) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (*wire) RemoteAddr() net.Addr               { return &net.TCPAddr{} }

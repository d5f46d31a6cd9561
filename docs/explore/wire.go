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

// A wire is a connection of go-redis. What is written to it is in flight until the explorer delivers it.
type wire struct {
	client *client
	node   *node
	peer   *server.Peer
	out    *bytes.Buffer // what the server has answered to the command that runs

	mu       sync.Mutex
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
	n := c.world.nodes[addr[len("10.0.0.")]-'1']
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	if c.dead.Load() || n.down || c.cut {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	out := new(bytes.Buffer)
	w := &wire{client: c, node: n, out: out, peer: server.NewPeer(bufio.NewWriter(out)),
		more: make(chan struct{}, 1), closed: make(chan struct{})}
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

// run lets the server execute a command, and returns its reply.
func (w *wire) run(args []string) []byte {
	w.node.Server().Dispatch(w.peer, args)
	w.peer.Flush()
	reply := bytes.Clone(w.out.Bytes())
	w.out.Reset()
	return reply
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
	defer w.mu.Unlock()
	if !w.isClosed() {
		close(w.closed)
	}
	return nil
}

func (w *wire) SetReadDeadline(t time.Time) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.deadline = t
	return nil
}

func (w *wire) SetDeadline(t time.Time) error      { return w.SetReadDeadline(t) }
func (w *wire) SetWriteDeadline(t time.Time) error { return nil }
func (w *wire) LocalAddr() net.Addr                { return &net.TCPAddr{} }
func (w *wire) RemoteAddr() net.Addr               { return &net.TCPAddr{} }

package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/proto"
	"github.com/alicebob/miniredis/v2/server"
)

// A wire is a connection of go-redis to a node. What go-redis sends is in flight until the explorer delivers it.
type wire struct {
	net.Conn // the node's end
	client   *client
	node     *node
	peer     *server.Peer
	silent   atomic.Bool // it has died, and neither end knows
	closed   atomic.Bool // by go-redis

	mu    sync.Mutex
	reply *bytes.Buffer // to the command that runs
}

// A message is a command in flight.
type message struct {
	wire  *wire
	args  []string
	cause int  // the choice after which it was sent
	back  bool // sent in the background: the client's program was not in a call of the lock
}

func (c *client) dial(_ context.Context, _, addr string) (net.Conn, error) {
	c.world.mu.Lock()
	defer c.world.mu.Unlock()
	n := c.world.nodes[addr[len("10.0.0.")]-'1']
	if c.dead.Load() || n.down || c.cut {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	near, far := net.Pipe()
	w := &wire{Conn: far, client: c, node: n}
	w.peer = server.NewPeer(bufio.NewWriter(fromNode{w}))
	c.wires = append(c.wires, w)
	go w.read()
	return nearEnd{near}, nil
}

// nearEnd is go-redis's end. Broken, it says what a TCP connection says, after which go-redis tries again. A pipe says ErrClosedPipe,
// even to who sets a deadline.
type nearEnd struct{ net.Conn }

func (e nearEnd) Write(b []byte) (int, error) {
	n, err := e.Conn.Write(b)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

func (e nearEnd) SetReadDeadline(t time.Time) error { e.Conn.SetReadDeadline(t); return nil }
func (e nearEnd) SetWriteDeadline(time.Time) error  { return nil }

// read puts in flight what go-redis sends. Commands that set up a connection are not worth a step: they run at once.
func (w *wire) read() {
	defer func() {
		w.closed.Store(true)
		w.unsubscribe()
	}()
	for r := bufio.NewReader(w.Conn); ; {
		command, err := proto.Read(r)
		if err != nil {
			return
		}
		args, _ := proto.ReadStrings(command)
		if w.silent.Load() {
			continue
		}
		if name := strings.ToLower(args[0]); name == "hello" || name == "client" || name == "ping" {
			w.Write(w.run(args))
		} else {
			w.client.world.send(&message{wire: w, args: args})
		}
	}
}

// unsubscribe ends the goroutines of a subscription.
func (w *wire) unsubscribe() { w.run([]string{"UNSUBSCRIBE"}) }

// run lets the node execute a command, and returns its reply.
func (w *wire) run(args []string) []byte {
	var reply bytes.Buffer
	w.captures(&reply)
	w.node.Server().Dispatch(w.peer, args)
	w.peer.Flush()
	w.captures(nil)
	return reply.Bytes()
}

func (w *wire) captures(reply *bytes.Buffer) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reply = reply
}

// fromNode is what the node writes to: replies, and messages to a subscriber.
type fromNode struct{ *wire }

func (f fromNode) Write(b []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.reply != nil {
		return f.reply.Write(b)
	}
	return f.Conn.Write(b)
}

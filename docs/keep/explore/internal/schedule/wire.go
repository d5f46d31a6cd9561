package schedule

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"path"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/alicebob/miniredis/v2/server"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
)

// A wire is a connection of go-redis to a node. What go-redis sends is in flight until
// the explorer delivers it.
type wire struct {
	net.Conn // the node's end
	client   *Client
	node     *Node
	peer     *server.Peer
	line     atomic.Value // of the lock that has sent the last command, "" if none has
	silent   atomic.Bool  // it has died, and neither end knows
	closed   atomic.Bool  // by go-redis
	broken   atomic.Bool  // by a fault

	mu    sync.Mutex
	reply *bytes.Buffer // to the command that runs
}

// Dial is the Dialer of a client's go-redis.
func (c *Client) Dial(_ context.Context, _, addr string) (net.Conn, error) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	n := c.s.Nodes[addr[len("10.0.0.")]-'1']
	if c.dead.Load() || n.Down || c.Cut {
		called := "Redis"
		if len(c.s.Nodes) > 1 {
			called = "node " + n.String()
		}
		if !c.dead.Load() {
			c.later(0, trace.Record{Kind: trace.Refused, Node: n.N, Text: "cannot reach " + called + ": connection refused"})
		}
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}
	}
	near, far := net.Pipe()
	w := &wire{Conn: far, client: c, node: n}
	w.peer = server.NewPeer(bufio.NewWriterSize(fromNode{w}, 512))
	c.wires = append(c.wires, w)
	go w.read()
	return nearEnd{near, w}, nil
}

// nearEnd is go-redis's end. Broken, it says what a TCP connection says, after which
// go-redis tries again. A pipe says ErrClosedPipe, even to who sets a deadline.
type nearEnd struct {
	net.Conn
	wire *wire
}

func (e nearEnd) Write(b []byte) (int, error) {
	e.wire.line.Store(callerInLock()) // go-redis writes in the goroutine that calls it
	n, err := e.Conn.Write(b)
	if err != nil {
		err = io.EOF
	}
	return n, err
}

func (e nearEnd) SetReadDeadline(t time.Time) error { e.Conn.SetReadDeadline(t); return nil }
func (e nearEnd) SetWriteDeadline(time.Time) error  { return nil }

// read puts in flight what go-redis sends. Commands that set up a connection are not
// worth a step: they run at once.
func (w *wire) read() {
	defer w.hangUp()
	for r := bufio.NewReaderSize(w.Conn, 512); ; {
		command, err := server.ParseReply(r) // commands look like replies: lists of strings
		if err != nil {
			return
		}
		var args []string
		for _, arg := range command.([]any) {
			args = append(args, arg.(string))
		}
		if name := strings.ToLower(args[0]); name != "hello" && name != "client" && name != "ping" {
			w.client.s.send(&Message{wire: w, Client: w.client, Node: w.node, Line: w.line.Load().(string), args: args})
		} else if !w.silent.Load() {
			w.Write(w.run(args))
		}
	}
}

// hangUp is the end of a wire. What go-redis has asked and was not answered, it does not
// wait for any longer.
func (w *wire) hangUp() {
	w.closed.Store(true)
	w.unsubscribe()
	if !w.broken.Load() {
		w.client.s.givenUp(w)
	}
}

func (w *wire) breaks() {
	w.broken.Store(true)
	w.Close()
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

// callerInLock is the line of the innermost function of a lock on the stack, "" if there
// is none. The functions in send.go send for all of them: their caller says more.
func callerInLock() (line string) {
	var callers [64]uintptr
	n := runtime.Callers(3, callers[:])
	if line, known := lines.Load(callers); known {
		return line.(string)
	}
	frames := runtime.CallersFrames(callers[:n])
	for f, more := frames.Next(); more; f, more = frames.Next() {
		file := path.Base(f.File)
		inLock := strings.HasPrefix(f.Function, course.Module+"/step") || strings.HasPrefix(f.Function, course.Module+"/docs/fencing.")
		if inLock {
			line = fmt.Sprintf("%s:%d", file, f.Line)
		}
		if inLock && file != "send.go" {
			break
		}
	}
	lines.Store(callers, line)
	return line
}

// lines are the results of callerInLock by stack: a search meets few stacks, and each of
// them many times.
var lines sync.Map

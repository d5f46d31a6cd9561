package main

import (
	"bufio"
	"io"
	"strconv"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// A node is one Redis.
type node struct {
	*miniredis.Miniredis
	n          int
	down, hung bool
	owner      *client // who has acquired the key that is there
	forgot     bool    // the scripts are not loaded any more
}

func (n *node) name() string   { return "node " + n.String() }
func (n *node) String() string { return strconv.Itoa(n.n + 1) }

// reset empties a node for the next schedule. Its scripts stay loaded.
func (n *node) reset(scripts map[string]string) {
	n.FlushAll()
	n.down, n.hung, n.owner = false, false, nil
	if n.forgot {
		for _, source := range scripts {
			n.command("SCRIPT", "LOAD", source)
		}
		n.forgot = false
	}
}

// forget is a restart without persistence.
func (n *node) forget() {
	n.FlushAll()
	n.flushScripts()
}

func (n *node) flushScripts() {
	n.command("SCRIPT", "FLUSH")
	n.forgot = true
}

func (n *node) command(args ...string) {
	n.Server().Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), args)
}

// spare is the nodes that are more than a majority.
func (w *world) spare() []*node { return w.nodes[len(w.nodes)/2+1:] }

// stop breaks the connections to the first node.
func (w *world) stop(what string) *node {
	w.tell("-- %s", what)
	w.disconnect(w.nodes[0])
	return w.nodes[0]
}

func (w *world) disconnect(n *node) {
	for _, c := range w.clients {
		c.disconnect(n)
	}
}

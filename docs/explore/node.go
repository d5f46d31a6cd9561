package main

import (
	"bufio"
	"io"

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

// reset empties a server for the next schedule. Its scripts stay loaded.
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

func (w *world) disconnect(n *node) {
	for _, c := range w.clients {
		c.disconnect(func(wire *wire) bool { return wire.node == n })
	}
}

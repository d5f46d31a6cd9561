package schedule

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// A Cluster is the nodes that all schedules of a cell share. They are emptied in between;
// their scripts stay loaded.
type Cluster struct {
	Nodes   []*Node
	scripts map[string]string // sources by SHA-1
}

// A Node is one Redis.
type Node struct {
	*miniredis.Miniredis
	N          int // from 1
	Down, Hung bool
	owner      string // who has stored the key that is there
	forgot     bool   // the scripts are no longer loaded
}

// Start starts a cluster of n nodes.
func Start(n int) (*Cluster, error) {
	c := &Cluster{scripts: map[string]string{}}
	for i := range n {
		node := &Node{Miniredis: miniredis.NewMiniRedis(), N: i + 1, forgot: true}
		node.ClockTTL(true)
		conn, err := node.Dial() // starts it
		if err != nil {
			return nil, err
		}
		conn.Close()
		c.Nodes = append(c.Nodes, node)
	}
	return c, nil
}

// Forget makes the next schedule load all scripts that are known when it starts.
func (c *Cluster) Forget() {
	for _, n := range c.Nodes {
		n.forgot = true
	}
}

// Stop ends the nodes.
func (c *Cluster) Stop() {
	for _, n := range c.Nodes {
		n.Close()
	}
}

// Owned counts the nodes that have the key, and where owner, if it is not "", has stored it.
func (c *Cluster) Owned(owner string) (count int) {
	for _, n := range c.Nodes {
		if n.Exists(Key) && (owner == "" || owner == n.owner) {
			count++
		}
	}
	return count
}

// reset empties a node for the next schedule.
func (n *Node) reset(scripts map[string]string) {
	n.FlushAll()
	n.Down, n.Hung, n.owner = false, false, ""
	if n.forgot {
		for _, source := range scripts {
			n.command("SCRIPT", "LOAD", source)
		}
		n.forgot = false
	}
}

// Restart empties a node, as a restart without persistence does.
func (n *Node) Restart() {
	n.FlushAll()
	n.FlushScripts()
}

func (n *Node) FlushScripts() {
	n.command("SCRIPT", "FLUSH")
	n.forgot = true
}

func (n *Node) Delete() { n.Del(Key) }

// Steal overwrites the key, if it is there, with another owner's.
func (n *Node) Steal() {
	kind := n.Type(Key)
	if kind == "" {
		return
	}
	n.Del(Key)
	if kind == "hash" {
		n.HSet(Key, "thief", "1")
	} else {
		n.Set(Key, "thief")
	}
	n.SetTTL(Key, TTL)
	n.owner = "another program"
}

// value is what stands at the key: a token, or the field that is one.
func (n *Node) value() string {
	if fields, err := n.HKeys(Key); err == nil {
		return strings.Join(fields, " ")
	}
	value, _ := n.Get(Key)
	return value
}

func (n *Node) command(args ...string) {
	n.Server().Dispatch(server.NewPeer(bufio.NewWriter(io.Discard)), args)
}

func (n *Node) String() string { return strconv.Itoa(n.N) }

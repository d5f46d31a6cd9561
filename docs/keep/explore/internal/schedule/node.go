package schedule

import (
	"bufio"
	"io"
	"strconv"
	"strings"

	"github.com/alicebob/miniredis/v2"
	"github.com/alicebob/miniredis/v2/server"
)

// A Node is one Redis. All schedules of a cell share it. It is emptied in between; its
// scripts stay loaded.
type Node struct {
	*miniredis.Miniredis
	N          int // from 1
	Down, Hung bool
	owner      string // who has stored the key that is there
	forgot     bool   // the scripts are no longer loaded
}

// newNode starts a node.
func newNode(number int) *Node {
	n := &Node{Miniredis: miniredis.NewMiniRedis(), N: number}
	n.ClockTTL(true)
	conn, err := n.Dial() // starts it
	if err != nil {
		panic(err) // it is in memory
	}
	conn.Close()
	return n
}

// owned counts the nodes that have the key, and where owner, if it is not "", has stored it.
func (s *Schedule) owned(owner string) (count int) {
	for _, n := range s.Nodes {
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

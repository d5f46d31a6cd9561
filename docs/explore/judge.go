package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"example.com/redislock-steps/docs/fencing"
)

// A kind is a way in which a lock can fail its users.
type kind string

const (
	twoInside   kind = "X" // two clients are inside at once
	lostUpdate  kind = "L" // a write goes over what its writer has not read
	deleted     kind = "D" // a client deletes the lock of another one
	locked      kind = "K" // locked with nobody inside, a ttl after the last command
	blocked     kind = "B" // a holder is kept out by its own lock
	untold      kind = "T" // a holder is not told that its lock is lost
	falseAlarm  kind = "N" // a holder is told that its lock is lost, and it is not
	unavailable kind = "U" // a node is gone, and the free lock cannot be had
	asleep      kind = "W" // a client in Lock sleeps on, though the lock is free
	stuck       kind = "S" // a call does not return
	leftover    kind = "G" // something is left over: goroutines, commands, keys
)

// kinds is the order in which a cell names them.
const kinds = "XLDKBTNUWSG"

// A judge stands at the resource. The resource is a number; each holder reads it, adds one, and writes it.
type judge struct {
	inside map[*client]int // how often
	read   map[*client]int // what it has read
	value  int
	gone   map[*client]time.Time // since when a holder's key is not there
	passed map[*client]bool      // somebody else was inside meanwhile: to have the key again does not help
	memory *fencing.Memory       // the resource of the epilogue, which checks tokens

	path  []string // the schedule
	found []violation
}

type violation struct {
	kind  kind
	text  string
	steps int // how much of the schedule it took
	line  int // of the story
}

// violate notes the first violation of each kind.
func (w *world) violate(k kind, format string, args ...any) {
	for _, v := range w.found {
		if v.kind == k {
			return
		}
	}
	v := violation{k, fmt.Sprintf(format, args...), len(w.path), len(w.lines) + 1}
	w.found = append(w.found, v)
	w.tell("** %s: %s", k, v.text)
}

// enter is the moment at which TryLock has returned nil: the client reads the resource.
func (w *world) enter(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.entered = true
	value, with := w.value, ""
	if f, ok := c.lock.(*fenced); ok {
		with = fmt.Sprintf(" with token %d", f.token)
		text, err := w.memory.Read(context.Background(), f.token, key)
		if err != nil {
			w.tell("%-5s reads%s: refused", c.name, with)
			return
		}
		value, _ = strconv.Atoi(text)
	}
	w.inside[c]++
	if w.inside[c] > 1 {
		return
	}
	w.read[c] = value
	for other := range w.gone {
		w.passed[other] = true
	}
	w.tell("%-5s is inside, reads %d%s", c.name, value, with)
	for _, other := range w.clients {
		if w.memory == nil && other != c && w.inside[other] > 0 && !other.dead.Load() {
			w.violate(twoInside, "%s and %s are inside", other.name, c.name)
		}
	}
}

// write is the moment at which a write takes effect.
func (w *world) write(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	value, with := w.read[c]+1, ""
	if f, ok := c.lock.(*fenced); ok {
		with = fmt.Sprintf(" with token %d", f.token)
		if err := w.memory.Write(context.Background(), f.token, key, strconv.Itoa(value)); err != nil {
			w.tell("%-5s writes %d%s: refused", c.name, value, with)
			return
		}
	}
	w.tell("%-5s writes %d%s", c.name, value, with)
	if w.value != w.read[c] {
		w.violate(lostUpdate, "%s writes over an update that it has not read", c.name)
	}
	w.value = value
	w.read[c] = value
}

func (w *world) leave(c *client) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.inside[c]--
	delete(w.gone, c)
	delete(w.passed, c)
}

// deletes judges a command of c that has run on n: whose key was there before it?
func (w *world) deletes(n *node, c *client, before bool) {
	after := n.Exists(key)
	if before && !after && n.owner != c {
		w.violate(deleted, "%s deletes the lock of %s", c.name, n.owner.name)
	}
	if before && !after && n.owner == c {
		c.freed.Add(1)
	}
	if !before && after {
		n.owner = c
	}
}

// look takes what clients complain of, and asks for each holder whether it still holds the lock, and if not, whether it has
// been told.
func (w *world) look() {
	for _, c := range w.clients {
		for _, v := range c.complaints {
			w.violate(v.kind, "%s", v.text)
		}
		c.complaints = nil
		if !w.unaware(c) {
			if !w.passed[c] {
				delete(w.gone, c) // it has the key again, and nobody was there
			}
			continue
		}
		if w.gone[c].IsZero() {
			w.gone[c] = time.Now()
		}
		if time.Since(w.gone[c]) >= w.fault.grace {
			w.violate(untold, "%s has lost the lock and is not told", c.name)
		}
	}
}

// unaware reports whether c works on, has lost the lock, and could know that and does not.
func (w *world) unaware(c *client) bool {
	return w.tells() && w.inside[c] > 0 && c.phase.Load() == holding && !c.dead.Load() && !c.frozen.Load() && !c.lost() && (!w.owns(c) || w.passed[c])
}

// tells reports whether the locks tell their holders of a loss.
func (w *world) tells() bool {
	_, tells := w.clients[0].lock.(loser)
	return tells
}

func (w *world) anyLoss() bool { return slices.ContainsFunc(w.clients, w.unaware) }

// owns reports whether c's key is on a majority of the nodes.
func (w *world) owns(c *client) bool {
	n := 0
	for _, node := range w.nodes {
		if node.owner == c && node.Exists(key) {
			n++
		}
	}
	return n > len(w.nodes)/2
}

// keys counts the nodes that have the key.
func (w *world) keys() (n int) {
	for _, node := range w.nodes {
		if node.Exists(key) {
			n++
		}
	}
	return n
}

// settle ends a schedule: what is in flight arrives, a ttl passes, and nothing may be left over.
func (w *world) settle(goroutines int) {
	for _, c := range w.clients {
		c.frozen.Store(false)
	}
	if gone := w.fault.gone; gone == 1 || gone > 0 && gone <= (len(w.nodes)-1)/2 {
		w.arrive(ttl+time.Second, all)
		w.probe()
	}
	for _, n := range w.nodes {
		n.down, n.hung = false, false
	}
	w.arrive(ttl+time.Second, all)
	switch n := w.keys(); {
	case n > len(w.nodes)/2:
		w.violate(locked, "nobody is inside, and the lock is not free after a ttl")
	case n > 0:
		w.violate(leftover, "a key is left over")
	}
	sent := w.seq
	w.arrive(5*ttl, all)
	if w.seq > sent {
		w.violate(leftover, "commands are still sent when all have unlocked")
	}
	w.end()
	if runtime.NumGoroutine() > goroutines && inBubble() > w.idle { // the runtime has goroutines of its own, outside
		w.violate(leftover, "a goroutine is left over")
	}
}

// probe lets a newcomer try the lock: with one node gone, or a minority of them, it must be free and work.
func (w *world) probe() {
	c := w.newClient(len(w.clients))
	result := make(chan error, 1)
	go func() { result <- c.lock.TryLock(context.Background()) }()
	w.arrive(time.Second, all)
	select {
	case err := <-result:
		if err != nil {
			w.violate(unavailable, "%s cannot acquire the free lock: %v", c.name, err)
		}
		go c.lock.Unlock(context.Background())
		w.arrive(time.Second, all)
	default:
		w.violate(unavailable, "%s waits for the free lock", c.name)
		c.crash()
	}
}

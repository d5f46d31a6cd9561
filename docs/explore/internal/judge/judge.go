// Package judge says what is wrong. The judge stands at the resource, and does not look
// at keys alone.
package judge

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"example.com/redislock-steps/docs/explore/internal/network"
	"example.com/redislock-steps/docs/fencing"
	"example.com/redislock-steps/docs/internal/trace"
)

// A Kind is a way in which a lock can fail its users.
type Kind string

const (
	TwoInside   Kind = "X" // two clients are inside at once
	LostUpdate  Kind = "L" // a write goes over what its writer has not read
	Deleted     Kind = "D" // a client deletes the lock of another one
	Locked      Kind = "K" // locked with no one inside, a ttl after the last command
	Blocked     Kind = "B" // a holder is kept out by its own lock
	Untold      Kind = "T" // a holder does not hear that its lock is lost
	FalseAlarm  Kind = "N" // a holder hears that its lock is lost, and it is not
	Unavailable Kind = "U" // a node is gone, and the free lock cannot be had
	Asleep      Kind = "W" // a client in Lock sleeps on, though the lock is free
	Stuck       Kind = "S" // a call does not return
	Leftover    Kind = "G" // something is left over: goroutines, commands, keys
)

// Kinds is the order in which a cell names them.
const Kinds = "XLDKBTNUWSG"

// A Judge stands at the resource. The resource is a number; each holder reads it, adds
// one, and writes it.
type Judge struct {
	Steps   int  // of the schedule so far
	Entered bool // a client has come in since this was last reset
	Found   []Violation

	net     *network.Net
	grace   time.Duration // how late a holder may be notified: there is no warning
	memory  *fencing.Memory
	holders []*Holder

	mu    sync.Mutex
	value int
}

// A Violation is something that is wrong.
type Violation struct {
	Kind  Kind
	Steps int // how much of the schedule it took
}

// A Holder is a client as the judge sees it.
type Holder struct {
	*network.Host
	Fence   func() int64 // the number of its hold, nil if there is none
	Unaware func() bool  // it works on, and could know of a loss and does not

	Inside bool

	freed  atomic.Int32 // how many nodes its hold was on that it has released itself
	read   int
	gone   time.Time // since when its key is not there
	passed bool      // another client was inside: having the key again does not help
}

// New returns a judge. If the resource is fenced, it checks the numbers of holds.
func New(net *network.Net, grace time.Duration, fenced bool) *Judge {
	j := &Judge{net: net, grace: grace}
	if fenced {
		j.memory = fencing.NewMemory()
		j.memory.Create(context.Background(), network.Key, "0")
	}
	net.Deleted = j.deleted
	return j
}

// Join adds a holder.
func (j *Judge) Join(h *Holder) { j.holders = append(j.holders, h) }

// Violate notes the first violation of each kind. by caused it, in its goroutine;
// nil: no client did.
func (j *Judge) Violate(by *Holder, k Kind, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.violate(by, k, format, args...)
}

func (j *Judge) violate(by *Holder, k Kind, format string, args ...any) {
	if slices.ContainsFunc(j.Found, func(v Violation) bool { return v.Kind == k }) {
		return
	}
	j.Found = append(j.Found, Violation{k, j.Steps})
	r := trace.Record{Kind: trace.Verdict, Text: string(k) + ": " + fmt.Sprintf(format, args...)}
	if by == nil {
		j.net.Tell(r)
	} else {
		j.net.Later(by.Host, 0, r)
	}
}

// Enter is the moment at which TryLock has returned nil: the client reads the resource.
func (j *Judge) Enter(h *Holder) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.Entered = true
	value, err := j.value, error(nil)
	if j.memory != nil {
		var text string
		text, err = j.memory.Read(context.Background(), h.Fence(), network.Key)
		value, _ = strconv.Atoi(text)
	}
	if err != nil {
		j.note(h, 0, "reads", ": refused")
		return
	}
	j.note(h, 1, fmt.Sprintf("is inside, reads %d", value), "")
	h.Inside, h.read = true, value
	for _, other := range j.holders {
		if !other.gone.IsZero() {
			other.passed = true
		}
		if j.memory == nil && other != h && other.Inside && !other.Dead() {
			j.violate(h, TwoInside, "%s and %s are inside", other.Name, h.Name)
		}
	}
}

// Write is the moment at which a write takes effect.
func (j *Judge) Write(h *Holder) {
	j.mu.Lock()
	defer j.mu.Unlock()
	value := h.read + 1
	text := fmt.Sprintf("writes %d", value)
	if j.memory != nil && j.memory.Write(context.Background(), h.Fence(), network.Key, strconv.Itoa(value)) != nil {
		j.note(h, 0, text, ": refused")
		return
	}
	j.note(h, 0, text, "")
	if j.value != h.read {
		j.violate(h, LostUpdate, "%s writes over an update that it has not read", h.Name)
	}
	j.value, h.read = value, value
}

// note writes into the trace what a holder does at the resource.
func (j *Judge) note(h *Holder, door int, text, result string) {
	if j.memory != nil {
		text += fmt.Sprintf(" with token %d", h.Fence())
	}
	j.net.Later(h.Host, door, trace.Record{Kind: trace.Note, Text: text + result})
}

// Leave is the end of a holder's work.
func (j *Judge) Leave(h *Holder) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h.Inside, h.gone, h.passed = false, time.Time{}, false
	j.net.Later(h.Host, -1, trace.Record{})
}

// deleted judges a command that has deleted the key: whose was it?
func (j *Judge) deleted(by *network.Host, owner string) {
	if owner != by.Name {
		j.Violate(nil, Deleted, "%s deletes the lock of %s", by.Name, owner)
		return
	}
	for _, h := range j.holders {
		if h.Host == by {
			h.freed.Add(1)
		}
	}
}

// Anew begins a hold: what was released before no longer counts.
func (h *Holder) Anew() { h.freed.Store(0) }

// Held reports whether a hold lasted until its release.
func (j *Judge) Held(h *Holder) bool {
	return int(h.freed.Load()) > len(j.net.Nodes)/2 || j.Owns(h)
}

// Owns reports whether a holder's key is on a majority of the nodes.
func (j *Judge) Owns(h *Holder) bool { return j.net.Owned(h.Name) > len(j.net.Nodes)/2 }

// Look asks for each holder whether it still holds the lock, and if not, whether it has
// heard of it.
func (j *Judge) Look() {
	for _, h := range j.holders {
		if !j.unaware(h) {
			if !h.passed {
				h.gone = time.Time{} // it has the key again, and no other client was there
			}
			continue
		}
		if h.gone.IsZero() {
			h.gone = time.Now()
		}
		if time.Since(h.gone) >= j.grace {
			j.Violate(nil, Untold, "%s has lost the lock and is not notified", h.Name)
		}
	}
}

// unaware reports whether a holder works on, has lost the lock, and could know that and does not.
func (j *Judge) unaware(h *Holder) bool {
	return h.Inside && h.Unaware() && (!j.Owns(h) || h.passed)
}

// AnyLoss reports whether any holder is unaware of its loss.
func (j *Judge) AnyLoss() bool { return slices.ContainsFunc(j.holders, j.unaware) }

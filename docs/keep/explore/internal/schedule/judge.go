package schedule

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

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

// A judge says what is wrong. It stands at the resource, and does not look at keys alone.
// The resource is a number; each holder reads it, adds one, and writes it.
type judge struct {
	Clients []*Client
	Found   []Violation

	steps   int  // of the schedule so far
	entered bool // a client has come in since this was last reset
	net     *Net
	grace   time.Duration // how late a holder may be notified: there is no warning
	memory  *fencing.Memory

	mu    sync.Mutex
	value int
}

// A Violation is something that is wrong.
type Violation struct {
	Kind  Kind
	Steps int // how much of the schedule it took
}

// A hold is a client as the judge sees it.
type hold struct {
	inside bool
	freed  atomic.Int32 // how many nodes its hold was on that it has released itself
	read   int
	gone   time.Time // since when its key is not there
	passed bool      // another client was inside: having the key again does not help
}

// newJudge returns a judge. If the resource is fenced, it checks the numbers of holds.
func newJudge(net *Net, grace time.Duration, fenced bool) *judge {
	j := &judge{net: net, grace: grace}
	if fenced {
		j.memory = fencing.NewMemory()
		j.memory.Create(context.Background(), Key, "0")
	}
	net.Deleted = j.deleted
	return j
}

// violate notes the first violation of each kind. by caused it, in its goroutine;
// nil: no client did.
func (j *judge) violate(by *Client, k Kind, format string, args ...any) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.add(by, k, format, args...)
}

func (j *judge) add(by *Client, k Kind, format string, args ...any) {
	if slices.ContainsFunc(j.Found, func(v Violation) bool { return v.Kind == k }) {
		return
	}
	j.Found = append(j.Found, Violation{k, j.steps})
	r := trace.Record{Kind: trace.Verdict, Text: string(k) + ": " + fmt.Sprintf(format, args...)}
	if by == nil {
		j.net.Tell(r)
	} else {
		by.Later(0, r)
	}
}

// enter is the moment at which TryLock has returned nil: the client reads the resource.
func (j *judge) enter(h *Client) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.entered = true
	value, err := j.value, error(nil)
	if j.memory != nil {
		var text string
		text, err = j.memory.Read(context.Background(), h.fence(), Key)
		value, _ = strconv.Atoi(text)
	}
	if err != nil {
		j.note(h, 0, "reads", ": refused")
		return
	}
	j.note(h, 1, fmt.Sprintf("is inside, reads %d", value), "")
	h.inside, h.read = true, value
	for _, other := range j.Clients {
		if !other.gone.IsZero() {
			other.passed = true
		}
		if j.memory == nil && other != h && other.inside && !other.Dead() {
			j.add(h, TwoInside, "%s and %s are inside", other.Name, h.Name)
		}
	}
}

// Write is the moment at which a write takes effect.
func (j *judge) Write(h *Client) {
	j.mu.Lock()
	defer j.mu.Unlock()
	value := h.read + 1
	text := fmt.Sprintf("writes %d", value)
	if j.memory != nil && j.memory.Write(context.Background(), h.fence(), Key, strconv.Itoa(value)) != nil {
		j.note(h, 0, text, ": refused")
		return
	}
	j.note(h, 0, text, "")
	if j.value != h.read {
		j.add(h, LostUpdate, "%s writes over an update that it has not read", h.Name)
	}
	j.value, h.read = value, value
}

// note writes into the trace what a holder does at the resource.
func (j *judge) note(h *Client, door int, text, result string) {
	if j.memory != nil {
		text += fmt.Sprintf(" with token %d", h.fence())
	}
	h.Later(door, trace.Record{Kind: trace.Note, Text: text + result})
}

// leave is the end of a holder's work.
func (j *judge) leave(h *Client) {
	j.mu.Lock()
	defer j.mu.Unlock()
	h.inside, h.gone, h.passed = false, time.Time{}, false
	h.Later(-1, trace.Record{})
}

// deleted judges a command that has deleted the key: whose was it?
func (j *judge) deleted(by *Host, owner string) {
	if owner != by.Name {
		j.violate(nil, Deleted, "%s deletes the lock of %s", by.Name, owner)
		return
	}
	for _, h := range j.Clients {
		if h.Host == by {
			h.freed.Add(1)
		}
	}
}

// anew begins a hold: what was released before no longer counts.
func (c *Client) anew() { c.freed.Store(0) }

// held reports whether a hold lasted until its release.
func (j *judge) held(h *Client) bool {
	return int(h.freed.Load()) > len(j.net.Nodes)/2 || j.owns(h)
}

// owns reports whether a holder's key is on a majority of the nodes.
func (j *judge) owns(h *Client) bool { return j.net.Owned(h.Name) > len(j.net.Nodes)/2 }

// look asks for each holder whether it still holds the lock, and if not, whether it has
// heard of it.
func (j *judge) look() {
	for _, h := range j.Clients {
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
			j.violate(nil, Untold, "%s has lost the lock and is not notified", h.Name)
		}
	}
}

// unaware reports whether a holder works on, has lost the lock, and could know that and does not.
func (j *judge) unaware(h *Client) bool {
	could := h.Tells() && h.Phase() == Holding && !h.Dead() && !h.Frozen.Load() && !h.Lost()
	return h.inside && could && (!j.owns(h) || h.passed)
}

// anyLoss reports whether any holder is unaware of its loss.
func (j *judge) anyLoss() bool { return slices.ContainsFunc(j.Clients, j.unaware) }

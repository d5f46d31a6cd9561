package schedule

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"example.com/redislock-steps/docs/internal/trace"
)

// The judge says what is wrong. It stands at the resource, and does not look at keys alone.
// The resource is a number; each holder reads it, adds one, and writes it. It knows the
// numbers of the holds that have one.

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

// violate notes the first violation of each kind. by caused it, in its goroutine;
// nil: no client did.
func (s *Schedule) violate(by *Client, k Kind, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found(by, k, format, args...)
}

func (s *Schedule) found(by *Client, k Kind, format string, args ...any) {
	if slices.ContainsFunc(s.Found, func(v Violation) bool { return v.Kind == k }) {
		return
	}
	s.Found = append(s.Found, Violation{k, len(s.Path)})
	r := trace.Record{Kind: trace.Verdict, Text: string(k) + ": " + fmt.Sprintf(format, args...)}
	if by == nil {
		s.tell(r)
	} else {
		by.later(0, r)
	}
}

// enter is the moment at which TryLock has returned nil: the client reads the resource.
func (s *Schedule) enter(c *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value, err := s.read(c)
	if err != nil {
		c.note(0, "reads", ": refused")
		return
	}
	c.note(1, fmt.Sprintf("is inside, reads %d", value), "")
	c.inside, c.read = true, value
	_, fenced := c.fence()
	for _, other := range s.Clients {
		if !other.gone.IsZero() {
			other.passed = true
		}
		if !fenced && other != c && other.inside && !other.Dead() {
			s.found(c, TwoInside, "%s and %s are inside", other.Name, c.Name)
		}
	}
}

// Write is the moment at which a write takes effect.
func (s *Schedule) Write(c *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	value := c.read + 1
	text := fmt.Sprintf("writes %d", value)
	before, err := s.read(c)
	if err != nil {
		c.note(0, text, ": refused")
		return
	}
	c.note(0, text, "")
	if before != c.read {
		s.found(c, LostUpdate, "%s writes over an update that it has not read", c.Name)
	}
	token, _ := c.fence()
	// As it could read, it can write.
	s.resource.Write(context.Background(), token, Key, strconv.Itoa(value))
	c.read = value
}

// read is the value, unless the hold's number is too low.
func (s *Schedule) read(c *Client) (int, error) {
	token, _ := c.fence()
	text, err := s.resource.Read(context.Background(), token, Key)
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(text)
}

// note writes into the trace what a holder does at the resource.
func (c *Client) note(door int, text, result string) {
	if token, fenced := c.fence(); fenced {
		text += fmt.Sprintf(" with token %d", token)
	}
	c.later(door, trace.Record{Kind: trace.Note, Text: text + result})
}

// fence is the number of the hold, and whether it has one. The resource takes the others for
// one and the same, and refuses none of them.
func (c *Client) fence() (token int64, fenced bool) {
	if l, ok := c.Lock.(interface{ Fence() int64 }); ok {
		return l.Fence(), true
	}
	return 1, false
}

// leave is the end of a holder's work.
func (s *Schedule) leave(c *Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	c.inside, c.gone, c.passed = false, time.Time{}, false
	c.later(-1, trace.Record{})
}

// deleted judges a command that has deleted the key: whose was it?
func (s *Schedule) deleted(by *Client, owner string) {
	if owner != by.Name {
		s.violate(nil, Deleted, "%s deletes the lock of %s", by.Name, owner)
		return
	}
	by.freed.Add(1)
}

// owns reports whether a holder's key is on a majority of the nodes.
func (s *Schedule) owns(c *Client) bool { return s.owned(c.Name) > len(s.Nodes)/2 }

// look asks for each holder whether it still holds the lock, and if not, whether it has
// heard of it.
func (s *Schedule) look() {
	for _, c := range s.Clients {
		if !s.unaware(c) {
			if !c.passed {
				c.gone = time.Time{} // it has the key again, and no other client was there
			}
			continue
		}
		if c.gone.IsZero() {
			c.gone = time.Now()
		}
		if time.Since(c.gone) >= s.stage.Fault.Grace {
			s.violate(nil, Untold, "%s has lost the lock and is not notified", c.Name)
		}
	}
}

// unaware reports whether a holder works on, has lost the lock, and could know that and does not.
func (s *Schedule) unaware(c *Client) bool {
	could := c.Tells() && c.Phase() == Holding && !c.Dead() && !c.Frozen.Load() && !c.Lost()
	return c.inside && could && (!s.owns(c) || c.passed)
}

package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"example.com/redislock-steps/docs/internal/trace"
)

// The judge says what is wrong. It stands at the resource, and does not look at keys alone.
// The resource is a number; each holder reads it, adds one, and writes it. It knows the
// numbers of the holds that have one.

// The ways in which a lock can fail its users.
const (
	TwoInside   = "X" // two clients are inside at once
	LostUpdate  = "L" // a write goes over what its writer has not read
	Deleted     = "D" // a client deletes the lock of another one
	Locked      = "K" // locked with no one inside, a ttl after the last command
	Blocked     = "B" // a holder is kept out by its own lock
	Untold      = "T" // a holder does not hear that its lock is lost
	FalseAlarm  = "N" // a holder hears that its lock is lost, and it is not
	Unavailable = "U" // a node is gone, and the free lock cannot be had
	Asleep      = "W" // a client in Lock sleeps on, though the lock is free
	Stuck       = "S" // a call does not return
	Leftover    = "G" // something is left over: commands, keys
)

// kinds is the order in which a cell names them.
const kinds = "XLDKBTNUWSG"

// A Violation is something that is wrong.
type Violation struct {
	Kind  string
	Steps int // how much of the schedule it took
}

// violate notes the first violation of each kind. by caused it, in its goroutine;
// nil: no client did.
func (s *Schedule) violate(by *Client, kind, format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found(by, kind, format, args...)
}

func (s *Schedule) found(by *Client, kind, format string, args ...any) {
	if slices.ContainsFunc(s.Found, func(v Violation) bool { return v.Kind == kind }) {
		return
	}
	s.Found = append(s.Found, Violation{kind, len(s.Path)})
	r := trace.Record{Kind: trace.Verdict, Text: kind + ": " + fmt.Sprintf(format, args...)}
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
		if !fenced && other != c && other.inside && !other.dead.Load() {
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
	before, err := s.read(c) // if it can read, it can write
	if err != nil {
		c.note(0, text, ": refused")
		return
	}
	c.note(0, text, "")
	if before != c.read {
		s.found(c, LostUpdate, "%s overwrites a newer update", c.Name)
	}
	token, _ := c.fence()
	s.resource.Write(context.Background(), token, key, strconv.Itoa(value))
	c.read = value
}

// read is the value, unless the hold's number is too low.
func (s *Schedule) read(c *Client) (int, error) {
	token, _ := c.fence()
	text, err := s.resource.Read(context.Background(), token, key)
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
func (c *Client) fence() (token int64, has bool) {
	if l, ok := c.Lock.(*fenced); ok {
		return l.token, true
	}
	return 1, false
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
		if time.Since(c.gone) >= s.rules.Grace {
			s.violate(nil, Untold, "%s has lost the lock and is not notified", c.Name)
		}
	}
}

// unaware reports whether a holder works on, has lost the lock, and could know that and does not.
func (s *Schedule) unaware(c *Client) bool {
	could := s.Tells() && c.phase.Load() == Holding && !c.dead.Load() && !c.Frozen.Load() && !c.Lost()
	return c.inside && could && (!s.owns(c) || c.passed)
}

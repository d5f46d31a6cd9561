package schedule

import (
	"context"
	"fmt"
	"runtime"
	"testing/synctest"
	"time"

	"example.com/redislock-steps/docs/internal/trace"
)

// All and Renewals say what arrives while time passes.
func All(*Message) bool { return true }

// Renewals are what is sent in the background.
func Renewals(m *Message) bool { return m.Back && !m.Frozen.Load() }

// Pass lets time pass. Of what is sent during it, or was before, some arrives; the rest
// is as late as the time is long.
func (s *Schedule) Pass(d time.Duration, arrives func(*Message) bool) {
	s.Tell(trace.Record{Kind: trace.Note, Text: fmt.Sprintf("%v pass", d.Round(time.Millisecond))})
	s.arrive(d, arrives)
}

func (s *Schedule) arrive(d time.Duration, arrives func(*Message) bool) {
	for end := time.Now().Add(d); ; {
		s.Wait()
		s.look()
		if m := s.First(arrives); m != nil {
			m.Deliver()
			continue
		}
		left := time.Until(end)
		if left <= 0 {
			return
		}
		select {
		case <-s.activity:
		case <-time.After(s.expiry(left)): // when a key expires is a moment to look
		}
	}
}

// advance lets time pass until something moves. It returns false when all programs have ended.
func (s *Schedule) advance() bool {
	for _, c := range s.Clients {
		if c.Phase() == Done || c.Dead() {
			continue
		}
		for end := time.Now().Add(time.Hour); ; {
			free, begin, waits := s.owned("") == 0, time.Now(), s.stage.Fault.Wait && c.Phase() == Acquiring
			select {
			case <-s.activity:
				if s.Struck {
					s.Pauses++
				}
				if s.Wait(); free && waits && time.Since(begin) > TTL/2 {
					s.violate(nil, Asleep, "a client waits, and the lock is free")
				}
				return true
			case <-time.After(s.expiry(time.Until(end))): // then the lock is free
				s.Wait()
			}
			if !time.Now().Before(end) {
				s.violate(nil, Stuck, "%s waits forever", c.Name)
				c.Crash()
				return true
			}
		}
	}
	return false
}

// settle ends a schedule: what is in flight arrives, a ttl passes, and nothing may be left over.
func (s *Schedule) settle(goroutines int) {
	for _, c := range s.Clients {
		c.Frozen.Store(false)
	}
	if gone := s.stage.Fault.Gone; gone == 1 || gone > 0 && gone <= (len(s.Nodes)-1)/2 {
		s.arrive(TTL+time.Second, All)
		s.probe()
	}
	for _, n := range s.Nodes {
		switch {
		case n.Down:
			s.Happens(n, "is up again")
		case n.Hung:
			s.Happens(n, "goes on")
		}
		n.Down, n.Hung = false, false
	}
	s.arrive(TTL+time.Second, All)
	switch n := s.owned(""); {
	case n > len(s.Nodes)/2:
		s.violate(nil, Locked, "no one is inside, but the lock is not free after a ttl")
	case n > 0:
		s.violate(nil, Leftover, "a key is left over")
	}
	sent := s.sent.Load()
	s.arrive(5*TTL, All)
	if s.sent.Load() > sent {
		s.violate(nil, Leftover, "commands are still sent when all have unlocked")
	}
	s.end()
	// The runtime has its own goroutines, outside the bubble.
	if runtime.NumGoroutine() > goroutines && inBubble() > s.stage.idle {
		s.violate(nil, Leftover, "a goroutine is left over")
	}
}

// probe lets a newcomer try the lock: with one node gone, or a minority of them, it must
// be free and work.
func (s *Schedule) probe() {
	c := s.newClient(len(s.Clients))
	result := make(chan error, 1)
	go func() { result <- c.Call("TryLock", func() error { return c.Lock.TryLock(context.Background()) }) }()
	s.arrive(time.Second, All)
	select {
	case err := <-result:
		if err != nil {
			s.violate(nil, Unavailable, "%s cannot acquire the free lock: %v", c.Name, err)
		}
		go c.Call("Unlock", func() error { return c.Lock.Unlock(context.Background()) })
		s.arrive(time.Second, All)
	default:
		s.violate(nil, Unavailable, "%s waits for the free lock", c.Name)
		c.Crash()
	}
}

// end ends all clients.
func (s *Schedule) end() {
	for _, c := range s.Clients {
		c.End()
	}
	time.Sleep(2 * TTL) // the watchdogs of those who died find out
	synctest.Wait()
}

// expiry returns how long it takes until a key expires, at most d.
func (s *Schedule) expiry(d time.Duration) time.Duration {
	for _, node := range s.Nodes {
		if expiry := node.TTL(Key); expiry > 0 {
			d = min(d, expiry)
		}
	}
	return d
}

// Package stall knows when the machine stalled, so that a test which goes by the clock is
// played again for that reason and for no other.
package stall

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"
)

// Late is how late a tick is on a machine that has stalled. With both processors busy, ticks
// are up to 30 ms late; stories on real servers leave half a second.
const Late = 100 * time.Millisecond

// A Meter ticks every millisecond, and remembers when a tick came rather late.
type Meter struct {
	late   time.Duration
	mu     sync.Mutex
	stalls []span
}

type span struct{ from, to time.Time }

// Start starts a meter that ticks until the process ends. A tick counts that is so late.
func Start(late time.Duration) *Meter {
	m := &Meter{late: late}
	go func() {
		for last := time.Now(); ; {
			time.Sleep(time.Millisecond)
			now := time.Now()
			m.tick(last, now)
			last = now
		}
	}()
	return m
}

func (m *Meter) tick(last, now time.Time) {
	if now.Sub(last) < m.late/10 {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.stalls = append(m.stalls, span{last, now})
}

// worst returns the longest wait for a tick of which some part was in that time, or 0.
func (m *Meter) worst(from, to time.Time) (worst time.Duration) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.stalls {
		if s.from.Before(to) && from.Before(s.to) {
			worst = max(worst, s.to.Sub(s.from))
		}
	}
	return worst
}

// Again plays a test that failed in that time again, at most twice (REPLAYS is another
// number): each time only if the machine stalled during the last try. play reports whether
// it passed. out gets a line for each replay, and one that says why there is none.
func (m *Meter) Again(out io.Writer, name string, from, to time.Time, play func() bool) bool {
	most, err := strconv.Atoi(cmp.Or(os.Getenv("REPLAYS"), "2"))
	for n := 0; n < most && err == nil; n++ {
		worst := m.worst(from, to)
		if worst < m.late {
			fmt.Fprintf(out, "not played again: %s: no tick was more than %v late\n", name, worst.Round(time.Millisecond))
			break
		}
		from = time.Now()
		passed := play()
		to = time.Now()
		word := map[bool]string{true: "passed", false: "failed"}[passed]
		fmt.Fprintf(out, "played again: %s: the machine had stalled for %v; it %s\n", name, worst.Round(time.Millisecond), word)
		if passed {
			return true
		}
	}
	return false
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/locks"
	"example.com/redislock-steps/docs/play/page"
)

// go run ./docs/explore -check runs all cells, and compares what it finds with the pages, byte for
// byte. These tests are about what no cell of the table can show.

// explored explores a cell with at most so many preemptions; -1 is any number.
func explored(t *testing.T, name string, bound int, change func(*cell)) string {
	t.Helper()
	c, _, err := parseID(name + "/" + allPaths)
	require.NoError(t, err)
	c.lock.bound = bound
	change(&c)
	c.onStage(t, c.explore)
	return c.Kinds
}

func asItIs(*cell) {}

// Each fix is needed: without it, which is the lock of the step before, a cell is red
// that it makes green.
func TestEachStepTurnsACellGreen(t *testing.T) {
	for n, fault := range []string{2: "crash-hold", 3: "crash-acquire", 4: "twice", 5: "stolen", 6: "nested", 7: "slow", 8: "down-1"} {
		bound := 2
		if n == 8 {
			bound = 0
		}
		if fault != "" {
			assert.NotEmpty(t, explored(t, steps[n-1].name+"/"+fault, bound, asItIs), "step %d should be red: %s", n-1, fault)
			assert.Empty(t, explored(t, steps[n].name+"/"+fault, bound, asItIs), "step %d should be green: %s", n, fault)
		}
	}
}

// A node that comes back gets the lock again, and that is what keeps it: the row is green in
// the table, and red without the commands that heal.
func TestWithoutHealing_TheLockIsLost(t *testing.T) {
	require.Contains(t, explored(t, "08/healed", 1, func(c *cell) {
		c.fault.Strike = during(func(s *Schedule, alice *Client) {
			healing(s, alice)
			for m := s.First(heals); m != nil; m = s.First(heals) {
				m.Drop()
			}
		}, Holding)
	}), TwoInside)
}

// broken is the lock of step 03 with a flaw.
type broken struct {
	locks.Lock
	rdb   redis.UniversalClient
	held  func(*broken)     // is called with each hold
	taken func() (try bool) // is called when the lock is taken, and waits: Lock tries again
}

func (b *broken) TryLock(ctx context.Context) error {
	err := b.Lock.TryLock(ctx)
	if err == nil && b.held != nil {
		b.held(b)
	}
	return err
}

type waiting struct{ *broken }

func (w waiting) Lock(ctx context.Context) error {
	for {
		if err := w.TryLock(ctx); err == nil || !w.taken() {
			return err
		}
	}
}

// telling is one that tells of a loss, some time after it was acquired.
type telling struct {
	waiting
	lost chan struct{}
}

func (t telling) Lost() <-chan struct{} { return t.lost }

// An explorer that cannot fail proves nothing. Flaws that no lock of the table has are caught; and
// the table says what must be found in each cell.
func TestABrokenLock_IsCaught(t *testing.T) {
	tells := func(after time.Duration) func(*broken) locks.Lock {
		return func(b *broken) locks.Lock {
			lost := make(chan struct{})
			b.held = func(*broken) { time.AfterFunc(after, func() { close(lost) }) }
			return telling{waiting{b}, lost}
		}
	}
	holds := func(held func(*broken)) func(*broken) locks.Lock {
		return func(b *broken) locks.Lock { b.held = held; return waiting{b} }
	}
	waits := func(taken func() bool) func(*broken) locks.Lock {
		return func(b *broken) locks.Lock { b.taken = taken; return waiting{b} }
	}
	for _, c := range []struct {
		name, fault, kind string
		flaw              func(*broken) locks.Lock
	}{
		{"Lost never says so", "renewal-all", Untold, tells(24 * time.Hour)},
		{"Lost says so a millisecond late", "renewal-all", Untold, tells(ttl + time.Millisecond)},
		{"Lost says so for nothing", "slow", FalseAlarm, tells(ttl / 2)},
		{"Lock gives up", "outage-waits", Unavailable, waits(func() bool { return false })},
		{"Lock sleeps through a release", "waits", Asleep, waits(func() bool { time.Sleep(ttl); return true })},
		{"Lock waits forever", "waits", Stuck, waits(func() bool { time.Sleep(20 * time.Hour); return false })},
		{"a watchdog that Unlock does not stop", "none", Leftover, holds(func(b *broken) {
			go func() {
				for b.rdb.PExpire(context.Background(), key, ttl).Err() == nil {
					time.Sleep(ttl / 3)
				}
			}()
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			assert.Contains(t, explored(t, "03/"+c.fault, -1, func(flawed *cell) {
				flawed.lock.make = func(r []redis.UniversalClient) locks.Lock {
					return c.flaw(&broken{Lock: locks.New(3, r, key, ttl), rdb: r[0]})
				}
			}), c.kind)
		})
	}
}

// What a chapter of docs/play claims of a schedule is what happens when it is played.
func TestTheChapters_TellWhatHappens(t *testing.T) {
	for _, chapter := range page.Chapters() {
		for i, beat := range chapter.Beats {
			t.Run(fmt.Sprintf("chapter %d, beat %d", chapter.Step, i+1), func(t *testing.T) {
				c, name, err := parseID(cmp.Or(beat.Show, beat.Level+"/") + "-") // in case that the path is empty
				require.NoError(t, err)
				if beat.Level != "" {
					require.True(t, c.playable())
				}
				if beat.Show == "" {
					return
				}
				var s *Schedule
				c.onStage(t, func(stage *Stage) { s = stage.Play(follow(name)) })
				n := 0
				for strings.Join(s.Path[:n], "")+"-" != name {
					n++
					require.LessOrEqual(t, n, len(s.Path), "there is no such schedule: %v", s.Path)
				}
				records := s.Records
				if n < len(s.Path) {
					records = records[:s.Points[n].Records]
				}
				kinds, rows, inside := "", "", []string{}
				for _, r := range records {
					inside = r.Inside
					if r.Kind == trace.Verdict {
						kinds += r.Text[:1]
					}
					rows += rowOf(r) + "\n"
				}
				assert.Equal(t, beat.Breaks, kinds)
				if beat.Inside != nil {
					assert.Equal(t, beat.Inside, inside)
				}
				for _, text := range beat.Tells {
					assert.Contains(t, rows, text)
				}
				if beat.Holds {
					assert.Len(t, s.Path, n, "a lock holds only when the schedule has ended")
					strikes := strings.Contains(name, "F") || strings.Contains("none nested", c.fault.id)
					assert.True(t, strikes, "the fault does not strike")
				}
			})
		}
	}
}

// rowOf is what a record tells in a line.
func rowOf(r trace.Record) string {
	row := r.Who + " " + r.Text
	if r.Node > 0 && len(r.Redis) > 1 {
		row = fmt.Sprintf("node %d: %s", r.Node, strings.TrimSpace(row))
	}
	if r.Reply != "" {
		row += " -> " + r.Reply
	}
	if r.Mark != "" {
		row += "  <- " + r.Mark
	}
	return row
}

// Step 06 nests, and step 05 does not: if the lock in the folder is what is run, step 05's
// cell is not as expected.
func TestYourOwnLock_IsWhatIsRun(t *testing.T) {
	if os.Getenv("BUILDS") == "" {
		t.Skip("it builds the explorer. Play it as .ci/run does: BUILDS=1 go test -C docs/keep ./explore")
	}
	page := filepath.Join(t.TempDir(), "page.html")
	own := []string{"-lock", "step06_reentrant", "-step", "5", "-fault", "nested"}
	t.Chdir(".") // run leaves it
	require.EqualError(t, run(own), `05/nested: expected "B", found ""`)
	require.NoError(t, run(append(own, "-html", page)))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), `id="data">`)
}

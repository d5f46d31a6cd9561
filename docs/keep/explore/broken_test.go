package main

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"example.com/redislock-steps/docs/keep/explore/internal/schedule"
	"example.com/redislock-steps/docs/keep/locks"
)

// broken is the lock of step 03 with a flaw.
type broken struct {
	step03 locks.Lock
	rdb    redis.UniversalClient
	held   func(*broken)     // is called with each hold
	taken  func() (try bool) // is called when the lock is taken: Lock tries again
}

func (b *broken) TryLock(ctx context.Context) error {
	err := b.step03.TryLock(ctx)
	if err == nil && b.held != nil {
		b.held(b)
	}
	return err
}

func (b *broken) Lock(ctx context.Context) error {
	for {
		if err := b.TryLock(ctx); err == nil || !b.taken() {
			return err
		}
	}
}

func (b *broken) Unlock(ctx context.Context) error { return b.step03.Unlock(ctx) }

// telling is one that tells of a loss, some time after it was acquired.
type telling struct {
	*broken
	lost chan struct{}
}

func (t telling) Lost() <-chan struct{} { return t.lost }

func tells(after time.Duration) func(*broken) locks.Lock {
	return func(b *broken) locks.Lock {
		lost := make(chan struct{})
		b.held = func(*broken) { time.AfterFunc(after, func() { close(lost) }) }
		return telling{b, lost}
	}
}

// An explorer that cannot fail proves nothing. These flaws of locks are caught, and those of the
// bench (TestTheBench_Teaches); and the table says what must be found in each cell.
func TestABrokenLock_IsCaught(t *testing.T) {
	holds := func(held func(*broken)) func(*broken) locks.Lock {
		return func(b *broken) locks.Lock { b.held = held; return b }
	}
	waits := func(taken func() bool) func(*broken) locks.Lock {
		return func(b *broken) locks.Lock { b.taken = taken; return b }
	}
	for _, c := range []struct {
		name  string
		fault string
		kind  schedule.Kind
		flaw  func(*broken) locks.Lock
	}{
		{"Lost never says so", "renewal-all", schedule.Untold, tells(24 * time.Hour)},
		{"Lost says so a millisecond late", "renewal-all", schedule.Untold, tells(ttl + time.Millisecond)},
		{"Lost says so for nothing", "slow", schedule.FalseAlarm, tells(ttl / 2)},
		{"Lock gives up", "outage-waits", schedule.Unavailable, waits(func() bool { return false })},
		{"Lock sleeps through a release", "waits", schedule.Asleep, waits(func() bool { time.Sleep(ttl); return true })},
		{"Lock waits forever", "waits", schedule.Stuck, waits(func() bool { time.Sleep(20 * time.Hour); return false })},
		{"a goroutine for each hold, which Unlock does not end", "none", schedule.Leftover, holds(func(*broken) { go time.Sleep(20 * time.Hour) })},
		{"a watchdog that Unlock does not stop", "none", schedule.Leftover, holds(func(b *broken) {
			go func() {
				for range 1000 {
					time.Sleep(ttl / 3)
					if b.rdb.PExpire(context.Background(), key, ttl).Err() != nil {
						return
					}
				}
			}()
		})},
	} {
		t.Run(c.name, func(t *testing.T) {
			flawed := named(t, "03/"+c.fault)
			flawed.lock.make = func(r []redis.UniversalClient) locks.Lock {
				return c.flaw(&broken{step03: locks.New(3, r, key, ttl), rdb: r[0]})
			}
			assert.Contains(t, explored(t, flawed, -1).Kinds, string(c.kind))
		})
	}
}

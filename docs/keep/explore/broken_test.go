package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"

	"example.com/redislock-steps/docs/keep/explore/internal/schedule"
	"example.com/redislock-steps/docs/keep/locks"
)

// An explorer that cannot fail proves nothing. Each of these locks is broken in one way,
// and is caught.

var errTaken = errors.New("taken")

// broken is a lock with hooks to break it.
type broken struct {
	rdbs    []redis.UniversalClient
	acquire func(ctx context.Context) (bool, error)
	release func(ctx context.Context) error
	lost    chan struct{} // nil: it does not say so
	pause   time.Duration // of Lock; 0: it does not wait
}

type telling struct{ *broken }

func (b telling) Lost() <-chan struct{} { return b.lost }

func (b *broken) TryLock(ctx context.Context) error {
	ok, err := b.acquire(ctx)
	if err == nil && !ok {
		return errTaken
	}
	return err
}

// Lock tries again every pause.
func (b *broken) Lock(ctx context.Context) error {
	for {
		if err := b.TryLock(ctx); err == nil || b.pause == 0 {
			return err
		}
		time.Sleep(b.pause)
	}
}

func (b *broken) Unlock(ctx context.Context) error { return b.release(ctx) }

func (b *broken) setNX(ctx context.Context) (bool, error) {
	return b.rdbs[0].SetNX(ctx, key, "locked", ttl).Result()
}

func (b *broken) set(ctx context.Context) (bool, error) {
	return true, b.rdbs[0].Set(ctx, key, "locked", ttl).Err()
}

// newBroken is SET NX PX with DEL, the lock of step 03, and then breaks it.
func newBroken(breaks func(*broken)) func([]redis.UniversalClient) locks.Lock {
	return func(r []redis.UniversalClient) locks.Lock {
		b := &broken{rdbs: r}
		b.acquire = b.setNX
		b.release = func(ctx context.Context) error { return r[0].Del(ctx, key).Err() }
		if breaks(b); b.lost != nil {
			return telling{b}
		}
		return b
	}
}

// onHold does something whenever the lock is acquired.
func (b *broken) onHold(do func()) {
	b.acquire = func(ctx context.Context) (bool, error) {
		ok, err := b.setNX(ctx)
		if ok {
			do()
		}
		return ok, err
	}
}

// saysLost lets Lost say so after a time.
func saysLost(after time.Duration) func(*broken) {
	return func(b *broken) {
		b.lost = make(chan struct{})
		b.onHold(func() { time.AfterFunc(after, func() { close(b.lost) }) })
	}
}

func TestABrokenLock_IsCaught(t *testing.T) {
	for _, c := range []struct {
		name   string
		fault  string
		kind   schedule.Kind
		breaks func(*broken)
	}{
		{"EXISTS, then SET", "none", schedule.TwoInside, func(b *broken) {
			b.acquire = func(ctx context.Context) (bool, error) {
				if n, err := b.rdbs[0].Exists(ctx, key).Result(); err != nil || n > 0 {
					return false, err
				}
				return b.set(ctx)
			}
		}},
		{"the same, at the resource", "none", schedule.LostUpdate, func(b *broken) { b.acquire = b.set }},
		{"DEL without asking whose it is", "stolen", schedule.Deleted, func(*broken) {}},
		{"no ttl", "crash-hold", schedule.Locked, func(b *broken) {
			b.acquire = func(ctx context.Context) (bool, error) { return b.rdbs[0].SetNX(ctx, key, "locked", 0).Result() }
		}},
		{"not reentrant", "nested", schedule.Blocked, func(*broken) {}},
		{"Lost never says so", "renewal-all", schedule.Untold, saysLost(24 * time.Hour)},
		{"Lost says so a millisecond late", "renewal-all", schedule.Untold, saysLost(ttl + time.Millisecond)},
		{"Lost says so for nothing", "slow", schedule.FalseAlarm, saysLost(ttl / 2)},
		{"a release that believes the answer to its repetition", "resent", schedule.FalseAlarm, func(b *broken) {
			b.release = func(ctx context.Context) error {
				n, err := b.rdbs[0].Del(ctx, key).Result()
				if err == nil && n == 0 {
					err = errors.New("lock not held")
				}
				return err
			}
		}},
		{"Lock that gives up", "outage-waits", schedule.Unavailable, func(*broken) {}},
		{"TryLock that waits for a lock that no one releases", "none", schedule.Stuck, func(b *broken) {
			b.acquire = func(ctx context.Context) (bool, error) {
				ok, err := b.setNX(ctx)
				if !ok && err == nil {
					time.Sleep(20 * time.Hour)
				}
				return ok, err
			}
		}},
		{"Lock that sleeps through a release", "waits", schedule.Asleep, func(b *broken) { b.pause = ttl }},
		{"a goroutine for each hold, which Unlock does not end", "none", schedule.Leftover, func(b *broken) {
			b.onHold(func() { go time.Sleep(20 * time.Hour) })
		}},
		{"a watchdog that Unlock does not stop", "none", schedule.Leftover, func(b *broken) { b.onHold(func() { go b.renewForEver() }) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			broken := named(t, "03/"+c.fault)
			broken.lock.make = newBroken(c.breaks)
			broken, _ = explored(t, broken, -1)
			assert.Contains(t, broken.Kinds, string(c.kind))
		})
	}
}

func (b *broken) renewForEver() {
	for range 1000 {
		time.Sleep(ttl / 3)
		if b.rdbs[0].PExpire(context.Background(), key, ttl).Err() != nil {
			return
		}
	}
}

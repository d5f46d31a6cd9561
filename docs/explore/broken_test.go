package main

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
)

// An explorer that cannot fail proves nothing. Each of these locks is broken in one way, and is caught.

var errTaken = errors.New("taken")

// broken is a lock with hooks to break it.
type broken struct {
	rdb     redis.UniversalClient
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

// newBroken is SET NX PX with DEL: the lock of step 03.
func newBroken(r []redis.UniversalClient) *broken {
	b := &broken{rdb: r[0], lost: make(chan struct{})}
	b.acquire = func(ctx context.Context) (bool, error) { return b.rdb.SetNX(ctx, key, "locked", ttl).Result() }
	b.release = func(ctx context.Context) error { return b.rdb.Del(ctx, key).Err() }
	return b
}

func TestABrokenLock_IsCaught(t *testing.T) {
	for _, c := range []struct {
		name  string
		fault string
		kind  kind
		make  func(r []redis.UniversalClient) lock
	}{
		{"EXISTS, then SET", "none", twoInside, func(r []redis.UniversalClient) lock {
			b := newBroken(r)
			b.acquire = func(ctx context.Context) (bool, error) {
				n, err := b.rdb.Exists(ctx, key).Result()
				if err != nil || n > 0 {
					return false, err
				}
				return true, b.rdb.Set(ctx, key, "locked", ttl).Err()
			}
			return b
		}},
		{"the same, at the resource", "none", lostUpdate, func(r []redis.UniversalClient) lock {
			b := newBroken(r)
			b.acquire = func(ctx context.Context) (bool, error) { return true, b.rdb.Set(ctx, key, "locked", ttl).Err() }
			return b
		}},
		{"DEL without asking whose it is", "stolen", deleted, func(r []redis.UniversalClient) lock { return newBroken(r) }},
		{"no ttl", "crash-hold", locked, func(r []redis.UniversalClient) lock {
			b := newBroken(r)
			b.acquire = func(ctx context.Context) (bool, error) { return b.rdb.SetNX(ctx, key, "locked", 0).Result() }
			return b
		}},
		{"not reentrant", "nested", blocked, func(r []redis.UniversalClient) lock { return newBroken(r) }},
		{"Lost never says so", "renewal-all", untold, func(r []redis.UniversalClient) lock { return telling{newBroken(r)} }},
		{"Lost says so a millisecond late", "renewal-all", untold, func(r []redis.UniversalClient) lock {
			b := newBroken(r)
			acquire := b.acquire
			b.acquire = func(ctx context.Context) (bool, error) {
				ok, err := acquire(ctx)
				if ok {
					time.AfterFunc(ttl+time.Millisecond, func() { close(b.lost) })
				}
				return ok, err
			}
			return telling{b}
		}},
		{"Lost says so for nothing", "slow", falseAlarm, func(r []redis.UniversalClient) lock {
			b := newBroken(r)
			acquire := b.acquire
			b.acquire = func(ctx context.Context) (bool, error) {
				ok, err := acquire(ctx)
				if ok {
					time.AfterFunc(ttl/2, func() { close(b.lost) })
				}
				return ok, err
			}
			return telling{b}
		}},
		{"a release that believes the answer to its repetition", "resent", falseAlarm, func(r []redis.UniversalClient) lock {
			b := newBroken(r)
			b.release = func(ctx context.Context) error {
				n, err := b.rdb.Del(ctx, key).Result()
				if err == nil && n == 0 {
					err = errors.New("lock not held")
				}
				return err
			}
			return b
		}},
		{"Lock that gives up", "outage-waits", unavailable, func(r []redis.UniversalClient) lock { return newBroken(r) }},
		{"all nodes instead of a majority", "down-1", unavailable, func(r []redis.UniversalClient) lock { return everyNode(r) }},
		{"TryLock that waits for a lock that nobody gives back", "none", stuck, func(r []redis.UniversalClient) lock {
			b := newBroken(r)
			acquire := b.acquire
			b.acquire = func(ctx context.Context) (bool, error) {
				ok, err := acquire(ctx)
				if !ok && err == nil {
					time.Sleep(20 * time.Hour)
				}
				return ok, err
			}
			return b
		}},
		{"Lock that sleeps through a release", "waits", asleep, func(r []redis.UniversalClient) lock {
			b := newBroken(r)
			b.pause = ttl
			return b
		}},
		{"a goroutine for each hold, which Unlock does not end", "none", leftover, func(r []redis.UniversalClient) lock {
			b := newBroken(r)
			acquire := b.acquire
			b.acquire = func(ctx context.Context) (bool, error) {
				go time.Sleep(20 * time.Hour)
				return acquire(ctx)
			}
			return b
		}},
		{"a watchdog that Unlock does not stop", "none", leftover, func(r []redis.UniversalClient) lock {
			b := newBroken(r)
			acquire := b.acquire
			b.acquire = func(ctx context.Context) (bool, error) {
				ok, err := acquire(ctx)
				if ok {
					go b.renewForEver()
				}
				return ok, err
			}
			return b
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := step{n: 3, nodes: 1, make: c.make}
			if c.fault == "down-1" {
				s.n, s.nodes = 8, 2
			} else if c.kind == untold || c.fault == "slow" {
				s.n = 7
			}
			inLab(t, s, job{Step: s.n, Fault: c.fault, Clients: 2, Nodes: s.nodes, Bound: -1}, func(l *lab) {
				assert.Contains(t, l.cell().Kinds, string(c.kind))
			})
		})
	}
}

func (b *broken) renewForEver() {
	for range 1000 {
		time.Sleep(ttl / 3)
		if b.rdb.PExpire(context.Background(), key, ttl).Err() != nil {
			return
		}
	}
}

// allAtOnce is one SETNX to all nodes at once, without anything else.
func allAtOnce(r []redis.UniversalClient) *broken {
	b := &broken{}
	b.acquire = func(ctx context.Context) (bool, error) {
		votes := make(chan bool)
		for _, rdb := range r {
			go func() { votes <- rdb.SetNX(ctx, key, "locked", ttl).Val() }()
		}
		all := true
		for range r {
			all = <-votes && all
		}
		return all, nil
	}
	b.release = func(ctx context.Context) error {
		done := make(chan bool)
		for _, rdb := range r {
			go func() { rdb.Del(ctx, key); done <- true }()
		}
		for range r {
			<-done
		}
		return nil
	}
	return b
}

// everyNode wants all nodes.
func everyNode(r []redis.UniversalClient) *broken {
	b := &broken{}
	b.release = func(ctx context.Context) error {
		for _, rdb := range r {
			rdb.Del(ctx, key)
		}
		return nil
	}
	b.acquire = func(ctx context.Context) (bool, error) {
		for _, rdb := range r {
			if ok, err := rdb.SetNX(ctx, key, "locked", ttl).Result(); err != nil || !ok {
				return false, err
			}
		}
		return true, nil
	}
	return b
}

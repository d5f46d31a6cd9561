package fencing

import (
	"context"
	"time"

	"github.com/redis/go-redis/v9"
)

// What the lab must know about this lock: how many Redis servers it uses, how to make
// one, and its calls.

const nodes = 1

func newLock(rdbs []redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return New(rdbs[0], key, ttl)
}

// A handle is a lock whose calls appear in the timeline.
type handle struct {
	*lockOf
	lab *lab
	who string
}

type lockOf = Lock

func (h *handle) TryLock(ctx context.Context) (token int64, err error) {
	h.lab.call(h.who, "TryLock", func() error {
		token, err = h.lockOf.TryLock(ctx)
		return err
	})
	return token, err
}

func (h *handle) Lock(ctx context.Context) (token int64, err error) {
	h.lab.call(h.who, "Lock", func() error {
		token, err = h.lockOf.Lock(ctx)
		return err
	})
	return token, err
}

func (h *handle) Unlock(ctx context.Context) error {
	return h.lab.call(h.who, "Unlock", func() error { return h.lockOf.Unlock(ctx) })
}

// set sets a field of the lock, and reports whether it has one.
func (h *handle) set(string, time.Duration) bool { return false }

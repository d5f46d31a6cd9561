package redislock

import (
	"context"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

// What the lab must know about this step: how many Redis servers a lock uses, how to make
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

func (h *handle) TryLock(ctx context.Context) error {
	return h.lab.call(h.who, "TryLock", func() error { return h.lockOf.TryLock(ctx) })
}

func (h *handle) Lock(ctx context.Context) error {
	return h.lab.call(h.who, "Lock", func() error { return h.lockOf.Lock(ctx) })
}

func (h *handle) Unlock(ctx context.Context) error {
	return h.lab.call(h.who, "Unlock", func() error { return h.lockOf.Unlock(ctx) })
}

// set sets a field of the lock, and reports whether it has one.
func (h *handle) set(field string, d time.Duration) bool {
	f := reflect.ValueOf(h.lockOf).Elem().FieldByName(field)
	if f.IsValid() {
		f.SetInt(int64(d))
	}
	return f.IsValid()
}

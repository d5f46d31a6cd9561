package redislock

import (
	"context"
	"reflect"
	"time"

	"github.com/redis/go-redis/v9"
)

// What the lab must know about this step: how many Redis servers a lock uses, how to make
// one, and its calls.

const nodes = 5

func newLock(rdbs []redis.UniversalClient, key string, ttl time.Duration) *Lock {
	l := New(rdbs, key, ttl)
	if realTime {
		(&handle{lockOf: l}).set("NodeTimeout", slack(0)) // a node on a busy machine has not failed
	}
	return l
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

// Lock does not wait forever, as a broken lock might: this step's Lock retries when no
// node replies.
func (h *handle) Lock(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 100*ttl)
	defer cancel()
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

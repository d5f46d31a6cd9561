// Package sync stands in for the standard one in a learner's lock while its stories
// play. Waiting for a mutex of the standard library stops the clock of a testing/synctest
// bubble: a lock that holds one while Redis answers would hang, though it is right. Here
// a goroutine waits on a channel, so the clock keeps going.
package sync

import (
	"context"
	"sync"
	"sync/atomic"

	"golang.org/x/sync/semaphore"
)

// These do not stop the clock.
type (
	Cond      = sync.Cond
	Locker    = sync.Locker
	Map       = sync.Map
	Pool      = sync.Pool
	WaitGroup = sync.WaitGroup
)

// NewCond is that of the standard library.
func NewCond(l Locker) *Cond { return sync.NewCond(l) }

// A room is what one writer or many readers are in. Each waiter of its semaphore has its
// own channel, made where it waits: one that stayed with it would belong to a single bubble.
type room struct {
	once  sync.Once
	inner *semaphore.Weighted
}

// whole is what a writer takes of the semaphore. A reader takes one.
const whole = 1 << 30

func (r *room) places() *semaphore.Weighted {
	r.once.Do(func() { r.inner = semaphore.NewWeighted(whole) })
	return r.inner
}

func (r *room) enter(n int64) { r.places().Acquire(context.Background(), n) }

func (r *room) leave(n int64) {
	other := whole + 1 - n // a reader, which a writer keeps out, or the other way round
	if r.places().TryAcquire(other) {
		r.places().Release(other)
		panic("sync: unlock of unlocked mutex")
	}
	r.places().Release(n)
}

// Lock is that of sync.Mutex and sync.RWMutex.
func (r *room) Lock() { r.enter(whole) }

// TryLock is that of sync.Mutex and sync.RWMutex.
func (r *room) TryLock() bool { return r.places().TryAcquire(whole) }

// Unlock is that of sync.Mutex and sync.RWMutex.
func (r *room) Unlock() { r.leave(whole) }

// Mutex is sync.Mutex.
type Mutex struct{ room }

// RWMutex is sync.RWMutex.
type RWMutex struct{ room }

// RLock is that of sync.RWMutex.
func (m *RWMutex) RLock() { m.enter(1) }

// TryRLock is that of sync.RWMutex.
func (m *RWMutex) TryRLock() bool { return m.places().TryAcquire(1) }

// RUnlock is that of sync.RWMutex.
func (m *RWMutex) RUnlock() { m.leave(1) }

// RLocker is that of sync.RWMutex.
func (m *RWMutex) RLocker() Locker { return (*reader)(m) }

type reader RWMutex

func (r *reader) Lock()   { (*RWMutex)(r).RLock() }
func (r *reader) Unlock() { (*RWMutex)(r).RUnlock() }

// Once is sync.Once, whose others wait while the first one runs.
type Once struct {
	done atomic.Bool
	mu   Mutex
}

// Do is that of sync.Once.
func (o *Once) Do(f func()) {
	if o.done.Load() {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.done.Load() {
		defer o.done.Store(true)
		f()
	}
}

// OnceFunc is that of the standard library, except that it does not panic again.
func OnceFunc(f func()) func() {
	var once Once
	return func() { once.Do(f) }
}

// OnceValue is that of the standard library, except that it does not panic again.
func OnceValue[T any](f func() T) func() T {
	both := OnceValues(func() (T, bool) { return f(), true })
	return func() T {
		value, _ := both()
		return value
	}
}

// OnceValues is that of the standard library, except that it does not panic again.
func OnceValues[T, U any](f func() (T, U)) func() (T, U) {
	var once Once
	var first T
	var second U
	return func() (T, U) {
		once.Do(func() { first, second = f() })
		return first, second
	}
}

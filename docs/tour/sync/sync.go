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

// Mutex is sync.Mutex.
type Mutex struct{ rw RWMutex }

// Lock is that of sync.Mutex.
func (m *Mutex) Lock() { m.rw.Lock() }

// TryLock is that of sync.Mutex.
func (m *Mutex) TryLock() bool { return m.rw.TryLock() }

// Unlock is that of sync.Mutex.
func (m *Mutex) Unlock() { m.rw.Unlock() }

// RWMutex is sync.RWMutex. Each waiter of its semaphore has its own channel, made where it
// waits: one that stayed with the mutex would belong to a single bubble.
type RWMutex struct {
	once  sync.Once
	inner *semaphore.Weighted
}

// whole is what a writer takes of the semaphore. A reader takes one.
const whole = 1 << 30

func (m *RWMutex) room() *semaphore.Weighted {
	m.once.Do(func() { m.inner = semaphore.NewWeighted(whole) })
	return m.inner
}

func (m *RWMutex) lock(n int64) { m.room().Acquire(context.Background(), n) }

func (m *RWMutex) unlock(n int64) {
	other := whole + 1 - n // a reader, which a writer keeps out, or the other way round
	if m.room().TryAcquire(other) {
		m.room().Release(other)
		panic("sync: unlock of unlocked mutex")
	}
	m.room().Release(n)
}

// Lock is that of sync.RWMutex.
func (m *RWMutex) Lock() { m.lock(whole) }

// TryLock is that of sync.RWMutex.
func (m *RWMutex) TryLock() bool { return m.room().TryAcquire(whole) }

// Unlock is that of sync.RWMutex.
func (m *RWMutex) Unlock() { m.unlock(whole) }

// RLock is that of sync.RWMutex.
func (m *RWMutex) RLock() { m.lock(1) }

// TryRLock is that of sync.RWMutex.
func (m *RWMutex) TryRLock() bool { return m.room().TryAcquire(1) }

// RUnlock is that of sync.RWMutex.
func (m *RWMutex) RUnlock() { m.unlock(1) }

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

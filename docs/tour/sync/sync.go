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

// RWMutex is sync.RWMutex, and has its methods. Each waiter of its semaphore has its own channel,
// made where it waits: one that stayed with it would belong to a single bubble.
type RWMutex struct {
	once  sync.Once
	inner *semaphore.Weighted
}

// all is what a writer takes of the semaphore. A reader takes one.
const all = 1 << 30

func (m *RWMutex) places() *semaphore.Weighted {
	m.once.Do(func() { m.inner = semaphore.NewWeighted(all) })
	return m.inner
}

func (m *RWMutex) leave(n int64) {
	other := all + 1 - n // a reader, which a writer keeps out, or the other way round
	if m.places().TryAcquire(other) {
		m.places().Release(other)
		panic("sync: unlock of unlocked mutex")
	}
	m.places().Release(n)
}

func (m *RWMutex) Lock()          { m.places().Acquire(context.Background(), all) }
func (m *RWMutex) TryLock() bool  { return m.places().TryAcquire(all) }
func (m *RWMutex) Unlock()        { m.leave(all) }
func (m *RWMutex) RLock()         { m.places().Acquire(context.Background(), 1) }
func (m *RWMutex) TryRLock() bool { return m.places().TryAcquire(1) }
func (m *RWMutex) RUnlock()       { m.leave(1) }

// Mutex is sync.Mutex.
type Mutex struct{ m RWMutex }

func (m *Mutex) Lock()         { m.m.Lock() }
func (m *Mutex) TryLock() bool { return m.m.TryLock() }
func (m *Mutex) Unlock()       { m.m.Unlock() }

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

// These are those of the standard library: they stop the clock, if someone waits in them.

func OnceFunc(f func()) func()                           { return sync.OnceFunc(f) }
func OnceValue[T any](f func() T) func() T               { return sync.OnceValue(f) }
func OnceValues[T, U any](f func() (T, U)) func() (T, U) { return sync.OnceValues(f) }

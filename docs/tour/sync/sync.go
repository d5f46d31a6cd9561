// Package sync stands in for the standard one in a learner's lock while its stories
// play. Waiting for a mutex of the standard library stops the clock of a testing/synctest
// bubble: a lock that holds one while Redis answers would hang, though it is right. Here
// a goroutine waits on a channel, so the clock keeps going.
package sync

import (
	"sync"
	"sync/atomic"
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

// RWMutex is sync.RWMutex.
type RWMutex struct {
	mu      sync.Mutex // held for a moment, never while a goroutine waits
	readers int
	writer  bool
	waiting []*waiter // in the order in which they came
}

// A waiter has its own channel, made where it waits: one that stayed with the mutex
// would belong to a single bubble.
type waiter struct {
	write bool
	turn  chan struct{}
}

// enter reports whether there is room, and takes it. The caller holds mu.
func (m *RWMutex) enter(write bool) bool {
	switch {
	case m.writer || write && m.readers > 0:
		return false
	case write:
		m.writer = true
	default:
		m.readers++
	}
	return true
}

func (m *RWMutex) try(write bool) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return len(m.waiting) == 0 && m.enter(write)
}

func (m *RWMutex) lock(write bool) {
	m.mu.Lock()
	if len(m.waiting) == 0 && m.enter(write) {
		m.mu.Unlock()
		return
	}
	w := &waiter{write, make(chan struct{})}
	m.waiting = append(m.waiting, w)
	m.mu.Unlock()
	<-w.turn
}

func (m *RWMutex) unlock(write bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case write && m.writer:
		m.writer = false
	case !write && m.readers > 0:
		m.readers--
	default:
		panic("sync: unlock of unlocked mutex")
	}
	for len(m.waiting) > 0 && m.enter(m.waiting[0].write) {
		close(m.waiting[0].turn)
		m.waiting = m.waiting[1:]
	}
}

// Lock is that of sync.RWMutex.
func (m *RWMutex) Lock() { m.lock(true) }

// TryLock is that of sync.RWMutex.
func (m *RWMutex) TryLock() bool { return m.try(true) }

// Unlock is that of sync.RWMutex.
func (m *RWMutex) Unlock() { m.unlock(true) }

// RLock is that of sync.RWMutex.
func (m *RWMutex) RLock() { m.lock(false) }

// TryRLock is that of sync.RWMutex.
func (m *RWMutex) TryRLock() bool { return m.try(false) }

// RUnlock is that of sync.RWMutex.
func (m *RWMutex) RUnlock() { m.unlock(false) }

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
	var once Once
	var value T
	return func() T {
		once.Do(func() { value = f() })
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

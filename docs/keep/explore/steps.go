package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/fencing"
	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/keep/explore/internal/schedule"
	"example.com/redislock-steps/docs/keep/locks"
	"example.com/redislock-steps/docs/step00"
)

const (
	key = schedule.Key
	ttl = schedule.TTL
)

// A step is a lock to explore: a column of the matrix.
type step struct {
	n     int // 1 to 8, 9 is the lock of the epilogue, 0 that before the course
	nodes int
	bound int // of preemptions, -1 is none
	make  func([]redis.UniversalClient) locks.Lock
}

// random reports whether Lock waits for random times.
func (s step) random() bool { return s.nodes > 1 || s.n == 5 || s.n == course.Epilogue.N }

func (s step) name() string {
	if s.n == course.Epilogue.N {
		return "fencing"
	}
	return fmt.Sprintf("%02d", s.n)
}

// job is a cell of the matrix.
func (s step) job(fault string) job { return job{Step: s.n, Fault: fault, Bound: s.bound} }

// steps are the locks by their numbers. The one before step 01 has no column: docs/play
// begins with it.
var steps = func() (list []step) {
	add := func(nodes, bound int, lock func([]redis.UniversalClient) locks.Lock) {
		list = append(list, step{len(list), nodes, bound, lock})
	}
	add(1, -1, func(r []redis.UniversalClient) locks.Lock { return redislock.New(r[0], key) })
	for _, s := range course.Steps {
		nodes, bound := 1, -1
		if s.N == course.Last.N {
			nodes, bound = 3, 1
		}
		add(nodes, bound, func(r []redis.UniversalClient) locks.Lock { return locks.New(s.N, r, key, ttl) })
	}
	add(1, -1, func(r []redis.UniversalClient) locks.Lock { return &fenced{lock: fencing.New(r[0], key, ttl)} })
	return list
}()

// fenced is the lock of the epilogue. Its holds have a number, which goes along with
// every access to the resource.
type fenced struct {
	lock  *fencing.Lock
	token int64
}

func (f *fenced) TryLock(ctx context.Context) (err error) {
	f.token, err = f.lock.TryLock(ctx)
	return err
}

func (f *fenced) Lock(ctx context.Context) (err error) {
	f.token, err = f.lock.Lock(ctx)
	return err
}

func (f *fenced) Unlock(ctx context.Context) error { return f.lock.Unlock(ctx) }
func (f *fenced) Fence() int64                     { return f.token }

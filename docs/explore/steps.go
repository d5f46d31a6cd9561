package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/explore/internal/network"
	"example.com/redislock-steps/docs/fencing"
	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/locks"
	"example.com/redislock-steps/docs/step00"
)

const (
	key = network.Key
	ttl = network.TTL
)

// A step is a lock to explore: a column of the matrix.
type step struct {
	n     int // 1 to 8, 9 is the lock of the epilogue, 0 that before the course
	nodes int
	bound int // of preemptions, -1 is none
	make  func([]redis.UniversalClient) locks.Lock
}

func (s step) name() string {
	if s.n == course.Epilogue.N {
		return "fencing"
	}
	return fmt.Sprintf("%02d", s.n)
}

var steps = columns()

// first is the lock before step 01. It has no column: docs/play begins with it.
var first = step{0, 1, -1, func(r []redis.UniversalClient) locks.Lock { return redislock.New(r[0], key) }}

// stepNumbered returns the step with a number, 0 to 9.
func stepNumbered(n int) step {
	if n == 0 {
		return first
	}
	return steps[n-1]
}

func columns() (list []step) {
	for _, s := range course.Steps {
		list = append(list, step{s.N, 1, -1, func(r []redis.UniversalClient) locks.Lock { return locks.New(s.N, r, key, ttl) }})
	}
	last := &list[course.Last.N-1]
	last.nodes, last.bound = 3, 1
	return append(list, step{course.Epilogue.N, 1, -1, func(r []redis.UniversalClient) locks.Lock {
		return &fenced{lock: fencing.New(r[0], key, ttl)}
	}})
}

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

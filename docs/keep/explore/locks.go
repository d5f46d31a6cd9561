package main

import (
	"context"
	"fmt"
	"slices"

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

// A lock is what is explored.
type lock struct {
	name   string // 05, or build/121201 of a design
	step   int    // 1 to 8, 9 is the lock of the epilogue, 0 that before the course, -1 a design
	nodes  int
	bound  int  // of preemptions, -1 is none
	random bool // Lock waits for random times
	make   func([]redis.UniversalClient) locks.Lock
}

// steps are the locks of the course by their numbers. The one before step 01 has no column in
// the table: docs/play begins with it.
var steps = func() (list []lock) {
	add := func(lock lock) {
		lock.step = len(list)
		lock.name = fmt.Sprintf("%02d", lock.step)
		list = append(list, lock)
	}
	add(lock{nodes: 1, bound: -1, make: func(r []redis.UniversalClient) locks.Lock { return redislock.New(r[0], key) }})
	for _, s := range course.Steps {
		l := lock{nodes: 1, bound: -1, random: s.N == 5, make: func(r []redis.UniversalClient) locks.Lock { return locks.New(s.N, r, key, ttl) }}
		if s.N == course.Last.N {
			l.nodes, l.bound, l.random = 3, 1, true
		}
		add(l)
	}
	add(lock{nodes: 1, bound: -1, random: true, make: func(r []redis.UniversalClient) locks.Lock { return &fenced{lock: fencing.New(r[0], key, ttl)} }})
	return list
}()

// lockNamed is a step or a design.
func lockNamed(name string) (lock, error) {
	all := slices.Concat(steps, designs)
	if i := slices.IndexFunc(all, func(l lock) bool { return l.name == name }); i >= 0 {
		return all[i], nil
	}
	return lock{}, fmt.Errorf("there is no lock %q; try 05, or build/121201 "+
		"(take, expiry, value, release, watchdog, lost replies)", name)
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

package main

import (
	"context"
	"fmt"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/explore/internal/client"
	"example.com/redislock-steps/docs/explore/internal/network"
	"example.com/redislock-steps/docs/fencing"
	step01 "example.com/redislock-steps/step01_setnx"
	step02 "example.com/redislock-steps/step02_expire"
	step03 "example.com/redislock-steps/step03_atomic_set"
	step04 "example.com/redislock-steps/step04_owner_token"
	step05 "example.com/redislock-steps/step05_lua_release"
	step06 "example.com/redislock-steps/step06_reentrant"
	step07 "example.com/redislock-steps/step07_watchdog"
	step08 "example.com/redislock-steps/step08_redlock"
)

const (
	key = network.Key
	ttl = network.TTL
)

// A step is a lock to explore: a column of the matrix.
type step struct {
	n     int // 1 to 8, 9 is the lock of the epilogue
	dir   string
	nodes int
	bound int // of preemptions, -1 is none
	make  func([]redis.UniversalClient) client.Lock
}

func (s step) name() string {
	if s.n == 9 {
		return "fencing"
	}
	return fmt.Sprintf("%02d", s.n)
}

var steps = []step{
	{1, "step01_setnx", 1, -1, func(r []redis.UniversalClient) client.Lock { return step01.New(r[0], key) }},
	{2, "step02_expire", 1, -1, func(r []redis.UniversalClient) client.Lock { return step02.New(r[0], key, ttl) }},
	{3, "step03_atomic_set", 1, -1, func(r []redis.UniversalClient) client.Lock { return step03.New(r[0], key, ttl) }},
	{4, "step04_owner_token", 1, -1, func(r []redis.UniversalClient) client.Lock { return step04.New(r[0], key, ttl) }},
	{5, "step05_lua_release", 1, -1, func(r []redis.UniversalClient) client.Lock { return step05.New(r[0], key, ttl) }},
	{6, "step06_reentrant", 1, -1, func(r []redis.UniversalClient) client.Lock { return step06.New(r[0], key, ttl) }},
	{7, "step07_watchdog", 1, -1, func(r []redis.UniversalClient) client.Lock { return step07.New(r[0], key, ttl) }},
	{8, "step08_redlock", 3, 1, func(r []redis.UniversalClient) client.Lock { return step08.New(r, key, ttl) }},
	{9, "docs/fencing", 1, -1, func(r []redis.UniversalClient) client.Lock { return &fenced{lock: fencing.New(r[0], key, ttl)} }},
}

// fenced is the lock of the epilogue. Its holds have a number, which goes along with every access to the resource.
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

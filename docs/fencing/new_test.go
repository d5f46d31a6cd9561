package fencing

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// What the laboratory must know of this lock: how many Redis servers it uses, and how to make one.

const nodes = 1

func newLock(rdbs []redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return New(rdbs[0], key, ttl)
}

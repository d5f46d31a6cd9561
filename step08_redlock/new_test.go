package redislock

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// What the laboratory must know of this step: how many Redis servers a lock uses, and how to make one.

const nodes = 5

func newLock(rdbs []redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return New(rdbs, key, ttl)
}

package redislock

import (
	"time"

	"github.com/redis/go-redis/v9"
)

// What the laboratory must know of this step: how many Redis servers a lock uses, and how to make one.

const nodes = 5

func newLock(rdbs []redis.UniversalClient, key string, ttl time.Duration) *Lock {
	l := New(rdbs, key, ttl)
	if realAddrs != nil {
		l.NodeTimeout = slack(0) // a node on a busy machine has not failed
	}
	return l
}

package fencing

import (
	"os"
	"time"

	"github.com/redis/go-redis/v9"
)

// What the laboratory must know of this lock: how many Redis servers it uses, and how to make one.

const nodes = 1

// These stories write to Redis past the lock, so they stay in virtual time. Package variables come before init, where
// the laboratory looks for real servers.
var _ = os.Unsetenv("REDIS_ADDRS")

func newLock(rdbs []redis.UniversalClient, key string, ttl time.Duration) *Lock {
	return New(rdbs[0], key, ttl)
}

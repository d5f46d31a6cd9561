// Package locks has the locks of the eight steps behind one interface, for the programs
// that run them all.
package locks

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	step01 "example.com/redislock-steps/step01_setnx"
	step02 "example.com/redislock-steps/step02_expire"
	step03 "example.com/redislock-steps/step03_atomic_set"
	step04 "example.com/redislock-steps/step04_owner_token"
	step05 "example.com/redislock-steps/step05_lua_release"
	step06 "example.com/redislock-steps/step06_reentrant"
	step07 "example.com/redislock-steps/step07_watchdog"
	step08 "example.com/redislock-steps/step08_redlock"
)

// A Lock is what the locks have in common.
type Lock interface {
	TryLock(context.Context) error
	Lock(context.Context) error
	Unlock(context.Context) error
}

// New returns the lock of a step, 1 to 8. Those before step 08 are on the first node, and
// step 01 has no ttl.
func New(step int, nodes []redis.UniversalClient, key string, ttl time.Duration) Lock {
	switch step {
	case 1:
		return step01.New(nodes[0], key)
	case 2:
		return step02.New(nodes[0], key, ttl)
	case 3:
		return step03.New(nodes[0], key, ttl)
	case 4:
		return step04.New(nodes[0], key, ttl)
	case 5:
		return step05.New(nodes[0], key, ttl)
	case 6:
		return step06.New(nodes[0], key, ttl)
	case 7:
		return step07.New(nodes[0], key, ttl)
	}
	return step08.New(nodes, key, ttl)
}

// Refused reports whether a lock's error means that another client holds it.
func Refused(err error) bool {
	return isOneOf(err, step01.ErrNotAcquired, step02.ErrNotAcquired, step03.ErrNotAcquired, step04.ErrNotAcquired,
		step05.ErrNotAcquired, step06.ErrNotAcquired, step07.ErrNotAcquired, step08.ErrNotAcquired)
}

// NotHeld reports whether the error of a lock of steps 05 to 08 means that it is not held.
func NotHeld(err error) bool {
	return isOneOf(err, step05.ErrNotHeld, step06.ErrNotHeld, step07.ErrNotHeld, step08.ErrNotHeld)
}

func isOneOf(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// Lost reports whether a lock of step 07 or 08 says that its hold was lost. The others never do.
func Lost(l Lock) bool {
	told, ok := l.(interface{ Lost() <-chan struct{} })
	if !ok {
		return false
	}
	select {
	case <-told.Lost():
		return true
	default:
		return false
	}
}

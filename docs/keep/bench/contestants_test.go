package main

import (
	"context"
	"errors"
	"slices"
	"time"

	bsm "github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	redsyncredis "github.com/go-redsync/redsync/v4/redis"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	"github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"

	"example.com/redislock-steps/docs/keep/locks"
)

// A contestant is a way to take and to release a lock, each used as its README shows.
type contestant struct {
	name  string // as benchstat wants it: without spaces
	nodes int    // how many Redis servers it needs
	open  opener
}

// An opener opens it for one client.
type opener func(addrs []string, ttl time.Duration) (locker, error)

// A locker is one client process's share of a contestant, with its own connections. Its
// calls do what a request handler would: they make the handle, and lock.
type locker struct {
	lock  lockFunc
	try   func(ctx context.Context, key string) error // once; a refusal is an error
	close func()
}

type lockFunc func(ctx context.Context, key string) (unlock, error)

// An unlock releases a lock that is held.
type unlock func(context.Context) error

// pair locks and unlocks.
func (l locker) pair(ctx context.Context, key string) error {
	release, err := l.lock(ctx, key)
	if err != nil {
		return err
	}
	return release(ctx)
}

var contestants = []contestant{
	{"raw_pair", 1, openRaw},
	{"step_01", 1, openStep(1)},
	{"step_02", 1, openStep(2)},
	{"step_03", 1, openStep(3)},
	{"step_04", 1, openStep(4)},
	{"step_05", 1, openStep(5)},
	{"step_06", 1, openStep(6)},
	{"step_07", 1, openStep(7)},
	{"bsm_redislock", 1, openBSM(false)},
	{"bsm_redislock_with_watchdog", 1, openBSM(true)},
	{"redsync", 1, openRedsync()},
	{"rueidislock", 1, openRueidis},
	{"5_raw_pairs", 5, openRaw},
	{"step_08_on_5", 5, openStep(8)},
	{"redsync_on_5", 5, openRedsync()},
	{"redsync_WithFailFast_on_5", 5, openRedsync(failFast)},
}

// named returns the contestants of these names.
func named(names ...string) []contestant {
	return slices.DeleteFunc(slices.Clone(contestants), func(c contestant) bool { return !slices.Contains(names, c.name) })
}

// connect returns go-redis clients with its default options, one per server.
func connect(addrs []string) (clients []redis.UniversalClient, closeAll func()) {
	for _, addr := range addrs {
		clients = append(clients, redis.NewClient(&redis.Options{Addr: addr}))
	}
	return clients, func() {
		for _, rdb := range clients {
			rdb.Close()
		}
	}
}

var rawRelease = redis.NewScript(`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', KEYS[1])`)

// openRaw sends the two commands that no lock can do without, and nothing else: the token
// is always the same. It sends them to all nodes at once, and continues when a majority has
// answered: the least that Redlock can do.
func openRaw(addrs []string, ttl time.Duration) (locker, error) {
	clients, closeAll := connect(addrs)
	majority := func(ask func(redis.UniversalClient) error) error {
		if len(clients) == 1 {
			return ask(clients[0])
		}
		answers := make(chan error, len(clients))
		for _, rdb := range clients {
			go func() { answers <- ask(rdb) }()
		}
		for range len(clients)/2 + 1 {
			if err := <-answers; err != nil {
				return err
			}
		}
		return nil
	}
	try := func(ctx context.Context, key string) error {
		return majority(func(rdb redis.UniversalClient) error {
			ok, err := rdb.SetNX(ctx, key, "token", ttl).Result()
			if err == nil && !ok {
				return errTaken
			}
			return err
		})
	}
	lock := func(ctx context.Context, key string) (unlock, error) {
		return func(ctx context.Context) error {
			return majority(func(rdb redis.UniversalClient) error { return rawRelease.Run(ctx, rdb, []string{key}, "token").Err() })
		}, try(ctx, key)
	}
	return locker{lock, try, closeAll}, nil
}

var errTaken = errors.New("taken")

func openStep(step int) opener {
	return func(addrs []string, ttl time.Duration) (locker, error) {
		clients, closeAll := connect(addrs)
		lock := func(ctx context.Context, key string) (unlock, error) {
			l := locks.New(step, clients, key, ttl)
			return l.Unlock, l.Lock(ctx)
		}
		try := func(ctx context.Context, key string) error { return locks.New(step, clients, key, ttl).TryLock(ctx) }
		return locker{lock, try, closeAll}, nil
	}
}

// openBSM waits as the package's example does: it tries every 100 ms. The watchdog is
// that of its README.
func openBSM(watchdog bool) opener {
	options := &bsm.Options{RetryStrategy: bsm.LinearBackoff(100 * time.Millisecond)}
	return func(addrs []string, ttl time.Duration) (locker, error) {
		clients, closeAll := connect(addrs)
		client := bsm.New(clients[0])
		lock := func(ctx context.Context, key string) (unlock, error) {
			l, err := client.Obtain(ctx, key, ttl, options)
			if err != nil || !watchdog {
				return l.Release, err
			}
			work, cancel := context.WithCancel(context.Background())
			go func() {
				for t := time.NewTicker(ttl / 3); ; {
					select {
					case <-t.C:
						l.Refresh(work, ttl, nil)
					case <-work.Done():
						t.Stop()
						return
					}
				}
			}()
			return func(ctx context.Context) error { cancel(); return l.Release(ctx) }, nil
		}
		try := func(ctx context.Context, key string) error {
			_, err := client.Obtain(ctx, key, ttl, nil)
			return err
		}
		return locker{lock, try, closeAll}, nil
	}
}

// failFast lets redsync return when a majority of the nodes has replied. By default, it
// waits for all of them.
var failFast = redsync.WithFailFast(true)

// openRedsync tries 32 times, redsync's default.
func openRedsync(options ...redsync.Option) opener {
	return func(addrs []string, ttl time.Duration) (locker, error) {
		clients, closeAll := connect(addrs)
		var pools []redsyncredis.Pool
		for _, rdb := range clients {
			pools = append(pools, goredis.NewPool(rdb))
		}
		rs, options := redsync.New(pools...), append(options, redsync.WithExpiry(ttl))
		lock := func(ctx context.Context, key string) (unlock, error) {
			m := rs.NewMutex(key, options...)
			release := func(ctx context.Context) error { _, err := m.UnlockContext(ctx); return err }
			return release, m.LockContext(ctx)
		}
		try := func(ctx context.Context, key string) error { return rs.NewMutex(key, options...).TryLockContext(ctx) }
		return locker{lock, try, closeAll}, nil
	}
}

// openRueidis sets what the README says for one Redis of version 7.0.5 or newer.
func openRueidis(addrs []string, ttl time.Duration) (locker, error) {
	l, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: addrs},
		KeyValidity:    ttl,
		KeyMajority:    1,
		NoLoopTracking: true,
	})
	if err != nil {
		return locker{}, err
	}
	lock := func(ctx context.Context, key string) (unlock, error) {
		// The lock lasts as long as its context: it must not end with the time to wait.
		held, cancel := context.WithCancel(context.WithoutCancel(ctx))
		stop := context.AfterFunc(ctx, cancel)
		_, release, err := l.WithContext(held, key)
		if err != nil {
			cancel()
			return nil, err
		}
		stop()
		return func(context.Context) error { release(); cancel(); return nil }, nil
	}
	try := func(ctx context.Context, key string) error {
		_, _, err := l.TryWithContext(ctx, key)
		return err
	}
	return locker{lock, try, l.Close}, nil
}

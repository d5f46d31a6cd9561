package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"log"
	"net"
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

// ttl of every lock in every benchmark, unless a table says otherwise.
const ttl = 30 * time.Second

// A contestant is a way to take and to release a lock, each used as its README shows.
type contestant struct {
	name  string
	nodes int  // how many Redis servers it needs
	waits bool // for a lock that is taken; the raw pair of commands does not
	open  func(net network) (locker, error)
}

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
	{"raw pair", 1, false, openRaw},
	{"step 01", 1, true, openStep(1)},
	{"step 02", 1, true, openStep(2)},
	{"step 03", 1, true, openStep(3)},
	{"step 04", 1, true, openStep(4)},
	{"step 05", 1, true, openStep(5)},
	{"step 06", 1, true, openStep(6)},
	{"step 07", 1, true, openStep(7)},
	{"bsm/redislock", 1, true, openBSM(false)},
	{"bsm/redislock, its watchdog", 1, true, openBSM(true)},
	{"redsync", 1, true, openRedsync()},
	{"rueidislock", 1, true, openRueidis},
	{"5 raw pairs", 5, false, openRaw},
	{"step 08 on 5", 5, true, openStep(8)},
	{"redsync on 5", 5, true, openRedsync()},
	{"redsync on 5, WithFailFast", 5, true, openRedsync(failFast)},
}

// named returns the contestants of these names.
func named(names ...string) (list []contestant) {
	for _, c := range contestants {
		if slices.Contains(names, c.name) {
			list = append(list, c)
		}
	}
	return list
}

// waitingOnes are those that can wait.
func waitingOnes() []contestant {
	return slices.DeleteFunc(slices.Clone(contestants), func(c contestant) bool { return !c.waits })
}

// A network is the servers to connect to, and how: go-redis's defaults, but for a Dialer
// that counts, and one attempt of redsync.
type network struct {
	servers []*server
	options redis.Options
	expiry  time.Duration // of its locks; 0: ttl
}

func (n network) ttl() time.Duration { return cmp.Or(n.expiry, ttl) }

// clients are go-redis clients, one per server.
func (n network) clients() (clients []redis.UniversalClient, closeAll func()) {
	for _, s := range n.servers {
		options := n.options
		options.Addr = s.Addr
		clients = append(clients, redis.NewClient(&options))
	}
	return clients, func() {
		for _, rdb := range clients {
			rdb.Close()
		}
	}
}

var rawRelease = redis.NewScript(`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', KEYS[1])`)

// openRaw sends the two commands that no lock can do without, and nothing else: the token
// is always the same, and answers are not looked at. It sends them to all nodes at once,
// and continues when a majority has answered: the least that Redlock can do.
func openRaw(n network) (locker, error) {
	clients, closeAll := n.clients()
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
	lock := func(ctx context.Context, key string) (unlock, error) {
		err := majority(func(rdb redis.UniversalClient) error { return rdb.SetNX(ctx, key, "token", ttl).Err() })
		return func(ctx context.Context) error {
			return majority(func(rdb redis.UniversalClient) error { return rawRelease.Run(ctx, rdb, []string{key}, "token").Err() })
		}, err
	}
	try := func(ctx context.Context, key string) error {
		return majority(func(rdb redis.UniversalClient) error {
			if ok, err := rdb.SetNX(ctx, key, "token", ttl).Result(); ok || err != nil {
				return err
			}
			return errTaken
		})
	}
	return locker{lock, try, closeAll}, nil
}

var errTaken = errors.New("taken")

func openStep(step int) func(network) (locker, error) {
	return func(n network) (locker, error) {
		clients, closeAll := n.clients()
		l := lockerOf(step, clients, n.ttl())
		l.close = closeAll
		return l, nil
	}
}

func lockerOf(step int, clients []redis.UniversalClient, ttl time.Duration) locker {
	return locker{
		lock: func(ctx context.Context, key string) (unlock, error) {
			l := locks.New(step, clients, key, ttl)
			return l.Unlock, l.Lock(ctx)
		},
		try: func(ctx context.Context, key string) error { return locks.New(step, clients, key, ttl).TryLock(ctx) },
	}
}

// openBSM waits as the package's example does: it tries every 100 ms. The watchdog is that
// of its README.
func openBSM(watchdog bool) func(network) (locker, error) {
	options := &bsm.Options{RetryStrategy: bsm.LinearBackoff(100 * time.Millisecond)}
	return func(n network) (locker, error) {
		clients, closeAll := n.clients()
		client := bsm.New(clients[0])
		lock := func(ctx context.Context, key string) (unlock, error) {
			l, err := client.Obtain(ctx, key, n.ttl(), options)
			if err != nil || !watchdog {
				return l.Release, err
			}
			work, cancel := context.WithCancel(context.Background())
			go refresh(work, cancel, l, n.ttl())
			return func(ctx context.Context) error { cancel(); return l.Release(ctx) }, nil
		}
		try := func(ctx context.Context, key string) error {
			_, err := client.Obtain(ctx, key, n.ttl(), nil)
			return err
		}
		return locker{lock, try, closeAll}, nil
	}
}

func refresh(work context.Context, cancel context.CancelFunc, l *bsm.Lock, ttl time.Duration) {
	t := time.NewTicker(ttl / 3)
	defer t.Stop()
	for {
		select {
		case <-work.Done():
			return
		case <-t.C:
			if err := l.Refresh(work, ttl, nil); err != nil {
				log.Printf("lock refresh failed: %v", err)
				cancel()
				return
			}
		}
	}
}

// failFast lets redsync return when a majority of the nodes has replied. By default, it
// waits for all of them.
var failFast = redsync.WithFailFast(true)

// openRedsync tries 32 times, redsync's default. Then the crowd calls it again.
func openRedsync(options ...redsync.Option) func(network) (locker, error) {
	return func(n network) (locker, error) {
		options := append(options, redsync.WithExpiry(n.ttl()))
		rs, closeAll := newRedsync(n)
		lock := func(ctx context.Context, key string) (unlock, error) {
			m := rs.NewMutex(key, options...)
			release := func(ctx context.Context) error { _, err := m.UnlockContext(ctx); return err }
			return release, m.LockContext(ctx)
		}
		try := func(ctx context.Context, key string) error { return rs.NewMutex(key, options...).TryLockContext(ctx) }
		return locker{lock, try, closeAll}, nil
	}
}

func newRedsync(n network) (*redsync.Redsync, func()) {
	clients, closeAll := n.clients()
	var pools []redsyncredis.Pool
	for _, rdb := range clients {
		pools = append(pools, goredis.NewPool(rdb))
	}
	return redsync.New(pools...), closeAll
}

// openRueidis sets what the README says for one Redis of version 7.0.5 or newer.
func openRueidis(n network) (locker, error) {
	option := rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{n.servers[0].Addr}},
		KeyValidity:    n.ttl(),
		KeyMajority:    1,
		NoLoopTracking: true,
	}
	if dial := n.options.Dialer; dial != nil {
		option.ClientOption.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return dial(ctx, "tcp", addr)
		}
	}
	l, err := rueidislock.NewLocker(option)
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

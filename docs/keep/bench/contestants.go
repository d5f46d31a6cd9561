package main

import (
	"context"
	"crypto/tls"
	"errors"
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

	"example.com/redislock-steps/docs/internal/locks"
)

// ttl of every lock in every benchmark, unless a table says otherwise.
const ttl = 30 * time.Second

// A contestant is a way to take and to release a lock, each used as its README shows.
type contestant struct {
	name  string
	nodes int  // how many Redis servers it needs
	waits bool // whether it has a way to wait for a lock; the raw pair of commands has none
	open  func(net network) (locker, error)
}

// A locker is one client process's share of a contestant, with its own connections.
type locker interface {
	// pair does what a request handler would: it makes the handle, locks, unlocks.
	pair(ctx context.Context, key string) error
	// lock waits for the lock.
	lock(ctx context.Context, key string) (unlock, error)
	close()
}

// An unlock releases a lock that is held.
type unlock func() error

var contestants = []contestant{
	{name: "raw pair", nodes: 1, open: openRaw},
	{name: "step 01", nodes: 1, waits: true, open: openStep(1)},
	{name: "step 02", nodes: 1, waits: true, open: openStep(2)},
	{name: "step 03", nodes: 1, waits: true, open: openStep(3)},
	{name: "step 04", nodes: 1, waits: true, open: openStep(4)},
	{name: "step 05", nodes: 1, waits: true, open: openStep(5)},
	{name: "step 06", nodes: 1, waits: true, open: openStep(6)},
	{name: "step 07", nodes: 1, waits: true, open: openStep(7)},
	{name: "bsm/redislock", nodes: 1, waits: true, open: openBSM},
	{name: "redsync", nodes: 1, waits: true, open: openRedsync},
	{name: "rueidislock", nodes: 1, waits: true, open: openRueidis},
	{name: "5 raw pairs", nodes: 5, open: openRawFive},
	{name: "step 08 on 5", nodes: 5, waits: true, open: openStep(8)},
	{name: "redsync on 5", nodes: 5, waits: true, open: openRedsync},
}

// waitingOnes are those that can wait.
func waitingOnes() []contestant {
	return slices.DeleteFunc(slices.Clone(contestants), func(c contestant) bool { return !c.waits })
}

// A network is the servers to connect to, and how.
type network struct {
	servers []*server
	// dial is nil where the client does it by itself.
	dial func(ctx context.Context, addr string) (net.Conn, error)
	// options are go-redis's defaults but in one attempt of redsync.
	options redis.Options
}

// clients are go-redis clients, one per server.
func (n network) clients() []redis.UniversalClient {
	var clients []redis.UniversalClient
	for _, s := range n.servers {
		options := n.options
		options.Addr = s.Addr
		if n.dial != nil {
			options.Dialer = func(ctx context.Context, _, addr string) (net.Conn, error) { return n.dial(ctx, addr) }
		}
		clients = append(clients, redis.NewClient(&options))
	}
	return clients
}

type goRedis []redis.UniversalClient

func (g goRedis) close() {
	for _, rdb := range g {
		rdb.Close()
	}
}

// rawLocker sends the two commands that no lock can do without, and nothing else: the
// token is always the same, and answers are not looked at.
type rawLocker struct{ goRedis }

var rawRelease = redis.NewScript(`if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end return redis.call('DEL', KEYS[1])`)

func openRaw(n network) (locker, error) { return rawLocker{n.clients()}, nil }

func (r rawLocker) pair(ctx context.Context, key string) error {
	if err := r.goRedis[0].SetNX(ctx, key, "token", ttl).Err(); err != nil {
		return err
	}
	return rawRelease.Run(ctx, r.goRedis[0], []string{key}, "token").Err()
}

func (r rawLocker) lock(context.Context, string) (unlock, error) {
	return nil, errors.New("the raw pair does not wait")
}

// rawFiveLocker sends the raw pair to five nodes at once, and continues when three have
// answered: the least that Redlock can do.
type rawFiveLocker struct{ rawLocker }

func openRawFive(n network) (locker, error) { return rawFiveLocker{rawLocker{n.clients()}}, nil }

func (r rawFiveLocker) pair(ctx context.Context, key string) error {
	if err := r.majority(func(rdb redis.UniversalClient) error { return rdb.SetNX(ctx, key, "token", ttl).Err() }); err != nil {
		return err
	}
	return r.majority(func(rdb redis.UniversalClient) error { return rawRelease.Run(ctx, rdb, []string{key}, "token").Err() })
}

func (r rawFiveLocker) majority(ask func(redis.UniversalClient) error) error {
	answers := make(chan error, len(r.goRedis))
	for _, rdb := range r.goRedis {
		go func() { answers <- ask(rdb) }()
	}
	for range len(r.goRedis)/2 + 1 {
		if err := <-answers; err != nil {
			return err
		}
	}
	return nil
}

type stepLocker struct {
	goRedis
	step int
}

func openStep(step int) func(network) (locker, error) {
	return func(n network) (locker, error) { return stepLocker{n.clients(), step}, nil }
}

func (s stepLocker) pair(ctx context.Context, key string) error {
	l := locks.New(s.step, s.goRedis, key, ttl)
	if err := l.TryLock(ctx); err != nil {
		return err
	}
	return l.Unlock(ctx)
}

func (s stepLocker) lock(ctx context.Context, key string) (unlock, error) {
	l := locks.New(s.step, s.goRedis, key, ttl)
	if err := l.Lock(ctx); err != nil {
		return nil, err
	}
	return func() error { return l.Unlock(context.Background()) }, nil
}

type bsmLocker struct {
	goRedis
	client *bsm.Client
}

func openBSM(n network) (locker, error) {
	clients := n.clients()
	return bsmLocker{clients, bsm.New(clients[0])}, nil
}

func (b bsmLocker) pair(ctx context.Context, key string) error {
	l, err := b.client.Obtain(ctx, key, ttl, nil)
	if err != nil {
		return err
	}
	return l.Release(ctx)
}

// lock waits as the package's example does: it tries every 100 ms.
func (b bsmLocker) lock(ctx context.Context, key string) (unlock, error) {
	l, err := b.client.Obtain(ctx, key, ttl, &bsm.Options{RetryStrategy: bsm.LinearBackoff(100 * time.Millisecond)})
	if err != nil {
		return nil, err
	}
	return func() error { return l.Release(context.Background()) }, nil
}

type redsyncLocker struct {
	goRedis
	redsync *redsync.Redsync
}

func openRedsync(n network) (locker, error) { return newRedsync(n), nil }

func newRedsync(n network) redsyncLocker {
	clients := n.clients()
	var pools []redsyncredis.Pool
	for _, rdb := range clients {
		pools = append(pools, goredis.NewPool(rdb))
	}
	return redsyncLocker{clients, redsync.New(pools...)}
}

func (r redsyncLocker) pair(ctx context.Context, key string) error {
	m := r.redsync.NewMutex(key, redsync.WithExpiry(ttl))
	if err := m.LockContext(ctx); err != nil {
		return err
	}
	_, err := m.UnlockContext(ctx)
	return err
}

// lock tries 32 times, redsync's default. Then the crowd calls it again.
func (r redsyncLocker) lock(ctx context.Context, key string) (unlock, error) {
	m := r.redsync.NewMutex(key, redsync.WithExpiry(ttl))
	if err := m.LockContext(ctx); err != nil {
		return nil, err
	}
	return func() error { _, err := m.UnlockContext(context.Background()); return err }, nil
}

type rueidisLocker struct{ locker rueidislock.Locker }

// openRueidis sets what the README says for one Redis of version 7.0.5 or newer.
func openRueidis(n network) (locker, error) {
	option := rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{n.servers[0].Addr}},
		KeyValidity:    ttl,
		KeyMajority:    1,
		NoLoopTracking: true,
	}
	if n.dial != nil {
		option.ClientOption.DialCtxFn = func(ctx context.Context, addr string, _ *net.Dialer, _ *tls.Config) (net.Conn, error) {
			return n.dial(ctx, addr)
		}
	}
	l, err := rueidislock.NewLocker(option)
	return rueidisLocker{l}, err
}

func (r rueidisLocker) pair(ctx context.Context, key string) error {
	_, unlock, err := r.locker.WithContext(ctx, key)
	if err != nil {
		return err
	}
	unlock()
	return nil
}

func (r rueidisLocker) lock(ctx context.Context, key string) (unlock, error) {
	// The lock lasts as long as its context: it must not end with the time to wait.
	held, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(ctx, cancel)
	_, release, err := r.locker.WithContext(held, key)
	if err != nil {
		cancel()
		return nil, err
	}
	stop()
	return func() error { release(); cancel(); return nil }, nil
}

func (r rueidisLocker) close() { r.locker.Close() }

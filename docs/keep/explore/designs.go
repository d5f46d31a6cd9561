package main

// The bench of docs/play: the reader makes a lock from switches, and the network attacks it. Each
// lock that can be made is run here, under each attack.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/keep/locks"
	step05 "example.com/redislock-steps/step05_lua_release"
)

// attacks are the faults of the bench, in the order in which the course meets them.
var attacks = []string{"none", "crash-hold", "crash-acquire", "slow", "resent", "nested", "failover", "pause"}

// A design is a lock made from switches.
type design struct {
	take     int // 0 is EXISTS, then SET; 1 is SET NX
	expiry   int // 0 is none; 1 is PEXPIRE afterwards; 2 is EX in the same command
	value    int // 0 is a constant; 1 is a random token
	release  int // 0 is DEL; 1 is GET, compare, DEL; 2 is a script
	watchdog int // 1 renews
	sees     int // 1 recognises what it has done itself when a reply was lost
}

// makes reports whether the switches fit: no one compares a constant or renews what does not
// expire, and only SET NX with a token can meet its own key and know it.
func (d design) makes() bool {
	return (d.release == 0 || d.value == 1) && (d.watchdog == 0 || d.expiry > 0) && (d.sees == 0 || d.take == 1 && d.value == 1)
}

// designs are all that can be made, in the order of their names: a digit for each switch.
var designs = func() (list []lock) {
	for i := range 2 * 3 * 2 * 3 * 2 * 2 {
		d := design{i / 72, i / 24 % 3, i / 12 % 2, i / 4 % 3, i / 2 % 2, i % 2}
		if d.makes() {
			name := fmt.Sprintf("build/%d%d%d%d%d%d", d.take, d.expiry, d.value, d.release, d.watchdog, d.sees)
			list = append(list, lock{name: name, step: -1, nodes: 1, bound: -1, make: func(r []redis.UniversalClient) locks.Lock {
				return &designed{design: d, rdb: r[0]}
			}})
		}
	}
	return list
}()

// designed is a lock as its design says.
type designed struct {
	design
	rdb   redis.UniversalClient
	token string
	stop  context.CancelFunc // of the watchdog
}

const (
	compareAndDelete = `-- release token
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0`
	compareAndRenew = `-- renew token ttl
if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end
return 0`
)

func (l *designed) TryLock(ctx context.Context) error {
	token := "locked"
	if l.value == 1 {
		token = rand.Text()
	}
	acquired, err := l.acquire(ctx, token)
	if err == nil && !acquired {
		err = step05.ErrNotAcquired
	}
	if err == nil && l.expiry == 1 {
		err = l.rdb.PExpire(ctx, key, ttl).Err()
	}
	if err != nil {
		return err
	}
	l.token = token
	if l.watchdog == 1 {
		stopped, stop := context.WithCancel(context.Background())
		l.stop = stop
		go l.renew(stopped, token)
	}
	return nil
}

// Lock does not wait: no attack of the bench needs it.
func (l *designed) Lock(ctx context.Context) error { return l.TryLock(ctx) }

func (l *designed) acquire(ctx context.Context, token string) (bool, error) {
	expiry := time.Duration(0)
	if l.expiry == 2 {
		expiry = ttl
	}
	if l.take == 0 {
		n, err := l.rdb.Exists(ctx, key).Result()
		if err != nil || n == 1 {
			return false, err
		}
		return true, l.rdb.Set(ctx, key, token, expiry).Err()
	}
	acquired, err := l.rdb.SetNX(ctx, key, token, expiry).Result()
	if err == nil && !acquired && l.sees == 1 {
		return l.owns(ctx, token) // go-redis may have sent it twice
	}
	return acquired, err
}

func (l *designed) owns(ctx context.Context, token string) (bool, error) {
	value, err := l.rdb.Get(ctx, key).Result()
	if errors.Is(err, redis.Nil) {
		return false, nil
	}
	return value == token, err
}

// renew renews as long as the lease lasts, so that the watchdog of a holder that is dead ends.
func (l *designed) renew(stopped context.Context, token string) {
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for end := time.Now().Add(ttl); ; {
		select {
		case <-stopped.Done():
		case <-tick.C:
		}
		begin := time.Now()
		if stopped.Err() != nil || !begin.Before(end) { // select takes any of two that are ready
			return
		}
		renewed, err := l.sendRenewal(context.Background(), token)
		if err == nil && !renewed {
			return
		}
		if err == nil {
			end = begin.Add(ttl)
		}
	}
}

func (l *designed) sendRenewal(ctx context.Context, token string) (bool, error) {
	if l.value == 0 {
		return l.rdb.PExpire(ctx, key, ttl).Result()
	}
	return l.rdb.Eval(ctx, compareAndRenew, []string{key}, token, ttl.Milliseconds()).Bool()
}

func (l *designed) Unlock(ctx context.Context) error {
	if l.stop != nil {
		l.stop()
	}
	released, err := l.del(ctx)
	if err == nil && !released {
		err = step05.ErrNotHeld
	}
	return err
}

func (l *designed) del(ctx context.Context) (bool, error) {
	if l.release < 2 {
		if l.release == 1 {
			if owns, err := l.owns(ctx, l.token); err != nil || !owns {
				return false, err
			}
		}
		n, err := l.rdb.Del(ctx, key).Result()
		return n == 1, err
	}
	script := func() *redis.Cmd { return redis.NewCmd(ctx, "eval", compareAndDelete, 1, key, l.token) }
	cmd := script()
	if l.sees == 0 {
		err := l.rdb.Process(ctx, cmd)
		return err == nil && cmd.Val() == int64(1), err
	}
	if err := l.rdb.Process(ctx, once{cmd}); err == nil {
		return cmd.Val() == int64(1), nil
	}
	return true, l.rdb.Process(ctx, script()) // if it finds nothing, the first has released
}

// once is a command that go-redis does not send again by itself.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

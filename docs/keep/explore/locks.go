package main

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/fencing"
	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/keep/locks"
	"example.com/redislock-steps/docs/step00"
	step05 "example.com/redislock-steps/step05_lua_release"
)

const (
	key = "coupons"
	ttl = 10 * time.Second
)

// A lock is what is explored.
type lock struct {
	name   string // 05, or build/121201 of a design
	step   int    // 1 to 8, 9 is the lock of the epilogue, 0 that before the course, -1 a design
	nodes  int
	bound  int  // of preemptions, -1 is none
	random bool // Lock waits for random times
	make   func([]redis.UniversalClient) locks.Lock
}

// steps are the locks of the course by their numbers. The one before step 01 has no column in
// the table: docs/play begins with it.
var steps = func() (list []lock) {
	for n := range course.Last.N + 2 {
		l := lock{name: fmt.Sprintf("%02d", n), step: n, nodes: 1, bound: -1, random: n == 5 || n > 7}
		switch n {
		case 0:
			l.make = func(r []redis.UniversalClient) locks.Lock { return redislock.New(r[0], key) }
		case course.Epilogue.N:
			l.make = func(r []redis.UniversalClient) locks.Lock { return &fenced{lock: fencing.New(r[0], key, ttl)} }
		default:
			l.make = func(r []redis.UniversalClient) locks.Lock { return locks.New(n, r, key, ttl) }
		}
		list = append(list, l)
	}
	list[8].nodes, list[8].bound = 3, 1
	return list
}()

// lockNamed is a step or a design.
func lockNamed(name string) (lock, error) {
	for _, l := range slices.Concat(steps, designs) {
		if l.name == name {
			return l, nil
		}
	}
	return lock{}, fmt.Errorf("there is no lock %q; try 05, or build/121201 "+
		"(take, expiry, value, release, watchdog, lost replies)", name)
}

// fenced is the lock of the epilogue. Its holds have a number, which goes along with
// every access to the resource.
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

// The bench of docs/play: the reader makes a lock from switches, and the network attacks it. Each
// lock that can be made is run here, under each attack.

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
	token, expiry, acquired := "locked", time.Duration(0), false
	if l.value == 1 {
		token = rand.Text()
	}
	if l.expiry == 2 {
		expiry = ttl
	}
	var err error
	if l.take == 1 {
		acquired, err = l.rdb.SetNX(ctx, key, token, expiry).Result()
		if err == nil && !acquired && l.sees == 1 {
			acquired, err = l.owns(ctx, token) // go-redis may have sent it twice
		}
	} else {
		var there int64
		there, err = l.rdb.Exists(ctx, key).Result()
		if acquired = there == 0; err == nil && acquired {
			err = l.rdb.Set(ctx, key, token, expiry).Err()
		}
	}
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
		ctx, l.stop = context.WithCancel(context.Background())
		go l.renew(ctx, token)
	}
	return nil
}

// Lock does not wait: no attack of the bench needs it.
func (l *designed) Lock(ctx context.Context) error { return l.TryLock(ctx) }

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
		ctx := context.Background()
		cmd := redis.NewCmd(ctx, "pexpire", key, ttl.Milliseconds())
		if l.value == 1 {
			cmd = redis.NewCmd(ctx, "eval", compareAndRenew, 1, key, token, ttl.Milliseconds())
		}
		l.rdb.Process(ctx, cmd)
		switch renewed, err := cmd.Bool(); {
		case err == nil && !renewed:
			return
		case err == nil:
			end = begin.Add(ttl)
		}
	}
}

func (l *designed) Unlock(ctx context.Context) error {
	if l.stop != nil {
		l.stop()
	}
	if l.release == 1 {
		if owns, err := l.owns(ctx, l.token); err != nil || !owns {
			return cmp.Or(err, step05.ErrNotHeld)
		}
	}
	del := func() *redis.Cmd { return redis.NewCmd(ctx, "del", key) }
	if l.release == 2 {
		del = func() *redis.Cmd { return redis.NewCmd(ctx, "eval", compareAndDelete, 1, key, l.token) }
	}
	sent := del()
	if l.release < 2 || l.sees == 0 {
		l.rdb.Process(ctx, sent)
	} else if l.rdb.Process(ctx, once{sent}) != nil {
		return l.rdb.Process(ctx, del()) // if it finds nothing, the first has released
	}
	deleted, err := sent.Bool()
	if err == nil && !deleted {
		err = step05.ErrNotHeld
	}
	return err
}

// once is a command that go-redis does not send again by itself.
type once struct{ *redis.Cmd }

func (once) NoRetry() bool { return true }

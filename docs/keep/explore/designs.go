package main

// The bench of docs/play: the reader makes a lock from switches, and the network attacks it. Each
// lock that can be made is run here, under each attack.

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"example.com/redislock-steps/docs/keep/explore/internal/graph"
	"example.com/redislock-steps/docs/keep/locks"
	"example.com/redislock-steps/docs/play/page"
	step05 "example.com/redislock-steps/step05_lua_release"
)

// A design is a lock made from switches.
type design struct {
	take     int // 0 is EXISTS, then SET; 1 is SET NX
	expiry   int // 0 is none; 1 is PEXPIRE afterwards; 2 is EX in the same command
	value    int // 0 is a constant; 1 is a random token
	release  int // 0 is DEL; 1 is GET, compare, DEL; 2 is a script
	watchdog int // 1 renews
	sees     int // 1 recognises what it has done itself when a reply was lost
}

// attacks are the faults of the bench, in the order in which the course meets them.
var attacks = []string{"none", "crash-hold", "crash-acquire", "slow", "resent", "nested", "failover", "pause"}

// name is a digit for each switch.
func (d design) name() string {
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(d), "{}")), "")
}

// makes reports whether the switches fit: no one compares a constant or renews what does not
// expire, and only SET NX with a token can meet its own key and know it.
func (d design) makes() bool {
	return (d.release == 0 || d.value == 1) && (d.watchdog == 0 || d.expiry > 0) && (d.sees == 0 || d.take == 1 && d.value == 1)
}

// designs are all that can be made, in the order of their names.
var designs = func() (list []design) {
	for i := range 2 * 3 * 2 * 3 * 2 * 2 {
		d := design{i / 72, i / 24 % 3, i / 12 % 2, i / 4 % 3, i / 2 % 2, i % 2}
		if d.makes() {
			list = append(list, d)
		}
	}
	return list
}()

func (d design) step() step {
	return step{0, 1, -1, func(r []redis.UniversalClient) locks.Lock { return &designed{design: d, rdb: r[0]} }}
}

func (d design) job(fault string) job { return job{Design: d.name(), Fault: fault, Bound: -1} }

func designNamed(name string) (design, error) {
	if i := slices.IndexFunc(designs, func(d design) bool { return d.name() == name }); i >= 0 {
		return designs[i], nil
	}
	return design{}, fmt.Errorf("there is no lock build/%s; its digits are take, expiry, value, release, watchdog, lost replies: build/121201", name)
}

// designed is a lock as its design says.
type designed struct {
	design
	rdb   redis.UniversalClient
	token string
	stop  chan struct{} // of the watchdog
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
		l.stop = make(chan struct{})
		go l.renew(token, l.stop)
	}
	return nil
}

func (l *designed) Lock(ctx context.Context) error {
	for {
		if err := l.TryLock(ctx); !errors.Is(err, step05.ErrNotAcquired) || ctx.Err() != nil {
			return err
		}
		time.Sleep(30 * time.Millisecond)
	}
}

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
func (l *designed) renew(token string, stop <-chan struct{}) {
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for end := time.Now().Add(ttl); ; {
		select {
		case <-stop:
		case <-tick.C:
		}
		select {
		case <-stop: // select takes any of two that are ready, but a renewal after it is wrong
			return
		default:
		}
		begin := time.Now()
		if !begin.Before(end) {
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
		close(l.stop)
		l.stop = nil
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

// benchJobs are all designs under all attacks.
func benchJobs() (jobs []job) {
	for _, d := range designs {
		for _, f := range attacks {
			jobs = append(jobs, d.job(f))
		}
	}
	return jobs
}

// The locks of the bench that are not designs: to nest, to renew and to ask a majority, or the
// resource, takes more than a switch.
var further = []int{6, 7, 8, 9}

// bench is what the page knows of its locks. What the bench teaches must be so.
func bench(cells []cell) (page.Bench, error) {
	found := map[string]cell{}
	for _, c := range cells {
		found[c.Job.String()] = c
	}
	all := page.Bench{Attacks: attacks}
	for _, d := range designs {
		all.Locks = append(all.Locks, d.job("").lock())
	}
	for _, n := range further {
		all.Locks = append(all.Locks, steps[n].job("").lock())
	}
	b := graph.NewBuilder()
	for _, lock := range all.Locks {
		for _, f := range attacks {
			c, known := found[lock+"/"+f]
			if !known {
				return all, fmt.Errorf("%s/%s was not explored", lock, f)
			}
			all.Cells = append(all.Cells, page.BenchCell{Kinds: c.Kinds, All: c.Schedules, Bad: c.Violating()})
			if c.First != nil {
				b.Merge(c.First)
			}
		}
	}
	all.Graph = b.Graph.Pack()
	cellOf := func(j job) cell { return found[j.String()] }
	return all, errors.Join(teaches(designs, cellOf), areSteps(cellOf))
}

// teaches says where designs differ from what the bench teaches, and no row of steps can.
func teaches(list []design, cellOf func(job) cell) (err error) {
	claim := func(is bool, d design, fault, text string) {
		if !is {
			err = errors.Join(err, fmt.Errorf("%v finds %q: %s", d.job(fault), cellOf(d.job(fault)).Kinds, text))
		}
	}
	for _, d := range list {
		kinds := func(fault string) string { return cellOf(d.job(fault)).Kinds }
		if d.value == 0 {
			signed := d
			signed.value = 1
			for _, f := range attacks {
				claim(cellOf(signed.job(f)).Kinds == kinds(f), d, f, "a token that no one compares changes nothing")
			}
		}
		if d.take == 0 {
			claim(strings.Contains(kinds("none"), "X"), d, "none", "between EXISTS and SET there is room for another client")
			continue
		}
		if d.expiry == 0 {
			claim(kinds("slow")+kinds("pause") == "", d, "slow", "without a ttl, long work does no harm")
		}
		if d.watchdog == 1 && d.release < 2 {
			claim(kinds("slow") == "D", d, "slow", "a watchdog does not save a DEL that asks no one, or too early")
		}
		if d.watchdog == 1 && d.release == 2 {
			claim(kinds("slow") == "", d, "slow", "a watchdog and a script do")
		}
	}
	return err
}

// The designs that are locks of the course.
var asSteps = map[string]int{"100000": 1, "110000": 2, "120000": 3, "121101": 4, "121201": 5}

// areSteps says where they are not: in how many schedules what goes wrong.
func areSteps(cellOf func(job) cell) (err error) {
	for name, n := range asSteps {
		for _, f := range attacks {
			d, s := cellOf(job{Design: name, Fault: f, Bound: -1}), cellOf(steps[n].job(f))
			if d.Kinds != s.Kinds || d.Schedules != s.Schedules || d.Violating() != s.Violating() {
				err = errors.Join(err, fmt.Errorf("%v finds %s in %d of %d schedules, and %v finds %s in %d of %d",
					d.Job, d.Kinds, d.Violating(), d.Schedules, s.Job, s.Kinds, s.Violating(), s.Schedules))
			}
		}
	}
	return err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// An entrant is something whose calls are measured in turns with others.
type entrant struct {
	name   string
	locker locker
	call   func(ctx context.Context, key string) error // a pair, or a TryLock that is refused
	before lockFunc                                    // takes the lock for such a round
	meter  meter
	key    string    // keys of all entrants are equally long
	times  []float64 // seconds per call, one of each round
	calls  int
}

const (
	rest       = time.Millisecond // before each call
	roundCalls = 20
)

// enter opens a contestant on servers. It runs a round that does not count, for connections,
// scripts and caches.
func (r *results) enter(number int, c contestant, servers []*server) (e *entrant, err error) {
	e = &entrant{name: c.name, key: fmt.Sprintf("pair:%02d", number)}
	e.locker, err = c.open(network{servers: servers[:c.nodes], options: redis.Options{Dialer: e.meter.dial}})
	if err != nil {
		return nil, err
	}
	e.call = e.locker.pair
	err = r.round(e)
	e.times, e.calls = nil, 0
	e.meter.trips.Store(0)
	return e, err
}

// enterAll opens all of a list.
func (r *results) enterAll(list []contestant, servers []*server) (entrants []*entrant, closeAll func(), err error) {
	closeAll = func() {
		for _, e := range entrants {
			e.locker.close()
		}
	}
	for i, c := range list {
		e, err := r.enter(i, c, servers)
		if err != nil {
			closeAll()
			return nil, nil, err
		}
		entrants = append(entrants, e)
	}
	return entrants, closeAll, nil
}

func (r *results) measureAlone(ctx context.Context, servers []*server) error {
	entrants, closeAll, err := r.enterAll(contestants, servers)
	if err != nil {
		return err
	}
	defer closeAll()
	if err := inTurns(ctx, r.Plan.Rounds, entrants, r.round); err != nil {
		return err
	}
	var bare *entrant // on as many nodes: it comes before those that are compared with it
	for i, c := range contestants {
		e, of := entrants[i], "1"
		if c.waits {
			of = ratio(e.times, bare.times)
		} else {
			bare = e
		}
		trips := float64(e.meter.trips.Load()) / float64(e.calls*c.nodes)
		r.Locks[c.name] = &figures{Pair: seconds(median(e.times)), OfBare: of, Trips: math.Round(100*trips) / 100}
	}
	return nil
}

// round measures e once. It may fail: on a machine with much else to do, an answer may
// come too late for a lock that waits for it only so long.
func (r *results) round(e *entrant) error {
	var err error
	for range 5 {
		// Another key after a failure: who knows what it left.
		if err = e.measure(fmt.Sprintf("%s:%d", e.key, r.Failed[e.name])); err == nil {
			return nil
		}
		r.failed(e.name, err)
	}
	return fmt.Errorf("%s: %w", e.name, err)
}

func (e *entrant) measure(key string) error {
	// What the one before has left must not count here: answers of slow nodes, garbage.
	time.Sleep(5 * time.Millisecond)
	runtime.GC()
	// The bound is for rueidislock: if Redis takes longer than 20 ms to answer its first
	// question, it waits for a message of another client's unlock, and there may be no
	// other client. It is not a deadline: bsm/redislock makes one if there is none, as with
	// the context.Background of its README.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	defer time.AfterFunc(2*time.Second, cancel).Stop()
	if e.before != nil {
		release, err := e.before(ctx, key)
		if err != nil {
			return err
		}
		defer release(context.WithoutCancel(ctx))
	}
	var times []float64
	for range roundCalls {
		time.Sleep(rest)
		start := time.Now()
		e.calls++
		if err := e.call(ctx, key); err != nil {
			return err
		}
		times = append(times, time.Since(start).Seconds())
	}
	e.times = append(e.times, median(times))
	return nil
}

// measureTaken measures a TryLock that is refused: another client of the same kind holds the
// lock.
func (r *results) measureTaken(ctx context.Context, servers []*server) error {
	list := named("raw pair", "step 05", "step 06", "step 07", "bsm/redislock", "redsync", "rueidislock", "5 raw pairs", "step 08 on 5", "redsync on 5")
	entrants, closeAll, err := r.enterAll(list, servers)
	if err != nil {
		return err
	}
	defer closeAll()
	holders, closeHolders, err := r.enterAll(list, servers)
	if err != nil {
		return err
	}
	defer closeHolders()
	for i, e := range entrants {
		e.call = func(ctx context.Context, key string) error {
			if e.locker.try(ctx, key) == nil {
				return errors.New("it got a lock that is taken")
			}
			return nil
		}
		e.before = holders[i].locker.lock
	}
	if err := inTurns(ctx, r.Plan.Rounds, entrants, r.round); err != nil {
		return err
	}
	var bare *entrant
	for i, c := range list {
		if !c.waits {
			bare = entrants[i]
		}
		f := r.Locks[c.name]
		f.Taken, f.TakenOf = seconds(median(entrants[i].times)), ratio(entrants[i].times, bare.times)
	}
	return nil
}

// hung is what two of five nodes cost that take commands and never answer.
type hung struct {
	Pair     time.Duration // a lock+unlock of step 08
	FailFast time.Duration // a lock+unlock of redsync with WithFailFast
	// One attempt of redsync with go-redis's default options and an expiry of 8 s, its
	// default, and one with ContextTimeoutEnabled.
	Redsync, WithTimeout attempt
}

type attempt struct{ Lock, Unlock time.Duration }

// measureHung stops two of five servers, and lets step 08 and redsync lock on them.
func (r *results) measureHung(ctx context.Context, servers []*server) error {
	servers = servers[:5]
	entrants, closeAll, err := r.enterAll([]contestant{
		{name: "step 08, hung", nodes: 5, open: openStep(8)},
		{name: "redsync WithFailFast, hung", nodes: 5, open: openRedsync(failFast)},
	}, servers)
	if err != nil {
		return err
	}
	defer closeAll()
	// With WithFailFast, a key may remain on a node after Unlock. From now on, all three
	// nodes that reply are needed.
	time.Sleep(50 * time.Millisecond)
	for _, s := range servers {
		if err := s.admin.FlushAll(ctx).Err(); err != nil {
			return err
		}
	}
	for _, s := range servers[:2] {
		if err := s.Signal(syscall.SIGSTOP); err != nil {
			return err
		}
		defer s.Signal(syscall.SIGCONT)
	}
	if err := inTurns(ctx, r.Plan.Rounds, entrants, r.round); err != nil {
		return err
	}
	r.Hung.Pair, r.Hung.FailFast = seconds(median(entrants[0].times)), seconds(median(entrants[1].times))
	if r.Hung.Redsync, err = tryRedsync(network{servers: servers}); err != nil {
		return err
	}
	r.Hung.WithTimeout, err = tryRedsync(network{servers: servers, options: redis.Options{ContextTimeoutEnabled: true}})
	return err
}

func tryRedsync(n network) (a attempt, err error) {
	rs, closeAll := newRedsync(n)
	defer closeAll()
	m := rs.NewMutex("redsync")
	ctx, cancel := context.WithTimeout(context.Background(), 15*time.Second)
	defer cancel()
	start := time.Now()
	if err := m.LockContext(ctx); err != nil {
		return a, err
	}
	a.Lock, start = time.Since(start), time.Now()
	_, err = m.UnlockContext(ctx)
	a.Unlock = time.Since(start)
	return a, err
}

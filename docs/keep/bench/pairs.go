package main

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// An entrant is something whose uncontended pairs are measured in turns with others.
type entrant struct {
	name   string
	locker locker
	trips  atomic.Int64
	key    string    // keys of all entrants are equally long
	times  []float64 // seconds per pair, one of each round
	pairs  int
}

const (
	rest       = time.Millisecond // before each pair
	roundPairs = 20
)

// enter opens a contestant on servers. It runs a round that does not count, for connections,
// scripts and caches.
func (r *results) enter(number int, c contestant, servers []*server) (e *entrant, err error) {
	e = &entrant{name: c.name, key: fmt.Sprintf("pair:%02d", number)}
	e.locker, err = c.open(network{servers[:c.nodes], redis.Options{Dialer: metered(&e.trips)}})
	if err != nil {
		return nil, err
	}
	err = r.round(e)
	e.times, e.pairs = nil, 0
	e.trips.Store(0)
	return e, err
}

func (r *results) measureAlone(ctx context.Context, servers []*server) error {
	var entrants []*entrant
	for i, c := range contestants {
		e, err := r.enter(i, c, servers)
		if err != nil {
			return err
		}
		defer e.locker.close()
		entrants = append(entrants, e)
	}
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
		trips := float64(e.trips.Load()) / float64(e.pairs*c.nodes)
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
	var times []float64
	for range roundPairs {
		time.Sleep(rest)
		start := time.Now()
		e.pairs++
		if err := e.locker.pair(ctx, key); err != nil {
			return err
		}
		times = append(times, time.Since(start).Seconds())
	}
	e.times = append(e.times, median(times))
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
	var entrants []*entrant
	for i, c := range []contestant{
		{name: "step 08, hung", nodes: 5, open: openStep(8)},
		{name: "redsync WithFailFast, hung", nodes: 5, open: openRedsync(failFast)},
	} {
		e, err := r.enter(i, c, servers)
		if err != nil {
			return err
		}
		defer e.locker.close()
		entrants = append(entrants, e)
	}
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
	var err error
	if r.Hung.Redsync, err = tryRedsync(network{servers: servers}); err != nil {
		return err
	}
	r.Hung.WithTimeout, err = tryRedsync(network{servers, redis.Options{ContextTimeoutEnabled: true}})
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

package main

import (
	"context"
	"fmt"
	"runtime"
	"time"
)

// pairs are the measurements of uncontended lock+unlock of one entrant, one of each per round.
type pairs struct {
	Busy   times  // per pair, one right after the other
	Paced  times  // per pair, with a rest before each
	Allocs series // per busy pair
}

// An entrant is something to measure in turns with others.
type entrant struct {
	name   string
	locker locker
	key    string // keys of all entrants are equally long
}

const (
	rest       = time.Millisecond // before each paced pair
	pacedPairs = 20               // in a round
)

func (r *results) measureAlone(ctx context.Context, servers []*server) (err error) {
	var entrants []entrant
	for _, c := range alone() {
		l, err := c.open(network{servers: servers[:c.nodes]})
		if err != nil {
			return err
		}
		defer l.close()
		entrants = append(entrants, entrant{name: c.name, locker: l})
	}
	r.Pairs, err = r.measurePairs(ctx, entrants)
	return err
}

// measurePairs lets all entrants run in turns.
func (r *results) measurePairs(ctx context.Context, entrants []entrant) (map[string]*pairs, error) {
	for i := range entrants {
		entrants[i].key = fmt.Sprintf("pair:%02d", i)
		if err := r.round(new(pairs), entrants[i]); err != nil { // connections, scripts, caches
			return nil, err
		}
	}
	all := map[string]*pairs{}
	return all, inTurns(ctx, r.Plan.Rounds, entrants, func(e entrant) error { return r.round(of(all, e.name), e) })
}

// round measures e once. It may fail: on a machine with much else to do, an answer may
// come too late for a lock that waits for it only so long.
func (r *results) round(p *pairs, e entrant) error {
	var err error
	for range 5 {
		// Another key after a failure: who knows what it left.
		key := fmt.Sprintf("%s:%d", e.key, r.Failed[e.name].Count)
		if err = p.measure(e.locker, key, r.Plan.Slice); err == nil {
			return nil
		}
		r.failed(e.name, err)
	}
	return named(e.name, err)
}

func (p *pairs) measure(l locker, key string, slice time.Duration) error {
	// What the one before has left behind must not count here: answers of slow nodes, garbage.
	time.Sleep(5 * time.Millisecond)
	runtime.GC()
	ctx, cancel := bounded(2*time.Second + slice)
	defer cancel()

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, n := time.Now(), 0.0
	for time.Since(start) < slice || n == 0 {
		if err := l.pair(ctx, key); err != nil {
			return err
		}
		n++
	}
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	var paced []float64
	for range pacedPairs {
		time.Sleep(rest)
		start := time.Now()
		if err := l.pair(ctx, key); err != nil {
			return err
		}
		paced = append(paced, time.Since(start).Seconds())
	}
	p.Busy = append(p.Busy, elapsed.Seconds()/n)
	p.Allocs = append(p.Allocs, float64(after.Mallocs-before.Mallocs)/n)
	p.Paced = append(p.Paced, quantile(paced, 0.5))
	return nil
}

// bounded returns a context that ends after d, without a deadline: bsm/redislock makes
// one if there is none, as with the context.Background of its README. The bound is for
// rueidislock: if Redis takes longer than 20 ms to answer its first question, it waits
// for a message of another client's unlock, and there may be no other client.
func bounded(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(d, cancel)
	return ctx, func() { timer.Stop(); cancel() }
}

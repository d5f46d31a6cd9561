package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"time"
)

// pairs are the measurements of uncontended lock+unlock of one entrant, one of each per round.
type pairs struct {
	busy   []float64 // seconds per pair, one right after the other
	paced  []float64 // seconds per pair, with a rest before each
	allocs []float64 // per pair
	bytes  []float64 // allocated per pair
	n      []int     // pairs measured for busy
	errs   []error   // of pairs that failed: they count as time lost
}

// An entrant is something to measure in turns with others.
type entrant struct {
	name   string
	locker locker
}

const (
	rest       = time.Millisecond // before each paced pair
	pacedPairs = 20               // in a round
)

// measurePairs lets all entrants run in turns, in a new random order each round.
func measurePairs(entrants []entrant, rounds int, slice time.Duration) (map[string]*pairs, error) {
	results := map[string]*pairs{}
	for _, e := range entrants {
		results[e.name] = &pairs{}
		if err := new(pairs).measure(e, slice); err != nil { // connections, scripts, caches
			return nil, err
		}
	}
	for range rounds {
		for _, i := range rand.Perm(len(entrants)) {
			if err := results[entrants[i].name].measure(entrants[i], slice); err != nil {
				return nil, err
			}
		}
	}
	return results, nil
}

func (p *pairs) measure(e entrant, slice time.Duration) error {
	// What the one before has left behind must not count here: answers of slow nodes, garbage.
	time.Sleep(5 * time.Millisecond)
	runtime.GC()
	ctx, key := context.Background(), "pair:"+e.name

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, n := time.Now(), 0
	for time.Since(start) < slice || n == 0 {
		if err := p.try(ctx, e, key); err != nil {
			return err
		}
		n++
	}
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	p.busy = append(p.busy, elapsed.Seconds()/float64(n))
	p.allocs = append(p.allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
	p.bytes = append(p.bytes, float64(after.TotalAlloc-before.TotalAlloc)/float64(n))
	p.n = append(p.n, n)

	var paced []float64
	for range pacedPairs {
		time.Sleep(rest)
		start := time.Now()
		if err := p.try(ctx, e, key); err != nil {
			return err
		}
		paced = append(paced, time.Since(start).Seconds())
	}
	p.paced = append(p.paced, quantile(paced, 0.5))
	return nil
}

// try runs one pair. A few may fail: on a machine with much else to do, five nodes may take longer than step 08 waits.
func (p *pairs) try(ctx context.Context, e entrant, key string) error {
	for {
		err := e.locker.pair(ctx, key)
		if err == nil {
			return nil
		}
		p.errs = append(p.errs, err)
		if len(p.errs) > 100 {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
}

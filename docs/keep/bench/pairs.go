package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"time"
)

// pairs are the measurements of uncontended lock+unlock of one entrant, one of each per round.
type pairs struct {
	Busy   times    // per pair, one right after the other
	Paced  times    // per pair, with a rest before each
	Allocs series   `json:",omitempty"` // per pair
	Bytes  series   `json:",omitempty"` // allocated per pair
	N      []int    `json:",omitempty"` // pairs measured for Busy
	Failed failures `json:",omitzero"`  // their rounds were run again
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

// openAndMeasurePairs measures all contestants on the servers at addrs, or on the first of them.
func openAndMeasurePairs(ctx context.Context, addrs []string, rounds int, slice time.Duration) (map[string]*pairs, error) {
	var entrants []entrant
	for _, c := range alone() {
		l, err := c.open(network{addrs: addrs[:c.nodes]})
		if err != nil {
			return nil, err
		}
		defer l.close()
		entrants = append(entrants, entrant{name: c.name, locker: l})
	}
	return measurePairs(ctx, entrants, rounds, slice)
}

// measurePairs lets all entrants run in turns.
func measurePairs(ctx context.Context, entrants []entrant, rounds int, slice time.Duration) (map[string]*pairs, error) {
	for i := range entrants {
		entrants[i].key = fmt.Sprintf("pair:%02d", i)
		if err := new(pairs).round(entrants[i], slice); err != nil { // connections, scripts, caches
			return nil, err
		}
	}
	results := map[string]*pairs{}
	return results, inTurns(ctx, rounds, entrants, func(e entrant) error { return of(results, e.name).round(e, slice) })
}

// round measures e once. It may fail: on a machine with much else to do, an answer may
// come too late for a lock that waits for it only so long.
func (p *pairs) round(e entrant, slice time.Duration) error {
	var err error
	for range 5 {
		if err = p.measure(e, slice); err == nil {
			return nil
		}
		p.Failed.add(err)
	}
	return err
}

func (p *pairs) measure(e entrant, slice time.Duration) error {
	// What the one before has left behind must not count here: answers of slow nodes, garbage.
	time.Sleep(5 * time.Millisecond)
	runtime.GC()
	ctx, cancel := bounded(2*time.Second + slice)
	defer cancel()
	// Another key after a failure: who knows what it left.
	key := fmt.Sprintf("%s:%d", e.key, p.Failed.Count)

	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start, n := time.Now(), 0
	for time.Since(start) < slice || n == 0 {
		if err := e.locker.pair(ctx, key); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		n++
	}
	elapsed := time.Since(start)
	runtime.ReadMemStats(&after)
	var paced []float64
	for range pacedPairs {
		time.Sleep(rest)
		start := time.Now()
		if err := e.locker.pair(ctx, key); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
		paced = append(paced, time.Since(start).Seconds())
	}
	p.Busy = append(p.Busy, elapsed.Seconds()/float64(n))
	p.Allocs = append(p.Allocs, float64(after.Mallocs-before.Mallocs)/float64(n))
	p.Bytes = append(p.Bytes, float64(after.TotalAlloc-before.TotalAlloc)/float64(n))
	p.N = append(p.N, n)
	p.Paced = append(p.Paced, quantile(paced, 0.5))
	return nil
}

// bounded returns a context that ends after d, without a deadline: bsm/redislock makes
// one if there is none, as with the context.Background of its README. The bound is for
// rueidislock: if Redis takes longer than 20 ms to answer its first question, it waits
// for a message of somebody else's unlock, and there may be nobody else.
func bounded(d time.Duration) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(context.Background())
	timer := time.AfterFunc(d, cancel)
	return ctx, func() { timer.Stop(); cancel() }
}

// measureApart measures pairs again, with the client on the first half of the processors
// and the servers on the second, as on two machines. Left alone, the kernel may put a
// client that has one goroutine and its server on one processor, where they take turns
// without waking another one: that is several times as fast, and says nothing about a
// lock. It returns nothing where it cannot be done: one processor, or no taskset.
func measureApart(ctx context.Context, servers []*server, rounds int, slice time.Duration) (map[string]*pairs, error) {
	n := runtime.NumCPU()
	if _, err := exec.LookPath("taskset"); err != nil || n < 2 {
		return nil, nil
	}
	if err := pin(servers, n/2, n-1); err != nil {
		return nil, nil // a container that may not use these processors
	}
	defer pin(servers, 0, n-1)
	order := childOrder{Addrs: networkOf(servers).addrs, Rounds: rounds, Slice: slice}
	cmd, err := childCommand(ctx, order, "taskset", "-c", fmt.Sprintf("0-%d", n/2-1))
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var results map[string]*pairs
	err = json.Unmarshal(out, &results)
	for _, p := range results {
		p.Allocs, p.Bytes, p.N = nil, nil, nil // those of the other run are enough
	}
	return results, err
}

func pin(servers []*server, first, last int) error {
	for _, s := range servers {
		if err := exec.Command("taskset", "-apc", fmt.Sprintf("%d-%d", first, last), strconv.Itoa(s.Pid())).Run(); err != nil {
			return err
		}
	}
	return nil
}

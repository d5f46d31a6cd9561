package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"
)

// results is all that was measured.
type results struct {
	plan         plan
	redisVersion string
	took         time.Duration
	pairs        map[string]*pairs
	apart        map[string]*pairs // nil where it could not be measured
	hung         map[string]*pairs
	attempts     []attempt
	costs        map[string]cost
	waits        map[string]*waiting
	lines        map[line]*many
	fights       map[fight]contention
	dogs         map[string]*watchdogs
}

// A fight is one case of contention.
type fight struct {
	name    string
	clients int
	oneKey  bool
}

var contenders = []int{1, 4, 16, 64}

func newResults(p plan) *results {
	return &results{plan: p, costs: map[string]cost{}, waits: map[string]*waiting{}, lines: map[line]*many{}, fights: map[fight]contention{}}
}

// alone are the contestants of what one client does alone: it makes no difference then whether a client is shared.
func alone() []contestant {
	var list []contestant
	for _, c := range contestants {
		if !c.proc {
			list = append(list, c)
		}
	}
	return list
}

// waitingOnes are those that can wait.
func waitingOnes() []contestant {
	var list []contestant
	for _, c := range contestants {
		if c.waits {
			list = append(list, c)
		}
	}
	return list
}

// openAndMeasurePairs measures all contestants on the servers at addrs, or on the first of them.
func openAndMeasurePairs(addrs []string, rounds int, slice time.Duration) (map[string]*pairs, error) {
	var entrants []entrant
	for _, c := range alone() {
		l, err := c.open(network{addrs: addrs[:c.nodes]})
		if err != nil {
			return nil, err
		}
		defer l.close()
		entrants = append(entrants, entrant{name: c.name, locker: l})
	}
	return measurePairs(entrants, rounds, slice)
}

func (r *results) measureCosts(servers []*server) error {
	for _, c := range alone() {
		var err error
		for range 3 { // on a machine with much else to do, an answer may come too late; then the count is wrong
			if r.costs[c.name], err = measureCost(c, servers, r.plan.costs); err == nil {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", c.name, err)
		}
	}
	return nil
}

func (r *results) measureWaiting(ctx context.Context, servers []*server) error {
	list := waitingOnes()
	for range r.plan.waits {
		for _, i := range rand.Perm(len(list)) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			c := list[i]
			if r.waits[c.name] == nil {
				r.waits[c.name] = &waiting{}
			}
			if err := r.waits[c.name].measure(c, servers, r.plan.quiet, r.plan.moving); err != nil {
				return fmt.Errorf("%s: %w", c.name, err)
			}
		}
	}
	return nil
}

// measureMany measures the most waiters in one round: it is long, and each of them is a sample.
func (r *results) measureMany(ctx context.Context, servers []*server) error {
	list := manyOnes()
	for _, n := range manyWaiters {
		rounds := r.plan.many
		if n == slices.Max(manyWaiters) {
			rounds = r.plan.most
		}
		for range rounds {
			for _, i := range rand.Perm(len(list)) {
				if ctx.Err() != nil {
					return ctx.Err()
				}
				at := line{list[i].name, n}
				if r.lines[at] == nil {
					r.lines[at] = &many{}
				}
				if err := r.lines[at].measure(list[i], servers, n); err != nil {
					return fmt.Errorf("%s, %d waiters: %w", at.name, n, err)
				}
			}
		}
	}
	return nil
}

func (r *results) measureContention(ctx context.Context, servers []*server) error {
	type sample struct{ rates, fairs []float64 }
	samples := map[fight]*sample{}
	for range r.plan.fights {
		for _, i := range rand.Perm(len(contestants)) {
			c := contestants[i]
			for _, n := range contenders {
				for _, oneKey := range []bool{true, false} {
					if ctx.Err() != nil {
						return ctx.Err()
					}
					if oneKey && !c.waits {
						continue
					}
					got, err := measureContention(c, servers, n, oneKey, r.plan.fight)
					if err != nil {
						return fmt.Errorf("%s: %w", c.name, err)
					}
					f := fight{c.name, n, oneKey}
					if samples[f] == nil {
						samples[f] = &sample{}
					}
					s := samples[f]
					s.rates = append(s.rates, got.rate)
					s.fairs = append(s.fairs, got.fairness)
					sum := r.fights[f]
					sum.doubles += got.doubles
					sum.starved = max(sum.starved, got.starved)
					r.fights[f] = sum
				}
			}
		}
	}
	for f, s := range samples {
		sum := r.fights[f]
		sum.rate, sum.fairness = median(s.rates).mid, median(s.fairs).mid
		r.fights[f] = sum
	}
	return nil
}

// benchfmt writes the pairs in the format of go test -bench, for benchstat.
func (r *results) benchfmt(w io.Writer) error {
	for _, c := range alone() {
		p := r.pairs[c.name]
		for i := range p.Busy {
			if _, err := fmt.Fprintf(w, "BenchmarkPair/lock=%s %d %.0f ns/op %.0f B/op %.1f allocs/op\n",
				benchName(c.name), p.N[i], p.Busy[i]*1e9, p.Bytes[i], p.Allocs[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
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
	fights       map[fight]*contention
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
	return &results{plan: p, costs: map[string]cost{}, waits: map[string]*waiting{}, lines: map[line]*many{}, fights: map[fight]*contention{}}
}

// inTurns measures all that list has, in a new random order each round.
func inTurns[T any](ctx context.Context, rounds int, list []T, measure func(T) error) error {
	for range rounds {
		for _, i := range rand.Perm(len(list)) {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			if err := measure(list[i]); err != nil {
				return err
			}
		}
	}
	return nil
}

// of returns the entry of a map, a new one if there is none.
func of[K comparable, V any](m map[K]*V, key K) *V {
	if m[key] == nil {
		m[key] = new(V)
	}
	return m[key]
}

func named(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r *results) measureCosts(ctx context.Context, servers []*server) error {
	return inTurns(ctx, 1, alone(), func(c contestant) (err error) {
		for range 3 { // on a machine with much else to do, an answer may come too late; then the count is wrong
			if r.costs[c.name], err = measureCost(c, servers, r.plan.costs); err == nil {
				break
			}
		}
		return named(c.name, err)
	})
}

func (r *results) measureWaiting(ctx context.Context, servers []*server) error {
	return inTurns(ctx, r.plan.waits, waitingOnes(), func(c contestant) error {
		return named(c.name, of(r.waits, c.name).measure(c, servers, r.plan.quiet, r.plan.moving))
	})
}

// measureMany measures the most waiters in one round: it is long, and each of them is a sample.
func (r *results) measureMany(ctx context.Context, servers []*server) error {
	for _, n := range manyWaiters {
		rounds := r.plan.many
		if n == slices.Max(manyWaiters) {
			rounds = r.plan.most
		}
		err := inTurns(ctx, rounds, manyOnes(), func(c contestant) error {
			return named(fmt.Sprintf("%s, %d waiters", c.name, n), of(r.lines, line{c.name, n}).measure(c, servers, n))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (r *results) measureContention(ctx context.Context, servers []*server) error {
	return inTurns(ctx, r.plan.fights, contestants, func(c contestant) error {
		for _, n := range contenders {
			for _, oneKey := range []bool{true, false} {
				if oneKey && !c.waits || ctx.Err() != nil {
					continue
				}
				if err := of(r.fights, fight{c.name, n, oneKey}).measure(c, servers, n, oneKey, r.plan.fight); err != nil {
					return named(c.name, err)
				}
			}
		}
		return ctx.Err()
	})
}

// benchfmt writes the pairs in the format of go test -bench, for benchstat.
func (r *results) benchfmt(w io.Writer) error {
	var b strings.Builder
	for _, c := range alone() {
		p := r.pairs[c.name]
		for i := range p.Busy {
			fmt.Fprintf(&b, "BenchmarkPair/lock=%s %d %.0f ns/op %.0f B/op %.1f allocs/op\n",
				benchName(c.name), p.N[i], p.Busy[i]*1e9, p.Bytes[i], p.Allocs[i])
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func benchName(name string) string {
	return strings.NewReplacer(" ", "_", "/", "_", ",", "").Replace(name)
}

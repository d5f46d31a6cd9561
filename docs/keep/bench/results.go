package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strings"
)

// results is all that was measured. Their file has all that the page and the plot say.
type results struct {
	Plan      plan
	Machine   string // its class, what ran on it, when and for how long
	Pairs     map[string]*pairs
	Apart     map[string]*pairs // nil where it could not be measured
	Hung      map[string]*pairs
	Attempts  []attempt
	Costs     map[string]cost
	Waits     map[string]*waiting
	Many      map[string]map[int]*many // by waiters
	Watchdogs map[string]*watchdogs
}

func newResults(p plan) *results {
	return &results{
		Plan:  p,
		Costs: map[string]cost{},
		Waits: map[string]*waiting{},
		Many:  map[string]map[int]*many{},
	}
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

// at returns the entry for n waiters of the contestant with this name, a new one if there is none.
func at[V any](m map[string]map[int]*V, name string, n int) *V {
	if m[name] == nil {
		m[name] = map[int]*V{}
	}
	return of(m[name], n)
}

func named(name string, err error) error {
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func (r *results) measureCosts(ctx context.Context, servers []*server) error {
	return inTurns(ctx, 1, alone(), func(c contestant) (err error) {
		// On a machine with much else to do, an answer may come too late; then the count is wrong.
		for range 3 {
			if r.Costs[c.name], err = measureCost(c, servers, r.Plan.Costs); err == nil {
				break
			}
		}
		return named(c.name, err)
	})
}

func (r *results) measureWaiting(ctx context.Context, servers []*server) error {
	return inTurns(ctx, r.Plan.Waits, waitingOnes(), func(c contestant) error {
		return named(c.name, of(r.Waits, c.name).measure(c, servers, r.Plan.Quiet, r.Plan.Moving))
	})
}

// measureMany measures the most waiters in one round: it is long, and each of them is a sample.
func (r *results) measureMany(ctx context.Context, servers []*server) error {
	for _, n := range manyWaiters {
		rounds := r.Plan.Many
		if n == slices.Max(manyWaiters) {
			rounds = r.Plan.Most
		}
		err := inTurns(ctx, rounds, manyOnes(), func(c contestant) error {
			return named(fmt.Sprintf("%s, %d waiters", c.name, n), at(r.Many, c.name, n).measure(c, servers, n))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// benchfmt writes the pairs in the format of go test -bench, for benchstat.
func (r *results) benchfmt(w io.Writer) error {
	var b strings.Builder
	for _, c := range alone() {
		p := r.Pairs[c.name]
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

package main

import (
	"context"
	"encoding/json"
	"log"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// results are the figures of a run: results.json has all that the page says.
type results struct {
	Plan    plan
	Machine string // its class, what ran on it, and when
	Locks   map[string]*figures
	Hung    hung
	Many    map[string]map[int]many  // by waiters
	Holds   map[string]map[int]holds // by how many
	Nodes   map[int]nodesCost
	Cluster map[string]onCluster
	Far     far
	// Failed counts, by who and where, the calls that failed and were made again, while
	// nothing was wrong with the servers.
	Failed map[string]int `json:",omitempty"`
	mu     sync.Mutex     // for Failed
}

// figures are those of one contestant.
type figures struct {
	Pair   time.Duration // a lock+unlock without competition
	OfBare string        // in times of the bare commands, with its interval
	Trips  float64       // round trips of the pair to each node

	Commands float64       `json:",omitzero"` // per second and waiter, while the holder stays
	Handoff  time.Duration `json:",omitzero"` // from an unlock to the return of the next lock

	Taken   time.Duration `json:",omitzero"` // a TryLock that is refused
	TakenOf string        `json:",omitzero"` // in times of a SETNX, with its interval
	Cost    cost
}

func newResults(p plan) *results {
	return &results{Plan: p, Locks: map[string]*figures{}, Many: map[string]map[int]many{}, Holds: map[string]map[int]holds{},
		Nodes: map[int]nodesCost{}, Cluster: map[string]onCluster{}, Failed: map[string]int{}}
}

func (r *results) failed(where string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	log.Printf("%s: %v", where, err)
	r.Failed[where]++
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

func (r *results) file() []byte {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		panic(err) // only a figure that is none has no JSON
	}
	return append(text, '\n')
}

func load() (*results, error) {
	file, err := os.ReadFile(resultsFile)
	if err != nil {
		return nil, err
	}
	r := newResults(plan{})
	return r, json.Unmarshal(file, r)
}

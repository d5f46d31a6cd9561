package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"sync"
)

// results is all that was measured. Their file has all that the page and the plot say.
type results struct {
	Plan     plan
	Machine  string // its class, what ran on it, and when
	Pairs    map[string]*pairs
	Hung     map[string]*pairs
	Attempts []attempt
	Costs    map[string]cost
	Waits    map[string]*waiting
	Many     map[string]map[int]*many // by waiters
	Failed   map[string]failures      `json:",omitempty"` // by who and where
	mu       sync.Mutex               // for Failed
}

// failures are calls that failed and were made again, while nothing was wrong with the servers.
type failures struct {
	Count int
	First string
}

func newResults(p plan) *results {
	return &results{
		Plan:   p,
		Costs:  map[string]cost{},
		Waits:  map[string]*waiting{},
		Many:   map[string]map[int]*many{},
		Failed: map[string]failures{},
	}
}

func (r *results) failed(where string, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	f := r.Failed[where]
	if f.Count == 0 {
		f.First = err.Error()
	}
	f.Count++
	r.Failed[where] = f
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

// A series is measurements of the same thing. A file has them whole or with five digits: nothing
// that is written from them has more.
type series []float64

// times are a series of seconds. A file has them in µs.
type times []float64

func (s series) MarshalJSON() ([]byte, error) { return marshal(s, 1) }
func (t times) MarshalJSON() ([]byte, error)  { return marshal(t, 1e6) }

func marshal(values []float64, scale float64) ([]byte, error) {
	var list []string
	for _, v := range values {
		v *= scale
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return nil, fmt.Errorf("%v was measured", v)
		}
		if v < 1e4 {
			list = append(list, strconv.FormatFloat(v, 'g', 5, 64))
		} else {
			list = append(list, strconv.FormatFloat(v, 'f', 0, 64))
		}
	}
	return []byte("[" + strings.Join(list, ",") + "]"), nil
}

func (t *times) UnmarshalJSON(text []byte) error {
	var micros []float64
	err := json.Unmarshal(text, &micros)
	for _, v := range micros {
		*t = append(*t, v/1e6)
	}
	return err
}

var list = regexp.MustCompile(`\[[^\[\]{}"]*\]`)

// file is what results.json has: a line for each series.
func (r *results) file() ([]byte, error) {
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return nil, err
	}
	text = list.ReplaceAllFunc(text, func(l []byte) []byte {
		return bytes.Join(bytes.Fields(l), nil)
	})
	return append(text, '\n'), nil
}

func parseResults(file []byte) (*results, error) {
	r := newResults(plan{})
	if err := json.Unmarshal(file, r); err != nil {
		return nil, err
	}
	for _, c := range alone() {
		if r.Pairs[c.name] == nil {
			return nil, fmt.Errorf("results.json has nothing about %s", c.name)
		}
	}
	return r, nil
}

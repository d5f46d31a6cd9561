package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

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
		digits := 0 // after the point
		if v != 0 {
			digits = max(0, 4-int(math.Floor(math.Log10(math.Abs(v)))))
		}
		text := strconv.FormatFloat(v, 'f', digits, 64)
		if digits > 0 {
			text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
		}
		list = append(list, text)
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

// failures are calls that failed and were made again.
type failures struct {
	Count int
	First string
}

func (f *failures) add(err error) {
	if f.Count == 0 {
		f.First = err.Error()
	}
	f.Count++
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
	r := new(results)
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

package main

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// contention is what n clients got done that all lock and unlock as fast as they can. Rates and fairness are one of each round.
type contention struct {
	rates   []float64 // pairs per second of all together
	fairs   []float64 // 1: all got the same; 1/n: one got all
	doubles int       // how often two were inside at once
}

func (f *contention) rate() float64     { return median(f.rates).mid }
func (f *contention) fairness() float64 { return median(f.fairs).mid }

// measure lets n clients work for the given time, on one key or on a key for each.
func (f *contention) measure(c contestant, servers []*server, n int, oneKey bool, length time.Duration) error {
	servers = servers[:c.nodes]
	if err := flush(servers); err != nil {
		return err
	}
	lockers, done, err := openAll(c, servers, n)
	if err != nil {
		return err
	}
	defer done()
	key := func(client int) string {
		if oneKey {
			return "contention"
		}
		return fmt.Sprintf("contention:%d", client)
	}

	// Everybody has connections before the start.
	var wg sync.WaitGroup
	for i, l := range lockers {
		wg.Go(func() {
			ctx, cancel := bounded(time.Second)
			defer cancel()
			l.pair(ctx, fmt.Sprintf("warm:%d", i))
		})
	}
	wg.Wait()

	ctx, cancel := context.WithTimeout(context.Background(), length)
	defer cancel()
	counts := make([]int, n)
	var inside, doubles atomic.Int64
	start := time.Now()
	for i, l := range lockers {
		wg.Go(func() {
			for ctx.Err() == nil {
				if !c.waits { // the raw pair: only without competition
					if l.pair(ctx, key(i)) == nil {
						counts[i]++
					}
					continue
				}
				hold, err := l.lock(ctx, key(i))
				if err != nil {
					continue
				}
				if inside.Add(1) > 1 && oneKey {
					doubles.Add(1)
				}
				counts[i]++
				inside.Add(-1)
				hold.unlock()
			}
		})
	}
	<-ctx.Done()
	elapsed := time.Since(start)
	wg.Wait()
	sum := 0
	for _, n := range counts {
		sum += n
	}
	f.rates = append(f.rates, float64(sum)/elapsed.Seconds())
	f.fairs = append(f.fairs, fairness(counts))
	f.doubles += int(doubles.Load())
	return nil
}

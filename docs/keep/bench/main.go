// Command bench measures the eight locks next to raw go-redis, bsm/redislock, redsync and
// rueidislock, on redis-server processes that it starts itself.
//
//	go run .          # measure, and print the page
//	go run . -write   # write results.json, and from it docs/read/benchmarks.md
//	go run . -render  # write the page again, from results.json
//	go run . -quick   # see whether everything works, in a minute; the figures mean nothing
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"time"

	"github.com/redis/go-redis/v9/logging"
)

// A plan says how long to measure.
type plan struct {
	Rounds int           // of uncontended pairs
	Waits  int           // rounds of ten waiters
	Quiet  time.Duration // of a holder that stays
	Moving time.Duration // of holders that leave
	Many   int           // rounds of many waiters
	Most   int           // rounds of the most of them
	Loads  int           // rounds of many pairs at once
	Load   time.Duration // of these
	Holds  []int         // how many locks one process holds
	Held   time.Duration // for so long
}

var (
	full  = plan{30, 4, time.Second, 3 * time.Second, 3, 1, 10, 300 * time.Millisecond, []int{1000, 10000}, 12 * time.Second}
	quick = plan{5, 1, 100 * time.Millisecond, 150 * time.Millisecond, 1, 0, 1, 20 * time.Millisecond, []int{100}, 100 * time.Millisecond}
)

const (
	resultsFile = "results.json"
	pageFile    = "../../read/benchmarks.md"
)

func main() {
	log.SetFlags(0)
	logging.Disable() // go-redis reports connections that were cut; here that is on purpose
	write := flag.Bool("write", false, "write results.json and docs/read/benchmarks.md instead of printing the page (a quarter of an hour)")
	render := flag.Bool("render", false, "write docs/read/benchmarks.md from results.json instead of measuring")
	short := flag.Bool("quick", false, "measure hardly anything: a test of this program")
	flag.Parse()
	p := full
	if *short {
		p = quick
	}
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, p, *write, *render); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context, p plan, write, render bool) error {
	if _, err := os.Stat("contestants.go"); err != nil && (write || render) {
		return errors.New("-write and -render need docs/keep/bench as the working directory")
	}
	r, err := load()
	if !render {
		r, err = measure(ctx, p)
	}
	if err != nil {
		return err
	}
	if write {
		if err := os.WriteFile(resultsFile, r.file(), 0o644); err != nil {
			return err
		}
	}
	if !write && !render {
		return report.Execute(os.Stdout, r)
	}
	pages, err := r.pages()
	for file, text := range pages {
		if err == nil {
			err = os.WriteFile(file, []byte(text), 0o644)
		}
	}
	return err
}

func measure(ctx context.Context, p plan) (*results, error) {
	servers, err := startServers(9)
	defer func() {
		for _, s := range servers {
			s.admin.Close()
			s.Kill()
		}
	}()
	if err != nil {
		return nil, err
	}
	r := newResults(p)
	// As in every service, a timer runs. Otherwise the first one that a lock sets wakes the
	// goroutine that waits for the network, 8 µs that no user pays.
	go func() {
		for range time.Tick(100 * time.Millisecond) {
		}
	}()
	for _, stage := range []struct {
		name string
		run  func(context.Context, []*server) error
	}{
		{"uncontended lock+unlock", r.measureAlone},
		{"a lock that is taken", r.measureTaken},
		{"many pairs at once", r.measureCost},
		{"step 08 and redsync on 3, 5, 7 and 9 nodes", r.measureNodes},
		{"many holds", r.measureHolds},
		{"a cluster", r.measureCluster},
		{"servers far away", r.measureFar},
		{"two of five nodes hung", r.measureHung},
		{"waiting", r.measureWaiting},
		{"many waiters", r.measureMany},
	} {
		start := time.Now()
		fmt.Fprintf(os.Stderr, "%s ... ", stage.name)
		if err := stage.run(ctx, servers); err != nil {
			return nil, fmt.Errorf("%s: %w", stage.name, err)
		}
		fmt.Fprintln(os.Stderr, time.Since(start).Round(time.Second/10))
	}
	r.Machine = p.machine(servers[0].admin.InfoMap(ctx, "Server").Item("Server", "redis_version"))
	return r, nil
}

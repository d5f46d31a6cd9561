package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
)

// watchdogs is what it costs to hold many locks for long, in a process that does nothing else.
type watchdogs struct {
	Locks          int
	Goroutines     int     // more than before, while nothing is renewed
	PeakGoroutines int     // more than before, at most
	Heap, Stack    float64 // bytes per lock that live after a garbage collection
	PeakRSS        float64 // bytes of the whole process, 0 where it is not known
	CPU            float64 // seconds of this process while holding, 0 where it is not known
	Lost           int     // locks of which the contestant said that they were lost
	Unlocked       int     // locks still held at the end, and then released without an error
	Commands       float64 // per second, of all servers: the parent knows
}

// watched are the contestants that renew.
var watched = []string{"step 07", bsmWatchdog, rueidisName, "step 08 on 5"}

// measureWatchdogs runs a child process for each contestant, with servers of its own:
// those with one server at the same time, because nothing here is a time and the machine
// has little to do, and step 08 after them.
func measureWatchdogs(ctx context.Context, locks int, hold time.Duration) (map[string]*watchdogs, error) {
	results := map[string]*watchdogs{}
	var mu sync.Mutex
	for _, nodes := range []int{1, 5} {
		var g errgroup.Group
		for _, name := range watched {
			c := contestantNamed(name)
			if c.nodes != nodes {
				continue
			}
			g.Go(func() error {
				servers, err := startServers(c.nodes)
				if err != nil {
					return err
				}
				defer stopServers(servers)
				w, err := runChild(ctx, name, servers, locks, hold)
				if err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
				mu.Lock()
				defer mu.Unlock()
				results[name] = w
				return nil
			})
		}
		if err := g.Wait(); err != nil {
			return nil, err
		}
	}
	return results, nil
}

func runChild(ctx context.Context, name string, servers []*server, locks int, hold time.Duration) (*watchdogs, error) {
	cmd, err := childCommand(ctx, childOrder{Name: name, Addrs: networkOf(servers).addrs, Locks: locks, Hold: hold})
	if err != nil {
		return nil, err
	}
	// The child says "held" when it has all locks and "done" when the time is over, and
	// waits for a line each time.
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	defer cmd.Wait()
	defer in.Close()
	answers := json.NewDecoder(out)
	var w watchdogs
	if err := answers.Decode(&w); err != nil {
		return nil, err
	}
	commands, took, err := commandsDuring(servers, func() error {
		fmt.Fprintln(in, "hold")
		return answers.Decode(&w)
	})
	if err != nil {
		return nil, err
	}
	fmt.Fprintln(in, "unlock")
	err = answers.Decode(&w)
	w.Commands = commands / took.Seconds()
	return &w, err
}

// watchdogChild is the process that holds the locks. When its parent has died, its
// standard input ends, and so does it.
func watchdogChild(order childOrder) error {
	answer := json.NewEncoder(os.Stdout)
	var line string
	c := contestantNamed(order.Name)
	l, err := c.open(network{addrs: order.Addrs})
	if err != nil {
		return err
	}
	defer l.close()
	// Makes connections; if one fails here, it is made later.
	inParallel(acquirers, func(i int) error {
		ctx, cancel := bounded(5 * time.Second)
		defer cancel()
		return l.pair(ctx, fmt.Sprintf("warm:%d", i))
	})
	time.Sleep(200 * time.Millisecond) // until all that has ended
	w := watchdogs{Locks: order.Locks}
	goroutines := runtime.NumGoroutine()
	before := liveMemory()

	holds := make([]hold, order.Locks)
	if err := inParallel(order.Locks, func(i int) (err error) {
		// So many at once may take longer than step 08 and rueidislock wait for an answer.
		for range 10 {
			ctx, cancel := bounded(5 * time.Second)
			holds[i], err = l.lock(ctx, fmt.Sprintf("watchdogs:%d", i))
			cancel()
			if err == nil {
				break
			}
		}
		return err
	}); err != nil {
		return err
	}
	time.Sleep(200 * time.Millisecond)
	answer.Encode(w)
	fmt.Scanln(&line)

	cpu := cpuSeconds()
	sample := func(length time.Duration) {
		for end := time.Now().Add(length); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			w.PeakGoroutines = max(w.PeakGoroutines, runtime.NumGoroutine()-goroutines)
		}
	}
	// With all locks renewed, and between two bursts: a first renewal may start what stays.
	sample(order.Hold * 7 / 10)
	w.CPU = cpuSeconds() - cpu
	w.Goroutines = runtime.NumGoroutine() - goroutines
	after := liveMemory()
	w.Heap = (float64(after.HeapAlloc) - float64(before.HeapAlloc)) / float64(order.Locks)
	w.Stack = (float64(after.StackInuse) - float64(before.StackInuse)) / float64(order.Locks)
	cpu = cpuSeconds()
	sample(order.Hold * 3 / 10)
	w.CPU += cpuSeconds() - cpu
	answer.Encode(w)
	fmt.Scanln(&line)

	for _, h := range holds {
		if h.lost() {
			w.Lost++
		}
	}
	var held atomic.Int64
	inParallel(order.Locks, func(i int) error {
		if holds[i].unlock() == nil {
			held.Add(1)
		}
		return nil
	})
	w.Unlocked = int(held.Load())
	w.PeakRSS = peakRSS()
	return answer.Encode(w)
}

const acquirers = 20 // clients of a pool of go-redis's default size, with 2 CPUs

func inParallel(n int, f func(int) error) error {
	var g errgroup.Group
	g.SetLimit(acquirers)
	for i := range n {
		g.Go(func() error { return f(i) })
	}
	return g.Wait()
}

func liveMemory() runtime.MemStats {
	debug.FreeOSMemory() // collects
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m
}

// peakRSS reads what Linux says about this process.
func peakRSS() float64 {
	status, _ := os.ReadFile("/proc/self/status")
	for line := range strings.Lines(string(status)) {
		var kb float64
		if _, err := fmt.Sscanf(line, "VmHWM: %f kB", &kb); err == nil {
			return kb * 1024
		}
	}
	return 0
}

const childVar = "BENCH_CHILD" // has the order for this program as a child of itself

// A childOrder asks a process of its own to hold Locks of the contestant Name, or, if
// there is no name, to measure pairs.
type childOrder struct {
	Addrs []string

	Name  string
	Locks int
	Hold  time.Duration

	Rounds int
	Slice  time.Duration
}

// childCommand runs this program again, behind the words of prefix.
func childCommand(ctx context.Context, order childOrder, prefix ...string) (*exec.Cmd, error) {
	text, err := json.Marshal(order)
	if err != nil {
		return nil, err
	}
	exe, err := os.Executable()
	if err != nil {
		return nil, err
	}
	words := append(prefix, exe)
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), childVar+"="+string(text))
	cmd.Stderr = os.Stderr
	return cmd, nil
}

func child(text string) error {
	var order childOrder
	if err := json.Unmarshal([]byte(text), &order); err != nil {
		return err
	}
	if order.Name != "" {
		return watchdogChild(order)
	}
	results, err := openAndMeasurePairs(context.Background(), order.Addrs, order.Rounds, order.Slice)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(results)
}

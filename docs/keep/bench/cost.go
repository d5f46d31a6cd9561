package main

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// busy is how many goroutines of one client lock and unlock, each its own key, while costs
// are counted.
const busy = 16

// cost is that of one lock+unlock under load.
type cost struct {
	Client, Server time.Duration // processor time; Server of all nodes together
	ClientOf       string        // in times of the bare commands, with its interval
	Allocs         int
	Sent, Received int // bytes on the wire, to and from all nodes
}

// measureCost counts what many pairs at once cost. Processor time says more than time by
// the clock: a machine whose processors are all busy still counts it rightly.
func (r *results) measureCost(ctx context.Context, servers []*server) error {
	entrants, closeAll, err := r.enterAll(contestants, servers)
	if err != nil {
		return err
	}
	defer closeAll()
	nodes := map[string]int{}
	for _, c := range contestants {
		nodes[c.name] = c.nodes
	}
	type sample struct{ client, server, allocs, sent, received []float64 }
	all := map[string]*sample{}
	err = inTurns(ctx, r.Plan.Loads, entrants, func(e *entrant) error {
		s := all[e.name]
		if s == nil {
			s = new(sample)
			all[e.name] = s
		}
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		sent, received := e.meter.sent.Load(), e.meter.received.Load()
		client, server := processorTime(), processorTimeOf(servers[:nodes[e.name]])
		pairs := float64(r.load(e))
		client, server = processorTime()-client, processorTimeOf(servers[:nodes[e.name]])-server
		runtime.ReadMemStats(&after)
		s.client = append(s.client, client.Seconds()/pairs)
		s.server = append(s.server, server.Seconds()/pairs)
		s.allocs = append(s.allocs, float64(after.Mallocs-before.Mallocs)/pairs)
		s.sent = append(s.sent, float64(e.meter.sent.Load()-sent)/pairs)
		s.received = append(s.received, float64(e.meter.received.Load()-received)/pairs)
		return nil
	})
	var bare *sample
	for _, c := range contestants {
		s := all[c.name]
		if s == nil {
			return err
		}
		if !c.waits {
			bare = s
		}
		r.Locks[c.name].Cost = cost{
			Client: seconds(median(s.client)), Server: seconds(median(s.server)), ClientOf: ratio(s.client, bare.client),
			Allocs: int(median(s.allocs) + 0.5), Sent: int(median(s.sent) + 0.5), Received: int(median(s.received) + 0.5),
		}
	}
	return err
}

// load locks and unlocks for a while, and returns how often. Calls that wait for a message
// that never comes are cut off: on a busy machine, rueidislock has waited so for good.
func (r *results) load(e *entrant) int64 {
	var pairs atomic.Int64
	var wg sync.WaitGroup
	end := time.Now().Add(r.Plan.Load)
	ctx, cancel := context.WithDeadline(context.Background(), end.Add(10*time.Second))
	defer cancel()
	for i := range busy {
		wg.Go(func() {
			key := fmt.Sprintf("%s:%02d", e.key, i) // its own: WithFailFast may leave one
			for time.Now().Before(end) {
				if err := e.locker.pair(ctx, key); err != nil {
					r.failed(e.name+", under load", err)
				}
				pairs.Add(1)
			}
		})
	}
	wg.Wait()
	return pairs.Load()
}

// processorTime is what this process has used.
func processorTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// processorTimeOf is what servers have used.
func processorTimeOf(servers []*server) (sum time.Duration) {
	for _, s := range servers {
		info := s.admin.InfoMap(context.Background(), "cpu")
		for _, key := range []string{"used_cpu_user", "used_cpu_sys"} {
			used, _ := strconv.ParseFloat(info.Item("CPU", key), 64)
			sum += seconds(used)
		}
	}
	return sum
}

// A nodesCost compares step 08 with redsync on the same servers, in times of redsync.
type nodesCost struct{ Pair, Client string }

// measureNodes compares step 08 with redsync on other numbers of nodes.
func (r *results) measureNodes(ctx context.Context, servers []*server) error {
	for _, n := range []int{3, 5, 7, 9} {
		entrants, closeAll, err := r.enterAll([]contestant{
			{name: fmt.Sprintf("step 08 on %d", n), nodes: n, open: openStep(8)},
			{name: fmt.Sprintf("redsync on %d", n), nodes: n, open: openRedsync()},
		}, servers)
		if err != nil {
			return err
		}
		client := map[*entrant][]float64{}
		err = inTurns(ctx, r.Plan.Rounds, entrants, func(e *entrant) error {
			err := r.round(e)
			before := processorTime()
			pairs := r.load(e)
			client[e] = append(client[e], (processorTime()-before).Seconds()/float64(pairs))
			return err
		})
		ours, theirs := entrants[0], entrants[1]
		closeAll()
		if err != nil {
			return err
		}
		r.Nodes[n] = nodesCost{ratio(ours.times, theirs.times), ratio(client[ours], client[theirs])}
	}
	return nil
}

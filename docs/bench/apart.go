package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os/exec"
	"runtime"
	"strconv"
	"time"
)

// measureApart measures pairs again, with the client on the first half of the processors and the servers on the second, as on
// two machines. Left alone, the kernel may put a client that has one goroutine and its server on one processor, where they
// take turns without waking another one: that is several times as fast, and says nothing about a lock. It returns nothing
// where it cannot be done: one processor, or no taskset.
func measureApart(ctx context.Context, servers []*server, rounds int, slice time.Duration) (map[string]*pairs, error) {
	n := runtime.NumCPU()
	if _, err := exec.LookPath("taskset"); err != nil || n < 2 {
		return nil, nil
	}
	if err := pin(servers, n/2, n-1); err != nil {
		return nil, nil // a container that may not use these processors
	}
	defer pin(servers, 0, n-1)
	order := childOrder{Addrs: networkOf(servers).addrs, Rounds: rounds, Slice: slice}
	cmd, err := childCommand(ctx, order, "taskset", "-c", fmt.Sprintf("0-%d", n/2-1))
	if err != nil {
		return nil, err
	}
	out, err := cmd.Output()
	if err != nil {
		return nil, err
	}
	var results map[string]*pairs
	return results, json.Unmarshal(out, &results)
}

func pin(servers []*server, first, last int) error {
	for _, s := range servers {
		if err := exec.Command("taskset", "-apc", fmt.Sprintf("%d-%d", first, last), strconv.Itoa(s.Pid())).Run(); err != nil {
			return err
		}
	}
	return nil
}

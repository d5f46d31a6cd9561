package main

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"time"
)

const childVar = "BENCH_CHILD" // has the order for this program as a child of itself

// A childOrder asks a process of its own to hold Locks of the contestant Name, or, if there is no name, to measure pairs.
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

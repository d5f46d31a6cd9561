// Servers runs a command with real Redis servers: it starts five redis-server processes
// on free loopback ports, without persistence, puts their addresses into REDIS_ADDRS,
// runs the command at the root of the repository, and stops the servers whatever happens.
//
//	go run -C docs/keep ./realfaults/servers go run ./docs/tour real all
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
)

func main() {
	args := os.Args[1:]
	if len(args) == 0 {
		fmt.Fprintln(os.Stderr, "usage: go run -C docs/keep ./realfaults/servers command [argument...]")
		os.Exit(2)
	}
	err := run(args)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil {
		os.Exit(1)
	}
}

func run(args []string) error {
	// From here on a signal ends the command, and we end after it.
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)

	root, err := course.Root() // -C has left it
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "redislock-servers-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var addrs []string
	for range 5 {
		server, err := redisproc.Server(dir)
		if errors.Is(err, redisproc.ErrMissing) {
			return fmt.Errorf("%w, or point REDIS_ADDRS at your servers", err)
		}
		if err != nil {
			return err
		}
		defer server.Kill()
		addrs = append(addrs, server.Addr)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "REDIS_ADDRS="+strings.Join(addrs, ","))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = redisproc.DieWithParent()
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() {
		for sig := range signals {
			redisproc.SignalGroup(cmd.Process, sig)
		}
	}()
	return cmd.Wait()
}

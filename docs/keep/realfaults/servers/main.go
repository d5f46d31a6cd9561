//go:build unix

// Servers runs a command with real Redis servers: it starts five redis-server processes
// on free loopback ports, without persistence, puts their addresses into REDIS_ADDRS,
// runs the command at the root of the repository, and stops the servers whatever happens.
//
//	go run -C docs/keep ./realfaults/servers go run ./docs/tour real all
package main

import (
	"context"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"strings"
	"syscall"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
)

func main() {
	log.SetFlags(0)
	if len(os.Args) == 1 {
		log.Fatal("usage: go run -C docs/keep ./realfaults/servers command [argument...]")
	}
	if err := run(os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

func run(args []string) error {
	// From here on a signal ends the command, and we end after it.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()

	root, err := course.Root() // -C has left it
	if err != nil {
		return err
	}
	var addrs []string
	for range 5 {
		server, err := redisproc.Server(os.TempDir()) // leaves no files
		if err != nil {
			return err
		}
		defer server.Kill()
		addrs = append(addrs, server.Addr)
	}
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	// The minus sends it to the command's children as well.
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGINT) }
	cmd.Dir = root
	cmd.Env = append(os.Environ(), "REDIS_ADDRS="+strings.Join(addrs, ","))
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.SysProcAttr = redisproc.DieWithParent()
	return cmd.Run()
}

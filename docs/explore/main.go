// Explore runs the locks of all steps through every order in which their clients'
// commands can reach Redis, with a fault at every point where it can strike. See
// docs/explore/README.md.
//
// This only builds and starts it. The explorer is in docs/keep, which is a module of its
// own: go test ./... need not compile all locks for it.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"example.com/redislock-steps/docs/internal/course"
)

func main() {
	err := run()
	if _, ended := errors.AsType[*exec.ExitError](err); err != nil && !ended { // it has said why
		fmt.Fprintln(os.Stderr, err)
	}
	if err != nil {
		os.Exit(1)
	}
}

func run() error {
	root, err := course.Root()
	if err != nil {
		return err
	}
	dir, err := os.MkdirTemp("", "redislock-explore-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	explore := filepath.Join(dir, "explore.exe")
	if err := show(exec.Command("go", "build", "-C", filepath.Join(root, "docs", "keep"), "-buildvcs=false", "-o", explore, "./explore")); err != nil {
		return err
	}
	return show(exec.Command(explore, os.Args[1:]...))
}

func show(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	return cmd.Run()
}

// Explore runs the locks of all steps through every order in which their clients'
// commands can reach Redis, with a fault at every point where it can strike. See
// docs/explore/README.md.
//
// This only starts it. The explorer is in docs/keep, which is a separate module:
// go test ./... need not compile all locks for it.
package main

import (
	"fmt"
	"os"
	"os/exec"
)

func main() {
	// The go command keeps what it has linked for run.
	cmd := exec.Command("go", append([]string{"run", "-C", "docs/keep", "-buildvcs=false", "./explore"}, os.Args[1:]...)...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if _, err := os.Stat("docs/explore"); err != nil {
		fmt.Fprintln(os.Stderr, "please change into the root of the repository, and try again")
		os.Exit(1)
	}
	if err := cmd.Run(); err != nil {
		if cmd.ProcessState == nil { // it has not said why
			fmt.Fprintln(os.Stderr, err)
		}
		os.Exit(1)
	}
}

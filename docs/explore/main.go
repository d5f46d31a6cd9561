// Explore runs the locks of all steps through every order in which their clients' commands can reach Redis, with a
// fault at every point where it can strike. See docs/explore/README.md.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"strings"
)

const usage = `usage:
  explore                     every lock under every fault, two clients; writes docs/faults.md
  explore -check              the same, and docs/faults.md must say so
  explore -step N -fault F    one cell, with the schedules that show its violations
  explore -lock DIR -step N   your own lock, DIR/lock.go, in place of step N's
  explore -all [-seed S]      three clients, and step 08 with more nodes; writes docs/explore/deep.md (minutes)
  explore replay ID           one schedule as a timeline
`

func main() {
	if os.Getenv(workerEnv) != "" {
		work()
		return
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("explore", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	check := flags.Bool("check", false, "compare with docs/faults.md")
	all := flags.Bool("all", false, "three clients, and step 08 with more nodes")
	seed := flags.Uint64("seed", 1, "of the random schedules")
	step := flags.Int("step", 0, "one step, 1 to 8; 9 is the lock of docs/fencing")
	fault := flags.String("fault", "", "one fault")
	dir := flags.String("lock", "", "a folder with a lock.go")
	flags.Parse(args)
	switch {
	case flags.Arg(0) == "replay" && flags.NArg() == 2:
		return replay(flags.Arg(1))
	case flags.NArg() > 0:
		return fmt.Errorf("%s", usage)
	case *dir != "":
		if *fault == "" {
			return withLock(*dir, *step)
		}
		return withLock(*dir, *step, "-fault", *fault)
	case *all:
		return deep(*seed)
	}
	jobs, err := matrix(*step, *fault)
	if err != nil {
		return err
	}
	cells, err := explore(jobs, os.Stdout)
	if err != nil {
		return err
	}
	if *step > 0 || *fault != "" {
		show(cells)
		return surprises(cells)
	}
	if err := surprises(cells); err != nil {
		return err
	}
	return writePage(cells, *check)
}

// matrix lists the cells of two clients: all of them, or those of a step, or of a fault.
func matrix(step int, id string) (jobs []job, err error) {
	for _, f := range faults {
		for _, s := range steps {
			if (step == 0 || step == s.n) && (id == "" || id == f.id) && f.applies(s) {
				jobs = append(jobs, job{Step: s.n, Fault: f.id, Clients: 2, Nodes: s.nodes, Bound: s.bound})
			}
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("there is no such cell; the steps are 1 to %d, the faults:\n%s", len(steps), faultList())
	}
	return jobs, nil
}

func faultList() string {
	var b strings.Builder
	for _, f := range faults {
		fmt.Fprintf(&b, "  %-14s %s\n", f.id, f.title)
	}
	return b.String()
}

// show prints the schedules that show violations.
func show(cells []cell) {
	for _, c := range cells {
		for _, b := range c.Bad {
			fmt.Printf("\n%s: go run ./docs/explore replay %s\n%s", b.Kinds, b.ID, b.Story)
		}
	}
}

// surprises compares what was found with what is expected.
func surprises(cells []cell) error {
	var list []string
	for _, c := range cells {
		want, _ := expected(c.Job)
		if want == c.Kinds {
			continue
		}
		list = append(list, fmt.Sprintf("%v: expected %q, found %q", c.Job, want, c.Kinds))
		for _, b := range c.Bad {
			list = append(list, fmt.Sprintf("  %s: go run ./docs/explore replay %s", b.Kinds, b.ID))
		}
	}
	if list == nil {
		return nil
	}
	return errors.New(strings.Join(list, "\n"))
}

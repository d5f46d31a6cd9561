// Explore runs the locks of all steps through every order in which their clients'
// commands can reach Redis, with a fault at every point where it can strike. See
// docs/explore/README.md.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
)

const usage = `usage:
  explore                     every lock under every fault, two clients; writes docs/read/faults.md
  explore -check              the same, and docs/read/faults.md must say so
  explore -step N -fault F    one cell, with the schedules that show its violations
  explore -lock DIR -step N   your own lock, DIR/*.go, instead of step N's
  explore -lock DIR -step N -html FILE
                              the same as a page on which you can play (docs/play)
  explore -all [-seed S]      three clients, and step 08 with more nodes; takes minutes,
                              writes docs/explore/deep.md
  explore replay ID           one schedule as a timeline
  explore replay -json ID     the same as records (docs/internal/trace), one in a line
`

func main() {
	if os.Getenv(jobEnv) != "" {
		child()
	}
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("explore", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	check := flags.Bool("check", false, "compare with docs/read/faults.md")
	all := flags.Bool("all", false, "three clients, and step 08 with more nodes")
	seed := flags.Uint64("seed", 1, "of the random schedules")
	step := flags.Int("step", 0, "one step, 1 to 8; 9 is the lock of docs/fencing")
	fault := flags.String("fault", "", "one fault")
	dir := flags.String("lock", "", "a folder with a lock.go")
	file := flags.String("graph", "", "write the graph of all schedules into this file, for docs/play")
	against := flags.String("against", "", "the graph must be that in this file")
	html := flags.String("html", "", "write docs/play's page of your own lock into this file")
	flags.Parse(args)
	if _, err := os.Stat("docs/explore"); err != nil {
		return errors.New("please change into the root of the repository, and try again")
	}
	switch {
	case flags.Arg(0) == "replay":
		return replay(flags.Args()[1:])
	case flags.NArg() > 0:
		return errors.New(strings.TrimSpace(usage))
	case *html != "" && *dir == "":
		return errors.New("-html needs -lock DIR -step N; the page of the course's locks is made by go run ./docs/play -o FILE")
	case *html != "":
		return goRun("./docs/play", "-lock", *dir, "-step", fmt.Sprint(*step), "-o", *html)
	case *dir != "":
		return withLock(*dir, *step, *fault, *file)
	case *all:
		return exploreDeep(*seed)
	}
	jobs, err := matrix(*step, *fault)
	if err != nil {
		return err
	}
	if *file != "" && *step == 0 && *fault == "" {
		jobs = append([]job{{Step: first.n, Fault: faults[0].id, Clients: 2, Nodes: first.nodes, Bound: first.bound}}, jobs...)
	}
	for i := range jobs {
		jobs[i].Graph = *file != "" && jobs[i].repeats()
		jobs[i].Check = *check
	}
	cells, err := exploreAll(jobs)
	if err != nil {
		return err
	}
	if *file != "" {
		return writeGraph(*file, *against, cells)
	}
	if *step > 0 || *fault != "" {
		for _, c := range cells {
			for _, b := range c.Bad {
				fmt.Printf("\n%s: go run ./docs/explore replay %s\n%s", b.Kinds, b.ID, b.Story())
			}
			if *step > 0 && *fault != "" {
				fmt.Printf("\nschedules that show a violation, %d of %d: %s\n", c.Violating(), c.Schedules, strings.Join(c.All, " "))
			}
		}
		return surprises(cells)
	}
	if err := surprises(cells); err != nil {
		return err
	}
	return writeFaults(cells, *check)
}

// replay runs one schedule, and prints its trace.
func replay(args []string) error {
	flags := flag.NewFlagSet("replay", flag.ExitOnError)
	asJSON := flags.Bool("json", false, "records, one in a line")
	flags.Parse(args)
	j, err := parseID(flags.Arg(0))
	if err != nil {
		return err
	}
	c, err := j.explore()
	if err != nil {
		return err
	}
	if !*asJSON {
		fmt.Print(c.Bad[0].Story())
		return nil
	}
	out := json.NewEncoder(os.Stdout)
	out.SetEscapeHTML(false)
	for _, r := range c.Bad[0].Trace {
		out.Encode(r)
	}
	return nil
}

// matrix lists the cells of two clients: all of them, or those of a step, or of a fault.
func matrix(step int, id string) (jobs []job, err error) {
	if _, err := faultNamed(id); err != nil && id != "" {
		return nil, err
	}
	for _, f := range faults {
		for _, s := range steps {
			if (step == 0 || step == s.n) && (id == "" || id == f.id) && f.applies(s) {
				jobs = append(jobs, job{Step: s.n, Fault: f.id, Clients: 2, Nodes: s.nodes, Bound: s.bound})
			}
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("there is no such cell; the steps are 1 to %d, and not every fault can strike in each", len(steps))
	}
	return jobs, nil
}

// A depth is more than the matrix does: a table of its own. A client tries once, when the
// explorer says so.
type depth struct {
	job    job
	steps  string
	faults string // "" is all
	but    string // these are left out
}

func depths(seed uint64) []depth {
	return []depth{
		{job{Table: "3 nodes, every order", Clients: 2, Nodes: 3, Bound: -1}, "8", "none restart clock", ""},
		// When two wait in Lock, a message and the end of the lease can come at the same
		// moment: then Go chooses.
		{job{Table: "3 clients, every order", Clients: 3, Nodes: 1, Bound: -1}, "12345679", "", "pause-waits restart-waits"},
		{job{Table: "5 nodes, two preemptions", Clients: 2, Nodes: 5, Bound: 2}, "8", "none waits nested twice crash-acquire crash-hold crash-release slow" +
			" resent unsent nested-resent deadline late-reply pause late-write renewal-once renewal-all restart clock", ""},
		{job{Table: "5 nodes, one preemption", Clients: 2, Nodes: 5, Bound: 1}, "8", "late-set stolen deleted failover restart-late flush" +
			" down-1 down-2 down-3 hung-1 hung-2 hung-3 crash-waits resent-waits outage-waits slow-answer slow-answers dead healed healing", ""},
		{job{Table: fmt.Sprintf("5 nodes, 3 clients, at random from seed %d", seed), Clients: 3, Nodes: 5, Random: 200, Seed: seed}, "8", "", ""},
	}
}

// exploreDeep explores what takes minutes, and writes it down.
func exploreDeep(seed uint64) error {
	all, err := matrix(0, "")
	if err != nil {
		return err
	}
	var jobs []job
	for _, d := range depths(seed) {
		for _, j := range all {
			if strings.Contains(d.steps, fmt.Sprint(j.Step)) && (d.faults == "" || slices.Contains(strings.Fields(d.faults), j.Fault)) &&
				!slices.Contains(strings.Fields(d.but), j.Fault) {
				d.job.Step, d.job.Fault, d.job.Once = j.Step, j.Fault, true
				jobs = append(jobs, d.job)
			}
		}
	}
	cells, err := exploreAll(jobs)
	if err != nil {
		return err
	}
	// With a third client there are other letters: whoever loses its lock to a DEL has
	// company. But what is green with two must be green, and what is red must be red,
	// unless that is left to chance.
	for _, c := range cells {
		want := expected(c.Job).kinds
		if want == "" && c.Kinds != "" || want != "" && c.Kinds == "" && c.Job.Random == 0 {
			return surprises([]cell{c})
		}
	}
	return writeDeep(cells)
}

// Explore runs the locks of all steps through every order in which their clients'
// commands can reach Redis, with a fault at every point where it can strike. See
// docs/explore/README.md.
package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

const usage = `usage:
  explore                     every lock under every fault, two clients, and the locks of the bench under
                              its attacks: minutes; writes docs/read/faults.md and docs/play/index.html
  explore -check              the same, and compares both with what it finds
  explore -step N -fault F    one cell, with the schedules that show its violations
  explore -lock DIR -step N   your own lock, DIR/*.go, instead of step N's
  explore -lock DIR -step N -html FILE
                              the same as a page on which you can play, as docs/play/index.html
  explore replay ID           one schedule as a timeline: of a step, 05/pause/aFbBA; of a lock of the
                              bench, build/120000/slow/aFb
  -lang zh, anywhere, or a Chinese locale: timelines are in Chinese
`

func main() {
	if os.Getenv(childEnv) != "" {
		child()
	}
	course.Chinese = course.ChineseLocale(os.Getenv)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	flags := flag.NewFlagSet("explore", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprint(os.Stderr, usage) }
	check := flags.Bool("check", false, "compare docs/read/faults.md and docs/play/index.html")
	step := flags.Int("step", 0, "one step, 1 to 8; 9 is the lock of docs/fencing")
	fault := flags.String("fault", "", "one fault")
	dir := flags.String("lock", "", "a folder with a lock.go")
	html := flags.String("html", "", "write a page on which you can play your own lock into this file")
	args, lang, ok := course.TakeLang(args)
	if !ok {
		return errors.New("-lang takes zh or en: " + lang)
	}
	flags.Parse(args)
	root, err := course.Root() // go run -C has begun in docs/keep
	if err = cmp.Or(err, os.Chdir(root)); err != nil {
		return err
	}
	switch {
	case flags.Arg(0) == "replay":
		return replay(flags.Arg(1))
	case flags.NArg() > 0:
		return errors.New(strings.TrimSpace(usage))
	case *html != "" && *dir == "":
		return errors.New("-html needs -lock DIR -step N; the page of the eight locks is docs/play/index.html")
	case *dir != "":
		temporary, err := os.MkdirTemp("", "redislock-explore-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		if err := useLock(*dir, *step, temporary); err != nil {
			return err
		}
	}
	jobs, err := matrix(*step, *fault)
	if err != nil {
		return err
	}
	all := *step == 0 && *fault == ""
	course.Chinese = course.Chinese && !all // docs/read/faults.md is English
	if all {
		jobs = slices.Concat([]job{steps[0].job(faults[0].id)}, jobs, benchJobs())
	}
	for i := range jobs {
		jobs[i].Graph = (all || *html != "") && jobs[i].Design == "" && jobs[i].repeats()
	}
	cells, err := exploreAll(jobs)
	if err != nil {
		return err
	}
	switch {
	case *html != "":
		page, err := playPage(cells, nil, *dir)
		if err != nil {
			return err
		}
		return put(*html, page, false)
	case !all:
		show(cells)
		return surprises(cells)
	}
	return writePages(cells, *check)
}

// show prints schedules that show violations, and of a single cell the names of all.
func show(cells []cell) {
	for _, c := range cells {
		for _, b := range c.Bad {
			fmt.Printf("\n%s: go run ./docs/explore replay %s\n%s", b.Kinds, b.ID, b.Story())
		}
	}
	if c := cells[0]; len(cells) == 1 {
		fmt.Printf("\nschedules that show a violation, %d of %d: %s\n", c.Violating(), c.Schedules, strings.Join(c.All, " "))
	}
}

// replay runs one schedule, and prints its trace.
func replay(id string) error {
	j, err := parseID(id)
	if err != nil {
		return err
	}
	c, err := j.explore()
	if err != nil {
		return err
	}
	fmt.Print(c.Bad[0].Story())
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
				jobs = append(jobs, s.job(f.id))
			}
		}
	}
	if len(jobs) == 0 {
		return nil, fmt.Errorf("there is no such cell; the steps are 1 to %d, and not every fault can strike in each", len(steps)-1)
	}
	return jobs, nil
}

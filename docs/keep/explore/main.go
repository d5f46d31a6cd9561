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
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
)

const usage = `usage:
  explore                     every lock under every fault, two clients, and the locks of the bench under
                              its attacks: minutes; writes docs/read/faults.md and docs/play/index.html
  explore -check              the same, and compares both with what it finds
  explore -step N -fault F    one cell, with schedules that show its violations; without -step or -fault: all
  explore -lock DIR -step N   your own lock, DIR/*.go, instead of step N's
  explore -lock DIR -step N -html FILE
                              the same as a page on which you can play, as docs/play/index.html
  explore replay ID           one schedule as a timeline: of a step, 05/pause/aFbBA; of a lock of the
                              bench, build/120000/slow/aFb
  -lang zh, anywhere, or a Chinese locale: timelines are in Chinese
`

func main() {
	if id := os.Getenv(childEnv); id != "" {
		child(id)
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
	check := flags.Bool("check", false, "")
	step := flags.Int("step", 0, "")
	fault := flags.String("fault", "", "")
	dir := flags.String("lock", "", "")
	html := flags.String("html", "", "")
	args, lang, ok := course.TakeLang(args)
	if !ok {
		return errors.New("-lang takes zh or en: " + lang)
	}
	flags.Parse(args)
	root, err := course.Root() // go run -C has begun in docs/keep
	if err = cmp.Or(err, os.Chdir(root)); err != nil {
		return err
	}
	if flags.Arg(0) == "replay" {
		return replay(flags.Arg(1))
	}
	if flags.NArg() > 0 || *html != "" && *dir == "" {
		return errors.New(strings.TrimSpace(usage))
	}
	if *dir != "" {
		temporary, err := os.MkdirTemp("", "redislock-explore-")
		if err != nil {
			return err
		}
		defer os.RemoveAll(temporary)
		if err := useLock(*dir, *step, temporary); err != nil {
			return err
		}
	}
	cells, err := table(*step, *fault)
	if err != nil {
		return err
	}
	if *step == 0 && *fault == "" {
		return pages(cells, *check)
	}
	if err := exploreAll(cells); err != nil {
		return err
	}
	if *html != "" {
		page, err := playPage(cells, nil, *dir)
		if err != nil {
			return err
		}
		return os.WriteFile(*html, page, 0o666)
	}
	for _, c := range cells {
		for _, b := range c.Bad {
			fmt.Printf("\n%s: go run ./docs/explore replay %s\n%s", b.Kinds, c.id(b), trace.Text(b.Trace))
		}
	}
	return surprises(cells)
}

// replay prints one schedule.
func replay(id string) error {
	c, path, err := parseID(id)
	if err = cmp.Or(err, c.inChild(path)); err != nil {
		return err
	}
	fmt.Print(trace.Text(c.Bad[0].Trace))
	return nil
}

// table lists the cells of the table: all of them, or those of a step, or of a fault.
func table(step int, id string) (cells []cell, err error) {
	for _, f := range faults {
		for _, l := range steps[1:] {
			if (step == 0 || step == l.step) && (id == "" || id == f.id) && f.applies(l) {
				cells = append(cells, cell{lock: l, fault: f})
			}
		}
	}
	if _, err := faultNamed(cmp.Or(id, "none")); err != nil {
		return nil, err
	}
	if len(cells) == 0 {
		return nil, fmt.Errorf("there is no such cell; the steps are 1 to %d, and not every fault can strike in each", len(steps)-1)
	}
	return cells, nil
}

// surprises compares what was found with what is expected.
func surprises(cells []cell) (err error) {
	for _, c := range cells {
		if want := c.expected().kinds; want != c.Kinds {
			err = errors.Join(err, fmt.Errorf("%v: expected %q, found %q", c, want, c.Kinds))
		}
	}
	return err
}

// verdict is what was found, and of what is expected why.
func (c cell) verdict() string {
	if c.Kinds == "" {
		return fmt.Sprintf("✓ %d schedules", c.Schedules)
	}
	text := fmt.Sprintf("✗ %s in %d of %d schedules", c.Kinds, c.Violating, c.Schedules)
	if r := c.expected(); r.kinds == c.Kinds {
		text += ": " + r.why
	}
	return text
}

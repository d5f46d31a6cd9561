// Tour plays the course: every lock fails on the next step's tests, and the next lock passes them.
//
//	go run ./docs/tour [command]
//
// It needs nothing but the go command. The help command lists the commands.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"example.com/redislock-steps/docs/internal/course"
)

const usage = `Tour plays the course of the eight locks.

usage: go run ./docs/tour [command]

  (no command)    the whole course: each lock fails, the next one holds
  red N           step N's stories on the lock before it, the first in full;
                  exit 0 only if they fail by their own assertions
  red N -all      the same, every story in full
  green N         step N as it is: all its tests, with the timelines of its own stories
  diff N          what step N changes in lock.go, and which other files are new
  diff N -all     what it changes in all files
  red N Test...   only these stories of step N's own guarantee, on the lock before it,
                  in full
  green N Test... only these tests of step N's folder
  red N -json Test, green N -json Test
                  what happened in this story as records (docs/internal/trace), one in a line
  diff N Name...  only these declarations, whole and in this order: New, Lock.TryLock, releaseScript
  try             your own lock: what is solved, where you stand, what to do next
  try N           step N's stories on it, the Go files in mylock (made at first use from the lock before
                  step N): what holds, what fails, the first failure in full
  try N Test...   only these stories, in full
  try N -watch    again at each save in mylock
  try N -rules    what step N's lock must have, and must not do
  try N -compare  your lock beside the course's
  hint N [Test] [K]
                  a hint for the first failing story of the last try, or for this one; each
                  time the next of three stages, or stage K
  reset N         begin step N again; what you have is kept
  real N host:port[,host:port...]
                  all stories of step N on your own Redis, in real time; step 08 needs
                  five. "real all" plays all steps at once.
                  Without addresses they come from REDIS_ADDRS
  matrix          every guarantee against every lock, written to docs/read/matrix.md
  matrix -check   the same, but compare: exit 1 if docs/read/matrix.md is stale
  matrix -guarantee G -step N
                  one cell with its whole output; one of the two flags gives a row or a
                  column; writes nothing
  why N           step N's lock, each line with the story that fails without it
  why N LINE      one line of lock.go (of another file: send.go:LINE): the story, as it fails
                  without it or when it is changed
  why             write what is known about the lines to docs/read/why; "why -check" compares,
                  and plays some of the stories again (-seed S: the same ones)
  why -all [N]    find it out anew: take each line out, change it, play the stories (minutes)
  why -all N LINE the same for one line, and only say it: when you write a story for it
  copy N FOLDER   step N's lock for your program: copies its files, overwrites nothing, runs go vet
                  there; "copy N FOLDER -tests" copies and runs its tests as well
  help            this text

N is a step, 1 to 8. Where a command does not change files, it is also "fencing", the
epilogue in docs/fencing, whose red side is the resources without the check.
Exit status: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
`

// A usageError is the user's, and exits with 2.
type usageError string

func (e usageError) Error() string { return string(e) }

func wrongUsage(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// A request is what the arguments ask for.
type request struct {
	name       string        // "" is the whole course
	steps      []course.Step // one, or all that the command knows
	guarantees []course.Step // of the matrix
	names      []string      // of stories or declarations; none is all
	addrs      []string
	all, check bool
	json       bool   // records instead of a timeline
	mode       string // of try: watch, rules, compare
	stage      int    // of a hint; 0 is the next one
	file       string // of a lock
	line       int    // of that file; 0 is the whole lock
	seed       uint64
	folder     string // to copy to
	tests      bool   // copied as well
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A reader that has seen enough (a pager, head) ends the run as well, with the
	// temporary files removed.
	piped, cancelPiped := signal.NotifyContext(ctx, syscall.SIGPIPE)
	code := run(piped, os.Args[1:], newConsole())
	if ctx.Err() != nil && code != 0 {
		fmt.Fprintln(os.Stderr, "tour: interrupted")
	}
	cancelPiped()
	cancel()
	os.Exit(code)
}

// run returns the exit status.
func run(ctx context.Context, args []string, c console) int {
	req, err := parseArgs(args)
	if err != nil {
		fmt.Fprintf(c.err, "tour: %v\nAll commands: go run ./docs/tour help\n", err)
		return 2
	}
	if req.name == "help" {
		fmt.Fprint(c.out, usage)
		return 0
	}
	err = perform(ctx, req, c)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return 130
	}
	fmt.Fprintf(c.err, "tour: %v\n", err)
	if _, ok := errors.AsType[usageError](err); ok { // one that only the repository could show
		return 2
	}
	return 1
}

func perform(ctx context.Context, req request, c console) error {
	t, ctx, err := newTour(ctx, c)
	if err != nil {
		return err
	}
	defer t.close()
	switch req.name {
	case "red":
		if req.names != nil {
			return t.runNamedRed(ctx, req.steps[0], req.names, req.json)
		}
		return t.runRed(ctx, req.steps[0], req.all)
	case "green":
		if req.names != nil {
			return t.runNamedGreen(ctx, req.steps[0], req.names, req.json)
		}
		return t.runGreen(ctx, req.steps[0])
	case "diff":
		return t.runDiff(req.steps[0], req.names, req.all)
	case "try":
		return t.tryCommand(ctx, req)
	case "hint":
		return t.runHint(req.steps[0], req.names, req.stage)
	case "reset":
		return t.runReset(req.steps[0])
	case "real":
		return t.runReal(ctx, req.steps, req.addrs)
	case "matrix":
		if len(req.steps)+len(req.guarantees) < 2*len(course.Entries()) {
			return t.runCells(ctx, req.guarantees, req.steps)
		}
		return t.runMatrix(ctx, req.check)
	case "copy":
		return t.runCopy(ctx, req.steps[0], req.folder, req.tests)
	case "why":
		return t.runWhy(ctx, req)
	}
	return t.runCourse(ctx, course.Entries())
}

// parseArgs reads the command line without looking at anything but the environment.
func parseArgs(args []string) (request, error) {
	if slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" }) {
		return request{name: "help"}, nil
	}
	if len(args) == 0 {
		return request{}, nil
	}
	req := request{name: args[0]}
	args = args[1:]
	switch req.name {
	case "red", "green", "diff":
		if req.name != "green" {
			args, req.all = takeFlag(args, "all")
		}
		if req.name != "diff" {
			args, req.json = takeFlag(args, "json")
		}
		return parseNames(req, args)
	case "try":
		return parseTry(req, args)
	case "hint":
		return parseHint(req, args)
	case "reset":
		return parseStep(req, args)
	case "why":
		return parseWhy(req, args)
	case "real":
		return parseReal(req, args)
	case "copy":
		return parseCopy(req, args)
	case "matrix":
		return parseMatrix(req, args)
	case "help":
		if len(args) > 0 {
			return request{}, wrongUsage("help takes no argument: %s", strings.Join(args, " "))
		}
		return req, nil
	}
	return request{}, wrongUsage("no such command: %s%s", req.name, didYouMean(req.name, commands))
}

var commands = []string{"red", "green", "diff", "try", "hint", "reset", "real", "matrix", "why", "copy", "help"}

// didYouMean names what is spelled nearly so, in parentheses.
func didYouMean(word string, list []string) string {
	best, least := "", 1+min(3, len(word)/3+1)
	for _, w := range list {
		if d := distance(word, w); d < least || strings.HasPrefix(w, word) && best == "" {
			best, least = w, d
		}
	}
	if best == "" {
		return ""
	}
	return " (did you mean " + best + "?)"
}

// distance is how many letters make one word another: changed, added, left out, swapped.
func distance(a, b string) int {
	d := make([][]int, len(a)+1)
	for i := range d {
		d[i] = make([]int, len(b)+1)
		d[i][0] = i
	}
	for j := range d[0] {
		d[0][j] = j
	}
	for i := range len(a) {
		for j := range len(b) {
			d[i+1][j+1] = min(d[i][j]+1-boolean(a[i] == b[j]), d[i][j+1]+1, d[i+1][j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				d[i+1][j+1] = min(d[i+1][j+1], d[i-1][j-1]+1)
			}
		}
	}
	return d[len(a)][len(b)]
}

// takeFlag takes a flag out of the arguments, wherever it stands.
func takeFlag(args []string, name string) ([]string, bool) {
	rest := slices.DeleteFunc(slices.Clone(args), func(a string) bool { return a == "-"+name || a == "--"+name })
	return rest, len(rest) < len(args)
}

func parseStep(req request, args []string) (request, error) {
	if len(args) == 0 {
		return request{}, wrongUsage("%s needs a step: %s N, 1 to %d", req.name, req.name, len(course.Steps))
	}
	if len(args) > 1 {
		return request{}, wrongUsage("%s takes one step: %s", req.name, strings.Join(args, " "))
	}
	s, err := course.Parse(args[0])
	if slices.Contains([]string{"try", "hint", "reset"}, req.name) {
		switch {
		case err == nil && s.IsEpilogue():
			err = wrongUsage("%s is for the locks of steps 1 to %d; the exercises of the epilogue are in docs/fencing/README.md", req.name, len(course.Steps))
		case err != nil:
			err = wrongUsage("no such step: %s. The locks are 1 to %d; go run ./docs/tour try shows where you stand", args[0], len(course.Steps))
		}
	}
	if err != nil {
		return request{}, usageError(err.Error())
	}
	req.steps = []course.Step{s}
	return req, nil
}

// parseNames reads a step, and the names of stories or declarations behind it.
func parseNames(req request, args []string) (request, error) {
	req, err := parseStep(req, args[:min(1, len(args))])
	if err == nil && req.json && len(args) != 2 {
		err = wrongUsage("%s -json takes a step and the name of one test", req.name)
	}
	if err != nil || len(args) < 2 {
		return req, err
	}
	req.names = args[1:]
	for i, arg := range req.names {
		switch {
		case req.name != "diff" && !strings.HasPrefix(arg, "Test"):
			return request{}, wrongUsage("%s takes one step, and names of tests: %s is none", req.name, arg)
		case slices.Contains(req.names[:i], arg):
			return request{}, wrongUsage("%s twice: %s", arg, strings.Join(args, " "))
		}
	}
	return req, nil
}

func parseMatrix(req request, args []string) (request, error) {
	req.steps, req.guarantees = course.Entries(), course.Entries()
	only := func(list *[]course.Step) func(string) error {
		return func(arg string) error {
			s, err := course.Parse(arg)
			*list = []course.Step{s}
			return err
		}
	}
	fs := flag.NewFlagSet("matrix", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&req.check, "check", false, "")
	fs.Func("guarantee", "", only(&req.guarantees))
	fs.Func("step", "", only(&req.steps))
	if err := fs.Parse(args); err != nil {
		return request{}, usageError("matrix: " + err.Error())
	}
	if fs.NArg() > 0 {
		return request{}, wrongUsage("matrix takes flags only: %s", strings.Join(fs.Args(), " "))
	}
	if req.check && fs.NFlag() > 1 {
		return request{}, usageError("matrix -check compares the whole matrix: leave -guarantee and -step out")
	}
	if len(req.steps) == 1 && req.steps[0].IsEpilogue() && len(req.guarantees) == 1 && !req.guarantees[0].IsEpilogue() {
		return request{}, usageError("matrix -step fencing has one cell: -guarantee fencing")
	}
	return req, nil
}

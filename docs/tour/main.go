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
	"strconv"
	"strings"
	"syscall"
)

const usage = `Tour plays the course of the eight locks.

usage: go run ./docs/tour [command]

  (no command)    the whole course: each lock fails, the next one holds
  red N           step N's stories on the lock before it; exit 0 only if they fail by their own assertions
  green N         step N as it is: all its tests, with the timelines of its own stories
  diff N          what step N changes in lock.go
  red N Test...   only these stories of step N's own guarantee, on the lock before it
  green N Test... only these tests of step N's folder
  diff N Name...  only these declarations, whole and in this order: New, Lock.TryLock, releaseScript
  try N           step N's tests on a lock of your own, mylock/lock.go (made at first use from the lock before step N)
  matrix          every guarantee against every lock, written to docs/matrix.md
  matrix -check   the same, but compare: exit 1 if docs/matrix.md is stale
  matrix -guarantee G -step N
                  one cell with its whole output; one of the two flags gives a row or a column; writes nothing
  copies          check that the files that steps share are equal
  alone [N]       test each folder (or step N's) alone in a fresh module
  help            this text

N is a step, 1 to 8. Where a command does not change files, it is also "fencing", the epilogue in docs/fencing, whose red side
is the resources without the check. Exit status: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
`

// A usageError is the user's, and exits with 2.
type usageError string

func (e usageError) Error() string {
	return string(e)
}

// A request is what the arguments ask for.
type request struct {
	name            string   // "" is the whole course
	step, guarantee int      // 0 is not given
	names           []string // of stories or declarations; none is all
	check           bool
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A reader that has seen enough (a pager, head) ends the run as well, with the temporary files removed.
	piped, cancelPiped := signal.NotifyContext(ctx, syscall.SIGPIPE)
	code := run(piped, os.Args[1:], newConsole())
	if ctx.Err() != nil {
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
		fmt.Fprintf(c.err, "tour: %v\n\n%s", err, usage)
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
	if wrong, ok := errors.AsType[usageError](err); ok { // one that only the repository could show
		fmt.Fprintf(c.err, "tour: %v\n", wrong)
		return 2
	}
	fmt.Fprintf(c.err, "tour: %v\n", err)
	return 1
}

func perform(ctx context.Context, req request, c console) error {
	t, ctx, err := newTour(ctx, c)
	if err != nil {
		return err
	}
	defer t.close()
	return t.do(ctx, req)
}

func (t *tour) do(ctx context.Context, req request) error {
	if req.names != nil {
		return t.doNamed(ctx, req.name, entry(req.step), req.names)
	}
	switch req.name {
	case "red":
		return t.runRed(ctx, entry(req.step))
	case "green":
		return t.runGreen(ctx, entry(req.step))
	case "diff":
		return t.runDiff(entry(req.step))
	case "try":
		return t.runTry(ctx, entry(req.step))
	case "matrix":
		if req.guarantee != 0 || req.step != 0 {
			return t.runCells(ctx, only(req.guarantee), only(req.step))
		}
		return t.runMatrix(ctx, req.check)
	case "copies":
		return t.runCopies()
	case "alone":
		return t.runAlone(ctx, only(req.step))
	}
	return t.runCourse(ctx)
}

// doNamed does a command for some stories or declarations of a step.
func (t *tour) doNamed(ctx context.Context, command string, s step, names []string) error {
	switch command {
	case "red":
		return t.runNamedRed(ctx, s, names)
	case "green":
		return t.runNamedGreen(ctx, s, names)
	}
	return t.runNamedDiff(s, names)
}

// entry returns step n or the epilogue.
func entry(n int) step {
	return entries()[n-1]
}

// only returns step n, or all steps and the epilogue for 0.
func only(n int) []step {
	if n == 0 {
		return entries()
	}
	return []step{entry(n)}
}

// parseArgs reads the command line without looking at anything else.
func parseArgs(args []string) (request, error) {
	for _, a := range args {
		if a == "-h" || a == "-help" || a == "--help" {
			return request{name: "help"}, nil
		}
	}
	if len(args) == 0 {
		return request{}, nil
	}
	name, args := args[0], args[1:]
	switch name {
	case "red", "green", "diff":
		return parseNames(name, args)
	case "try":
		return parseStep(name, args)
	case "alone":
		if len(args) > 0 {
			return parseStep(name, args)
		}
		return request{name: name}, nil
	case "matrix":
		return parseMatrix(args)
	case "copies", "help":
		if len(args) > 0 {
			return request{}, usageError(fmt.Sprintf("%s takes no argument: %s", name, strings.Join(args, " ")))
		}
		return request{name: name}, nil
	}
	return request{}, usageError(fmt.Sprintf("no such command: %s", name))
}

func parseStep(name string, args []string) (request, error) {
	if len(args) == 0 {
		return request{}, usageError(fmt.Sprintf("%s needs a step: %s N, 1 to %d", name, name, len(steps)))
	}
	if len(args) > 1 {
		return request{}, usageError(fmt.Sprintf("%s takes one step: %s", name, strings.Join(args, " ")))
	}
	read := entryNumber
	if name == "try" {
		read = stepNumber
	}
	n, err := read(args[0])
	return request{name: name, step: n}, err
}

// entryNumber knows the epilogue as well.
func entryNumber(arg string) (int, error) {
	if arg == epilogueArg {
		return epilogue.n, nil
	}
	return stepNumber(arg)
}

// parseNames reads a step, and the names of stories or declarations behind it.
func parseNames(name string, args []string) (request, error) {
	req, err := parseStep(name, args[:min(1, len(args))])
	if err != nil || len(args) < 2 {
		return req, err
	}
	req.names = args[1:]
	for i, arg := range req.names {
		switch {
		case name != "diff" && !strings.HasPrefix(arg, "Test"):
			return request{}, usageError(fmt.Sprintf("%s takes one step, and names of tests: %s is none", name, arg))
		case slices.Contains(req.names[:i], arg):
			return request{}, usageError(fmt.Sprintf("%s twice: %s", arg, strings.Join(args, " ")))
		}
	}
	return req, nil
}

func stepNumber(arg string) (int, error) {
	n, err := strconv.Atoi(arg)
	if err != nil || n < 1 || n > len(steps) {
		return 0, usageError(fmt.Sprintf("no such step: %s (there are 1 to %d)", arg, len(steps)))
	}
	return n, nil
}

func parseMatrix(args []string) (request, error) {
	req := request{name: "matrix"}
	fs := flag.NewFlagSet("matrix", flag.ContinueOnError)
	fs.SetOutput(io.Discard)
	fs.BoolVar(&req.check, "check", false, "")
	fs.Func("guarantee", "", func(arg string) (err error) {
		req.guarantee, err = entryNumber(arg)
		return err
	})
	fs.Func("step", "", func(arg string) (err error) {
		req.step, err = entryNumber(arg)
		return err
	})
	if err := fs.Parse(args); err != nil {
		return request{}, usageError("matrix: " + err.Error())
	}
	if fs.NArg() > 0 {
		return request{}, usageError("matrix takes flags only: " + strings.Join(fs.Args(), " "))
	}
	if req.check && (req.guarantee != 0 || req.step != 0) {
		return request{}, usageError("matrix -check compares the whole matrix: leave -guarantee and -step out")
	}
	if req.step == epilogue.n && req.guarantee != 0 && req.guarantee != epilogue.n {
		return request{}, usageError("matrix -step fencing has one cell: -guarantee fencing")
	}
	return req, nil
}

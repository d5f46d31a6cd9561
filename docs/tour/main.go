// Tour plays the course: every lock fails on the next step's tests, and the next lock passes them.
//
//	go run ./docs/tour [command]
//
// It needs nothing but the go command, and has a reader for each group of its files:
//
//	course.go diff.go                           who watches: red, green, diff
//	try.go try_report.go try_watch.go mylock.go who writes a lock: try, hint, reset (and learner.go,
//	                                            ending.go, sourcerules.go)
//	copy.go real.go                             who uses one
//
// With -lang zh, or where the locale is Chinese, it speaks Chinese (zh-CN.json).
package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"example.com/redislock-steps/docs/internal/course"
)

const help = `Tour plays the course of the eight locks: go run ./docs/tour [command]

To watch:
  (no command)            the whole course: each lock fails, the next one holds
  red N [Test...]         step N's stories on the lock before it: they fail
  green N [Test...]       step N as it is: its tests, and their timelines
  diff N [Name...]        what step N changes, or these: New, Lock.TryLock
To write your own lock:
  try                     where you stand, and what to do next
  try N [Test...]         step N's stories on the Go files in mylock
  try N -watch            the same at each save
  try N -rules            what step N's lock must have, and must not do
  try N -compare          your lock next to the reference solution
  try N -back             go back from a later step, whose attempt is kept
  try -report NAME        where you stand, as a line for the sheet of a group
  hint N [Test]           a hint for the first failing story, or this one
  reset N [-mine]         begin again, from the reference or your last lock
To use a lock:
  copy N FOLDER [-tests]  step N's lock for your program, with its tests
  copy N FOLDER -diff     what has changed since then, and who must update
  real N|all URL,...      the stories of step N on your own Redis servers

N is a step, 1 to 8; for red, green, diff and copy also "fencing", the epilogue.
-lang zh makes the tour speak Chinese, -lang en English; else the locale does.
Exit status: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
`

// A request is what the arguments ask for.
type request struct {
	steps []course.Step // one, or all that the command knows; none if it was not named
	names []string      // of stories or declarations, none is all; servers; a folder
	flags []string
}

func (r request) has(flag string) bool { return slices.Contains(r.flags, flag) }

// A subcommand is what the tour can be asked for.
type subcommand struct {
	flags []string
	most  int // arguments behind the step
	run   func(t *tour, ctx context.Context, req request) error
}

const many = 1000

var commands = map[string]subcommand{
	"":      {nil, 0, func(t *tour, ctx context.Context, _ request) error { return t.runCourse(ctx, course.Entries()) }},
	"red":   {nil, many, (*tour).runRed},
	"green": {nil, many, (*tour).runGreen},
	"diff":  {nil, many, (*tour).runDiff},
	"try":   {[]string{"-watch", "-rules", "-compare", "-back", "-report"}, many, (*tour).tryCommand},
	"hint":  {nil, 1, func(t *tour, _ context.Context, r request) error { return t.runHint(r.steps[0], r.names) }},
	"reset": {[]string{"-mine"}, 0, func(t *tour, _ context.Context, r request) error { return t.runReset(r.steps[0], r.has("-mine")) }},
	"copy":  {[]string{"-tests", "-diff"}, 1, (*tour).runCopy},
	"real":  {nil, 1, (*tour).runReal},
}

func main() {
	// A reader that has seen enough (a pager, head) ends the run as well, with the
	// temporary files removed.
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGPIPE)
	course.Chinese = course.ChineseLocale(os.Getenv)
	code := run(ctx, os.Args[1:], newConsole())
	cancel()
	os.Exit(code)
}

// run returns the exit status.
func run(ctx context.Context, args []string, c console) int {
	err := c.do(ctx, args)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return 130
	}
	fmt.Fprint(c.err, indent("", wrap(columns, say("tour: %v", word(err.Error())))))
	if _, ok := errors.AsType[usageError](err); ok {
		return 2
	}
	return 1
}

func (c console) do(ctx context.Context, args []string) error {
	args, lang, ok := course.TakeLang(args)
	if !ok {
		return wrongUsage("-lang takes zh or en: %s", lang)
	}
	isHelp := func(a string) bool { return a == "-h" || a == "-help" || a == "--help" }
	if len(args) > 0 && args[0] == "help" || slices.ContainsFunc(args, isHelp) {
		c.printf(help)
		return nil
	}
	cmd, req, err := parse(append(args, "")[0], args[min(1, len(args)):])
	if err != nil {
		return err
	}
	t, ctx, err := newTour(ctx, c)
	if err != nil {
		return err
	}
	defer t.Close()
	return cmd.run(t, ctx, req)
}

// parse reads what stands behind the name of a command: a step, names, and flags anywhere.
func parse(name string, args []string) (cmd subcommand, req request, err error) {
	cmd, ok := commands[name]
	if !ok {
		return cmd, req, wrongUsage("no such command: %s\nAll commands: go run ./docs/tour help", name)
	}
	for _, arg := range args {
		flag := "-" + strings.TrimLeft(arg, "-")
		switch {
		case !strings.HasPrefix(arg, "-"):
			req.names = append(req.names, arg)
		case slices.Contains(cmd.flags, flag):
			req.flags = append(req.flags, flag)
		default:
			return cmd, req, wrongUsage("%s has no flag %s (its flags: %s)", name, arg, cmp.Or(strings.Join(cmd.flags, ", "), "none"))
		}
	}
	switch first := append(req.names, "")[0]; {
	case name == "" || req.has("-report") || name == "try" && len(args) == 0:
		return cmd, req, nil
	case name == "real" && first == "all":
		req.steps = course.Steps[:]
	case first == "":
		return cmd, req, wrongUsage("%s needs a step: %s N, 1 to %d", name, name, len(course.Steps))
	default:
		s, err := course.Parse(first)
		if err != nil || s.IsEpilogue() && !slices.Contains([]string{"red", "green", "diff", "copy"}, name) {
			return cmd, req, wrongUsage("%s has no step %s (there are 1 to %d)", name, first, len(course.Steps))
		}
		req.steps = []course.Step{s}
	}
	if req.names = req.names[min(1, len(req.names)):]; len(req.names) > cmd.most {
		return cmd, req, wrongUsage("%s: too many arguments: %s", name, strings.Join(req.names[cmd.most:], " "))
	}
	if len(req.names) == 0 {
		req.names = nil
	}
	return cmd, req, nil
}

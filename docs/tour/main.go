// Tour plays the course: every lock fails on the next step's tests, and the next lock passes them.
//
//	go run ./docs/tour [command]
//
// It needs nothing but the go command. The help command lists the commands. With -lang zh, or
// where the locale is Chinese, it speaks Chinese (chinese.go).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// A subcommand is what the tour can be asked for.
type subcommand struct {
	name  string
	usage [][2]string // how it is asked for, and what it does then
	parse func(req request, args []string) (request, error)
	run   func(t *tour, ctx context.Context, req request) error
}

// commands are all of them, in the order of the help. It adds itself.
var commands = []subcommand{
	{"", [][2]string{{"(no command)", "the whole course: each lock fails, the next one holds"}}, nil,
		func(t *tour, ctx context.Context, _ request) error { return t.runCourse(ctx, course.Entries()) }},
	{"red", [][2]string{
		{"red N", "step N's stories on the lock before it, the first in full; exit 0 only if they fail by their own assertions"},
		{"red N -all", "the same, every story in full"},
		{"red N Test...", "only these stories of step N's own guarantee, in full"},
		{"red N -json Test", "what happened in this story as records (docs/internal/trace), one in a line"},
	}, parseNames, (*tour).redCommand},
	{"green", [][2]string{
		{"green N", "step N as it is: all its tests, with the timelines of its stories"},
		{"green N Test...", "only these tests of step N's folder; also with -json, as red"},
	}, parseNames, (*tour).greenCommand},
	{"diff", [][2]string{
		{"diff N", "what step N changes in lock.go, and which other files are new"},
		{"diff N -all", "what it changes in all files"},
		{"diff N Name...", "only these declarations, whole and in this order: New, Lock.TryLock, releaseScript"},
	}, parseNames, func(t *tour, _ context.Context, r request) error { return t.runDiff(r.steps[0], r.names, r.all) }},
	{"try", [][2]string{
		{"try", "your own lock: what is solved, where you stand, what to do next"},
		{"try N", "step N's stories on it, the Go files in mylock (made at first use from the lock before step N): what holds, what fails, the first failure in full"},
		{"try N Test...", "only these stories, in full"},
		{"try N -watch", "again at each save in mylock"},
		{"try N -back", "go back from a later step, whose attempt is kept"},
		{"try N -rules", "what step N's lock must have, and must not do"},
		{"try N -compare", "your lock next to the reference solution"},
	}, parseTry, (*tour).tryCommand},
	{"hint", [][2]string{
		{"hint N [Test] [K]", "a hint for the first failing story of the last try, or for this one; each time the next of three stages, or stage K"},
	}, parseHint, func(t *tour, _ context.Context, r request) error { return t.runHint(r.steps[0], r.names, r.stage) }},
	{"reset", [][2]string{{"reset N", "begin step N again; what you have is kept"}},
		parseStep, func(t *tour, _ context.Context, r request) error { return t.runReset(r.steps[0]) }},
	{"real", [][2]string{
		{"real N HOST:PORT,...", "all stories of step N on your own Redis, in real time; step 08 needs five. Without addresses they come from REDIS_ADDRS"},
		{"real all HOST:PORT,...", "all steps at once"},
	}, parseReal, func(t *tour, ctx context.Context, r request) error { return t.runReal(ctx, r.steps, r.addrs) }},
	{"matrix", [][2]string{
		{"matrix", "every guarantee against every lock, written to " + matrixFile},
		{"matrix -check", "the same, but compare: exit 1 if the page is stale"},
	}, parseMatrix, func(t *tour, ctx context.Context, r request) error { return t.runMatrix(ctx, r.check) }},
	{"why", [][2]string{
		{"why N", "step N's lock, each line with the story that fails without it"},
		{"why N LINE", "one line of lock.go (of another file: send.go:LINE): the story, as it fails without it or when it is changed"},
		{"why", "write what is known about the lines to " + whyDir},
		{"why -check", "compare, and play some of the stories again"},
		{"why -all [N [LINE]]", "find it out anew: take each line out, change it, play the stories (minutes)"},
	}, parseWhy, (*tour).runWhy},
	{"copy", [][2]string{
		{"copy N FOLDER", "step N's lock for your program: copies its files, overwrites nothing, runs go vet there"},
		{"copy N FOLDER -tests", "copies and runs its tests as well"},
	}, parseCopy, func(t *tour, ctx context.Context, r request) error {
		return t.runCopy(ctx, r.steps[0], r.folder, r.tests)
	}},
}

// usage is the text of the help.
func usage() string {
	var b strings.Builder
	b.WriteString(word("Tour plays the course of the eight locks.\n\nusage: go run ./docs/tour [command]\n\n"))
	const left = 26
	for _, c := range append(commands, subcommand{usage: [][2]string{{"help", "this text"}}}) {
		for _, u := range c.usage {
			for i, line := range wrap(columns-left, word(u[1])) {
				if i > 0 {
					u[0] = ""
				}
				fmt.Fprintf(&b, "  %s%s\n", pad(left-2, word(u[0])), line)
			}
		}
	}
	b.WriteString(word(`
N is a step, 1 to 8. Where a command does not change files, it is also
"fencing", the epilogue in docs/fencing, whose red side is the resources
without the check.
-lang zh, anywhere, makes the tour speak Chinese, and -lang en English. Without
it LC_ALL, LC_MESSAGES or LANG decides.
Exit status: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
`))
	return b.String()
}

// called returns the command of this name.
func called(name string) (subcommand, bool) {
	i := slices.IndexFunc(commands, func(c subcommand) bool { return c.name == name })
	if i < 0 {
		return subcommand{}, false
	}
	return commands[i], true
}

// A usageError is the user's, and exits with 2.
type usageError string

func (e usageError) Error() string { return string(e) }

func wrongUsage(format string, args ...any) error { return usageError(say(format, args...)) }

// A request is what the arguments ask for.
type request struct {
	name       string        // "" is the whole course
	steps      []course.Step // one, or all that the command knows
	names      []string      // of stories or declarations; none is all
	addrs      []string
	all, check bool
	json       bool   // records instead of a timeline
	mode       string // of try: watch, rules, compare
	back       bool   // to an earlier step
	stage      int    // of a hint; 0 is the next one
	file       string // of a lock
	line       int    // of that file; 0 is the whole lock
	folder     string // to copy to
	tests      bool   // copied as well
}

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	// A reader that has seen enough (a pager, head) ends the run as well, with the
	// temporary files removed.
	piped, cancelPiped := signal.NotifyContext(ctx, syscall.SIGPIPE)
	course.Chinese = chineseLocale(os.Getenv)
	code := run(piped, os.Args[1:], newConsole())
	if ctx.Err() != nil && code != 0 {
		fmt.Fprintln(os.Stderr, word("tour: interrupted"))
	}
	cancelPiped()
	cancel()
	os.Exit(code)
}

// run returns the exit status.
func run(ctx context.Context, args []string, c console) int {
	args, err := takeLang(args)
	var req request
	if err == nil {
		req, err = parseArgs(args)
	}
	if err != nil {
		c.complain("tour: %v\nAll commands: go run ./docs/tour help", err)
		return 2
	}
	if req.forAuthors() {
		course.Chinese = false
	}
	if req.name == "help" {
		fmt.Fprint(c.out, usage())
		return 0
	}
	err = perform(ctx, req, c)
	switch {
	case err == nil:
		return 0
	case ctx.Err() != nil:
		return 130
	}
	c.complain("tour: %v", word(err.Error()))
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
	cmd, _ := called(req.name)
	return cmd.run(t, ctx, req)
}

func (t *tour) redCommand(ctx context.Context, req request) error {
	if req.names != nil {
		return t.runNamedRed(ctx, req.steps[0], req.names, req.json)
	}
	return t.runRed(ctx, req.steps[0], req.all)
}

func (t *tour) greenCommand(ctx context.Context, req request) error {
	if req.names != nil {
		return t.runNamedGreen(ctx, req.steps[0], req.names, req.json)
	}
	return t.runGreen(ctx, req.steps[0])
}

// parseArgs reads the command line without looking at anything but the environment.
func parseArgs(args []string) (request, error) {
	if slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" }) {
		return request{name: "help"}, nil
	}
	if len(args) == 0 {
		return request{}, nil
	}
	req, args := request{name: args[0]}, args[1:]
	if cmd, ok := called(req.name); ok && req.name != "" {
		return cmd.parse(req, args)
	}
	if req.name != "help" {
		return request{}, wrongUsage("no such command: %s%s", req.name, didYouMean(req.name, commandNames()))
	}
	if len(args) > 0 {
		return request{}, wrongUsage("help takes no argument: %s", strings.Join(args, " "))
	}
	return req, nil
}

func commandNames() []string {
	names := []string{"help"}
	for _, c := range commands[1:] {
		names = append(names, c.name)
	}
	return names
}

// didYouMean names what is spelled nearly so, in parentheses.
func didYouMean(word string, list []string) string {
	best, least := "", 1+min(3, len(word)/3+1)
	for _, w := range list {
		changed := 0 // letters that are left out or put in
		for _, e := range source.Diff(strings.Split(word, ""), strings.Split(w, "")) {
			changed += boolean(e.Op != ' ')
		}
		if changed < least || strings.HasPrefix(w, word) && best == "" {
			best, least = w, changed
		}
	}
	if best == "" {
		return ""
	}
	return say(" (did you mean %s?)", best)
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
	s, err := stepOf(args[0])
	if slices.Contains([]string{"try", "hint", "reset"}, req.name) {
		switch {
		case err == nil && s.IsEpilogue():
			err = wrongUsage("%s is for the locks of steps 1 to %d; the exercises of the epilogue are in docs/fencing/README.md", req.name, len(course.Steps))
		case err != nil:
			err = wrongUsage("no such step: %s. The locks are 1 to %d; go run ./docs/tour try shows where you stand", args[0], len(course.Steps))
		}
	}
	if err != nil {
		return request{}, err
	}
	req.steps = []course.Step{s}
	return req, nil
}

func stepOf(arg string) (course.Step, error) {
	s, err := course.Parse(arg)
	if err != nil {
		return s, wrongUsage("no such step: %s (there are 1 to %d)", arg, len(course.Steps))
	}
	return s, nil
}

// flags are those of the commands that take names.
var flags = map[string][]string{"red": {"-all", "-json"}, "green": {"-json"}, "diff": {"-all"}, "try": {"-watch", "-rules", "-compare", "-back"}}

// parseNames reads a step, and the names of stories or declarations behind it.
func parseNames(req request, args []string) (request, error) {
	if slices.Contains(flags[req.name], "-all") {
		args, req.all = takeFlag(args, "all")
	}
	if slices.Contains(flags[req.name], "-json") {
		args, req.json = takeFlag(args, "json")
	}
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			return request{}, wrongUsage("%s has no flag %s%s", req.name, arg, didYouMean(arg, flags[req.name]))
		}
	}
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
	if args, req.check = takeFlag(args, "check"); len(args) > 0 {
		return request{}, wrongUsage("matrix takes no argument but -check: %s", strings.Join(args, " "))
	}
	return req, nil
}

// Tour plays the course: every lock fails on the next step's tests, and the next lock passes them.
//
//	go run ./docs/tour [command]
//
// It needs nothing but the go command. The help command lists the commands. With -lang zh, or
// where the locale is Chinese, it speaks Chinese (zh-CN.json).
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
)

// A subcommand is what the tour can be asked for.
type subcommand struct {
	name  string
	usage [][2]string // how it is asked for, and what it does then
	more  [][2]string // the same, for few
	flags []string
	read  reader // of all arguments but these
	run   func(t *tour, ctx context.Context, req request) error
}

// commands are all of them, in the order of the help. It adds itself.
var commands = []subcommand{
	{"", [][2]string{{"(no command)", "the whole course: each lock fails, the next one holds"}}, nil, nil, nil,
		func(t *tour, ctx context.Context, _ request) error { return t.runCourse(ctx, course.Entries()) }},
	{"red", [][2]string{{"red N [-all] [Test...]", "step N's stories on the lock before it: they fail"}},
		[][2]string{{"red N", "the first in full, with -all or by name all of them; exit 0 only if they fail by their own assertions"}},
		[]string{"-all"}, readStep(readNames), (*tour).runRed},
	{"green", [][2]string{{"green N [Test...]", "step N as it is: its tests, and their timelines"}},
		nil, nil, readStep(readNames), (*tour).runGreen},
	{"diff", [][2]string{{"diff N [Name...]", "what step N changes, or these: New, Lock.TryLock"}},
		nil, nil, readStep(readNames), (*tour).runDiff},
	{"try", [][2]string{
		{"try", "your own lock: where you stand, what to do next"},
		{"try N [Test...]", "step N's stories on it, the Go files in mylock"},
		{"try N -watch", "again at each save, with keys for hints"},
		{"try N -rules", "what step N's lock must have, and must not do"},
		{"try N -compare", "your lock next to the reference solution"},
		{"try N -back", "go back from a later step, whose attempt is kept"},
		{"try -report [NAME]", "where you stand, a line for the sheet of a group"},
	}, [][2]string{{"try -report [NAME]", "name, steps solved, then of your present step: number, stories passed, of how many, tries, hints"}},
		[]string{"-watch", "-rules", "-compare", "-back", "-report"}, readTry, (*tour).tryCommand},
	{"hint", [][2]string{{"hint N [Test]", "a hint for the first failing story, or this one"}},
		nil, nil, readStep(readHint), func(t *tour, _ context.Context, r request) error { return t.runHint(r.steps[0], r.names) }},
	{"reset", [][2]string{{"reset N [-mine]", "begin again, from the reference or your last lock"}},
		nil, []string{"-mine"}, readStep(readNothing), func(t *tour, _ context.Context, r request) error { return t.runReset(r.steps[0], r.has("-mine")) }},
	{"real", [][2]string{{"real N URL,...", "all stories of step N on your own Redis servers"}},
		[][2]string{{"real N URL,...", "HOST:PORT, redis://USER:PASSWORD@HOST:PORT, with TLS rediss://, or a node of a cluster; step 08 needs five servers. Without addresses they come from REDIS_ADDRS. For N, all is all steps"}},
		nil, readReal, (*tour).runReal},
	{"copy", [][2]string{
		{"copy N FOLDER [-tests]", "step N's lock for your program, with its tests"},
		{"copy N FOLDER -diff", "what has changed since then, and who must update"},
	}, [][2]string{{"copy N FOLDER", "copies its files, overwrites nothing, runs go vet there, and with -tests go test"}},
		[]string{"-tests", "-diff"}, readStep(readFolder), (*tour).runCopy},
}

// usage is the text of the help, one screen; that for authors has the rest.
func usage(authors bool) string {
	var b strings.Builder
	const left = 26
	list := func(usage [][2]string) {
		for _, u := range usage {
			for i, line := range wrap(columns-left, word(u[1])) {
				fmt.Fprintf(&b, "  %s%s\n", pad(left-2, []string{word(u[0]), ""}[min(i, 1)]), line)
			}
		}
	}
	if authors {
		for _, c := range commands {
			list(c.more)
		}
		return b.String()
	}
	b.WriteString(word("Tour plays the course of the eight locks: go run ./docs/tour [command]\n\n"))
	for _, c := range commands {
		list(c.usage)
	}
	list([][2]string{{"help [authors]", "this text; the rest"}})
	b.WriteString(word(`
N is a step, 1 to 8; for red, green, diff and copy also "fencing", the epilogue.
-lang zh makes the tour speak Chinese, -lang en English; else the locale does.
Exit status: 0 success, 1 failure, 2 wrong usage, 130 interrupted.
`))
	return b.String()
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
	args, lang, ok := course.TakeLang(args)
	req, err := parseArgs(args)
	if !ok {
		err = wrongUsage("-lang takes zh or en: %s", lang)
	}
	if err != nil {
		c.complain("tour: %v\nAll commands: go run ./docs/tour help", err)
		return 2
	}
	if req.name == "help" {
		fmt.Fprint(c.out, usage(req.names != nil))
		return 0
	}
	t, playing, err := newTour(ctx, c)
	if err == nil {
		defer t.Close()
		cmd, _ := called(req.name)
		err = cmd.run(t, playing, req)
	}
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

// called returns the command of this name.
func called(name string) (subcommand, bool) {
	i := slices.IndexFunc(commands, func(c subcommand) bool { return c.name == name })
	if i < 0 {
		return subcommand{name: name, read: readHelp}, name == "help"
	}
	return commands[i], true
}

func commandNames() []string {
	names := []string{"help"}
	for _, c := range commands[1:] {
		names = append(names, c.name)
	}
	return names
}

// parseArgs reads the command line without looking at anything but the environment.
func parseArgs(args []string) (request, error) {
	if slices.ContainsFunc(args, func(a string) bool { return a == "-h" || a == "-help" || a == "--help" }) {
		return request{name: "help"}, nil
	}
	if len(args) == 0 {
		return request{}, nil
	}
	cmd, ok := called(args[0])
	if !ok || cmd.name == "" {
		return request{}, wrongUsage("no such command: %s%s", args[0], didYouMean(args[0], commandNames()))
	}
	req := request{name: cmd.name}
	var others []string
	for _, arg := range args[1:] {
		flag := "-" + strings.TrimLeft(arg, "-")
		switch {
		case !strings.HasPrefix(arg, "-"):
			others = append(others, arg)
		case slices.Contains(cmd.flags, flag):
			req.flags = append(req.flags, flag)
		default:
			return request{}, wrongUsage("%s has no flag %s%s", req.name, arg, didYouMean(flag, cmd.flags))
		}
	}
	return req, cmd.read(&req, others)
}

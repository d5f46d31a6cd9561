package main

import (
	"cmp"
	"os"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// A request is what the arguments ask for.
type request struct {
	name  string        // "" is the whole course
	steps []course.Step // one, or all that the command knows
	names []string      // of stories or declarations, none is all; servers; a folder
	flags []string
}

func (r request) has(flag string) bool { return slices.Contains(r.flags, flag) }

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

// A reader reads the arguments of a command, or those behind its step.
type reader func(req *request, args []string) error

// atMost is an error if there are more arguments than that.
func (r request) atMost(n int, args []string) error {
	if len(args) <= n {
		return nil
	}
	return wrongUsage("%s: too many arguments: %s", r.name, strings.Join(args[n:], " "))
}

func readNothing(req *request, args []string) error { return req.atMost(0, args) }

func readHelp(req *request, args []string) error {
	if len(args) == 1 && args[0] == "authors" {
		req.names = args
		return nil
	}
	return req.atMost(0, args)
}

// readStep reads a step, and leaves to behind what is behind it.
func readStep(behind reader) reader {
	return func(req *request, args []string) error {
		if len(args) == 0 {
			return wrongUsage("%s needs a step: %s N, 1 to %d", req.name, req.name, len(course.Steps))
		}
		s, err := course.Parse(args[0])
		if err != nil {
			return wrongUsage("no such step: %s (there are 1 to %d)", args[0], len(course.Steps))
		}
		if s.IsEpilogue() && slices.Contains([]string{"try", "hint", "reset", "real"}, req.name) {
			return wrongUsage("%s is for the locks of steps 1 to %d", req.name, len(course.Steps))
		}
		req.steps = []course.Step{s}
		return behind(req, args[1:])
	}
}

// readNames reads names of stories or declarations.
func readNames(req *request, args []string) error {
	for _, arg := range args {
		if req.name != "diff" && !strings.HasPrefix(arg, "Test") {
			return wrongUsage("%s takes one step, and names of tests: %s is none", req.name, arg)
		}
		req.names = append(req.names, arg)
	}
	return nil
}

// readTry reads a step and names, or nothing; with -report the name of a person.
func readTry(req *request, args []string) error {
	switch {
	case req.has("-report"):
		if len(args) > 0 && args[0] != "" && strings.Trim(args[0], "0123456789") == "" {
			return wrongUsage("-report is about the step in %s: try -report [NAME]", myDir)
		}
		req.names = args
		return nil
	case len(args) == 0 && req.flags == nil:
		return nil
	}
	return readStep(readNames)(req, args)
}

// readHint reads the name of a story, or nothing.
func readHint(req *request, args []string) error {
	return cmp.Or(readNames(req, args), req.atMost(1, args))
}

func readFolder(req *request, args []string) error {
	if len(args) == 0 {
		return wrongUsage("copy needs a folder: copy %s FOLDER", req.steps[0].Arg())
	}
	req.names = args
	return req.atMost(1, args)
}

// readReal reads a step, or all, and the servers behind it.
func readReal(req *request, args []string) error {
	if len(args) == 0 || args[0] != "all" {
		return readStep(readServers)(req, args)
	}
	req.steps = course.Steps[:]
	return readServers(req, args[1:])
}

func readServers(req *request, args []string) error {
	list := os.Getenv(realEnv)
	if len(args) > 0 {
		list = args[0]
	}
	if list == "" {
		return wrongUsage("where is your Redis? go run ./docs/tour real %s localhost:6379", req.steps[0].Arg())
	}
	seen := map[string]bool{}
	for addr := range strings.SplitSeq(list, ",") {
		opt, err := parseServer(addr)
		if err != nil {
			return wrongUsage("a server is HOST:PORT, or a URL (redis://, rediss://): %v", err)
		}
		if seen[opt.Host] {
			return wrongUsage("%s is there twice: the servers must be independent", opt.Host)
		}
		seen[opt.Host] = true
		req.names = append(req.names, addr)
	}
	if need := serversFor(req.steps); len(req.names) < need {
		return wrongUsage("%d independent servers are needed (URL,URL,...), not %d", need, len(req.names))
	}
	return req.atMost(1, args)
}

func serversFor(list []course.Step) int {
	need := 0
	for _, s := range list {
		need = max(need, s.Nodes)
	}
	return need
}

// realEnv names the servers, where the command does not.
const realEnv = "REDIS_ADDRS"

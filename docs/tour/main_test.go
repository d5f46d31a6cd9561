package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

func TestParseArgs(t *testing.T) {
	one := func(n int) []course.Step { return course.Entries()[n-1 : n] }
	for args, want := range map[string]request{
		"":                             {},
		"red 1":                        {name: "red", steps: one(1)},
		"red 3 -all":                   {name: "red", steps: one(3), flags: []string{"-all"}},
		"red --all 3":                  {name: "red", steps: one(3), flags: []string{"-all"}},
		"diff 03":                      {name: "diff", steps: one(3)},
		"red 4 TestA TestB":            {name: "red", steps: one(4), names: []string{"TestA", "TestB"}},
		"diff 4 New Lock.TryLock":      {name: "diff", steps: one(4), names: []string{"New", "Lock.TryLock"}},
		"try":                          {name: "try"},
		"try --watch 5 TestA":          {name: "try", steps: one(5), flags: []string{"-watch"}, names: []string{"TestA"}},
		"try -back 5 -watch":           {name: "try", steps: one(5), flags: []string{"-back", "-watch"}},
		"try 5 -compare":               {name: "try", steps: one(5), flags: []string{"-compare"}},
		"hint 5":                       {name: "hint", steps: one(5)},
		"hint 5 TestA":                 {name: "hint", steps: one(5), names: []string{"TestA"}},
		"reset 5":                      {name: "reset", steps: one(5)},
		"green fencing TestA":          {name: "green", steps: one(9), names: []string{"TestA"}},
		"matrix -check":                {name: "matrix", flags: []string{"-check"}},
		"why -all":                     {name: "why", steps: course.Steps[:], flags: []string{"-all"}},
		"why 5 12":                     {name: "why", steps: one(5), file: "lock.go", line: 12},
		"why 5 send.go:12":             {name: "why", steps: one(5), file: "send.go", line: 12},
		"why 5 -all":                   {name: "why", steps: one(5), flags: []string{"-all"}},
		"copy fencing ../app -tests":   {name: "copy", steps: one(9), flags: []string{"-tests"}, names: []string{"../app"}},
		"real 4 a:1,b:2":               {name: "real", steps: one(4), names: []string{"a:1", "b:2"}},
		"real all a:1,b:1,c:1,d:1,e:1": {name: "real", steps: course.Steps[:], names: []string{"a:1", "b:1", "c:1", "d:1", "e:1"}},
		"help":                         {name: "help"},
		"red --help":                   {name: "help"},
	} {
		got, err := parseArgs(strings.Fields(args))
		require.NoError(t, err, args)
		require.Equal(t, want, got, args)
	}
}

func TestWrongUsage_Exit2(t *testing.T) {
	t.Setenv(realEnv, "")
	for args, want := range map[string]string{
		"blue":                        "no such command: blue",
		"tyr":                         "no such command: tyr (did you mean try?)",
		"help 1":                      "help: too many arguments: 1",
		"red":                         "red needs a step: red N, 1 to 8",
		"red -all":                    "red needs a step",
		"red 9":                       "no such step: 9",
		"red 1 2":                     "2 is none",
		"red 1 -al":                   "red has no flag -al (did you mean -all?)",
		"green 1 -all":                "green has no flag -all",
		"diff 1 -all":                 "diff has no flag -all",
		"try -watch":                  "try needs a step",
		"try 4 -wach":                 "try has no flag -wach (did you mean -watch?)",
		"try fencing":                 "try is for the locks of steps 1 to 8",
		"hint 4 3":                    "hint takes one step, and names of tests: 3 is none",
		"hint 4 TestA TestB":          "hint: too many arguments: TestB",
		"reset":                       "reset needs a step",
		"reset 1 2":                   "reset: too many arguments: 2",
		"matrix 3":                    "matrix: too many arguments: 3",
		"why 4 x":                     "a line is LINE of lock.go, or FILE:LINE: x",
		"why fencing":                 "why is for the locks of steps 1 to 8",
		"why":                         "why needs a step: why N, 1 to 8",
		"why -all 4 12":               "why: too many arguments: 12",
		"copy":                        "copy needs a step: copy N, 1 to 8",
		"copy -tests 7":               "copy needs a folder: copy 7 FOLDER",
		"copy fencing a b":            "copy: too many arguments: b",
		"copy -diff 7":                "copy needs a folder: copy 7 FOLDER",
		"copy 7 -test a":              "copy has no flag -test (did you mean -tests?)",
		"real":                        "real needs a step",
		"real 3":                      "where is your Redis? go run ./docs/tour real 3 localhost:6379",
		"real 3 a:1 b:1":              "real: too many arguments: b:1",
		"real 3 redis://:p@a:1,p@a:1": "a:1 is there twice",
		"real 3 http://:p@a:1":        "a server is HOST:PORT, or a URL (redis://, rediss://): unknown network http",
		"real 3 redis://:%pw@a:1":     "a server is HOST:PORT, or a URL (redis://, rediss://): invalid URL escape",
		"real 8 a:1,b:1,c:1":          "5 independent servers are needed (URL,URL,...), not 3",
		"real all a:1":                "5 independent servers are needed (URL,URL,...), not 1",
		"real 8 a:1,b:1,c:1,d:1,b:1":  "b:1 is there twice: the servers must be independent",
	} {
		out, errs, code := tourOf(t, args)
		require.Equal(t, 2, code, args)
		inOrder(t, errs, want)
		require.Contains(t, errs, "go run ./docs/tour help", args)
		require.LessOrEqual(t, strings.Count(errs, "\n"), 3, "%s: thirty lines of usage help no one", args)
		fits(t, args, errs)
		require.Empty(t, out, args)
	}
}

func TestHelp_Exit0_FitsATerminal(t *testing.T) {
	for _, arg := range []string{"help", "-h", "--help"} {
		out, errs, code := tourOf(t, arg)
		require.Equal(t, []any{usage(false), "", 0}, []any{out, errs, code}, arg)
	}
	fits(t, "help", usage(false)+usage(true))
	require.LessOrEqual(t, strings.Count(usage(false), "\n"), 25, "it is one screen")
	shows(t, "help authors", 0, usage(true))
	for _, c := range commands {
		require.Contains(t, usage(false)+"\n"+usage(true), "\n  "+c.name)
	}
}

func TestOutsideTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	shows(t, "diff 3", 1, "change into the repository")
}

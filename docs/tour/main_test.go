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
		"red 3 -all":                   {name: "red", steps: one(3), all: true},
		"red --all 3":                  {name: "red", steps: one(3), all: true},
		"diff 03":                      {name: "diff", steps: one(3)},
		"diff 5 -all":                  {name: "diff", steps: one(5), all: true},
		"red 4 TestA TestB":            {name: "red", steps: one(4), names: []string{"TestA", "TestB"}},
		"diff 4 New Lock.TryLock":      {name: "diff", steps: one(4), names: []string{"New", "Lock.TryLock"}},
		"try":                          {name: "try"},
		"try 2":                        {name: "try", steps: one(2)},
		"try 5 -rules":                 {name: "try", steps: one(5), mode: "rules"},
		"try --watch 5 TestA":          {name: "try", steps: one(5), mode: "watch", names: []string{"TestA"}},
		"try -back 5 -watch":           {name: "try", steps: one(5), mode: "watch", back: true},
		"try 5 -compare":               {name: "try", steps: one(5), mode: "compare"},
		"hint 5":                       {name: "hint", steps: one(5)},
		"hint 5 2":                     {name: "hint", steps: one(5), stage: 2},
		"hint 5 TestA":                 {name: "hint", steps: one(5), names: []string{"TestA"}},
		"hint 5 TestA 3":               {name: "hint", steps: one(5), names: []string{"TestA"}, stage: 3},
		"reset 5":                      {name: "reset", steps: one(5)},
		"green fencing TestA":          {name: "green", steps: one(9), names: []string{"TestA"}},
		"matrix":                       {name: "matrix"},
		"matrix -check":                {name: "matrix", check: true},
		"copy 7 ../app":                {name: "copy", steps: one(7), folder: "../app"},
		"copy fencing ../app -tests":   {name: "copy", steps: one(9), folder: "../app", tests: true},
		"real 4 a:1,b:2":               {name: "real", steps: one(4), addrs: []string{"a:1", "b:2"}},
		"real all a:1,b:1,c:1,d:1,e:1": {name: "real", steps: course.Steps[:], addrs: []string{"a:1", "b:1", "c:1", "d:1", "e:1"}},
		"help":                         {name: "help"},
		"red --help":                   {name: "help"},
	} {
		got, err := parseArgs(strings.Fields(args))
		require.NoError(t, err, args)
		require.Equal(t, want, got, args)
	}
}

func TestWrongUsage_Exit2(t *testing.T) {
	for args, want := range map[string]string{
		"blue":                  "no such command: blue",
		"1":                     "no such command: 1",
		"copies":                "no such command: copies",
		"red":                   "red needs a step",
		"red -all":              "red needs a step",
		"tyr":                   "no such command: tyr (did you mean try?)",
		"wyh 4":                 "no such command: wyh (did you mean why?)",
		"rde 4":                 "no such command: rde (did you mean red?)",
		"try -watch":            "try needs a step",
		"try 4 -wach":           "try has no flag -wach (did you mean -watch?)",
		"try 4 -rules -compare": "one of -rules and -compare",
		"try 4 -rules -back":    "-rules moves nothing",
		"try 4 -rules TestA":    "try N -rules takes no names: TestA",
		"try 9":                 "no such step: 9. The locks are 1 to 8; go run ./docs/tour try shows where you stand",
		"hint 4 4":              "a hint has stages 1 to 3: 4",
		"hint 4 TestA TestB":    "one story",
		"reset":                 "reset needs a step",
		"red 9":                 "no such step: 9",
		"red 1 2":               "2 is none",
		"green 1 -all":          "green has no flag -all",
		"red 1 -al":             "red has no flag -al (did you mean -all?)",
		"diff 1 -al":            "diff has no flag -al (did you mean -all?)",
		"hint 1 -all":           "hint has no flag -all",
		"red TestA":             "no such step: TestA",
		"red 1 TestA TestA":     "TestA twice",
		"diff 1 New New":        "New twice",
		"try 1 2":               "2 is none",
		"try fencing":           "try is for the locks of steps 1 to 8",
		"help 1":                "help takes no argument",
		"matrix 3":              "matrix takes no argument but -check: 3",
		"matrix -fast":          "no argument but -check: -fast",
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

func TestHelp_Exit0(t *testing.T) {
	for _, arg := range []string{"help", "-h", "--help"} {
		out, errs, code := tourOf(t, arg)
		require.Equal(t, []any{usage(), "", 0}, []any{out, errs, code}, arg)
	}
}

func TestHelp_FitsATerminal(t *testing.T) {
	fits(t, "help", usage())
	for _, c := range commands {
		require.Contains(t, usage(), "\n  "+c.name)
	}
}

func TestOutsideTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	shows(t, "diff 3", 1, "change into the repository")
}

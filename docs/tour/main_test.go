package main

import (
	"bytes"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
)

func TestParseArgs(t *testing.T) {
	for args, want := range map[string]request{
		"":                              {},
		"red 1":                         {name: "red", step: 1},
		"green 8":                       {name: "green", step: 8},
		"diff 03":                       {name: "diff", step: 3},
		"red 4 TestA TestB":             {name: "red", step: 4, names: []string{"TestA", "TestB"}},
		"green 4 TestA":                 {name: "green", step: 4, names: []string{"TestA"}},
		"diff 4 New Lock.TryLock":       {name: "diff", step: 4, names: []string{"New", "Lock.TryLock"}},
		"try 2":                         {name: "try", step: 2},
		"red fencing TestA":             {name: "red", step: 9, names: []string{"TestA"}},
		"green fencing":                 {name: "green", step: 9},
		"diff fencing Memory.access":    {name: "diff", step: 9, names: []string{"Memory.access"}},
		"alone fencing":                 {name: "alone", step: 9},
		"matrix -guarantee fencing":     {name: "matrix", guarantee: 9},
		"matrix -step fencing":          {name: "matrix", step: 9},
		"copies":                        {name: "copies"},
		"alone":                         {name: "alone"},
		"alone 5":                       {name: "alone", step: 5},
		"matrix":                        {name: "matrix"},
		"matrix -check":                 {name: "matrix", check: true},
		"matrix --guarantee 6 --step=4": {name: "matrix", guarantee: 6, step: 4},
		"matrix -step 4":                {name: "matrix", step: 4},
		"help":                          {name: "help"},
		"-h":                            {name: "help"},
		"--help":                        {name: "help"},
		"red -h":                        {name: "help"},
	} {
		got, err := parseArgs(strings.Fields(args))
		if err != nil || !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %+v, %v, want %+v", args, got, err, want)
		}
	}
}

func TestWrongUsage_Exit2(t *testing.T) {
	for args, want := range map[string]string{
		"blue":              "no such command: blue",
		"1":                 "no such command: 1",
		"red":               "red needs a step",
		"green":             "green needs a step",
		"diff":              "diff needs a step",
		"try":               "try needs a step",
		"red 0":             "no such step: 0",
		"red 9":             "no such step: 9",
		"red -1":            "no such step: -1",
		"red one":           "no such step: one",
		"red 1 2":           "2 is none",
		"green 1 2":         "2 is none",
		"red TestA":         "no such step: TestA",
		"red 1 TestA TestA": "TestA twice",
		"diff 1 New New":    "New twice",
		"try 1 2":           "try takes one step",
		"try fencing":       "no such step: fencing",
		"red epilogue":      "no such step: epilogue",

		"matrix -guarantee 3 -step fencing": "-guarantee fencing",
		"alone 9":                           "no such step: 9",
		"alone 1 2":                         "alone takes one step",
		"copies 1":                          "copies takes no argument",
		"help 1":                            "help takes no argument",
		"matrix 3":                          "matrix takes flags only",
		"matrix -step":                      "needs an argument",
		"matrix -step 0":                    "no such step: 0",
		"matrix -guarantee x":               "no such step: x",
		"matrix -fast":                      "-fast",
		"matrix -check -step 1":             "-check compares the whole matrix",
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), strings.Fields(args), console{out: &out, err: &errs})
		if code != 2 {
			t.Errorf("%q: exit %d, want 2", args, code)
		}
		if !strings.Contains(errs.String(), want) || !strings.Contains(errs.String(), "usage:") {
			t.Errorf("%q: stderr lacks %q or the usage:\n%s", args, want, errs.String())
		}
		if out.Len() > 0 {
			t.Errorf("%q: stdout %s", args, out.String())
		}
	}
}

func TestHelp_Exit0(t *testing.T) {
	for _, arg := range []string{"help", "-h", "--help"} {
		var out, errs bytes.Buffer
		if code := run(t.Context(), []string{arg}, console{out: &out, err: &errs}); code != 0 {
			t.Errorf("%s: exit %d", arg, code)
		}
		if out.String() != usage || errs.Len() > 0 {
			t.Errorf("%s: stdout %s, stderr %s", arg, out.String(), errs.String())
		}
	}
}

// inCourse makes a repository of copies the working directory and gives it a go.mod.
func inCourse(t *testing.T) string {
	t.Helper()
	root := t.TempDir()
	if err := os.CopyFS(root, courseFiles()); err != nil {
		t.Fatal(err)
	}
	put(t, root, "", "go.mod", "module "+modulePath+"\n")
	t.Chdir(filepath.Join(root, steps[2].dir))
	return root
}

func TestFailure_Exit1(t *testing.T) {
	root := inCourse(t)
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"copies"}, console{out: &out, err: &errs}); code != 0 {
		t.Errorf("equal copies: exit %d, %s", code, errs.String())
	}
	if want := "50 files, all copies equal\n"; out.String() != want {
		t.Errorf("stdout %q, want %q", out.String(), want)
	}
	remove(t, root, steps[7].dir, "7_lost_test.go")
	if code := run(t.Context(), []string{"copies"}, console{out: &out, err: &errs}); code != 1 {
		t.Errorf("a missing copy: exit %d, want 1", code)
	}
	if want := "7_lost_test.go is missing in step08_redlock"; !strings.Contains(errs.String(), want) {
		t.Errorf("stderr %q lacks %q", errs.String(), want)
	}
}

func TestOutsideTheRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"copies"}, console{out: &out, err: &errs}); code != 1 {
		t.Errorf("exit %d, want 1", code)
	}
	if want := "change into the repository"; !strings.Contains(errs.String(), want) {
		t.Errorf("stderr %q lacks %q", errs.String(), want)
	}
}

func TestDiffCommand(t *testing.T) {
	inCourse(t)
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"diff", "2"}, console{out: &out, err: &errs, color: true}); code != 0 {
		t.Errorf("exit %d, %s", code, errs.String())
	}
	if want := "\x1b[31m-the lock of step01_setnx\x1b[0m\n\x1b[32m+the lock of step02_expire\x1b[0m\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("stdout %q", out.String())
	}
}

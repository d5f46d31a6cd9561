package main

import (
	"bytes"
	"strings"
	"testing"
)

func testFileOf(names ...string) string {
	text := "package redislock\n\nimport \"testing\"\n"
	for _, name := range names {
		text += "\nfunc " + name + "(t *testing.T) {}\n"
	}
	return text
}

func TestNamedStories_AreFoundOrRefused(t *testing.T) {
	root := inCourse(t)
	for _, s := range steps {
		put(t, root, s.dir, newFile, "package redislock\n")
		put(t, root, s.dir, "bug_test.go", testFileOf("TestBug"))
		for _, f := range guarantees(s) {
			put(t, root, s.dir, f.name, testFileOf("Test_"+strings.TrimSuffix(f.name, ".go")))
		}
	}
	for args, want := range map[string]string{
		"red 3 TestNone":                    "step03_atomic_set has no test TestNone; list them: go test -list . ./step03_atomic_set\n",
		"green 3 TestNone":                  "step03_atomic_set has no test TestNone",
		"green 3 Test_owner_release_test":   "has no test",
		"red 3 Test_crashed_holder_test":    "red 3 runs the stories of 3_atomic_acquire_test.go. Test_crashed_holder_test stands in 2_crashed_holder_test.go, which begins in step 02: ask red 2",
		"red 7 Test_waiting_test":           "which begins in step 06: ask red 6",
		"red 7 Test_lost_test":              "which needs what the lock of step 06 has not: Lost, ValidUntil, Do, MaxHold, ErrLost, ErrNotRun",
		"red 3 TestBug":                     "TestBug stands in bug_test.go, which is not run red",
		"red 3 Test_atomic_acquire_test/ab": "has no test Test_atomic_acquire_test/ab",
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), strings.Fields(args), console{out: &out, err: &errs})
		if code != 2 || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%q: exit %d, stdout %q, stderr %q, want %q", args, code, out.String(), errs.String(), want)
		}
	}

	tr := &tour{root: root}
	list, err := tr.findNamed(steps[5], []string{"Test_waiting_test", "TestBug", "Test_reentrant_test"})
	if err != nil || filesOfNamed(list) != "6_waiting_test.go, bug_test.go, 6_reentrant_test.go" {
		t.Errorf("found %v, %v", list, err)
	}
	for _, n := range list {
		if err := canBeRed(steps[5], n); (err == nil) != (n.name != "TestBug") {
			t.Errorf("%s: %v", n.name, err)
		}
	}
}

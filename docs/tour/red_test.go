package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

func TestRed_TheLeadInFull_TheOthersInShort_ControlsAsANumber(t *testing.T) {
	buildsMany(t)
	inMini(t)
	out := shows(t, "red 3", 0,
		"red: 3_atomic_acquire_test.go on the lock of step 02 (SETNX, then PEXPIRE; DEL)\n", strings.Join(wrap(columns, course.Steps[1].Words), "\n"),
		"  FAIL  TestLeadAtomic_acquire/two_of\n          0.1ms  alice  SET 02 two_of\n\n"+
			"    the lock of 2 lacks what 3 has\n    expected: nil   got: ErrNotHeld\n    (other variants fail as well: three)\n\n",
		"  FAIL  TestOtherAtomic_acquire\n    the lock of 2 lacks what 3 has\n\n",
		"  Passing on the lock of step 02 as well, as the comments say: 1 story.",
		"these failures show what is wrong with the lock of step 02. Step 03 fixes it.", "try 3", "diff 3", "green 3")
	require.NotContains(t, out, "TestControl")
	require.Equal(t, 1, strings.Count(out, "TestLeadAtomic_acquire"))

	shows(t, "red 3 -all", 0, "FAIL  TestOtherAtomic_acquire\n          0.1ms")
	shows(t, "red 3 TestOtherAtomic_acquire TestControlAtomic_acquire", 0,
		"FAIL  TestOtherAtomic_acquire\n          0.1ms", "ok    TestControlAtomic_acquire (also passes")
	shows(t, "red 1", 0, "on the lock everyone writes first", "alice  SET 00")
}

func TestRed_ALeadOfEachFile(t *testing.T) {
	buildsMany(t)
	inMini(t)
	shows(t, "red 6", 0, "red: 6_reentrant_test.go, 6_waiting_test.go on", "FAIL  TestLeadReentrant/two_of\n          0.1ms", "FAIL  TestOtherReentrant\n    the lock",
		"FAIL  TestLeadWaiting/two_of\n          0.1ms", "FAIL  TestOtherWaiting\n    the lock", "Passing on the lock of step 05 as well, as the comments say: 2 stories.")
	out := shows(t, "red fencing", 0, "red: fencing_test.go on the resources without the check", "the lock of 0 lacks what 9 has")
	require.NotContains(t, out, "tour try")
}

func TestRed_WhatIsNotTheLessonIsAnError(t *testing.T) {
	buildsMany(t)
	root := inOwnMini(t)
	file := root + "/step03_atomic_set/3_atomic_acquire_test.go"
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	with := func(body string) string {
		return strings.Replace(string(text), "{ story(t, 3) }\n\n//", "{ "+body+" }\n\n//", 1)
	}
	for _, tt := range []struct{ src, want string }{
		{with("story(t, 0)"), `TestOtherAtomic_acquire passes on the lock of step 02: make it fail there, or let its comment say "Also passes on ..."`},
		{with("panic(`oh`)"), "TestOtherAtomic_acquire did not end with an assertion: panic: oh"},
		{strings.Replace(string(text), "Also passes on", "Passes on", 1), "TestControlAtomic_acquire passes on the lock of step 02"},
		{strings.Replace(string(text), "TestOther", "// Also passes on step 02: no\nfunc TestX(t *testing.T) { story(t, 3) }\n\nfunc TestOther", 1), `TestX failed on the lock of step 02, but its comment says "Also passes on ..."`},
	} {
		src := strings.Replace(tt.src, "func // ", "// ", 1)
		require.NoError(t, os.WriteFile(file, []byte(src), 0o666))
		shows(t, "red 3", 1, "red 3 is not red as expected", tt.want)
	}
	require.NoError(t, os.WriteFile(file, []byte("package redislock\n"), 0o666))
	shows(t, "red 3", 1, "3_atomic_acquire_test.go has no story")
	require.NoError(t, os.Remove(file))
	shows(t, "red 3", 1, "cannot list the stories of step03_atomic_set/3_atomic_acquire_test.go")
}

func TestNamed_OnlyWhatCanRun(t *testing.T) {
	inMini(t)
	for args, want := range map[string]string{
		"red 3 TestNone":                      "red 3 has no TestNone in 3_atomic_acquire_test.go",
		"red 3 TestOtherAtomic_aquire":        "has no TestOtherAtomic_aquire in 3_atomic_acquire_test.go (did you mean TestOtherAtomic_acquire?)",
		"green 3 TestNone":                    "green 3 has no TestNone in 1_mutual_exclusion_test.go, 2_",
		"red 3 TestOtherCrashed_holder":       "red 3 has no TestOtherCrashed_holder in 3_atomic_acquire_test.go",
		"red 7 TestLeadLost":                  "red 7 has no TestLeadLost in 7_watchdog_test.go",
		"red 3 TestBug":                       "red 3 has no TestBug",
		"red fencing TestLeadLock":            "red fencing has no TestLeadLock in fencing_test.go",
		"red 3 TestLeadAtomic_acquire/two_of": "has no TestLeadAtomic_acquire/two_of",
	} {
		out, errs, code := tourOf(t, args)
		require.Equal(t, 2, code, args)
		require.Empty(t, out, args)
		inOrder(t, errs, want)
	}
}

func TestGreen(t *testing.T) {
	buildsMany(t)
	inMini(t)
	out := shows(t, "green 7", 0, "green: 7_watchdog_test.go, 7_lost_test.go on the lock of step 07",
		"  ok    TestLeadWatchdog\n          0.1ms  alice  SET 07 one\n\n", "  ok    TestControlWatchdog\n", "TestLeadLost",
		"All 29 tests passed.\n  What step07_watchdog guarantees now:\n\n    1_mutual_exclusion_test.go  of clients", "still broken: The master")
	require.NotContains(t, out, "TestLeadWaiting")
	shows(t, "green 7 TestBug TestLeadWaiting", 0, "green: bug_test.go, 6_waiting_test.go on the lock of step 07", "ok    TestBug", "ok    TestLeadWaiting")

	root := inOwnMini(t)
	require.NoError(t, write(root+"/step02_expire/bug_test.go", "package redislock\n\nimport \"testing\"\n\nfunc TestBug(t *testing.T) { story(t, 3) }\n"))
	shows(t, "green 2", 1, "FAIL  TestBug\n          0.1ms", "the lock of 2 lacks what 3 has", "green 2 failed:\n  TestBug\n")
	shows(t, "green 2 TestBug", 1, "FAIL  TestBug", "green 2 failed:\n  TestBug\n")
	require.NoError(t, write(root+"/step02_expire/2_crashed_holder_test.go", "//go:build never\n\n"+miniStories("redislock", "Crashed_holder", 2)))
	shows(t, "green 2", 1, "ERROR TestLeadCrashed_holder\n    no test ran\n", "green 2 failed:\n  TestLeadCrashed_holder\n")
}

func TestTheCourse(t *testing.T) {
	buildsMany(t)
	inMini(t)
	var out strings.Builder
	tr, ctx, err := newTour(t.Context(), console{out: &out, err: &out})
	require.NoError(t, err)
	defer tr.Close()
	require.NoError(t, tr.runCourse(ctx, []course.Step{course.Steps[0], course.Steps[7], course.Epilogue}))
	inOrder(t, out.String(), "== step 01: SETNX =", "FAIL  TestLeadMutual_exclusion/two_of\n          0.1ms", "FAIL  TestOtherMutual_exclusion\n", "ok    TestControlMutual_exclusion (also passes",
		"Red, as expected", "green: 1_mutual_exclusion_test.go", "ok    TestLeadMutual_exclusion\n          0.1ms  alice  SET 01 two_of\n\n",
		"still broken: A holder that dies", "== step 08", "== epilogue: fencing tokens =", "ok    TestLeadFencing\n", "What to run next:")
	require.NotContains(t, out.String(), "ok    TestOther")
}

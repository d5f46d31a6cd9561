package main

import (
	"slices"
	"strings"
	"testing"
)

// What the testing package and testify print, captured.
const (
	outAssertion = "=== RUN   TestA\n" +
		"    4_owner_release_test.go:3: \n" +
		"        \tError Trace:\t/somewhere/4_owner_release_test.go:3\n" +
		"        \t            \t\t\t\t/somewhere/lab_test.go:9\n" +
		"        \tError:      \tReceived unexpected error:\n" +
		"        \t            \tx\n" +
		"        \tTest:       \tTestA\n" +
		"        \tMessages:   \tbob got in\n" +
		"        \t            \twhile alice was in\n" +
		"    lab_test.go:3: late holder: timeline (virtual time):\n" +
		"          0s  alice  SET a\n" +
		"        \n" +
		"          1s  bob    panic: is only text here\n" +
		"        \n" +
		"--- FAIL: TestA (0.00s)\nFAIL\n"

	outNoMessage = "=== RUN   TestA\n" +
		"    4_owner_release_test.go:3: \n" +
		"        \tError Trace:\t/somewhere/4_owner_release_test.go:3\n" +
		"        \tError:      \tNot equal: \n" +
		"        \t            \texpected: 1\n" +
		"        \t            \tactual  : 2\n" +
		"        \tTest:       \tTestA\n" +
		"--- FAIL: TestA (0.00s)\nFAIL\n"

	outPlain = "=== RUN   TestA\n    a_test.go:6: bob got in\n        while alice was in\n--- FAIL: TestA (0.00s)\nFAIL\n"

	outPass = "=== RUN   TestA\n    lab_test.go:3: timeline (virtual time):\n          0s  alice  SET a\n" +
		"--- PASS: TestA (0.00s)\nPASS\n"

	outVariants = "=== RUN   TestA\n" +
		"=== RUN   TestA/one\n    lab_test.go:6: timeline (virtual time):\n          1\n" +
		"=== RUN   TestA/two_of\n" +
		"    lab_test.go:6: timeline (virtual time):\n          2\n" +
		"    a_test.go:6: \n        \tError Trace:\t/somewhere/a_test.go:6\n        \tError:      \tShould be true\n" +
		"        \tTest:       \tTestA/two_of\n        \tMessages:   \ttwo is lost\n" +
		"=== RUN   TestA/two_of/deep\n    a_test.go:6: plain\n        more\n" +
		"=== NAME  TestA/two_of\n    a_test.go:6: after\n" +
		"--- FAIL: TestA (0.00s)\n    --- PASS: TestA/one (0.00s)\n    --- FAIL: TestA/two_of (0.00s)\n" +
		"        --- FAIL: TestA/two_of/deep (0.00s)\nFAIL\n"

	outGoexit = "=== RUN   TestA\n" +
		"    a_test.go:6: \n        \tError Trace:\t/somewhere/a_test.go:6\n        \tError:      \tShould be true\n" +
		"        \tTest:       \tTestA\n        \tMessages:   \tbob got in\n" +
		"    testing.go:1913: test executed panic(nil) or runtime.Goexit: subtest may have called FailNow on a parent test\n" +
		"--- FAIL: TestA (0.00s)\nFAIL\n"

	// t.Skip of the outer t inside a bubble
	outSkipInBubble = "=== RUN   TestA\n    a_test.go:7: needs a fault that a real server has not\n" +
		"    testing.go:1913: test executed panic(nil) or runtime.Goexit: subtest may have called FailNow on a parent test\n" +
		"--- FAIL: TestA (0.00s)\nFAIL\n"

	outSkip = "=== RUN   TestA\n    a_test.go:7: needs a fault that a real server has not\n--- SKIP: TestA (0.00s)\nPASS\n"

	outDeadlock = "=== RUN   TestA\n    lab_test.go:5: timeline (virtual time):\n          0s alice\n--- FAIL: TestA (0.00s)\n" +
		"panic: deadlock: all goroutines in bubble are blocked [recovered, repanicked]\n\ngoroutine 23 [running]:\n" +
		"testing.tRunner.func1.2({0x642d00, 0x2d479832c1b0})\n"

	outPanic = "=== RUN   TestA\n--- FAIL: TestA (0.00s)\npanic: assignment to entry in nil map [recovered, repanicked]\n\n" +
		"goroutine 21 [running]:\n"

	outPanicAfterAssertion = "=== RUN   TestA\n    a_test.go:6: \n        \tError Trace:\t/somewhere/a_test.go:6\n" +
		"        \tError:      \tShould be true\n--- FAIL: TestA (0.00s)\n" +
		"panic: deadlock: main bubble goroutine has exited but blocked goroutines remain [recovered, repanicked]\n"

	outFatal = "=== RUN   TestA\nfatal error: concurrent map writes\n\ngoroutine 9 [running]:\n"

	outFatalInGoexit = "=== RUN   TestA\n    a_test.go:6: \n        \tError Trace:\t/somewhere/a_test.go:6\n" +
		"        \tError:      \tShould be true\n        \tTest:       \tTestA\n" +
		"\tfatal error: sync: unlock of unlocked mutex\n\ngoroutine 24 [running]:\n"

	outTimeout = "=== RUN   TestA\npanic: test timed out after 1m0s\n\trunning tests:\n\t\tTestA (1m0s)\n\ngoroutine 20 [running]:\n"

	outNoTests = "testing: warning: no tests to run\nPASS\n"

	outBare = "=== RUN   TestA\n--- FAIL: TestA (0.00s)\nFAIL\n"

	outBareTimeline = "=== RUN   TestA\n    lab_test.go:5: timeline (virtual time):\n          0s alice\n--- FAIL: TestA (0.00s)\nFAIL\n"

	outRace = "=== RUN   TestA\n==================\nWARNING: DATA RACE\n==================\n" +
		"    a_test.go:6: \n        \tError Trace:\t/somewhere/a_test.go:6\n        \tError:      \tShould be true\n" +
		"    testing.go:1712: race detected during execution of test\n--- FAIL: TestA (0.00s)\nFAIL\n"

	outCutOff = "=== RUN   TestA\n    lab_test.go:5: timeline (virtual time):\n          0s alice\n"
)

func TestJudge(t *testing.T) {
	for _, tt := range []struct {
		name string
		out  string
		exit int
		want verdict
		why  string
	}{
		{"assertion", outAssertion, 1, failed, ""},
		{"assertion without a message", outNoMessage, 1, failed, ""},
		{"t.Error", outPlain, 1, failed, ""},
		{"variants", outVariants, 1, failed, ""},
		{"FailNow of the outer t in a bubble", outGoexit, 1, failed, ""},
		{"CRLF", strings.ReplaceAll(outAssertion, "\n", "\r\n"), 1, failed, ""},
		{"pass", outPass, 0, passed, ""},
		{"skip", outSkip, 0, skipped, "a fault that a real server has not"},
		{"skip of the outer t in a bubble", outSkipInBubble, 1, silent, "Goexit"},
		{"panic", outPanic, 2, crashed, "nil map"},
		{"deadlock", outDeadlock, 2, crashed, "deadlock"},
		{"panic after an assertion", outPanicAfterAssertion, 2, crashed, "deadlock"},
		{"panic, whatever the exit status", outPanic, 1, crashed, "nil map"},
		{"fatal error", outFatal, 2, crashed, "concurrent map writes"},
		{"fatal error while the test ends", outFatalInGoexit, 2, crashed, "unlock of unlocked mutex"},
		{"odd exit status", outAssertion, 3, crashed, "exit status 3"},
		{"killed", outCutOff, -1, crashed, "exit status -1"},
		{"exit in the middle", outCutOff, 1, crashed, "ended before"},
		{"time-out", outTimeout, 2, timedOut, "timed out after 1m0s"},
		{"no tests", outNoTests, 0, notRun, "no test ran"},
		{"another test", strings.ReplaceAll(outAssertion, "TestA", "TestAB"), 1, notRun, "no test ran"},
		{"t.Fail", outBare, 1, silent, "without an assertion"},
		{"t.Fail and a timeline", outBareTimeline, 1, silent, "without an assertion"},
		{"data race", outRace, 1, silent, "race detected"},
	} {
		v, why := judge(parseOutput(tt.out), tt.exit, "TestA")
		if v != tt.want {
			t.Errorf("%s: verdict %d (%s), want %d", tt.name, v, why, tt.want)
		}
		if !strings.Contains(why, tt.why) || (why == "") != (tt.why == "") {
			t.Errorf("%s: reason %q, want one about %q", tt.name, why, tt.why)
		}
	}
}

func TestTimelineAndMessage(t *testing.T) {
	tr := parseOutput(outAssertion)
	r := tr.find("TestA")
	want := []string{"late holder: timeline (virtual time):", "  0s  alice  SET a", "", "  1s  bob    panic: is only text here"}
	if got := r.timeline(); !slices.Equal(got, want) {
		t.Errorf("timeline %q, want %q", got, want)
	}
	if got := r.messages(); !slices.Equal(got, []string{"bob got in\nwhile alice was in"}) {
		t.Errorf("messages %q", got)
	}
}

func TestMessage_WithoutOneTheErrorSpeaks(t *testing.T) {
	for out, want := range map[string]string{
		outNoMessage: "Not equal: \nexpected: 1\nactual  : 2",
		outPlain:     "bob got in\nwhile alice was in",
	} {
		tr := parseOutput(out)
		if got := tr.find("TestA").messages(); !slices.Equal(got, []string{want}) {
			t.Errorf("messages %q, want %q", got, want)
		}
	}
}

func TestFailedLeaves(t *testing.T) {
	tr := parseOutput(outVariants)
	var names []string
	for _, r := range tr.failedLeaves("TestA") {
		names = append(names, r.name)
	}
	if want := []string{"TestA/two_of", "TestA/two_of/deep"}; !slices.Equal(names, want) {
		t.Errorf("failed leaves %q, want %q", names, want)
	}
	two := tr.find("TestA/two_of")
	if got := two.timeline(); !slices.Equal(got, []string{"timeline (virtual time):", "  2"}) {
		t.Errorf("timeline of the variant %q", got)
	}
	if got := two.messages(); !slices.Equal(got, []string{"two is lost"}) {
		t.Errorf("messages of the variant %q", got)
	}
}

func TestParallelTestsKeepTheirOwnLines(t *testing.T) {
	tr := parseOutput("=== RUN   TestK\n=== PAUSE TestK\n=== RUN   TestL\n=== PAUSE TestL\n=== CONT  TestK\n" +
		"    p_test.go:14: of k\n=== CONT  TestL\n    p_test.go:15: of l\n--- FAIL: TestL (0.00s)\n" +
		"=== NAME  TestK\n    p_test.go:14: again k\n--- PASS: TestK (0.00s)\nFAIL\n")
	if v, _ := judge(tr, 1, "TestK"); v != passed {
		t.Errorf("TestK: verdict %d, want passed", v)
	}
	if v, _ := judge(tr, 1, "TestL"); v != failed {
		t.Errorf("TestL: verdict %d, want failed", v)
	}
	if got := tr.find("TestK").lastText(); got != "again k" {
		t.Errorf("last text of TestK %q", got)
	}
}

// resultOf judges captured output of TestA.
func resultOf(out string, exit int, control bool) result {
	tr := parseOutput(out)
	v, why := judge(tr, exit, "TestA")
	return result{story{"TestA", control}, v, why, tr}
}

func TestCheckRed(t *testing.T) {
	red, ok := resultOf(outAssertion, 1, false), resultOf(outPass, 0, true)
	for _, tt := range []struct {
		name    string
		results []result
		want    string // "" is red
	}{
		{"red", []result{red, ok}, ""},
		{"a story passes", []result{red, resultOf(outPass, 0, false)}, "TestA passes on the lock of step 03"},
		{"a control fails", []result{red, resultOf(outAssertion, 1, true)}, "TestA is a control"},
		{"a panic", []result{red, resultOf(outPanic, 2, false)}, "panic: assignment"},
		{"a control panics", []result{red, resultOf(outPanic, 2, true)}, "panic: assignment"},
		{"a time-out", []result{red, resultOf(outTimeout, 2, false)}, "timed out"},
		{"a skip", []result{red, resultOf(outSkip, 0, false)}, "skipped"},
		{"a skipped control", []result{red, resultOf(outSkip, 0, true)}, "skipped"},
		{"no test", []result{red, resultOf(outNoTests, 0, false)}, "no test ran"},
		{"controls only", []result{ok}, "no story failed"},
	} {
		err := checkRed(steps[3], tt.results)
		switch {
		case tt.want == "" && err != nil:
			t.Errorf("%s: %v", tt.name, err)
		case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestCheckGreen(t *testing.T) {
	for _, tt := range []struct {
		name, out string
		exit      int
		want      string
	}{
		{"pass", outPass, 0, ""},
		{"assertion", outAssertion, 1, "TestA"},
		{"panic", outPanic, 2, "nil map"},
		{"no test", outNoTests, 0, "TestA: no test ran"},
		{"exit status", outPass, 1, "exit status 1"},
	} {
		r := resultOf(tt.out, tt.exit, false)
		g := greenRun{log: r.log, exit: tt.exit, files: []testFile{{name: "a"}}, stories: map[string][]result{"a": {r}}}
		err := checkGreen(steps[0], g)
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestTimeline_OfSeveralTheLast(t *testing.T) {
	tr := parseOutput("=== RUN   TestA\n    lab_test.go:3: timeline (virtual time):\n          first\n" +
		"    lab_test.go:3: timeline (virtual time):\n          second\n" +
		"    lab_test.go:3: timeline (virtual time):\n        \n--- PASS: TestA (0.00s)\nPASS\n")
	if got := tr.find("TestA").timeline(); !slices.Equal(got, []string{"timeline (virtual time):", "  second"}) {
		t.Errorf("timeline %q", got)
	}
}

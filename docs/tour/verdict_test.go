package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
)

// oddTests end in every way a test can end. What testify and the race detector print is
// printed here by hand.
const oddTests = `package redislock

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

const testify = "\n\tError Trace:\t/somewhere/a_test.go:3\n\tError:      \tNot equal:\n\t            \texpected: 1\n"

func TestVerdict(t *testing.T) { story(t, 9) }
func TestAround(t *testing.T)  { t.Error(testify + "\tTest:       \tTestA\n\tMessages:   \tbob got in\n\t            \twhile alice was in\n") }
func TestNoMessage(t *testing.T) { t.Error(testify + "\tTest:       \tTestA\n") }
func TestOuterFailNow(t *testing.T) {
	synctest.Test(t, func(*testing.T) { t.Error(testify); t.FailNow() })
}
func TestOuterSkip(t *testing.T) { synctest.Test(t, func(*testing.T) { t.Skip("needs a failover") }) }
func TestVariants(t *testing.T) {
	t.Run("one", func(t *testing.T) { story(t, 0) })
	t.Run("two", func(t *testing.T) {
		t.Run("deep", func(t *testing.T) { story(t, 9) })
		t.Error(testify)
	})
	t.Run("three", func(t *testing.T) { t.Run("deep", func(t *testing.T) { story(t, 9) }) })
}
func TestOneSilentVariant(t *testing.T) {
	t.Run("one", func(t *testing.T) { story(t, 9) })
	t.Run("two", func(t *testing.T) { t.Fail() })
}
func TestPassed(t *testing.T)  { story(t, 0) }
func TestSkipped(t *testing.T) { t.Skip("needs a clock that jumps") }
func TestBare(t *testing.T)    { t.Fail() }
func TestRace(t *testing.T)    { story(t, 9); t.Error("race detected during execution of test") }
func TestPanic(t *testing.T)   { story(t, 9); panic("nil map") }
func TestDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { story(t, 9); go func() { select {} }() })
}
func TestFatal(t *testing.T) {
	m := map[int]int{}
	for range 4 {
		go func() {
			for i := 0; ; i++ {
				m[i%9] = i
			}
		}()
	}
	time.Sleep(10 * time.Second)
}
func TestExit3(t *testing.T) { story(t, 9); os.Exit(3) }
func TestExit1(t *testing.T) { fmt.Println("panic: is only text here"); os.Exit(1) }
func TestExit0(t *testing.T) { os.Exit(0) }
func TestSlow(t *testing.T)  { time.Sleep(time.Minute) }
func TestParallel(t *testing.T) {
	for _, k := range []int{0, 9} {
		t.Run(fmt.Sprint(k), func(t *testing.T) { t.Parallel(); fmt.Println("of nobody"); story(t, k) })
	}
}
`

func TestVerdicts(t *testing.T) {
	buildsMany(t)
	root := inOwnMini(t)
	require.NoError(t, write(root+"/step03_atomic_set/odd_test.go", oddTests))
	tr, ctx, err := newTour(t.Context(), console{out: new(strings.Builder), err: new(strings.Builder)})
	require.NoError(t, err)
	defer tr.close()
	bin, err := tr.build(ctx, build{dir: "step03_atomic_set", name: "odd tests"})
	require.NoError(t, err)

	for _, tt := range []struct {
		name    string
		want    verdict
		why     string
		failing string // the tests that speak
		message string // of the first
	}{
		{"TestVerdict", failed, "", "TestVerdict", "the lock of 3 lacks what 9 has"},
		{"TestAround", failed, "", "TestAround", "bob got in while alice was in"},
		{"TestNoMessage", failed, "", "TestNoMessage", "Not equal: expected: 1"},
		{"TestOuterFailNow", failed, "", "TestOuterFailNow", "Not equal: expected: 1"},
		{"TestVariants", failed, "", "TestVariants/two TestVariants/two/deep TestVariants/three/deep", "Not equal: expected: 1"},
		{"TestParallel", failed, "", "TestParallel/9", "the lock of 3 lacks what 9 has"},
		{"TestPassed", passed, "", "", ""},
		{"TestSkipped", skipped, "skipped: odd_test.go:33: needs a clock that jumps", "", ""},
		{"TestOuterSkip", silent, "Goexit", "", ""},
		{"TestOneSilentVariant", silent, "failed without an assertion", "", ""},
		{"TestBare", silent, "failed without an assertion", "", ""},
		{"TestRace", silent, "race detected", "", ""},
		{"TestPanic", crashed, "panic: nil map", "", ""},
		{"TestDeadlock", crashed, "panic: deadlock", "", ""},
		{"TestFatal", crashed, "fatal error: concurrent map writes", "", ""},
		{"TestExit3", crashed, "exit status 3", "", ""},
		{"TestExit1", crashed, "the test process ended before the test did", "", ""},
		{"TestExit0", crashed, "unexpected call to os.Exit(0)", "", ""},
		{"TestSlow", timedOut, "panic: test timed out after 1s", "", ""},
		{"TestGone", notRun, "no test ran", "", ""},
	} {
		log, err := bin.run(ctx, "1s", nil, story{name: tt.name})
		require.NoError(t, err, tt.name)
		r := log.judge(story{name: tt.name})
		require.Equal(t, tt.want, r.verdict, "%s: %s\n%s", tt.name, r.why, log.raw)
		require.Contains(t, r.why, tt.why, tt.name)
		require.Equal(t, tt.want == passed || tt.want == failed, r.why == "", tt.name)
		require.NotContains(t, log.raw, "ARTIFACTS", tt.name)
		if tt.failing == "" {
			continue
		}
		var names []string
		for _, ts := range log.failing(tt.name) {
			names = append(names, ts.name)
		}
		require.Equal(t, tt.failing, strings.Join(names, " "))
		require.Equal(t, tt.message, strings.Join(log.failing(tt.name)[0].message(), "|"), tt.name)
	}

	// One that crashes takes the others of its process along. Then each runs alone.
	for _, name := range []string{"TestPanic", "TestExit1"} {
		results, err := bin.runAll(ctx, []story{{name: "TestVerdict"}, {name: name}, {name: "TestPassed"}})
		require.NoError(t, err)
		require.Equal(t, []verdict{failed, crashed, passed}, []verdict{results[0].verdict, results[1].verdict, results[2].verdict})
	}
}

func TestOutcome_ABareNumberSaysNothing(t *testing.T) {
	failed := &test{verdicts: []trace.Record{{Wanted: "5", Got: "6"}, {Text: "only says"}, {Wanted: "ok", Got: "ErrNotHeld"}}}
	require.Equal(t, []string{"expected: ok   got: ErrNotHeld"}, failed.outcome())
}

func TestBroken_ShowsThePanic(t *testing.T) {
	var out strings.Builder
	log := transcript{exit: 2, raw: "=== RUN   TestA\nof before\npanic: oh\n\ngoroutine 1\n", tests: []*test{{name: "TestA", timeline: "timeline:\n  1"}}}
	console{out: &out}.failure(log.judge(story{name: "TestA"}), whole)
	require.Equal(t, "  ERROR TestA\n    panic: oh\n    timeline:\n      1\n\n    panic: oh\n\n    goroutine 1\n\n", out.String())
}

func TestControls(t *testing.T) {
	root := t.TempDir()
	require.NoError(t, write(root+"/x_test.go", `package p

import "testing"

// TestA is one.
//
// Also passes on step 00, because the lock has no part in it.
func TestA(t *testing.T) {}

// TestB says in the middle of a line that it Also passes on step 00.
func TestB(t *testing.T) {}
`))
	tr := &tour{root: root}
	list, err := tr.storiesOf("", "x_test.go")
	require.NoError(t, err)
	require.Equal(t, []story{{"TestA", "x_test.go", true}, {"TestB", "x_test.go", false}}, list)
}

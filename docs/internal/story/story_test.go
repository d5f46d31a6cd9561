package story

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// oneFile makes a repository of one test file, in a folder p.
func oneFile(t *testing.T, text string) *Builder {
	t.Helper()
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("p", 0o777))
	require.NoError(t, os.WriteFile("go.mod", []byte("module "+course.Module+"\n\ngo 1.26\n"), 0o666))
	require.NoError(t, os.WriteFile("p/odd_test.go", []byte(text), 0o666))
	b, _, err := NewBuilder(t.Context())
	require.NoError(t, err)
	t.Cleanup(b.Close)
	return b
}

// oddTests end in every way a test can end. What testify and the race detector print is
// printed here by hand.
const oddTests = `package p

import (
	"fmt"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// story fails as one of the test harness does.
func story(t *testing.T, fails bool) {
	if fails {
		os.WriteFile(t.ArtifactDir()+"/trace.jsonl", []byte("{\"kind\":\"verdict\",\"text\":\"bob is inside with alice\"}\n"), 0o666)
		t.Error("as the verdict says")
	}
}

const testify = "\n\tError Trace:\t/somewhere/a_test.go:3\n\tError:      \tNot equal:\n\t            \texpected: 1\n"

func TestVerdict(t *testing.T) { story(t, true) }
func TestAround(t *testing.T)  { t.Error(testify + "\tTest:       \tTestA\n\tMessages:   \tbob got in\n\t            \twhile alice was in\n") }
func TestNoMessage(t *testing.T) { t.Error(testify + "\tTest:       \tTestA\n") }
func TestOuterFailNow(t *testing.T) {
	synctest.Test(t, func(*testing.T) { t.Error(testify); t.FailNow() })
}
func TestOuterSkip(t *testing.T) { synctest.Test(t, func(*testing.T) { t.Skip("needs a failover") }) }
func TestVariants(t *testing.T) {
	t.Run("one", func(t *testing.T) { story(t, false) })
	t.Run("two", func(t *testing.T) {
		t.Run("deep", func(t *testing.T) { story(t, true) })
		t.Error(testify)
	})
	t.Run("three", func(t *testing.T) { t.Run("deep", func(t *testing.T) { story(t, true) }) })
}
func TestOneSilentVariant(t *testing.T) {
	t.Run("one", func(t *testing.T) { story(t, true) })
	t.Run("two", func(t *testing.T) { t.Fail() })
}
func TestPassed(t *testing.T)  { story(t, false) }
func TestSkipped(t *testing.T) { t.Skip("needs a clock that jumps") }
func TestBare(t *testing.T)    { t.Fail() }
func TestRace(t *testing.T)    { story(t, true); t.Error("race detected during execution of test") }
func TestPanic(t *testing.T)   { story(t, true); panic("nil map") }
func TestDeadlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) { story(t, true); go func() { select {} }() })
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
func TestExit3(t *testing.T) { story(t, true); os.Exit(3) }
func TestExit1(t *testing.T) { fmt.Println("panic: is only text here"); os.Exit(1) }
func TestExit0(t *testing.T) { os.Exit(0) }
func TestSlow(t *testing.T)  { time.Sleep(time.Minute) }
func TestParallel(t *testing.T) {
	for _, k := range []bool{false, true} {
		t.Run(fmt.Sprint(k), func(t *testing.T) { t.Parallel(); fmt.Println("of nobody"); story(t, k) })
	}
}
`

func TestVerdicts(t *testing.T) {
	if os.Getenv("BUILDS") == "" {
		t.Skip("it builds. Play it as .ci/run does: BUILDS=1 go test ./docs/internal/story")
	}
	b := oneFile(t, oddTests)
	ctx := t.Context()
	bin, err := b.Compile(ctx, Build{Dir: "p", Name: "odd tests"})
	require.NoError(t, err)

	for _, tt := range []struct {
		name    string
		want    Verdict
		detail  string
		failing string // the tests that speak
		message string // of the first
	}{
		{"TestVerdict", Failed, "", "TestVerdict", "bob is inside with alice"},
		{"TestAround", Failed, "", "TestAround", "bob got in while alice was in"},
		{"TestNoMessage", Failed, "", "TestNoMessage", "Not equal: expected: 1"},
		{"TestOuterFailNow", Failed, "", "TestOuterFailNow", "Not equal: expected: 1"},
		{"TestVariants", Failed, "", "TestVariants/two TestVariants/two/deep TestVariants/three/deep", "Not equal: expected: 1"},
		{"TestParallel", Failed, "", "TestParallel/true", "bob is inside with alice"},
		{"TestPassed", Passed, "", "", ""},
		{"TestSkipped", Skipped, "odd_test.go:41: needs a clock that jumps", "", ""},
		{"TestOuterSkip", Silent, "Goexit", "", ""},
		{"TestOneSilentVariant", Silent, "", "", ""},
		{"TestBare", Silent, "", "", ""},
		{"TestRace", Silent, "race detected", "", ""},
		{"TestPanic", Crashed, "panic: nil map", "", ""},
		{"TestDeadlock", Crashed, "panic: deadlock", "", ""},
		{"TestFatal", Crashed, "fatal error: concurrent map writes", "", ""},
		{"TestExit3", Crashed, "", "", ""},
		{"TestExit1", Crashed, "", "", ""},
		{"TestExit0", Crashed, "unexpected call to os.Exit(0)", "", ""},
		{"TestSlow", TimedOut, "panic: test timed out after 1s", "", ""},
		{"TestGone", NotRun, "", "", ""},
	} {
		log, err := bin.Run(ctx, "1s", nil, Story{Name: tt.name})
		require.NoError(t, err, tt.name)
		r := log.Judge(Story{Name: tt.name})
		require.Equal(t, tt.want, r.Verdict, "%s: %s\n%s", tt.name, r.Detail, log.Raw)
		require.Contains(t, r.Detail, tt.detail, tt.name)
		require.Equal(t, tt.detail == "", r.Detail == "", tt.name)
		require.NotContains(t, log.Raw, "ARTIFACTS", tt.name)
		if tt.failing == "" {
			continue
		}
		var names []string
		for _, ts := range log.Failing(tt.name) {
			names = append(names, ts.Name)
		}
		require.Equal(t, tt.failing, strings.Join(names, " "))
		require.Equal(t, tt.message, strings.Join(log.Failing(tt.name)[0].Message(), "|"), tt.name)
	}

	// One that crashes takes the others of its process along. Then each runs alone.
	for _, name := range []string{"TestPanic", "TestExit1"} {
		results, err := bin.Play(ctx, Story{Name: "TestVerdict"}, Story{Name: name}, Story{Name: "TestPassed"})
		require.NoError(t, err)
		require.Equal(t, []Verdict{Failed, Crashed, Passed}, []Verdict{results[0].Verdict, results[1].Verdict, results[2].Verdict})
	}
}

func TestControls(t *testing.T) {
	b := oneFile(t, `package p

import "testing"

// TestA is one.
//
// Also passes on step 00, because the lock has no part in it.
func TestA(t *testing.T) {}

// TestB says in the middle of a line that it Also passes on step 00.
func TestB(t *testing.T) {}
`)
	list, err := b.Stories("p", "odd_test.go")
	require.NoError(t, err)
	require.Equal(t, []Story{{"TestA", "odd_test.go", true, false}, {"TestB", "odd_test.go", false, false}}, list)
}

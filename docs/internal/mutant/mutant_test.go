package mutant

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/alicebob/miniredis/v2"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A package that needs little else, in two files.
const small = `package small

const most = 10

// clamp returns n, at most "most" of them and at least none.
func clamp(n int) (clamped int) {
	defer func() { calls++ }()
	if n > most || n == 7 && lucky() { // seven is as good
		return most
	}
	clamped = max(n, 0)
	calls++
	return clamped
}

var calls int

func lucky() bool { return true }

// twice asks double, which counts how often.
func twice(n int) int {
	double(n)
	return double(n)
}

func double(n int) int { doubled++; return n + n }

var doubled int

// full reports whether there was no room left; asking takes some.
func full() bool { return room() < 1 }

func room() int { taken++; return 3 - taken }

var taken int
`

const smallMore = `package small

func again(n int) int { return clamp(clamp(n)) }
`

const smallTest = `package small

import "testing"

func TestClamp(t *testing.T) {
	for n, want := range map[int]int{-1: 0, 5: 5, 7: 10, 10: 10, 11: 10} {
		if got := clamp(n); got != want {
			t.Errorf("%d: %d", n, got)
		}
	}
	if calls != 8 {
		t.Errorf("%d calls", calls)
	}
}

func TestTwice(t *testing.T) {
	if twice(0) != 0 || doubled != 2 {
		t.Errorf("%d calls", doubled)
	}
	if doubled = 0; twice(1) != 2 {
		t.Error("not twice")
	}
}

func TestFull(t *testing.T) {
	if full() || full() || !full() {
		t.Error("there is room for two")
	}
}

func TestAgain(t *testing.T) {
	if calls = 0; again(5) != 5 || calls != 4 {
		t.Errorf("%d calls", calls)
	}
}

func TestLucky(t *testing.T) {
	if !lucky() {
		t.Error("out of luck")
	}
}
`

// builds skips a test that builds: go test ./... is to take seconds.
func builds(t *testing.T) {
	t.Helper()
	if os.Getenv("BUILDS") == "" {
		t.Skip("it builds. Play it as .ci/run does: BUILDS=1 go test ./docs/internal/mutant")
	}
}

func TestEachMutantIsASwitch_AndSaysWhenItIsReached(t *testing.T) {
	builds(t)
	dir := t.TempDir()
	write := func(files map[string][]byte) {
		for name, text := range files {
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), text, 0o666))
		}
	}
	write(map[string][]byte{
		"go.mod":  []byte("module small\n\ngo 1.26\n"),
		"lock.go": []byte(small), "more.go": []byte(smallMore), "small_test.go": []byte(smallTest),
	})
	f, err := Read(dir)
	require.NoError(t, err)
	write(f.Files)
	compile := exec.Command("go", "test", "-c", "-o", "small.test", ".")
	compile.Dir = dir
	out, err := compile.CombinedOutput()
	require.NoError(t, err, "%s\n%s\n%s", out, f.Files["lock.go"], f.Files["more.go"])
	run := func(tests string, mutant int) (out string, passed bool) {
		cmd := exec.Command("./small.test", "-test.run="+tests)
		cmd.Dir, cmd.Env = dir, append(os.Environ(), fmt.Sprintf("%s=%d", Env, mutant))
		text, err := cmd.Output()
		return string(text), err == nil
	}

	_, passed := run(".", 0)
	require.True(t, passed, "no mutant is on, and the tests fail")
	seen := map[string]bool{}
	for _, m := range f.Mutants {
		what := m.Key()
		require.False(t, seen[what], "%s twice", what)
		seen[what] = true
		_, passed := run(".", m.N)
		require.Equal(t, what == "clamp: without `lucky()`", passed, "%d: %s", m.Line, what)
	}
	for _, want := range []string{
		"clamp: without `defer func() { calls++ }()`",
		"clamp: without `calls++`",
		"clamp: without `calls++` (2)",
		"clamp: without `clamped = max(n, 0)`",
		"clamp: as if `n > most || n == 7 && lucky()` were never true",
		"clamp: as if `n > most || n == 7 && lucky()` were always true",
		"clamp: without `n > most`",
		"clamp: without `n == 7 && lucky()`",
		"clamp: without `n == 7`",
		"clamp: `n` instead of `max(n, 0)`",
		"clamp: `0` instead of `max(n, 0)`",
		"twice: `n` instead of `double(n)`", // the call is not made
		"twice: without `double(n)`",
		"again: `n` instead of `clamp(n)`", // a change of the other file
	} {
		require.Contains(t, seen, want)
	}
	require.NotContains(t, seen, "twice: `n` instead of `double(n)` (2)", "of a call that is a statement, it is taken out")

	text, passed := run("Lucky", 0)
	require.True(t, passed)
	_, list, _ := strings.Cut(text, Reached)
	var numbers []int
	require.NoError(t, json.Unmarshal([]byte(list), &numbers))
	var in []string
	for _, n := range numbers {
		in = append(in, f.Mutants[n-1].In)
	}
	require.Equal(t, []string{"lucky"}, in)
}

func TestScripts(t *testing.T) {
	for line, want := range map[string][]string{
		"if redis.call('GET', KEYS[1]) ~= ARGV[1] then": {"if false then", "if true then"},
		"\tif a and b then":                             {"if false then", "if true then", "if b then", "if a then"},
		"if a then return b end":                        {"if false then return b end", "if true then return b end"},
		"local a = b == -2 and c -- no key": {
			"local a = false", "local a = true", "local a = c", "local a = b == -2",
		},
		"\treturn 0":                                  {"return 1"},
		"\treturn 1":                                  {"return 0"},
		"return redis.call('DEL', KEYS[1])":           {"return 1"},
		"return -math.max(lease, 1) -- a lease":       {"return 0"},
		"redis.pcall('PUBLISH', KEYS[1], 'released')": {"", "redis.call('PUBLISH', KEYS[1], 'released')"},
		"end": nil,
		"-- A user without the channel's permission.": nil,
		"local lease = redis.call('PTTL', KEYS[1])":   nil,
	} {
		var got []string
		for _, c := range changes(line) {
			got = append(got, c.script)
		}
		require.Equal(t, want, got, line)
	}
}

func TestEveryChangeOfAScriptIsLua(t *testing.T) {
	rdb := redis.NewClient(&redis.Options{Addr: miniredis.RunT(t).Addr()})
	defer rdb.Close()
	script := regexp.MustCompile("Script = `([^`]*)`")
	for _, step := range []string{"step05_lua_release", "step06_reentrant", "step07_watchdog", "step08_redlock"} {
		lock, err := os.ReadFile(filepath.Join("../../..", step, "lock.go"))
		require.NoError(t, err)
		for _, found := range script.FindAllSubmatch(lock, -1) {
			list := changes(string(found[1]))
			require.NotEmpty(t, list)
			for _, c := range list {
				require.NoError(t, rdb.ScriptLoad(t.Context(), c.script).Err(), c.script)
				require.NotContains(t, c.was, "--")
			}
		}
	}
}

package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"github.com/yuin/gopher-lua/parse"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

const small = `package small

import (
	"context"
	"errors"
	"fmt"
)

const most = 10

func clamp(ctx context.Context, n int) (clamped int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5)
	defer cancel()
	if n > most || n == 7 && lucky() { // seven is as good
		return most, nil
	}
	clamped = max(n, 0)
	calls++
	select {
	case <-ctx.Done():
		return 0, fmt.Errorf("%w: %d", errors.Join(ctx.Err()), calls+n)
	default:
	}
	calls++
	return clamped, nil
}

var calls int

func lucky() bool { return true }
`

func TestChangesOfGo(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{"go.mod": "module small\n\ngo 1.26\n", "lock.go": small, "more.go": "package small\n\nvar n = 1\n\nfunc more() { n-- }\n"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	list, files, err := mutants(dir)
	require.NoError(t, err)
	var names []string
	for _, m := range list {
		names = append(names, strings.TrimPrefix(m.name, "clamp: "))
	}
	require.Equal(t, []string{
		"`context.WithCancel(ctx)` instead of `context.WithTimeout(ctx, 5)`",
		"without `defer cancel()`",
		"as if `n > most || n == 7 && lucky()` were never true", "as if `n > most || n == 7 && lucky()` were always true",
		"without `n > most`", "without `n == 7 && lucky()`", "`n >= most` instead of `n > most`", "without `n == 7`", "without `lucky()`",
		"without `clamped = max(n, 0)`", "`n` instead of `max(n, 0)`", "`0` instead of `max(n, 0)`",
		"without `calls++`",
		"without `case <-ctx.Done()`",
		"nil instead of `fmt.Errorf(\"%w: %d\", errors.Join(ctx.Err()), calls+n)`", "`%v` instead of `%w` for `errors.Join(ctx.Err())`",
		"without `calls++` (2)",
		"lucky: `false` instead of `true`",
		"more: without `n--`",
	}, names)
	require.Contains(t, string(files["lock.go"]), "\tif !mutantIs(10) { clamped = func() int { if mutantIs(11) { return n }; return func() int { if mutantIs(12) { return 0 }; return max(n, 0) }() }() }\n")
}

func TestChangesOfLua(t *testing.T) {
	for line, want := range map[string]string{
		"if redis.call('GET', KEYS[1]) ~= ARGV[1] then": "if false then|if true then",
		"\tif a and b then":                             "if false then|if true then|if b then|if a then",
		"if a then return b end":                        "if false then return b end|if true then return b end",
		"local a = b == -2 and c -- no key":             "local a = false|local a = true|local a = c|local a = b == -2",
		"\treturn 0":                                    "return 1",
		"return redis.call('DEL', KEYS[1])":             "return 1",
		"return -math.max(lease, 1) -- a lease":         "return 0",
		"redis.pcall('PUBLISH', KEYS[1], 'released')":   "|redis.call('PUBLISH', KEYS[1], 'released')",
		"local lease = redis.call('PTTL', KEYS[1])":     "",
	} {
		var got []string
		for _, c := range luaChanges(line) {
			got = append(got, c.line)
		}
		require.Equal(t, want, strings.Join(got, "|"), line)
	}
	for _, s := range course.Steps[4:] { // what is not Lua would fail for nothing
		lock, err := os.ReadFile("../../../" + s.Path())
		require.NoError(t, err)
		for _, script := range regexp.MustCompile("Script = `([^`]*)`").FindAllSubmatch(lock, -1) {
			lines := strings.Split(string(script[1]), "\n")
			for i, line := range lines {
				for _, c := range luaChanges(line) {
					changed := strings.Join(slices.Concat(lines[:i], []string{c.line}, lines[i+1:]), "\n")
					_, err := parse.Parse(strings.NewReader(changed), "")
					require.NoError(t, err, changed)
				}
			}
		}
	}
}

// Only what the lock does wrong is counted.
func TestJudge(t *testing.T) {
	const (
		inStory = "goroutine 9 [sleep, synctest bubble 1]:\nsteps.TestX.func1()\n\t/steps/1_x_test.go:7 +0x1\n"
		inLock  = "goroutine 8 [chan receive, synctest bubble 1]:\nsteps.(*Lock).Lock()\n\t/steps/lock.go:7 +0x1\n"
		byLock  = "created by steps.(*Lock).watch in goroutine 9\n\t/steps/watchdog.go:9 +0x1\n"
		byTest  = "created by steps.TestX.func1 in goroutine 9\n\t/steps/1_x_test.go:9 +0x1\n"
		stays   = "panic: deadlock: main bubble goroutine has exited but blocked goroutines remain\n\n"
		stuck   = "panic: deadlock: all goroutines in bubble are blocked\n\n"
		said    = "    1_x_test.go:7: \n        \tError Trace:\t1_x_test.go:7\n        \tError:      \tNot equal\n        \tMessages:   \tbob is inside\n"
	)
	for _, c := range []struct {
		status, raw string
		want        fate
		says        string
	}{
		{"pass", "", survives, ""},
		{"pass", stays + inLock + byLock, survives, ""}, // of another story
		{"fail", said, byStory, "bob is inside"},
		{"fail", "no assertion", survives, "it ends without an assertion: "},
		{"skip", "", survives, "it ends without an assertion: "},
		{"", "panic: nil map [recovered]\n\n" + inLock, byPanic, "the lock panics: nil map"},
		{"", "panic: nil map\n\n" + inStory, survives, "it ends without an assertion: panic: nil map"},
		{"", "panic: test timed out after 8s\n\n" + inStory, byHang, noEnd},
		{"", "panic: " + spins + "\n\n" + inStory, byHang, "the lock goes round and round"},
		{"", stuck + inStory + "\n" + inLock, byHang, "waits"},
		{"", stuck + inStory, survives, ""},
		{"", stuck + strings.ReplaceAll(inLock, ", synctest bubble 1", ""), survives, ""},
		{"", stuck + inLock + byTest, survives, ""}, // the story has ended
		{"", stays + inLock + byLock, byHang, "waits"},
		{"", stays + inLock + byTest, survives, ""},
		{"", stays + inLock + "created by time.goFunc\n\t/go/time.go:7\n", byHang, "waits"},
	} {
		s := &story.Test{Name: "TestX", Status: c.status, Output: c.raw}
		got, says := judge("steps", story.Transcript{Tests: []*story.Test{s}, Raw: c.raw, Exit: 2}, story.Story{Name: "TestX"})
		require.Equal(t, c.want, got, c.raw)
		require.Contains(t, says, c.says, c.raw)
	}
}

func TestEachSurvivorHasAReason_AndEachReasonASurvivor(t *testing.T) {
	wrong := func(text string) error {
		k := &study{step: course.Steps[4], mutants: []mutant{{name: "a", fate: byStory, story: "TestX"}, {name: "b", file: "lock.go", line: 7}}}
		return k.excuse(text)
	}
	const b = "# Text.\n\nsteps 05-07: b\n\tno one\n\tlooks\n"
	require.NoError(t, wrong(b))
	require.NoError(t, wrong(b+"step 06: a\n\tno one looks\n"))
	require.NoError(t, wrong(b+"step 05: a\n\tby chance: the order decides\n"))
	require.ErrorContains(t, wrong(""), "step 05: lock.go:7: no story needs this: b")
	require.ErrorContains(t, wrong("step 06: b\n\tno one looks\n"), "no story needs this: b")
	require.ErrorContains(t, wrong(b+"step 05: a\n\tno one looks\n"), "TestX notices what equivalent.txt says no story can: a")
	require.ErrorContains(t, wrong(b+"step 05: c\n\tno one looks\n"), "a change that the lock has not: c")
}

package main

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// A lock of two files in which each line ends in another way when it is taken out or changed.
const whyLock = `package redislock

var at = 1

type Lock struct{ n *int }

func New(rdb any, key string) *Lock { return &Lock{new(int)} }

func (l *Lock) Enter() bool {
	if l == nil {
		return false
	}
	if *l.n > 0 {
		return false
	}
	count(l.n)
	idle()
	wait()
	return true
}

func count(n *int) { *n++ }

func wait() {
	for waits := 1; waits < 1; {
	}
}
`

const whyIdle = `package redislock

var idled int

func idle() { idled++ }
`

// Its changes that no story sees, with reasons.
const whyExcuses = "step 01: Lock.Enter: without `idle()`\n\tno one looks at idled\n" +
	"step 01: Lock.Enter: without `wait()`\n\tit does not wait\n" +
	"step 01: idle: without `idled++`\n\tno one looks at idled\n"

const whyStories = `package redislock

import (
	"os"
	"testing"
)

func says(t *testing.T, ok bool, text string) {
	if !ok {
		os.WriteFile(t.ArtifactDir()+"/trace.jsonl", []byte("{\"kind\":\"verdict\",\"at\":200,\"text\":\""+text+"\"}\n"), 0o666)
		t.Fatal(text)
	}
}

// It comes first, and says nothing.
func TestMute(t *testing.T) {
	if l := New(nil, "coupons"); !l.Enter() || l.Enter() {
		t.FailNow()
	}
}

func TestTwo(t *testing.T) {
	l := New(nil, "coupons")
	says(t, l.Enter(), "alice was refused")
	says(t, !l.Enter(), "bob is inside with alice")
}

func TestNobody(t *testing.T) {
	var l *Lock
	says(t, !l.Enter(), "no one is inside")
}
`

func inWhyMini(t *testing.T) (root string) {
	t.Helper()
	root = inOwnMini(t)
	dir := filepath.Join(root, course.Steps[0].Dir)
	require.NoError(t, write(filepath.Join(dir, course.LockFile), whyLock))
	require.NoError(t, write(filepath.Join(dir, "idle.go"), whyIdle))
	require.NoError(t, write(filepath.Join(dir, course.Steps[0].File), whyStories))
	return root
}

func TestWhy(t *testing.T) {
	buildsMany(t)
	inWhyMini(t)
	shows(t, "why 1", 0, "lock.go\n    1  package redislock\n", "*  16      count(l.n)\n", "idle.go\n    1  package redislock\n",
		"*   5  func idle() { idled++ }\n", "go run ./docs/tour why 1 LINE")
	shows(t, "why 1 13", 0, "step01_setnx/lock.go:13, in Lock.Enter", "if *l.n > 0 {",
		"As if `*l.n > 0` were never true:", "FAIL  TestTwo", "bob is inside with alice",
		"As if `*l.n > 0` were always true:", "alice was refused")
	shows(t, "why 1 10", 0, "`l == nil` were never true", "TestNobody", "The lock panics: runtime error")
	shows(t, "why 1 17", 0, "Without `idle()`:", "SURVIVES, no story needs it.")
	shows(t, "why 1 25", 0, "`waits <= 1` instead of `waits < 1`:", "FAIL  TestMute", "The lock goes round and round")
	shows(t, "why 1 idle.go:5", 0, "step01_setnx/idle.go:5, in idle", "func idle() { idled++ }", "Without `idled++`:", "SURVIVES, no story needs it.")
	shows(t, "why 1 idle.go:3", 1, "idle.go:3 has nothing that can be taken out or changed", "The lines that have: go run ./docs/tour why 1")
	shows(t, "why 1 99", 1, "lock.go:99 has nothing")
	shows(t, "why 1 sleep.go:5", 1, "sleep.go:5 has nothing")
}

func TestWhyAll_ASurvivorNeedsAReasonThatIsTrue(t *testing.T) {
	buildsMany(t)
	root := inWhyMini(t)
	excuses := filepath.Join(root, excusesFile)
	_, errs, code := tourOf(t, "why -all 1")
	require.Equal(t, 1, code)
	inOrder(t, errs, "step01_setnx/lock.go:17: no story needs this: Lock.Enter: without `idle()`", "idle.go:5", "equivalent.txt")
	require.NotContains(t, errs, "without `count", "a story fails without it")

	require.NoError(t, write(excuses, whyExcuses))
	shows(t, "why -all 1", 0, "step 01: ", "on 1 the lock panics, on 1 it hangs, 3 make no difference, 0 survive")
	shows(t, "why 1 17", 0, "No difference: no one looks at idled")

	require.NoError(t, write(excuses, whyExcuses+"step 01: Lock.Enter: without `count(l.n)`\n\tno one looks\n"+
		"step 01: Lock.Enter: without `sleep()`\n\tno one looks\n"))
	shows(t, "why -all 1", 1, "equivalent.txt: on the lock of step 01, TestTwo fails: Lock.Enter: without `count(l.n)`: delete the entry",
		"equivalent.txt: the lock of step 01 has no such change: Lock.Enter: without `sleep()`")

	require.NoError(t, write(excuses, whyExcuses+"step 01: Lock.Enter: without `count(l.n)`\n\tby chance: the order decides\n"))
	shows(t, "why -all 1", 0, "0 survive")
}

func TestWhy_WrongUsage(t *testing.T) {
	inMini(t)
	for _, args := range []string{"why 9", "why fencing", "why 5 x", "why 5 0", "why 5 send.go", "why 5 send.go:x", "why 5 1 2", "why -explore 5", "why -check 5", "why -all 5 1", "why"} {
		shows(t, args, 2, "tour: ")
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

// inOwnCourse changes into a copy of what the first steps of the real course need.
func inOwnCourse(t *testing.T) {
	t.Helper()
	real, err := course.Root()
	require.NoError(t, err)
	root := t.TempDir()
	for _, dir := range []string{course.First.Dir, course.Steps[0].Dir, course.SecondDir, "docs/tour/sync"} {
		require.NoError(t, os.CopyFS(filepath.Join(root, dir), os.DirFS(filepath.Join(real, dir))))
	}
	for _, name := range []string{"go.mod", "go.sum", watchDir + "/" + watchFile} {
		require.NoError(t, write(filepath.Join(root, name), read(t, filepath.Join(real, name))))
	}
	t.Chdir(root)
}

// learner writes the lock of step 1 with something in front of the last line of TryLock. It
// returns the line on which that begins.
func learner(t *testing.T, imports, more string) int {
	t.Helper()
	src := read(t, course.Steps[0].Path())
	text := strings.ReplaceAll(src, "\r\n", "\n")
	const end = "\treturn nil\n}\n\n// Lock acquires"
	require.Equal(t, 1, strings.Count(text, end))
	text = strings.Replace(text, "import (\n", "import (\n"+imports, 1)
	before, _, _ := strings.Cut(text, end)
	work(t, strings.Replace(text, end, more+"\n"+end, 1))
	return 1 + strings.Count(before, "\n")
}

func TestTry_WhatHangsBreaksOrLeaks_IsToldByTheLineOfTheLearner(t *testing.T) {
	buildsMany(t)
	inOwnCourse(t)
	t.Setenv(watchEnv, "400ms")

	line := learner(t, "\t\"os\"\n", `	if os.Getenv("NOBODY") == "" { ; for n := 1; n > 0; n = n%7 + 1 { }; }`)
	at := fmt.Sprintf(" at mylock/lock.go:%d", line)
	shows(t, "try 1", 1, "missing  1_mutual_exclusion_test.go", "Not run, because 4 stories hang: 14 stories.", "HANGS Test", "It hangs; your code runs in a loop"+at+fmt.Sprintf("\n        lock.go:%d  if os.Getenv", line))

	learner(t, "\t\"sync\"\n", "\tstuck.Lock()\n\tif err := l.validate(); err == nil {\n\t\treturn nil\n\t}\n\tstuck.Unlock()")
	src := read(t, myLockFile)
	work(t, src+"\nvar stuck sync.Mutex\n")
	shows(t, "try 1", 1, "HANGS Test", "your code waits for a mutex"+at+"\n    Is it locked twice, or not unlocked on some way out?\n")

	line = learner(t, "\t\"os\"\n", "\tfmt.Fprintln(os.Stdout, \"the value is\", acquired)\n\tvar seen map[string]int\n\tseen[l.key] = 1")
	shows(t, "try 1 TestTwoNames_AreTwoLocks", 1, "ERROR TestTwoNames", fmt.Sprintf("Panic: assignment to entry in nil map, at mylock/lock.go:%d\n        lock.go:%[1]d  seen[l.key] = 1\n", line+2))

	learner(t, "", "\tmore(l)")
	require.NoError(t, write(myDir+"/more.go", "package redislock\n\nimport \"sync\"\n\nvar held sync.Mutex\n\nfunc more(l *Lock) {\n\theld.Lock()\n\tdefer held.Unlock()\n\theld.Lock()\n}\n"))
	shows(t, "try 1", 1, "HANGS Test", "your code waits for a mutex at mylock/more.go:10\n    Is it locked twice, or not unlocked on some way out?\n", "        more.go:10  held.Lock()\n")
	require.NoError(t, os.Remove(myDir+"/more.go"))

	learner(t, "\t\"os\"\n", "\tgo func() {\n\t\t<-make(chan int)\n\t}()\n\tfmt.Fprintln(os.Stdout, \"the value is\", acquired)")
	out := shows(t, "try 1", 1, "missing  1_mutual_exclusion_test.go", "Stories passed: 0 of 18", "LEAK  TestTheHolderLeaves",
		"A goroutine of yours never ends: started"+at, "it waits (chan receive)", "Your code has printed:\n      the value is true\n")
	require.NotContains(t, out, "step01_setnx/lock.go")
	shows(t, "hint 1", 0, "Hint 1 of 3 for TestTheHolderLeaves", "(It leaks.)", "one of your goroutines has not")
}

// stackOf is a goroutine as Go prints it.
func stackOf(state string, frames ...string) string {
	text := "goroutine 7 [" + state + "]:\n"
	for i := 0; i < len(frames); i += 2 {
		text += frames[i] + "\n\t" + frames[i+1] + " +0x1d\n"
	}
	return text + "\n"
}

func TestEndingOf(t *testing.T) {
	const (
		lock    = "C:/x/mylock/lock.go:"
		bub     = ", synctest bubble 1"
		plays   = "m.TestA.func1(0x1)"
		test    = "C:/x/a_test.go:3"
		stuck   = "\n" + noEnd + "\n"
		remains = "panic: deadlock: main bubble goroutine has exited but blocked goroutines remain [recovered, repanicked]\n\n"
	)
	inStory := stackOf("chan receive (durable)"+bub, "m.(*Lock).Lock(0x1)", lock+"49", plays, test)
	onMutex := stackOf("sync.Mutex.Lock"+bub, "sync.(*Mutex).Lock(...)", "/go/mutex.go:1", "m.(*Lock).Unlock(0x1)", lock+"80")
	for _, tt := range []struct {
		name, raw  string
		kind, says string
		lines      string // by commas
	}{
		{"waits", stuck + inStory, hangs, "it hangs; your code waits (chan receive) at mylock/lock.go:49", "mylock/lock.go:49"},
		{"windows", stuck + strings.ReplaceAll(inStory, "/", `\`), hangs, "mylock/lock.go:49", "mylock/lock.go:49"},
		{"a mutex goes first", stuck + inStory + strings.Replace(onMutex, "lock.go", "watchdog.go", 1),
			hangs, "it hangs; your code waits for a mutex at mylock/watchdog.go:80", "mylock/watchdog.go:80, mylock/lock.go:49"},
		{"the mutex that replaces it", stuck + stackOf("select (durable)"+bub, "x/sync/semaphore.(*Weighted).Acquire(0x1)", "/go/semaphore.go:1", "c/docs/tour/sync.(*Mutex).Lock(...)", "C:/x/sync.go:1", "m.(*Lock).Unlock(0x1)", lock+"80", plays, test),
			hangs, "waits for a mutex at mylock/lock.go:80", "mylock/lock.go:80"},
		{"in a call", stuck + stackOf("select (durable)"+bub, "net.(*pipe).read(0x1)", "/go/pipe.go:1", "m.(*Lock).Lock(0x1)", lock+"49", plays, test),
			hangs, "it hangs; your code is in a call, or in a loop that does not end, at mylock/lock.go:49", "mylock/lock.go:49"},
		{"elsewhere", stuck + strings.ReplaceAll(inStory, "mylock", "step05"), hangs, "it hangs in m.(*Lock).Lock, and no line of your lock can be named", ""},
		{"over, and one continues", stuck + stackOf("sleep (durable)"+bub, "time.Sleep(0x1)", "/go/time.go:1", "m.(*Lock).watch(0x1)", lock+"90", "created by m.(*Lock).TryLock in goroutine 3", lock+"88"),
			leaks, "a goroutine of yours never ends: started at mylock/lock.go:88, it waits (sleep) at mylock/lock.go:90", "mylock/lock.go:88"},
		{"no one wakes", "panic: deadlock: all goroutines in bubble are blocked\n\n" + inStory, hangs, "Everything waits, and there is nothing left that could wake it.", "mylock/lock.go:49"},
		{"left", remains + stackOf("running", "m.TestA(0x1)", test) +
			stackOf("chan send (durable)"+bub, "m.(*Lock).run.func1()", lock+"70", "created by m.(*Lock).run in goroutine 3", lock+"69"),
			leaks, "started at mylock/lock.go:69, it waits (chan send) at mylock/lock.go:70", "mylock/lock.go:69"},
		{"left by a timer", remains + stackOf("select (durable)"+bub, "m.(*Lock).renew(0x1)", lock+"90", "m.(*Lock).watch.func1()", lock+"85", "created by time.goFunc", "/go/time.go:1"),
			leaks, "started at mylock/lock.go:85, it waits (select) at mylock/lock.go:90", "mylock/lock.go:85"},
		{"left by go-redis", remains + stackOf("chan receive (durable)"+bub, "github.com/redis/go-redis/v9.(*channel).initMsgChan.func1()", "/go/pubsub.go:1", "created by github.com/redis/go-redis/v9.(*channel).initMsgChan in goroutine 3", "/go/pubsub.go:2"),
			leaks, "it waits in github.com/redis/go-redis/v9.(*channel).initMsgChan.func1. Is there something that must be closed?", ""},
		{"panics", "=== RUN   TestA\npanic: oh [recovered, repanicked]\n\n" + stackOf("running"+bub, "panic({0x1})", "/go/panic.go:1", "m.(*Lock).Lock(0x1)", lock+"49"), breaks, "panic: oh, at mylock/lock.go:49", "mylock/lock.go:49"},
		{"panics elsewhere", "panic: oh\n\n" + stackOf("running", "main.main()", "/go/x.go:1"), breaks, "No line of your lock was being run.", ""},
		{"a map", "fatal error: concurrent map writes\n\n" + stackOf("running"+bub, "m.(*Lock).Lock(0x1)", lock+"49"), breaks, "fatal error: concurrent map writes, at mylock/lock.go:49", "mylock/lock.go:49"},
		{"exits", "bye\n", breaks, "exit status 2: did your code call os.Exit", ""},
	} {
		e := endingOf(tt.raw, story.Story{Name: "TestA"}, 2)
		require.Equal(t, tt.kind, e.kind, tt.name)
		require.Contains(t, strings.Join(e.says, "\n"), tt.says, tt.name)
		require.Equal(t, tt.lines, strings.Join(e.lines, ", "), tt.name)
	}
}

func TestPrinted(t *testing.T) {
	const output = "=== RUN   TestA\nof the first look\n" + storyBegins + "\nmine\n    lab_test.go:9: timeline:\n          0.1ms  alice\n\tError Trace:\n\nmine, too\n--- FAIL: TestA (0.00s)\npanic: oh\n\ngoroutine 7 [running]:\n"
	require.Equal(t, []string{"mine", "mine, too"}, printed(output))
}

func TestReturned(t *testing.T) {
	const head = "\n\tError Trace:\t/a_test.go:3\n\tError:      \t"
	for output, want := range map[string]string{
		head + "Received unexpected error:\n\t            \tredislock: acquire \"coupons\": ERR wrong number\n\tMessages:   \tx\n":                                                                          "the call returned: redislock: acquire \"coupons\": ERR wrong number",
		head + "Received unexpected error:\n\t            \tredislock: acquire \"coupons\": lock not acquired\n":                                                                                            "",
		head + "Target error should be in err chain:\n\t            \texpected: \"lock not held\"\n\t            \tin chain: \"redislock: release \\\"coupons\\\": redis: nil\"\n\t            \t\t\"x\"\n": "the call returned: redislock: release \"coupons\": redis: nil",
		head + "Error \"bad ttl\" does not contain \"0s\"\n": "the call returned: bad ttl",
		head + "Not equal: \n\t            \texpected: 3\n":  "",
	} {
		require.Equal(t, want, strings.Join(returned(&story.Test{Output: output}), "\n"), output)
	}
}

func TestDidYouMean(t *testing.T) {
	for word, want := range map[string]string{"tyr": "try", "gren": "green", "hnit": "hint", "rest": "reset", "wyh": "why", "matrx": "matrix", "frobnicate": "", "x": ""} {
		if want != "" {
			want = " (did you mean " + want + "?)"
		}
		require.Equal(t, want, didYouMean(word, commandNames()), word)
	}
}

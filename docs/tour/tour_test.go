package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// An act is a command with its exit status and the texts that it prints, in this order ("!text" is
// nowhere in it), or what is done before or holds after it.
type act func(t *testing.T)

func do(args string, code int, want ...string) act {
	return func(t *testing.T) { t.Helper(); shows(t, args, code, want...) }
}

// put writes a file.
func put(name, text string) act { return func(t *testing.T) { require.NoError(t, write(name, text)) } }

// mine is the learner's lock now.
func mine(text string) act { return put(myLockFile, text) }

// edit changes what is in a file.
func edit(name, old, now string) act {
	return func(t *testing.T) { require.NoError(t, write(name, strings.ReplaceAll(read(t, name), old, now))) }
}

func remove(name string) act { return func(t *testing.T) { require.NoError(t, os.RemoveAll(name)) } }

// has wants this text in a file; "" means that the file is not there.
func has(name, text string) act {
	return func(t *testing.T) {
		if text == "" {
			require.NoFileExists(t, name)
			return
		}
		require.Contains(t, read(t, name), text, name)
	}
}

// holds wants exactly these files in a folder of the learner's.
func holds(dir string, want ...string) act {
	return func(t *testing.T) {
		names, err := source.Files(dir)
		require.NoError(t, err)
		require.Equal(t, want, names, dir)
	}
}

// The table of what the program does: a situation, and the commands in it, one after the other.
// Each begins with the mini course (see mini_test.go) but for the last, that with the real one.
var situations = []struct {
	name string
	acts []act
}{
	{"red: the lead of each file in full, the others in short, controls as a number", []act{
		do("red 3", 0,
			"red: 3_atomic_acquire_test.go on the lock of step 02 (SETNX, then PEXPIRE; DEL)\n", strings.Join(wrap(columns, course.Steps[1].Words), "\n"),
			"  FAIL  TestLeadAtomic_acquire/two_of\n          0.1ms  alice  SET 02 two_of\n\n"+
				"    the lock of 2 lacks what 3 has\n    expected: nil   got: ErrNotHeld\n    (other variants fail as well: three)\n\n",
			"  FAIL  TestOtherAtomic_acquire\n    the lock of 2 lacks what 3 has\n\n",
			"  Passing on the lock of step 02 as well, as the comments say: 1 story.",
			"these failures show what is wrong with the lock of step 02. Step 03 fixes it.", "red 3 TestName...", "try 3", "diff 3", "green 3", "!TestControl"),
		do("red 3 TestOtherAtomic_acquire TestControlAtomic_acquire", 0, "FAIL  TestOtherAtomic_acquire\n          0.1ms", "ok    TestControlAtomic_acquire (also passes"),
		do("red 1", 0, "on the lock everyone writes first", "alice  SET 00"),
		do("red 6", 0, "red: 6_reentrant_test.go, 6_waiting_test.go on", "FAIL  TestLeadReentrant/two_of\n          0.1ms", "FAIL  TestOtherReentrant\n    the lock",
			"FAIL  TestLeadWaiting/two_of\n          0.1ms", "FAIL  TestOtherWaiting\n    the lock", "as the comments say: 2 stories."),
		do("red fencing", 0, "red: fencing_test.go on the resources without the check", "the lock of 0 lacks what 9 has", "!tour try"),
	}},
	{"red: what is not the lesson is an error", []act{
		edit(threes, "{ story(t, 3) }\n\n//", "{ story(t, 0) }\n\n//"),
		do("red 3", 1, "red 3 is not red as expected", `TestOtherAtomic_acquire passes, but its comment does not say "Also passes on ..."`),
		edit(threes, "{ story(t, 0) }\n\n//", "{ panic(`oh`) }\n\n//"),
		do("red 3", 1, "TestOtherAtomic_acquire did not end with an assertion: panic: oh"),
		edit(threes, "{ panic(`oh`) }", "{ story(t, 3) }"), edit(threes, "Also passes on", "Passes on"),
		do("red 3", 1, "TestControlAtomic_acquire passes, but its comment does not say"),
		edit(threes, "\n// Passes on", "\n// Also passes on"), edit(threes, "func TestOther", "// Also passes on step 02: no\nfunc TestOther"),
		do("red 3", 1, `TestOtherAtomic_acquire fails, but its comment says "Also passes on ..."`),
		put(threes, "package redislock\n"), do("red 3", 1, "3_atomic_acquire_test.go has no story"),
		remove(threes), do("red 3", 1, "cannot list the stories of step03_atomic_set/3_atomic_acquire_test.go"),
	}},
	{"green", []act{
		do("green 7", 0, "green: 7_watchdog_test.go, 7_lost_test.go on the lock of step 07",
			"  ok    TestLeadWatchdog\n          0.1ms  alice  SET 07 one\n\n", "  ok    TestControlWatchdog\n", "TestLeadLost",
			"All 29 tests passed.\n  What step07_watchdog guarantees now:\n\n    1_mutual_exclusion_test.go  of clients", "still broken: The master", "!TestLeadWaiting"),
		do("green 7 TestBug TestLeadWaiting", 0, "green: bug_test.go, 6_waiting_test.go on the lock of step 07", "ok    TestBug", "ok    TestLeadWaiting"),
		put("step02_expire/bug_test.go", "package redislock\n\nimport \"testing\"\n\nfunc TestBug(t *testing.T) { story(t, 3) }\n"),
		do("green 2", 1, "FAIL  TestBug\n          0.1ms", "the lock of 2 lacks what 3 has", "green 2 failed:\n  TestBug\n"),
		put("step02_expire/2_crashed_holder_test.go", "//go:build never\n\n"+miniStories("redislock", "Crashed_holder", 2)),
		do("green 2", 1, "ERROR TestLeadCrashed_holder\n    no test ran\n", "green 2 failed:\n  TestLeadCrashed_holder\n"),
		put("step02_expire/lock.go", "package redislock\n\nvar x = y\n"),
		do("red 3", 1, "the tests of step 03 with the lock of step 02 did not compile:\n", "undefined: y"),
		remove("step05_lua_release"), do("green 5", 1, "step05_lua_release"),
	}},
	{"diff", []act{
		put("step05_lua_release/send.go", onceGo), put("step06_reentrant/send.go", onceGo),
		put("step06_reentrant/waiting.go", "package redislock\n\nfunc wait() {}\n"), put("step07_watchdog/waiting.go", "package redislock\n\nfunc wait() { wait() }\n"),
		do("diff 3", 0, "--- step02_expire/lock.go\n+++ step03_atomic_set/lock.go\n@@ -1,6 +1,6 @@\n package redislock\n \n-const at = 2\n+const at = 3\n", "!NAME"),
		do("diff fencing", 0, "-const at = 0\n+const at = 9\n"),
		do("diff 5", 0, "+const at = 5\n", "\nsend.go is new, 8 lines: How a script is sent, once.\n\nTheir declarations, by name: go run ./docs/tour diff 5 NAME...\n", "!func once"),
		do("diff 6", 0, "+const at = 6\n", "\nwaiting.go is new, 3 lines\n", "!send.go"), // it is a copy
		do("diff 7", 0, "\nwaiting.go has changed, 3 lines\n"),
		do("diff 6 at wait once", 0, "--- step05_lua_release/lock.go\n+++ step06_reentrant/lock.go\n@@ -3,1 +3,1 @@\n-const at = 5\n+const at = 6\n"+
			"--- /dev/null\n+++ step06_reentrant/waiting.go\n@@ -0,0 +3,1 @@\n+func wait() {}\n"+
			"--- step05_lua_release/send.go\n+++ step06_reentrant/send.go\n@@ -8,1 +8,1 @@\n func once() { os.Getpid() }\n"),
		do("diff 7 once", 0, "--- step06_reentrant/send.go\n+++ /dev/null\n@@ -8,1 +0,0 @@\n-func once() { os.Getpid() }\n"),
		do("diff 6 nobody", 2, "no declaration nobody; there are: at, Lock, New, once, wait"),
		remove("step03_atomic_set/lock.go"), do("diff 3", 1, "there is no Go file in step03_atomic_set"),
	}},
	{"try: a step from its start to its end", []act{
		do("try", 0, "  01           two clients are inside at once\n", "Next: go run ./docs/tour try 1 puts the lock from before the course into mylock"),
		do("hint 7", 2, "go run ./docs/tour try 7 says what does not compile"),
		do("try 7", 1, "The lock in mylock is new: a copy of step06_reentrant (lock.go).", "Step 07: the lease ends during the work, and two are inside\n", "+ Lock.MaxHold int", "+ func (l *Lock) Lost()", "  - All of this holds for Lock", "\n  - The Go files in mylock", " those of the steps before: go run ./docs/tour try", "!Renew every",
			"so far   all of the steps before     20 of 21 (1 not yet)\n", "missing  7_watchdog_test.go          1 of 3", "not run  7_lost_test.go              0 of 3 (3 not yet)",
			"missing  1. renew      1 of 3", "later    2. Lost       0 of 3", "Stories passed: 21 of 27.\n",
			"FAIL  TestLeadWatchdog\n", "FAIL  TestOtherWatchdog\n", "In full:\n\n  FAIL  TestLeadWatchdog/two_of\n          0.1ms", "the lock of 6 lacks what 7 has",
			"Step 07 is not complete: some of its tests cannot run yet.\n  7_lost_test.go needs Lost", "MaxHold is missing for 1 story of earlier steps", "Change the lock in mylock and run it again:\n  go run ./docs/tour try 7\n", "hint 7", "not solved yet"),
		has(myLockFile, miniLock(6)),
		do("try", 0, "  07  21/27    the lease ends during the work", "<- mylock\n", "Next: change the lock in mylock, then go run ./docs/tour try 7"),
		mine(strings.Replace(miniLock(7), "{ MaxHold int }", "{}", 1)), do("try 7", 1, "solved  1. renew", "Part 1, renew, is solved. Next is part 2, Lost: The holder"),
		edit("step05_lua_release/lock.go", "// Lock is", "// A Lock is"), do("try 7", 1, "You have changed step05_lua_release, but try plays mylock."),
		mine(strings.Replace(miniLock(7), "crypto/rand", "math/rand", 1)),
		do("try 7", 1, "Stories passed: 27 of 27.", "A rule is broken. No story can see it, but your source shows it:\n\n  - The token does not come from crypto/rand.", "not solved yet"),
		mine(miniLock(7)),
		do("try 7", 0, "Step 07 is solved: all 27 stories pass.\nWork longer than the TTL keeps the lock, but a dead holder's lock still expires.\n",
			"Your lock next to the reference solution: go run ./docs/tour try 7 -compare\nNext: go run ./docs/tour try 8 (the master fails over, and two are inside)\n"),
		do("try", 0, "  07  solved ", "Next: go run ./docs/tour try 8"),
		do("try 7 -rules", 0, "\n  + Renew every", "\n  - Every error begins", "\n  - The Go files in mylock", "!those of the steps before"),
		do("try 7 -compare", 0, "mylock and step07_watchdog say the same"),
		do("try 7 TestOtherLost", 0, "ok    TestOtherLost\n          0.1ms", "1 of 1 passed. All of the step: go run ./docs/tour try 7"),
		mine(strings.Replace(miniLock(7), "at = 7", "at = 6", 1)),
		do("try 7", 1, "Stories passed: 23 of 27.\n", "FAIL  TestOtherWatchdog  <- passed before\n"),
		do("try 7 TestOtherWatchdog", 1, "FAIL  TestOtherWatchdog\n          0.1ms", "the lock of 6 lacks"),
		do("try 7 TestOtherWatchdgo", 2, "step 07 has no story TestOtherWatchdgo"),
		do("try 7 -compare", 0, "--- mylock/lock.go (yours)\n+++ step07_watchdog/lock.go (the reference solution)\n", "-const at = 6\n+const at = 7\n"),
		mine(miniLock(7)), do("try 7", 0, "solved"),
		do("try 8", 1, "Your attempt at step 07 is kept in mylock/_step07.", "The lock in mylock is yours that solved step 07 (lock.go).", "reset 8",
			"New is still that of the step before; step 08 has\n  func New(nodes []any, key string, ttl int) *Lock"),
		mine(miniLock(8)), do("try 8", 0, "It was the last one."),
		do("try 7 -compare", 0, "mylock/_step07 and step07_watchdog say the same"),
	}},
	{"try: another step is never a surprise, and what has changed stays", []act{
		do("reset 3 -mine", 2, "you have solved no step before step 03"),
		do("try 3 TestNope", 2, "step 03 has no story TestNope"), has(myProgress, ""), // it has not begun
		mine(miniLock(2)), do("try 2", 0, "solved"),
		mine(miniLock(3) + "\n// mine, for 3\n"),
		do("try 3", 0, "mylock has changed since it was last tried, at step 02: it stays, and is now your attempt at step 03.",
			"reset 3\nFrom your own last solved lock: go run ./docs/tour reset 3 -mine\n", "Step 03 is solved"),
		do("try 2", 2, "mylock has your attempt at step 03. To keep that and go back to step 02:\n  go run ./docs/tour try 2 -back\n"),
		do("try 2 TestNope -back", 2, "has no story TestNope"), do("try 2 -watch", 2, "try 2 -back"), has(keptDir(3)+"/lock.go", ""), // nothing has moved
		do("try 5", 1, "Your attempt at step 03 is kept", "is new: a copy of step04_owner_token"),
		do("try 3 -back", 0, "is your attempt at step 03 again", "Step 03 is solved", "!kept"), // no one had touched the copy at 5
		do("try 2 -back", 0, "is yours that solved step 02"), do("try 4", 1, "is yours that solved step 03"),
		mine(miniLock(4) + "\n// mine, at 4\n"), do("try 4", 0, "solved"), do("try 5", 1, "is yours that solved step 04"),
		mine(miniLock(4) + "\n// mine, at 5\n"),
		do("reset 5 -mine", 0, "Your attempt at step 05 is kept in mylock/_step05-1.", "is a copy of mylock/_step04-solved"),
		has(myLockFile, "// mine, at 4"), has(keptDir(5)+"-1/lock.go", "// mine, at 5"),
		mine(miniLock(8)), do("try 5", 1, "func New of mylock fits no test of step 05", "go run ./docs/tour reset 5"),
		mine("package redislock\n\nfunc (l *Lock) New(c any, k string, d int) {}\n"), do("try 5", 1, "no func New; step 05 has\n  func New("),
		put(myProgress, "{"), do("try 5", 1, "cannot read mylock/progress.json, delete it"),
	}},
	{"try: what passes with TryLock is played with Lock", []act{
		mine(strings.Replace(miniLock(2), "at = 2", fmt.Sprint("at = ", tryOnly), 1)),
		do("try 2", 1, "TestLeadCrashed_holder, with Lock for TryLock", "not solved", "!is solved"),
	}},
	{"try: a lock that was brought along may be one of an earlier step", []act{
		mine(miniLock(4)), do("try 6", 1, "Stories passed: ", "Your lock is one of step 04: go run ./docs/tour try 4\n", "!TestOtherAtomic_release"),
		do("try 4", 0, "Step 04 is solved"), has(myLockFile, "at = 4"),
	}},
	{"try: nothing is ever lost", []act{
		do("try 3", 1, "is new"), mine(miniLock(2) + "\n// mine, at step 3\n"), do("try 3", 1, "not solved"),
		do("try 6", 1, "Your attempt at step 03 is kept in mylock/_step03.", "The lock in mylock is new: a copy of step05_lua_release (lock.go). It is yours"),
		mine(miniLock(5) + "\n// mine, at step 6\n"), put(myDir+"/pub_sub.go", "package redislock\n\n// mine\n"),
		do("reset 6", 0, "Your attempt at step 06 is kept in mylock/_step06-1.", "The lock in mylock is a copy of step05_lua_release (lock.go).\nNext: go run ./docs/tour try 6"),
		holds(myDir, "lock.go"), holds(keptDir(6)+"-1", "lock.go", "pub_sub.go"),
		mine(miniLock(5) + "\n// mine, again\n"),
		do("try 3 -back", 1, "Your attempt at step 06 is kept in mylock/_step06.", "The lock in mylock is your attempt at step 03 again (lock.go)."),
		has(myLockFile, "mine, at step 3"), has(keptDir(3)+"/lock.go", ""),
		do("reset 6", 0, "Your attempt at step 06 is kept in mylock/_step06-2.", "Your attempt at step 03 is kept in mylock/_step03."),
		has(keptDir(3)+"/lock.go", "mine, at step 3"), has(keptDir(6)+"-1/lock.go", "mine, at step 6"), has(keptDir(6)+"-2/lock.go", "mine, again"),
		do("try 4 -back", 1, "is new: a copy of step03_atomic_set", "Step 03 is not solved yet. Back to it: go run ./docs/tour try 3 -back\n"),
	}},
	{"try: a lock of several files, and what is solved stays", []act{
		mine(miniLock(6) + "\n// mine\n"), put(myDir+"/pub_sub.go", "package redislock\n\n// mine\n"), do("try 6", 0, "Step 06 is solved"),
		holds(solvedDir(6), "lock.go", "pub_sub.go"),
		do("try 7", 1, "is yours that solved step 06 (lock.go, pub_sub.go). To start from", "7_lost_test.go needs Lost"),
		mine(strings.Replace(miniLock(7), ") Do()", ") Undo()", 1)), do("try 7", 1, "Stories passed: 27 of 27.", "7_lost_test.go needs Do"), mine(miniLock(6)),
		put(myDir+"/dog.go", strings.TrimPrefix(miniLock(7), "const")),
		do("try 7", 1, "mylock/dog.go:", "Lock redeclared in this block", "mylock/lock.go:"),
		mine("package redislock\n"), do("try 7", 0, "Step 07 is solved"),
		do("try 6 -back", 0, "kept in mylock/_step07.", "Step 06 is solved"),
		do("try 7", 0, "is your attempt at step 07 again (lock.go, dog.go, pub_sub.go).", "Step 07 is solved"),
		mine(miniLock(6)), remove(myDir + "/dog.go"),
		do("try 7", 1, "The lock that solved step 07 is in mylock/_step07-solved."), do("try", 0, "  07  solved "),
	}},
	{"try: one sentence says what to do", []act{
		mine(strings.Replace(miniLock(3), "package redislock", "package mylock", 1)), do("try 3", 1, "found packages", "mylock (lock.go)", "try 3 -rules"),
		mine(miniLock(3) + "\nvar x = y\n"), do("try 3", 1, "mylock does not compile with the tests of step 03:\nmylock/lock.go:", "undefined: y"),
		put("docs/tour/sync/sync.go", "package sync\n"), put(myDir+"/more.go", "package redislock\n\nimport \"sync\"\n\nvar y = 1\n\nvar z = x.y\n"),
		do("try 3", 1, "mylock does not compile", `mylock/more.go:3:8: "sync" imported and not used`, "mylock/more.go:7:11: x.y undefined"),
		remove(myDir + "/more.go"), mine("package redislock\n\nimport _ \"github.com/google/uuid\"\n" + strings.TrimPrefix(miniLock(3), "package redislock\n")),
		do("try 3", 1, "does not compile", "A lock imports the standard library, github.com/redis/go-redis/v9 and golang.org/x/sync, nothing else."),
		mine(strings.Replace(miniLock(3), "const at = 3", "", 1)), do("try 3", 1, "undefined: at", "A test uses what your lock does not have", "try 3 -rules"),
	}},
	{"hint: stage by stage", []act{
		put("step02_expire/2_crashed_holder_test.go", strings.ReplaceAll(miniStories("redislock", "Crashed_holder", 2), "TestLeadCrashed_holder", "TestTheHolderDies_BobEntersWhenTheTTLEnds")),
		do("try 2", 1, "FAIL  TestTheHolderDies"),
		do("hint 2", 0, "Hint 1 of 3 for TestTheHolderDies_BobEntersWhenTheTTLEnds\n", "Who else can remove the key"),
		do("hint 2", 0, "Hint 2 of 3", "Redis removes a key"), do("hint 2", 0, "Hint 3 of 3", "PExpire(ctx"),
		do("hint 2", 0, "All hints for TestTheHolderDies_BobEntersWhenTheTTLEnds have been given.", "try 2 -compare"),
		do("hint 2 TestOtherCrashed_holder", 0, "Hint 1 of 3 for TestOtherCrashed_holder", "More: go run ./docs/tour hint 2 TestOther"),
		do("hint 2 TestNope", 2, "step 02 has no story TestNope"),
		mine(miniLock(2)), do("try 2", 0, "solved"), do("hint 2", 2, "step 02 is solved"),
	}},
	{"hint: by what the failure says", []act{
		mine(miniLock(3) + "\nfunc mine() {}\n"), do("try 3", 0, "solved"),
		edit("step04_owner_token/lab_test.go", `\"got\":\"ErrNotHeld\"`, `\"got\":\"redis: nil\"`),
		do("try 4", 1, "FAIL  TestLeadOwner_release"), do("hint 4", 0, "Hint 1 of 3 for TestLeadOwner_release\n\nThe call returned `redis: nil`"), // by what it says
	}},
	{"a line for the sheet of a group", []act{
		do("try -report Ana, Bo", 0, "Ana Bo,,0,0,0,0\n"),
		mine(miniLock(2)), do("try 2", 0, "solved"), do("try 3", 1, "Stories passed: 7 of 9"), do("hint 3", 0, "Hint 1"),
		mine("no Go"), do("try 3", 1, "does not compile"), do("try -report Ana", 0, "Ana,2,3,7,9,1\n"),
	}},
	{"Chinese", []act{
		func(t *testing.T) { speakingChinese(t) },
		do("try", 0, "你自己写的锁", "  02           持锁者崩溃，锁永远不释放\n", "接下来：go run ./docs/tour try 1"),
		put(course.First.Path(), "package redislock // by any client\n"), do("try 1", 1), has(myLockFile, "package redislock // 没有客户端持有它\n"), remove(myLockFile),
		do("red 2", 0, "red：用 2_crashed_holder_test.go 测第 01 步的锁（SETNX；DEL）\n", "这些测试故事的要求：持锁者崩溃", "结果是红的", "第 02 步修好这些问题。\n", "!%!"),
		do("green 2", 0, "green：用", " 现在保证：\n", "还没解决的问题：", "!%!"),
		do("try 7", 1, "mylock 里放好了一把新的锁", "第 07 步：", "  - 以上规则对 Lock 和 TryLock 同样适用。", "用第 07 步的测试检验 mylock\n",
			"前面各步的全部故事          20/21", "  未满足   7_watchdog_test.go          1/3", "  待写     2. Lost       0/3", "  FAIL  TestLeadWatchdog\n", "还没做完", "!%!"),
		do("hint 7", 0, "提示 1/3：TestLeadWatchdog\n\n", "最后一次续期", "还想要提示：go run ./docs/tour hint 7\n", "!%!"),
		do("try 7 -rules", 0, "规则：\n\n  + 每 ttl/3", "\n  - 所有错误都以"), do("try 7 -compare", 0, "下面就是答案", "（你的）", "（参考实现）", "!%!"), do("try 6", 2, "mylock 里是你在第 07 步写的锁"),
		do("-lang zh rde", 2, "tour：没有这个命令：rde\n全部命令：go run ./docs/tour help\n"), do("-lang zh help", 0, "看：\n", "自己写锁：\n", "退出码"),
	}},
	{"try: what hangs, breaks or leaks names the line of the learner", []act{
		inOwnCourse, func(t *testing.T) { t.Setenv(watchEnv, "400ms") },
		learner("", `	if os.Getenv("NOBODY") == "" { ; for n := 1; n > 0; n = n%7 + 1 { }; }`),
		do("try 1", 1, "missing  1_mutual_exclusion_test.go", "Not run, because 4 stories hang: 15 stories.", "HANGS Test", "It hangs; your code runs in a loop at mylock/lock.go:", "\n        lock.go:", "  if os.Getenv"),
		learner("var stuck sync.Mutex\n", "\tstuck.Lock()\n\tif err := l.validate(); err == nil {\n\t\treturn nil\n\t}\n\tstuck.Unlock()"),
		do("try 1", 1, "HANGS Test", "your code waits for a mutex at mylock/lock.go:", "\n    Is it locked twice, or not unlocked on some way out?\n"),
		learner("", "\tfmt.Fprintln(os.Stdout, \"the value is\", acquired)\n\tvar seen map[string]int\n\tseen[l.key] = 1"),
		do("try 1 TestTwoNames_AreTwoLocks", 1, "ERROR TestTwoNames", "Panic: assignment to entry in nil map, at mylock/lock.go:", "  seen[l.key] = 1\n"),
		learner("", "\tgo func() {\n\t\t<-make(chan int)\n\t}()\n\tfmt.Fprintln(os.Stdout, \"the value is\", acquired)"),
		do("try 1", 1, "missing  1_mutual_exclusion_test.go", "Stories passed: 0 of 19", "LEAK  TestTheHolderLeaves",
			"A goroutine of yours never ends: started at mylock/lock.go:", "it waits (chan receive)", "Your code has printed:\n      the value is true\n", "!step01_setnx/lock.go"),
		do("hint 1", 0, "Hint 1 of 3 for TestTheHolderLeaves", "(It leaks.)", "one of your goroutines has not"),
	}},
}

func TestTour(t *testing.T) {
	buildsMany(t)
	for _, s := range situations {
		t.Run(s.name, func(t *testing.T) {
			inOwnMini(t)
			for _, act := range s.acts {
				act(t)
			}
		})
	}
}

const (
	// threes are the stories that begin in step 3.
	threes = "step03_atomic_set/3_atomic_acquire_test.go"
	onceGo = "package redislock\n\n// How a script is sent,\n// once.\n\nimport \"os\"\n\nfunc once() { os.Getpid() }\n"
	// myLockFile is the learner's lock where it is one file.
	myLockFile = myDir + "/" + course.LockFile
)

// learner writes the lock of step 1 with something before the last line of TryLock.
func learner(top, more string) act {
	return func(t *testing.T) {
		text := strings.ReplaceAll(read(t, course.Steps[0].Path()), "\r\n", "\n")
		const end = "\treturn nil\n}\n\n// Lock acquires"
		require.Equal(t, 1, strings.Count(text, end))
		imports := "\t\"os\"\n"
		if top != "" {
			imports = "\t\"sync\"\n"
		}
		text = strings.Replace(text, "import (\n", "import (\n"+imports, 1)
		require.NoError(t, write(myLockFile, strings.Replace(text, end, more+"\n"+end, 1)+"\n"+top))
	}
}

// The rows in which nothing is built.
func TestTour_WhatIsWrongWithTheCommand(t *testing.T) {
	t.Setenv(realEnv, "")
	t.Cleanup(func() { course.Chinese = false })
	inMini(t)
	for args, want := range map[string]string{
		"blue": "no such command: blue\nAll commands: go run ./docs/tour help", "red 1 -lang": "-lang takes zh or en:", "red 1 -lang fr": "-lang takes zh or en: fr",
		"red": "red needs a step: red N, 1 to 8", "red 9": "red has no step 9 (there are 1 to 8)", "red 1 2": "red 1 has no story 2",
		"green 1 -all": "green has no flag -all (its flags: none)", "diff 1 -all": "diff has no flag -all", "green 1 -json TestA": "green has no flag -json",
		"try -watch": "try needs a step", "try 4 -wach": "try has no flag -wach (its flags: -watch, -rules", "try fencing": "try has no step fencing", "try 4 -overlay": "try has no flag -overlay",
		"hint 4 3": "step 04 has no story 3", "hint 4 TestA TestB": "hint: too many arguments: TestB",
		"reset": "reset needs a step", "reset 1 2": "reset: too many arguments: 2",
		"copy": "copy needs a step: copy N, 1 to 8", "copy -tests 7": "copy needs a folder: copy 7 FOLDER", "copy fencing a b": "copy: too many arguments: b", "copy 7 -test a": "copy has no flag -test (its flags: -tests, -diff)",
		"real": "real needs a step", "real 3": "where is your Redis? go run ./docs/tour real 3 localhost:6379", "real 3 a:1 b:1": "real: too many arguments: b:1",
		"real 3 redis://:p@a:1,p@a:1": "a:1 is there twice", "real 3 http://:p@a:1": "a server is HOST:PORT, or a URL (redis://, rediss://): unknown network http", "real 3 redis://:%pw@a:1": "invalid URL escape",
		"real 8 a:1,b:1,c:1": "5 independent servers are needed (URL,URL,...), not 3", "real all a:1": "5 independent servers are needed", "real 8 a:1,b:1,c:1,d:1,b:1": "b:1 is there twice: the servers must be independent",
		"red 3 TestNone": "red 3 has no story TestNone", "green 3 TestNone": "green 3 has no story TestNone",
		"red 3 TestOtherCrashed_holder": "red 3 has no story TestOtherCrashed_holder", "red 3 TestLeadAtomic_acquire/two_of": "has no story TestLeadAtomic_acquire/two_of",
	} {
		course.Chinese = false
		out, errs, code := tourOf(t, args)
		require.Equal(t, 2, code, args)
		inOrder(t, errs, want)
		require.LessOrEqual(t, strings.Count(errs, "\n"), 3, "%s: thirty lines of usage help no one", args)
		fits(t, args, errs)
		require.Empty(t, out, args)
	}
	for _, arg := range []string{"help", "-h", "red --help"} {
		shows(t, arg, 0, help)
	}
	require.LessOrEqual(t, strings.Count(help, "\n"), 25, "it is one screen")
	for name := range commands {
		require.Contains(t, help, "\n  "+name)
	}
	t.Chdir(t.TempDir())
	shows(t, "diff 3", 1, "change into the repository")
}

// A seer calls a function when it receives something.
type seer struct {
	strings.Builder
	what string
	then func()
}

func (s *seer) Write(p []byte) (int, error) {
	n, err := s.Builder.Write(p)
	if strings.Contains(string(p), s.what) {
		s.then()
	}
	return n, err
}

func TestTour_Watch(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	mine(miniLock(1))(t)
	ctx, cancel := context.WithCancel(t.Context())
	times := 0
	seen := &seer{what: "Watching mylock", then: func() {
		if times++; times == 2 {
			cancel()
		}
		mine(miniLock(2))(t)
	}}
	require.Zero(t, run(ctx, []string{"try", "2", "-watch"}, console{out: seen, err: seen}))
	inOrder(t, seen.String(), "the lock of 1 lacks what 2 has", "go run ./docs/tour hint 2 ", "Watching mylock: save a file, and it runs again.",
		"Step 02 is solved", "Watching mylock", "No longer watching.")
	require.NotContains(t, seen.String(), "Change the lock in")
}

func TestTour_TheWholeCourse(t *testing.T) {
	buildsMany(t)
	inMini(t)
	var out strings.Builder
	tr, ctx, err := newTour(t.Context(), console{out: &out, err: &out})
	require.NoError(t, err)
	require.NoError(t, tr.runCourse(ctx, []course.Step{course.Steps[0], course.Steps[7], course.Epilogue}))
	inOrder(t, out.String(), "== step 01: SETNX =", "FAIL  TestLeadMutual_exclusion/two_of\n          0.1ms", "FAIL  TestOtherMutual_exclusion\n", "as the comments say: 1",
		"Red, as expected", "green: 1_mutual_exclusion_test.go", "ok    TestLeadMutual_exclusion\n          0.1ms  alice  SET 01 two_of\n\n",
		"still broken: A holder that dies", "== step 08", "== epilogue: fencing tokens =", "ok    TestLeadFencing\n", "What to run next:")
	require.NotContains(t, out.String(), "ok    TestOther")
	require.NoError(t, write(tr.Tmp+"/build-1/story.test", "binary"))
	tr.Close()
	require.Error(t, ctx.Err(), "compilers that still run")
	require.NoDirExists(t, tr.Tmp)
}

// tourOf runs the program.
func tourOf(t *testing.T, args string) (out, errs string, code int) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code = run(t.Context(), strings.Fields(args), console{out: &stdout, err: &stderr})
	return stdout.String(), stderr.String(), code
}

// shows runs the program and wants these texts in its output, in this order; "!text" is nowhere.
func shows(t *testing.T, args string, wantCode int, want ...string) string {
	t.Helper()
	out, errs, code := tourOf(t, args)
	require.Equal(t, wantCode, code, "%s\n%s", out, errs)
	fits(t, args, out+errs)
	var there []string
	for _, text := range want {
		if no, ok := strings.CutPrefix(text, "!"); ok {
			require.NotContains(t, out, no, args)
			continue
		}
		there = append(there, text)
	}
	inOrder(t, out+"--- stderr\n"+errs, there...)
	return out
}

// fits wants every line to fit a terminal, but for code, JSON, a story's name, and a path.
func fits(t *testing.T, args, out string) {
	t.Helper()
	isDiff := strings.Contains(out, "\n@@ ")
	for line := range strings.Lines(out) {
		code := isDiff && strings.ContainsAny(line[:1], " +-@") || codeLine.MatchString(line)
		if !code && len(strings.Fields(line)) > 2 && !strings.Contains(line, os.TempDir()) {
			require.LessOrEqualf(t, course.Wide(line), columns+1, "%s: too wide for a terminal: %s", args, line)
		}
	}
}

// codeLine is one of the compiler, of a lock, or a command of Go.
var codeLine = regexp.MustCompile(`\.go:\d+(:\d+: |  )|^go test `)

// inOrder wants these texts, in this order. Prose may break anywhere.
func inOrder(t *testing.T, out string, want ...string) {
	t.Helper()
	rest := out
	for _, text := range want {
		_, after, ok := strings.Cut(rest, text)
		if !ok && !strings.Contains(text, "\n") {
			words := regexp.MustCompile(strings.ReplaceAll(regexp.QuoteMeta(text), " ", `\s+`))
			if at := words.FindStringIndex(rest); at != nil {
				after, ok = rest[at[1]:], true
			}
		}
		require.Truef(t, ok, "%s", fmt.Sprintf("%q is missing, or not where it should be:\n%s", text, out))
		rest = after
	}
}

package main

import (
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

// tourIn is a tour of the mini course, and what it prints.
func tourIn(t *testing.T) (*tour, *strings.Builder) {
	t.Helper()
	root, err := mini()
	require.NoError(t, err)
	var out strings.Builder
	return &tour{Builder: &story.Builder{Root: root, Tmp: t.TempDir()}, console: console{out: &out, err: &out}}, &out
}

func TestTry_TheConstructorDecides(t *testing.T) {
	tr, _ := tourIn(t)
	for _, tt := range []struct {
		name string
		step int
		src  string
		want string // the new_test.go used; "" is the step's own
		fail string
	}{
		{"step's own", 2, miniLock(2), "", ""},
		{"that of the step before", 2, miniLock(1), "step01_setnx/new_test.go", ""},
		{"equal to that before the course", 1, miniLock(0), "", ""},
		{"to many nodes", 8, miniLock(7), "step07_watchdog/new_test.go", ""},
		{"many nodes", 8, miniLock(8), "", ""},
		{"too new", 3, miniLock(8), "", "func New(rdb any, key string, ttl int) *Lock"},
		{"too old", 3, miniLock(1), "", "fits no test of step 03"},
		{"other names", 4, "package p\nfunc New(c any, name string, d int) *Lock { return nil }", "", ""},
		{"no New", 4, "package p\n", "", "no func New; step 04 has\n  func New("},
		{"a method New", 4, "package p\nfunc (l *Lock) New(c any, k string, d int) {}", "", "no func New"},
		{"a syntax error is for the compiler", 4, "package p\nfunc New(", "", ""},
	} {
		a := attemptAt{step: course.Steps[tt.step-1], src: lockOf(tt.src)}
		b, err := tr.tryBuild(&a)
		if tt.fail != "" {
			require.ErrorContains(t, err, tt.fail, tt.name)
			continue
		}
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, b.Replace[course.NewFile], tt.name)
		require.Equal(t, tt.want != "", a.older, tt.name)
		require.Equal(t, "//line mylock/lock.go:1:1\n"+tt.src, read(t, b.Replace[course.LockFile]), tt.name)
	}
}

func TestTry_WhatTheLockLacksIsLeftOut(t *testing.T) {
	tr, _ := tourIn(t)
	own := course.NotAsked()
	for _, tt := range []struct {
		name  string
		step  int
		src   string
		out   []string // files left out next to the step's own
		need  []string
		later int // stories that cannot be played yet
	}{
		{"all of 7", 7, miniLock(7), nil, nil, 0},
		{"a field of 7 is missing", 7, miniLock(6), []string{"7_lost_test.go", "more_7_lost_test.go"}, []string{"7_lost_test.go needs Lost, ValidUntil, Do, MaxHold, ErrLost, ErrNotRun"}, 4},
		{"Do is missing: its part comes later", 7, strings.Replace(miniLock(7), ") Do()", ") Undo()", 1), nil, []string{"7_lost_test.go needs Do"}, 0},
		{"Lost is missing", 7, strings.Replace(miniLock(7), ") Lost()", ") Last()", 1), nil, []string{"7_lost_test.go needs Lost"}, 3},
		{"a function has its name", 7, strings.Replace(miniLock(7), "(l *Lock) Lost()", "Lost()", 1), nil, []string{"7_lost_test.go needs Lost"}, 3},
		{"a step that needs nothing", 3, miniLock(2), nil, nil, 0},
		{"all of 8", 8, miniLock(8), nil, nil, 0},
		{"7 at 8", 8, miniLock(7), []string{"8_validity_test.go", "more_8_validity_test.go"}, []string{"8_validity_test.go needs NodeTimeout"}, 3},
	} {
		a := attemptAt{step: course.Steps[tt.step-1], src: lockOf(tt.src)}
		b, err := tr.tryBuild(&a)
		require.NoError(t, err, tt.name)
		var out []string
		for file, by := range b.Replace {
			if by == "" {
				out = append(out, file)
			}
		}
		require.ElementsMatch(t, slices.Concat(own, tt.out), out, tt.name)
		require.Equal(t, tt.need, a.missing, tt.name)
		require.NoError(t, tr.tryStories(&a, b))
		require.Equal(t, tt.later, tally(a.trials, notYet), tt.name)
	}
}

// What is shown in full: an assertion before a hang, and of the assertions that about two
// inside before one about an error.
func TestTry_TheStoryThatTellsMost_IsShownFirst(t *testing.T) {
	failed := func(name string, records ...trace.Record) trial {
		log := story.Transcript{Tests: []*story.Test{{Name: name, Status: "fail", Records: records}}}
		return trial{story.Result{Story: story.Story{Name: name}, Verdict: story.Failed, Log: log}, -1, nil}
	}
	a := attemptAt{step: course.Steps[6], trials: []trial{
		{story.Result{Story: story.Story{Name: "TestHangs"}, Verdict: hung}, 1, &ending{kind: hangs}},
		failed("TestItsError"),
		failed("TestLockedOut", trace.Record{Kind: trace.Verdict, Got: "ErrNotAcquired"}),
		failed("TestTookTooLong", trace.Record{Kind: trace.Return, Mark: "alice is inside as well"}, trace.Record{Kind: trace.Verdict, Wanted: "less than 10ms"}),
		failed("TestTwoInside", trace.Record{Kind: trace.Return, Mark: "alice is inside as well"}),
	}}
	var names []string
	for _, r := range a.failing() {
		names = append(names, r.Name)
	}
	require.Equal(t, []string{"TestTwoInside", "TestLockedOut", "TestItsError", "TestTookTooLong", "TestHangs"}, names)
}

// myLockFile is the learner's lock where it is one file.
const myLockFile = myDir + "/" + course.LockFile

func lockOf(src string) lock { return lock{course.LockFile: []byte(src)} }

// work writes the learner's lock.
func work(t *testing.T, src string) {
	t.Helper()
	require.NoError(t, write(myLockFile, src))
}

func TestTry(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	shows(t, "try", 0, "  01           two clients are inside at once\n", "Next: go run ./docs/tour try 1 puts the lock from before the course into mylock")
	shows(t, "hint 7", 2, "go run ./docs/tour try 7 says what does not compile")
	shows(t, "try 7", 1, "The lock in mylock is new: a copy of step06_reentrant (lock.go).", "Step 07: the lease ends during the work, and two are inside\n", "+ Lock.MaxHold int", "+ func (l *Lock) Lost()", "Rules:\n\n  + Renew every ttl/3.", "\n  + The lock is valid", "\n  - The Go files in mylock", "\n\nThe rules of the steps before hold as well: go run ./docs/tour try 7 -rules\n",
		"so far   2_crashed_holder_test.go    2 of 3 (1 not yet)\n", "holds    6_waiting_test.go           3 of 3\n", "missing  7_watchdog_test.go          1 of 3", "not run  7_lost_test.go              0 of 3 (3 not yet)",
		"missing  1. renew      1 of 3", "later    2. Lost       0 of 3", "Stories passed: 21 of 27.\n",
		"FAIL  TestLeadWatchdog\n", "FAIL  TestOtherWatchdog\n", "In full:\n\n  FAIL  TestLeadWatchdog/two_of\n          0.1ms", "the lock of 6 lacks what 7 has",
		"Step 07 is not complete: some of its tests cannot run yet.\n  7_lost_test.go needs Lost", "MaxHold is missing for 1 story of earlier steps", "Change the lock in mylock and run it again:\n  go run ./docs/tour try 7\n", "hint 7", "not solved yet")
	require.Equal(t, miniLock(6), read(t, myLockFile))
	shows(t, "try", 0, "  07  21/27    the lease ends during the work", "<- mylock\n", "Next: change the lock in mylock, then go run ./docs/tour try 7")

	work(t, strings.Replace(miniLock(7), "crypto/rand", "math/rand", 1))
	shows(t, "try 7", 1, "Stories passed: 27 of 27.", "A rule is broken. No story can see it, but your source shows it:\n\n  - The token does not come from crypto/rand.", "not solved yet")
	work(t, miniLock(7))
	out := shows(t, "try 7", 0,
		"Step 07 is solved: all 27 stories pass.\nWork longer than the TTL keeps the lock; a dead holder's lock still expires.\n",
		"Your lock next to the reference solution: go run ./docs/tour try 7 -compare\nNext: go run ./docs/tour try 8 (the master fails over, and two are inside)\n")
	require.LessOrEqual(t, strings.Count(out, "\n"), 10, out)
	shows(t, "try", 0, "  07  solved ", "Next: go run ./docs/tour try 8")
	out = shows(t, "try 7 -rules", 0, "\n  + Renew every", "\n  - Every error begins", "\n  - The Go files in mylock")
	require.NotContains(t, out, "The rules of the steps before")
	shows(t, "try 7 -compare", 0, "mylock and step07_watchdog say the same")

	shows(t, "try 7 TestOtherLost", 0, "ok    TestOtherLost\n          0.1ms", "1 of 1 passed. All of the step: go run ./docs/tour try 7")
	work(t, strings.Replace(miniLock(7), "at = 7", "at = 6", 1))
	shows(t, "try 7", 1, "Stories passed: 23 of 27.\n  Since the last try: +0, -4.\n", "FAIL  TestOtherWatchdog  <- passed before\n")
	shows(t, "try 7 TestOtherWatchdog", 1, "FAIL  TestOtherWatchdog\n          0.1ms", "the lock of 6 lacks")
	shows(t, "try 7 TestOtherWatchdgo", 2, "step 07 has no story TestOtherWatchdgo (did you mean TestOtherWatchdog?)")
	shows(t, "try 7 -compare", 0, "--- mylock/lock.go (yours)\n+++ step07_watchdog/lock.go (the reference solution)\n", "-const at = 6\n+const at = 7\n")

	work(t, miniLock(7))
	shows(t, "try 7", 0, "solved")
	shows(t, "try 8", 1, "Your attempt at step 07 is kept in mylock/_step07.", "The lock in mylock is yours that solved step 07 (lock.go).", "reset 8",
		"New is still that of the step before; step 08 has\n  func New(nodes []any, key string, ttl int) *Lock")
	work(t, miniLock(8))
	shows(t, "try 8", 0, "It was the last one.")
	shows(t, "try 7 -compare", 0, "mylock/_step07 and step07_watchdog say the same")
}

func TestTry_AnotherStepIsNeverASurprise(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	work(t, miniLock(2)+"\n// mine\n")
	shows(t, "try 3 TestNope", 2, "step 03 has no story TestNope")
	require.NoFileExists(t, myProgress, "it has not begun")
	shows(t, "try 3", 1, "not solved yet\n")
	for _, args := range []string{"try 5 TestNope", "try 5 TestNope -watch", "try 2 TestNope -back"} {
		shows(t, args, 2, "has no story TestNope")
	}
	shows(t, "try 2", 2, "mylock has your attempt at step 03. To keep that and go back to step 02:\n  go run ./docs/tour try 2 -back\n")
	shows(t, "try 2 -watch", 2, "try 2 -back")
	require.Contains(t, read(t, myLockFile), "// mine", "nothing has moved")
	require.NoDirExists(t, keptDir(3))
}

// Who has solved step 02 and continues without a try 3 has changed the lock for it already.
func TestTry_WhatHasChangedStays(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	shows(t, "reset 3 -mine", 2, "you have solved no step before step 03")
	work(t, miniLock(2))
	shows(t, "try 2", 0, "solved")
	work(t, miniLock(3)+"\n// mine, for 3\n")
	shows(t, "try 3", 0, "mylock has changed since it was last tried, at step 02: it stays, and is now your attempt at step 03.",
		"reset 3\nFrom your own last solved lock: go run ./docs/tour reset 3 -mine\n", "Step 03 is solved")
	require.NoDirExists(t, keptDir(2))

	// A copy that no one has touched does not count as an attempt.
	shows(t, "try 5", 1, "Your attempt at step 03 is kept", "is new: a copy of step04_owner_token")
	out := shows(t, "try 3 -back", 0, "is your attempt at step 03 again", "Step 03 is solved")
	require.NotContains(t, out, "kept")
	shows(t, "try 4", 1, "is yours that solved step 03")
	work(t, miniLock(4)+"\n// mine, at 4\n")
	shows(t, "try 4", 0, "solved")
	shows(t, "try 5", 1, "is yours that solved step 04")
	work(t, miniLock(4)+"\n// mine, at 5\n")
	shows(t, "reset 5 -mine", 0, "Your attempt at step 05 is kept in mylock/_step05-1.", "is a copy of mylock/_step04-solved")
	require.Contains(t, read(t, myLockFile), "// mine, at 4")
}

// A seer calls a function when it receives something.
type seer struct {
	strings.Builder
	what string
	then func()
}

func (s *seer) Write(p []byte) (int, error) {
	if strings.Contains(string(p), s.what) {
		s.then()
	}
	return s.Builder.Write(p)
}

func TestTry_WhoWatchesIsNotToldToRunItAgain(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	work(t, miniLock(2))
	ctx, cancel := context.WithCancel(t.Context())
	out := &seer{what: "Watching mylock", then: cancel}
	require.Zero(t, run(ctx, []string{"try", "3", "-watch"}, console{out: out, err: out}))
	inOrder(t, out.String(), "the lock of 2 lacks what 3 has", "go run ./docs/tour hint 3 ", "Watching mylock: save a file, and it runs again.")
	require.NotContains(t, out.String(), "run it again")
	require.NotContains(t, out.String(), "-watch")
	require.NotContains(t, out.String(), "Or type a key", "there is no terminal")
}

func TestTry_TheKeysOfAWatch(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	work(t, miniLock(1))
	watch := func(keys ...string) string {
		var out strings.Builder
		typed := strings.NewReader(strings.Join(keys, "\n") + "\n")
		require.Zero(t, run(t.Context(), []string{"try", "2", "-watch"}, console{out: &out, err: &out, typed: typed}))
		return out.String()
	}
	out := watch("h", "n", "H ", "h", "n", "x", "", "q")
	inOrder(t, out, "FAIL  TestLeadCrashed_holder/two_of\n", "Or type a key, then Enter: h a hint",
		"Hint 1 of 3 for TestLeadCrashed_holder\n", "More: h\n",
		"  2 of 2 failing:\n\n  FAIL  TestOtherCrashed_holder\n          0.1ms",
		"Hint 1 of 3 for TestOtherCrashed_holder\n", "Hint 2 of 3 for TestOtherCrashed_holder\n",
		"  1 of 2 failing:\n\n  FAIL  TestLeadCrashed_holder",
		"There is no key x", "mylock against the tests of step 02", "No longer watching.")
	require.Equal(t, 2, strings.Count(out, "mylock against"), "Enter alone runs it again")
	work(t, miniLock(2))
	inOrder(t, watch("n", "h", "q"), "Step 02 is solved", "No story has failed in this run.\nNo story has failed in this run.\n", "No longer watching.")
}

func TestTry_ALineForTheGroup(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	shows(t, "try -report Ana, Bo", 0, "\"Ana, Bo\",,0,0,0,0,0\n")
	work(t, miniLock(2))
	shows(t, "try 2", 0, "solved")
	shows(t, "try 3", 1, "Stories passed: 7 of 9")
	shows(t, "try 3 TestLeadAtomic_acquire", 1, "FAIL")
	shows(t, "hint 3", 0, "Hint 1")
	work(t, "no Go")
	shows(t, "try 3", 1, "does not compile")
	shows(t, "try -report Ana", 0, "Ana,2,3,7,9,2,1\n")
	work(t, miniLock(1))
	shows(t, "try -report", 0, ",2,3,7,9,2,1\n")
	require.NotRegexp(t, `^,`, shows(t, "try -report", 0), "the name of the user")
	shows(t, "reset 3", 0, "a copy of step02_expire")
	shows(t, "try 3", 1, "Stories passed: 7 of 9")
	shows(t, "try -report 3", 2, "try -report [NAME]")
}

func TestTry_WhatIsSolvedStays(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	work(t, miniLock(2)+"\n// mine, solved\n")
	require.NoError(t, write(myDir+"/more.go", "package redislock\n"))
	shows(t, "try 2", 0, "Step 02 is solved")
	filesIn(t, "mylock/_step02-solved", "lock.go", "more.go")
	require.NoError(t, os.Remove(myDir+"/more.go"))
	shows(t, "try 2", 0, "Step 02 is solved")
	filesIn(t, "mylock/_step02-solved", "lock.go")
	work(t, miniLock(1)+"\n// mine, broken\n")
	shows(t, "try 2", 1, "The lock that solved step 02 is in mylock/_step02-solved.")
	shows(t, "try", 0, "  02  solved ")
	shows(t, "try 3", 1, "is yours that solved step 02 (lock.go)")
	for file, want := range map[string]string{myLockFile: "solved", "mylock/_step02-solved/lock.go": "solved", "mylock/_step02/lock.go": "broken"} {
		require.Contains(t, read(t, file), "// mine, "+want, file)
	}
	work(t, miniLock(2)+"\n// mine, solved again\n")
	require.NoError(t, write(keptDir(2)+"/lock.go", miniLock(2)+"\n// mine, solved again\n"))
	shows(t, "try 2 -back", 0, "Step 02 is solved")
	require.Contains(t, read(t, "mylock/_step02-solved/lock.go"), "solved again")
	work(t, miniLock(1))
	shows(t, "reset 2", 0, "Next: go run ./docs/tour try 2")
	shows(t, "try", 0, "  02  solved ")
}

// inSeveralFiles changes into a mini course whose later locks have several files.
func inSeveralFiles(t *testing.T) {
	inOwnMini(t)
	for _, s := range course.Steps[4:] {
		require.NoError(t, write(s.Dir+"/send.go", "package redislock\n\nfunc in0() {}\n"))
		if lock, more, ok := strings.Cut(miniLock(s.N), "\nvar ErrLost"); ok {
			require.NoError(t, write(s.Path(), lock))
			require.NoError(t, write(s.Dir+"/watchdog.go", "package redislock\n\nvar ErrLost"+more))
		}
	}
}

// filesIn wants exactly these files in a folder of the learner's.
func filesIn(t *testing.T, dir string, want ...string) {
	t.Helper()
	names, err := source.Files(dir)
	require.NoError(t, err)
	require.Equal(t, want, names, dir)
}

func TestTry_NothingIsEverLost(t *testing.T) {
	buildsMany(t)
	inSeveralFiles(t)
	shows(t, "try 3", 1, "is new")
	work(t, miniLock(2)+"\n// mine, at step 3\n")
	shows(t, "try 3", 1, "not solved")
	shows(t, "try 6", 1,
		"Your attempt at step 03 is kept in mylock/_step03.",
		"The lock in mylock is new: a copy of step05_lua_release (lock.go, send.go). It is yours")
	work(t, miniLock(5)+"\n// mine, at step 6\n")
	require.NoError(t, write(myDir+"/pub_sub.go", "package redislock\n\n// mine\n"))
	shows(t, "reset 6", 0,
		"Your attempt at step 06 is kept in mylock/_step06-1.",
		"The lock in mylock is a copy of step05_lua_release (lock.go, send.go).\nNext: go run ./docs/tour try 6")
	filesIn(t, myDir, "lock.go", "send.go")
	work(t, miniLock(5)+"\n// mine, again\n")
	shows(t, "try 3 -back", 1,
		"Your attempt at step 06 is kept in mylock/_step06.",
		"The lock in mylock is your attempt at step 03 again (lock.go).")
	filesIn(t, myDir, "lock.go")
	require.NoDirExists(t, keptDir(3))
	shows(t, "reset 6", 0,
		"Your attempt at step 06 is kept in mylock/_step06-2.", "Your attempt at step 03 is kept in mylock/_step03.")
	filesIn(t, keptDir(6)+"-1", "lock.go", "pub_sub.go", "send.go")
	filesIn(t, keptDir(6)+"-2", "lock.go", "send.go")
	for file, want := range map[string]string{
		"mylock/_step03/lock.go":   miniLock(2) + "\n// mine, at step 3\n",
		"mylock/_step06-1/lock.go": miniLock(5) + "\n// mine, at step 6\n",
		"mylock/_step06-2/lock.go": miniLock(5) + "\n// mine, again\n",
		myLockFile:                 miniLock(5),
	} {
		require.Equal(t, want, read(t, file), file)
	}
	shows(t, "try 4 -back", 1, "is new: a copy of step03_atomic_set", "Step 03 is not solved yet. Back to it: go run ./docs/tour try 3 -back\n")

	// A lock.go that is there before the first try is the learner's.
	inOwnMini(t)
	work(t, miniLock(2))
	out := shows(t, "try 3", 1, "Stories passed: 7 of 9")
	require.NotContains(t, out, "The lock in mylock")
	work(t, miniLock(8))
	shows(t, "try 3", 1, "func New of mylock fits no test of step 03", "go run ./docs/tour reset 3")
	require.NoError(t, write(myProgress, "{"))
	shows(t, "try 3", 1, "cannot read mylock/progress.json, delete it")
}

func TestTry_ALockOfSeveralFiles(t *testing.T) {
	buildsMany(t)
	inSeveralFiles(t)
	shows(t, "try 7 -rules", 0, "+ var ErrLost", "+ func (l *Lock) Lost()")
	work(t, miniLock(6)) // one file is enough
	shows(t, "try 6", 0, "Step 06 is solved")
	shows(t, "try 6 -compare", 0,
		"--- mylock (yours)\n+++ step06_reentrant/send.go (the reference solution)\n@@ -0,0 +3,1 @@\n+func in0() {}\n")

	require.NoError(t, write(myDir+"/pub_sub.go", "package redislock\n\n// mine\n"))
	shows(t, "try 6", 0, "Step 06 is solved")
	shows(t, "try 7", 1,
		"Your attempt at step 06 is kept in mylock/_step06.",
		"is yours that solved step 06 (lock.go, pub_sub.go). To start from", "7_lost_test.go needs Lost")
	text := read(t, "step07_watchdog/watchdog.go")
	work(t, strings.Replace(miniLock(6), "at = 6", "at = 7", 1))
	require.NoError(t, write(myDir+"/dog.go", strings.Replace(text, ") Do()", ") Undo()", 1)))
	shows(t, "try 7", 1, "7_lost_test.go needs Do, MaxHold")
	require.NoError(t, write(myDir+"/dog.go", strings.TrimPrefix(miniLock(7), "const")))
	shows(t, "try 7", 1, "mylock/dog.go:", "Lock redeclared in this block", "mylock/lock.go:")
	work(t, "package redislock\n")
	shows(t, "try 7", 0, "Step 07 is solved")
	shows(t, "try 6 -back", 0, "kept in mylock/_step07.", "again (lock.go, pub_sub.go).", "Step 06 is solved")
	shows(t, "try 7", 0,
		"kept in mylock/_step06.", "is your attempt at step 07 again (lock.go, dog.go, pub_sub.go).", "Step 07 is solved")
	filesIn(t, myDir, "lock.go", "dog.go", "pub_sub.go")
}

func TestWatched_TellsOfEveryFile(t *testing.T) {
	now := lock{"lock.go": []byte("a")}
	w := newWatched(func() lock { return maps.Clone(now) })
	for _, tt := range []struct {
		what, name, text string // a text of "-" deletes
		looks            int    // that go by
		want             bool   // at the last one
	}{
		{"nothing", "lock.go", "a", 2, false},
		{"a save", "lock.go", "b", 2, true},
		{"a new file, still empty", "send.go", "", 2, false},
		{"written", "send.go", "s", 2, true},
		{"being written", "lock.go", "", 1, false},
		{"as it was", "lock.go", "b", 2, false},
		{"being replaced", "send.go", "-", 1, false},
		{"replaced", "send.go", "u", 2, true},
		{"deleted, or being replaced", "send.go", "-", 1, false},
		{"deleted", "send.go", "-", 1, true},
		{"nothing again", "send.go", "-", 1, false},
		{"no file is left", "lock.go", "-", 2, false},
		{"back", "lock.go", "b", 2, false},
		{"and changed", "lock.go", "c", 2, true},
	} {
		if now[tt.name] = []byte(tt.text); tt.text == "-" {
			delete(now, tt.name)
		}
		for range tt.looks - 1 {
			require.False(t, w.changed(), tt.what)
		}
		require.Equal(t, tt.want, w.changed(), tt.what)
	}
}

func TestTry_OneSentenceThatSaysWhatToDo(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	work(t, strings.Replace(miniLock(3), "package redislock", "package mylock", 1))
	shows(t, "try 3", 1, "found packages", "mylock (lock.go)", "try 3 -rules")
	work(t, miniLock(3)+"\nvar x = y\n")
	shows(t, "try 3", 1, "mylock does not compile with the tests of step 03:\nmylock/lock.go:", "undefined: y")
	require.NoError(t, write("docs/tour/sync/sync.go", "package sync\n"))
	require.NoError(t, write(myDir+"/more.go", "package redislock\n\nimport \"sync\"\n\nvar y = 1\n\nvar z = x.y\n"))
	shows(t, "try 3", 1, "mylock does not compile", `mylock/more.go:3:8: "sync" imported and not used`, "mylock/more.go:7:11: x.y undefined")
	require.NoError(t, write(myDir+"/more.go", "package redislock\n\nvar y = 1\n"))
	shows(t, "try 3", 0, "Step 03 is solved")
	work(t, "package redislock\n\nimport _ \"github.com/google/uuid\"\n"+strings.TrimPrefix(miniLock(3), "package redislock\n"))
	shows(t, "try 3", 1, "does not compile", "A lock imports the standard library, github.com/redis/go-redis/v9 and golang.org/x/sync, nothing else.")
	work(t, strings.Replace(miniLock(3), "const at = 3", "", 1))
	shows(t, "try 3", 1, "undefined: at", "A test uses what your lock does not have", "try 3 -rules")
}

func TestHint_GoesOnStageByStage(t *testing.T) {
	buildsMany(t)
	root := inOwnMini(t)
	require.NoError(t, write(root+"/step02_expire/2_crashed_holder_test.go",
		strings.ReplaceAll(miniStories("redislock", "Crashed_holder", 2), "TestLeadCrashed_holder", "TestTheHolderDies_BobEntersWhenTheTTLEnds")))
	shows(t, "try 2", 1, "FAIL  TestTheHolderDies")
	for stage, want := range []string{"Who else can remove the key", "Redis removes a key", "PExpire(ctx"} {
		shows(t, "hint 2", 0, fmt.Sprintf("Hint %d of 3 for TestTheHolderDies_BobEntersWhenTheTTLEnds\n", stage+1), want)
	}
	shows(t, "hint 2", 0, "All hints for TestTheHolderDies_BobEntersWhenTheTTLEnds have been given.", "try 2 -compare")
	shows(t, "hint 2 TestOtherCrashed_holder", 0, "Hint 1 of 3 for TestOtherCrashed_holder", "More: go run ./docs/tour hint 2 TestOther")
	shows(t, "hint 2 TestOtherCrashed_holder", 0, "Hint 2 of 3")
	shows(t, "hint 2 TestOtherCrashed_holder", 0, "It was the last one.\nThe reference solution next to yours: go run ./docs/tour try 2 -compare\n")
	shows(t, "hint 2 TestNope", 2, "step 02 has no story TestNope")
	work(t, miniLock(2))
	shows(t, "try 2", 0, "solved")
	shows(t, "hint 2", 2, "step 02 is solved")
}

// A lock that the learner has brought along held nothing at the start of a step.
func TestHint_WhatHeldAtTheStart_SaysWhatChanged(t *testing.T) {
	buildsMany(t)
	root := inOwnMini(t)
	broken := strings.Replace(miniLock(1), "key string)", "key string, ttl int)", 1)
	work(t, broken)
	shows(t, "try 3", 1, "FAIL  TestLeadCrashed_holder")
	out := shows(t, "hint 3", 0, "Hint 1 of 3 for TestLeadCrashed_holder")
	require.NotContains(t, out, "start of")
	shows(t, "reset 3", 0, "a copy of step02_expire")
	work(t, broken)
	shows(t, "try 3", 1, "FAIL  TestLeadCrashed_holder")
	shows(t, "hint 3", 0, "Hint 1 of 4 for TestLeadCrashed_holder")
	shows(t, "hint 3", 0, "Hint 2 of 4", "It held at the start of step 03. What have you changed since?", "\n\n--- step02_expire/lock.go (your start)\n+++ mylock/lock.go (yours)\n@@ -3,1 +3,1 @@\n-const at = 2\n+const at = 1\n")
	shows(t, "hint 3", 0, "Hint 3 of 4")

	// More than a few declarations do not help.
	work(t, broken+"\nfunc a() {}\nfunc b() {}\nfunc c() {}\n")
	shows(t, "hint 3 TestOtherCrashed_holder", 0, "Hint 1 of 3")

	// Where people break the same thing, a hint says so. The start may be the learner's own lock.
	work(t, miniLock(3)+"\nfunc mine() {}\n")
	shows(t, "try 3", 0, "solved")
	lab := root + "/step04_owner_token/lab_test.go"
	require.NoError(t, write(lab, strings.Replace(read(t, lab), `\"got\":\"ErrNotHeld\"`, `\"got\":\"redis: nil\"`, 1)))
	shows(t, "try 4", 1, "FAIL  TestLeadOwner_release")
	shows(t, "hint 4", 0, "Hint 1 of 3 for TestLeadOwner_release\n\nThe call returned `redis: nil`")
	work(t, broken+"\nfunc mine() {}\n")
	shows(t, "try 4", 1, "FAIL  TestLeadCrashed_holder", "got: redis: nil")
	shows(t, "hint 4", 0, "Hint 1 of 4 for TestLeadCrashed_holder\n", "redis: nil")
	shows(t, "hint 4", 0, "Hint 2 of 4 for TestLeadCrashed_holder", "It held at the start of step 04.", "--- mylock/_step03-solved/lock.go (your start)")
	shows(t, "hint 4", 0, "Hint 3 of 4 for TestLeadCrashed_holder", "no key")
}

func TestCompilerText(t *testing.T) {
	for out, want := range map[string]string{
		"# example.com/redislock-steps/step04_owner_token\nmylock/lock.go:3:5: undefined: x\n":                                          "mylock/lock.go:3:5: undefined: x",
		"step04_owner_token/mylock/lock.go:1:1: expected 'package'\nFAIL\tx [setup failed]\nFAIL\n":                                     "mylock/lock.go:1:1: expected 'package'",
		".\\mylock\\lock.go:3:5: undefined: x\r\n":                                                                                      "mylock/lock.go:3:5: undefined: x",
		"../../tmp/redislock-tour-3/mylock/lock.go:5:1: \"example.com/redislock-steps/docs/tour/sync\" imported as sync and not used\n": `mylock/lock.go:5:1: "sync" imported and not used`,
		"/tmp/x/mylock/send.go:9:6: once redeclared in this block\n\t/tmp/x/mylock/lock.go:3:6: other declaration\n":                    "mylock/send.go:9:6: once redeclared in this block\n\tmylock/lock.go:3:6: other declaration",
		"/home/x/course/step04_owner_token/lab_test.go:9:1: l.Unlock undefined\n":                                                       "step04_owner_token/lab_test.go:9:1: l.Unlock undefined",
	} {
		require.Equal(t, want, compilerText(out, "/home/x/course"))
	}
}

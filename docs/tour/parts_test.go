package main

import (
	"fmt"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

// What no command shows as closely: each part with what goes in and what comes out.

// What is shown in full: the most harm that a first assertion shows.
func TestTry_TheStoryThatTellsMost_IsShownFirst(t *testing.T) {
	failed := func(name string, records ...trace.Record) trial {
		log := story.Transcript{Tests: []*story.Test{{Name: name, Status: "fail", Records: records}}}
		return trial{story.Result{Story: story.Story{Name: name, File: course.Steps[4].File}, Verdict: story.Failed, Log: log}, -1, nil, false}
	}
	out := trace.Record{Kind: trace.Verdict, Wanted: "bob TryLock -> ok", Got: "ErrNotAcquired", Redis: []trace.Key{{Token: "<alice-1>"}}}
	idle := trace.Record{Kind: trace.Verdict, Wanted: "alice Unlock -> ErrNotHeld", Got: "ok"}
	a := attemptAt{step: course.Steps[6], trials: []trial{
		{story.Result{Story: story.Story{Name: "hangs"}, Verdict: hung}, -1, &ending{kind: hangs}, false},
		failed("idle", idle),
		failed("its error"),
		failed("lost reply", trace.Record{Kind: trace.Command, Lost: true},
			trace.Record{Kind: trace.Verdict, Wanted: "bob TryLock -> ok", Got: "ErrNotAcquired", Redis: []trace.Key{{Token: "<alice-1>", Until: 1}}}),
		{story.Result{Story: story.Story{Name: "panics"}, Verdict: story.Crashed}, -1, &ending{kind: breaks}, false},
		failed("locked out forever", out),
		failed("one token", trace.Record{Kind: trace.Verdict, Text: "two processes stored the same value"}),
		failed("two inside, a reply lost", trace.Record{Kind: trace.Command, Lost: true}, trace.Record{Kind: trace.Verdict, Text: "carol is inside with bob"}),
		failed("two inside", trace.Record{Kind: trace.Verdict, Text: "carol is inside with bob"}),
		failed("deletes another's lock", trace.Record{Kind: trace.Command, Mark: "deletes bob's lock"}, idle),
		failed("the step's own", trace.Record{Kind: trace.Command, Mark: "deletes bob's lock"}, idle),
	}}
	a.trials[len(a.trials)-1].File, a.trials[1].part, a.trials[5].part = a.step.File, 0, 0
	var names []string
	for _, r := range a.failing() {
		names = append(names, r.Name)
	}
	require.Equal(t, []string{"the step's own", "two inside", "deletes another's lock", "two inside, a reply lost", "locked out forever",
		"one token", "panics", "lost reply", "its error", "hangs", "idle"}, names)
	a.trials[len(a.trials)-1].part = 1
	require.Equal(t, "two inside", a.failing()[0].Name, "the other is of a later part")
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
		{"a mutex goes first", stuck + inStory + strings.Replace(onMutex, "lock.go", "watchdog.go", 1),
			hangs, "it hangs; your code waits for a mutex at mylock/watchdog.go:80", "mylock/watchdog.go:80, mylock/lock.go:49"},
		{"the mutex that replaces it", stuck + stackOf("select (durable)"+bub, "x/sync/semaphore.(*Weighted).Acquire(0x1)", "/go/semaphore.go:1", "c/docs/tour/sync.(*Mutex).Lock(...)", "C:/x/sync.go:1", "m.(*Lock).Unlock(0x1)", lock+"80", plays, test),
			hangs, "waits for a mutex at mylock/lock.go:80", "mylock/lock.go:80"},
		{"elsewhere", stuck + strings.ReplaceAll(inStory, "mylock", "step05"), hangs, "it hangs in m.(*Lock).Lock, and no line of your lock can be named", ""},
		{"over, and one continues", stuck + stackOf("sleep (durable)"+bub, "time.Sleep(0x1)", "/go/time.go:1", "m.(*Lock).watch(0x1)", lock+"90", "created by m.(*Lock).TryLock in goroutine 3", lock+"88"),
			leaks, "a goroutine of yours never ends: started at mylock/lock.go:88, it waits (sleep) at mylock/lock.go:90", "mylock/lock.go:88"},
		{"left", remains + stackOf("running", "m.TestA(0x1)", test) +
			stackOf("chan send (durable)"+bub, "m.(*Lock).run.func1()", lock+"70", "created by m.(*Lock).run in goroutine 3", lock+"69"),
			leaks, "started at mylock/lock.go:69, it waits (chan send) at mylock/lock.go:70", "mylock/lock.go:69"},
		{"left by go-redis", remains + stackOf("chan receive (durable)"+bub, "github.com/redis/go-redis/v9.(*channel).initMsgChan.func1()", "/go/pubsub.go:1", "created by github.com/redis/go-redis/v9.(*channel).initMsgChan in goroutine 3", "/go/pubsub.go:2"),
			leaks, "it waits in github.com/redis/go-redis/v9.(*channel).initMsgChan.func1. Is there something that must be closed?", ""},
		{"panics", "=== RUN   TestA\npanic: oh [recovered, repanicked]\n\n" + stackOf("running"+bub, "panic({0x1})", "/go/panic.go:1", "m.(*Lock).Lock(0x1)", lock+"49"), breaks, "panic: oh, at mylock/lock.go:49", "mylock/lock.go:49"},
		{"exits", "bye\n", breaks, "exit status 2: did your code call os.Exit", ""},
	} {
		e := endingOf(tt.raw, story.Story{Name: "TestA"}, 2)
		require.Equal(t, tt.kind, e.kind, tt.name)
		require.Contains(t, strings.Join(e.says, "\n"), tt.says, tt.name)
		require.Equal(t, tt.lines, strings.Join(e.lines, ", "), tt.name)
	}
}

func TestPlayable_OnlySyncGivesWay(t *testing.T) {
	const ours = `"example.com/redislock-steps/docs/tour/sync"`
	for src, want := range map[string]string{
		"package p\n\nimport (\n\t\"fmt\"\n\t\"sync\"\n\t\"sync/atomic\"\n)\n": "package p\n\nimport (\n\t\"fmt\"\n\tsync " + ours + "\n\t\"sync/atomic\"\n)\n",
		"package p\nimport s \"sync\"\nvar m s.Mutex // sync":                  "package p\nimport s " + ours + "\nvar m s.Mutex // sync",
		"package p\nimport \"golang.org/x/sync/semaphore\"\n":                  "package p\nimport \"golang.org/x/sync/semaphore\"\n",
		"package p\nimport (": "package p\nimport (",
	} {
		require.Equal(t, want, string(playable([]byte(src))))
	}
	require.Equal(t, "//line mylock/a.go:1:1\npackage p\n", string(asMine("a.go", []byte("\ufeffpackage p\n"))))
}

// Where modules cannot be fetched, this program is still there to say so.
func TestNoModules_TheTourStarts(t *testing.T) {
	out, err := exec.Command("go", "list", "-deps", "-f", "{{if .Module}}{{.ImportPath}}{{end}}", ".", "../play").Output()
	require.NoError(t, err)
	for path := range strings.FieldsSeq(string(out)) {
		require.True(t, strings.HasPrefix(path, course.Module+"/"), "%s must be downloaded first", path)
	}
	for _, page := range []string{"workshop.md: ## Without a network", "workshop.zh-CN.md: ## 没有网络"} {
		name, title, _ := strings.Cut(page, ": ")
		require.Contains(t, read(t, "../read/"+name), title)
	}
}

func TestNoModules_WhatCannotBeBuiltNamesThePage(t *testing.T) {
	buildsMany(t)
	root := inOwnMini(t)
	t.Setenv("GOFLAGS", "")
	t.Setenv("GOPROXY", "off")
	t.Setenv("GOMODCACHE", t.TempDir())
	require.NoError(t, write(root+"/go.mod", "module "+course.Module+"\n\ngo 1.26\n\nrequire example.com/x v1.0.0\n"))
	hash := strings.Repeat("A", 43) + "="
	require.NoError(t, write(root+"/go.sum", "example.com/x v1.0.0 h1:"+hash+"\nexample.com/x v1.0.0/go.mod h1:"+hash+"\n"))
	imports := func(n int) string { return strings.Replace(miniLock(n), "\n", "\n\nimport _ \"example.com/x\"\n", 1) }
	require.NoError(t, write(root+"/step02_expire/lock.go", imports(2)))
	shows(t, "red 3", 1, "did not compile:\n", "module lookup disabled by GOPROXY=off", "docs/read/workshop.md, \"Without a network\"")
	mine(imports(2))(t)
	shows(t, "try 3", 1, "module lookup disabled by GOPROXY=off", "docs/read/workshop.md, \"Without a network\"")
}

func TestBrokenRules(t *testing.T) {
	for _, tt := range []struct {
		step      int
		src, want string // want is "" for none
	}{
		{3, "import \"math/rand\"\nfunc f() { rand.Int() }", ""},
		{4, "import \"math/rand\"\nfunc f() { rand.Int() }", "The token does not come from crypto/rand"},
		{4, "import \"github.com/google/uuid\"\nfunc f() { uuid.NewString() }", ""},
		{1, "func f() {", ""},
		{3, "func (l *Lock) Unlock() {\n\tl.token, err = take()\n}", "Lock is used by several goroutines"},
		{3, "func (my *Lock) Unlock() {\n\tmy.depth++\n}", "its field depth is written"},
		{3, "func (l *Lock) Unlock() {\n\tl.held[1] = true\n}", "its field held is written"},
		{3, "func (l *Lock) Unlock() {\n\t// l.token = 1\n\tx := l.token == y\n}\n\nfunc New() {\n\tk.token = 1\n}", ""},
		{3, "import \"sync\"\nvar mu sync.Mutex\nfunc (l *Lock) Unlock() {\n\tl.token = 1\n}", ""},
		{3, "type turn chan bool\nfunc (l *Lock) Unlock() {\n\tl.token = 1\n}", ""},
		{4, "func token() { rand.Text() }\n// in another file:\nimport \"crypto/rand\"", ""},
	} {
		src := lock{}
		for i, text := range strings.Split(tt.src, "\n// in another file:\n") {
			src[fmt.Sprintf("%d.go", i)] = []byte("package redislock\n" + text + "\ntype Lock struct{ token, depth, held int }\n")
		}
		got := brokenRules(src, tt.step)
		if tt.want == "" {
			require.Empty(t, got, tt.src)
			continue
		}
		require.Len(t, got, 1, tt.src)
		require.Contains(t, got[0], tt.want)
	}
}

func TestWrapAndUnified(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "0123 567 9ab def": "0123 567|9ab def", "0123456789ab def": "0123456789ab|def", "  an  old  table that": "  an  old|  table|  that",
		"一二三四五，六": "一二三四|五，六", "一二三四（五六）": "一二三四|（五六）", "调用 TryLock 时": "调用|TryLock 时",
	} {
		require.Equal(t, want, strings.Join(wrap(10, text), "|"), text)
	}
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n"
	for now, want := range map[string]string{
		strings.ReplaceAll(old, "\n", "\r\n"): "", "0\n" + old: "--- a|+++ b|@@ -1,3 +1,4 @@|+0| 1| 2| 3", old + "14\n": "--- a|+++ b|@@ -11,3 +11,4 @@| 11| 12| 13|+14",
		strings.NewReplacer("1\n2\n", "1\n", "\n11\n", "\neleven\n").Replace(old): "--- a|+++ b|@@ -1,5 +1,4 @@| 1|-2| 3| 4| 5|@@ -8,6 +7,6 @@| 8| 9| 10|-11|+eleven| 12| 13",
	} {
		require.Equal(t, want, strings.Join(unified("a", "b", old, now), "|"))
	}
}

package main

import (
	"bytes"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

func TestOverlays(t *testing.T) {
	tr, _ := tourIn(t)
	red := func(n int) build { return tr.redBuild(course.Entries()[n-1]) }
	for name, tt := range map[string]struct {
		b    build
		want string
	}{
		"red 1":                 {red(1), "step01_setnx/bug_test.go= step01_setnx/demo_test.go= step01_setnx/lock.go=docs/step00/lock.go"},
		"red 6":                 {red(6), "step06_reentrant/bug_test.go= step06_reentrant/demo_test.go= step06_reentrant/lock.go=step05_lua_release/lock.go step06_reentrant/new_test.go=step05_lua_release/new_test.go"},
		"red 7":                 {red(7), "step07_watchdog/6_waiting_test.go= step07_watchdog/7_lost_test.go= step07_watchdog/bug_test.go= step07_watchdog/demo_test.go= step07_watchdog/lock.go=step06_reentrant/lock.go step07_watchdog/new_test.go=step06_reentrant/new_test.go"},
		"red 8, and the matrix": {red(8), "step08_redlock/7_lost_test.go= step08_redlock/8_validity_test.go= step08_redlock/bug_test.go= step08_redlock/demo_test.go= step08_redlock/lock.go=step07_watchdog/lock.go step08_redlock/new_test.go=step07_watchdog/new_test.go"},
		"red fencing":           {red(9), course.Epilogue.Path() + "=" + course.Unfenced.Path()},
	} {
		replace := tr.overlayOf(tt.b)
		var got []string
		for _, from := range slices.Sorted(maps.Keys(replace)) {
			got = append(got, strings.TrimPrefix(from, tr.root+"/")+"="+strings.TrimPrefix(replace[from], tr.root+"/"))
		}
		require.Equal(t, tt.want, strings.Join(got, " "), name)
	}
}

func TestWhatCannotBeBuilt(t *testing.T) {
	root := inOwnMini(t)
	require.NoError(t, os.WriteFile(root+"/step02_expire/lock.go", []byte("package redislock\n\nvar x = y\n"), 0o666))
	shows(t, "red 3", 1, "the tests of step 03 with the lock of step 02 did not compile:\n", "undefined: y")
	require.NoError(t, os.RemoveAll(root+"/step05_lua_release"))
	shows(t, "green 5", 1, "step05_lua_release")
}

func TestClose_RemovesTheTemporaryFiles(t *testing.T) {
	inMini(t)
	tr, ctx, err := newTour(t.Context(), console{})
	require.NoError(t, err)
	require.NoError(t, write(tr.tmp+"/build-1/story.test", "binary"))
	tr.close()
	require.Error(t, ctx.Err(), "compilers that still run")
	require.NoDirExists(t, tr.tmp)
}

func TestProgress(t *testing.T) {
	var errs bytes.Buffer
	console{err: &errs}.progress("building x")()
	require.Equal(t, "building x ...\n", errs.String())
	errs.Reset()
	console{err: &errs, live: true}.progress("building x")()
	line := "building x ... 0s"
	require.Equal(t, "\r"+line+"\r"+strings.Repeat(" ", len(line))+"\r", errs.String())
}

func TestColor_OnlyWhenAsked(t *testing.T) {
	require.Equal(t, "x", console{}.paint(red, "x"))
	require.Equal(t, "\x1b[31mx\x1b[0m", console{color: true}.paint(red, "x"))
	require.Equal(t, "x", console{color: true}.paint("", "x"))
	require.Equal(t, "\x1b[31mx\x1b[0m\n\x1b[31my\x1b[0m\n", console{color: true}.paint(red, "x\ny\n"))
}

func TestCut(t *testing.T) {
	list := strings.Fields("a b c d e f g")
	for limit, want := range map[int]string{whole: "a b c d e f g", 7: "a b c d e f g", 4: "a b   ... 3 more lines ... f g"} {
		require.Equal(t, want, strings.Join(cut(slices.Clone(list), limit), " "))
	}
	require.Equal(t, "1 story, 2 stories, 0 tests", count(1, "story")+", "+count(2, "story")+", "+count(0, "test"))
}

package main

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatCannotBeBuilt(t *testing.T) {
	buildsMany(t)
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
	require.NoError(t, write(tr.Tmp+"/build-1/story.test", "binary"))
	tr.Close()
	require.Error(t, ctx.Err(), "compilers that still run")
	require.NoDirExists(t, tr.Tmp)
}

func TestProgress(t *testing.T) {
	var errs bytes.Buffer
	console{err: &errs}.progress("building x")()
	require.Equal(t, "building x ...\n", errs.String())
	errs.Reset()
	console{err: &errs, live: true}.progress("building x")()
	line := "building x ..."
	require.Equal(t, line+"\r"+strings.Repeat(" ", len(line))+"\r", errs.String())
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

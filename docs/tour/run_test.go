package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

func TestWhatCannotBeBuilt(t *testing.T) {
	buildsMany(t)
	root := inOwnMini(t)
	require.NoError(t, os.WriteFile(root+"/step02_expire/lock.go", []byte("package redislock\n\nvar x = y\n"), 0o666))
	shows(t, "red 3", 1, "the tests of step 03 with the lock of step 02 did not compile:\n", "undefined: y")
	require.NoError(t, os.RemoveAll(root+"/step05_lua_release"))
	shows(t, "green 5", 1, "step05_lua_release")
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
	work(t, imports(2))
	shows(t, "try 3", 1, "module lookup disabled by GOPROXY=off", "docs/read/workshop.md, \"Without a network\"")
}

func TestUnfetched(t *testing.T) {
	for out, want := range map[string]bool{
		"step01_setnx/lock.go:11:2: module lookup disabled by GOPROXY=off":                                                                                             true,
		"lock.go:11:2: github.com/x@v9.23.0: Get \"https://proxy.golang.org/github.com/x/@v/v9.23.0.zip\": proxyconnect tcp: dial tcp 127.0.0.1:9: connection refused": true,
		"lock.go:11:2: github.com/x@v9.23.0: reading https://goproxy.corp/github.com/x/@v/v9.23.0.zip: 403 Forbidden":                                                  true,
		"mylock/lock.go:3:5: undefined: dial": false,
	} {
		require.Equal(t, want, unfetched(out) != "", out)
	}
}

func TestClose_RemovesTheTemporaryFiles(t *testing.T) {
	inMini(t)
	dir := t.TempDir()
	t.Setenv("GOTMPDIR", dir)
	tr, ctx, err := newTour(t.Context(), console{})
	require.NoError(t, err)
	require.Equal(t, dir, filepath.Dir(tr.Tmp))
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

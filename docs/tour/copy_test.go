package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// app makes a module, and returns a folder of it that is still to be made.
func app(t *testing.T) string {
	t.Helper()
	t.Setenv("GOWORK", "off")
	dir := t.TempDir()
	require.NoError(t, write(filepath.Join(dir, "go.mod"), "module example.com/app\n\ngo 1.26\n"))
	return filepath.Join(dir, "internal", "redislock")
}

func namesIn(t *testing.T, dir string) (names []string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	require.NoError(t, err)
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestCopy(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	dir := app(t)
	require.NoError(t, write("step07_watchdog/lock.go", lesson+" 7.\n"+miniLock(7)))
	shows(t, "copy 7 "+dir, 0, "step 07", "lock.go", "docs/read/production.md", "$ cd "+dir, "$ go vet .\n", "!go test", "!go get")
	require.Equal(t, []string{"lock.go"}, namesIn(t, dir))
	require.Equal(t, "// Copied from example.com/redislock-steps, step07_watchdog, version unknown.\n\n"+inUse+" 7.\n"+miniLock(7), read(t, dir+"/lock.go"))
	shows(t, "copy 7 "+dir, 1, "stderr", "lock.go", "is there already")

	require.NoError(t, write("step03_atomic_set/README.md", "# Step 3\n"))
	dir = app(t)
	shows(t, "copy -tests 3 "+dir, 0, "lock.go", "$ go vet .\n", "$ go test", "ok")
	require.Equal(t, []string{"1_mutual_exclusion_test.go", "2_crashed_holder_test.go", "3_atomic_acquire_test.go",
		"bug_test.go", "here_test.go", "lab_test.go", "lock.go", "more_1_test.go", "more_2_test.go", "new_test.go"}, namesIn(t, dir))
	require.NoError(t, write("docs/fencing/lock.go", "package fencing\n"))
	shows(t, "copy -tests fencing "+filepath.Dir(dir)+"/fencing", 0, "check.go", "$ go test", "ok")

	require.NoError(t, write("step03_atomic_set/lock.go", miniLock(2)))
	shows(t, "copy 3 -tests "+app(t), 1, "$ go test", "--- FAIL", "stderr", "go test fails")
	dir = t.TempDir()
	shows(t, "copy 3 "+dir+"/redislock", 1, "stderr", "is not in a Go module", "go mod init")
	require.Empty(t, namesIn(t, dir))
}

// What a program lacks is not a failure: copy says how to get it.
func TestCopy_WhatTheProgramLacks(t *testing.T) {
	inOwnMini(t)
	require.NoError(t, write(course.Steps[6].Dir+"/send.go", "package redislock\n\nimport _ \"github.com/redis/go-redis/v9\"\n"))
	dir := app(t)
	shows(t, "copy 7 -tests "+dir, 0, "The lock needs go-redis 9.19", "Your module lacks something", "$ cd ", "$ go mod tidy\n$ go vet .\n$ go test -count=1 .\n")
	require.Contains(t, namesIn(t, dir), "send.go")
}

// committed commits all, and returns the name of that.
func committed(t *testing.T) (commit string) {
	t.Helper()
	for _, args := range []string{"init -q", "add .", "commit -q -m all --date 2026-11-26T12:00:00Z", "log -1 --format=%h"} {
		out, err := exec.Command("git", append(strings.Fields("-c user.name=a -c user.email=a@example.com -c commit.gpgsign=false"), strings.Fields(args)...)...).CombinedOutput()
		require.NoError(t, err, "%s", out)
		commit = strings.TrimSpace(string(out))
	}
	return commit
}

const someChanges = "# Changes\n\n## 26 November 2026\n\nYour copy has these\nchanges if its `lock.go` has `New(`.\n\n| steps | before | now | who |\n|---|---|---|---|\n" +
	"| 05 to 08 | it never was | it is | **all** |\n\n## 25 November 2026\n\nYour copy has these if its `lock.go` has `MaxHold`.\n\n" +
	"| 07, 08 | `Unlock` lied | it [tells](x.md) | all |\n| 05 to 08 | slow | fast | you |\n| 05, 06 | not this | step | no |\n\n## From one step to another\n\n`a` `b`\n\n| 05 to 08 | a | b | c |\n"

// What the owner of a copy has changed does not count. Without the commit, what it lacks does.
func TestCopyDiff(t *testing.T) {
	inOwnMini(t)
	lock := read(t, "step07_watchdog/lock.go")
	require.NoError(t, write("docs/read/changes.md", someChanges))
	require.NoError(t, write("step07_watchdog/lock.go", strings.ReplaceAll(lock, "MaxHold", "Hold")))
	old := committed(t)
	require.NoError(t, write("step07_watchdog/lock.go", lock))
	now := committed(t)
	tr, ctx, err := newTour(t.Context(), console{})
	require.NoError(t, err)
	defer tr.Close()
	require.Regexp(t, `^// Copied from example\.com/redislock-steps, step07_watchdog, version `+now+` \(\d{4}-\d\d-\d\d\)\.\n\n$`, tr.origin(ctx, course.Steps[6]))

	dir := t.TempDir()
	shows(t, "copy 7 -diff "+dir, 1, "has no copy of step 07: lock.go is not there")
	const nothing, newer = "Nothing has changed here since your copy", "(before -> now -> who must update; docs/read/changes.md):\n  - `Unlock` lied -> it tells -> all\n  - slow -> fast -> you\n"
	for _, tt := range []struct{ version, text, want string }{
		{now, "package mine // without\n", nothing},
		{old, "package mine // with MaxHold\n", newer},
		{"0123456", lock + "// mine\n", nothing},
		{"unknown", strings.ReplaceAll(lock, "MaxHold", "Hold"), newer},
	} {
		require.NoError(t, write(dir+"/lock.go", "// Copied from somewhere, version "+tt.version+" (2026-11-26).\n\n"+tt.text))
		shows(t, "copy -diff 7 "+dir, 0, "Copied from somewhere, version "+tt.version, tt.want, "!@@", "!never was", "!not this", "!a -> b")
	}
	require.NoError(t, write(dir+"/lock.go", lock))
	shows(t, "copy -diff 7 "+dir, 0, "does not say of which version it is.\n", nothing)
	require.NoError(t, write("step07_watchdog/lock.go", lock+"// more\n"))
	require.Contains(t, tr.origin(ctx, course.Steps[6]), ") with changes.\n\n")
}

// A section that is added to the page must name what a copy has since then.
func TestChanges_EachSectionNamesWhatACopyHasSince(t *testing.T) {
	root, err := course.Root()
	require.NoError(t, err)
	for _, name := range []string{"changes.md", "changes.zh-CN.md"} {
		page := read(t, root+"/docs/read/"+name)
		for _, s := range course.Steps[4:] {
			files, err := filepath.Glob(root + "/" + s.Dir + "/*.go")
			require.NoError(t, err)
			now := map[string]string{}
			for _, file := range files {
				now[filepath.Base(file)] = read(t, file)
			}
			require.NotEmpty(t, changesSince(page, s.N, nil), name)
			require.Empty(t, changesSince(page, s.N, now), name)
		}
		for _, section := range dated.Split(page, -1)[1:] {
			require.Equal(t, section[0] >= '0' && section[0] <= '9', names.MatchString(section), section)
		}
	}
}

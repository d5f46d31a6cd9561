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
	out := shows(t, "copy 7 "+dir, 0, "step 07", "lock.go", "docs/read/production.md", "$ cd "+dir, "$ go vet .\n")
	require.NotContains(t, out, "go test")
	require.NotContains(t, out, "go get", "it needs no module")
	require.Equal(t, []string{"lock.go"}, namesIn(t, dir))
	require.Equal(t, "// Copied from example.com/redislock-steps, step07_watchdog, version unknown.\n\n"+inUse+" 7.\n"+miniLock(7), read(t, dir+"/lock.go"))

	require.NoError(t, write("step03_atomic_set/README.md", "# Step 3\n"))
	dir = app(t)
	shows(t, "copy -tests 3 "+dir, 0, "lock.go", "$ go vet .\n", "$ go test", "ok")
	require.Equal(t, []string{"1_mutual_exclusion_test.go", "2_crashed_holder_test.go", "3_atomic_acquire_test.go",
		"bug_test.go", "here_test.go", "lab_test.go", "lock.go", "more_1_test.go", "more_2_test.go", "new_test.go"}, namesIn(t, dir))

	require.NoError(t, write("step03_atomic_set/lock.go", miniLock(2)))
	shows(t, "copy 3 -tests "+app(t), 1, "$ go test", "--- FAIL", "stderr", "go test fails")
}

func TestCopy_OverwritesNothing(t *testing.T) {
	inMini(t)
	dir := app(t)
	file := filepath.Join(dir, "lab_test.go")
	require.NoError(t, write(file, "mine"))
	shows(t, "copy 3 -tests "+dir, 1, "stderr", file, "is there already")
	require.Equal(t, []string{"lab_test.go"}, namesIn(t, dir))
}

func TestCopy_OutsideAModuleItWritesNothing(t *testing.T) {
	inMini(t)
	dir := t.TempDir()
	shows(t, "copy 3 "+dir+"/redislock", 1, "stderr", "is not in a Go module", "go mod init")
	require.Empty(t, namesIn(t, dir))
}

// What a program lacks is not a failure: copy says how to get it.
func TestCopy_WhatTheProgramLacks(t *testing.T) {
	inOwnMini(t)
	require.NoError(t, write(course.Steps[6].Dir+"/send.go", "package redislock\n\nimport (\n\t_ \"github.com/redis/go-redis/v9\"\n\t_ \"golang.org/x/sync/errgroup\"\n)\n\nvar _ interface{ NoRetry() bool }\n"))
	require.NoError(t, write("go.mod", read(t, "go.mod")+"\nrequire (\n\tgithub.com/redis/go-redis/v9 v9.23.0\n\tgolang.org/x/sync v0.24.0\n\tgolang.org/x/sys v0.48.0\n)\n"))
	const lacks, get, old = "Your module lacks something", "$ go get github.com/redis/go-redis/v9@v9.23.0", "The lock needs 9.19"
	for _, tt := range []struct {
		requires, args string
		want           []string
		not            []string
	}{
		{"", "", []string{lacks, "$ cd ", get + " golang.org/x/sync@v0.24.0\n$ go mod tidy\n$ go vet .\n"}, []string{old, "x/sys", "go test"}},
		{"\nrequire golang.org/x/sync v0.1.0\n", "", []string{get + "\n$ go mod tidy\n"}, []string{old}},
		{"\nrequire (\n\tgithub.com/redis/go-redis/v9 v9.18.0\n\tgolang.org/x/sync v0.1.0 // indirect\n)\n", "", []string{"has go-redis v9.18.0.", old, get + "\n"}, nil},
		{"\nrequire (\n\tgithub.com/redis/go-redis/v9 v9.21.0\n\tgolang.org/x/sync v0.24.0\n)\n", " -tests", []string{"has go-redis v9.21.0.", get + "\n$ go mod tidy\n$ go vet .\n$ go test -count=1 .\n"}, nil},
		{"\nrequire (\n\tgithub.com/redis/go-redis/v9 v9.22.0\n\tgolang.org/x/sync v0.24.0\n)\n", " -tests", []string{"missing go.sum entry", lacks, "$ go mod tidy\n$ go vet .\n"}, []string{"$ go get", old}},
	} {
		dir := app(t)
		mod := filepath.Join(dir, "..", "..", "go.mod")
		require.NoError(t, write(mod, read(t, mod)+tt.requires))
		out := shows(t, "copy 7 "+dir+tt.args, 0, tt.want...)
		for _, text := range tt.not {
			require.NotContains(t, out, text, tt.requires)
		}
		require.Contains(t, namesIn(t, dir), "send.go")
	}
}

func gitIn(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", append([]string{"-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return strings.TrimSpace(string(out))
}

// committed commits all, and returns the name of that.
func committed(t *testing.T, dir string) string {
	t.Helper()
	gitIn(t, dir, "add", ".")
	gitIn(t, dir, "commit", "-q", "-m", "all", "--date", "2026-11-26T12:00:00Z")
	return gitIn(t, dir, "log", "-1", "--format=%h")
}

// A clone knows its commit.
func TestCopy_SaysWhereItComesFrom(t *testing.T) {
	root := inOwnMini(t)
	gitIn(t, root, "init", "-q")
	committed(t, root)
	tr, ctx, err := newTour(t.Context(), console{})
	require.NoError(t, err)
	defer tr.Close()
	const clean = `^// Copied from example\.com/redislock-steps, step07_watchdog, version [0-9a-f]{7,} \(\d{4}-\d\d-\d\d\)`
	require.Regexp(t, clean+`\.\n\n$`, tr.origin(ctx, course.Steps[6]))
	require.NoError(t, write("step07_watchdog/lock.go", miniLock(6)))
	require.Regexp(t, clean+` with changes\.\n\n$`, tr.origin(ctx, course.Steps[6]))
	require.Regexp(t, originLine, tr.origin(ctx, course.Steps[6]))
}

const someChanges = "# Changes\n\n## 26 November 2026\n\nYour copy has these\nchanges if its `lock.go` has `New(`.\n\n| steps | before | now | who |\n|---|---|---|---|\n" +
	"| 05 to 08 | it never was | it is | **all** |\n\n## 25 November 2026\n\nYour copy has these if its `lock.go` has `MaxHold`.\n\n" +
	"| 07, 08 | `Unlock` lied | it [tells](x.md) | all |\n| 05 to 08 | slow | fast | you |\n| 05, 06 | not this | step | no |\n\n## From one step to another\n\n`a` `b`\n\n| 05 to 08 | a | b | c |\n"

// Where the commit is not known, what the copy lacks decides.
func TestCopyDiff_NoCommit(t *testing.T) {
	inOwnMini(t)
	require.NoError(t, write("docs/read/changes.md", someChanges))
	dir := t.TempDir()
	shows(t, "copy 7 -diff "+dir, 1, "has no copy of step 07: lock.go is not there")
	require.NoError(t, write(dir+"/lock.go", "// Copied from somewhere, version 3.\n\n"+miniLock(7)))
	shows(t, "copy -diff 7 "+dir, 0, "Copied from somewhere, version 3.\n", "Nothing has changed here since your copy.\n")
	require.NoError(t, write(dir+"/lock.go", miniLock(7)+"\n// mine\n"))
	shows(t, "copy -diff 7 "+dir, 0, "does not say of which version it is.\nNo entry of docs/read/changes.md is newer than your copy of step 07.\n")
	require.NoError(t, write(dir+"/lock.go", strings.Replace(miniLock(7), "MaxHold", "Hold", 1)))
	out := shows(t, "copy -diff 7 "+dir, 0, "(before -> now -> who must update; docs/read/changes.md):\n  - `Unlock` lied -> it tells -> all\n  - slow -> fast -> you\n", "copy overwrites nothing")
	for _, text := range []string{"@@", "never was", "not this", "a -> b"} {
		require.NotContains(t, out, text)
	}
}

// Where it is known, the reader's own change is none of ours.
func TestCopyDiff_TheReadersOwnChangeIsNoUpdate(t *testing.T) {
	root := inOwnMini(t)
	require.NoError(t, write("docs/read/changes.md", someChanges))
	lock := read(t, "step07_watchdog/lock.go")
	require.NoError(t, write("step07_watchdog/lock.go", strings.ReplaceAll(lock, "MaxHold", "Hold")))
	gitIn(t, root, "init", "-q")
	old := committed(t, root)
	require.NoError(t, write("step07_watchdog/lock.go", lock))
	now := committed(t, root)
	dir := t.TempDir()
	copied := func(commit, text string) {
		require.NoError(t, write(dir+"/lock.go", "// Copied from somewhere, version "+commit+" (2026-11-26).\n\n"+text))
	}
	copied(now, "package mine // without MaxHold\n")
	shows(t, "copy -diff 7 "+dir, 0, "(2026-11-26).\nNothing has changed here since your copy.\n")
	copied(old, "package mine // with MaxHold\n")
	shows(t, "copy -diff 7 "+dir, 0, "  - `Unlock` lied -> it tells -> all\n")
	copied("0123456", lock)
	shows(t, "copy -diff 7 "+dir, 0, "Nothing has changed here since your copy.\n")
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
			isDated := section[0] >= '0' && section[0] <= '9'
			require.Equal(t, isDated, names.MatchString(section), section)
			for line := range strings.Lines(section) {
				if cell, ok := strings.CutPrefix(line, "| 0"); ok && isDated {
					require.Regexp(t, ofSteps, "0"+strings.Split(cell, " | ")[0])
				}
			}
		}
	}
}

package main

import (
	"os"
	"path/filepath"
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
	out := shows(t, "copy 7 "+dir, 0, "step 07", "lock.go", "docs/read/production.md", "$ cd "+dir, "$ go vet .\n")
	require.NotContains(t, out, "go test")
	require.NotContains(t, out, "go get", "it needs no module")
	require.Equal(t, []string{"lock.go"}, namesIn(t, dir))
	require.Equal(t, miniLock(7), read(t, dir+"/lock.go"))

	require.NoError(t, write("step03_atomic_set/README.md", "# Step 3\n"))
	dir = app(t)
	shows(t, "copy -tests 3 "+dir, 0, "lock.go", "$ go vet .\n", "$ go test", "ok")
	require.Equal(t, []string{"1_mutual_exclusion_test.go", "2_crashed_holder_test.go", "3_atomic_acquire_test.go",
		"bug_test.go", "lab_test.go", "lock.go", "mistakes_test.go", "more_1_test.go", "more_2_test.go", "new_test.go"}, namesIn(t, dir))

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

// It says what is missing; the go command says that it is.
func TestCopy_WhatTheProgramLacks(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	require.NoError(t, write(course.Steps[6].Dir+"/send.go", "package redislock\n\nimport _ \"golang.org/x/sync/errgroup\"\n"))
	require.NoError(t, write("go.mod", read(t, "go.mod")+"\nrequire (\n\tgolang.org/x/sync v0.24.0\n\tgolang.org/x/sys v0.48.0\n)\n"))
	dir := app(t)
	out := shows(t, "copy 7 "+dir, 1, "lock.go, send.go", "go get golang.org/x/sync@v0.24.0\n", "$ go vet .\n", "golang.org/x/sync",
		"stderr", "go vet fails")
	require.NotContains(t, out, "x/sys", "no file of step 7 imports it")
	require.Equal(t, []string{"lock.go", "send.go"}, namesIn(t, dir))
}

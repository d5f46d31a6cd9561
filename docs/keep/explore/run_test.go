package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// A lock of one's own takes the place of a whole lock: no file of the step's stays, or its
// functions would be there twice.
func TestYourOwnLock_ReplacesAllFilesOfTheSteps(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, name := range []string{"step/lock.go", "step/send.go", "step/lock_test.go", "one/lock.go", "two/lock.go", "two/send.go", "two/more.go", "two/x_test.go", "none/send.go"} {
		require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o777))
		require.NoError(t, os.WriteFile(name, nil, 0o666))
	}
	one, err := replaced("step", "one")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"step/lock.go": filepath.FromSlash("one/lock.go"), "step/send.go": ""}, one)

	two, err := replaced("step", "two")
	require.NoError(t, err)
	require.Equal(t, map[string]string{"step/lock.go": filepath.FromSlash("two/lock.go"), "step/send.go": filepath.FromSlash("two/send.go"),
		"step/more.go": filepath.FromSlash("two/more.go")}, two)

	_, err = replaced("step", "none")
	require.ErrorContains(t, err, "lock.go")
}

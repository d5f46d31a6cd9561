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

// Step 06 nests, and step 05 does not: if the lock in the folder is what is run, step 05's
// cell is not as expected.
func TestYourOwnLock_IsWhatIsRun(t *testing.T) {
	if os.Getenv("BUILDS") == "" {
		t.Skip("it builds the explorer. Play it as .ci/run does: BUILDS=1 go test -C docs/keep ./explore")
	}
	page := filepath.Join(t.TempDir(), "page.html")
	own := []string{"-lock", "step06_reentrant", "-step", "5", "-fault", "nested"}
	t.Chdir(".") // run leaves it
	require.EqualError(t, run(own), `05/nested: expected "B", found ""`)
	require.NoError(t, run(append(own, "-html", page)))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), `id="data">`)
}

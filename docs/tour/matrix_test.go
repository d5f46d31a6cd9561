package main

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

func TestStaircase(t *testing.T) {
	for _, g := range course.Entries() {
		for _, lock := range course.Entries() {
			want := fmt.Sprintf("guarantee %d (%s) on %s should", g.N, g.File, lock.Subject())
			holds := cell{g, lock, []story.Result{{Verdict: story.Passed}}}
			fails := cell{g, lock, []story.Result{{Verdict: story.Passed}, {Verdict: story.Failed}}}
			if lock.N < g.N {
				require.NoError(t, fails.check())
				require.ErrorContains(t, holds.check(), want+" fail")
			} else {
				require.NoError(t, holds.check())
				require.ErrorContains(t, fails.check(), want+" hold")
			}
		}
	}
}

func TestACellOnlyCountsAssertions(t *testing.T) {
	for v := story.Skipped; v <= story.NotRun; v++ {
		c := cell{course.Steps[5], course.Steps[3], []story.Result{{Verdict: story.Failed}, {Verdict: v, Detail: "because"}}}
		require.ErrorContains(t, c.check(), "says nothing: : "+whyNot(c.Results[1]))
	}
}

func TestMatrix(t *testing.T) {
	buildsMany(t)
	root := inOwnMini(t)
	shows(t, "matrix -check", 1, "write it: go run ./docs/tour matrix")
	_, errs, code := tourOf(t, "matrix")
	require.Zero(t, code, errs)
	inOrder(t, errs, "building the tests of step 08 with the lock of step 01 ...", "building the tests of step 08 with the lock of step 02 ...")
	shows(t, "matrix -check", 0, "docs/read/matrix.md is up to date")
	page := read(t, matrixFile)
	inOrder(t, page, "\n| 3 atomic acquire | **✗** | **✗** | ✓ |", "\n| [stale write](../fencing) | **✗** |", "Step 02 fails 2 of 3:\n\n- `TestLeadAtomic_acquire`")
	require.NoError(t, write(matrixFile, page+"more\n"))
	shows(t, "matrix -check", 1, "docs/read/matrix.md is stale")
	require.NoError(t, write(root+"/step02_expire/lock.go", miniLock(3)))
	shows(t, "matrix", 1, "guarantee 3 (3_atomic_acquire_test.go) on the lock of step 02 should fail and holds")
	require.Equal(t, page+"more\n", read(t, matrixFile), "it is left as it was")
	require.NoError(t, os.Remove(root+"/"+lateWriteDir+"/"+lateWriteFile))
	shows(t, "matrix", 1, "cannot list the stories of docs/fencing/testdata/late_write_test.go")
}

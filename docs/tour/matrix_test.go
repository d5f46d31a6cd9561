package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
)

// cleanCells is the staircase, lock by lock; flip turns the cell of a guarantee and a lock over.
func cleanCells(flip ...int) []cell {
	var list []cell
	for _, lock := range course.Entries() {
		for _, g := range course.Entries() {
			if lock.IsEpilogue() && !g.IsEpilogue() {
				continue
			}
			ok := lock.N >= g.N
			if flip != nil && flip[0] == g.N && flip[1] == lock.N {
				ok = !ok
			}
			r := result{story: story{name: fmt.Sprintf("TestG%d", g.N)}}
			if !ok {
				r.verdict = failed
				r.log.tests = []*test{{name: r.name, status: "fail", verdicts: []trace.Record{{Text: "it is lost"}}}}
			}
			list = append(list, cell{g, lock, []result{{story: story{name: "TestAlways"}}, r}})
		}
	}
	return list
}

func TestStaircase(t *testing.T) {
	require.NoError(t, staircase(cleanCells()))
	for _, c := range cleanCells() {
		err := staircase(cleanCells(c.Guarantee.N, c.Lock.N))
		want := fmt.Sprintf("guarantee %d (%s) on the lock of step %02d should", c.Guarantee.N, c.Guarantee.File, c.Lock.N)
		if c.Guarantee.IsEpilogue() {
			want = fmt.Sprintf("the paused holder's stale write on %s should", c.Lock.Subject())
		}
		require.ErrorContains(t, err, want)
		require.Equal(t, 1, strings.Count(err.Error(), "should"), err)
	}
}

func TestACellOnlyCountsAssertions(t *testing.T) {
	for v := passed; v <= notRun; v++ {
		c := cell{course.Steps[5], course.Steps[3], []result{{verdict: failed}, {verdict: v, why: "because"}}}
		if v == passed || v == failed {
			require.NoError(t, c.check())
			continue
		}
		require.ErrorContains(t, c.check(), "because")
	}
}

func TestTheMatrixPage(t *testing.T) {
	text := renderMatrix(cleanCells())
	for _, want := range []string{
		"| | [1](../../step01_setnx) | [2](../../step02_expire) |",
		" [8](../../step08_redlock) |\n|---|:-:|:-:|:-:|:-:|:-:|:-:|:-:|:-:|\n| 1 mutual exclusion" + strings.Repeat(" | ✓", 8) + " |\n| 2 ",
		"| 3 atomic acquire" + strings.Repeat(" | **✗**", 2) + strings.Repeat(" | ✓", 6) + " |\n",
		"| [stale write](../fencing)" + strings.Repeat(" | **✗**", 8) + " |\n\n",
		"a resource that checks them: ✓.",
		"\n<details><summary>1 mutual exclusion: two clients never hold it at once</summary>\n\n" +
			"The stories are in [1_mutual_exclusion_test.go](../../step08_redlock/1_mutual_exclusion_test.go). None fails.\n</details>\n<details>",
		"\n<details><summary>3 atomic acquire: dying at any point of acquiring blocks no one beyond the TTL</summary>\n\n" +
			"The stories are in [3_atomic_acquire_test.go](../../step08_redlock/3_atomic_acquire_test.go).\n\n" +
			"Step 01 fails 1 of 2:\n\n- `TestG3`\n\nStep 02 fails 1 of 2:\n\n- `TestG3`\n</details>\n<details>",
		"\n<details><summary>stale write: a paused holder's stale write is rejected</summary>\n\n" +
			"It is [one story](../fencing/testdata/late_write_test.go), told on each lock. Step 01 fails differently from the others:\n\n" +
			"- step 01: it is lost\n- step 02: it is lost\n",
	} {
		require.Contains(t, text, want)
	}
	require.Equal(t, 8+1, strings.Count(text, "\n<details><summary>"), "the guarantees, and the last row")
	require.Equal(t, 28, strings.Count(text, " fails 1 of 2:\n"), "the failing cells")
	require.NotContains(t, text, "\n\n\n")

	tr := &tour{root: t.TempDir()}
	check := func() error { return tr.putGenerated(map[string]string{matrixFile: text}, "tour matrix", true) }
	require.ErrorContains(t, check(), "write it: tour matrix")
	for have, stale := range map[string]bool{
		text:                                   false,
		strings.ReplaceAll(text, "\n", "\r\n"): false,
		strings.Replace(text, "✓", "**✗**", 1): true,
		text + "\nmore\n":                      true,
	} {
		require.NoError(t, write(tr.root+"/"+matrixFile, have))
		if stale {
			require.ErrorContains(t, check(), "docs/read/matrix.md is stale; write it again: tour matrix")
		} else {
			require.NoError(t, check())
		}
	}
}

func TestMatrix(t *testing.T) {
	buildsMany(t)
	root := inOwnMini(t)
	out := shows(t, "matrix", 0, "3 3_atomic_acquire_test.go        ✗    ✗    ✓", "written to docs/read/matrix.md")
	require.Contains(t, out, "  paused holder's stale write     ✗")
	shows(t, "matrix -check", 0, "docs/read/matrix.md is up to date")
	require.NoError(t, write(root+"/step02_expire/lock.go", miniLock(3)))
	shows(t, "matrix -check", 1, "docs/read/matrix.md is stale")
	shows(t, "matrix", 1, "guarantee 3 (3_atomic_acquire_test.go) on the lock of step 02 should fail and holds")
	require.NoError(t, os.Remove(root+"/"+lateWriteDir+"/"+lateWriteFile))
	shows(t, "matrix", 1, "docs/fencing/testdata/late_write_test.go is missing")
}

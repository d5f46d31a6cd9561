package course

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/source"
)

// Budgets, in lines. What makes a lock longer, or a diff, needs a user who met the failure
// that the lines prevent: a story only shows that they can be tested.
var budgets = map[int]struct{ lock, all, lockDiff, allDiff int }{
	1: {115, 115, 20, 20},
	2: {120, 120, 30, 30},
	3: {120, 120, 25, 25},
	4: {160, 160, 80, 80},
	5: {190, 235, 75, 120},
	6: {205, 310, 180, 240},
	7: {245, 515, 120, 290},
	8: {226, 765, 140, 480},
}

func TestBudgets(t *testing.T) {
	const format = "%-4s  %10s  %10s  %16s  %16s"
	t.Logf(format, "step", "lock.go", "all files", "lock.go changed", "all changed")
	for _, s := range Steps {
		want, now := budgets[s.N], filesOf(t, s)
		before := filesOf(t, s.Before())
		lockDiff, allDiff, all := 0, 0, 0
		for name, text := range now {
			n := changed(before[name], text)
			allDiff += n
			all += len(text)
			if name == LockFile {
				lockDiff = n
			}
		}
		lock := len(now[LockFile])
		t.Logf("%02d    %4d / %3d  %4d / %3d  %10d / %3d  %10d / %3d", s.N, lock, want.lock, all, want.all, lockDiff, want.lockDiff, allDiff, want.allDiff)
		for what, have := range map[string][2]int{
			"lines in lock.go": {lock, want.lock}, "lines in all files": {all, want.all},
			"lines changed in lock.go": {lockDiff, want.lockDiff}, "lines changed in all files": {allDiff, want.allDiff},
		} {
			assert.LessOrEqualf(t, have[0], have[1], "%s: %s. Which user needs them, and what goes out instead?", s.Dir, what)
		}
	}
}

// The files of the test harness, by reader: what the author of a story writes, the network,
// the timeline.
func TestTheLaboratoryStaysSmall(t *testing.T) {
	for name, most := range map[string]int{LabFile: 360, "lab_net_test.go": 420, "lab_trace_test.go": 200} {
		text, err := os.ReadFile(filepath.Join("../../..", Last.Dir, name))
		require.NoError(t, err)
		assert.LessOrEqualf(t, strings.Count(string(text), "\n"), most, "%s: who needs these lines, and what goes out instead?", name)
	}
}

func filesOf(t *testing.T, s Step) map[string][]string {
	dir := filepath.Join("../../..", s.Dir)
	names, err := source.Files(dir)
	require.NoError(t, err)
	files := map[string][]string{}
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		files[name] = strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	}
	return files
}

// changed returns how many lines a diff of two texts takes out and puts in.
func changed(a, b []string) (n int) {
	for _, e := range source.Diff(a, b) {
		if e.Op != ' ' {
			n++
		}
	}
	return n
}

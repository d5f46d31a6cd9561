package course

import (
	"io/fs"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/source"
)

// A budget is in lines: of lock.go and of all files, and how many a diff of them changes.
type budget struct{ lock, all, lockDiff, allDiff int }

// What makes a lock longer, or a diff, needs a user who met the failure that the lines
// prevent: a story only shows that they can be tested.
var budgets = map[int]budget{
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
	for _, s := range Steps {
		var have budget
		before := filesOf(t, s.Before())
		for name, text := range filesOf(t, s) {
			n := 0
			for _, e := range source.Diff(before[name], text) {
				if e.Op != ' ' {
					n++
				}
			}
			have.all += len(text)
			have.allDiff += n
			if name == LockFile {
				have.lock, have.lockDiff = len(text), n
			}
		}
		most := budgets[s.N]
		t.Logf("%s: %+v, at most %+v", s.Label(), have, most)
		more := budget{
			max(have.lock, most.lock), max(have.all, most.all),
			max(have.lockDiff, most.lockDiff), max(have.allDiff, most.allDiff),
		}
		assert.Equalf(t, most, more, "%s: which user needs these lines, and what goes out instead?", s.Dir)
	}
}

// The files of the test harness, by reader: what the author of a story writes, the network,
// the timeline.
func TestTheLaboratoryStaysSmall(t *testing.T) {
	for name, most := range map[string]int{LabFile: 360, "lab_net_test.go": 420, "lab_trace_test.go": 200} {
		lines := strings.Count(read(t, Last.Dir+"/"+name), "\n")
		assert.LessOrEqualf(t, lines, most, "%s: who needs these lines, and what goes out instead?", name)
	}
}

// What proves the course must not bury it.
func TestTheToolsStaySmall(t *testing.T) {
	lines := 0
	require.NoError(t, fs.WalkDir(root, "docs", func(name string, d fs.DirEntry, err error) error {
		if d.Name() == "node_modules" {
			return fs.SkipDir
		}
		if path.Ext(name) == ".go" {
			lines += strings.Count(read(t, name), "\n")
		}
		return err
	}))
	assert.LessOrEqual(t, lines, 26_500, "which reader needs these lines of Go, and what goes out instead?")
}

func filesOf(t *testing.T, s Step) map[string][]string {
	names, err := source.Files(path.Join("../../..", s.Dir))
	require.NoError(t, err)
	files := map[string][]string{}
	for _, name := range names {
		files[name] = strings.Split(strings.TrimSuffix(read(t, s.Dir+"/"+name), "\n"), "\n")
	}
	return files
}

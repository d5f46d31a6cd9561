package course

import (
	"io/fs"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/source"
)

// A budget is in lines of code, without comments and blank lines: those of lock.go, and those
// that its diff from the step before changes.
type budget struct{ lock, diff int }

// What makes a lock longer, or a diff, needs a user who met the failure that the lines
// prevent: a story only shows that they can be tested.
var budgets = map[int]budget{
	1: {80, 7},
	2: {87, 10},
	3: {84, 7},
	4: {116, 52},
	5: {119, 25},
	6: {141, 125},
	7: {175, 84},
	8: {162, 75},
}

func TestBudgets(t *testing.T) {
	for _, s := range Steps {
		code := codeOf(t, s)
		have := budget{lock: len(code)}
		for _, e := range source.Diff(codeOf(t, s.Before()), code) {
			if e.Op != ' ' {
				have.diff++
			}
		}
		most := budgets[s.N]
		t.Logf("%s: %+v, at most %+v", s.Label(), have, most)
		assert.Equalf(t, most, budget{max(have.lock, most.lock), max(have.diff, most.diff)},
			"%s: which user needs these lines, and what goes out instead?", s.Dir)
	}
}

// codeOf returns the lines of a step's lock.go that are neither blank nor a comment.
func codeOf(t *testing.T, s Step) []string {
	return slices.DeleteFunc(strings.Split(read(t, s.Path()), "\n"), func(line string) bool {
		line = strings.TrimSpace(line)
		return line == "" || strings.HasPrefix(line, "//")
	})
}

// The files of the test harness, by reader: what the author of a story writes, and what is
// below it. And the stories that tell a fix: the others are in docs/stories.
func TestTheLaboratoryAndTheFirstReadingStaySmall(t *testing.T) {
	limits := map[string]int{LabFile: 380, NetFile: 700, "7_lost_test.go": 225, "8_validity_test.go": 125}
	for _, s := range Steps {
		limits[s.File] = 125
	}
	for name, most := range limits {
		lines := strings.Count(read(t, Last.Dir+"/"+name), "\n")
		assert.LessOrEqualf(t, lines, most, "%s: who needs these lines, and what goes out instead?", name)
	}
}

// What proves the course must not bury it. Of these lines, eighteen hundred are the epilogue,
// and four hundred use libraries as their READMEs do.
func TestTheToolsStaySmall(t *testing.T) {
	lines := 0
	require.NoError(t, fs.WalkDir(root, "docs", func(name string, d fs.DirEntry, err error) error {
		if d.Name() == "node_modules" || name == SecondDir {
			return fs.SkipDir
		}
		copied := d.Name() == "send.go" || d.Name() == "replies.go" || strings.HasPrefix(d.Name(), "lab") // from the steps
		if path.Ext(name) == ".go" && !(copied && path.Dir(name) == Epilogue.Dir) {
			lines += strings.Count(read(t, name), "\n")
		}
		return err
	}))
	assert.LessOrEqual(t, lines, 21_575, "which reader needs these lines of Go, and what goes out instead?")
}

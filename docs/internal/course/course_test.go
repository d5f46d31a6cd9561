package course

import (
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTableIsCompleteAndTrueOfTheFolders(t *testing.T) {
	for i, s := range Entries() {
		require.Equal(t, i+1, s.N)
		require.NotContains(t, []string{s.Title, s.Problem, s.Lock, s.Words, s.Fresh, s.Guarantee, s.Broken, s.Before().Lock, s.Before().Words}, "", s.Label())
		for _, file := range []string{s.Path(), s.Before().Path(), s.Dir + "/" + s.File} {
			require.FileExists(t, "../../../"+file)
		}
		got, err := Parse(s.Arg())
		require.NoError(t, err)
		require.Equal(t, s, got)
	}
	for _, arg := range []string{"0", "9", "-1", "one", "epilogue", ""} {
		_, err := Parse(arg)
		require.ErrorContains(t, err, "no such step: "+arg)
	}
	require.Equal(t, []string{First.Dir, Steps[6].Dir, Unfenced.Dir}, []string{Steps[0].Before().Dir, Steps[7].Before().Dir, Epilogue.Before().Dir})
}

// What needs newer methods does not compile with the lock before, and the lock of the
// epilogue is the same on both sides.
func TestRed_IsWhatTheLockBeforeCanBeAsked(t *testing.T) {
	require.Len(t, Steps[5].Red(), 4, "two files, each with its second reading")
	require.Equal(t, Steps[6].Beginning()[:1], Steps[6].Red())
	require.Equal(t, Epilogue.Beginning()[:1], Epilogue.Red())
}

func TestRoot(t *testing.T) {
	t.Chdir("../../keep") // another module
	root, err := Root()
	require.NoError(t, err)
	require.FileExists(t, root+"/docs/internal/course/course.go")

	t.Chdir(t.TempDir())
	_, err = Root()
	require.ErrorContains(t, err, "change into the repository")
}

// The worked example of the page about stories, as it says, fails on step 03's lock.
func TestTestingPage_ItsExampleFailsOnAnOlderLock(t *testing.T) {
	blocks := regexp.MustCompile("(?s)```(?:go|json)\n(.*?)```")
	example := blocks.FindAllStringSubmatch(read(t, "docs/read/testing.md"), 2)
	require.Equal(t, example, blocks.FindAllStringSubmatch(read(t, "docs/read/testing.zh-CN.md"), 2))
	story, overlay := t.TempDir()+"/operator_test.go", t.TempDir()+"/overlay.json"
	js := strings.Replace(example[1][1], "{\n", fmt.Sprintf("{\n%q: %q,", "step05_lua_release/operator_test.go", story), 1)
	require.NoError(t, os.WriteFile(story, []byte(example[0][1]), 0o666))
	require.NoError(t, os.WriteFile(overlay, []byte(js), 0o666))
	cmd := exec.Command("go", "test", "-overlay", overlay, "-run=Operator", "./step05_lua_release")
	cmd.Dir = "../../.."
	out, err := cmd.CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "carol is inside with him")
}

package course

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheTableIsCompleteAndTrueOfTheFolders(t *testing.T) {
	for i, s := range Entries() {
		require.Equal(t, i+1, s.N)
		require.NotContains(t, []string{s.Title, s.Problem, s.Lock, s.Words, s.Fresh, s.Guarantee, s.Broken, s.Before().Lock, s.Before().Words}, "", s.Label())
		require.LessOrEqual(t, len(s.Problem), 53, "next to the word for it, and mylock, on a line of 80 columns")
		require.NotZero(t, s.Nodes, s.Label())
		for _, file := range []string{s.Path(), s.Before().Path(), s.Dir + "/" + s.File} {
			require.FileExists(t, "../../../"+file)
		}
		if i > 0 && !s.IsEpilogue() {
			require.Equal(t, Steps[i-1].Dir, s.Before().Dir)
		}
	}
	require.Equal(t, First.Dir, Steps[0].Before().Dir)
	require.Equal(t, Unfenced.Dir, Epilogue.Before().Dir)
}

// What needs newer methods does not compile with the lock before, and the lock of the
// epilogue is the same on both sides.
func TestRed_IsWhatTheLockBeforeCanBeAsked(t *testing.T) {
	require.Len(t, Steps[5].Red(), 4, "two files, each with its second reading")
	require.Equal(t, Steps[6].Beginning()[:1], Steps[6].Red())
	require.Equal(t, Epilogue.Beginning()[:1], Epilogue.Red())
}

func TestParse(t *testing.T) {
	for _, want := range Entries() {
		got, err := Parse(want.Arg())
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	for _, arg := range []string{"0", "9", "-1", "one", "epilogue", ""} {
		_, err := Parse(arg)
		require.ErrorContains(t, err, "no such step: "+arg)
	}
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

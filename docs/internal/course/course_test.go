package course

import (
	"os"
	"strings"
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
			_, err := os.Stat("../../../" + file)
			require.NoError(t, err)
		}
		if i > 0 && !s.IsEpilogue() {
			require.Equal(t, Steps[i-1].Dir, s.Before().Dir)
		}
	}
	require.Equal(t, First.Dir, Steps[0].Before().Dir)
	require.Equal(t, Unfenced.Dir, Epilogue.Before().Dir)
}

func TestFilesOfAStep(t *testing.T) {
	for _, tt := range []struct {
		step                     int
		red, beginning, all, not string
	}{
		{1, "1_mutual_exclusion", "1_mutual_exclusion", "1_mutual_exclusion", "2_crashed_holder"},
		{6, "6_reentrant 6_waiting", "6_reentrant 6_waiting", "5_atomic_release 6_reentrant 6_waiting", "7_lost"},
		{7, "7_watchdog", "7_watchdog 7_lost", "6_waiting 7_watchdog 7_lost", "8_validity"},
		{8, "8_failover", "8_failover 8_validity", "6_reentrant 7_watchdog 7_lost 8_failover 8_validity", "6_waiting"},
		{9, "fencing", "fencing lock", "fencing lock", "1_mutual_exclusion"},
	} {
		s := Entries()[tt.step-1]
		require.Equal(t, tt.red, names(s.Red()), s.Label())
		require.Equal(t, tt.beginning, names(s.Beginning()), s.Label())
		require.Truef(t, strings.HasSuffix(names(s.Guarantees()), tt.all), "%s: %s", s.Label(), names(s.Guarantees()))
		require.NotContains(t, names(s.Guarantees()), tt.not, s.Label())
	}
}

func names(files []File) string {
	var list []string
	for _, f := range files {
		list = append(list, strings.TrimSuffix(f.Name, "_test.go"))
	}
	return strings.Join(list, " ")
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

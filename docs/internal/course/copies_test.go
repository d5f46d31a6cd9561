package course

import (
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/source"
)

// A folder has to stand alone, so files are copied from step to step. Here the copies are compared.

var root = os.DirFS("../../..")

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := fs.ReadFile(root, name)
	require.NoError(t, err)
	return string(text)
}

func TestCopiesAreEqual(t *testing.T) {
	own := []string{LockFile, NewFile, BugFile, ExampleFile, "README.md", "README.zh-CN.md"} // differ by intent
	for _, s := range Steps[1:] {
		files, err := fs.Glob(root, s.Before().Dir+"/[^.]*") // hidden files are of editors and systems
		require.NoError(t, err)
		for _, file := range files {
			name := path.Base(file)
			_, err := fs.Stat(root, s.Dir+"/"+name)
			ends := slices.ContainsFunc(Files(), func(f File) bool { return f.Name == name && f.To < s.N })
			switch {
			case slices.Contains(own, name), err != nil && ends:
			case s.N == 8 && name == "waiting.go": // there a waiter retries, and is not woken
			case s.N == 6 && name == "replies.go": // lock.go and waiting.go do it
			default:
				same(t, s.Dir+"/"+name, read(t, file), s.Before().Dir)
			}
		}
	}

	labs, err := fs.Glob(root, Last.Dir+"/lab*_test.go")
	require.NoError(t, err)
	for _, name := range append(labs, Steps[4].Dir+"/send.go", Steps[4].Dir+"/replies.go") {
		text := strings.Replace(read(t, name), "package redislock\n", "package fencing\n", 1)
		same(t, Epilogue.Dir+"/"+path.Base(name), text, name)
	}
	for _, name := range labs { // the second reading has the laboratory of the folders
		same(t, SecondDir+"/"+path.Base(name), read(t, name), name)
	}

	// Its lock releases as that of step 05, whose stories about Unlock it does not repeat.
	code := func(dir, from string) string {
		_, rest, found := strings.Cut(read(t, dir+"/"+LockFile), "\n"+from)
		require.True(t, found, "%s has no %s", dir, from)
		code, _, _ := strings.Cut(rest, "\n\n")
		return strings.ReplaceAll(code, "owner", "token")
	}
	for _, from := range []string{"const releaseScript", "func (l *Lock) Unlock(", "func (l *Lock) release("} {
		require.Equal(t, code(Steps[4].Dir, from), code(Epilogue.Dir, from), from)
	}
}

func TestGuaranteesStandWhereTheyBelong(t *testing.T) {
	for _, f := range append(Files(), Hardening...) {
		for _, s := range Steps {
			_, err := fs.Stat(root, s.Dir+"/"+f.Name)
			has := f.From <= s.N && s.N <= f.To && !IsSecond(f.Name)
			assert.Equalf(t, has, err == nil, "%s in %s: steps %d to %d have it", f.Name, s.Dir, f.From, f.To)
		}
		_, err := fs.Stat(root, Steps[f.From-1].Home(f.Name)+"/"+f.Name)
		assert.NoError(t, err)
	}
}

// The second reading repeats what it uses of the stories of the folders.
func TestTheSecondReadingHasTheSameHelpers(t *testing.T) {
	told, err := source.Read("../../../" + SecondDir + "/told_test.go")
	require.NoError(t, err)
	numbered, err := fs.Glob(root, "step0[78]*/[0-9]_*_test.go")
	require.NoError(t, err)
	for _, d := range told {
		stands := slices.ContainsFunc(numbered, func(name string) bool { return strings.Contains(read(t, name), d.Text) })
		assert.Truef(t, stands || d.Name == "", "%s in %s/told_test.go is not that of a folder", d.Name, SecondDir)
	}
}

func same(t *testing.T, name, want, of string) {
	assert.Truef(t, read(t, name) == want, "%s is not that of %s", name, of)
}

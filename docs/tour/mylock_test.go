package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestPlayable_OnlySyncGivesWay(t *testing.T) {
	const ours = `"example.com/redislock-steps/docs/tour/sync"`
	for src, want := range map[string]string{
		"package p\n\nimport (\n\t\"fmt\"\n\t\"sync\"\n\t\"sync/atomic\"\n)\n": "package p\n\nimport (\n\t\"fmt\"\n\tsync " + ours + "\n\t\"sync/atomic\"\n)\n",
		"package p\nimport s \"sync\"\nvar m s.Mutex // sync":                  "package p\nimport s " + ours + "\nvar m s.Mutex // sync",
		"package p\nimport \"golang.org/x/sync/semaphore\"\n":                  "package p\nimport \"golang.org/x/sync/semaphore\"\n",
		"package p\nimport (": "package p\nimport (",
	} {
		require.Equal(t, want, string(playable([]byte(src))))
	}
	require.Equal(t, "//line mylock/a.go:1:1\npackage p\n", string(asMine("a.go", []byte("\ufeffpackage p\n"))))
}

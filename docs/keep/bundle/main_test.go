package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

func TestThePage_IsMadeOfItsSources(t *testing.T) {
	root, err := course.Root()
	require.NoError(t, err)
	t.Chdir(root)
	script, err := bundled()
	require.NoError(t, err)
	html, err := rebuilt(script)
	require.NoError(t, err)
	for file, want := range map[string][]byte{scriptFile: script, pageFile: html} {
		is, err := os.ReadFile(file)
		require.NoError(t, err)
		require.True(t, string(want) == string(is), "%s: go run -C docs/keep ./bundle", file)
	}
}

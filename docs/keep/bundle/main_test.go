package main

import (
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestThePage_IsMadeOfItsSources(t *testing.T) {
	want, err := rebuilt()
	require.NoError(t, err)
	is, err := os.ReadFile(pageFile)
	require.NoError(t, err)
	require.True(t, string(want) == string(is), "%s: go run -C docs/keep ./bundle", pageFile)
}

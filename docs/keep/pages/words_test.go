package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Every page, comment and message is plain English. "go run -C docs/keep ./pages -words"
// lists the same; what is right in its place is an exception in words.go, or a quotation.
func TestWords_NoForbiddenWording(t *testing.T) {
	t.Chdir("../../..")
	files, err := englishFiles()
	require.NoError(t, err)
	require.Greater(t, len(files), 200, "the repository has more English files than these")
	require.NoError(t, showWords(files))
}

func TestWords_WhatIsFound(t *testing.T) {
	for _, c := range []struct {
		file, text string
		line       int // 0: nothing is found
	}{
		{"a.md", "# A\n\nThe lock is taken back.\n", 3},
		{"a.md", "# A\n\nA says \"the lock is taken back\".\n", 3},
		{"a.md", "# A\n\nA says “the lock is taken back”.\n", 0},
		{"a.md", "> the lock is taken back\n", 0},
		{"a.md", "```text\nthe lock is taken back\n```\n", 0},
		{"a.md", "`the lock is taken back`\n", 0},
		{"a.md", "That is no lock.\n", 1},
		{"a.md", "There is no lock. There is no longer a lock.\n", 0},
		{"a.md", "Alice, who wants it, is refused, but who holds it?\n", 0},
		{"a.md", "It is free, but who meets it fails.\n", 1},
		{"a.go", "package a\n\n// Nobody holds it.\nvar nobody = 1\n", 3},
		{"a.go", "package a\n\nvar x = \"the ttl is over\"\n", 3},
		{"a.go", "package a\n\nvar x = lock(\"nobody\")\n", 0},
	} {
		bad := badWords(c.file, c.text)
		if c.line == 0 {
			require.Empty(t, bad, c.text)
			continue
		}
		require.Len(t, bad, 1, c.text)
		require.Contains(t, bad[0], c.file+":"+string(rune('0'+c.line))+": ", c.text)
	}
}

package course

import (
	"io/fs"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Pages show code with its comments, and people read stories side by side. With a tab of
// four, a line with a comment has at most 100 columns, and one of a story 120.
func TestLinesAreNotTooWide(t *testing.T) {
	comment, story := regexp.MustCompile("^([^\"`]*\\s)?// "), regexp.MustCompile(`^step0.*_test\.go$`)
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		hidden := name != "." && strings.HasPrefix(d.Name(), ".")
		if err == nil && d.IsDir() && (hidden || name == "mylock" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if err != nil || path.Ext(name) != ".go" {
			return err
		}
		for i, line := range strings.Split(read(t, name), "\n") {
			wide := utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    "))
			assert.Falsef(t, wide > 100 && comment.MatchString(line) || wide > 120 && story.MatchString(name),
				"%s:%d has %d columns: wrap it at 100, or 120 without a comment", name, i+1, wide)
		}
		return nil
	}))
}

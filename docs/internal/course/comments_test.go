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

// Pages show code with its comments: with a tab of four, a line with one has at most 100
// columns.
func TestLinesAreNotTooWide(t *testing.T) {
	comment := regexp.MustCompile("^([^\"`]*\\s)?// ")
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
			assert.Falsef(t, wide > 100 && comment.MatchString(line), "%s:%d has %d columns: wrap it at 100", name, i+1, wide)
		}
		return nil
	}))
}

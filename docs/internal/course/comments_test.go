package course

import (
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// maxColumns is how wide a comment may be, with a tab of four. Pages show code with its
// comments, and of a wider one a reader sees the end only after scrolling sideways.
const maxColumns = 100

func TestCommentsAreNotTooWide(t *testing.T) {
	require.NoError(t, fs.WalkDir(root, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		hidden := name != "." && strings.HasPrefix(d.Name(), ".")
		if d.IsDir() && (hidden || name == "mylock" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if path.Ext(name) == ".go" {
			for _, line := range wideComments(read(t, name)) {
				assert.Failf(t, "a comment is too wide", "%s:%d: wrap it at 100 columns, or put it above the code", name, line)
			}
		}
		return nil
	}))
}

// wideComments returns the lines on which a comment ends beyond maxColumns.
func wideComments(src string) (wide []int) {
	lines := strings.Split(src, "\n")
	fset := token.NewFileSet()
	f, _ := parser.ParseFile(fset, "", src, parser.ParseComments|parser.SkipObjectResolution)
	for _, c := range f.Comments {
		for n := fset.Position(c.Pos()).Line; n <= fset.Position(c.End()).Line; n++ {
			if utf8.RuneCountInString(strings.ReplaceAll(lines[n-1], "\t", "    ")) > maxColumns {
				wide = append(wide, n)
			}
		}
	}
	return wide
}

package course

import (
	"go/scanner"
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
			for _, line := range wideComments([]byte(read(t, name))) {
				assert.Failf(t, "a comment is too wide", "%s:%d: wrap it at 90 columns, or put it above the code", name, line)
			}
		}
		return nil
	}))
}

func TestWideComments(t *testing.T) {
	wide := strings.Repeat("ä", maxColumns-len("// "))
	src := "package x\n\n// " + wide + "\n// " + wide + "!\n\nvar s = `// " + wide + "`\n\n\t// " + wide[8:] + "\n" +
		"\tvar long_ = 1 // " + wide + "\n/*\n" + wide + "wide\n*/\n"
	require.Equal(t, []int{4, 9, 11}, wideComments([]byte(src)))
}

// wideComments returns the lines on which a comment ends beyond maxColumns.
func wideComments(src []byte) (wide []int) {
	lines := strings.Split(string(src), "\n")
	file := token.NewFileSet().AddFile("", -1, len(src))
	var s scanner.Scanner
	s.Init(file, src, nil, scanner.ScanComments)
	for {
		pos, tok, text := s.Scan()
		if tok == token.EOF {
			return wide
		}
		if tok != token.COMMENT {
			continue
		}
		first := file.Line(pos)
		for n := first; n <= first+strings.Count(text, "\n"); n++ {
			if utf8.RuneCountInString(strings.ReplaceAll(lines[n-1], "\t", "    ")) > maxColumns {
				wide = append(wide, n)
			}
		}
	}
}

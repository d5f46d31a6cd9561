package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// speakingChinese is this program in Chinese until the test ends.
func speakingChinese(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { course.Chinese = false })
	course.Chinese = true
}

// says are the functions that take the texts of this program.
var says = []string{"printf", "prose", "complain", "behind", "strong", "heading", "item",
	"progress", "playing", "say", "errorf", "wrongUsage", "word", "saying", "count", "capital"}

var (
	aWord = regexp.MustCompile(`[A-Za-z]{2,}`)
	verb  = regexp.MustCompile(`%(?:\[(\d+)\])?[-+0-9.*]*([a-z])`)
	// notSaid is the same in every language: commands.
	notSaid = regexp.MustCompile(`go run \./docs/tour( \w+)?( %[ds])?( -\w+)?|\$ (go|cd)\b|(red|green|diff|try|hint) %[ds]( -\w+)?|^(real|all)\b`)
)

// TestChinese_IsCompleteAndNotTooMuch reads the source: what a function that says something is
// called with has its Chinese, with the same verbs, and what has Chinese stands in the source.
func TestChinese_IsCompleteAndNotTooMuch(t *testing.T) {
	all := map[string]bool{"epilogue": true}
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	paths = slices.DeleteFunc(paths, func(path string) bool { return strings.HasSuffix(path, "_test.go") })
	fset := token.NewFileSet()
	for _, path := range paths {
		f, err := parser.ParseFile(fset, path, nil, 0)
		require.NoError(t, err)
		ast.Inspect(f, func(n ast.Node) bool {
			if e, ok := n.(ast.Expr); ok {
				all[literal(e)] = true
			}
			call, ok := n.(*ast.CallExpr)
			if !ok || !slices.Contains(says, nameOf(call)) {
				return true
			}
			for _, arg := range call.Args {
				if text := literal(arg); aWord.MatchString(verb.ReplaceAllString(notSaid.ReplaceAllString(text, ""), "")) {
					assert.NotEmptyf(t, inChinese.Texts[text], "%s: no Chinese for %q", fset.Position(arg.Pos()), text)
				}
			}
			return true
		})
	}
	for _, c := range commands {
		for _, u := range slices.Concat(c.usage, c.more) {
			all[u[0]], all[u[1]] = true, true
			assert.NotEmpty(t, inChinese.Texts[u[1]], u[1])
		}
	}
	for text, found := range inChinese.Texts {
		assert.Truef(t, all[text] || strings.Contains(text, "#"), "nothing says this any longer: %q", text)
		assert.Equalf(t, verbs(text), verbs(found), "%q", text)
		assert.Equalf(t, strings.HasSuffix(text, "\n"), strings.HasSuffix(found, "\n"), "%q", text)
	}
}

func nameOf(call *ast.CallExpr) string {
	switch f := call.Fun.(type) {
	case *ast.Ident:
		return f.Name
	case *ast.SelectorExpr:
		return f.Sel.Name
	}
	return ""
}

// literal is a text of one or several literals; "" if it is none.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, _ := strconv.Unquote(e.Value)
		return text
	case *ast.BinaryExpr:
		if a, b := literal(e.X), literal(e.Y); a != "" && b != "" {
			return a + b
		}
	}
	return ""
}

// verbs are those of a format, by the places of their arguments.
func verbs(format string) map[int]string {
	list, next := map[int]string{}, 1
	for _, found := range verb.FindAllStringSubmatch(strings.ReplaceAll(format, "%%", ""), -1) {
		if n, err := strconv.Atoi(found[1]); err == nil {
			next = n
		}
		list[next] = found[2]
		next++
	}
	return list
}

func TestChinese_FitsATerminal(t *testing.T) {
	speakingChinese(t)
	fits(t, "help", usage(false)+usage(true))
	require.LessOrEqual(t, strings.Count(usage(false), "\n"), 25, "it is one screen")
	for _, s := range course.Steps {
		require.LessOrEqual(t, course.Wide(word(s.Problem)), 53, "next to the word for it, and mylock, on a line of 80 columns")
		require.Equal(t, columns, course.Wide(banner(s)))
	}
	for _, state := range []string{"solved ", "later  ", "missing", "holds  ", "not run"} {
		require.Equal(t, 7, course.Wide(word(state)), state)
	}
}

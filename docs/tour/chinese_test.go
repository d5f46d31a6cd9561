package main

import (
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"go/types"
	"os"
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

// onlyEnglish are the files and functions whose texts are for the authors of the
// repository, the matrix and why -all (see request.forAuthors), and what copy puts into a file.
var onlyEnglish = []string{"matrix.go", "excuse", "try", "cutShort", "probe", "play", "build", "noMessage", "tally", "runWhyAll", "writeWhy", "origin", "version"}

// notSaid is how a text begins that looks like words and is none of ours: what Go,
// testify and the compiler say, code, and the tags of go test.
var notSaid = regexp.MustCompile(`^\s*\[?(\^\(Received |panic: |fatal error: |deadlock: |recovered|chan |race detected|Error Trace|` +
	`is not in std|cannot find module|no required module|"sync" imported|(// P|p)ackage redislock|%s \{ panic|synctest bubble|tour: no |tour: the story|mylock|real all |\(\?[ms]\)|\\bin |\^// \(Copied |go get |go mod |` +
	`FAIL |ok  |skip |ERROR|\$ go |\$ cd |-ldflags|: lock not |==)`)

// TestChinese_IsCompleteAndNotTooMuch reads the source: everything in it that looks like
// words needs its Chinese, with the same verbs, and what formats it must be able to find
// it.
func TestChinese_IsCompleteAndNotTooMuch(t *testing.T) {
	all := map[string]bool{}
	for _, l := range literals(t, "*.go") {
		file, _, _ := strings.Cut(l.at, ":")
		if strings.HasSuffix(file, "_test.go") || slices.Contains(onlyEnglish, file) || slices.Contains(onlyEnglish, l.in) {
			continue
		}
		all[l.text] = true
		words := verb.ReplaceAllString(asked.ReplaceAllString(l.text, ""), "")
		isText := twoWords.MatchString(words) || oneWord.MatchString(words) && slices.Contains(says, l.called)
		if notSaid.MatchString(l.text) || !isText {
			continue
		}
		assert.NotContainsf(t, untold, l.called, "%s: it does not translate %q: say and errorf do", l.at, l.text)
		assert.NotEmptyf(t, inChinese.Texts[l.text], "%s: no Chinese for %q", l.at, l.text)
	}
	mutants, err := os.ReadFile("../internal/mutant/mutant.go") // which puts its words together
	require.NoError(t, err)
	for text, found := range inChinese.Texts {
		elsewhere := strings.Contains(text, "#") || strings.Contains(string(mutants), text)
		assert.Truef(t, all[text] || elsewhere || text == "epilogue", "nothing says this any longer: %q", text)
		assert.Equalf(t, verbs(text), verbs(found), "%q", text)
		assert.Equalf(t, strings.HasSuffix(text, "\n"), strings.HasSuffix(found, "\n"), "%q", text)
	}
}

// says are the functions that take the texts of this program, and untold those that would
// not translate them.
var (
	says = []string{"printf", "prose", "complain", "behind", "strong", "heading", "item", "message",
		"progress", "playing", "say", "errorf", "wrongUsage", "word", "saying", "paint", "count", "capital"}
	untold = []string{"Errorf", "New", "Sprintf", "Sprint", "Fprintf", "Fprint", "Fprintln"}
)

var (
	twoWords = regexp.MustCompile(`[A-Za-z]{2,}[,;:]? [a-z]{2,}`)
	oneWord  = regexp.MustCompile(`[A-Za-z]{2,}`)
	verb     = regexp.MustCompile(`%(?:\[(\d+)\])?[-+0-9.*]*([a-z])`)
	asked    = regexp.MustCompile(`go run \./docs/tour( \w+)?( %[ds])?( -\w+)?|(red|green|diff|try|hint) %[ds]( -\w+)?`)
)

// A literal is a constant text of the source.
type literal struct{ text, at, in, called string } // in which function, as an argument of which

// literals returns those of some files of a package.
func literals(t *testing.T, pattern string) (list []literal) {
	t.Helper()
	paths, err := filepath.Glob(pattern)
	require.NoError(t, err)
	fset := token.NewFileSet()
	var files []*ast.File
	for _, path := range paths {
		f, err := parser.ParseFile(fset, path, nil, 0)
		require.NoError(t, err)
		files = append(files, f)
	}
	info := types.Info{Types: map[ast.Expr]types.TypeAndValue{}}
	// Without the packages that it imports: for constants there is no need of them.
	conf := types.Config{Error: func(error) {}}
	conf.Check("", fset, files, &info)
	for _, f := range files {
		ast.PreorderStack(f, nil, func(n ast.Node, stack []ast.Node) bool {
			e, _ := n.(ast.Expr)
			value := info.Types[e].Value
			if value == nil || value.Kind() != constant.String {
				return true
			}
			l := literal{text: constant.StringVal(value), at: fset.Position(n.Pos()).String()}
			if fn, ok := stack[1].(*ast.FuncDecl); ok {
				l.in = fn.Name.Name
			}
			if call, ok := stack[len(stack)-1].(*ast.CallExpr); ok {
				called := types.ExprString(call.Fun)
				l.called = called[strings.LastIndex(called, ".")+1:]
			}
			list = append(list, l)
			return false
		})
	}
	return list
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

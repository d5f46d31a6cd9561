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

func TestChineseLocale(t *testing.T) {
	for _, tt := range []struct {
		env  map[string]string
		want bool
	}{
		{map[string]string{}, false},
		{map[string]string{"LANG": "en_US.UTF-8"}, false},
		{map[string]string{"LANG": "zh_CN.UTF-8"}, true},
		{map[string]string{"LANG": "zh_TW.UTF-8"}, true},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, true},
		{map[string]string{"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, false},
	} {
		require.Equal(t, tt.want, course.ChineseLocale(func(name string) string { return tt.env[name] }), tt.env)
	}
}

func TestLang_StandsAnywhere(t *testing.T) {
	t.Cleanup(func() { course.Chinese = false })
	for args, want := range map[string]string{
		"-lang zh wyh":   "tour：没有这个命令：wyh（你是不是想输入 why？）\n全部命令：go run ./docs/tour help\n",
		"try 9 -lang zh": "tour：没有这一步：9（有 1 到 8）\n全部命令：go run ./docs/tour help\n",
		"wyh --lang en":  "tour: no such command: wyh (did you mean why?)\nAll commands: go run ./docs/tour help\n",
		"red 1 -lang":    "tour: -lang takes zh or en:\nAll commands: go run ./docs/tour help\n",
		"red 1 -lang fr": "tour: -lang takes zh or en: fr\nAll commands: go run ./docs/tour help\n",
	} {
		course.Chinese = false
		_, errs, code := tourOf(t, args)
		require.Equal(t, 2, code, args)
		require.Equal(t, want, errs, args)
	}
}

// TestChinese_TheAuthorsCommandsStayEnglish looks at what writes the pages.
func TestChinese_TheAuthorsCommandsStayEnglish(t *testing.T) {
	for args, want := range map[string]bool{"matrix": true, "matrix -check": true, "why -all": true, "why -all 3": true, "why 3": false, "why 3 40": false, "try 3": false} {
		req, err := parseArgs(strings.Fields(args))
		require.NoError(t, err, args)
		require.Equal(t, want, req.forAuthors(), args)
	}
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

func TestChinese_ALearnersWay(t *testing.T) {
	buildsMany(t)
	inOwnMini(t)
	speakingChinese(t)
	for _, tt := range []struct {
		args string
		code int
		want []string
	}{
		{"try", 0, []string{"你自己写的锁", "  02           持锁者崩溃，锁永远不释放\n", "接下来：go run ./docs/tour try 1"}},
		{"red 2", 0, []string{"red：用 2_crashed_holder_test.go 测第 01 步的锁（SETNX；DEL）\n", "这些测试故事的要求：持锁者崩溃", "结果是红的", "第 02 步修好这些问题。\n"}},
		{"green 2", 0, []string{"green：用", " 现在保证：\n", "还没解决的问题："}},
		{"try 7", 1, []string{"mylock 里放好了一把新的锁", "第 07 步：", "  + 每 ttl/3 续期一次", "用第 07 步的测试检验 mylock\n",
			"  满足     6_waiting_test.go           3/3\n", "  未满足   7_watchdog_test.go          1/3", "  待写     2. Lost       0/3", "  FAIL  TestLeadWatchdog\n", "还没做完"}},
		{"hint 7", 0, []string{"提示 1/3：TestLeadWatchdog\n\n", "最后一次续期", "还想要提示：go run ./docs/tour hint 7\n"}},
		{"try 7 -rules", 0, []string{"规则：\n\n  + 每 ttl/3", "\n  - 所有错误都以"}},
		{"try 7 -compare", 0, []string{"下面就是答案", "（你的）", "（参考实现）"}},
		{"try 6", 2, []string{"mylock 里是你在第 07 步写的锁"}},
	} {
		out := shows(t, tt.args, tt.code, tt.want...)
		require.NotContains(t, out, "%!", tt.args)
	}
}

package trace

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
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

// inEnglish are the files whose texts may lack their Chinese: what comes after step 06 but is
// not in a file with a number, the epilogue, and the reasons of the explorer (docs/play/page).
var inEnglish = regexp.MustCompile(`more_[78]|docs/fencing|explore/faults`)

// TestChinese_IsCompleteAndNotTooMuch reads the source of the stories: what they say when they
// fail, and in between, needs its Chinese.
func TestChinese_IsCompleteAndNotTooMuch(t *testing.T) {
	said, missing, source := map[string]bool{}, map[string]bool{}, testifySays(t)
	for _, file := range stories(t) {
		src, err := os.ReadFile("../../../" + file)
		require.NoError(t, err)
		source += string(src)
		for _, text := range textsIn(t, file, src) {
			switch said[text] = true; {
			case inChinese.Texts[text] != "":
			case inEnglish.MatchString(file):
				missing[text] = true
			default:
				t.Errorf("%s: no Chinese for %q", file, text)
			}
		}
	}
	t.Logf("in English only: %d texts of the second reading of steps 07 and 08, of the epilogue, and of the explorer", len(missing))

	for text, chinese := range inChinese.Texts {
		// Of a text that is put together from parts, the source has these.
		for part := range strings.SplitSeq(verb.ReplaceAllString(text, "\n"), "\n") {
			assert.Truef(t, said[text] || strings.Contains(source, strings.TrimSpace(part)), "nothing says this any longer: %q", text)
		}
		assert.ElementsMatchf(t, kinds(text), kinds(chinese), "%q", text)
	}
}

// testifySays returns what testify says of a story that has no message, and what it wanted.
func testifySays(t *testing.T) (says string) {
	var said printed
	err := errors.New("down")
	assert.NoError(&said, err)
	assert.Error(&said, nil)
	assert.ErrorIs(&said, err, io.EOF)
	assert.ErrorIs(&said, nil, io.EOF)
	assert.Less(&said, 2, 1)
	assert.LessOrEqual(&said, 2, 1)
	assert.Greater(&said, 1, 2)
	assert.GreaterOrEqual(&said, 1, 2)
	assert.Empty(&said, "full")
	for _, a := range Testify(string(said)) {
		in := InChinese(a.Message) != a.Message || InChinese(a.Wanted) != a.Wanted
		assert.Truef(t, in, "no Chinese for testify's %q", a.Message)
		says += a.Message + a.Wanted
	}
	return says
}

// A printed is what a test prints.
type printed string

func (p *printed) Errorf(format string, args ...any) { *p += printed(fmt.Sprintf(format, args...)) }

// stories are the files of all that the course guarantees, of its test harness, and of what
// concludes from them.
func stories(t *testing.T) (files []string) {
	for _, f := range course.Files() {
		files = append(files, course.Steps[f.To-1].Home(f.Name)+"/"+f.Name)
	}
	for _, f := range course.Epilogue.Guarantees() {
		files = append(files, course.Epilogue.Dir+"/"+f.Name)
	}
	for _, pattern := range []string{"step08_redlock/lab_*test.go", "docs/internal/trace/*.go", "docs/keep/explore/[fjnrs]*.go", "docs/keep/explore/client.go"} {
		found, err := filepath.Glob("../../../" + pattern)
		require.NoError(t, err)
		for _, file := range found {
			if strings.HasPrefix(pattern, "step08") || !strings.HasSuffix(file, "_test.go") {
				files = append(files, strings.TrimPrefix(file, "../../../"))
			}
		}
	}
	return files
}

var (
	verb     = regexp.MustCompile(course.Verbs)
	twoWords = regexp.MustCompile(`[A-Za-z]{2,}[,;:]? [a-z]{2,}`)
)

// notSaid are texts that a story does not say: answers of Redis, what an error must contain,
// names of variants, and how a timeline is put together.
var notSaid = regexp.MustCompile(`^([A-Z]{4,} |context |connection refused|(key|client) is |lock not |lock lost$|(of|on) the |a release |it (keeps|loses) |` +
	`%s: %s$|%s %s$|%s %s -> %s$|timeline:|%9| -> |as well|an error with |created by |What timelines say$|, synctest bubble |node %s$|\[node |expected: |Redis  %s|node %d %s$)`)

// notTo are the functions that take what a story does not say.
var notTo = regexp.MustCompile(`^(needsVirtualTime|eachNth|t.Run|errors.New|panic|rdb.Eval|fmt.Sprintf|regexp.MustCompile|` +
	`lab.failFrom|\S*SetError|lab.answer|peer.WriteError|require.Failf#1|require.Equal#1|\S*Contains#2|\S*Regexp#1)$`)

// textsIn returns the texts in a file that a story says, as formats on one line.
func textsIn(t *testing.T, file string, src []byte) (texts []string) {
	parsed, err := parser.ParseFile(token.NewFileSet(), file, src, 0)
	require.NoError(t, err)
	ast.PreorderStack(parsed, nil, func(n ast.Node, stack []ast.Node) bool {
		e, _ := n.(ast.Expr)
		text, ok := format(e)
		if !ok {
			return true
		}
		switch parent := stack[len(stack)-1].(type) {
		case *ast.CallExpr:
			to := types.ExprString(parent.Fun)
			if notTo.MatchString(to) || notTo.MatchString(fmt.Sprintf("%s#%d", to, slices.Index(parent.Args, e))) {
				return false
			}
			if strings.HasSuffix(to, ".replace") || strings.HasSuffix(to, ".violate") || strings.HasSuffix(to, ".found") {
				text = "%s: " + text
			}
		case *ast.AssignStmt:
			if parent.Tok == token.ADD_ASSIGN {
				text = "%s" + text
			}
		}
		text = strings.ReplaceAll(text, "\n", " ")
		if twoWords.MatchString(verb.ReplaceAllString(text, "xx")) && !notSaid.MatchString(text) {
			texts = append(texts, text)
		}
		return false
	})
	return texts
}

// format is an expression as a text, with %s for what is not known of it.
func format(e ast.Expr) (text string, ok bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil && e.Kind == token.STRING
	case *ast.BinaryExpr:
		x, xok := format(e.X)
		y, yok := format(e.Y)
		return x + y, (xok || yok) && e.Op == token.ADD
	}
	return "%s", false
}

// kinds are the gaps of a format: those with a number in another order.
func kinds(format string) (list []string) {
	for _, v := range verb.FindAllString(format, -1) {
		list = append(list, v[len(v)-1:])
	}
	return list
}

func TestChinese_ATimelineKeepsItsColumns(t *testing.T) {
	t.Cleanup(func() { course.Chinese = false })
	course.Chinese = true
	five := make([]Key, 5)
	require.Equal(t, ""+
		"      0.1ms  alice  SET coupons locked -> OK   <- 没有过期时间\n"+
		"      0.1ms  alice  暂停\n"+
		"      0.1ms  -- bob 订阅用的连接无声断开，新建的连接正常\n"+
		"      0.1ms  节点 1 暂停\n"+
		"      0.2ms  alice  acquire -> 1（节点 1 2）, （没有响应）（节点 3）\n"+
		"                      [重发]\n"+
		"      0.3ms  Redis  过期时间已到：alice 的锁没了（节点 4）\n"+
		"      0.4ms  bob    DEL coupons（很早以前发的） -> 1，但响应丢失\n"+
		"                      <- 误删 alice 的锁\n"+
		"      0.5ms  carol  TryLock -> ok   <- alice 也持锁\n",
		Text([]Record{
			{At: 100, Who: "alice", Kind: Command, Text: "SET coupons locked", Reply: "OK", Mark: "without a ttl"},
			{At: 100, Who: "alice", Kind: Note, Text: "is paused"},
			{At: 100, Kind: Fault, Text: "the connection on which bob listens dies silently, new ones work"},
			{At: 100, Kind: Fault, Text: "is paused", Node: 1, Redis: five},
			{At: 200, Who: "alice", Node: 1, Kind: Command, Text: "acquire", Reply: "1", Again: true, Redis: five},
			{At: 200, Who: "alice", Node: 2, Kind: Command, Text: "acquire", Reply: "1", Again: true, Redis: five},
			{At: 200, Who: "alice", Node: 3, Kind: Command, Text: "acquire", Reply: "(no reply)", Again: true, Redis: five},
			{At: 300, Kind: Expire, Node: 4, Text: "the TTL expired: alice's lock is gone", Redis: five},
			{At: 400, Who: "bob", Kind: Command, Text: "DEL coupons, sent long ago", Reply: "1, but the reply is lost", Mark: "deletes alice's lock"},
			{At: 500, Who: "carol", Kind: Return, Text: "TryLock", Reply: "ok", Mark: "alice is inside as well"},
		}))
	first, _, _ := strings.Cut(Text([]Record{{Kind: Note, Text: strings.Repeat("锁", 100)}}), "\n")
	require.InDelta(t, columns, course.Wide(first), 1)
}

package trace

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// A message that is written anew has no Chinese, and leaves the old one without English. The source
// of stories, of what concludes from them and of testify has each text, or its parts.
func TestChinese_IsOfWhatStoriesSay(t *testing.T) {
	source := sourceOf("step0[78]*/[0-9]_*_test.go", course.SecondDir+"/more_*.go", course.Epilogue.Dir+"/"+course.Epilogue.File)
	for _, m := range quote.FindAllStringSubmatch(source, -1) {
		assert.False(t, sentence.MatchString(m[1]) && InChinese(m[1]) == m[1], "no Chinese for %q", m[1])
	}
	source += sourceOf("step0*/bug_test.go", course.SecondDir+"/*.go", "docs/internal/trace/*y.go",
		"docs/internal/trace/text.go", "docs/keep/explore/*.go", "docs/tour/testdata/lab_real_test.go")
	var testify printed
	assert.GreaterOrEqual(&testify, 1, 2)
	assert.Greater(&testify, 1, 2)
	assert.LessOrEqual(&testify, 2, 1)
	source += string(testify)
	verb, letter := regexp.MustCompile(course.Verbs), regexp.MustCompile("[a-z]")
	kinds := func(f string) []string { return letter.FindAllString(strings.Join(verb.FindAllString(f, -1), ""), -1) }
	for text, chinese := range inChinese.Texts {
		for part := range strings.SplitSeq(verb.ReplaceAllString(text, "\n"), "\n") {
			assert.Truef(t, strings.Contains(source, strings.Trim(part, ": ")), "nothing says this any longer: %q", text)
		}
		assert.ElementsMatchf(t, kinds(text), kinds(chinese), "%q", text)
	}
}

type printed string

func (p *printed) Errorf(format string, args ...any) { *p += printed(fmt.Sprintf(format, args...)) }

func sourceOf(patterns ...string) (source string) {
	for _, pattern := range patterns {
		files, _ := filepath.Glob("../../../" + pattern)
		for _, file := range files {
			text, _ := os.ReadFile(file) // without it, much has no source
			source += joined.ReplaceAllString(string(text), "")
		}
	}
	return source
}

var (
	joined = regexp.MustCompile("\" ?\\+\\s*\"") // where a text continues on the next line
	quote  = regexp.MustCompile(`"((?:[^"\\\n]|\\.)*)"`)
	// sentence is what a story says: no reply of Redis, which begins with two capitals.
	sentence = regexp.MustCompile(`^(?:[^A-Z]|.[^A-Z]).*(?:, but |\b(?:alice|bob|Redis|the)\b(?:.* ){2})`)
)

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

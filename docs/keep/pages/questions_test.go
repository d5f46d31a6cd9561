package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const questionPage = `# Locks

## One Redis

### Why ` + "`Lua`" + ` & not MULTI?

**Key words.** one step, ` + "`EVAL`" + `

**30 s.** Nothing runs *between* its commands,
see [the lock](../../../sub/lock.go).

<details><summary>They ask next: and two? Also the trap, proof</summary>

**The trap.** [Above](#one-redis), or [the matrix](../matrix.md#all).

<!-- code: sub/lock.go ErrLost -->
` + "```go\n\tErrLost = errors.New(\"lost\")\n```" + `

**Proof.** [` + "`helper`" + `](../../../sub/lock.go#L18)

</details>

### How long?

**Key words.** mean

**30 s.** Ten seconds.

### A page without a question
`

// chineseQuestionPage says the same.
var chineseQuestionPage = strings.NewReplacer("Locks", "锁", "One Redis", "一个 Redis", "Why `Lua` & not MULTI?", "为什么用 `Lua`？",
	"How long?", "多久？", "A page without a question", "不是题", "**Key words.**", "**关键词：**", "**30 s.**", "**30 秒：**",
	"one step, ", "一步，", "Nothing runs *between* its commands,\nsee [the lock]", "中间没有别的命令，见 [锁]",
	"(../../../sub/lock.go).", "(../../../sub/lock.go)。", "They ask next: and two? Also the trap, proof", "追问：两个呢？另有陷阱、证据", "**The trap.** [Above](#one-redis), or [the matrix]",
	"**陷阱。** [上面](#one-redis)，或者 [矩阵]", "#all).", "#all)（英文）。", "Proof.", "证据。", "mean", "均值", "Ten seconds.", "十秒。").Replace(questionPage)

const (
	asks      = "<!-- questions: docs/read/interview/locks.md#why-lua--not-multi #how-long -->"
	locks     = interviewDir + "/locks.md"
	locksZh   = interviewDir + "/locks.zh-CN.md"
	subLesson = "sub/README.md"
)

// inInterview changes to a repository with an interview page and a page that asks.
func inInterview(t *testing.T) {
	t.Helper()
	inRepository(t)
	writeAll(t, locks, questionPage, interviewDir+"/wrong.md", "# Wrong\n", "docs/read/matrix.md", "# M\n\n## All\n",
		subLesson, "# A lock\n\n## Questions\n\n"+asks+"\n\nold\n"+questionsEnd+"\n\n## After\n")
}

func TestQuestions_AreThoseOfTheInterviewPageWithLinksFromHere(t *testing.T) {
	inInterview(t)
	page := []string{subLesson}
	require.ErrorContains(t, run(page, true, shown{print: version}), "sub/README.md is stale")
	require.NoError(t, run(page, false, shown{print: version}))
	require.Equal(t, "# A lock\n\n## Questions\n\n"+asks+`
- [Why `+"`Lua`"+` & not MULTI?](../docs/read/interview/locks.md#why-lua--not-multi): one step, `+"`EVAL`"+`
- [How long?](../docs/read/interview/locks.md#how-long): mean
`+questionsEnd+"\n\n## After\n", read(t, subLesson))
	require.NoError(t, run(page, true, shown{print: version}), "a second run changes the page again")
	change(t, locks, "mean", "the mean")
	require.ErrorContains(t, run(page, true, shown{print: version}), "sub/README.md is stale")
}

func TestQuestions_ThatAreNotThere(t *testing.T) {
	for now, want := range map[string]string{
		"locks.md#nothing": "docs/read/interview/locks.md has no question #nothing",
		"locks.md#a-page-without-a-question #how-long": "docs/read/interview/locks.md has no question #a-page-without-a-question",
		"other.md#how-long":                            "docs/read/interview/other.md has no question #how-long",
	} {
		inInterview(t)
		change(t, subLesson, "locks.md#why-lua--not-multi #how-long", now)
		require.ErrorContains(t, run([]string{subLesson}, false, shown{print: version}), "sub/README.md:5: "+want)
	}
	inInterview(t)
	_, _, wrong := remade("step05_lua_release/README.md", read(t, subLesson), nil)
	require.Equal(t, "step05_lua_release/README.md:5: 2 questions: a lesson shows 3 to 5", wrong)
	change(t, subLesson, questionsEnd, "")
	require.ErrorContains(t, run([]string{subLesson}, false, shown{print: version}), "sub/README.md:5: the block has no closing "+questionsEnd)
	require.Contains(t, read(t, subLesson), "old", "what follows is not to be lost")
}

func TestDeck_HasTheQuestionsOfAllInterviewPages(t *testing.T) {
	inInterview(t)
	const deck = interviewDir + "/deck.tsv"
	writeAll(t, interviewDir+"/whiteboard.md", "# A\n\n### Last?\n\n**Key words.** a < b\n\n**30 s.** **Yes**.\n")
	require.NoError(t, run([]string{subLesson}, false, shown{print: version}))
	require.NoFileExists(t, deck, "no interview page was named")
	require.Contains(t, form(interviewDir+"/a.md", questionPage)[0], "add the page to the themes of the decks")
	require.ErrorContains(t, run([]string{locks}, true, shown{print: version}), deck+" is stale")
	require.NoError(t, run([]string{locks}, false, shown{print: version}))
	require.Equal(t, "#separator:tab\n#html:true\n#tags column:3\n"+
		"Why <code>Lua</code> &amp; not MULTI?\t<b>one step, <code>EVAL</code></b><br><br>Nothing runs <i>between</i> its commands, see the lock.\tlocks\n"+
		"How long?\t<b>mean</b><br><br>Ten seconds.\tlocks\n"+
		"Last?\t<b>a &lt; b</b><br><br><b>Yes</b>.\twhiteboard\n", read(t, deck))
	require.NoError(t, run([]string{locks}, true, shown{print: version}))
	change(t, locks, "mean", "the mean")
	require.ErrorContains(t, run([]string{locks}, true, shown{print: version}), deck+" is stale")
}

func TestQuestions_OfAChinesePageAreChinese(t *testing.T) {
	const chineseLesson = "sub/README.zh-CN.md"
	inInterview(t)
	writeAll(t, locksZh, chineseQuestionPage, chineseLesson, "# 锁\n\n## 面试题\n\n"+asks+"\n"+questionsEnd+"\n\n## 之后\n")
	require.NoError(t, run([]string{locks, subLesson}, false, shown{print: version}))
	require.NoError(t, stamp([]string{locks, subLesson}))
	require.NoError(t, carryOver(nil))
	page := read(t, chineseLesson)
	require.Contains(t, page, "\n- [为什么用 `Lua`？](../docs/read/interview/locks.zh-CN.md#为什么用-lua)：一步，`EVAL`\n")
	require.NoError(t, run(nil, false, shown{print: version}))
	require.NoError(t, run(nil, true, shown{print: version}))
	require.Equal(t, page, read(t, chineseLesson), "a second run changes the page again")
	require.Contains(t, read(t, interviewDir+"/deck.zh-CN.tsv"), "多久？\t<b>均值</b><br><br>十秒。\tlocks\n")

	change(t, locks, "### How long?", "### New?\n\n**Key words.** new\n\n**30 s.** New.\n\n### How long?")
	require.NoError(t, run(nil, false, shown{print: version}))
	require.Contains(t, read(t, locksZh), "本页落后于英文版")
	require.Equal(t, page, read(t, chineseLesson), "one page is to be translated again, not those that show its questions")

	require.NoError(t, os.Remove(locksZh))
	require.ErrorContains(t, carryOver([]string{subLesson}), "docs/read/interview/locks.zh-CN.md has no question #")
}

package main

import (
	"os"
	"path/filepath"
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

<details><summary>They ask next, the trap, proof</summary>

**The trap.** [Above](#one-redis), or [the matrix](../matrix.md#all).

<!-- code: sub/lock.go ErrLost -->
` + "```go\nErrLost = errors.New(\"lost\")\n```" + `

**Proof.** [` + "`helper`" + `](../../../sub/lock.go#L18)

</details>

### How long?

**Key words.** mean

**30 s.** Ten seconds.

### A page without a question
`

const chineseQuestionPage = `# 锁

## 一个 Redis

### 为什么用 ` + "`Lua`" + `？

**关键词。** 一步，` + "`EVAL`" + `

**30 秒。** 中间没有别的命令，见 [锁](../../../sub/lock.go)。

<details><summary>追问、陷阱、证据</summary>

**陷阱。** [上面](#一个-redis)，或者 [矩阵](../matrix.md#all)。

<!-- code: sub/lock.go ErrLost -->
` + "```go\nErrLost = errors.New(\"lost\")\n```" + `

**证据。** [` + "`helper`" + `](../../../sub/lock.go#L18)

</details>

### 多久？

**关键词。** 均值

**30 秒。** 十秒。

### 不是题
`

const asks = "<!-- questions: docs/read/interview/locks.md#why-lua--not-multi #how-long -->"

// inInterview changes to a repository with an interview page and a page that asks.
func inInterview(t *testing.T) *library {
	t.Helper()
	inRepository(t)
	require.NoError(t, os.MkdirAll(filepath.FromSlash(interviewDir), 0o755))
	writeAll(t, interviewDir+"/locks.md", questionPage, interviewDir+"/wrong.md", "# Wrong\n",
		"sub/README.md", "# A lock\n\n## Questions\n\n"+asks+"\n\nold\n"+questionsEnd+"\n\n## After\n")
	return newLibrary()
}

func TestQuestions_AreThoseOfTheInterviewPageWithLinksFromHere(t *testing.T) {
	b := inInterview(t)
	page, _, wrong, err := b.regenerate("sub/README.md", nil)
	require.NoError(t, err)
	require.Empty(t, wrong)
	require.Equal(t, "# A lock\n\n## Questions\n\n"+asks+`
<details><summary>Why <code>Lua</code> &amp; not MULTI?</summary>

**Key words.** one step, `+"`EVAL`"+`

**30 s.** Nothing runs *between* its commands,
see [the lock](lock.go).

**The trap.** [Above](../docs/read/interview/locks.md#one-redis), or [the matrix](../docs/read/matrix.md#all).

`+"```go\nErrLost = errors.New(\"lost\")\n```"+`

**Proof.** [`+"`helper`"+`](lock.go#L18)

</details>
<details><summary>How long?</summary>

**Key words.** mean

**30 s.** Ten seconds.

</details>
`+questionsEnd+"\n\n## After\n", page)
	require.Empty(t, form("sub/README.md", page))
	again, _, _, err := b.regenerate("sub/README.md", nil)
	require.NoError(t, err)
	require.Equal(t, page, again, "a second run changes the page again")
}

func TestQuestions_AStalePageIsFound(t *testing.T) {
	inInterview(t)
	require.ErrorContains(t, run([]string{"sub/README.md"}, true, version), "sub/README.md is stale")
	require.NoError(t, run([]string{"sub/README.md"}, false, version))
	require.NoError(t, run([]string{"sub/README.md"}, true, version))
	change(t, interviewDir+"/locks.md", "Ten seconds", "Twenty seconds")
	require.ErrorContains(t, run([]string{"sub/README.md"}, true, version), "sub/README.md is stale")
}

func TestQuestions_ThatAreNotThere(t *testing.T) {
	for now, want := range map[string]string{
		"locks.md#nothing":                          "docs/read/interview/locks.md has no question #nothing",
		"locks.md#no-question-of-its-own #how-long": "docs/read/interview/locks.md has no question #no-question-of-its-own",
		"other.md#how-long":                         "docs/read/interview/other.md has no question #how-long",
	} {
		inInterview(t)
		change(t, "sub/README.md", "locks.md#why-lua--not-multi #how-long", now)
		require.ErrorContains(t, run([]string{"sub/README.md"}, false, version), "sub/README.md:5: "+want)
	}
	inInterview(t)
	change(t, "sub/README.md", questionsEnd, "")
	require.ErrorContains(t, run([]string{"sub/README.md"}, false, version), "sub/README.md:5: no "+questionsEnd+" after it")
	require.Contains(t, read(t, "sub/README.md"), "old", "what follows is not to be lost")

	b := inInterview(t)
	_, wrong := b.withQuestions("step05_lua_release/README.md", read(t, "sub/README.md"))
	require.Equal(t, []string{"step05_lua_release/README.md:5: 2 questions: a lesson shows 3 to 5"}, wrong)
}

func TestQuestions_HaveABudget(t *testing.T) {
	file := interviewDir + "/locks.md"
	require.Empty(t, form(file, questionPage))
	for _, c := range []struct{ old, now, want string }{
		{"Ten seconds.", strings.Repeat("word ", maxSpoken+1), `locks.md:25: How long?: 71 words, in 30 seconds one says 70`},
		{"**Key words.** mean\n", "", "How long?: a question has **Key words.** and **30 s.**"},
		{"**30 s.** Ten seconds.\n", "", "How long?: a question has **Key words.** and **30 s.**"},
		{"# Locks\n", "# Locks\n\n" + strings.Repeat("word ", maxOnePage), "2500 are enough for a page"},
	} {
		wrong := form(file, strings.Replace(questionPage, c.old, c.now, 1))
		require.Contains(t, strings.Join(wrong, "\n"), c.want)
		require.Empty(t, form("docs/read/a.md", strings.Replace(questionPage, c.old, c.now, 1)))
	}
}

func TestQuestions_AreNotCountedAsLinesOfTheLesson(t *testing.T) {
	questions := asks + strings.Repeat("\nx", maxLines) + "\n" + questionsEnd + "\n"
	require.Empty(t, form("docs/read/a.md", questions+strings.Repeat("x\n", maxOwnLines-2)))
	require.Equal(t, []string{"docs/read/a.md has 266 lines: 265 are enough"}, form("docs/read/a.md", questions+strings.Repeat("x\n", maxOwnLines-1)))
}

func TestDeck_HasTheQuestionsOfAllInterviewPages(t *testing.T) {
	inInterview(t)
	deck := interviewDir + "/deck.tsv"
	writeAll(t, interviewDir+"/a.md", "# A\n\n### Last?\n\n**Key words.** a < b\n\n**30 s.** **Yes**.\n")
	page := interviewDir + "/locks.md"
	require.NoError(t, run([]string{"sub/README.md"}, false, version))
	require.NoFileExists(t, filepath.FromSlash(deck), "no interview page was named")
	require.ErrorContains(t, run([]string{page}, true, version), deck+" is stale")
	require.NoError(t, run([]string{page}, false, version))
	require.Equal(t, "#separator:tab\n#html:true\n#tags column:3\n"+
		"Why <code>Lua</code> &amp; not MULTI?\t<b>one step, <code>EVAL</code></b><br><br>Nothing runs <i>between</i> its commands, see the lock.\tlocks\n"+
		"How long?\t<b>mean</b><br><br>Ten seconds.\tlocks\n"+
		"Last?\t<b>a &lt; b</b><br><br><b>Yes</b>.\ta\n", read(t, deck))
	require.NoError(t, run([]string{page}, true, version))
	change(t, page, "Ten seconds", "Twenty seconds")
	require.ErrorContains(t, run([]string{page}, true, version), deck+" is stale")
}

// inChineseInterview is inInterview with Chinese pages.
func inChineseInterview(t *testing.T) {
	t.Helper()
	inInterview(t)
	writeAll(t, interviewDir+"/locks.zh-CN.md", chineseQuestionPage,
		"sub/README.zh-CN.md", "# 锁\n\n## 面试题\n\n"+asks+"\n"+questionsEnd+"\n\n## 之后\n",
		"docs/read/matrix.md", "# M\n\n## All\n")
	change(t, interviewDir+"/locks.zh-CN.md", "(../matrix.md#all)", "(../matrix.md#all)（英文）")
	require.NoError(t, run([]string{interviewDir + "/locks.md", "sub/README.md"}, false, version))
	require.NoError(t, stamp([]string{interviewDir + "/locks.md", "sub/README.md"}))
	require.NoError(t, carryOver(nil))
}

func TestQuestions_OfAChinesePageAreChinese(t *testing.T) {
	inChineseInterview(t)
	page := read(t, "sub/README.zh-CN.md")
	require.Contains(t, page, "<details><summary>为什么用 <code>Lua</code>？</summary>\n\n**关键词。** 一步，`EVAL`\n")
	require.Contains(t, page, "[上面](../docs/read/interview/locks.zh-CN.md#一个-redis)，或者 [矩阵](../docs/read/matrix.md#all)（英文）")
	require.Contains(t, page, "[`helper`](lock.go#L18)")
	require.Contains(t, page, "\n```go\n\tErrLost = errors.New(\"lost\")\n```\n")
	require.NoError(t, run(nil, false, version))
	require.NoError(t, run(nil, true, version))
	require.Equal(t, page, read(t, "sub/README.zh-CN.md"), "a second run changes the page again")
	require.Contains(t, read(t, interviewDir+"/deck.zh-CN.tsv"), "多久？\t<b>均值</b><br><br>十秒。\tlocks\n")

	change(t, interviewDir+"/locks.md", "Ten seconds", "Twenty seconds")
	err := run(nil, false, version)
	require.ErrorContains(t, err, "locks.zh-CN.md:30: 多久？ (\"How long?\" of docs/read/interview/locks.md): the English text has changed")
	require.NotContains(t, err.Error(), "sub/README", "one page is to be translated again, not those that show its questions")
}

func TestQuestions_AChinesePageThatDisagrees(t *testing.T) {
	inChineseInterview(t)
	change(t, "sub/README.zh-CN.md", " #how-long -->", " -->")
	require.ErrorContains(t, carryOver(nil), "its markers are")

	inChineseInterview(t)
	require.NoError(t, os.Remove(filepath.FromSlash(interviewDir+"/locks.zh-CN.md")))
	require.ErrorContains(t, carryOver([]string{"sub/README.md"}), "docs/read/interview/locks.zh-CN.md has no question #how-long")
}

func TestQuestions_AChinesePageKeepsItsOwnUntilTheChineseOnesAreWritten(t *testing.T) {
	inChineseInterview(t)
	require.NoError(t, os.Remove(filepath.FromSlash(interviewDir+"/locks.zh-CN.md")))
	writeAll(t, "sub/README.zh-CN.md", strings.Replace(read(t, "sub/README.zh-CN.md"), asks, "<details><summary>多久？</summary>\n\n看 `EVAL`。\n</details>", 1))
	require.ErrorContains(t, carryOver([]string{"sub/README.md"}), "its markers are")
}

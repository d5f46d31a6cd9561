package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const englishPage = "# The lock\n" + `
A [holder](docs/read/redlock.md#a-late-holder) has a token ([` + "`Lock`" + `](sub/lock.go#L11)),
see [the matrix](docs/read/matrix.md).

## The watchdog

<!-- run: go version -->
` + "```text\n$ go version\none\n```" + `

It renews with ` + "`PEXPIRE`" + `: ` + "`TestRenewal`" + `.

` + "```sh\ngo test ./... # all tests\n```" + `

<details><summary>Why?</summary>

| a | b |
|---|---|
| [above](#the-lock) | 1 |
</details>
`

const chinesePage = "# 锁\n" + `
[持锁者](docs/read/redlock.md#a-late-holder)（英文）有唯一标识（[` + "`Lock`" + `](sub/lock.go#L1)），见 [矩阵](docs/read/matrix.md)（英文）。

## 看门狗

<!-- run: go version -->
` + "```text\n```" + `

它用 ` + "`PEXPIRE`" + ` 续期：` + "`TestRenewal`" + `。

` + "```sh\ngo test ./... # 全部测试\n```" + `

<details><summary>为什么？</summary>

| 甲 | 乙 |
|---|---|
| [上面](#the-lock) | 1 |
</details>
`

// zh is the Chinese page.
const zh = "README.zh-CN.md"

// inTwoLanguages changes to a repository with a page in both languages that are in step.
func inTwoLanguages(t *testing.T) {
	t.Helper()
	inRepository(t)
	writeAll(t, "README.md", englishPage, zh, chinesePage, "docs/read/matrix.md", "# M\n", "docs/read/redlock.md",
		"# R\n\n## A late holder\n\n## A late holder\n\n[up](../../README.md#the-watchdog)\n")
	require.NoError(t, stamp([]string{"README.md"}))
	require.NoError(t, carryOver(nil))
}

func TestChinese_WhatIsTheSameIsCarriedOver(t *testing.T) {
	inTwoLanguages(t)
	page := read(t, zh)
	require.Regexp(t, "^<!-- en: [0-9a-f]{10} -->\n# 锁\n\n\\[English\\]\\(README.md\\) \\| 中文\n", page)
	require.Contains(t, page, "```text\n$ go version\none\n```", "the output")
	require.Contains(t, page, "# 全部测试", "a comment was written over")
	require.Contains(t, page, "sub/lock.go#L11", "the line number")
	require.Contains(t, page, "(docs/read/redlock.md#a-late-holder)", "that page is in English so far")
	require.Contains(t, page, "[上面](#锁)")
	require.Contains(t, read(t, "README.md"), "# The lock\n\nEnglish | [中文](README.zh-CN.md)\n\nA [holder]")

	require.NoError(t, carryOver(nil))
	require.Equal(t, page, read(t, zh), "a second run changes the page again")
	require.NoError(t, run(nil, true, version), "-check says otherwise")

	change(t, zh, "go test ./... # 全部测试\n", "")
	require.NoError(t, carryOver([]string{"README.md"}))
	require.Contains(t, read(t, zh), "```sh\ngo test ./... # all tests\n```", "an empty block")
}

func TestChinese_ALinkGoesToTheChinesePageAsSoonAsItIsThere(t *testing.T) {
	inTwoLanguages(t)
	const redlock = "docs/read/redlock.zh-CN.md"
	writeAll(t, redlock, "# 红锁\n\n## 超时的持锁者\n\n## 超时的持锁者\n\n[上](../../README.md#the-watchdog)\n")
	require.ErrorContains(t, run(nil, true, version), "README.zh-CN.md is stale")
	require.NoError(t, stamp([]string{"docs/read/redlock.md"}))
	require.NoError(t, carryOver(nil))
	require.Contains(t, read(t, zh), "[持锁者](docs/read/redlock.zh-CN.md#超时的持锁者)")
	require.Contains(t, read(t, redlock), "[上](../../README.zh-CN.md#看门狗)")
	require.NoError(t, run(nil, true, version))

	change(t, redlock, "## 超时的持锁者", "## 晚了")
	require.ErrorContains(t, carryOver(nil), "lacks: link to docs/read/redlock.zh-CN.md#晚了", "of two equal headings the first has another name now: the link leads to the second")
}

func TestChinese_ChecksFail(t *testing.T) {
	for _, c := range []struct{ file, old, now, want string }{
		{"README.md", "has a token", "has a random token", "README.zh-CN.md: README.md has changed since it was translated"},
		{"README.md", "\n## The watchdog", "\n### The watchdog", "not in English: ## with 3 rows and 1 <details>\n  lacks: ### with"},
		{zh, "\n## 看门狗", "", "README.zh-CN.md has 1 headings, README.md has 2"},
		{zh, "<!-- run: go version -->", "<!-- run: go env -->", "not in English: block 1: <!-- run: go env --> ```text"},
		{zh, "go test ./... #", "go test . #", "README.zh-CN.md:8: 看门狗 (\"The watchdog\" of README.md):\n  not in English: block 2, line 1: go test ."},
		{zh, "```sh", "```go", "not in English: block 2: ```go"},
		{zh, "见 [矩阵](docs/read/matrix.md)（英文）。", "见矩阵。", "lacks: link to docs/read/matrix.md"},
		{zh, "[上面](#锁)", "[上面](#看门狗)", "not in English: link to #看门狗"},
		{zh, "[`Lock`]", "[`Unlock`]", "README.zh-CN.md:6: sub/lock.go: no declaration Unlock"},
		{zh, "[`Lock`]", "[`Unlock`]", "not in English: `Unlock`"},
		{zh, "`PEXPIRE`", "`EXPIRE`", "not in English: `EXPIRE`"},
		{zh, "：`TestRenewal`。", "：`TestRenewals`。\n\n<!-- `TestRenewal` -->", "lacks: `TestRenewal`"},
		{zh, "<details><summary>为什么？</summary>", "", "not in English: ## with 3 rows and 0 <details>"},
		{zh, "| 甲 | 乙 |\n", "| 甲 | 乙 |\n| 丙 | 丁 |\n", "not in English: ## with 4 rows and 1 <details>"},
		{zh, "（英文）。", "。", "README.zh-CN.md:6: the first link to docs/read/matrix.md, which is in English only, is followed by （英文）"},
		{zh, "它用", "令牌用", "write 唯一标识（token）"},
		{zh, "它用 `PEXPIRE` 续期：`TestRenewal`。", "", "README.zh-CN.md:10: \"<!-- run: go version -->\": no line in Chinese says what this output shows"},
		{zh, "它用 `PEXPIRE` 续期：`TestRenewal`。", "`PEXPIRE` `TestRenewal`", "no line in Chinese says what this output shows"},
		{zh, "`。", "`.\n它续期。", "a paragraph is one line"},
		{zh, "它用", "它renew 用", "a space stands between"},
		{zh, "它用", "锁,它用", "full-width"},
		{zh, "它用", "锁 ，它用", "no space comes before"},
		{zh, "它用", "it is the holder that: 它用", "English is left"},
		{zh, "它用", "看**“它”**用", "GitHub does not show this as bold"},
		{zh, "它用", "**它：**用", "GitHub does not show this as bold"},
	} {
		inTwoLanguages(t)
		change(t, c.file, c.old, c.now)
		require.ErrorContains(t, run(nil, true, version), c.want)
	}
}

func TestChinese_ChecksPass(t *testing.T) {
	for _, c := range []struct{ file, old, now string }{
		{"README.md", "a token ([", "a\n  token  (["},
		{zh, "它用", "它（别人叫它“令牌”）用"},
		{zh, "它用", "《Redis系列(十三)应用之分布式锁》用"},
		{zh, "它用", "**它用：** 锁，用"},
		{zh, "它用", "**锁**、**它**，用"},
		{zh, "<details>", "> it is the holder that renews it.\n\n<details>"},
	} {
		inTwoLanguages(t)
		change(t, c.file, c.old, c.now)
		require.NoError(t, run(nil, true, version), c.now)
	}
	for _, c := range []struct{ english, chinese string }{
		{"It [renews](https://example.com/x)", "防护令牌和 [How to do the distributed locking that works](https://example.com/x) 用"},
		{"It [renews](deck.tsv)", "[卡片](deck.zh-CN.tsv)，它用"},
	} {
		inTwoLanguages(t)
		writeAll(t, "deck.zh-CN.tsv", "a card")
		change(t, "README.md", "It renews", c.english)
		change(t, zh, "它用", c.chinese)
		require.NoError(t, stamp([]string{"README.md"}))
		require.NoError(t, run(nil, true, version), c.chinese)
	}
}

func TestChinese_TheHashIsNotOfWhatAMachineWrites(t *testing.T) {
	inTwoLanguages(t)
	change(t, "sub/lock.go", "package lock\n", "package lock\n\n")
	change(t, "README.md", "(docs/read/matrix.md)", "(docs/read/matrix.md#m)")
	change(t, zh, "(docs/read/matrix.md)", "(docs/read/matrix.md#m)")
	two := func(string) (string, error) { return "two\n", nil }
	require.NoError(t, run(nil, false, two))
	require.Contains(t, read(t, zh), "$ go version\ntwo\n", "the output has changed in English only")
	require.Contains(t, read(t, zh), "sub/lock.go#L12")
	require.NoError(t, run(nil, true, two))
}

func TestChinese_WhatHasChangedInEnglishIsShownByACommand(t *testing.T) {
	inTwoLanguages(t)
	change(t, "README.md", "has a token", "has a random token")
	err := carryOver(nil)
	stamped, _, _ := strings.Cut(read(t, zh), " -->")
	require.ErrorContains(t, err, "git log -1 --format=%H -S 'en: "+strings.TrimPrefix(stamped, "<!-- en: ")+"' -- "+zh+") -- README.md\n")
	require.NoError(t, stamp([]string{zh}))
	require.NoError(t, run(nil, true, version))
}

func TestStamp_RefusesWhatIsNotThere(t *testing.T) {
	inTwoLanguages(t)
	require.ErrorContains(t, stamp([]string{"docs/read/redlock.md"}), "docs/read/redlock.zh-CN.md does not exist")
	require.ErrorContains(t, stamp(nil), "name a page")
}

func TestPicture_OfAChinesePageIsInChinese(t *testing.T) {
	outputs := map[string]string{redTestX: recorded("bob took the lock in the middle of alice's TryLock, but she got it as well: both are inside"), greenTestX: recorded("")}
	marker := strings.NewReplacer("A late holder", "The holder dies", "all is well", "three nodes are enough").Replace(drawingLine)
	inRepository(t)
	page, made, _ := remade("README.zh-CN.md", "# 甲\n\n"+marker+"\n", outputs)
	require.Contains(t, page, marker+"\n"+`<picture><source media="(prefers-color-scheme: dark)" srcset="docs/read/pictures/late.zh-CN-dark.svg"><img alt="持锁者崩溃。第 03 步：SET NX EX；DEL：alice 的`)
	require.Contains(t, made["docs/read/pictures/late.zh-CN.svg"], ">持锁者崩溃<")
	require.Contains(t, made["docs/read/pictures/late.zh-CN-dark.svg"], "✓ 三个节点就够了")

	_, _, wrong := remade("README.zh-CN.md", "# 甲\n\n"+drawingLine+"\n", outputs)
	require.Contains(t, wrong, `docs/internal/picture/zh-CN.json has no Chinese for ["A late holder" "all is well"]`)
}

func TestSlug_IsGitHubs(t *testing.T) {
	s := slugger{}
	for _, c := range [][2]string{
		{"Why not `SET n = n - 1`, or a version column?", "why-not-set-n--n---1-or-a-version-column"},
		{"Kleppmann's arguments", "kleppmanns-arguments"},
		{"看门狗（watchdog）：谁来续期？", "看门狗watchdog谁来续期"},
		{"可重入、惊群", "可重入惊群"},
		{"能直接用吗？", "能直接用吗"},
		{"能直接用吗？", "能直接用吗-1"},
		{"能直接用吗", "能直接用吗-2"},
		{"[**A**](b.md) _c_ step01_x", "a-_c_-step01_x"},
	} {
		require.Equal(t, c[1], s.slug(c[0]))
	}
}

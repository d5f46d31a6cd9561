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

// Another program writes it, with words of its language: neither page takes it from the other.
func TestChinese_ATableIsNotCarriedOver(t *testing.T) {
	inTwoLanguages(t)
	table := func(row string) string { return "\n<!-- table: go run ./libs -->\n" + row + "\n<!-- /table -->\n" }
	writeAll(t, "README.md", englishPage+table("| holds |"), zh, chinesePage+table("| 仍在 |"))
	require.NoError(t, stamp([]string{"README.md"}))
	writeAll(t, "README.md", englishPage+table("| breaks |"))
	require.NoError(t, carryOver(nil))
	require.Contains(t, read(t, zh), "| 仍在 |")
	require.NotContains(t, read(t, zh), "英文版已有改动", "a cell has changed, and there is nothing to translate")
}

// A comment in a block is for a reader: # in a shell, // in Go, -- in SQL and Lua.
func TestChinese_ACommentOfSQLIsTranslated(t *testing.T) {
	inTwoLanguages(t)
	block := func(line string) string { return "\n```sql\n" + line + "\n```\n" }
	writeAll(t, "README.md", englishPage+block("UPDATE t; -- mine"), zh, chinesePage+block("UPDATE t; -- 我的"))
	require.NoError(t, stamp([]string{"README.md"}))
	require.NoError(t, carryOver(nil))
	require.NotContains(t, read(t, zh), "本页落后于英文版", "a comment in another language is not a difference")
	change(t, zh, "UPDATE t; --", "DELETE t; --")
	require.NoError(t, carryOver(nil))
	require.Contains(t, read(t, zh), "本页落后于英文版")
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
	require.NoError(t, run(nil, true, shown{print: version}), "-check says otherwise")

	change(t, zh, "go test ./... # 全部测试\n", "")
	require.NoError(t, carryOver([]string{"README.md"}))
	require.Contains(t, read(t, zh), "```sh\ngo test ./... # all tests\n```", "an empty block")
}

// The tour speaks Chinese; the go command does not.
func TestChinese_APageShowsWhatTheTourPrintsInChinese(t *testing.T) {
	inTwoLanguages(t)
	const block = "\n<!-- run: go run ./docs/tour red 4 -->\n```text\n```\n"
	writeAll(t, "README.md", englishPage+block, zh, chinesePage+block)
	prints := func(command string) (string, error) {
		if strings.HasPrefix(command, chineseLocale) {
			return "锁\n", nil
		}
		return "lock\n", nil
	}
	require.NoError(t, stamp([]string{"README.md"}))
	require.NoError(t, carryOver(nil))
	require.NoError(t, run(nil, false, shown{print: prints}))
	require.Contains(t, read(t, "README.md"), "$ go run ./docs/tour red 4\nlock\n```")
	require.Contains(t, read(t, zh), "$ go run ./docs/tour red 4\n锁\n```")
	require.Contains(t, read(t, zh), "$ go version\nlock\n```")
	require.NotContains(t, read(t, zh), "本页落后于英文版", "the outputs differ only in language")
	require.NoError(t, run(nil, true, shown{print: prints}))

	page := read(t, zh)
	require.NoError(t, carryOver(nil))
	require.Equal(t, page, read(t, zh), "what runs nothing must not bring the English back")
}

// The title of a link names the test that it leads to.
func TestChinese_ATitleIsKeptAndCompared(t *testing.T) {
	inTwoLanguages(t)
	writeAll(t, "README.md", englishPage+"\n[test](sub/lock.go \"helper\")\n",
		zh, chinesePage+"\n[测试](sub/lock.go \"helper\")\n")
	require.NoError(t, stamp([]string{"README.md"}))
	require.NoError(t, carryOver(nil))
	require.Contains(t, read(t, zh), "[测试](sub/lock.go#L18 \"helper\")")
	require.NotContains(t, read(t, zh), "本页落后于英文版")
	change(t, zh, "18 \"helper\")", "18 \"Lock\")")
	require.NoError(t, carryOver(nil))
	require.Contains(t, read(t, zh), "本页落后于英文版", "it names another test")
}

func TestChinese_ALinkGoesToTheChinesePageAsSoonAsItIsThere(t *testing.T) {
	inTwoLanguages(t)
	const redlock = "docs/read/redlock.zh-CN.md"
	writeAll(t, redlock, "# 红锁\n\n## 超时的持锁者\n\n## 超时的持锁者\n\n[上](../../README.md#the-watchdog)\n")
	require.ErrorContains(t, run(nil, true, shown{print: version}), "README.zh-CN.md is stale")
	require.NoError(t, stamp([]string{"docs/read/redlock.md"}))
	require.NoError(t, carryOver(nil))
	require.Contains(t, read(t, zh), "[持锁者](docs/read/redlock.zh-CN.md#超时的持锁者)")
	require.Contains(t, read(t, redlock), "[上](../../README.zh-CN.md#看门狗)")
	require.NoError(t, run(nil, true, shown{print: version}))

	change(t, "docs/read/redlock.md", "## A late holder", "## New\n\n## A late holder")
	require.NoError(t, run(nil, false, shown{print: version}))
	require.Contains(t, read(t, redlock), "本页落后于英文版")
	require.NotContains(t, read(t, zh), "本页落后于英文版", "that page is behind, not those that link to it")
}

// An author who writes no Chinese changes the English, and the banner says so to readers.
func TestStale_IsABannerAndNoFailureUnlessStrict(t *testing.T) {
	for _, c := range []struct{ file, old, now, want string }{
		{"README.md", "has a token", "has a random token", "README.zh-CN.md: README.md has changed since it was translated"},
		{"README.md", "## The watchdog", "## New\n\n## The watchdog", "README.zh-CN.md has 2 headings, README.md has 3"},
		{"README.md", "[the matrix](docs/read/matrix.md)", "[the matrix](docs/read/redlock.md)", "lacks: link to docs/read/redlock.md"},
		{zh, "\n## 看门狗", "\n### 看门狗", "not in English: ### with 3 rows and 1 <details>\n  lacks: ## with"},
		{zh, "<!-- run: go version -->", "<!-- run: go env -->", "not in English: block 1: <!-- run: go env --> ```text"},
		{zh, "go test ./... #", "go test . #", "not in English: block 2, line 1: go test ."},
		{zh, "[上面](#锁)", "[上面](#看门狗)", "not in English: link to #看门狗"},
		{zh, "`PEXPIRE`", "`EXPIRE`", "not in English: `EXPIRE`"},
	} {
		inTwoLanguages(t)
		inStep := read(t, zh)
		change(t, c.file, c.old, c.now)
		require.ErrorContains(t, run(nil, true, shown{print: version}), zh+" is stale: line", "a reader is not told: %s", c.now)
		require.NoError(t, run([]string{"README.md"}, false, shown{print: version}), c.now)
		require.Contains(t, read(t, zh), "[English](README.md) | 中文\n\n> **本页落后于英文版**：", c.now)
		require.NoError(t, run(nil, true, shown{print: version}), c.now)

		*strict = true
		require.ErrorContains(t, run(nil, true, shown{print: version}), c.want)
		*strict = false

		change(t, c.file, c.now, c.old)
		require.NoError(t, carryOver(nil))
		require.Equal(t, inStep, read(t, zh), "the banner stays")
	}
	change(t, "README.md", "has a token", "has a random token")
	require.NoError(t, carryOver(nil))
	require.NoError(t, stamp([]string{zh}))
	require.NotContains(t, read(t, zh), "本页落后于英文版")
	require.NoError(t, run(nil, true, shown{print: version}))
}

func TestChinese_SaysWhichPagesAreInEnglishOnly(t *testing.T) {
	inTwoLanguages(t)
	change(t, zh, "（英文）。", "。")
	require.ErrorContains(t, run(nil, true, shown{print: version}), "README.zh-CN.md:6: the first link to docs/read/matrix.md, which is in English only, is followed by （英文）")
}

func TestChinese_TheHashIsNotOfWhatAMachineWrites(t *testing.T) {
	inTwoLanguages(t)
	change(t, "sub/lock.go", "package lock\n", "package lock\n\n")
	change(t, "README.md", "(docs/read/matrix.md)", "(docs/read/matrix.md#m)")
	change(t, zh, "(docs/read/matrix.md)", "(docs/read/matrix.md#m)")
	two := func(string) (string, error) { return "two\n", nil }
	require.NoError(t, run(nil, false, shown{print: two}))
	require.Contains(t, read(t, zh), "$ go version\ntwo\n", "the output has changed in English only")
	require.Contains(t, read(t, zh), "sub/lock.go#L12")
	require.NoError(t, run(nil, true, shown{print: two}))
}

func TestPicture_OfAChinesePageIsInChinese(t *testing.T) {
	marker := strings.NewReplacer("A late holder", "The holder dies", "all is well", "three nodes are enough").Replace(drawingLine)
	inRepository(t)
	page, made, _ := remade("README.zh-CN.md", "# 甲\n\n"+marker+"\n", nil)
	require.Contains(t, page, marker+"\n"+`<picture><source media="(max-width: 600px) and (prefers-color-scheme: dark)" srcset="docs/read/pictures/late.zh-CN-narrow-dark.svg">`+
		`<source media="(max-width: 600px)" srcset="docs/read/pictures/late.zh-CN-narrow.svg"><source media="(prefers-color-scheme: dark)" srcset="docs/read/pictures/late.zh-CN-dark.svg"><img alt="持锁者崩溃。第 03 步：SET NX EX；DEL：alice 的`)
	require.Contains(t, made["docs/read/pictures/late.zh-CN.svg"], ">持锁者崩溃<")
	require.Contains(t, made["docs/read/pictures/late.zh-CN-dark.svg"], "✓ 三个节点就够了")

	_, _, wrong := remade("README.zh-CN.md", "# 甲\n\n"+drawingLine+"\n", nil)
	require.Contains(t, wrong, `docs/internal/picture/zh-CN.json has no Chinese for ["A late holder" "all is well"]`)
}

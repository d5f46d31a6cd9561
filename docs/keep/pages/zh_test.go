package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
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

// inTwoLanguages changes to a repository with a page in both languages that are in step.
func inTwoLanguages(t *testing.T) {
	t.Helper()
	inRepository(t)
	require.NoError(t, os.MkdirAll("docs/read", 0o755))
	writeAll(t, "README.md", englishPage, "README.zh-CN.md", chinesePage, "docs/read/matrix.md", "# M\n",
		"docs/read/redlock.md", "# R\n\n## A late holder\n\n## A late holder\n\n[up](../../README.md#the-watchdog)\n")
	require.NoError(t, stamp([]string{"README.md"}))
	require.NoError(t, carryOver(nil))
}

func writeAll(t *testing.T, namesAndTexts ...string) {
	t.Helper()
	for pair := range slices.Chunk(namesAndTexts, 2) {
		require.NoError(t, os.WriteFile(filepath.FromSlash(pair[0]), []byte(pair[1]), 0o644))
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.FromSlash(file))
	require.NoError(t, err)
	return string(text)
}

// change replaces a text of a page by another one.
func change(t *testing.T, file, old, now string) {
	t.Helper()
	page := read(t, file)
	require.Contains(t, page, old)
	writeAll(t, file, strings.Replace(page, old, now, 1))
}

func version(string) (string, error) { return "one\n", nil }

func TestChinese_WhatIsTheSameIsCarriedOver(t *testing.T) {
	inTwoLanguages(t)
	page := read(t, "README.zh-CN.md")
	require.Contains(t, page, "-->\n# 锁\n\n[English](README.md) | 中文\n")
	require.Contains(t, page, "```text\n$ go version\none\n```", "the output")
	require.Contains(t, page, "# 全部测试", "a comment was written over")
	require.Contains(t, page, "sub/lock.go#L11", "the line number")
	require.Contains(t, page, "(docs/read/redlock.md#a-late-holder)", "that page is in English so far")
	require.Contains(t, page, "[上面](#锁)")
	require.Contains(t, read(t, "README.md"), "# The lock\n\nEnglish | [中文](README.zh-CN.md)\n\nA [holder]")

	require.NoError(t, carryOver(nil))
	require.Equal(t, page, read(t, "README.zh-CN.md"), "a second run changes the page again")
	require.NoError(t, run(nil, true, version), "-check says otherwise")
}

func TestChinese_AnEmptyBlockIsCopied(t *testing.T) {
	inTwoLanguages(t)
	change(t, "README.zh-CN.md", "go test ./... # 全部测试\n", "")
	require.NoError(t, carryOver([]string{"README.md"}))
	require.Contains(t, read(t, "README.zh-CN.md"), "```sh\ngo test ./... # all tests\n```")
}

func TestChinese_ALinkFollowsItsDeclarationToAnotherFile(t *testing.T) {
	inTwoLanguages(t)
	writeAll(t, "sub/other.go", "package lock\n\ntype Lock struct{}\n", "sub/lock.go", "package lock\n")
	change(t, "README.md", "sub/lock.go#L11", "sub/other.go")
	require.NoError(t, run(nil, false, version))
	require.Contains(t, read(t, "README.zh-CN.md"), "[`Lock`](sub/other.go#L3)")
	require.NoError(t, run(nil, true, version))

	writeAll(t, "sub/lock.go", "package lock\n\n\ntype Lock struct{}\n", "sub/other.go", "package lock\n")
	require.NoError(t, run(nil, false, version))
	require.Contains(t, read(t, "README.md"), "[`Lock`](sub/lock.go#L4)", "no one has changed the pages")
	require.Contains(t, read(t, "README.zh-CN.md"), "[`Lock`](sub/lock.go#L4)")
	require.NoError(t, run(nil, true, version))

	change(t, "README.zh-CN.md", "[`Lock`]", "[`Unlock`]")
	require.ErrorContains(t, carryOver(nil), "README.zh-CN.md:6: sub/lock.go: no declaration Unlock")
	require.ErrorContains(t, run(nil, true, version), "the code in backticks: not in English: Unlock", "one complaint hides the next one")
}

func TestForm_OfAChinesePage(t *testing.T) {
	require.Empty(t, form("step01_setnx/README.zh-CN.md", "# 锁\n\n## 为什么\n"), "its headings are compared with the English ones")
	require.Empty(t, form("docs/read/matrix.zh-CN.md", strings.Repeat("x\n", maxLines+1)))
	stamped := "<!-- en: 0123456789 -->\n# 锁\n\n[English](a.md) | 中文\n"
	require.Empty(t, form("docs/read/a.zh-CN.md", stamped+strings.Repeat("x\n", maxLines-2)))
	require.Len(t, form("docs/read/a.zh-CN.md", stamped+strings.Repeat("x\n", maxLines)), 1)
}

func TestChinese_ALinkGoesToTheChinesePageAsSoonAsItIsThere(t *testing.T) {
	inTwoLanguages(t)
	writeAll(t, "docs/read/redlock.zh-CN.md", "# 红锁\n\n## 超时的持锁者\n\n## 超时的持锁者\n\n[上](../../README.md#the-watchdog)\n")
	require.ErrorContains(t, run(nil, true, version), "README.zh-CN.md is stale")
	require.NoError(t, stamp([]string{"docs/read/redlock.md"}))
	require.NoError(t, carryOver(nil))
	require.Contains(t, read(t, "README.zh-CN.md"), "[持锁者](docs/read/redlock.zh-CN.md#超时的持锁者)")
	require.Contains(t, read(t, "docs/read/redlock.zh-CN.md"), "[上](../../README.zh-CN.md#看门狗)")
	require.NoError(t, run(nil, true, version))

	change(t, "docs/read/redlock.zh-CN.md", "## 超时的持锁者", "## 晚了")
	require.ErrorContains(t, carryOver(nil), "the links: lacks docs/read/redlock.md#a-late-holder", "of two equal headings the first has another name now: the link leads to the second")
}

func TestChinese_ChecksFail(t *testing.T) {
	for _, c := range []struct{ file, old, now, want string }{
		{"README.md", "has a token", "has a random token", "README.zh-CN.md:2: 锁 (\"The lock\" of README.md): the English text has changed since this was translated"},
		{"README.md", "\n## The watchdog", "\n### The watchdog", `README.zh-CN.md has other headings than README.md: 2, not 2. Their levels differ first at "## 看门狗", in English "### The watchdog"`},
		{"README.zh-CN.md", "\n## 看门狗", "", `has other headings than README.md: 1, not 2`},
		{"README.zh-CN.md", "<!-- run: go version -->", "<!-- run: go env -->", `its markers are ["<!-- run: go env -->"], in English ["<!-- run: go version -->"]`},
		{"README.zh-CN.md", "<!-- run: go version -->\n```text\n$ go version\none\n```\n", "", "1 blocks of code or output, 2 in English"},
		{"README.zh-CN.md", "go test ./... #", "go test . #", "block 2 has other code than in English"},
		{"README.zh-CN.md", "```sh", "```go", "block 2 opens with \"```go\""},
		{"README.zh-CN.md", "见 [矩阵](docs/read/matrix.md)（英文）。", "见矩阵。", "the links: lacks docs/read/matrix.md"},
		{"README.zh-CN.md", "[上面](#锁)", "[上面](#看门狗)", "the links: not in English: #the-watchdog"},
		{"README.zh-CN.md", "`PEXPIRE`", "`EXPIRE`", "the code in backticks: not in English: EXPIRE"},
		{"README.zh-CN.md", "：`TestRenewal`", "", "the names of tests: lacks TestRenewal"},
		{"README.zh-CN.md", "<details><summary>为什么？</summary>", "", "0 are to be unfolded (<details>), 1 in English"},
		{"README.zh-CN.md", "| 甲 | 乙 |\n", "| 甲 | 乙 |\n| 丙 | 丁 |\n", "its tables have 4 rows, 3 in English"},
		{"README.zh-CN.md", "（英文）。", "。", "the first link to docs/read/matrix.md, which is in English only, is followed by （英文）"},
		{"README.zh-CN.md", "它用", "令牌用", "not 令牌: 唯一标识（token）"},
		{"README.zh-CN.md", "它用 `PEXPIRE` 续期：`TestRenewal`。", "", "no line in Chinese says what output 1 shows"},
		{"README.zh-CN.md", "它用 `PEXPIRE` 续期：`TestRenewal`。", "`PEXPIRE` `TestRenewal`", "no line in Chinese says what output 1 shows"},
		{"README.zh-CN.md", "`。", "`.\n它续期。", "a paragraph is one line"},
		{"README.zh-CN.md", "它用", "它renew 用", "a space stands between"},
		{"README.zh-CN.md", "它用", "锁,它用", "full-width"},
		{"README.zh-CN.md", "它用", "锁 ，它用", "no space stands before"},
		{"README.zh-CN.md", "它用", "it is the holder that: 它用", "English is left"},
		{"README.zh-CN.md", "它用", "看**“它”**用", "GitHub does not show this as bold"},
	} {
		inTwoLanguages(t)
		change(t, c.file, c.old, c.now)
		require.ErrorContains(t, run(nil, true, version), c.want)
	}
	inTwoLanguages(t)
	first, rest, _ := strings.Cut(read(t, "README.zh-CN.md"), "\n")
	require.Regexp(t, stampLine, first)
	writeAll(t, "README.zh-CN.md", rest)
	require.ErrorContains(t, run(nil, true, version), "not translated yet, or no one has said so")
}

func TestChinese_ChecksPass(t *testing.T) {
	for _, c := range []struct{ file, old, now string }{
		{"README.md", "a token ([", "a\n  token  (["},
		// A link is compared, and needs no stamp.
		{"README.md", "(docs/read/matrix.md)", "(docs/read/matrix.md#m)"},
		{"README.zh-CN.md", "它用", "它（别人叫它“令牌”）用"},
		{"README.zh-CN.md", "它用", "防护令牌和 [How to do the distributed locking that works](https://example.com/x) 用"},
		// The cards in Chinese.
		{"README.zh-CN.md", "它用", "[卡片](deck.zh-CN.tsv)，它用"},
		{"README.zh-CN.md", "它用", "《Redis系列(十三)应用之分布式锁》用"},
		{"README.zh-CN.md", "它用", "**它用：** 锁，用"},
		{"README.zh-CN.md", "<details>", "> it is the holder that renews it.\n\n<details>"},
	} {
		inTwoLanguages(t)
		change(t, c.file, c.old, c.now)
		if strings.Contains(c.now, "#m") {
			change(t, "README.zh-CN.md", "(docs/read/matrix.md)", "(docs/read/matrix.md#m)")
		}
		if strings.Contains(c.now, "https") {
			change(t, "README.md", "It renews", "It [renews](https://example.com/x)")
			require.NoError(t, stamp([]string{"README.md"}))
		}
		if strings.Contains(c.now, "deck") {
			change(t, "README.md", "It renews", "It [renews](deck.tsv)")
			require.NoError(t, stamp([]string{"README.md"}))
		}
		require.NoError(t, run(nil, true, version), c.now)
	}
}

func TestChinese_TheHashIsNotOfWhatAMachineWrites(t *testing.T) {
	inTwoLanguages(t)
	change(t, "sub/lock.go", "package lock\n", "package lock\n\n")
	two := func(string) (string, error) { return "two\n", nil }
	require.NoError(t, run(nil, false, two))
	require.Contains(t, read(t, "README.zh-CN.md"), "$ go version\ntwo\n", "the output has changed in English only")
	require.Contains(t, read(t, "README.zh-CN.md"), "sub/lock.go#L12")
	require.NoError(t, run(nil, true, two))
}

func TestStale_ShowsWhatHasChanged(t *testing.T) {
	inTwoLanguages(t)
	for _, args := range []string{"init -q", "add .", "-c user.name=a -c user.email=a@example.com commit -qm one"} {
		out, err := exec.Command("git", strings.Fields(args)...).CombinedOutput()
		require.NoError(t, err, string(out))
	}
	require.Contains(t, printed(t, func() error { return showStale(nil) }), "1 Chinese pages are in step")

	change(t, "README.md", "has a token", "has a random token")
	said := printed(t, func() error { return showStale(nil) })
	require.Contains(t, said, "README.md#the-lock\n  README.zh-CN.md:2: 锁\n")
	require.Contains(t, said, "has a {+random+} token")
	require.NotContains(t, said, "the-watchdog")

	require.NoError(t, stamp([]string{"README.zh-CN.md#锁"}))
	require.Contains(t, printed(t, func() error { return showStale(nil) }), "1 Chinese pages are in step")
	require.NoError(t, run(nil, true, version))

	change(t, "README.md", "has a random token", "has its own token")
	require.Contains(t, printed(t, func() error { return showStale(nil) }), "is not in the history of README.md")
	_, rest, _ := strings.Cut(read(t, "README.zh-CN.md"), "\n")
	writeAll(t, "README.zh-CN.md", rest)
	require.Contains(t, printed(t, func() error { return showStale(nil) }), "it has never been stamped")
}

// printed is what f prints.
func printed(t *testing.T, f func() error) string {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	stdout := os.Stdout
	os.Stdout = w
	err = f()
	os.Stdout = stdout
	w.Close()
	require.NoError(t, err)
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	return string(text)
}

func TestStamp_RefusesWhatIsNotThere(t *testing.T) {
	inTwoLanguages(t)
	for name, want := range map[string]string{
		"README.md#nothing":    "README.md has no section #nothing; there are: the-lock the-watchdog",
		"docs/read/redlock.md": "docs/read/redlock.zh-CN.md does not exist",
	} {
		require.ErrorContains(t, stamp([]string{name}), want)
	}
	require.ErrorContains(t, stamp(nil), "name a page")
	change(t, "README.zh-CN.md", "\n## 看门狗", "\n### 看门狗")
	require.ErrorContains(t, stamp([]string{"README.md"}), "other headings")
}

func TestChinese_PicturesHaveChineseTitles(t *testing.T) {
	outputs := map[string]string{redTestX: recorded("bob took the lock in the middle of alice's TryLock, but she got it as well: both are inside"), greenTestX: recorded("")}
	marker := strings.NewReplacer("A late holder", "The holder dies", "all is well", "one of them is inside").Replace(drawingLine)
	inRepository(t)
	writeAll(t, "README.md", "# A\n\n"+marker+"\n", "README.zh-CN.md", "# 甲\n\n"+marker+"\n")
	page, drawn, _, err := newLibrary().regenerate("README.zh-CN.md", outputs)
	require.NoError(t, err)
	require.Contains(t, page, marker+"\n"+`<picture><source media="(prefers-color-scheme: dark)" srcset="docs/read/pictures/late.zh-CN-dark.svg"><img alt="持锁者崩溃。第 03 步：SET NX EX；DEL：alice 的`)
	require.Contains(t, drawn["docs/read/pictures/late.zh-CN.svg"], ">持锁者崩溃<")
	require.Contains(t, drawn["docs/read/pictures/late.zh-CN-dark.svg"], "✓ 只有一个持锁")

	writeAll(t, "README.zh-CN.md", "# 甲\n\n"+drawingLine+"\n")
	_, _, _, err = newLibrary().regenerate("README.zh-CN.md", outputs)
	require.ErrorContains(t, err, `docs/internal/picture/chinese.go has no Chinese for ["A late holder" "all is well"]`)
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

// What follows is about the pages of this repository.

func TestEveryLinkToAHeadingFindsIt(t *testing.T) {
	t.Chdir("../../..")
	files, err := pages(".")
	require.NoError(t, err)
	b, n := newLibrary(), 0
	for _, file := range files {
		file = filepath.ToSlash(file)
		for _, s := range b.sections(file) {
			for _, m := range linkTo.FindAllStringSubmatch(s.prose(), -1) {
				to, anchor, ok := b.target(file, m[1])
				if !ok || anchor == "" {
					continue
				}
				n++
				require.True(t, slices.ContainsFunc(b.sections(to), func(s section) bool { return s.slug == anchor }), "%s: %s", file, m[1])
			}
		}
	}
	require.Greater(t, n, 100)
}

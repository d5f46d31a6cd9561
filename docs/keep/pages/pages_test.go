package main

import (
	"os"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/picture"
	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

const (
	lockSource = "package lock\n\nimport \"errors\"\n\n// Errors.\nvar (\n\tErrLost = errors.New(\"lost\")\n)\n\n// Lock is one.\ntype Lock struct{}\n\n" +
		"// Lock waits.\nfunc (l *Lock) Lock() {\n\tprintln(\"waits\")\n}\n"
	drawingLine = "<!-- picture: late | The holder dies | red 4 TestX | green 4 TestX: three nodes are enough -->"
	chinesePage = "README.zh-CN.md"
)

// inRepository changes to a folder with these files, and some sources.
func inRepository(t *testing.T, namesAndTexts ...string) {
	t.Helper()
	t.Chdir(t.TempDir())
	writeAll(t, "sub/lock.go", lockSource, "sub/send.go", "package lock\n\nfunc send() {}\n", "sub/a_test.go", "package lock\n\nfunc TestA() {}\n",
		"docs/stories/more_1_test.go", "package lock\n\nfunc TestB() {}\n")
	writeAll(t, namesAndTexts...)
}

func writeAll(t *testing.T, namesAndTexts ...string) {
	t.Helper()
	for pair := range slices.Chunk(namesAndTexts, 2) {
		require.NoError(t, os.MkdirAll(path.Dir(pair[0]), 0o755))
		require.NoError(t, os.WriteFile(pair[0], []byte(pair[1]), 0o644))
	}
}

// change replaces a text of a file by another one.
func change(t *testing.T, file, old, now string) {
	t.Helper()
	require.Contains(t, read(file), old)
	writeAll(t, file, strings.Replace(read(file), old, now, 1))
}

// printing makes pages in which all commands print the same, in their language, and in red an
// assertion fails.
func printing(out string) maker {
	return maker{
		print: func(command string) (string, error) {
			if strings.HasSuffix(command, " -lang zh") {
				return "中文\n", nil
			}
			return out, nil
		},
		stairs: func() ([]picture.Stair, error) {
			return []picture.Stair{{Guarantee: "the owner may nest; and more", Holds: make([]bool, 9)}, {Guarantee: "x", Holds: []bool{false, true, 7: true}}}, nil
		},
		play: func(s scene) ([]trace.Record, error) {
			inside := []string{"alice"}
			records := []trace.Record{{At: 100, Who: "alice", Kind: trace.Return, Text: "TryLock", Reply: "ok", Redis: []trace.Key{{}}, Inside: inside}}
			if s.red {
				const said = "bob took the lock in the middle of alice's TryLock, but she got it as well: both are inside"
				records = append(records, trace.Record{At: 100, Kind: trace.Verdict, Text: said, Redis: []trace.Key{{}}, Inside: inside})
			}
			return records, nil
		},
	}
}

func TestPage_BlocksAndLinksAreMadeAnew(t *testing.T) {
	name := "Test" + strings.Repeat("x", 35)
	long := "go run ./docs/tour red 6 " + strings.Repeat(name+" ", 3) + "TestLast"
	for _, c := range []struct{ why, file, page, want string }{
		{"the command and its output", "a.md", "before\n<!-- run: go version -->\n```text\nold\n\nold\n```\nafter\n",
			"before\n<!-- run: go version -->\n```text\n$ go version\none\ntwo\n```\nafter\n"},
		{"a long command takes two lines", "a.md", "<!-- run: " + long + " -->\n```text\n```\n",
			"<!-- run: " + long + " -->\n```text\n$ go run ./docs/tour red 6 " + name + " \\\n    " + name + " " + name + " TestLast\none\ntwo\n```\n"},
		{"declarations of a file, and of another one next to it", "a.md", "<!-- code: sub/lock.go Lock.Lock ErrLost send -->\n```go\n```\n",
			"<!-- code: sub/lock.go Lock.Lock ErrLost send -->\n```go\n// Lock waits.\nfunc (l *Lock) Lock() {\n\tprintln(\"waits\")\n}\n\n" +
				"\tErrLost = errors.New(\"lost\")\n\nfunc send() {}\n```\n"},
		{"declarations of a folder", "a.md", "<!-- code: sub send -->\n```go\n```\n", "<!-- code: sub send -->\n```go\nfunc send() {}\n```\n"},
		{"the lines of links", "docs/a.md", "see [`Lock.Lock`](../sub/lock.go#L1) and [the error](../sub/lock.go#L99 \"ErrLost\")",
			"see [`Lock.Lock`](../sub/lock.go#L14) and [the error](../sub/lock.go#L7 \"ErrLost\")"},
		{"a link follows its declaration", "docs/a.md", "[`send`](../sub/lock.go#L14), [`send`](../sub/gone.go)", "[`send`](../sub/send.go#L3), [`send`](../sub/send.go#L3)"},
		{"other links", "docs/a.md", "[the lock](../sub/lock.go) and [`x`](https://example.com/a.go)", ""},
		{"a link in a block", "docs/a.md", "```md\n[`send`](../sub/lock.go)\n```", ""},
		{"the line of a test, in its lesson", "sub/README.md", "[test](a_test.go \"TestA\")", "[test](a_test.go#L3 \"TestA\")"},
		{"elsewhere it would change too often", "docs/a.md", "[`TestA`](../sub/a_test.go#L9)", "[`TestA`](../sub/a_test.go)"},
		{"a story of the second reading", "sub/README.md", "[test](more_1_test.go#L9 \"TestB\")", "[test](../docs/stories/more_1_test.go \"TestB\")"},
		{"the matrix", "a.md", "<!-- matrix: stairs -->\n<!-- /table -->\n", "<!-- matrix: stairs -->\n| | 01 | 02 | 03 | 04 | 05 | 06 | 07 | 08 |\n|---|:-:|:-:|:-:|:-:|:-:|:-:|:-:|:-:|\n" +
			"| 1. the owner may nest |" + strings.Repeat(" **✗** |", 8) + "\n| 2. x | **✗** | ✓ |" + strings.Repeat(" **✗** |", 5) + " ✓ |\n<!-- /table -->\n"},
		{"another program writes a table", "a.md", "<!-- table: go run ./x -->\n[`send`](sub/lock.go)\n<!-- /table -->", ""},
	} {
		if c.want == "" {
			c.want = c.page
		}
		inRepository(t, c.file, c.page)
		for range 2 { // the second run changes nothing
			require.NoError(t, printing("one  \ntwo\n").run(t.Context(), []string{c.file}, false), c.why)
			require.Equal(t, c.want, read(c.file), c.why)
		}
	}
}

func TestAPageThatCannotBeMade_SaysWhereAndWhy(t *testing.T) {
	for page, want := range map[string]string{
		"\n<!-- run: go version -->\n\n```\n```":                "a.md:2: no fenced block directly after <!-- run: go version -->",
		"```\nopen":                                             "a.md:1: the block has no closing ```",
		"<!-- run: go version -->\n```\n```":                    "use a longer one",
		"<!-- code: sub/lock.go -->\n```\n```":                  "at least one name",
		"<!-- code: sub/none.go Unlock -->\n```\n```":           "none.go",
		"text\n[`Lock.Unlock`](sub/lock.go#L3) missing":         "a.md:2: sub/lock.go: no declaration Lock.Unlock",
		"[the lock](sub/lock.go#L3)":                            "names no declaration",
		"`go run ./docs/tour red 4 TestGone_Nobody`":            "there is no story TestGone_Nobody",
		"<!-- picture: late -->":                                "a.md:1: a picture needs a name, a title and a run",
		"<!-- picture: late | T | blue 4 TestX -->":             `a.md:1: "blue 4 TestX" is not a run`,
		"<!-- picture: late | T | red 12 TestX -->":             "no such step: 12",
		"<!-- picture: late | T | red 4 TestX | until soon -->": "invalid duration",
	} {
		inRepository(t, "a.md", page)
		require.ErrorContains(t, printing("```\n").run(t.Context(), []string{"a.md"}, false), want)
		require.Equal(t, page, read("a.md"), "the page has lost something")
	}
}

// One fault for each kind of what is made.
func TestCheck_FailsOnWhatIsStaleAndLeavesItAlone(t *testing.T) {
	inRepository(t, "README.md", "# Lock\n\nEnglish | [中文](README.zh-CN.md)\n\n<!-- run: go run ./docs/tour red 4 -->\n```text\n```\n\n<!-- code: sub send -->\n```go\n```\n\n"+
		drawingLine+"\n\n[`send`](sub/send.go)\n", chinesePage, "# 锁\n\n[English](README.md) | 中文\n\n<!-- run: go run ./docs/tour red 4 -->\n```text\n```\n\n<!-- code: sub send -->\n```go\n```\n\n"+drawingLine+"\n")
	require.NoError(t, stamp([]string{"README.md"}))
	all := []string{"README.md"}
	require.NoError(t, printing("one\n").run(t.Context(), all, false))
	require.NoError(t, printing("one\n").run(t.Context(), all, true), "the pages have just been made")
	require.ErrorContains(t, printing("two\n").run(t.Context(), all, true), "README.md is stale: line 8\n  page: one\n  code: two")
	for _, fault := range []struct{ file, old, now string }{
		{"README.md", "red 4\none", "red 4\nother"},
		{chinesePage, "中文\n```", "其他\n```"},
		{"README.md", "func send() {}", "func send() { return }"},
		{chinesePage, "func send() {}", "func send() { return }"},
		{"README.md", "send.go#L3", "send.go#L4"},
		{"README.md", `alt="The holder`, `alt="A holder`},
		{"docs/read/pictures/late.svg", "alice", "carol"},
		{"docs/read/pictures/late.zh-CN-narrow-dark.svg", "alice", "carol"},
		{"README.md", "# Lock\n", "# The lock\n"}, // which is to be translated
		{chinesePage, "<!-- en: ", "<!-- en: 0"},
	} {
		change(t, fault.file, fault.old, fault.now)
		require.ErrorContains(t, printing("one\n").run(t.Context(), all, true), " is stale: ", fault.now)
		require.Contains(t, read(fault.file), fault.now, "a check wrote")
		change(t, fault.file, fault.now, fault.old)
	}
}

func TestWithoutNames_TheExplorerRunsToo(t *testing.T) {
	inRepository(t)
	require.NoError(t, exec.Command("git", "init", "-q").Run())
	ran := make(chan string, 4)
	m := maker{print: func(command string) (string, error) {
		ran <- command
		return "", nil
	}}
	require.NoError(t, m.run(t.Context(), nil, true))
	require.Equal(t, "go run ./docs/explore -check", <-ran)
	require.Empty(t, ran)
}

func TestAGuaranteeHoldsFromItsStepOn_AndNotBefore(t *testing.T) {
	passed, failed := story.Result{}, story.Result{Verdict: story.Failed}
	failed.Name = "TestX"
	for _, c := range []struct {
		lock    int
		results []story.Result
		holds   bool
		wrong   string
	}{
		{6, []story.Result{passed, passed}, true, ""},
		{5, []story.Result{passed, failed}, false, ""},
		{6, []story.Result{passed, failed}, false, "guarantee 6 on the lock of step 06: it holds from lock 6 on, and not before. Of 2 stories, these fail: TestX"},
		{5, []story.Result{passed, passed}, false, "guarantee 6 on the lock of step 05: it holds"},
		{6, nil, false, "Of 0 stories"},
		{5, []story.Result{failed, {Verdict: story.Crashed, Detail: "because"}}, false, "guarantee 6 on the lock of step 05 says nothing: : because"},
	} {
		got, err := holds(course.Steps[5], course.Steps[c.lock-1], c.results)
		require.Equal(t, c.holds, got)
		if c.wrong == "" {
			require.NoError(t, err)
		} else {
			require.ErrorContains(t, err, c.wrong)
		}
	}
}

func TestChinese_APageIsInItsLanguage(t *testing.T) {
	inRepository(t, chinesePage, "# 锁\n\n[English](README.md) | 中文\n\n"+drawingLine+"\n[其他](sub/b.md#x) [英文](sub/c.md)\n", "README.md", "# Lock\n\n"+drawingLine+"\n", "sub/b.zh-CN.md", "# 乙\n")
	require.NoError(t, stamp([]string{"README.md"}))
	require.NoError(t, printing("").run(t.Context(), []string{"README.md"}, false))
	require.Regexp(t, "^<!-- en: [0-9a-f]{10} -->\n# 锁\n\n\\[English\\]\\(README.md\\) \\| 中文\n\n<!-- picture", read(chinesePage))
	require.Contains(t, read(chinesePage), `<img alt="持锁者崩溃。第 03 步：SET NX EX；DEL：alice 的`)
	require.Contains(t, read(chinesePage), "[其他](sub/b.zh-CN.md#x) [英文](sub/c.md)")
	require.Contains(t, read(pictures+"/late.zh-CN.svg"), ">持锁者崩溃<")
	require.Contains(t, read(pictures+"/late.zh-CN-dark.svg"), "✓ 三个节点就够了")
}

// An author who writes no Chinese changes the English, and the banner says so to readers.
func TestChinese_IsStaleUntilItIsStamped(t *testing.T) {
	inRepository(t, "README.md", "# Lock\n\nA [token](a.md).\n\n<!-- run: go version -->\n```text\n```\n", chinesePage, "# 锁\n\n[English](README.md) | 中文\n\n<!-- run: go version -->\n```text\n```\n")
	stale := func() bool {
		require.NoError(t, printing("").run(t.Context(), []string{"README.md"}, false))
		return strings.Contains(read(chinesePage), "[English](README.md) | 中文\n\n> **本页落后于英文版**：")
	}
	require.True(t, stale(), "it has no stamp")
	require.NoError(t, stamp([]string{chinesePage}))
	require.False(t, stale())
	change(t, "README.md", "a.md", "b.md")
	require.False(t, stale(), "the target of a link is the same in Chinese")
	change(t, "README.md", "$ go version", "$ go version\nold")
	require.False(t, stale(), "a program writes it")
	change(t, "README.md", "A [token]", "A random [token]")
	require.True(t, stale())
	require.NoError(t, stamp([]string{"README.md"}))
	require.False(t, stale())
}

package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const lockSource = `package lock

import "errors"

// Errors.
var (
	ErrLost = errors.New("lost")
)

// Lock is one.
type Lock struct{}

// Lock waits.
func (l *Lock) Lock() {
	println("waits")
}

func helper() {}
`

// inRepository changes to a folder with one source file, sub/lock.go.
func inRepository(t *testing.T) {
	t.Chdir(t.TempDir())
	require.NoError(t, os.Mkdir("sub", 0o755))
	require.NoError(t, os.WriteFile(filepath.Join("sub", "lock.go"), []byte(lockSource), 0o644))
}

func TestRun_ReplacesTheBlockByTheCommandAndItsOutput(t *testing.T) {
	page := "before\n<!-- run: go version -->\n```text\nold\n\nold\n```\nafter\n"
	got, _, err := regenerate("a.md", page, map[string]string{"go version": "one  \ntwo\n"})
	require.NoError(t, err)
	require.Equal(t, "before\n<!-- run: go version -->\n```text\n$ go version\none\ntwo\n```\nafter\n", got)
	again, _, err := regenerate("a.md", got, map[string]string{"go version": "one  \ntwo\n"})
	require.NoError(t, err)
	require.Equal(t, got, again, "a second run changes the page again")
}

func TestRun_ALongCommandGoesOnInTheNextLine(t *testing.T) {
	long := "go run ./docs/tour red 6 " + strings.Repeat("Test_"+strings.Repeat("x", 35)+" ", 3) + "TestLast"
	got, _, err := regenerate("a.md", "<!-- run: "+long+" -->\n```text\n```\n", map[string]string{long: "out\n"})
	require.NoError(t, err)
	name := "Test_" + strings.Repeat("x", 35)
	require.Equal(t, "<!-- run: "+long+" -->\n```text\n$ go run ./docs/tour red 6 "+name+" \\\n"+
		"    "+name+" "+name+" TestLast\nout\n```\n", got)
	require.Empty(t, form("a.md", got))
}

func TestCode_ReplacesTheBlockByTheDeclarations(t *testing.T) {
	inRepository(t)
	page := "<!-- code: sub/lock.go Lock.Lock ErrLost -->\n```go\n```\n"
	got, _, err := regenerate("a.md", page, nil)
	require.NoError(t, err)
	require.Equal(t, `<!-- code: sub/lock.go Lock.Lock ErrLost -->
`+"```go"+`
// Lock waits.
func (l *Lock) Lock() {
	println("waits")
}

	ErrLost = errors.New("lost")
`+"```\n", got)
}

func TestALinkIntoTheSource_GetsItsLine(t *testing.T) {
	inRepository(t)
	for old, want := range map[string]string{
		"see [`Lock.Lock`](../sub/lock.go#L1) and [`helper`](../sub/lock.go)": "see [`Lock.Lock`](../sub/lock.go#L14) and [`helper`](../sub/lock.go#L18)",
		"[`ErrLost`](../sub/lock.go#L99)":                                     "[`ErrLost`](../sub/lock.go#L7)",
		"[the lock](../sub/lock.go) and [`x`](https://example.com/a.go)":      "[the lock](../sub/lock.go) and [`x`](https://example.com/a.go)",
		"```md\n[`helper`](../sub/lock.go)\n```":                              "```md\n[`helper`](../sub/lock.go)\n```",
	} {
		got, _, err := regenerate(filepath.Join("docs", "a.md"), old, nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

func TestALinkToATest_GivesItsLineOnlyInTheLessonOfItsFolder(t *testing.T) {
	inRepository(t)
	require.NoError(t, os.WriteFile(filepath.Join("sub", "a_test.go"), []byte("package lock\n\nfunc TestA() {}\n"), 0o644))
	for file, want := range map[string]string{"sub/README.md": "[`TestA`](a_test.go#L3)", "docs/a.md": "[`TestA`](../sub/a_test.go)"} {
		got, _, err := regenerate(filepath.FromSlash(file), strings.Replace(want, "#L3", "", 1), nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, _, err := regenerate(filepath.Join("docs", "a.md"), "[`TestA`](../sub/a_test.go#L9)", nil)
	require.NoError(t, err)
	require.Equal(t, "[`TestA`](../sub/a_test.go)", got, "a line that no one keeps right")
}

func TestALinkIntoTheSource_FollowsItsDeclarationToAnotherFile(t *testing.T) {
	inRepository(t)
	require.NoError(t, os.WriteFile(filepath.Join("sub", "send.go"), []byte("package lock\n\nfunc send() {}\n"), 0o644))
	for old, want := range map[string]string{
		"[`send`](../sub/lock.go#L14)":     "[`send`](../sub/send.go#L3)",
		"[`send`](../sub/gone.go)":         "[`send`](../sub/send.go#L3)",
		"[`Lock.Lock`](../sub/send.go#L3)": "[`Lock.Lock`](../sub/lock.go#L14)",
	} {
		got, _, err := regenerate(filepath.Join("docs", "a.md"), old, nil)
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
	got, _, err := regenerate(filepath.Join("sub", "README.md"), "[`send`](lock.go)", nil)
	require.NoError(t, err)
	require.Equal(t, "[`send`](send.go#L3)", got)

	_, _, err = regenerate("a.md", "<!-- code: sub/lock.go Lock.Lock send -->\n```go\n```\n", nil)
	require.ErrorContains(t, err, "a.md:1: send is in send.go, not in sub/lock.go: name that file, or the folder")
	got, _, err = regenerate("a.md", "<!-- code: sub send ErrLost -->\n```go\n```\n", nil)
	require.NoError(t, err)
	require.Contains(t, got, "func send() {}\n\n\tErrLost = ")
}

func TestAPageThatCannotBeMade_SaysWhere(t *testing.T) {
	inRepository(t)
	for page, want := range map[string]string{
		"\n<!-- run: go version -->\n\n```\n```":        "a.md:2: no fenced block directly after <!-- run: go version -->",
		"<!-- run: go version -->":                      "a.md:1: no fenced block",
		"<!-- run: go version -->\n```\nopen":           "has no closing ```",
		"```\nopen":                                     "a.md:1: the block has no closing ```",
		"<!-- run: go fence -->\n```\n```":              "use a longer one",
		"<!-- code: sub/lock.go -->\n```\n```":          "at least one name",
		"<!-- code: sub/lock.go Unlock -->\n```\n```":   "a.md:1: sub/lock.go: no declaration Unlock",
		"<!-- code: sub/none.go Unlock -->\n```\n```":   "none.go",
		"text\n[`Lock.Unlock`](sub/lock.go#L3) missing": "a.md:2: ",
	} {
		_, _, err := regenerate("a.md", page, map[string]string{"go version": "x\n", "go fence": "```\n"})
		require.ErrorContains(t, err, want)
	}
}

func TestCheck_FailsOnAStalePageAndLeavesItAlone(t *testing.T) {
	inRepository(t)
	page := "<!-- run: go run ./docs/tour red 4 -->\n```text\n```\n"
	require.NoError(t, os.WriteFile("README.md", []byte(page), 0o644))
	message := "bob is inside\n"
	command := func(string) (string, error) { return message, nil }

	require.ErrorContains(t, run(nil, true, command), "README.md is stale: line 3\n  page: ```\n  code: $ go run ./docs/tour red 4")
	unchanged, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Equal(t, page, string(unchanged), "a check wrote")

	require.NoError(t, run(nil, false, command))
	require.NoError(t, run(nil, true, command), "the page has just been made")

	message = "bob is outside\n"
	require.ErrorContains(t, run(nil, true, command), "page: bob is inside\n  code: bob is outside", "a message of the code changed, and the check passes")
}

func TestWithoutNames_TheProgramsThatWriteWholePagesRunFirst(t *testing.T) {
	inRepository(t)
	require.NoError(t, os.WriteFile("README.md", []byte("<!-- run: go version -->\n```text\n```\n"), 0o644))
	var ran []string
	command := func(command string) (string, error) {
		ran = append(ran, command)
		if strings.HasSuffix(command, " -check") {
			return "", errors.New(command + " says that its page is stale")
		}
		return "", nil
	}
	require.NoError(t, run(nil, false, command))
	require.Equal(t, []string{"go run ./docs/tour matrix", "go run ./docs/explore", "go run ./docs/play -write", "go version"}, ran)

	err := run(nil, true, command)
	require.ErrorContains(t, err, "go run ./docs/tour matrix -check says that its page is stale")
	require.ErrorContains(t, err, "go run ./docs/explore -check says that its page is stale", "one stale page hides the next one")

	ran = nil
	require.NoError(t, run([]string{"README.md"}, true, command))
	require.Equal(t, []string{"go version"}, ran, "one page was asked for")
}

func TestShell_RunsTheTourAndTheGoCommandOnly(t *testing.T) {
	inRepository(t)
	require.NoError(t, os.WriteFile("go.mod", []byte("module example.com/x\n\ngo 1.26\n"), 0o644))
	require.NoError(t, os.MkdirAll(filepath.Join("docs", "tour"), 0o755))
	tour := "package main\n\nimport \"os\"\n\nfunc main() { print(`noise`); os.Stdout.WriteString(os.Args[1]); if len(os.Args) > 2 { os.Exit(1) } }\n"
	require.NoError(t, os.WriteFile(filepath.Join("docs", "tour", "main.go"), []byte(tour), 0o644))
	page := "<!-- run: go run ./docs/tour red -->\n```text\n```\n"
	require.NoError(t, os.WriteFile("README.md", []byte(page), 0o644))
	require.NoError(t, runHere(t.Context(), []string{"README.md"}, false))
	got, err := os.ReadFile("README.md")
	require.NoError(t, err)
	require.Equal(t, "<!-- run: go run ./docs/tour red -->\n```text\n$ go run ./docs/tour red\nred\n```\n", string(got))

	for command, want := range map[string]string{
		"go run ./docs/tour red 4": "README.md:1: ",
		"rm -rf /":                 `"rm -rf /": a page runs only the go command`,
	} {
		page := "<!-- run: " + command + " -->\n```text\n```\n"
		require.NoError(t, os.WriteFile("README.md", []byte(page), 0o644))
		require.ErrorContains(t, runHere(t.Context(), []string{"README.md"}, false), want)
	}
}

func TestForm(t *testing.T) {
	require.Empty(t, form("docs/read/a.md", strings.Repeat("x\n", maxLines)))
	require.Len(t, form("docs/read/a.md", strings.Repeat("x\n", maxLines+1)), 1)
	require.Empty(t, form("docs/read/matrix.md", strings.Repeat("x\n", maxLines+1)))
	require.Len(t, form("docs/read/a.md", "text\n```mermaid\nsequenceDiagram\n```\n"), 1)
	require.Empty(t, form("docs/read/a.md", "[`Lock`](lock.go#L3) [lock](lock.go) [theirs](https://example.com/a.go#L9)"))
	require.Len(t, form("docs/read/a.md", "[the lock](lock.go#L3) [`Lock`](lock.go#lock)"), 2)

	wide := strings.Repeat("ä", maxColumns)
	require.Empty(t, form("docs/read/a.md", wide+"!\n```go\n"+wide+"\n```\n"+wide+"!\n"))
	require.Equal(t, []string{
		"docs/read/a.md:3: 101 columns in a block, 100 are enough",
		"docs/read/a.md:7: 101 columns in a block, 100 are enough",
	}, form("docs/read/a.md", "````go\n```\n"+wide+"!\n````\n"+wide+"!\n   ```sh\n\t"+wide[6:]+"\n   ```\n"))
}

func TestForm_AnEmptyLineFollowsASummary(t *testing.T) {
	for page, want := range map[string]string{
		"<details><summary>Hint</summary>\n\nAsk `Redis`.\n</details>\n":        "",
		"   <details><summary>Hint</summary>\n\n   Ask `Redis`.\n   </details>": "",
		"<details>\n<summary>Hint</summary>\n\nAsk `Redis`.\n</details>\n":      "",
		"```html\n<summary>Hint</summary>Ask\n```\n":                            "",
		"text\n<details><summary>Hint</summary>Ask `Redis`.</details>\n":        "docs/read/a.md:2: ",
		"<details><summary>Hint</summary>\nAsk `Redis`.\n</details>\n":          "docs/read/a.md:1: ",
		"<details><summary>Hint</summary>\n```go\n\n```\n</details>\n":          "docs/read/a.md:1: ",
		"<details><summary>Hint": "docs/read/a.md:1: ",
	} {
		wrong := form("docs/read/a.md", page)
		if want == "" {
			require.Empty(t, wrong, page)
			continue
		}
		require.Len(t, wrong, 1, page)
		require.Contains(t, wrong[0], want+"GitHub shows the text after <summary> as Markdown only", page)
	}
}

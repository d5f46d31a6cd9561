package main

import (
	"errors"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
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
	t.Helper()
	t.Chdir(t.TempDir())
	writeAll(t, "sub/lock.go", lockSource)
}

func writeAll(t *testing.T, namesAndTexts ...string) {
	t.Helper()
	for pair := range slices.Chunk(namesAndTexts, 2) {
		require.NoError(t, os.MkdirAll(path.Dir(pair[0]), 0o755))
		require.NoError(t, os.WriteFile(pair[0], []byte(pair[1]), 0o644))
	}
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
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

// said is what fails in the pictures of remade.
const said = "bob took the lock in the middle of alice's TryLock, but she got it as well: both are inside"

// remade is a page made anew, with its pictures, and what is wrong with it.
func remade(file, page string, outputs map[string]string) (string, map[string]string, string) {
	b := library{}
	b.set(file, page)
	made, wrong := b.regenerate(file, shown{red(said), func(command string) (string, error) { return outputs[command], nil }})
	return made[file], made, strings.Join(wrong, "\n")
}

func TestPage_IsMadeAnew(t *testing.T) {
	inRepository(t)
	writeAll(t, "sub/send.go", "package lock\n\nfunc send() {}\n", "sub/a_test.go", "package lock\n\nfunc TestA() {}\n")
	name := "Test_" + strings.Repeat("x", 35)
	long := "go run ./docs/tour red 6 " + strings.Repeat(name+" ", 3) + "TestLast"
	outputs := map[string]string{"go version": "one  \ntwo\n", long: "out\n"}
	for _, c := range []struct{ why, file, page, want string }{
		{"the command and its output", "a.md",
			"before\n<!-- run: go version -->\n```text\nold\n\nold\n```\nafter\n",
			"before\n<!-- run: go version -->\n```text\n$ go version\none\ntwo\n```\nafter\n"},
		{"a long command takes two lines", "a.md",
			"<!-- run: " + long + " -->\n```text\n```\n",
			"<!-- run: " + long + " -->\n```text\n$ go run ./docs/tour red 6 " + name + " \\\n    " + name + " " + name + " TestLast\nout\n```\n"},
		{"declarations of a file", "a.md",
			"<!-- code: sub/lock.go Lock.Lock ErrLost -->\n```go\n```\n",
			"<!-- code: sub/lock.go Lock.Lock ErrLost -->\n```go\n// Lock waits.\nfunc (l *Lock) Lock() {\n\tprintln(\"waits\")\n}\n\n" +
				"\tErrLost = errors.New(\"lost\")\n```\n"},
		{"declarations of a file and of another one next to it", "a.md",
			"<!-- code: sub/lock.go send ErrLost -->\n```go\n```\n",
			"<!-- code: sub/lock.go send ErrLost -->\n```go\nfunc send() {}\n\n\tErrLost = errors.New(\"lost\")\n```\n"},
		{"declarations of a folder", "a.md",
			"<!-- code: sub send ErrLost -->\n```go\n```\n",
			"<!-- code: sub send ErrLost -->\n```go\nfunc send() {}\n\n\tErrLost = errors.New(\"lost\")\n```\n"},
		{"the lines of links", "docs/a.md",
			"see [`Lock.Lock`](../sub/lock.go#L1), [`helper`](../sub/lock.go) and [`ErrLost`](../sub/lock.go#L99)",
			"see [`Lock.Lock`](../sub/lock.go#L14), [`helper`](../sub/lock.go#L18) and [`ErrLost`](../sub/lock.go#L7)"},
		{"a name in the title of a link", "sub/README.md", "[test](a_test.go \"TestA\") and [test](a_test.go#L9 \"TestA\")",
			"[test](a_test.go#L3 \"TestA\") and [test](a_test.go#L3 \"TestA\")"},
		{"other links", "docs/a.md", "[the lock](../sub/lock.go) and [`x`](https://example.com/a.go)", ""},
		{"a link in a block", "docs/a.md", "```md\n[`helper`](../sub/lock.go)\n```", ""},
		{"the line of a test in the lesson of its folder", "sub/README.md", "[`TestA`](a_test.go)", "[`TestA`](a_test.go#L3)"},
		{"elsewhere, no one keeps it right", "docs/a.md", "[`TestA`](../sub/a_test.go#L9)", "[`TestA`](../sub/a_test.go)"},
		{"a link follows its declaration", "docs/a.md",
			"[`send`](../sub/lock.go#L14), [`send`](../sub/gone.go) and [`Lock.Lock`](../sub/send.go#L3)",
			"[`send`](../sub/send.go#L3), [`send`](../sub/send.go#L3) and [`Lock.Lock`](../sub/lock.go#L14)"},
		{"in the same folder as well", "sub/README.md", "[`send`](lock.go)", "[`send`](send.go#L3)"},
	} {
		want := c.want
		if want == "" {
			want = c.page
		}
		got, _, wrong := remade(c.file, c.page, outputs)
		require.Empty(t, wrong, c.why)
		require.Equal(t, want, got, c.why)
		again, _, _ := remade(c.file, got, outputs)
		require.Equal(t, got, again, "a second run changes the page again: %s", c.why)
		require.Empty(t, form(c.file, got), c.why)
	}
}

func TestAPageThatCannotBeMade_SaysWhereAndWhy(t *testing.T) {
	inRepository(t)
	writeAll(t, "sub/send.go", "package lock\n\nfunc send() {}\n")
	outputs := map[string]string{"go version": "x\n", "go fence": "```\n"}
	for page, want := range map[string]string{
		"\n<!-- run: go version -->\n\n```\n```":                "a.md:2: no fenced block directly after <!-- run: go version -->",
		"```\nopen":                                             "a.md:1: the block has no closing ```",
		"<!-- run: go fence -->\n```\n```":                      "use a longer one",
		"<!-- code: sub/lock.go -->\n```\n```":                  "at least one name",
		"<!-- code: sub/lock.go Unlock -->\n```\n```":           "a.md:1: sub/lock.go: no declaration Unlock",
		"<!-- code: sub/none.go Unlock -->\n```\n```":           "none.go",
		"text\n[`Lock.Unlock`](sub/lock.go#L3) missing":         "a.md:2: ",
		"text\n[test](sub/lock.go \"TestNone\")":                "a.md:2: sub/lock.go: no declaration TestNone",
		"<!-- picture: late -->":                                "a.md:1: a picture needs a name, a title and a run",
		"<!-- picture: late | T | blue 4 TestX -->":             `a.md:1: "blue 4 TestX" is not a run`,
		"<!-- picture: late | T | red 4 -->":                    `"red 4" is not a run`,
		"<!-- picture: late | T | red 12 TestX -->":             "no such step: 12",
		"<!-- picture: late | T | red 4 TestX | until soon -->": "invalid duration",
	} {
		got, _, wrong := remade("a.md", page, outputs)
		require.Contains(t, wrong, want)
		require.Equal(t, page, got, "the page has lost something")
	}
}

func version(string) (string, error) { return "one\n", nil }

func TestCheck_FailsOnAStalePageAndLeavesItAlone(t *testing.T) {
	inRepository(t)
	page := "<!-- run: go run ./docs/tour red 4 -->\n```text\n```\n"
	writeAll(t, "README.md", page)
	message := "bob is inside\n"
	command := func(string) (string, error) { return message, nil }

	require.ErrorContains(t, run(nil, true, shown{print: command}), "README.md is stale: line 3\n  page: ```\n  code: $ go run ./docs/tour red 4")
	require.Equal(t, page, read(t, "README.md"), "a check wrote")

	require.NoError(t, run(nil, false, shown{print: command}))
	require.NoError(t, run(nil, true, shown{print: command}), "the page has just been made")

	message = "bob is outside\n"
	require.ErrorContains(t, run(nil, true, shown{print: command}), "page: bob is inside\n  code: bob is outside", "a message of the code changed, and the check passes")
}

func TestWithoutNames_TheProgramsThatWriteWholePagesRunToo(t *testing.T) {
	inRepository(t)
	writeAll(t, "README.md", "<!-- run: go version -->\n```text\n```\n")
	ran := make(chan string, 4)
	command := func(command string) (string, error) {
		ran <- command
		if strings.HasSuffix(command, " -check") {
			return "", errors.New(command + " says that its page is stale")
		}
		return "", nil
	}
	have := func(want ...string) {
		for range want {
			require.Contains(t, want, <-ran)
		}
		require.Empty(t, ran)
	}
	require.NoError(t, run(nil, false, shown{print: command}))
	have("go run ./docs/tour matrix", "go run ./docs/explore", "go version")

	err := run(nil, true, shown{print: command})
	require.ErrorContains(t, err, "go run ./docs/tour matrix -check says that its page is stale")
	require.ErrorContains(t, err, "go run ./docs/explore -check says that its page is stale", "one stale page hides the next one")
	have("go run ./docs/tour matrix -check", "go run ./docs/explore -check", "go version")

	require.NoError(t, run([]string{"README.md"}, true, shown{print: command}))
	have("go version")
}

func TestShell_RunsTheTourAndTheGoCommandOnly(t *testing.T) {
	inRepository(t)
	writeAll(t, "go.mod", "module "+course.Module+"\n\ngo 1.26\n", "docs/tour/main.go",
		"package main\n\nimport \"os\"\n\nfunc main() { print(`noise`); os.Stdout.WriteString(os.Args[1]); if len(os.Args) > 2 { os.Exit(1) } }\n")
	try := func(command string) error {
		writeAll(t, "README.md", "<!-- run: "+command+" -->\n```text\n```\n")
		return runHere(t.Context(), []string{"README.md"}, false)
	}
	require.NoError(t, try("go run ./docs/tour red"))
	require.Equal(t, "<!-- run: go run ./docs/tour red -->\n```text\n$ go run ./docs/tour red\nred\n```\n", read(t, "README.md"))
	require.ErrorContains(t, try("go run ./docs/tour red 4"), "README.md:1: ")
	require.ErrorContains(t, try("rm -rf /"), `"rm -rf /": a page runs only the go command`)
}

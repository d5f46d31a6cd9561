package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestForm(t *testing.T) {
	for _, file := range []string{"docs/read/matrix.md", "docs/read/a.zh-CN.md"} {
		require.Empty(t, form(file, strings.Repeat("x\n", maxLines+1)))
	}
	wide := strings.Repeat("ä", maxColumns)
	questions := asks + strings.Repeat("\nx", maxLines) + "\n" + questionsEnd + "\n"
	const nameless, summary = ".*a declaration's name in backticks", ".*GitHub shows the text after <summary> as Markdown only"
	for page, want := range map[string][]string{
		strings.Repeat("x\n", maxLines):                                          nil,
		"# A\n\nEnglish | [中文](a.zh-CN.md)\n" + strings.Repeat("\n", maxLines-1): nil,
		strings.Repeat("x\n", maxLines+1):                                        {" has 301 lines: 300 are enough"},
		questions + strings.Repeat("x\n", maxOwnLines-2):                         nil,
		questions + strings.Repeat("x\n", maxOwnLines-1):                         {" has 266 lines: 265 are enough"},
		"[`Lock`](lock.go#L3) [lock](lock.go) [a](https://example.com/a.go#L9)":  nil,
		"[the lock](lock.go#L3) [`Lock`](lock.go#lock)":                          {":1: " + nameless, ":1: " + nameless},
		wide + "!\n```go\n" + wide + "\n```\n" + wide + "!\n":                    nil,
		"````go\n```\n" + wide + "!\n````\n" + wide + "!\n   ```sh\n\t" + wide[6:] + "\n   ```\n": {
			":3: 101 columns in a block, 100 are enough", ":7: 101 columns in a block, 100 are enough"},

		"<details><summary>Hint</summary>\n\nAsk `Redis`.\n</details>\n":        nil,
		"   <details><summary>Hint</summary>\n\n   Ask `Redis`.\n   </details>": nil,
		"<details>\n<summary>Hint</summary>\n\nAsk `Redis`.\n</details>\n":      nil,
		"```html\n<summary>Hint</summary>Ask\n```\n":                            nil,
		"text\n<details><summary>Hint</summary>Ask `Redis`.</details>\n":        {":2: " + summary},
		"<details><summary>Hint</summary>\nAsk `Redis`.\n</details>\n":          {":1: " + summary},
		"<details><summary>Hint</summary>\n```go\n\n```\n</details>\n":          {":1: " + summary},
		"<details><summary>Hint": {":1: " + summary},
	} {
		wrong := form("docs/read/a.md", page)
		require.Len(t, wrong, len(want), page)
		for i := range want {
			require.Regexp(t, "^docs/read/a.md"+want[i], wrong[i], page)
		}
	}
}

func TestLesson_WhoReadsFromTheTopWritesBeforeHeSeesTheFix(t *testing.T) {
	const file = "step05_lua_release/README.md"
	good := read(t, "../../../"+file)
	words := strings.Repeat("word ", maxWords)
	tooLong, fix := `300 are enough before "Write it"`, `it gives the fix away before "Why"`
	for name, c := range map[string]struct{ old, now, want string }{
		"a block has no headings and no words": {"## See it fail\n", "## See it fail\n\n```text\n## Or\n" + words + "\n```\n", ""},
		"a picture has no words":               {"<img alt=\"", "<img alt=\"" + words, ""},
		"a link to a story":                    {"## Predict\n", "## Predict\n\n[a](5_atomic_release_test.go)\n", ""},
		"a link to the old lock":               {"## Predict\n", "## Predict\n\n[a](../step04_owner_token/lock.go)\n", ""},

		"a heading is missing":        {"## Questions\n", "", "its headings are"},
		"the fix before the writing":  {"## Why\n", "## Write it\n", "its headings are"},
		"too long before the writing": {"## Timeline\n", "## Timeline\n\n" + words, tooLong},
		"too long in a folded answer": {"Answer</summary>\n", "Answer</summary>\n\n" + words, tooLong},
		"too many pictures":           {"## Timeline\n", "## Timeline\n" + strings.Repeat("<!-- picture: b | B | red 5 TestX -->\n", maxPictures), `4 pictures before "Write it", 3 are enough`},
		"green output":                {"## See it fail\n", "## See it fail\n<!-- run: go run ./docs/tour green 5 TestX -->\n", fix},
		"a green picture of the old":  {"## Timeline\n", "## Timeline\n<!-- picture: a | A | green 4 TestX: well -->\n", ""},
		"a green picture":             {"## Timeline\n", "## Timeline\n<!-- picture: a | A | red 5 TestX | green 5 TestX: well -->\n", fix},
		"the diff":                    {"## Write it\n", "## Write it\n<!-- run: go run ./docs/tour diff 5 Lock.release -->\n", fix},
		"an excerpt":                  {"## Write it\n", "## Write it\n<!-- code: step05_lua_release/lock.go Lock.release -->\n", fix},
		"code":                        {"## Write it\n", "## Write it\n\n```go\nx := 1\n```\n", fix},
		"a script":                    {"## Predict\n", "## Predict\n\n   ```lua\n   return 1\n   ```\n", fix},
		"a link to the fix":           {"## Write it\n", "## Write it\n\n[it](../step05_lua_release/lock.go)\n", fix},
		"a link to another file":      {"## Write it\n", "## Write it\n\n[`once`](send.go#L21)\n", fix},
		"no spoiler line":             {spoiler, "Careful.", `"Write it" ends with the line`},
		"more after the spoiler line": {"## Why\n", "More.\n\n## Why\n", `"Write it" ends with the line`},
		"no question":                 {"?\n\n<details>", ".\n\n<details>", "asks one question"},
		"two questions":               {"## Predict\n", "## Predict\n\nWhat?\n", "asks one question"},
		"the answer is not folded":    {"<details><summary>Answer</summary>", "", "asks one question"},
		"no way to try":               {"tour try 5", "tour try 4", "go run ./docs/tour try 5"},
		"no way to a hint":            {"tour hint 5", "tour hint", "go run ./docs/tour hint 5"},
		"its own hint":                {"## Your turn\n", "## Your turn\n\n<details><summary>Hint 1</summary>\n\nAsk.\n</details>\n", "hints come from the command"},
	} {
		require.Contains(t, good, c.old, name)
		page := strings.Replace(good, c.old, c.now, 1)
		if c.want == "" {
			require.Empty(t, lessonForm(file, page), name)
			continue
		}
		require.Contains(t, strings.Join(form(file, page), "\n"), c.want, name)
		require.NotContains(t, strings.Join(form("docs/read/a.md", page), "\n"), c.want, "a rule of lessons for another page")
	}
}

func TestNames_ACommandNamesWhatThereIs(t *testing.T) {
	t.Chdir(t.TempDir())
	writeAll(t, "step04_owner_token/4_owner_test.go", "package lock\n\nfunc TestOwner(t *testing.T) {}\n",
		"step05_lua_release/5_script_test.go", "package lock\n\nfunc TestScript(t *testing.T) {}\n",
		"step04_owner_token/lock.go", "package lock\n\nfunc (l *Lock) owns() {}\n",
		"step05_lua_release/lock.go", "package lock\n\nvar script = 1\n",
		"step05_lua_release/send.go", "package lock\n\nfunc once() {}\n")
	for page, want := range map[string]string{
		"`red 5 TestScript`, `go run ./docs/tour green 5 TestScript/sub TestScript`": "",
		"`try 5`, `try 5 TestScript -watch`, `hint 5 TestScript`":                    "",
		"`diff 5 script Lock.owns owns once`, `red N TestY`, `redis-cli 5 TestY`":    "",
		"`go run ./docs/tour red 5 -json TestX` with any story":                      "",
		"```text\n$ go run ./docs/tour `red 5 TestGone`\n```":                        "",
		"`red 5 TestScript TestGone`":                                                "a.md: `red 5 TestScript TestGone`: no story TestGone in step05_lua_release",
		"`go run ./docs/tour green 5\nTestOwner`":                                    "no story TestOwner in step05_lua_release",
		"`try 4 TestScript`":   "no story TestScript in step04_owner_token",
		"`diff 5 script gone`": "no declaration gone in the lock of step 05 or the one before",
	} {
		wrong := wrongNames("a.md", page)
		if want == "" {
			require.Empty(t, wrong, page)
			continue
		}
		require.Contains(t, strings.Join(wrong, "\n"), want, page)
	}
}

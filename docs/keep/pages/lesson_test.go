package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

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
		"a green picture":             {"## Timeline\n", "## Timeline\n<!-- picture: a | A | red 5 TestX | green 5 TestX: well -->\n", fix},
		"the diff":                    {"## Write it\n", "## Write it\n<!-- run: go run ./docs/tour diff 5 Lock.release -->\n", fix},
		"an excerpt":                  {"## Write it\n", "## Write it\n<!-- code: step05_lua_release/lock.go Lock.release -->\n", fix},
		"code":                        {"## Write it\n", "## Write it\n\n```go\nx := 1\n```\n", fix},
		"a script":                    {"## Predict\n", "## Predict\n\n   ```lua\n   return 1\n   ```\n", fix},
		"a link to the fix":           {"## Write it\n", "## Write it\n\n[it](../step05_lua_release/lock.go)\n", fix},
		"a short link to the fix":     {"## Write it\n", "## Write it\n\n[`Lock.release`](lock.go#L161)\n", fix},
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

package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// goodLesson is a lesson of step 05, with what its rules look at.
const goodLesson = `# Step 05: a title

## The incident

It happened.

## Timeline

<!-- picture: a-red | A title | red 5 TestX -->
<picture><img alt="many words that do not count" src="../docs/read/pictures/a-red.svg"></picture>

## See it fail

<!-- run: go run ./docs/tour red 5 TestX -->
` + "```text\n## not a heading\nmany words that do not count\n```" + `

It is in [the story](5_atomic_release_test.go) and [` + "`Lock.release`" + `](../step04_owner_token/lock.go#L126).

## Predict

What if?

<details><summary>Answer</summary>

Why not? Nothing.
</details>

## Write it

` + "```sh\ngo run ./docs/tour try 5\ngo run ./docs/tour hint 5\n```" + `

` + spoiler + ` Read on when yours holds.

## Why

## The fix

<!-- run: go run ./docs/tour diff 5 -->
` + "```diff\n```" + `

[` + "`Lock.release`" + `](../step05_lua_release/lock.go#L161)

## See it hold

<!-- picture: a | A title | red 5 TestX | green 5 TestX -->

## Still broken

## Questions

## Your turn

## Copy it?

### Sources
`

func TestLesson_WhoReadsFromTheTopWritesBeforeHeSeesTheFix(t *testing.T) {
	const file = "step05_lua_release/README.md"
	require.Empty(t, form(file, goodLesson))

	insert := func(heading, text string) string {
		return strings.Replace(goodLesson, "## "+heading+"\n", "## "+heading+"\n\n"+text+"\n", 1)
	}
	words := strings.Repeat("word ", maxWords)
	pictures := strings.Repeat("<!-- picture: b | B | red 5 TestX -->\n", maxPictures)
	for name, c := range map[string]struct{ page, want string }{
		"a heading is missing":        {strings.Replace(goodLesson, "## Questions\n", "", 1), "its headings are"},
		"the fix before the writing":  {strings.Replace(strings.Replace(goodLesson, "## Why", "## Write", 1), "## Write it", "## Why", 1), "its headings are"},
		"too long before the writing": {insert("Timeline", words), `300 are enough before "Write it"`},
		"too long in a folded answer": {strings.Replace(goodLesson, "Nothing.", words, 1), `300 are enough before "Write it"`},
		"too many pictures":           {insert("Timeline", pictures), `4 pictures before "Write it", 3 are enough`},
		"green output":                {insert("See it fail", "<!-- run: go run ./docs/tour green 5 TestX -->\n```text\n```"), "gives the fix away"},
		"a green picture":             {insert("Timeline", "<!-- picture: a | A title | red 5 TestX | green 5 TestX: well -->"), "gives the fix away"},
		"the diff":                    {insert("Write it", "<!-- run: go run ./docs/tour diff 5 Lock.release -->\n```diff\n```"), "gives the fix away"},
		"an excerpt":                  {insert("Write it", "<!-- code: step05_lua_release/lock.go Lock.release -->\n```go\n```"), "gives the fix away"},
		"code":                        {insert("Write it", "```go\nx := 1\n```"), "gives the fix away"},
		"a script":                    {insert("Predict", "   ```lua\n   return 1\n   ```"), "gives the fix away"},
		"a link to the fix":           {insert("Write it", "[it](../step05_lua_release/lock.go)"), "gives the fix away"},
		"a short link to the fix":     {insert("Write it", "[`Lock.release`](lock.go#L161)"), "gives the fix away"},
		"a link to another file":      {insert("Write it", "[`once`](send.go#L21)"), "gives the fix away"},
		"no spoiler line":             {strings.Replace(goodLesson, spoiler, "Careful.", 1), `"Write it" ends with the line`},
		"more after the spoiler line": {strings.Replace(goodLesson, "## Why\n", "More.\n\n## Why\n", 1), `"Write it" ends with the line`},
		"no question":                 {strings.Replace(goodLesson, "What if?", "Think.", 1), "asks one question"},
		"two questions":               {strings.Replace(goodLesson, "What if?", "What if? And what then?", 1), "asks one question"},
		"the answer is not folded":    {strings.Replace(goodLesson, "<details><summary>Answer</summary>\n\nWhy not? Nothing.\n</details>", "Nothing.", 1), "asks one question"},
		"no way to try":               {strings.Replace(goodLesson, "tour try 5", "tour try 4", 1), "go run ./docs/tour try 5"},
		"no way to a hint":            {strings.Replace(goodLesson, "tour hint 5", "tour hint", 1), "go run ./docs/tour hint 5"},
		"its own hint":                {insert("Your turn", "<details><summary>Hint 1</summary>\n\nAsk.\n</details>"), "hints come from the command"},
	} {
		t.Run(name, func(t *testing.T) {
			wrong := form(file, c.page)
			require.NotEmpty(t, wrong)
			require.Contains(t, strings.Join(wrong, "\n"), c.want)
			require.Empty(t, form("docs/read/a.md", c.page), "a rule of lessons for another page")
		})
	}
}

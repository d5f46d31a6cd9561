package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestLesson_NothingGivesTheFixAwayAboveTheSpoilerLine(t *testing.T) {
	const file = "step05_lua_release/README.md"
	good := read(t, "../../../"+file)
	words := strings.Repeat("word ", maxWords)
	const fix = `it gives the fix away before "Why"`
	for _, c := range []struct{ old, now, want string }{
		{"## See it fail\n", "## See it fail\n\n```text\n## Or\n" + words + "\n```\n", ""},
		{"## Predict\n", "## Predict\n\n[a](5_atomic_release_test.go) [a](../step04_owner_token/lock.go)\n", ""},
		{"## Timeline\n", "## Timeline\n<!-- picture: a | A | green 4 TestX: well -->\n", ""},

		{"## See it fail\n", "## See it fail\n<!-- run: go run ./docs/tour green 5 TestX -->\n", fix},
		{"## Timeline\n", "## Timeline\n<!-- picture: a | A | red 5 TestX | green 5 TestX: well -->\n", fix},
		{"## Write it\n", "## Write it\n<!-- run: go run ./docs/tour diff 5 Lock.release -->\n", fix},
		{"## Write it\n", "## Write it\n<!-- code: step05_lua_release/lock.go Lock.release -->\n", fix},
		{"## Write it\n", "## Write it\n\n```go\nx := 1\n```\n", fix},
		{"## Predict\n", "## Predict\n\n   ```lua\n   return 1\n   ```\n", fix},
		{"## Write it\n", "## Write it\n\n[it](../step05_lua_release/lock.go)\n", fix},
		{"## Write it\n", "## Write it\n\n[`once`](send.go#L21)\n", fix},

		{"## Why\n", "## Because\n", `no "Write it" before "Why"`},
		{"## Timeline\n", "## Timeline\n\n" + words, `300 are enough before "Write it"`},
	} {
		require.Contains(t, good, c.old)
		wrong := strings.Join(form(file, strings.Replace(good, c.old, c.now, 1)), "\n")
		require.Contains(t, wrong, c.want, c.now)
		require.Equal(t, c.want == "", wrong == "", wrong)
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

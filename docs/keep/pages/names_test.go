package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNames_ACommandNamesWhatThereIs(t *testing.T) {
	t.Chdir(t.TempDir())
	for file, text := range map[string]string{
		"step04_owner_token/4_owner_test.go":  "package lock\n\nfunc TestOwner(t *testing.T) {}\n",
		"step05_lua_release/5_script_test.go": "package lock\n\nfunc TestScript(t *testing.T) {}\n",
		"step04_owner_token/lock.go":          "package lock\n\nfunc (l *Lock) owns() {}\n",
		"step05_lua_release/lock.go":          "package lock\n\nvar script = 1\n",
		"step05_lua_release/send.go":          "package lock\n\nfunc once() {}\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(t, os.WriteFile(filepath.FromSlash(file), []byte(text), 0o644))
	}
	for page, want := range map[string]string{
		"`red 5 TestScript`, `go run ./docs/tour green 5 TestScript/sub TestScript`": "",
		"`try 5`, `try 5 TestScript -watch`, `hint 5 TestScript 2`":                  "",
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

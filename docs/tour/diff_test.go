package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestUnified(t *testing.T) {
	old := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\n16\n"
	for _, tt := range []struct {
		name     string
		old, new string
		want     string
	}{
		{"equal", old, old, ""},
		{"equal but for the line ends", old, strings.ReplaceAll(old, "\n", "\r\n"), ""},
		{"both empty", "", "", ""},
		{"a line changed", old, strings.Replace(old, "\n8\n", "\neight\n", 1),
			"--- a|+++ b|@@ -5,7 +5,7 @@| 5| 6| 7|-8|+eight| 9| 10| 11"},
		{"at the start", old, "0\n" + old, "--- a|+++ b|@@ -1,3 +1,4 @@|+0| 1| 2| 3"},
		{"at the end", old, old + "17\n", "--- a|+++ b|@@ -14,3 +14,4 @@| 14| 15| 16|+17"},
		{"contexts touch: one hunk", old, strings.NewReplacer("\n4\n", "\nfour\n", "\n11\n", "\neleven\n").Replace(old),
			"--- a|+++ b|@@ -1,14 +1,14 @@| 1| 2| 3|-4|+four| 5| 6| 7| 8| 9| 10|-11|+eleven| 12| 13| 14"},
		{"contexts apart: two hunks", old, strings.NewReplacer("\n4\n", "\nfour\n", "\n12\n", "\n").Replace(old),
			"--- a|+++ b|@@ -1,7 +1,7 @@| 1| 2| 3|-4|+four| 5| 6| 7|@@ -9,7 +9,6 @@| 9| 10| 11|-12| 13| 14| 15"},
		{"from nothing", "", "x\ny\n", "--- a|+++ b|@@ -0,0 +1,2 @@|+x|+y"},
		{"to nothing", "x\n", "", "--- a|+++ b|@@ -1,1 +0,0 @@|-x"},
	} {
		if got := strings.Join(unified("a", "b", tt.old, tt.new), "|"); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

func TestDiff(t *testing.T) {
	root := inOwnMini(t)
	shows(t, "diff 3", 0, "--- step02_expire/lock.go\n+++ step03_atomic_set/lock.go\n@@ -1,6 +1,6 @@\n package redislock\n \n-const at = 2\n+const at = 3\n")
	shows(t, "diff fencing", 0, "-const at = 0\n+const at = 9\n")
	var out strings.Builder
	require.Zero(t, run(t.Context(), []string{"diff", "3", "at"}, console{out: &out, color: true}))
	require.Contains(t, out.String(), "\x1b[36m@@ -3,1 +3,1 @@\x1b[0m\n\x1b[31m-const at = 2\x1b[0m\n\x1b[32m+const at = 3\x1b[0m\n")
	require.NoError(t, os.Remove(root+"/step03_atomic_set/lock.go"))
	shows(t, "diff 3", 1, "there is no Go file in step03_atomic_set")
}

// A lock of several files: what is new has a heading, and what is a copy is not spoken of.
func TestDiff_SeveralFiles(t *testing.T) {
	root := inOwnMini(t)
	for name, text := range map[string]string{
		"step05_lua_release/send.go":  "package redislock\n\n// How a script is sent,\n// once.\n\nimport \"os\"\n\nfunc once() { os.Getpid() }\n",
		"step06_reentrant/send.go":    "package redislock\n\n// How a script is sent,\n// once.\n\nimport \"os\"\n\nfunc once() { os.Getpid() }\n",
		"step06_reentrant/waiting.go": "package redislock\n\nfunc wait() {}\n",
		"step07_watchdog/waiting.go":  "package redislock\n\nfunc wait() { wait() }\n",
	} {
		require.NoError(t, write(root+"/"+name, text))
	}
	out := shows(t, "diff 5", 0, "--- step04_owner_token/lock.go\n+++ step05_lua_release/lock.go\n", "+const at = 5\n",
		"\nsend.go is new, 8 lines: How a script is sent, once.\n\nTheir declarations, by name: go run ./docs/tour diff 5 NAME...\n")
	require.NotContains(t, out, "func once")
	out = shows(t, "diff 6", 0, "+const at = 6\n", "\nwaiting.go is new, 3 lines\n")
	require.NotContains(t, out, "send.go", "it is a copy")
	shows(t, "diff 7", 0, "\nwaiting.go has changed, 3 lines\n", "diff 7 NAME...")
	out = shows(t, "diff 4", 0, "+const at = 4\n")
	require.NotContains(t, out, "NAME", "that is all")

	shows(t, "diff 6 at wait once", 0, "--- step05_lua_release/lock.go\n+++ step06_reentrant/lock.go\n@@ -3,1 +3,1 @@\n-const at = 5\n+const at = 6\n"+
		"--- /dev/null\n+++ step06_reentrant/waiting.go\n@@ -0,0 +3,1 @@\n+func wait() {}\n"+
		"--- step05_lua_release/send.go\n+++ step06_reentrant/send.go\n@@ -8,1 +8,1 @@\n func once() { os.Getpid() }\n")
	shows(t, "diff 7 ErrLost", 0, "--- step06_reentrant/lock.go\n+++ step07_watchdog/lock.go\n@@ -0,0 +10,1 @@\n")
	shows(t, "diff 7 once wait", 0, "--- step06_reentrant/send.go\n+++ /dev/null\n@@ -8,1 +0,0 @@\n-func once() { os.Getpid() }\n"+
		"--- step06_reentrant/waiting.go\n+++ step07_watchdog/waiting.go\n@@ -3,1 +3,1 @@\n-func wait() {}\n+func wait() { wait() }\n")
	shows(t, "diff 6 nobody", 2, "no declaration nobody; there are: at, Lock, New, once, wait")
}

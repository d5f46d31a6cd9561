package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
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

// Whatever the diff, taking the one side gives the old text and the other the new one.
func TestEdits_KeepBothTexts(t *testing.T) {
	words := strings.Fields("a b a c b b a c a b c c a b")
	for i := range words {
		for j := range words {
			old, new := words[:i], words[j:]
			var gotOld, gotNew []string
			for _, e := range edits(old, new) {
				if e.op != '+' {
					gotOld = append(gotOld, e.text)
				}
				if e.op != '-' {
					gotNew = append(gotNew, e.text)
				}
			}
			if !slices.Equal(gotOld, old) || !slices.Equal(gotNew, new) {
				t.Fatal(fmt.Sprint(old, " to ", new, " gave ", gotOld, gotNew))
			}
		}
	}
}

func TestDiffColor(t *testing.T) {
	for line, want := range map[string]string{"--- a": bold, "+++ b": bold, "@@ -1,1 +1,1 @@": cyan, "-x": red, "+x": green, " x": ""} {
		if got := diffColor(line); got != want {
			t.Errorf("%q: colour %q, want %q", line, got, want)
		}
	}
}

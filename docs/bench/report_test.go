package main

import (
	"strings"
	"testing"
)

func TestTable(t *testing.T) {
	var p page
	p.table([]string{"lock", "a", "b"}, [][]string{{"step 05", "1", "2"}, {"redsync", "3", "4"}})
	want := "| lock | a | b |\n|---|---:|---:|\n| step 05 | 1 | 2 |\n| redsync | 3 | 4 |\n\n"
	if p.String() != want {
		t.Errorf("got\n%s\nwant\n%s", p.String(), want)
	}
}

func TestCodeBlocks(t *testing.T) {
	got := codeBlocks("text\n\n\tcd docs/bench\n\tgo run .\n\nmore\n")
	want := "text\n\n```sh\ncd docs/bench\ngo run .\n```\n\nmore\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWrap(t *testing.T) {
	word := strings.Repeat("x", 40)
	got := wrap(word+" "+word+"\n"+word+" "+word, "  ")
	want := word + " " + word + " " + word + "\n  " + word
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestBenchName_IsOneWord(t *testing.T) {
	if got := benchName("bsm/redislock + watchdog"); got != "bsm_redislock_+_watchdog" {
		t.Errorf("got %q", got)
	}
}

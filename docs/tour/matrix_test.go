package main

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
)

// cleanCells is the staircase, lock by lock; flip turns one cell over.
func cleanCells(flip ...[2]int) []cell {
	var list []cell
	for _, lock := range entries() {
		for _, g := range entries() {
			if lock.isEpilogue() && !g.isEpilogue() {
				continue
			}
			ok := lock.n >= g.n
			for _, f := range flip {
				if f == [2]int{g.n, lock.n} {
					ok = !ok
				}
			}
			list = append(list, cellOf(g, lock, ok))
		}
	}
	return list
}

func cellOf(g, lock step, ok bool) cell {
	v := failed
	if ok {
		v = passed
	}
	return cell{g, lock, []result{
		{story: story{name: "TestAlways"}, verdict: passed},
		{story: story{name: fmt.Sprintf("TestG%d", g.n)}, verdict: v, log: parseOutput(fmt.Sprintf(
			"=== RUN   TestG%[1]d\n    a_test.go:6: it is lost\n--- FAIL: TestG%[1]d (0.00s)\n", g.n))},
	}}
}

func TestStaircase(t *testing.T) {
	if err := staircase(cleanCells()); err != nil {
		t.Errorf("a clean staircase: %v", err)
	}
	for _, g := range entries() {
		for _, lock := range entries() {
			if lock.isEpilogue() && !g.isEpilogue() {
				continue
			}
			err := staircase(cleanCells([2]int{g.n, lock.n}))
			want := fmt.Sprintf("guarantee %d (%s) on the lock of step %02d should", g.n, g.file, lock.n)
			if g.isEpilogue() {
				want = fmt.Sprintf("the paused holder's late write on %s should", lock.subject())
			}
			if err == nil || !strings.HasPrefix(err.Error(), want) {
				t.Errorf("error %v, want %q", err, want)
			}
			if err != nil && strings.Count(err.Error(), "should") != 1 {
				t.Errorf("more than one cell: %v", err)
			}
		}
	}
}

func TestCellCheck_OnlyAssertionsCount(t *testing.T) {
	for _, tt := range []struct {
		r    result
		want string
	}{
		{resultOf(outPass, 0, false), ""},
		{resultOf(outAssertion, 1, false), ""},
		{resultOf(outPanic, 2, false), "panic: assignment"},
		{resultOf(outTimeout, 2, false), "timed out"},
		{resultOf(outSkip, 0, false), "skipped"},
		{resultOf(outNoTests, 0, false), "no test ran"},
		{resultOf(outBare, 1, false), "without an assertion"},
	} {
		c := cell{steps[5], steps[3], []result{resultOf(outAssertion, 1, false), tt.r}}
		err := c.check()
		if (err == nil) != (tt.want == "") || err != nil && !strings.Contains(err.Error(), tt.want) {
			t.Errorf("error %v, want %q", err, tt.want)
		}
		if err != nil && !strings.Contains(err.Error(), "matrix -guarantee 6 -step 4") {
			t.Errorf("error does not say how to reproduce it: %v", err)
		}
	}
}

func TestRenderMatrix(t *testing.T) {
	text := renderMatrix(cleanCells())
	for _, want := range []string{
		"| guarantee / step | [01](../step01_setnx) | [02](../step02_expire) |",
		"\n|---|---|---|---|---|---|---|---|---|---|---|\n",
		"| 1 `1_mutual_exclusion_test.go`: two clients never hold it at once" + strings.Repeat(" | holds", 8) + " | | `go run ./docs/tour matrix -guarantee 1` |\n",
		"| 3 `3_atomic_acquire_test.go`: dying at any point of acquiring blocks nobody beyond the ttl" +
			strings.Repeat(" | **fails**", 2) + strings.Repeat(" | holds", 6) + " | | `go run ./docs/tour matrix -guarantee 3` |\n",
		"| [paused holder's late write](fencing): the next owner works meanwhile, and the late write is refused" +
			strings.Repeat(" | **fails**", 8) + " | holds | `go run ./docs/tour matrix -guarantee fencing` |\n",
		"\n### The paused holder's late write\n\n- step 01: it is lost\n- step 02: it is lost\n",
		"\n### Guarantee 8 on step 07: 1 of 2 stories\n\n`go run ./docs/tour matrix -guarantee 8 -step 7`\n\n- `TestG8`\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("the page lacks %q:\n%s", want, text)
		}
	}
	if n := strings.Count(text, "\n### "); n != 28+1 {
		t.Errorf("%d failing cells have their stories listed, want 28 and the last row", n)
	}
	if strings.Contains(text, "`TestAlways`") {
		t.Error("a story that passed stands among the failing ones")
	}
	if text != renderMatrix(cleanCells()) {
		t.Error("the same cells gave two pages")
	}
	if text == renderMatrix(cleanCells([2]int{2, 1})) {
		t.Error("another cell gave the same page")
	}
}

func TestCompareMatrix(t *testing.T) {
	root := t.TempDir()
	tr := &tour{root: root}
	text := renderMatrix(cleanCells())
	if err := tr.compareMatrix(text); err == nil || !strings.Contains(err.Error(), "write it: go run ./docs/tour matrix") {
		t.Errorf("no file: %v", err)
	}
	for have, stale := range map[string]bool{
		text:                                   false,
		strings.ReplaceAll(text, "\n", "\r\n"): false,
		strings.Replace(text, "holds", "fails", 1): true,
		text + "\nmore\n":                          true,
	} {
		put(t, root, "docs", "matrix.md", have)
		err := tr.compareMatrix(text)
		if stale != (err != nil) || err != nil && !strings.Contains(err.Error(), "stale") {
			t.Errorf("stale is %v, error %v", stale, err)
		}
	}
}

func TestMatrixTable(t *testing.T) {
	var out bytes.Buffer
	tr := &tour{console: console{out: &out}}
	tr.matrixTable(cleanCells())
	if want := "2 2_crashed_holder_test.go        fails  holds  holds  holds  holds  holds  holds  holds\n"; !strings.Contains(out.String(), want) {
		t.Errorf("the table lacks %q:\n%s", want, out.String())
	}
}

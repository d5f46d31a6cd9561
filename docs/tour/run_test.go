package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestRedBuild(t *testing.T) {
	tr := tryCourse(t)
	for _, tt := range []struct {
		step int
		want map[string]string
	}{
		{1, map[string]string{
			"step01_setnx/lock.go":     "docs/step00_exists_set/lock.go",
			"step01_setnx/bug_test.go": "",
		}},
		{4, map[string]string{
			"step04_owner_token/lock.go":     "step03_atomic_set/lock.go",
			"step04_owner_token/new_test.go": "step03_atomic_set/new_test.go",
			"step04_owner_token/bug_test.go": "",
		}},
		{6, map[string]string{ // 6_waiting_test.go begins here and stays in
			"step06_reentrant/lock.go":     "step05_lua_release/lock.go",
			"step06_reentrant/new_test.go": "step05_lua_release/new_test.go",
			"step06_reentrant/bug_test.go": "",
		}},
		{7, map[string]string{
			"step07_watchdog/lock.go":         "step06_reentrant/lock.go",
			"step07_watchdog/new_test.go":     "step06_reentrant/new_test.go",
			"step07_watchdog/bug_test.go":     "",
			"step07_watchdog/7_lost_test.go":    "",
			"step07_watchdog/6_waiting_test.go": "",
		}},
		{8, map[string]string{
			"step08_redlock/lock.go":          "step07_watchdog/lock.go",
			"step08_redlock/new_test.go":      "step07_watchdog/new_test.go",
			"step08_redlock/bug_test.go":      "",
			"step08_redlock/7_lost_test.go":     "",
			"step08_redlock/8_validity_test.go": "",
		}},
	} {
		s := steps[tt.step-1]
		if got := overlayOf(t, tr, tr.redBuild(s)); !maps.Equal(got, tt.want) {
			t.Errorf("red %d replaces %v, want %v", tt.step, got, tt.want)
		}
	}
}

func TestLockBuild_OfTheMatrix(t *testing.T) {
	tr := tryCourse(t)
	want := map[string]string{
		"step08_redlock/lock.go":          "step02_expire/lock.go",
		"step08_redlock/new_test.go":      "step02_expire/new_test.go",
		"step08_redlock/bug_test.go":      "",
		"step08_redlock/7_lost_test.go":     "",
		"step08_redlock/8_validity_test.go": "",
	}
	if got := overlayOf(t, tr, tr.lockBuild(steps[7], steps[1])); !maps.Equal(got, want) {
		t.Errorf("replaces %v, want %v", got, want)
	}
}

// overlayOf returns the overlay with paths from the root.
func overlayOf(t *testing.T, tr *tour, b build) map[string]string {
	t.Helper()
	js, err := tr.overlay(b)
	if err != nil {
		t.Fatal(err)
	}
	var file struct{ Replace map[string]string }
	if err := json.Unmarshal(js, &file); err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for from, to := range file.Replace {
		got[rel(t, tr.root, from)] = rel(t, tr.root, to)
	}
	return got
}

func rel(t *testing.T, root, name string) string {
	t.Helper()
	if name == "" {
		return ""
	}
	name, err := filepath.Rel(root, name)
	if err != nil {
		t.Fatal(err)
	}
	return filepath.ToSlash(name)
}

func TestOverlay_NeedsTheLock(t *testing.T) {
	tr := tryCourse(t)
	remove(t, tr.root, "step03_atomic_set", lockFile)
	_, err := tr.overlay(tr.redBuild(steps[3]))
	if err == nil || !strings.Contains(err.Error(), "step03_atomic_set/lock.go is missing") {
		t.Errorf("error %v", err)
	}
}

func TestCompileError_ShowsTheCompilersWords(t *testing.T) {
	err := &compileError{"the tests of step 04 with the lock of step 03", "./x.go:1:2: undefined: y\r\n"}
	if got, want := err.Error(), "the tests of step 04 with the lock of step 03 did not compile:\n./x.go:1:2: undefined: y"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestClose_RemovesTheTemporaryFiles(t *testing.T) {
	inCourse(t)
	tr, ctx, err := newTour(t.Context(), console{})
	if err != nil {
		t.Fatal(err)
	}
	put(t, tr.tmp, "build-1", "story.test", "binary")
	tr.close()
	if ctx.Err() == nil {
		t.Error("compilers that still run were not told to end")
	}
	if _, err := os.Stat(tr.tmp); !os.IsNotExist(err) {
		t.Errorf("%v: the temporary directory is left", err)
	}
}

func TestProgress(t *testing.T) {
	var errs bytes.Buffer
	console{err: &errs}.progress("building x")()
	if got := errs.String(); got != "building x ...\n" {
		t.Errorf("plain: %q", got)
	}
	errs.Reset()
	stop := console{err: &errs, live: true}.progress("building x")
	stop()
	line := "building x ... 0s"
	if got, want := errs.String(), "\r"+line+"\r"+strings.Repeat(" ", len(line))+"\r"; got != want {
		t.Errorf("live: %q, want %q", got, want)
	}
}

func TestColor_OnlyWhenAsked(t *testing.T) {
	for _, tt := range []struct {
		color bool
		want  string
	}{{false, "x"}, {true, "\x1b[31mx\x1b[0m"}} {
		if got := (console{color: tt.color}).paint(red, "x"); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
	if got := (console{color: true}).paint("", "x"); got != "x" {
		t.Errorf("no colour: %q", got)
	}
}

func TestCut(t *testing.T) {
	list := strings.Fields("a b c d e f g")
	for limit, want := range map[int]string{all: "a b c d e f g", 7: "a b c d e f g", 4: "a b   ... 3 more lines ... f g"} {
		if got := strings.Join(cut(slices.Clone(list), limit), " "); got != want {
			t.Errorf("limit %d: %q, want %q", limit, got, want)
		}
	}
}

func TestFailure_ShowsTheFirstVariantAndCountsTheOthers(t *testing.T) {
	var out bytes.Buffer
	console{out: &out}.failure(resultOf(outVariants, 1, false), all)
	want := "  FAIL  TestA/two_of\n        timeline (virtual time):\n          2\n\n        two is lost\n\n" +
		"        (and 1 more failing variant of this story)\n\n"
	if got := out.String(); got != want {
		t.Errorf("printed\n%s\nwant\n%s", got, want)
	}
}

func TestSuccess_ShowsTheVariantThatFailedBefore(t *testing.T) {
	log := "=== RUN   TestA\n=== RUN   TestA/one\n    lab_test.go:6: timeline (virtual time):\n          1\n" +
		"=== RUN   TestA/two\n    lab_test.go:6: timeline (virtual time):\n          2\n" +
		"--- PASS: TestA (0.00s)\n    --- PASS: TestA/one (0.00s)\n    --- PASS: TestA/two (0.00s)\nPASS\n"
	for variant, want := range map[string]string{"TestA/two": "2", "TestA/gone": "1", "": "1"} {
		var out bytes.Buffer
		console{out: &out}.success(resultOf(log, 0, false), variant, all)
		if got := out.String(); got != "  ok    TestA\n        timeline (virtual time):\n          "+want+"\n\n" {
			t.Errorf("variant %q: printed\n%s", variant, got)
		}
	}
}

func TestCount(t *testing.T) {
	for want, got := range map[string]string{
		"1 story": count(1, "story"), "2 stories": count(2, "story"), "0 tests": count(0, "test"), "1 file": count(1, "file"),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestRedBuild_OfTheEpilogueHasAbsolutePaths(t *testing.T) {
	tr := &tour{root: t.TempDir()}
	put(t, tr.root, epilogue.dir, overlayFile, `{"Replace": {"check.go": "unfenced/check.go"}}`)
	want := map[string]string{"docs/fencing/check.go": "docs/fencing/unfenced/check.go"}
	if got := overlayOf(t, tr, tr.redBuild(epilogue)); !maps.Equal(got, want) {
		t.Errorf("red fencing replaces %v, want %v", got, want)
	}
	put(t, tr.root, epilogue.dir, overlayFile, "{")
	if _, err := tr.overlay(tr.redBuild(epilogue)); err == nil || !strings.Contains(err.Error(), "cannot read docs/fencing/unfenced/overlay.json") {
		t.Errorf("a broken overlay file: %v", err)
	}
}

package main

import (
	"bytes"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const (
	oldLock = `package redislock

import "errors"

// The errors.
var (
	// ErrA is the first.
	ErrA = errors.New("a")
	ErrB = errors.New("b") // the second
)

// Lock is a handle.
type Lock struct{}

// TryLock tries.
func (l *Lock) TryLock() error {
	return ErrA
}

func (l Lock) Same() {}

func (l Lock) Gone() {}
`
	newLock = `package redislock

import "errors"

// The errors.
var (
	// ErrA is the first.
	ErrA = errors.New("a")
	ErrB = errors.New("b") // the second

	// ErrC is new.
	ErrC = errors.New("c")
)

const x, y = 1, 2

var _ = x

// Lock is a handle.
type Lock struct{}

// TryLock tries
// twice.
func (l *Lock) TryLock() error {
	return ErrC
}

func (l Lock) Same() {}

type dog struct{}

func (d *dog) end() {}
func (l *Lock) end() {}
`
)

func TestDeclarationsOf(t *testing.T) {
	root := t.TempDir()
	put(t, root, "", "lock.go", strings.ReplaceAll(newLock, "\n", "\r\n"))
	list, err := declarationsOf(filepath.Join(root, "lock.go"))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, d := range list {
		got = append(got, d.name)
	}
	want := []string{"ErrA", "ErrB", "ErrC", "x", "y", "Lock", "Lock.TryLock", "Lock.Same", "dog", "dog.end", "Lock.end"}
	if !slices.Equal(got, want) {
		t.Errorf("names %q, want %q", got, want)
	}
	for name, want := range map[string]string{
		"ErrB":         "\tErrB = errors.New(\"b\") // the second",
		"ErrC":         "\t// ErrC is new.\n\tErrC = errors.New(\"c\")",
		"y":            "const x, y = 1, 2",
		"Lock":         "// Lock is a handle.\ntype Lock struct{}",
		"Lock.TryLock": "// TryLock tries\n// twice.\nfunc (l *Lock) TryLock() error {\n\treturn ErrC\n}",
	} {
		if got := strings.Join(find(list, name).text, "\n"); got != want {
			t.Errorf("%s is\n%s\nwant\n%s", name, got, want)
		}
	}
}

func TestNamedDiff(t *testing.T) {
	root := inCourse(t)
	put(t, root, steps[0].dir, lockFile, oldLock)
	put(t, root, steps[1].dir, lockFile, newLock)
	const head = "--- step01_setnx/lock.go\n+++ step02_expire/lock.go\n"
	for args, want := range map[string]string{
		"Same":      "@@ -20,1 +28,1 @@\n func (l Lock) Same() {}\n",
		"Lock.Gone": "@@ -22,1 +0,0 @@\n-func (l Lock) Gone() {}\n",
		"ErrC":      "@@ -0,0 +11,2 @@\n+\t// ErrC is new.\n+\tErrC = errors.New(\"c\")\n",
		"TryLock Lock": "@@ -15,4 +22,5 @@\n-// TryLock tries.\n+// TryLock tries\n+// twice.\n func (l *Lock) TryLock() error {\n" +
			"-\treturn ErrA\n+\treturn ErrC\n }\n@@ -12,2 +19,2 @@\n // Lock is a handle.\n type Lock struct{}\n",
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), append([]string{"diff", "2"}, strings.Fields(args)...), console{out: &out, err: &errs})
		if code != 0 || out.String() != head+want {
			t.Errorf("%s: exit %d %s\n%s\nwant\n%s", args, code, errs.String(), out.String(), head+want)
		}
	}
	for name, want := range map[string]string{
		"Nope":      "no declaration Nope; there are: ErrA, ErrB, ErrC, x, y, Lock, Lock.TryLock, Lock.Same, dog, dog.end, Lock.end, Lock.Gone\n",
		"Nope.Same": "no declaration Nope.Same",
		"end":       "end is more than one method: dog.end, Lock.end",
	} {
		var out, errs bytes.Buffer
		code := run(t.Context(), []string{"diff", "2", "Lock", name}, console{out: &out, err: &errs})
		if code != 2 || out.Len() > 0 || !strings.Contains(errs.String(), want) {
			t.Errorf("%s: exit %d, stdout %q, stderr %q, want %q", name, code, out.String(), errs.String(), want)
		}
	}
}

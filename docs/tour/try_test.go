package main

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// tourIn is a tour of the mini course, and what it prints.
func tourIn(t *testing.T) (*tour, *strings.Builder) {
	t.Helper()
	root, err := mini()
	require.NoError(t, err)
	var out strings.Builder
	return &tour{root: root, console: console{out: &out, err: &out}}, &out
}

func TestTry_TheConstructorDecides(t *testing.T) {
	tr, _ := tourIn(t)
	for _, tt := range []struct {
		name string
		step int
		src  string
		want string // the new_test.go used; "" is the step's own
		fail string
	}{
		{"step's own", 2, miniLock(2), "", ""},
		{"that of the step before", 2, miniLock(1), "step01_setnx/new_test.go", ""},
		{"equal to that before the course", 1, miniLock(0), "", ""},
		{"to many nodes", 8, miniLock(7), "step07_watchdog/new_test.go", ""},
		{"many nodes", 8, miniLock(8), "", ""},
		{"too new", 3, miniLock(8), "", "func New(rdb any, key string, ttl int) *Lock"},
		{"too old", 3, miniLock(1), "", "fits no test of step 03"},
		{"other names", 4, "package p\nfunc New(c any, name string, d int) *Lock { return nil }", "", ""},
		{"no New", 4, "package p\n", "", "no func New; step 04 has\n  func New("},
		{"a method New", 4, "package p\nfunc (l *Lock) New(c any, k string, d int) {}", "", "no func New"},
		{"a syntax error is for the compiler", 4, "package p\nfunc New(", "", ""},
	} {
		b, older, err := tr.tryBuild(course.Steps[tt.step-1], []byte(tt.src))
		if tt.fail != "" {
			require.ErrorContains(t, err, tt.fail, tt.name)
			continue
		}
		require.NoError(t, err, tt.name)
		require.Equal(t, tt.want, b.replace[course.NewFile], tt.name)
		require.Equal(t, tt.want != "", older, tt.name)
		require.Equal(t, myFile, b.replace[course.LockFile], tt.name)
	}
}

func TestTry_WhatTheLockLacksIsLeftOut(t *testing.T) {
	tr, _ := tourIn(t)
	own := []string{course.BugFile, course.ExhibitFile}
	for _, tt := range []struct {
		name string
		step int
		src  string
		out  []string // files left out beside the step's own
		need []string
	}{
		{"all of 7", 7, miniLock(7), nil, nil},
		{"nothing of 7", 7, miniLock(6), []string{"7_lost_test.go"}, []string{"7_lost_test.go needs Lost, ValidUntil, Do, MaxHold, ErrLost, ErrNotRun"}},
		{"Do is missing", 7, strings.Replace(miniLock(7), ") Do()", ") Undo()", 1), []string{"7_lost_test.go"}, []string{"7_lost_test.go needs Do"}},
		{"another type has it", 7, strings.Replace(miniLock(7), "(l *Lock) Do()", "(l *Other) Do()", 1), []string{"7_lost_test.go"}, []string{"7_lost_test.go needs Do"}},
		{"a function has its name", 7, strings.Replace(miniLock(7), "(l *Lock) Do()", "Do()", 1), []string{"7_lost_test.go"}, []string{"7_lost_test.go needs Do"}},
		{"a step that needs nothing", 3, miniLock(2), nil, nil},
		{"all of 8", 8, miniLock(8), nil, nil},
		{"7 at 8", 8, miniLock(7), []string{"8_validity_test.go"}, []string{"8_validity_test.go needs NodeTimeout"}},
	} {
		s := course.Steps[tt.step-1]
		b, _, err := tr.tryBuild(s, []byte(tt.src))
		require.NoError(t, err, tt.name)
		var out []string
		for file, by := range b.replace {
			if by == "" {
				out = append(out, file)
			}
		}
		require.ElementsMatch(t, slices.Concat(own, tt.out), out, tt.name)
		require.Equal(t, tt.need, missingAPI(s, []byte(tt.src)), tt.name)
	}
}

func TestTry(t *testing.T) {
	root := inOwnMini(t)
	mine := root + "/" + myFile
	shows(t, "try 7", 1, "mylock/lock.go is new: a copy of step06_reentrant/lock.go", "holds    6_waiting_test.go           3 of 3\n", "missing  7_watchdog_test.go          1 of 3",
		"Stories passed: 22 of 24.", "Missing next:\n\n  FAIL  TestLeadWatchdog/two_of", "the lock of 6 lacks what 7 has",
		"Step 07 is not complete: some of its tests cannot run yet.\n  7_lost_test.go needs Lost", "Change mylock/lock.go and run it again: go run ./docs/tour try 7", "not solved yet")
	text, err := os.ReadFile(mine)
	require.NoError(t, err)
	require.Equal(t, miniLock(6), string(text))

	require.NoError(t, os.WriteFile(mine, []byte(miniLock(7)), 0o666))
	out := shows(t, "try 7", 0, "Stories passed: 27 of 27", "Step 07 is solved. Compare with the course's own: go run ./docs/tour diff 7", "try 8")
	require.NotContains(t, out, "is new")

	require.NoError(t, os.WriteFile(mine, []byte(miniLock(7)+"\nvar x = y\n"), 0o666))
	shows(t, "try 7", 1, "mylock/lock.go does not compile with the tests of step 07:\nmylock/lock.go:", "undefined: y")
	require.NoError(t, os.WriteFile(mine, []byte(strings.Replace(miniLock(7), "at = 7", "at = 8", 1)), 0o666))
	shows(t, "try 8", 1, "New is still that of the step before; step 08 has\n  func New(nodes []any, key string, ttl int) *Lock")
	require.NoError(t, os.WriteFile(mine, []byte(miniLock(8)), 0o666))
	shows(t, "try 8", 0, "It was the last one.")
}

func TestCompilerText(t *testing.T) {
	const root = "/home/x/course"
	for out, want := range map[string]string{
		"# example.com/redislock-steps/step04_owner_token\n./step04_owner_token/lock.go:3:5: undefined: x\n": "mylock/lock.go:3:5: undefined: x",
		"step04_owner_token/lock.go:1:1: expected 'package'\nFAIL\tx [setup failed]\nFAIL\n":                 "mylock/lock.go:1:1: expected 'package'",
		".\\step04_owner_token\\lock.go:3:5: undefined: x\r\n":                                               "mylock/lock.go:3:5: undefined: x",
		root + "/step04_owner_token/lock.go:3:5: undefined: x\n":                                             "mylock/lock.go:3:5: undefined: x",
		"./step04_owner_token/lab_test.go:9:1: l.Unlock undefined\n":                                         "step04_owner_token/lab_test.go:9:1: l.Unlock undefined",
	} {
		require.Equal(t, want, compilerText(out, root, course.Steps[3]))
	}
}

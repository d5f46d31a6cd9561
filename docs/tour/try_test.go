package main

import (
	"bytes"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"
)

const (
	lockOf1 = "package redislock\n\nfunc New(rdb redis.UniversalClient, key string) *Lock { return nil }\n"
	lockOf2 = "package redislock\n\nfunc New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock { return nil }\n"
	lockOf8 = "package redislock\n\nfunc New(nodes []redis.UniversalClient, key string, ttl time.Duration) *Lock { return nil }\n"
)

// tryCourse is a repository whose locks have the constructors of the course.
func tryCourse(t *testing.T) *tour {
	t.Helper()
	root := t.TempDir()
	put(t, root, step0.dir, lockFile, lockOf1)
	for _, s := range steps {
		src := lockOf2
		switch s.n {
		case 1:
			src = lockOf1
		case 8:
			src = lockOf8
		}
		put(t, root, s.dir, lockFile, src)
		put(t, root, s.dir, newFile, "new")
		put(t, root, s.dir, bugFile, "bug")
	}
	put(t, root, "step06_reentrant", "6_waiting_test.go", "api")
	put(t, root, "step07_watchdog", "6_waiting_test.go", "api")
	put(t, root, "step07_watchdog", "7_lost_test.go", "api")
	put(t, root, "step08_redlock", "7_lost_test.go", "api")
	put(t, root, "step08_redlock", "8_validity_test.go", "api")
	return &tour{root: root, console: console{out: new(bytes.Buffer), err: new(bytes.Buffer)}}
}

func TestConstructor(t *testing.T) {
	tr := tryCourse(t)
	for _, tt := range []struct {
		name string
		step int
		src  string
		want string // the new_test.go used; "" is the step's own
		fail string
	}{
		{"step's own", 2, lockOf2, "", ""},
		{"that of the step before", 2, lockOf1, "step01_setnx/new_test.go", ""},
		{"equal to both", 5, lockOf2, "", ""},
		{"equal to that before the course", 1, lockOf1, "", ""},
		{"to many nodes", 8, lockOf2, "step07_watchdog/new_test.go", ""},
		{"many nodes", 8, lockOf8, "", ""},
		{"too new", 3, lockOf8, "", "func New(rdb redis.UniversalClient, key string, ttl time.Duration) *Lock"},
		{"too old", 3, lockOf1, "", "fits no test of step 03"},
		{"other names", 4, "package p\nfunc New(c redis.UniversalClient, name string, d time.Duration) *Lock { return nil }", "", ""},
		{"grouped", 4, "package p\nfunc New(c redis.UniversalClient, a, b string) *Lock { return nil }", "", "a, b string"},
		{"no New", 4, "package p\n", "", "no func New"},
		{"a method New", 4, "package p\nfunc (l *Lock) New(c redis.UniversalClient, k string, d time.Duration) {}", "", "no func New"},
		{"a syntax error is for the compiler", 4, "package p\nfunc New(", "", ""},
	} {
		b, older, err := tr.tryBuild(steps[tt.step-1], []byte(tt.src))
		if tt.fail != "" {
			if err == nil || !strings.Contains(err.Error(), tt.fail) {
				t.Errorf("%s: error %v, want %q", tt.name, err, tt.fail)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		if got := b.replace[newFile]; got != tt.want {
			t.Errorf("%s: new_test.go %q, want %q", tt.name, got, tt.want)
		}
		if older != (tt.want != "") {
			t.Errorf("%s: older is %v", tt.name, older)
		}
		if b.replace[lockFile] != myFile {
			t.Errorf("%s: lock.go %q", tt.name, b.replace[lockFile])
		}
		if by, out := b.replace[bugFile]; by != "" || !out {
			t.Errorf("%s: bug_test.go is in", tt.name)
		}
	}
}

func TestAPIFiles(t *testing.T) {
	const (
		fields7 = "type Lock struct {\n\tkey string\n\tMaxHold time.Duration\n}\nvar (\n\tErrNotHeld, ErrLost, ErrNotRun error\n)\n"
		fields8 = "type Lock struct { MaxHold, NodeTimeout time.Duration }\nvar ErrLost, ErrNotRun error\n"
		lost    = "func (l *Lock) Lost() <-chan struct{} { return nil }\n"
		do      = "func (l *Lock) Do() {}\n"
		valid   = "func (l Lock) ValidUntil() time.Time { return time.Time{} }\n"
		other   = "type Other struct { MaxHold int }\nfunc (o *Other) Lost() {}\nfunc Do() {}\n"
	)
	tr := tryCourse(t)
	for _, tt := range []struct {
		name string
		step int
		src  string
		out  []string // files left out
		need []string
	}{
		{"all of 7", 7, lockOf2 + fields7 + lost + do + valid, []string{bugFile, "8_validity_test.go"}, nil},
		{"nothing of 7", 7, lockOf2, []string{bugFile, "7_lost_test.go", "8_validity_test.go"},
			[]string{"7_lost_test.go needs Lost, ValidUntil, Do, MaxHold, ErrLost, ErrNotRun"}},
		{"Do is missing", 7, lockOf2 + fields7 + lost + valid, []string{bugFile, "7_lost_test.go", "8_validity_test.go"},
			[]string{"7_lost_test.go needs Do"}},
		{"another type has them", 7, lockOf2 + other, []string{bugFile, "7_lost_test.go", "8_validity_test.go"},
			[]string{"7_lost_test.go needs Lost, ValidUntil, Do, MaxHold, ErrLost, ErrNotRun"}},
		{"a step without API files", 3, lockOf2, []string{bugFile, "7_lost_test.go", "8_validity_test.go"}, nil},
		{"all of 8", 8, lockOf8 + fields8 + lost + do + valid, []string{bugFile}, nil},
		{"7 at 8", 8, lockOf2 + fields7 + lost + do + valid, []string{bugFile, "8_validity_test.go"},
			[]string{"8_validity_test.go needs NodeTimeout"}},
	} {
		s := steps[tt.step-1]
		b, _, err := tr.tryBuild(s, []byte(tt.src))
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var out []string
		for file, by := range b.replace {
			if by == "" {
				out = append(out, file)
			}
		}
		slices.Sort(out)
		if !slices.Equal(out, tt.out) {
			t.Errorf("%s: left out %q, want %q", tt.name, out, tt.out)
		}
		if got := missingAPI(s, []byte(tt.src)); !slices.Equal(got, tt.need) {
			t.Errorf("%s: missing %q, want %q", tt.name, got, tt.need)
		}
	}
}

func TestStartMyLock_NeverOverwrites(t *testing.T) {
	tr := tryCourse(t)
	if err := tr.startMyLock(steps[1]); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(tr.path("", myFile)); string(got) != lockOf1 {
		t.Errorf("%s is %q", myFile, got)
	}
	said := tr.out.(*bytes.Buffer)
	if want := "mylock/lock.go is new: a copy of step01_setnx/lock.go"; !strings.Contains(said.String(), want) {
		t.Errorf("said %q", said)
	}
	said.Reset()
	put(t, tr.root, myDir, lockFile, "mine")
	if err := tr.startMyLock(steps[4]); err != nil {
		t.Fatal(err)
	}
	if got, _ := os.ReadFile(tr.path("", myFile)); string(got) != "mine" {
		t.Errorf("%s was overwritten: %q", myFile, got)
	}
	if said.Len() > 0 {
		t.Errorf("said %q of an old file", said)
	}
}

func TestCompilerText(t *testing.T) {
	const root = "/home/x/course"
	for out, want := range map[string]string{
		"# example.com/redislock-steps/step04_owner_token\n./step04_owner_token/lock.go:3:5: undefined: x\n": "mylock/lock.go:3:5: undefined: x",
		"./mylock/lock.go:3:5: undefined: x\n":                                               "mylock/lock.go:3:5: undefined: x",
		"step04_owner_token/lock.go:1:1: expected 'package'\nFAIL\tx [setup failed]\nFAIL\n": "mylock/lock.go:1:1: expected 'package'",
		".\\step04_owner_token\\lock.go:3:5: undefined: x\r\n":                               "mylock/lock.go:3:5: undefined: x",
		root + "/step04_owner_token/lock.go:3:5: undefined: x\n":                             "mylock/lock.go:3:5: undefined: x",
		"./step04_owner_token/lab_test.go:9:1: l.Unlock undefined\n":                         "step04_owner_token/lab_test.go:9:1: l.Unlock undefined",
	} {
		if got := compilerText(out, root, steps[3]); got != want {
			t.Errorf("%q became %q, want %q", out, got, want)
		}
	}
}

func TestTryReport(t *testing.T) {
	tr := tryCourse(t)
	said := tr.out.(*bytes.Buffer)
	ok, bad := resultOf(outPass, 0, false), resultOf(outAssertion, 1, false)
	later := bad
	later.name = "TestLater"
	for _, tt := range []struct {
		name    string
		trials  []trial
		older   bool
		missing []string
		solved  bool
		want    []string
	}{
		{"all pass", []trial{{"a", []result{ok, ok}}}, false, nil, true,
			[]string{"Stories passed: 2 of 2", "Step 04 is solved", "try 5"}},
		{"the first failure speaks", []trial{{"a", []result{ok}}, {"b", []result{ok, bad}}, {"c", []result{later}}}, false, nil, false,
			[]string{"Stories passed: 2 of 4", "missing  b                          1 of 2", "Missing next:\n\n  FAIL  TestA", "while alice was in"}},
		{"a panic", []trial{{"a", []result{resultOf(outPanic, 2, false)}}}, false, nil, false,
			[]string{"Stories passed: 0 of 1", "ERROR TestA", "panic: assignment"}},
		{"a skip is not enough", []trial{{"a", []result{resultOf(outSkip, 0, false)}}}, false, nil, false,
			[]string{"Stories passed: 0 of 1", "skip  TestA"}},
		{"API is missing", []trial{{"a", []result{ok}}}, false, []string{"7_lost_test.go needs Do"}, false,
			[]string{"Stories passed: 1 of 1", "Step 04 is not complete", "7_lost_test.go needs Do"}},
		{"the old constructor", []trial{{"a", []result{ok}}}, true, nil, false,
			[]string{"New is still that of the step before", "ttl time.Duration) *Lock"}},
	} {
		said.Reset()
		err := tr.tryReport(steps[3], tt.trials, tt.older, tt.missing)
		if tt.solved != (err == nil) || !tt.solved && !errors.Is(err, errUnsolved) {
			t.Errorf("%s: error %v", tt.name, err)
		}
		out := said.String()
		for _, want := range tt.want {
			if !strings.Contains(out, want) {
				t.Errorf("%s: output lacks %q:\n%s", tt.name, want, out)
			}
		}
		if strings.Contains(out, "TestLater") || !tt.solved && strings.Contains(out, "solved") {
			t.Errorf("%s: output says too much:\n%s", tt.name, out)
		}
	}
}

func TestTryReport_TheLastStepHasNoNext(t *testing.T) {
	tr := tryCourse(t)
	if err := tr.tryReport(steps[7], []trial{{"a", []result{resultOf(outPass, 0, false)}}}, false, nil); err != nil {
		t.Error(err)
	}
	if out := tr.out.(*bytes.Buffer).String(); strings.Contains(out, "try 9") {
		t.Errorf("output names step 9:\n%s", out)
	}
}

func TestParseNew_TypesAlone(t *testing.T) {
	for decl, want := range map[string]string{
		"func New(a, b string, c int) *Lock": "string, string, int",
		"func New(string, string, int)":      "string, string, int",
		"func New() *Lock":                   "",
		"func New(nodes []redis.X, o ...*y)": "[]redis.X, ...*y",
	} {
		c, err := parseNew([]byte("package p\n\n" + decl + " { return nil }\n"))
		if err != nil || c.params != want || c.decl != decl {
			t.Errorf("%s: types %q, text %q, error %v", decl, c.params, c.decl, err)
		}
	}
}

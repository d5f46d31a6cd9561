package story

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/trace"
)

// A Verdict is what one run of a story says. Only Failed is red: everything below it says
// nothing about the lock.
type Verdict int

const (
	Passed   Verdict = iota
	Failed           // by its own assertion
	Skipped          // did not look
	Silent           // failed, but no assertion says why (t.Fail, a data race)
	TimedOut         // -test.timeout
	Crashed          // panic, deadlock, fatal error, or an exit in the middle
	NotRun           // the binary has no such test
)

// A Result is the verdict on one story and the run it was read from.
type Result struct {
	Story
	Verdict Verdict
	Detail  string // what was printed: of Skipped and Silent by the story, of a panic by Go
	Log     Transcript
}

// Records are what happened in the story, or in the variant (a subtest) that stands for all.
func (r Result) Records() []trace.Record {
	if r.Verdict == Failed {
		return r.Log.Failing(r.Name)[0].Records
	}
	if shown := r.Shown(""); shown != nil {
		return shown.Records
	}
	return nil
}

// Shown returns the test of the story whose timeline stands for all: the variant, or the
// first that has one.
func (r Result) Shown(variant string) *Test {
	if t := r.Log.Find(variant); t != nil && t.Timeline != "" {
		return t
	}
	for _, t := range r.Log.Tests {
		if Of(t.Name) == r.Name && t.Timeline != "" {
			return t
		}
	}
	return nil
}

// Of returns the name of the story that a variant (a subtest) belongs to.
func Of(variant string) string {
	name, _, _ := strings.Cut(variant, "/")
	return name
}

// A Transcript is what a run of a test binary has left.
type Transcript struct {
	Tests []*Test
	Raw   string // as go test -v would print it
	Exit  int
}

// A Test is one test or subtest.
type Test struct {
	Name     string
	Status   string // pass, fail, skip; empty if the process ended before
	Output   string
	Records  []trace.Record // what happened in its test harness
	Timeline string         // the same as text, without verdicts
	Verdicts []trace.Record // which of its assertions failed

	printed   strings.Builder // of output, until all is read
	artifacts string          // the folder for what its test harness leaves
}

// readEvents reads what test2json has written, and what the test harnesses have left.
func readEvents(events []byte, exit int) (Transcript, error) {
	tr := Transcript{Exit: exit}
	var raw strings.Builder
	for d := json.NewDecoder(bytes.NewReader(events)); d.More(); {
		var e struct{ Action, Test, Output, Path string }
		if err := d.Decode(&e); err != nil {
			return tr, err
		}
		if e.Action == "output" && !strings.HasPrefix(e.Output, "=== ARTIFACTS ") {
			// Without that line: its path is new in every run.
			raw.WriteString(strings.ReplaceAll(e.Output, "\r\n", "\n"))
		}
		t := tr.Find(e.Test)
		if t == nil {
			t = &Test{Name: e.Test}
			if e.Test != "" {
				tr.Tests = append(tr.Tests, t)
			}
		}
		switch e.Action {
		case "pass", "fail", "skip":
			t.Status = e.Action
		case "output":
			t.printed.WriteString(e.Output)
		case "artifacts":
			t.artifacts = e.Path
		}
	}
	tr.Raw = raw.String()
	for _, t := range tr.Tests {
		t.Output = t.printed.String()
		if err := t.readTrace(); err != nil {
			return tr, fmt.Errorf("%s: %w", t.Name, err)
		}
	}
	return tr, nil
}

// readTrace reads what the test harness of a test has left, if it had one. What was killed
// may have left half of it.
func (t *Test) readTrace() error {
	file := filepath.Join(t.artifacts, "trace.jsonl")
	info, err := os.Stat(file)
	if err != nil || t.artifacts == "" || info.Size() > longestTrace {
		return nil
	}
	if t.Records, err = trace.ReadStory(file); err != nil {
		if t.Status == "" {
			t.Records, err = nil, nil
		}
		return err
	}
	var rows []trace.Record
	for _, r := range t.Records {
		if r.Kind == trace.Verdict {
			t.Verdicts = append(t.Verdicts, r)
		} else {
			rows = append(rows, r)
		}
	}
	t.Timeline = trace.Text(rows)
	return nil
}

// longestTrace is more than any story leaves, in bytes. A lock that is broken may ask Redis
// without a pause for hours; no one reads that.
const longestTrace = 16 << 20

// Find returns the test of this name, or nil.
func (tr *Transcript) Find(name string) *Test {
	for _, t := range tr.Tests {
		if t.Name == name {
			return t
		}
	}
	return nil
}

// Judge says what the run means for the story.
func (tr Transcript) Judge(s Story) Result {
	r := Result{Story: s, Log: tr}
	t := tr.Find(s.Name)
	switch crash, _, _ := strings.Cut(strings.TrimSpace(tr.Crash()), "\n"); {
	case strings.HasPrefix(crash, "panic: test timed out"):
		r.Verdict, r.Detail = TimedOut, crash
	case crash != "":
		r.Verdict, r.Detail = Crashed, crash
	case tr.Exit != 0 && tr.Exit != 1: // testing itself ends with 0 or 1, a panic with 2
		r.Verdict = Crashed
	case t == nil:
		r.Verdict = NotRun
	case t.Status == "pass":
		r.Verdict = Passed
	case t.Status == "skip":
		r.Verdict, r.Detail = Skipped, t.Text()
	case t.Status == "fail":
		r.Verdict, r.Detail = tr.judgeFailure(s.Name)
	default:
		r.Verdict = Crashed // it ended before the test did
	}
	return r
}

// crashes is how a panic or a fatal error begins; a tab: during another panic or a Goexit.
var crashes = regexp.MustCompile(`(?m)^\t*(panic|fatal error): `)

// Crash returns the output from a panic or a fatal error on.
func (tr Transcript) Crash() string {
	at := crashes.FindStringIndex(tr.Raw)
	if at == nil || tr.Exit == 0 || tr.Exit == 1 {
		return ""
	}
	return tr.Raw[at[0]:]
}

// judgeFailure asks every failed test of the story, not its parents, for an assertion. If
// the race detector has failed it as well, the assertion may be the consequence of the
// race.
func (tr Transcript) judgeFailure(name string) (Verdict, string) {
	for _, t := range tr.Failing(name) {
		if !t.Asserts() || strings.Contains(t.Output, "race detected during execution of test") {
			return Silent, t.Text()
		}
	}
	return Failed, ""
}

// Failing returns the failed tests at or below name that have no failed test below them,
// or their own assertion: also one in which the process ended afterwards.
func (tr Transcript) Failing(name string) []*Test {
	var list []*Test
	for _, t := range tr.Tests {
		below := func(b *Test) bool { return b.Status == "fail" && strings.HasPrefix(b.Name, t.Name+"/") }
		if (t.Status == "fail" || t.Status == "" && t.Asserts()) && (t.Name == name || strings.HasPrefix(t.Name, name+"/")) &&
			(t.Asserts() || !slices.ContainsFunc(tr.Tests, below)) {
			list = append(list, t)
		}
	}
	return list
}

// Asserts reports whether an assertion of it has failed.
func (t *Test) Asserts() bool {
	return len(t.Verdicts) > 0 || trace.Testify(t.Output) != nil
}

// Message returns what the assertions of a failed test say, in the test harness or around it.
func (t *Test) Message() []string {
	var list []string
	if t.Verdicts == nil {
		for _, a := range trace.Testify(t.Output) {
			list = append(list, a.Message)
		}
	}
	for _, v := range t.Verdicts {
		list = append(list, strings.Split(v.Text, "\n")...)
	}
	return list
}

// Text is what a test has printed, without what package testing says around it.
func (t *Test) Text() string {
	var list []string
	for line := range strings.Lines(t.Output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			list = append(list, line)
		}
	}
	return strings.Join(list, "\n")
}

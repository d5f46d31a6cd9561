package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/trace"
)

// A story is one test of a step's folder.
type story struct {
	name    string
	file    string
	control bool // its comment says that it passes on the older lock as well
}

// storiesOf lists the tests of a file in their order. They may be none.
func (t *tour) storiesOf(dir, file string) ([]story, error) {
	list, err := source.Read(t.path(dir, file))
	if err != nil {
		return nil, errorf("cannot list the stories of %s/%s: %w", dir, file, err)
	}
	var stories []story
	for _, d := range list {
		if d.IsTest() {
			stories = append(stories, story{d.Name, file, course.HasAlsoPasses(d.Doc)})
		}
	}
	return stories, nil
}

// stories lists the tests of some files, each of which has at least one.
func (t *tour) stories(dir string, files []course.File) (all []story, err error) {
	for _, f := range files {
		list, err := t.storiesOf(dir, f.Name)
		if err == nil && list == nil && !course.IsSecond(f.Name) {
			err = errorf("no test ran: %s/%s has no story, no func Test...(t *testing.T) at its top level", dir, f.Name)
		}
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// A verdict is what one run of a story says. Only failed is red: everything below it says
// nothing about the lock.
type verdict int

const (
	passed   verdict = iota
	failed           // by its own assertion
	skipped          // did not look
	silent           // failed, but no assertion says why (t.Fail, a data race)
	timedOut         // -test.timeout
	crashed          // panic, deadlock, fatal error, or an exit in the middle
	notRun           // the binary has no such test
	leaked           // nothing failed, but a goroutine is left (try only)
	hung             // it did not end (try only)
	notYet           // it needs what the lock lacks (try only)
)

// A result is the verdict on one story and the run it was read from.
type result struct {
	story
	verdict verdict
	why     string // the reason, for all but passed and failed
	log     transcript
}

// A transcript is what a run of a test binary has left.
type transcript struct {
	tests []*test
	raw   string // as go test -v would print it
	exit  int
}

// A test is one test or subtest.
type test struct {
	name     string
	status   string // pass, fail, skip; empty if the process ended before
	output   string
	records  []trace.Record // what happened in its test harness
	timeline string         // the same as text, without verdicts
	verdicts []trace.Record // which of its assertions failed

	printed   strings.Builder // of output, until all is read
	artifacts string          // the folder for what its test harness leaves
}

// readEvents reads what test2json has written, and what the test harnesses have left.
func readEvents(events []byte, exit int) (transcript, error) {
	tr := transcript{exit: exit}
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
		t := tr.find(e.Test)
		if t == nil {
			t = &test{name: e.Test}
			if e.Test != "" {
				tr.tests = append(tr.tests, t)
			}
		}
		switch e.Action {
		case "pass", "fail", "skip":
			t.status = e.Action
		case "output":
			t.printed.WriteString(e.Output)
		case "artifacts":
			t.artifacts = e.Path
		}
	}
	tr.raw = raw.String()
	for _, t := range tr.tests {
		t.output = t.printed.String()
		if err := t.readTrace(); err != nil {
			return tr, fmt.Errorf("%s: %w", t.name, err)
		}
	}
	return tr, nil
}

// readTrace reads what the test harness of a test has left, if it had one. What was killed
// may have left half of it.
func (t *test) readTrace() error {
	file := filepath.Join(t.artifacts, "trace.jsonl")
	info, err := os.Stat(file)
	if err != nil || t.artifacts == "" || t.status == "" || info.Size() > longestTrace {
		return nil
	}
	if t.records, err = trace.ReadStory(file); err != nil {
		return err
	}
	var rows []trace.Record
	for _, r := range t.records {
		if r.Kind == trace.Verdict {
			t.verdicts = append(t.verdicts, r)
		} else {
			rows = append(rows, r)
		}
	}
	t.timeline = trace.Text(rows)
	return nil
}

// longestTrace is more than any story leaves, in bytes. A lock that is broken may ask Redis
// without a pause for hours; no one reads that.
const longestTrace = 1 << 20

func (tr *transcript) find(name string) *test {
	for _, t := range tr.tests {
		if t.name == name {
			return t
		}
	}
	return nil
}

// judge says what the run means for the story.
func (tr transcript) judge(s story) result {
	r := result{story: s, log: tr}
	t := tr.find(s.name)
	switch crash, _, _ := strings.Cut(strings.TrimSpace(tr.crash()), "\n"); {
	case strings.HasPrefix(crash, "panic: test timed out"):
		r.verdict, r.why = timedOut, crash
	case crash != "":
		r.verdict, r.why = crashed, crash
	case tr.exit != 0 && tr.exit != 1: // testing itself ends with 0 or 1, a panic with 2
		r.verdict, r.why = crashed, say("the test process ended with exit status %d", tr.exit)
	case t == nil:
		r.verdict, r.why = notRun, word("no test ran")
	case t.status == "pass":
		r.verdict = passed
	case t.status == "skip":
		r.verdict, r.why = skipped, say("skipped: %s", t.text())
	case t.status == "fail":
		r.verdict, r.why = tr.judgeFailure(s.name)
	default:
		r.verdict, r.why = crashed, word("the test process ended before the test did")
	}
	return r
}

// crashes is how a panic or a fatal error begins; a tab: during another panic or a Goexit.
var crashes = regexp.MustCompile(`(?m)^\t*(panic|fatal error): `)

// crash returns the output from a panic or a fatal error on.
func (tr transcript) crash() string {
	at := crashes.FindStringIndex(tr.raw)
	if at == nil || tr.exit == 0 || tr.exit == 1 {
		return ""
	}
	return tr.raw[at[0]:]
}

// judgeFailure asks every failed test of the story, not its parents, for an assertion. If
// the race detector has failed it as well, the assertion may be the consequence of the
// race.
func (tr transcript) judgeFailure(name string) (verdict, string) {
	for _, t := range tr.failing(name) {
		if !t.asserts() || strings.Contains(t.output, "race detected during execution of test") {
			return silent, strings.TrimSuffix(say("failed without an assertion: %s", t.text()), ": ")
		}
	}
	return failed, ""
}

// failing returns the failed tests at or below name that have no failed test below them,
// or their own assertion.
func (tr transcript) failing(name string) []*test {
	var list []*test
	for _, t := range tr.tests {
		below := func(b *test) bool { return b.status == "fail" && strings.HasPrefix(b.name, t.name+"/") }
		if t.status == "fail" && (t.name == name || strings.HasPrefix(t.name, name+"/")) &&
			(t.asserts() || !slices.ContainsFunc(tr.tests, below)) {
			list = append(list, t)
		}
	}
	return list
}

func (t *test) asserts() bool {
	return len(t.verdicts) > 0 || trace.Testify(t.output) != nil
}

// message returns what the assertions of a failed test say, in the test harness or around it.
func (t *test) message() []string {
	var list []string
	if t.verdicts == nil {
		for _, a := range trace.Testify(t.output) {
			list = append(list, a.Message)
		}
	}
	for _, v := range t.verdicts {
		list = append(list, strings.Split(v.Text, "\n")...)
	}
	return list
}

// outcome returns what was expected and what came, where it can be said so. A bare number
// does not say what it counts: the message does.
func (t *test) outcome() []string {
	var list []string
	for _, v := range t.verdicts {
		if _, err := strconv.Atoi(v.Wanted); err != nil && v.Wanted != "" {
			list = append(list, say("expected: %s   got: %s", v.Wanted, v.Got))
		}
	}
	return list
}

// text is what a test has printed, without what package testing says around it.
func (t *test) text() string {
	var list []string
	for line := range strings.Lines(t.output) {
		line = strings.TrimSpace(line)
		if line != "" && !strings.HasPrefix(line, "=== ") && !strings.HasPrefix(line, "--- ") {
			list = append(list, line)
		}
	}
	return strings.Join(list, "\n")
}

// held counts the stories that passed.
func held(results []result) (n int) {
	for _, r := range results {
		n += boolean(r.verdict == passed)
	}
	return n
}

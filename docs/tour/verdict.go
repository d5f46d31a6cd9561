package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A verdict is what one run of a story says. Only failed is red: everything below it says nothing about the lock.
type verdict int

const (
	passed   verdict = iota
	failed           // by an assertion of its own
	skipped          // did not look
	silent           // failed, but no assertion says why (t.Fail, a data race found by the race detector)
	timedOut         // -test.timeout
	crashed          // panic, deadlock, fatal error, or an exit in the middle
	notRun           // the binary has no such test
)

// A result is the verdict on one story and the output it was read from.
type result struct {
	story
	verdict verdict
	why     string // the reason, for all but passed and failed
	log     transcript
}

// A transcript is the output of a test binary under -test.v, taken apart.
type transcript struct {
	records []*record
	crash   string // the line of a panic or a fatal error
	raw     string
}

// A record is what one test or subtest printed.
type record struct {
	name   string
	status string // PASS, FAIL, SKIP; empty if the process ended before
	blocks []block
}

// A block is one t.Log or t.Error: its first line and those indented below it.
type block struct {
	file  string
	lines []string
}

var (
	startLine  = regexp.MustCompile(`^=== (?:RUN|CONT|NAME|PAUSE) +(\S+)$`)
	statusLine = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \(`)
	blockLine  = regexp.MustCompile(`^    ([^\s:]+\.go):\d+: (.*)$`)
	crashLine  = regexp.MustCompile(`^\t*(panic|fatal error): `) // a tab: while another panic or a Goexit was under way
)

const (
	blockIndent  = "        " // testing indents the further lines of a block so
	timelineHead = "timeline (virtual time):"
	timeoutHead  = "panic: test timed out"
)

// parseOutput reads the output of a test binary.
func parseOutput(out string) transcript {
	tr := transcript{raw: out}
	var cur *record
	open := false // the last line belonged to a block
	for line := range strings.Lines(out) {
		line = strings.TrimRight(line, "\r\n")
		if m := startLine.FindStringSubmatch(line); m != nil {
			cur, open = tr.record(m[1]), false
			continue
		}
		if m := statusLine.FindStringSubmatch(line); m != nil {
			tr.record(m[2]).status, open = m[1], false
			continue
		}
		if m := blockLine.FindStringSubmatch(line); m != nil && cur != nil {
			cur.blocks = append(cur.blocks, block{m[1], []string{m[2]}})
			open = true
			continue
		}
		if rest, ok := strings.CutPrefix(line, blockIndent); ok && open {
			b := &cur.blocks[len(cur.blocks)-1]
			b.lines = append(b.lines, rest)
			continue
		}
		open = false
		if tr.crash == "" && crashLine.MatchString(line) {
			tr.crash = strings.TrimSpace(line)
		}
	}
	return tr
}

// record returns the record of that name, a new one if there is none yet.
func (tr *transcript) record(name string) *record {
	if r := tr.find(name); r != nil {
		return r
	}
	r := &record{name: name}
	tr.records = append(tr.records, r)
	return r
}

func (tr *transcript) find(name string) *record {
	for _, r := range tr.records {
		if r.name == name {
			return r
		}
	}
	return nil
}

// judge says what a run that printed tr and ended with that exit status means for the story.
func judge(tr transcript, exit int, name string) (verdict, string) {
	switch {
	case strings.HasPrefix(tr.crash, timeoutHead):
		return timedOut, tr.crash
	case tr.crash != "":
		return crashed, tr.crash
	case exit != 0 && exit != 1: // testing itself ends with 0 or 1
		return crashed, fmt.Sprintf("the test process ended with exit status %d", exit)
	}
	r := tr.find(name)
	if r == nil {
		return notRun, "no test ran"
	}
	switch r.status {
	case "PASS":
		return passed, ""
	case "SKIP":
		return skipped, "skipped: " + r.lastText()
	case "FAIL":
		return judgeFailure(tr, name)
	}
	return crashed, "the test process ended before the test did"
}

// judgeFailure asks every failed test of the story, not its parents, for an assertion.
func judgeFailure(tr transcript, name string) (verdict, string) {
	for _, r := range tr.failedLeaves(name) {
		if len(r.messages()) > 0 && !slices.ContainsFunc(r.blocks, block.isRace) {
			continue
		}
		why := "failed without an assertion"
		if text := r.lastText(); text != "" {
			why += ": " + text
		}
		return silent, why
	}
	return failed, ""
}

// failedLeaves returns the failed tests at or below name that have no failed test below them.
// A parent with an assertion of its own counts as well.
func (tr *transcript) failedLeaves(name string) []*record {
	var leaves []*record
	for _, r := range tr.records {
		if r.status != "FAIL" || (r.name != name && !strings.HasPrefix(r.name, name+"/")) {
			continue
		}
		if !tr.failedBelow(r.name) || slices.ContainsFunc(r.blocks, block.isTestify) {
			leaves = append(leaves, r)
		}
	}
	return leaves
}

func (tr *transcript) failedBelow(name string) bool {
	return slices.ContainsFunc(tr.records, func(r *record) bool {
		return r.status == "FAIL" && strings.HasPrefix(r.name, name+"/")
	})
}

// timeline returns the last timeline of a test, its heading first: the one that a loop of several was at when it failed.
// Timelines on which nothing happened are none.
func (r *record) timeline() []string {
	for _, b := range slices.Backward(r.blocks) {
		if lines := trimBlank(b.lines); b.isTimeline() && len(lines) > 1 {
			return lines
		}
	}
	return nil
}

// messages returns what the assertions of a failed test say.
func (r *record) messages() []string {
	var list []string
	for _, b := range r.blocks {
		if b.isTestify() {
			list = append(list, b.message())
		}
	}
	if len(list) > 0 {
		return list
	}
	// What testing itself complains of is no assertion, and then a t.Log or t.Skip beside it is none either.
	if slices.ContainsFunc(r.blocks, block.isTesting) {
		return nil
	}
	// Without testify t.Log and t.Error print alike; the last block of a failed test is the best guess.
	if text := r.lastText(); text != "" {
		return []string{text}
	}
	return nil
}

func (r *record) lastText() string {
	for _, b := range slices.Backward(r.blocks) {
		if !b.isTimeline() {
			return strings.Join(b.lines, "\n")
		}
	}
	return ""
}

func (b block) isTimeline() bool {
	return strings.HasSuffix(strings.TrimSpace(b.lines[0]), timelineHead)
}

// isTesting reports whether package testing itself wrote the block.
func (b block) isTesting() bool {
	return b.file == "testing.go"
}

// isRace reports whether the race detector failed the test: then an assertion beside it may be its consequence.
func (b block) isRace() bool {
	return b.isTesting() && strings.Contains(b.lines[0], "race detected")
}

func (b block) isTestify() bool {
	return b.field("Error Trace") != ""
}

// message returns what the test says to the learner, or else what testify says.
func (b block) message() string {
	if m := b.field("Messages"); m != "" {
		return m
	}
	return b.field("Error")
}

// field returns the text of one label of testify's output:
//
//	<tab>Label:<spaces><tab>first line
//	<tab><spaces><tab>further lines
func (b block) field(label string) string {
	var text []string
	in := false
	for _, line := range b.lines {
		head, rest, ok := strings.Cut(strings.TrimPrefix(line, "\t"), "\t")
		if !ok {
			continue
		}
		if head := strings.TrimSpace(head); head != "" {
			in = head == label+":"
		}
		if in {
			text = append(text, rest)
		}
	}
	return strings.TrimSpace(strings.Join(text, "\n"))
}

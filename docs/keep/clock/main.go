// Command clock runs the tests of a package that go by the clock, while a meter runs as
// well. Its arguments are go test's. What failed while the machine stalled is played
// again, alone, at most twice; what failed while it did not has failed.
//
//	REALFAULTS=1 go run ./clock ./realfaults
package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"

	"example.com/redislock-steps/docs/internal/stall"
)

// A test is a test with its subtests, or one of these.
type test struct {
	name     string
	from, to time.Time
	result   string // pass, fail or skip; none if its process ended before
	output   string
	subtests []*test
}

func main() {
	if err := play(os.Args[1:], stall.Start(stall.Late)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func play(args []string, meter *stall.Meter) error {
	tests, err := run(args)
	for _, t := range tests {
		if !t.failed() {
			continue
		}
		fmt.Print(t.all())
		at := t.calmest(meter)
		again := err == nil && meter.Again(os.Stdout, t.name, at.from, at.to, func() bool { return playAlone(t.name, args) })
		if !again {
			return errors.Join(err, fmt.Errorf("%s failed", t.name))
		}
	}
	return err
}

func playAlone(name string, args []string) bool {
	tests, err := run(append([]string{"-run=^" + name + "$"}, args...))
	if err != nil || len(tests) != 1 {
		return false
	}
	if tests[0].failed() {
		fmt.Print(tests[0].all())
	}
	return tests[0].result == "pass"
}

// run runs go test. That tests failed is not an error, but that some did not end is one.
func run(args []string) (tests []*test, err error) {
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	tests = read(out)
	err = cmd.Wait()
	failed, ended := false, true
	for _, t := range tests {
		failed = failed || t.failed()
		ended = ended && t.result != ""
	}
	if failed && ended {
		err = nil
	}
	return tests, err
}

// read reads the events of go test -json. It prints what does not belong to a test.
func read(out io.Reader) (tests []*test) {
	known := map[string]*test{}
	for in := bufio.NewReader(out); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return tests
		}
		var e struct {
			Time                 time.Time
			Action, Test, Output string
		}
		if json.Unmarshal(line, &e) != nil {
			os.Stdout.Write(line)
			continue
		}
		if e.Test == "" {
			fmt.Print(e.Output)
			continue
		}
		t := known[e.Test]
		if t == nil {
			t = &test{name: e.Test, from: e.Time}
			known[e.Test] = t
			if over := known[e.Test[:max(0, strings.LastIndex(e.Test, "/"))]]; over != nil {
				over.subtests = append(over.subtests, t)
			} else {
				tests = append(tests, t)
			}
		}
		switch e.Action {
		case "output":
			t.output += e.Output
		case "cont": // until now it has waited for others
			t.from = e.Time
		case "pass", "fail", "skip":
			t.to, t.result = e.Time, e.Action
		}
	}
}

func (t *test) failed() bool { return t.result == "fail" }

// calmest is, of what failed by itself, that which met the least of a stall.
func (t *test) calmest(meter *stall.Meter) (least *test) {
	for _, sub := range t.subtests {
		if sub.failed() {
			at := sub.calmest(meter)
			if least == nil || meter.Worst(at.from, at.to) < meter.Worst(least.from, least.to) {
				least = at
			}
		}
	}
	return cmp.Or(least, t)
}

// all is what the test and its subtests have printed.
func (t *test) all() string {
	text := t.output
	for _, sub := range t.subtests {
		text += sub.all()
	}
	return text
}

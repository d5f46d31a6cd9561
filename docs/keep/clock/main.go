// Command clock runs the tests of a package that go by the clock, while a meter runs as
// well. Its arguments are go test's. What failed while the machine stalled is played
// again, alone, at most twice; what failed while it did not has failed.
//
//	REALFAULTS=1 go run ./clock ./realfaults
package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"example.com/redislock-steps/docs/internal/stall"
)

func main() {
	if err := play(os.Args[1:], stall.Start(stall.Late)); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

func play(args []string, meter *stall.Meter) error {
	failures, err := run(args)
	for _, f := range failures {
		top, _, _ := strings.Cut(f.name, "/")
		passes := func() bool {
			failures, err := run(append([]string{"-run=^" + top + "$"}, args...))
			return err == nil && len(failures) == 0
		}
		if err != nil || !meter.Again(os.Stdout, f.name, f.from, f.to, passes) {
			return errors.Join(err, fmt.Errorf("%s failed", f.name))
		}
	}
	return err
}

// A failure is a test or subtest that failed by itself.
type failure struct {
	name     string
	from, to time.Time
}

// run runs go test. It fails if a test did not end, and not if one failed.
func run(args []string) ([]failure, error) {
	cmd := exec.Command("go", append([]string{"test", "-json", "-count=1"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	failures, whole := read(out)
	if err = cmd.Wait(); whole && len(failures) > 0 {
		err = nil
	}
	return failures, err
}

// read reads the events of go test -json, and reports whether all tests have ended. It
// prints what those that failed have printed, and what belongs to no test.
func read(out io.Reader) (failures []failure, whole bool) {
	running := map[string]time.Time{} // since when
	printed := map[string]string{}    // by a test and its subtests
	for in := bufio.NewReader(out); ; {
		line, err := in.ReadBytes('\n')
		if err != nil {
			return failures, len(running) == 0
		}
		var e struct {
			Time                 time.Time
			Action, Test, Output string
		}
		if err := json.Unmarshal(line, &e); err != nil || e.Test == "" {
			fmt.Print(e.Output)
			continue
		}
		top, _, _ := strings.Cut(e.Test, "/")
		switch e.Action {
		case "run", "cont": // before cont it has waited for others
			running[e.Test] = e.Time
		case "output":
			printed[top] += e.Output
		case "fail":
			inside := func(f failure) bool { return strings.HasPrefix(f.name, e.Test+"/") }
			if !slices.ContainsFunc(failures, inside) {
				failures = append(failures, failure{e.Test, running[e.Test], e.Time})
			}
			if e.Test == top {
				fmt.Print(printed[top])
			}
			delete(running, e.Test)
		case "pass", "skip":
			delete(running, e.Test)
		}
	}
}

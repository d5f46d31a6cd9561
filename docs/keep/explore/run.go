package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	lua "github.com/yuin/gopher-lua"
	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// The bubbles of testing/synctest exist in tests only, so the program runs itself as a
// test: one process for each cell. That is also faster than one process for all.

// Half of the time would go into collecting garbage, and a tenth into clearing the stacks of
// miniredis's scripts, a new one for each; and in a bubble, one goroutine at a time runs.
func init() {
	debug.SetGCPercent(400)
	lua.RegistrySize, lua.CallStackSize = 256, 32
	runtime.GOMAXPROCS(1)
}

const childEnv = "REDISLOCK_EXPLORE_CHILD"

// program is what runs a job: this program, or another build of it with an own lock.
var program, _ = os.Executable()

// explore does a job in a separate process.
func (j job) explore() (c cell, err error) {
	js, err := json.Marshal(j)
	if err != nil {
		return c, err
	}
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childEnv+"=1")
	cmd.Stdin, cmd.Stderr = bytes.NewReader(js), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return c, fmt.Errorf("%v: the explorer broke: %w", j, err)
	}
	c.Job = j
	return c, json.Unmarshal(out, &c)
}

// child is what that process does.
func child() {
	var j job
	if err := json.NewDecoder(os.Stdin).Decode(&j); err != nil {
		panic(err)
	}
	os.Args = os.Args[:1]
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "explore", F: func(t *testing.T) {
		inLab(t, j.step(), j, func(l *lab) {
			json.NewEncoder(os.Stdout).Encode(l.cell())
			os.Exit(0)
		})
	}}}, nil, nil)
}

// exploreAll does jobs on all CPUs and prints the matrix as it becomes known.
func exploreAll(jobs []job) (cells []cell, err error) {
	start, total := time.Now(), 0
	results := make([]chan cell, len(jobs))
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i := range results {
		results[i] = make(chan cell, 1)
	}
	go func() {
		for i, j := range jobs {
			group.Go(func() error {
				c, err := j.explore()
				results[i] <- c
				return err
			})
		}
	}()
	for i, j := range jobs {
		if i == 0 || j.row() != jobs[i-1].row() {
			fmt.Printf("%-58s", j.row())
		}
		c := <-results[i]
		cells = append(cells, c)
		total += c.Schedules
		fmt.Printf(" %s:%-5s", j.column(), c.verdict())
		if i == len(jobs)-1 || j.row() != jobs[i+1].row() {
			fmt.Println()
		}
	}
	took := time.Since(start).Seconds()
	fmt.Printf("%d schedules in %.0f s, %.0f per second\n", total, took, float64(total)/took)
	return cells, group.Wait()
}

// The row and the column of a job in what is printed: a fault, and a step under it; or a lock of
// the bench, and an attack on it.
func (j job) row() string {
	if j.Design != "" {
		return j.lock()
	}
	return j.Title()
}

func (j job) column() string {
	if j.Design != "" {
		return j.Fault
	}
	return j.lock()
}

// verdict is letters, or how many schedules are green.
func (c cell) verdict() string {
	if c.Kinds == "" {
		return fmt.Sprint(c.Schedules)
	}
	return c.Kinds
}

// surprises compares what was found with what is expected.
func surprises(cells []cell) error {
	var list []string
	for _, c := range cells {
		if want := expected(c.Job).kinds; want != c.Kinds {
			list = append(list, fmt.Sprintf("%v: expected %q, found %q", c.Job, want, c.Kinds))
			for _, b := range c.Bad {
				list = append(list, fmt.Sprintf("  %s: go run ./docs/explore replay %s", b.Kinds, b.ID))
			}
		}
	}
	if list == nil {
		return nil
	}
	return errors.New(strings.Join(list, "\n"))
}

// useLock lets another build of this program run the jobs, in the folder temporary: in it
// the lock in dir is that of a step (go build -overlay).
func useLock(dir string, step int, temporary string) error {
	if step < 1 || step > 8 {
		return errors.New("-lock needs -step N, 1 to 8: the step whose lock yours replaces; New must have its parameters")
	}
	own, err1 := filepath.Abs(dir) // the go command runs in another folder
	theirs, err2 := filepath.Abs(course.Steps[step-1].Dir)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	replace, err := replaced(theirs, own)
	if err != nil {
		return err
	}
	overlay := filepath.Join(temporary, "overlay.json")
	js, err := json.Marshal(map[string]any{"Replace": replace})
	if err = cmp.Or(err, os.WriteFile(overlay, js, 0o666)); err != nil {
		return err
	}
	program = filepath.Join(temporary, "explore.exe")
	fmt.Printf("%s instead of the lock of step %02d\n", dir, step)
	build := exec.Command("go", "build", "-C", "docs/keep", "-buildvcs=false", "-overlay", overlay, "-o", program, "./explore")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	return build.Run()
}

// replaced is what the go command takes instead of the files of a step's lock: those in
// dir, or nothing.
func replaced(step, dir string) (map[string]string, error) {
	if _, err := os.Stat(filepath.Join(dir, course.LockFile)); err != nil {
		return nil, err
	}
	theirs, err := source.Files(step)
	if err != nil {
		return nil, err
	}
	own, err := source.Files(dir)
	if err != nil {
		return nil, err
	}
	replace := map[string]string{}
	for _, name := range theirs {
		replace[step+"/"+name] = ""
	}
	for _, name := range own {
		replace[step+"/"+name] = filepath.Join(dir, name)
	}
	return replace, nil
}

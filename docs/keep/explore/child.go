package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/keep/explore/internal/schedule"
	"example.com/redislock-steps/docs/keep/explore/internal/search"
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

const (
	childEnv = "REDISLOCK_EXPLORE_CHILD" // the ID of what a child plays
	allPaths = "*"                       // in it, instead of a path
)

// program is what explores: this program, or another build of it with an own lock.
var program, _ = os.Executable()

// inChild explores a cell in a separate process, or plays the schedule with that path.
func (c *cell) inChild(path string) error {
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childEnv+"="+c.String()+"/"+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%v: the explorer broke: %w", c, err)
	}
	return json.Unmarshal(out, &c.found)
}

// child is what that process does.
func child(id string) {
	c, path, err := parseID(id)
	if err != nil {
		panic(err)
	}
	os.Args = os.Args[:1]
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "explore", F: func(t *testing.T) {
		c.onStage(t, func(stage *schedule.Stage) {
			if path == allPaths {
				c.explore(stage)
			} else {
				c.Bad = []bad{{Trace: stage.Play(search.Follow(path)).Records}}
			}
			json.NewEncoder(os.Stdout).Encode(c.found)
			os.Exit(0)
		})
	}}}, nil, nil)
}

// exploreAll explores cells on all CPUs and prints each as it becomes known.
func exploreAll(cells []cell) error {
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i := range cells {
		group.Go(func() error {
			c := &cells[i]
			err := c.inChild(allPaths)
			if err == nil {
				fmt.Printf("%v: %s\n", c, c.verdict())
			}
			return err
		})
	}
	return group.Wait()
}

// useLock lets another build of this program explore, in the folder temporary: in it the
// lock in dir is that of a step (go build -overlay).
func useLock(dir string, step int, temporary string) error {
	if step < 1 || step > len(course.Steps) {
		return errors.New("-lock needs -step N, 1 to 8: the step whose lock yours replaces; New must have its parameters")
	}
	own, err1 := filepath.Abs(dir) // the go command runs in another folder
	theirs, err2 := filepath.Abs(course.Steps[step-1].Dir)
	ownFiles, err3 := source.Files(own)
	theirFiles, err4 := source.Files(theirs)
	if err := cmp.Or(err1, err2, err3, err4); err != nil {
		return err
	}
	replace := map[string]string{}
	for _, name := range theirFiles {
		replace[filepath.Join(theirs, name)] = "" // or its functions would be there twice
	}
	for _, name := range ownFiles {
		replace[filepath.Join(theirs, name)] = filepath.Join(own, name)
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

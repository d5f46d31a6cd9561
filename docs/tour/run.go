package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"time"
)

// A tour is one run of this program.
type tour struct {
	console
	root string // of the repository
	tmp  string // everything built goes here
	jobs sync.WaitGroup
	stop context.CancelFunc
}

// newTour makes the temporary directory; close removes it.
func newTour(ctx context.Context, c console) (*tour, context.Context, error) {
	root, err := findRoot()
	if err != nil {
		return nil, ctx, err
	}
	tmp, err := os.MkdirTemp("", "redislock-tour-")
	if err != nil {
		return nil, ctx, err
	}
	ctx, cancel := context.WithCancel(ctx)
	return &tour{console: c, root: root, tmp: tmp, stop: cancel}, ctx, nil
}

// close ends the compilers that still run, then removes what they wrote.
func (t *tour) close() {
	t.stop()
	t.jobs.Wait()
	os.RemoveAll(t.tmp)
}

// findRoot walks up from the working directory to the go.mod of this module.
func findRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for {
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		if err == nil && declaresModule(string(mod)) {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("no go.mod of module %s here or in a folder above: change into the repository and try again", modulePath)
		}
		dir = parent
	}
}

func declaresModule(mod string) bool {
	for line := range strings.Lines(mod) {
		f := strings.Fields(line)
		if len(f) >= 2 && f[0] == "module" {
			return f[1] == modulePath
		}
	}
	return false
}

// A build is the test binary of one step's folder, with some of its files replaced.
type build struct {
	dir     string
	name    string            // for progress and errors
	replace map[string]string // file of dir -> path from the root; "" leaves the file out
	overlay string            // a file that says the same, with paths from dir; "" is none
}

// greenBuild is a step as it is.
func greenBuild(s step) build {
	return build{dir: s.dir, name: "the tests of " + s.label()}
}

// redBuild is a step's tests with the lock before it. What needs the step's own API is left out.
// The epilogue's red side is in its own overlay file.
func (t *tour) redBuild(s step) build {
	if s.isEpilogue() {
		return build{dir: s.dir, name: "the stories of " + s.label() + " with " + unfenced.subject(), overlay: overlayFile}
	}
	return t.lockBuild(s, before(s))
}

// lockBuild is the guarantees of one step's folder with the lock of another step.
func (t *tour) lockBuild(tests, lock step) build {
	b := build{
		dir:     tests.dir,
		name:    fmt.Sprintf("the tests of %s with the lock %s", tests.label(), lock.of()),
		replace: map[string]string{lockFile: lock.dir + "/" + lockFile},
	}
	// The lock before the course has the constructor of step 1 and no new_test.go.
	if t.exists(lock.dir, newFile) {
		b.replace[newFile] = lock.dir + "/" + newFile
	}
	b.leaveOut(bugFile)
	for _, f := range besides {
		if f.needs != nil || f.from != tests.n {
			b.leaveOut(f.name)
		}
	}
	return b
}

func (b build) leaveOut(file string) {
	b.replace[file] = ""
}

// of is how messages name the owner of a lock.
func (s step) of() string {
	if s.n == 0 {
		return "from " + s.label()
	}
	return "of " + s.label()
}

func (t *tour) path(dir, file string) string {
	return filepath.Join(t.root, filepath.FromSlash(dir), filepath.FromSlash(file))
}

func (t *tour) exists(dir, file string) bool {
	_, err := os.Stat(t.path(dir, file))
	return err == nil
}

// overlay returns the file that the go command wants for -overlay.
// It leaves out only files that exist: the others need no leaving out.
func (t *tour) overlay(b build) ([]byte, error) {
	replace, err := t.ownOverlay(b)
	if err != nil {
		return nil, err
	}
	for file, by := range b.replace {
		switch {
		case by != "":
			replace[t.path(b.dir, file)] = t.path("", by)
			if !t.exists("", by) {
				return nil, fmt.Errorf("%s is missing: it is needed to build %s", by, b.name)
			}
		case t.exists(b.dir, file):
			replace[t.path(b.dir, file)] = ""
		}
	}
	return json.Marshal(map[string]any{"Replace": replace})
}

// ownOverlay reads the overlay file of a build. The go command takes relative paths as from where it runs; these are
// from the folder, so that the file can be used there by hand.
func (t *tour) ownOverlay(b build) (map[string]string, error) {
	replace := map[string]string{}
	if b.overlay == "" {
		return replace, nil
	}
	text, err := os.ReadFile(t.path(b.dir, b.overlay))
	if err != nil {
		return nil, err
	}
	var file struct{ Replace map[string]string }
	if err := json.Unmarshal(text, &file); err != nil {
		return nil, fmt.Errorf("cannot read %s/%s: %w", b.dir, b.overlay, err)
	}
	for name, by := range file.Replace {
		replace[t.path(b.dir, name)] = t.path(b.dir, by)
	}
	return replace, nil
}

// A binary is a compiled build.
type binary struct {
	path string
	dir  string // where its tests run
}

// A compileError holds what the go command printed.
type compileError struct {
	name string
	out  string
}

func (e *compileError) Error() string {
	return e.name + " did not compile:\n" + strings.TrimRight(e.out, "\r\n")
}

func (t *tour) compile(ctx context.Context, b build) (binary, error) {
	if !t.exists(b.dir, "") {
		return binary{}, fmt.Errorf("the folder %s is missing", b.dir)
	}
	js, err := t.overlay(b)
	if err != nil {
		return binary{}, err
	}
	dir, err := os.MkdirTemp(t.tmp, "build-")
	if err != nil {
		return binary{}, err
	}
	over := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(over, js, 0o666); err != nil {
		return binary{}, err
	}
	bin := binary{path: filepath.Join(dir, "story.test"), dir: t.path(b.dir, "")}
	if runtime.GOOS == "windows" {
		bin.path += ".exe"
	}
	// Without symbol tables the linker is done in about half the time; panics still name their lines.
	cmd := command(ctx, t.root, "go", "test", "-c", "-ldflags=-s -w", "-overlay", over, "-o", bin.path, "./"+b.dir)
	out, err := cmd.CombinedOutput()
	if ctx.Err() != nil {
		return binary{}, ctx.Err()
	}
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return binary{}, &compileError{b.name, string(out)}
	}
	if err != nil {
		return binary{}, fmt.Errorf("cannot run the go command, which this program needs on PATH: %w", err)
	}
	if _, err := os.Stat(bin.path); err != nil {
		return binary{}, fmt.Errorf("no test ran: %s has no test files", b.dir)
	}
	return bin, nil
}

// command is exec.CommandContext that does not wait for ever for the children of a killed process.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// A compiled is a binary under way.
type compiled struct {
	binary
	err error
}

// compileAhead compiles all builds in the background and in order, so that the next one is ready when the present one
// has been shown. The first goes alone, because with a cold cache it compiles the dependencies of all others.
func (t *tour) compileAhead(ctx context.Context, builds []build) []chan compiled {
	done := make([]chan compiled, len(builds))
	for i := range done {
		done[i] = make(chan compiled, 1)
	}
	next := make(chan int)
	work := func() {
		for i := range next {
			bin, err := t.compile(ctx, builds[i])
			done[i] <- compiled{bin, err}
		}
	}
	t.jobs.Go(func() {
		defer close(next)
		for i, b := range builds {
			if i == 0 {
				bin, err := t.compile(ctx, b)
				done[0] <- compiled{bin, err}
				t.jobs.Go(work)
				t.jobs.Go(work)
				continue
			}
			next <- i // after an interrupt each compile fails at once
		}
	})
	return done
}

// await shows progress until the binary is there.
func (t *tour) await(b build, done <-chan compiled) (binary, error) {
	select {
	case c := <-done:
		return c.binary, c.err
	default:
	}
	defer t.progress("building " + b.name)()
	c := <-done
	return c.binary, c.err
}

// build compiles one build now.
func (t *tour) build(ctx context.Context, b build) (binary, error) {
	return t.await(b, t.compileAhead(ctx, []build{b})[0])
}

// remove frees the disk; the binaries of a whole course would be some hundred megabytes.
func (bin binary) remove() {
	os.RemoveAll(filepath.Dir(bin.path))
}

// run runs the tests that match the pattern, all if it is empty, in one process.
func (bin binary) run(ctx context.Context, pattern string) (transcript, int, error) {
	cmd := command(ctx, bin.dir, bin.path, "-test.v", "-test.paniconexit0", "-test.timeout=60s", "-test.run="+pattern)
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out // one writer: exec then keeps the order of the two
	err := cmd.Run()
	if ctx.Err() != nil {
		return transcript{}, 0, ctx.Err()
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return transcript{}, 0, fmt.Errorf("cannot run the tests in %s: %w", filepath.Base(bin.dir), err)
	}
	return parseOutput(out.String()), cmd.ProcessState.ExitCode(), nil
}

// runEach runs every story in a process of its own: a panic in one does not hide the others.
func (bin binary) runEach(ctx context.Context, list []story) ([]result, error) {
	var results []result
	for _, s := range list {
		tr, exit, err := bin.run(ctx, pattern(s))
		if err != nil {
			return nil, err
		}
		v, why := judge(tr, exit, s.name)
		if v == passed && exit != 0 {
			v, why = crashed, fmt.Sprintf("the test passed, but its process ended with exit status %d", exit)
		}
		results = append(results, result{s, v, why, tr})
	}
	return results, nil
}

// runAll runs the stories in one process, and one by one if that process broke.
func (bin binary) runAll(ctx context.Context, list []story) ([]result, error) {
	tr, exit, err := bin.run(ctx, pattern(list...))
	if err != nil {
		return nil, err
	}
	var results []result
	for _, s := range list {
		v, why := judge(tr, exit, s.name)
		if v == timedOut || v == crashed {
			return bin.runEach(ctx, list)
		}
		results = append(results, result{s, v, why, tr})
	}
	return results, nil
}

func pattern(list ...story) string {
	var names []string
	for _, s := range list {
		names = append(names, regexp.QuoteMeta(s.name))
	}
	return "^(" + strings.Join(names, "|") + ")$"
}

package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// A tour is one run of this program.
type tour struct {
	console
	root string // of the repository
	tmp  string // everything built goes here
	jobs sync.WaitGroup
	stop context.CancelFunc

	watching bool // for the next save: no one has to run anything
}

// test2json is the path of the go command's reader of test output.
var test2json = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-n", "test2json").Output()
	return strings.TrimSpace(string(out)), err
})

// newTour makes the temporary directory; close removes it.
func newTour(ctx context.Context, c console) (*tour, context.Context, error) {
	root, err := course.Root()
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

// A build is the test binary of one step's folder, with some of its files replaced or added.
type build struct {
	dir     string
	name    string            // for progress and errors
	replace map[string]string // file of dir -> path from the root, or absolute; "" leaves it out
}

// greenBuild is a step as it is.
func greenBuild(s course.Step) build {
	return build{dir: s.Dir, name: say("the tests of %s", s.Label()), replace: map[string]string{}}
}

// redBuild is a step's tests with the lock before it. What needs the step's own API is left out.
// In the epilogue it is the resources that are replaced.
func (t *tour) redBuild(s course.Step) build {
	if s.IsEpilogue() {
		return build{
			dir:     s.Dir,
			name:    say("the stories of %s with %s", s.Label(), s.Before().Subject()),
			replace: map[string]string{s.Source: s.Before().Path()},
		}
	}
	return t.lockBuild(s, s.Before())
}

// lockBuild is the guarantees of one step's folder with the lock of another step.
func (t *tour) lockBuild(tests, lock course.Step) build {
	b := build{
		dir:     tests.Dir,
		name:    say("the tests of %s with the lock %s", tests.Label(), lock.Of()),
		replace: map[string]string{},
	}
	b.leaveOut(t.sources(tests.Dir)...)
	for _, file := range t.sources(lock.Dir) {
		b.replace[file] = lock.Dir + "/" + file
	}
	// The lock before the course has the constructor of step 1 and no new_test.go.
	if t.exists(lock.Dir, course.NewFile) {
		b.replace[course.NewFile] = lock.Dir + "/" + course.NewFile
	}
	b.leaveOut(course.NotAsked()...)
	for _, f := range course.Files() {
		if f.Needs != nil || f.To < course.Last.N && f.From != tests.N {
			b.leaveOut(f.Name)
		}
	}
	return b
}

// sources are the files of a lock. lock.go is always one, so that a build says when it is missing.
func (t *tour) sources(dir string) []string {
	names, _ := source.Files(t.path(dir, ""))
	if !slices.Contains(names, course.LockFile) {
		names = append(names, course.LockFile)
	}
	return names
}

func (b build) leaveOut(files ...string) {
	for _, file := range files {
		b.replace[file] = ""
	}
}

func (t *tour) path(dir, file string) string {
	return filepath.Join(t.root, filepath.FromSlash(dir), filepath.FromSlash(file))
}

func (t *tour) exists(dir, file string) bool {
	_, err := os.Stat(t.path(dir, file))
	return err == nil
}

// overlayOf returns what the go command replaces, by absolute paths. It leaves out only
// files that exist: the others need no leaving out.
func (t *tour) overlayOf(b build) map[string]string {
	replace := map[string]string{}
	for file, by := range b.replace {
		if by != "" && !filepath.IsAbs(by) {
			by = t.path("", by)
		}
		if by != "" || t.exists(b.dir, file) {
			replace[t.path(b.dir, file)] = by
		}
	}
	return replace
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
	return say("%s did not compile:\n%s", e.name, strings.TrimRight(e.out, "\r\n"))
}

func (t *tour) compile(ctx context.Context, b build) (binary, error) {
	dir, err := os.MkdirTemp(t.tmp, "build-")
	if err != nil {
		return binary{}, err
	}
	bin := binary{path: filepath.Join(dir, "story.test"), dir: t.path(b.dir, "")}
	if runtime.GOOS == "windows" {
		bin.path += ".exe"
	}
	out, err := buildOnce(ctx, t.root, b.dir, t.overlayOf(b), bin.path)
	if _, ok := errors.AsType[*exec.ExitError](err); ok {
		err = &compileError{b.name, string(out)}
	}
	return bin, cmp.Or(ctx.Err(), err)
}

// command is exec.CommandContext that does not wait forever for the children of a killed process.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// A coming is a build in progress.
type coming struct {
	name    string
	compile func() (binary, error) // once: who calls it next waits for it
}

// compileAhead compiles all builds in the background and in order, so that the next one
// is ready when the present one has been shown. The first goes alone, because with a cold
// cache it compiles the dependencies of all others.
func (t *tour) compileAhead(ctx context.Context, builds ...build) []coming {
	var list []coming
	for _, b := range builds {
		list = append(list, coming{b.name, sync.OnceValues(func() (binary, error) { return t.compile(ctx, b) })})
	}
	t.jobs.Go(func() {
		list[0].compile()
		var two errgroup.Group
		two.SetLimit(2)
		for _, c := range list[1:] { // after an interrupt each fails at once
			two.Go(func() error {
				c.compile()
				return nil
			})
		}
		two.Wait()
	})
	return list
}

// await shows progress until the binary is there.
func (t *tour) await(c coming) (binary, error) {
	defer t.progress(say("building %s", c.name))()
	return c.compile()
}

// build compiles one build now.
func (t *tour) build(ctx context.Context, b build) (binary, error) {
	return t.await(t.compileAhead(ctx, b)[0])
}

// playAll runs the stories when the binary is there.
func (t *tour) playAll(ctx context.Context, on coming, list []story) ([]result, error) {
	bin, err := t.await(on)
	if err != nil {
		return nil, err
	}
	defer bin.remove()
	return bin.runAll(ctx, list)
}

// remove frees the disk; the binaries of a whole course would be some hundred megabytes.
func (bin binary) remove() {
	os.RemoveAll(filepath.Dir(bin.path))
}

// How long a test binary may run. Virtual time takes none; on real servers a client works
// for a hundred ttl.
const (
	inVirtualTime = "60s"
	inRealTime    = "20m"
)

// run runs the stories in one process. env is added to the environment. What an interrupted
// run has left is returned with the error.
func (bin binary) run(ctx context.Context, timeout string, env []string, list ...story) (tr transcript, err error) {
	reader, err := test2json()
	if err != nil {
		return tr, err
	}
	artifacts, err := os.MkdirTemp(filepath.Dir(bin.path), "artifacts-")
	if err != nil {
		return tr, err
	}
	var names []string
	for _, s := range list {
		names = append(names, regexp.QuoteMeta(s.name))
	}
	cmd := command(ctx, bin.dir, bin.path, "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+timeout,
		"-test.artifacts", "-test.outputdir="+artifacts, "-test.run=^("+strings.Join(names, "|")+")$")
	cmd.Env = append(os.Environ(), env...)
	var out bytes.Buffer
	first := &head{&out, mostOutput}
	cmd.Stdout, cmd.Stderr = first, first // one writer: exec then keeps the order of the two
	err = cmd.Run()
	if _, ended := errors.AsType[*exec.ExitError](err); ended || err == nil {
		// Between the binary and here, so that the binary's own exit status is seen:
		// test2json's is 0 or 1.
		read := command(context.WithoutCancel(ctx), bin.dir, reader)
		read.Stdin = &out
		var events []byte
		if events, err = read.Output(); err == nil {
			tr, err = readEvents(events, cmd.ProcessState.ExitCode())
		}
	}
	return tr, cmp.Or(ctx.Err(), err)
}

// mostOutput is more than any story prints, in bytes. A process that dies with a million
// goroutines prints all of them.
const mostOutput = 4 << 20

// head keeps the first bytes that are written to it.
type head struct {
	io.Writer
	left int
}

func (h *head) Write(p []byte) (int, error) {
	n, err := h.Writer.Write(p[:min(len(p), h.left)])
	h.left -= n
	if err != nil {
		return n, err
	}
	return len(p), nil
}

// runAll runs the stories in one process, and one by one if that process broke.
func (bin binary) runAll(ctx context.Context, list []story) (results []result, err error) {
	tr, err := bin.run(ctx, inVirtualTime, nil, list...)
	if err != nil {
		return nil, err
	}
	broke := false
	for _, s := range list {
		r := tr.judge(s)
		results = append(results, r)
		broke = broke || r.verdict == timedOut || r.verdict == crashed
	}
	if !broke {
		return results, nil
	}
	for i, s := range list { // a panic in one does not hide the others
		if results[i], err = bin.runAlone(ctx, inVirtualTime, nil, s); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// runAlone runs one story in its own process.
func (bin binary) runAlone(ctx context.Context, timeout string, env []string, s story) (result, error) {
	tr, err := bin.run(ctx, timeout, env, s)
	return tr.judge(s), err
}

package story

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
	"slices"
	"strings"
	"sync"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// A Story is one test of a step's folder.
type Story struct {
	Name    string
	File    string
	Control bool // its comment says that it passes on the older lock as well
	Limits  bool // it sets MaxHold: otherwise a watchdog would renew the lock that it forgets
}

// Stories lists the tests of a file in their order. They may be none.
func (b *Builder) Stories(dir, file string) (stories []Story, err error) {
	list, err := source.Read(b.Path(b.Home(dir, file), file))
	for _, d := range list {
		if d.IsTest() {
			stories = append(stories, Story{d.Name, file, course.HasAlsoPasses(d.Doc), strings.Contains(d.Text, "limitHold(")})
		}
	}
	return stories, err
}

// Tests are all tests in a folder.
func (b *Builder) Tests(dir string) (all []Story, err error) {
	paths, err := filepath.Glob(b.Path(dir, "*_test.go"))
	for _, path := range append(paths, course.Second(dir)...) {
		list, wrong := b.Stories(dir, filepath.Base(path))
		all, err = append(all, list...), cmp.Or(err, wrong)
	}
	return all, err
}

// How long a test binary may run. Virtual time takes none; on real servers a client works
// for a hundred ttl.
const (
	InVirtualTime = "60s"
	InRealTime    = "20m"
)

// Play plays the stories in one process, and one by one if that process broke: a panic in one
// does not hide the others.
func (bin Binary) Play(ctx context.Context, list ...Story) (results []Result, err error) {
	log, err := bin.Run(ctx, InVirtualTime, nil, list...)
	if err != nil {
		return nil, err
	}
	broke := false
	for _, s := range list {
		r := log.Judge(s)
		results = append(results, r)
		broke = broke || r.Verdict == TimedOut || r.Verdict == Crashed
	}
	for i, s := range list {
		if !broke {
			break
		}
		if results[i], err = bin.Alone(ctx, InVirtualTime, nil, s); err != nil {
			return nil, err
		}
	}
	return results, nil
}

// Alone plays one story in its own process.
func (bin Binary) Alone(ctx context.Context, timeout string, env []string, s Story) (Result, error) {
	log, err := bin.Run(ctx, timeout, env, s)
	return log.Judge(s), err
}

// test2json is the path of the go command's reader of test output.
var test2json = sync.OnceValues(func() (string, error) {
	out, err := exec.Command("go", "tool", "-n", "test2json").Output()
	return strings.TrimSpace(string(out)), err
})

// Run runs the stories in one process. env is added to the environment. What an interrupted
// run has left is returned with the error.
func (bin Binary) Run(ctx context.Context, timeout string, env []string, list ...Story) (log Transcript, err error) {
	reader, err := test2json()
	if err != nil {
		return log, err
	}
	artifacts, err := os.MkdirTemp(filepath.Dir(bin.path), "artifacts-")
	if err != nil {
		return log, err
	}
	var names []string
	for _, s := range list {
		names = append(names, regexp.QuoteMeta(s.Name))
	}
	cmd := command(ctx, bin.dir, bin.path, "-test.v=test2json", "-test.paniconexit0", "-test.timeout="+timeout,
		"-test.artifacts", "-test.outputdir="+artifacts, "-test.run=^("+strings.Join(names, "|")+")$")
	cmd.Env = slices.Concat(os.Environ(), bin.Env, env)
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
			log, err = readEvents(events, cmd.ProcessState.ExitCode())
		}
	}
	return log, cmp.Or(ctx.Err(), err)
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

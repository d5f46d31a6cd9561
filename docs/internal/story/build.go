// Package story builds the tests of a step's folder with the lock of another one, plays them,
// and says of each how it ended and what happened in it. It prints nothing.
package story

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// A Builder compiles tests.
type Builder struct {
	Root  string // of the repository
	Tmp   string // everything built goes here
	built string // remembers binaries by their sources; "" is nowhere

	mu   sync.Mutex // one at a time copies files
	jobs sync.WaitGroup
	stop context.CancelFunc
}

// BuiltEnv names a folder that remembers what was built. Its users build the same few tests over
// and over: the tour's own tests, the pages, CI.
const BuiltEnv = "TOUR_BUILT"

// NewBuilder makes a temporary directory; Close removes it. The context that it returns ends
// with Close.
func NewBuilder(ctx context.Context) (*Builder, context.Context, error) {
	root, err := course.Root()
	if err != nil {
		return nil, ctx, err
	}
	// As the go command: where a company lets nothing run from the usual folder, this one is set.
	tmp, err := os.MkdirTemp(os.Getenv("GOTMPDIR"), "redislock-tour-")
	if err != nil {
		return nil, ctx, err
	}
	ctx, cancel := context.WithCancel(ctx)
	return &Builder{Root: root, Tmp: tmp, built: os.Getenv(BuiltEnv), stop: cancel}, ctx, nil
}

// Close ends the compilers that still run, then removes what they wrote.
func (b *Builder) Close() {
	b.stop()
	b.jobs.Wait()
	os.RemoveAll(b.Tmp)
}

// Path is where a file of a folder is, both relative to the root.
func (b *Builder) Path(dir, file string) string {
	return filepath.Join(b.Root, filepath.FromSlash(dir), filepath.FromSlash(file))
}

// Exists reports whether a folder has this file.
func (b *Builder) Exists(dir, file string) bool {
	_, err := os.Stat(b.Path(dir, file))
	return err == nil
}

// Sources are the files of a lock. lock.go is always one, so that a build says when it is missing.
func (b *Builder) Sources(dir string) []string {
	names, _ := source.Files(b.Path(dir, ""))
	if !slices.Contains(names, course.LockFile) {
		names = append(names, course.LockFile)
	}
	return names
}

// A Build is the test binary of one step's folder, with some of its files replaced or added.
type Build struct {
	Dir     string
	Name    string            // for progress and errors
	Replace map[string]string // file of Dir -> path from the root, or absolute; "" leaves it out
}

// Green is a step as it is.
func Green(s course.Step) Build { return Build{Dir: s.Dir, Replace: map[string]string{}} }

// Red is a step's tests with the lock before it. What needs the step's own API is left out.
// In the epilogue it is the resources that are replaced.
func (b *Builder) Red(s course.Step) Build {
	if s.IsEpilogue() {
		return Build{Dir: s.Dir, Replace: map[string]string{s.Source: s.Before().Path()}}
	}
	return b.WithLock(s, s.Before())
}

// WithLock is the guarantees of one step's folder with the lock of another step.
func (b *Builder) WithLock(tests, lock course.Step) Build {
	of := Green(tests)
	of.LeaveOut(b.Sources(tests.Dir)...)
	for _, file := range b.Sources(lock.Dir) {
		of.Replace[file] = lock.Dir + "/" + file
	}
	// The lock before the course has the constructor of step 1 and no new_test.go.
	if b.Exists(lock.Dir, course.NewFile) {
		of.Replace[course.NewFile] = lock.Dir + "/" + course.NewFile
	}
	of.LeaveOut(course.NotAsked()...)
	for _, f := range course.Files() {
		if f.Needs != nil || f.To < course.Last.N && f.From != tests.N {
			of.LeaveOut(f.Name)
		}
	}
	return of
}

// LeaveOut leaves files of the folder out, if they are there.
func (of Build) LeaveOut(files ...string) {
	for _, file := range files {
		of.Replace[file] = ""
	}
}

// Overlay returns what the go command replaces, by absolute paths. It leaves out only
// files that exist: the others need no leaving out.
func (b *Builder) Overlay(of Build) map[string]string {
	replace := map[string]string{}
	for file, by := range of.Replace {
		if by != "" && !filepath.IsAbs(by) {
			by = b.Path("", by)
		}
		if by != "" || b.Exists(of.Dir, file) {
			replace[b.Path(of.Dir, file)] = by
		}
	}
	for file, by := range b.second(of.Dir) {
		if _, other := of.Replace[file]; !other {
			replace[b.Path(of.Dir, file)] = by
		}
	}
	return replace
}

// second is what is laid over a step's folder for its second reading, by the file's name there.
func (b *Builder) second(dir string) map[string]string {
	files := map[string]string{}
	for _, file := range course.Second(dir) {
		if b.Exists(course.SecondDir, file) {
			files[file] = b.lined(b.Path(course.SecondDir, file))
			files[course.HereFile] = b.Path(b.Home("", course.HereFile), course.HereFile)
		}
	}
	return files
}

// lined returns a copy of a file whose failures name the file itself.
func (b *Builder) lined(file string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	copied := filepath.Join(b.Tmp, filepath.Base(file))
	if _, err := os.Stat(copied); err == nil {
		return copied
	}
	text, err := os.ReadFile(file)
	if err == nil {
		err = os.WriteFile(copied, fmt.Appendf(nil, "//line %s:1\n%s", file, text), 0o666)
	}
	if err != nil {
		return file
	}
	return copied
}

// Home is the folder of a file of a step's tests.
func (b *Builder) Home(dir, file string) string {
	switch {
	case file == course.HereFile:
		return course.SecondDir + "/testdata"
	case course.IsSecond(file) && !b.Exists(dir, file):
		return course.SecondDir
	}
	return dir
}

// A Binary is a compiled build.
type Binary struct {
	Env []string // of its tests, besides that of this process

	path string
	dir  string // where its tests run
}

// Remove frees the disk; the binaries of a whole course would be some hundred megabytes.
func (bin Binary) Remove() { os.RemoveAll(filepath.Dir(bin.path)) }

// A CompileError holds what the go command printed.
type CompileError struct{ Out string }

func (e *CompileError) Error() string { return e.Out }

// Compile builds the tests, or takes them from where the builder remembers them. What does not
// compile is a CompileError, and not remembered.
func (b *Builder) Compile(ctx context.Context, of Build) (bin Binary, err error) {
	dir, err := os.MkdirTemp(b.Tmp, "build-")
	if err != nil {
		return bin, err
	}
	bin = Binary{path: filepath.Join(dir, "story.test"), dir: b.Path(of.Dir, "")}
	if runtime.GOOS == "windows" {
		bin.path += ".exe"
	}
	replace, remembered := b.Overlay(of), ""
	js, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return bin, err
	}
	overlay := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlay, js, 0o666); err != nil {
		return bin, err
	}
	if b.built != "" {
		hash, err := b.hash(of)
		if err != nil {
			return bin, err
		}
		if remembered = filepath.Join(b.built, hash); os.Link(remembered, bin.path) == nil {
			return bin, nil
		}
	}
	// Without optimization the compiler needs a third less time, without symbol tables the
	// linker half, and with more garbage both a tenth less; panics still name their lines.
	// go test ./... has vetted the stories.
	cmd := command(ctx, b.Root, "go", "test", "-c", "-vet=off", "-gcflags=-N -l -dwarf=false", "-ldflags=-s -w",
		"-overlay", overlay, "-o", bin.path, "./"+of.Dir)
	cmd.Env = append(os.Environ(), "GOGC=400")
	out, err := cmd.CombinedOutput()
	_, ended := errors.AsType[*exec.ExitError](err)
	switch {
	case ctx.Err() != nil:
		return bin, ctx.Err()
	case ended:
		return bin, &CompileError{strings.TrimRight(string(out), "\r\n")}
	case err == nil && remembered != "":
		os.Link(bin.path, remembered) // there is none if there are no tests, or another was faster
	}
	return bin, err
}

// hash is of the folder's name and of all that is compiled there.
func (b *Builder) hash(of Build) (string, error) {
	replace := b.Overlay(of)
	files, err := filepath.Glob(b.Path(of.Dir, "*.go"))
	if err != nil {
		return "", err
	}
	files = slices.AppendSeq(append(files, b.Path("", "go.mod")), maps.Keys(replace))
	slices.Sort(files)
	sum := sha256.New()
	fmt.Fprintln(sum, filepath.Base(of.Dir))
	for _, name := range slices.Compact(files) {
		from, replaced := replace[name]
		if !replaced {
			from = name
		} else if from == "" {
			continue
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(name), len(text), text)
	}
	return fmt.Sprintf("%x", sum.Sum(nil)[:8]), nil
}

// command is exec.CommandContext that does not wait forever for the children of a killed process.
func command(ctx context.Context, dir, name string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir = dir
	cmd.WaitDelay = 2 * time.Second
	return cmd
}

// A Coming is a build in progress.
type Coming struct {
	Name  string
	Await func() (Binary, error) // compiles once: who calls it next waits for it
}

// Ahead compiles all builds in the background and in order, so that the next one
// is ready when the present one has been shown. The first goes alone, because with a cold
// cache it compiles the dependencies of all others.
func (b *Builder) Ahead(ctx context.Context, builds ...Build) []Coming {
	var list []Coming
	for _, of := range builds {
		list = append(list, Coming{of.Name, sync.OnceValues(func() (Binary, error) { return b.Compile(ctx, of) })})
	}
	b.jobs.Go(func() {
		list[0].Await()
		var two sync.WaitGroup
		free := make(chan struct{}, 2)
		for _, c := range list[1:] { // after an interrupt each fails at once
			free <- struct{}{}
			two.Go(func() { c.Await(); <-free })
		}
		two.Wait()
	})
	return list
}

// Pages keeps what the Markdown pages show equal to what the code does.
//
//	go run -C docs/keep ./pages [-check] [page.md ...]
//	go run -C docs/keep ./pages -stamp page.md ...
//
// It makes, in place, the block below each marker of the pages named or of all pages:
//
//	<!-- run: command -->                         the command, and what it prints
//	<!-- code: file.go Name ... -->               these declarations, of a file or of a folder
//	<!-- picture: name | title | red 4 TestX -->  what happens in these stories (see drawing)
//	<!-- matrix: staircase -->                    every guarantee on every lock, and its pictures
//
// and keeps the links to declarations right (see linked). Without names it also runs the explorer,
// which writes whole pages. With -check it writes nothing, and exits with 1 if a file would change.
//
// A Chinese page (README.zh-CN.md next to README.md) begins with the hash of the English text that
// it translates. When that text has changed, a banner below the title says so; -stamp writes the
// hash once the Chinese says the same.
//
// Not made here, because each run gives another one: docs/read/benchmarks.md (docs/keep/bench).
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"os/signal"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/picture"
	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	check := flag.Bool("check", false, "compare only; exit 1 if a page is stale")
	stamped := flag.Bool("stamp", false, "say of Chinese pages that they say what the English says")
	flag.Parse()
	root, err := course.Root()
	if err == nil {
		err = os.Chdir(root) // -C has left it
	}
	switch {
	case err != nil:
	case *stamped:
		err = stamp(flag.Args())
	default:
		err = runHere(ctx, flag.Args(), *check)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "pages: %v\n", err)
		os.Exit(1)
	}
}

// A maker makes pages from what commands print and what happens in stories.
type maker struct {
	print  func(command string) (string, error)
	play   func(scene) ([]trace.Record, error)
	stairs func() ([]picture.Stair, error)
}

const tourCommand = "go run ./docs/tour"

// runHere is run with the commands of this repository, which it is at the root of.
func runHere(ctx context.Context, files []string, check bool) error {
	dir, err := os.MkdirTemp("", "pages")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if os.Getenv(story.BuiltEnv) == "" { // most pages play the same few builds
		os.Setenv(story.BuiltEnv, dir)
	}
	b, ctx, err := story.NewBuilder(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	tour := filepath.Join(dir, "tour.exe") // built once for all
	if _, err := output(ctx, "go", "build", "-o", tour, "./docs/tour"); err != nil {
		return err
	}
	played := sync.OnceValues(func() ([]picture.Stair, error) { return stairs(ctx, b) })
	m := maker{play: stage(ctx, b), stairs: played, print: func(command string) (string, error) {
		if args, ok := strings.CutPrefix(command, tourCommand); ok {
			return output(ctx, tour, strings.Fields(args)...)
		}
		args, ok := strings.CutPrefix(command, "go ")
		if !ok {
			return "", fmt.Errorf("%q: a page runs only the go command", command)
		}
		return output(ctx, "go", strings.Fields(args)...)
	}}
	return m.run(ctx, files, check)
}

// output is the standard output of a program: progress and compiler noise go to the other stream.
// It fails unless the program ends with 0: a page shows what readers should do, and that works.
func output(ctx context.Context, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	var noise bytes.Buffer
	cmd.Stderr = &noise
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%v: %w\n%s%s", cmd, err, out, noise.String())
	}
	return strings.ReplaceAll(string(out), "\r\n", "\n"), nil
}

// run makes or checks pages, a few at a time, and returns all that is wrong.
func (m maker) run(ctx context.Context, files []string, check bool) error {
	m.print = once(m.print)                      // pages show the same runs
	var jobs []func() (map[string]string, error) // that return files
	if len(files) == 0 {
		var err error
		if files, err = pages(ctx); err != nil {
			return err
		}
		explorer := "go run ./docs/explore"
		if check {
			explorer += " -check"
		}
		files = slices.DeleteFunc(files, func(file string) bool { return english(file) == "docs/explore/README.md" }) // it writes the page, and its Chinese edition
		jobs = append(jobs, func() (map[string]string, error) {
			_, err := m.print(explorer)
			return nil, err
		})
	}
	for _, file := range files { // its Chinese edition may need the banner
		if other := chinese(file); read(other) != "" && !slices.Contains(files, other) {
			files = append(files, other)
		}
	}
	for _, file := range files {
		jobs = append(jobs, func() (map[string]string, error) { return m.page(filepath.ToSlash(file)) })
	}
	var (
		g     errgroup.Group
		mu    sync.Mutex
		made  = map[string]string{} // by file
		wrong []error
	)
	g.SetLimit(runtime.NumCPU())
	for _, job := range jobs {
		g.Go(func() error {
			ours, err := job()
			mu.Lock()
			defer mu.Unlock()
			maps.Copy(made, ours)
			wrong = append(wrong, err)
			return nil
		})
	}
	g.Wait()
	for _, file := range slices.Sorted(maps.Keys(made)) {
		wrong = append(wrong, put(file, made[file], check))
	}
	if err := errors.Join(wrong...); err != nil {
		return err
	}
	fmt.Println(len(files), "pages show what the code does")
	return nil
}

// once is f, called once for each argument.
func once[K, V any](f func(K) (V, error)) func(K) (V, error) {
	var results sync.Map
	return func(arg K) (V, error) {
		result, _ := results.LoadOrStore(arg, sync.OnceValues(func() (V, error) { return f(arg) }))
		return result.(func() (V, error))()
	}
}

// put writes what is in a generated file, or with check says that it is another one.
func put(file, text string, check bool) error {
	old := read(file)
	switch {
	case old == text:
		return nil
	case check:
		return fmt.Errorf("%s is stale: %s\n  regenerate it: go run -C docs/keep ./pages [page.md]", file, firstDifference(old, text))
	}
	fmt.Println("wrote", file)
	return errors.Join(os.MkdirAll(path.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
}

// read is the text of a file, or none if there is no such file.
func read(file string) string {
	text, _ := os.ReadFile(file)
	return strings.ReplaceAll(string(text), "\r\n", "\n")
}

func firstDifference(old, now string) string {
	a, b := strings.Split(old+"\n<end>", "\n"), strings.Split(now+"\n<end>", "\n")
	i := 0
	for a[i] == b[i] {
		i++
	}
	return fmt.Sprintf("line %d\n  page: %s\n  code: %s", i+1, a[i], b[i])
}

// pages lists the Markdown files.
func pages(ctx context.Context) ([]string, error) {
	list, err := output(ctx, "git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md")
	return strings.Fields(list), err
}

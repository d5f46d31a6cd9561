// Pages keeps what the Markdown pages show equal to what the code does: all that is
// generated comes from this command.
//
//	go run -C docs/keep ./pages [-check] [page.md ...]
//	go run -C docs/keep ./pages -zh [page.md ...]
//	go run -C docs/keep ./pages -stale [page.md ...]
//	go run -C docs/keep ./pages -stamp page.md[#anchor] ...
//	go run -C docs/keep ./pages -words [file ...]
//
// It runs at the root of the repository. Without names, it first runs the programs that
// write whole pages (written). Then it regenerates, in place, in the pages named or in
// all of them:
//
//   - a fenced block after <!-- run: command -->: the command and what it prints
//   - a fenced block after <!-- code: file.go Name ... -->: these declarations, with their
//     comments; with a folder, those of all its files
//   - a picture after <!-- picture: name | title | red 4 TestX | green 4 TestX -->, and its
//     files in docs/read/pictures
//   - the questions of a lesson between <!-- questions: page.md#anchor #anchor ... --> and
//     <!-- /questions -->, from the interview pages; and of these the decks of cards,
//     docs/read/interview/deck.tsv
//   - the file and the line in a link whose text is a declaration's name:
//     [`Lock.Unlock`](lock.go#L1)
//
// With -check it writes nothing and exits with 1 if a page would change, breaks one of the
// rules of its form, or names a story or a declaration in a command that is not there.
//
// A Chinese page (README.zh-CN.md next to README.md) has the blocks, the links and the line
// numbers of the English one; its pictures are drawn with Chinese titles. Before each of
// its headings stands the hash of the English section that it says in Chinese: -check fails
// when that has changed, -stale shows how, and -stamp writes the hash once the Chinese says
// the same. -zh is what takes no time: it carries over blocks and links, and checks.
//
// Not made here, because each run gives another one: docs/read/benchmarks.md (docs/keep/bench).
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
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
)

// written are the programs that write whole pages: docs/read/matrix.md and docs/read/faults.md.
// Each has its own -check. The page of docs/play is only written here: .ci/run checks it
// next to the other steps, and go test ./docs/play, in a second, that it is of the sources.
var written = []string{tourCommand + " matrix", "go run ./docs/explore"}

func main() {
	check := flag.Bool("check", false, "compare only; exit 1 if a page is stale")
	zh := flag.Bool("zh", false, "the Chinese pages: carry over what is the same in English, and check the rest; runs nothing")
	stale := flag.Bool("stale", false, "show what has changed in English since it was translated")
	stamps := flag.Bool("stamp", false, "say of Chinese pages, or of a section (page.md#anchor), that they say what the English says")
	words := flag.Bool("words", false, "list wordings that are not plain English, in the files named or in all")
	flag.Parse()
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	root, err := course.Root()
	if err == nil {
		err = os.Chdir(root) // -C has left it
	}
	switch files := flag.Args(); {
	case err != nil:
	case *zh:
		err = carryOver(files)
	case *stale:
		err = showStale(files)
	case *words:
		err = showWords(files)
	case *stamps:
		err = stamp(files)
	default:
		err = runHere(ctx, files, *check)
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "pages: %v\n", err)
		os.Exit(1)
	}
}

func runHere(ctx context.Context, files []string, check bool) error {
	sh, err := newShell(ctx)
	if err != nil {
		return err
	}
	defer sh.close()
	return run(files, check, sh.command)
}

// run regenerates or checks pages. command runs a command and returns what it prints.
func run(files []string, check bool, command func(string) (string, error)) error {
	all, err := pages(".")
	if err != nil {
		return err
	}
	var stale error
	if len(files) == 0 {
		files, stale = all, writePages(check, command)
	}
	outputs, err := runAll(files, command)
	if err != nil {
		return errors.Join(stale, err)
	}
	var complaints []string
	made := map[string]string{} // by file
	var texts strings.Builder
	b := newLibrary()
	for _, file := range files {
		file := filepath.ToSlash(file)
		page, drawn, wrong, err := b.regenerate(file, outputs)
		if err != nil {
			return err
		}
		for name, svg := range drawn {
			if other, ok := made[name]; ok && other != svg {
				return fmt.Errorf("%s: another page draws %s otherwise", file, name)
			}
			made[name] = svg
		}
		made[file] = page
		texts.WriteString(page)
		complaints = slices.Concat(complaints, wrong, form(file, page), wrongNames(file, page))
	}
	if slices.ContainsFunc(files, func(file string) bool { return path.Dir(filepath.ToSlash(file)) == interviewDir }) {
		for _, name := range []string{"/deck.tsv", "/deck.zh-CN.tsv"} {
			if deck := b.deck(strings.Contains(name, "zh-CN")); deck != "" {
				made[interviewDir+name] = deck
			}
		}
	}
	for _, file := range slices.Sorted(maps.Keys(made)) {
		complaint, err := put(file, made[file], check)
		if err != nil {
			return err
		}
		if complaint != "" {
			complaints = append(complaints, complaint)
		}
	}
	if len(files) == len(all) {
		complaints = append(complaints, unseen(texts.String())...)
	}
	if len(complaints) > 0 {
		stale = errors.Join(stale, errors.New(strings.Join(complaints, "\n")))
	}
	if stale != nil {
		return stale
	}
	fmt.Printf("%d pages show what the code does\n", len(files))
	return nil
}

// put writes what is in a generated file, or with check says that it is another one.
func put(file, text string, check bool) (complaint string, err error) {
	old, _ := os.ReadFile(filepath.FromSlash(file))
	switch {
	case string(old) == text:
		return "", nil
	case check:
		return fmt.Sprintf("%s is stale: %s\n  regenerate it: go run -C docs/keep ./pages [page.md]", file, firstDifference(string(old), text)), nil
	}
	fmt.Println("wrote", file)
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return "", err
	}
	return "", os.WriteFile(filepath.FromSlash(file), []byte(text), 0o644)
}

// writePages runs the programs that write whole pages. One after the other: each uses all
// processors.
func writePages(check bool, command func(string) (string, error)) error {
	var errs []error
	for _, program := range written {
		if check {
			program += " -check"
		}
		_, err := command(program)
		errs = append(errs, err)
	}
	if !check {
		_, err := command("go run ./docs/play -write")
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// pages lists the Markdown files under root, without packages that npm installed and
// hidden folders other than .github.
func pages(root string) ([]string, error) {
	var files []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != root && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".github" || d.Name() == "node_modules") {
			return fs.SkipDir
		}
		if filepath.Ext(path) == ".md" {
			files = append(files, path)
		}
		return nil
	})
	return files, err
}

// runAll runs each command of the pages once, a few at a time, and returns what they print.
func runAll(files []string, command func(string) (string, error)) (map[string]string, error) {
	g := new(errgroup.Group)
	g.SetLimit(runtime.NumCPU())
	var mu sync.Mutex
	outputs := map[string]string{}
	seen := map[string]bool{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		for _, m := range markers(string(text)) {
			if isChinese(file) && m.verb != "picture" {
				continue // copied from the English page
			}
			for _, line := range m.commands() {
				if seen[line] {
					continue
				}
				seen[line] = true
				g.Go(func() error {
					out, err := command(line)
					if err != nil {
						return fmt.Errorf("%s:%d: %w", file, m.line, err)
					}
					mu.Lock()
					defer mu.Unlock()
					outputs[line] = out
					return nil
				})
			}
		}
	}
	return outputs, g.Wait()
}

// A shell runs commands. The tour is built once for all.
type shell struct {
	ctx  context.Context
	dir  string
	tour string
}

const tourCommand = "go run ./docs/tour"

func newShell(ctx context.Context) (*shell, error) {
	dir, err := os.MkdirTemp("", "pages")
	if err != nil {
		return nil, err
	}
	s := &shell{ctx: ctx, dir: dir, tour: filepath.Join(dir, "tour.exe")}
	if _, err := s.run("go", "build", "-o", s.tour, "./docs/tour"); err != nil {
		s.close()
		return nil, err
	}
	return s, nil
}

func (s *shell) close() {
	os.RemoveAll(s.dir)
}

func (s *shell) command(command string) (string, error) {
	if args, ok := strings.CutPrefix(command, tourCommand); ok {
		return s.run(s.tour, strings.Fields(args)...)
	}
	fields := strings.Fields(command)
	if len(fields) == 0 || fields[0] != "go" {
		return "", fmt.Errorf("%q: a page runs only the go command", command)
	}
	return s.run(fields[0], fields[1:]...)
}

// run returns the standard output: progress and compiler noise go to the other stream. It
// fails unless the command ends with 0: a page shows what readers should do, and
// that works.
func (s *shell) run(name string, args ...string) (string, error) {
	cmd := exec.CommandContext(s.ctx, name, args...)
	var out, noise bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &noise
	cmd.Env = append(os.Environ(), "LC_ALL=C") // pages show the tour's English
	if os.Getenv("TOUR_BUILT") == "" {         // most pages play the same few builds
		cmd.Env = append(cmd.Env, "TOUR_BUILT="+s.dir)
	}
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out.String(), noise.String())
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), nil
}

func firstDifference(old, now string) string {
	a, b := strings.Split(old, "\n"), strings.Split(now, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return fmt.Sprintf("line %d\n  page: %s\n  code: %s", i+1, a[i], b[i])
		}
	}
	return fmt.Sprintf("it has %d lines, and should have %d", len(a), len(b))
}

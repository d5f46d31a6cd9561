// Pages keeps what the Markdown pages show equal to what the code does: all that is
// generated comes from this command.
//
//	go run -C docs/keep ./pages [-check] [page.md ...]
//	go run -C docs/keep ./pages -zh [-strict] [page.md ...]
//	go run -C docs/keep ./pages -stamp page.md ...
//
// It runs at the root of the repository. Without names, it also runs the programs that
// write whole pages. It regenerates, in place, in the pages named or in all of them:
//
//   - a fenced block after <!-- run: command -->: the command and what it prints
//   - a fenced block after <!-- code: file.go Name ... -->: these declarations, with their
//     comments; with a folder, those of all its files
//   - a picture after <!-- picture: name | title | red 4 TestX | green 4 TestX -->, and its
//     files in docs/read/pictures
//   - the questions of a lesson between <!-- questions: page.md#anchor #anchor ... --> and
//     <!-- /questions -->, from the interview pages; and of these the decks of cards,
//     docs/read/interview/deck.tsv
//   - not a table between <!-- table: command --> and <!-- /table -->: the command writes it
//   - the file and the line in a link whose text or title is a declaration's name:
//     [`Lock.Unlock`](lock.go#L1), [test](lock_test.go#L1 "TestA")
//   - links to the page in the browser: play.go
//
// With -check it writes nothing and exits with 1 if a page would change, breaks one of
// the rules of its form, or names a story or a declaration in a command that is not
// there.
//
// A Chinese page (README.zh-CN.md next to README.md) has the blocks, the links and the
// line numbers of the English one; what the tour prints, it shows in Chinese, and its
// pictures are drawn with Chinese titles. Its first line is the hash of the English text
// that it says in Chinese. When that has changed, or the pages differ in headings, blocks
// or links, a banner below the title says so, and the command warns; with -strict it
// fails. -stamp writes the hash once the Chinese says the same. -zh is what takes no time:
// it carries over blocks and links, sets banners, and checks.
//
// Not made here, because each run gives another one: docs/read/benchmarks.md
// (docs/keep/bench).
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
	"regexp"
	"runtime"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	check := flag.Bool("check", false, "compare only; exit 1 if a page is stale")
	do := func(files []string) error { return runHere(ctx, files, *check) }
	instead := func(name, says string, other func(files []string) error) {
		flag.BoolFunc(name, says, func(string) error { do = other; return nil })
	}
	instead("zh", "the Chinese pages: carry over what is the same in English, and check the rest; runs nothing", carryOver)
	instead("stamp", "say of Chinese pages that they say what the English says", stamp)
	flag.Parse()
	root, err := course.Root()
	if err == nil {
		err = os.Chdir(root) // -C has left it
	}
	if err == nil {
		err = do(flag.Args())
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "pages: %v\n", err)
		os.Exit(1)
	}
}

// carryOver writes what is the same in both editions, and returns where they disagree.
func carryOver(files []string) error {
	files, err := library{}.editions(files)
	if err != nil {
		return err
	}
	return run(files, false, shown{})
}

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
	tour := filepath.Join(dir, "tour.exe") // built once for all
	if _, err := output(ctx, "C", "go", "build", "-o", tour, "./docs/tour"); err != nil {
		return err
	}
	b, ctx, err := story.NewBuilder(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	return run(files, check, shown{stage(ctx, b), func(command string) (string, error) {
		locale := "C"
		if plain, ok := strings.CutPrefix(command, chineseLocale); ok {
			command, locale = plain, "zh_CN.UTF-8"
		}
		if args, ok := strings.CutPrefix(command, tourCommand); ok {
			return output(ctx, locale, tour, strings.Fields(args)...)
		}
		args, ok := strings.CutPrefix(command, "go ")
		if !ok {
			return "", fmt.Errorf("%q: a page runs only the go command", command)
		}
		return output(ctx, locale, "go", strings.Fields(args)...)
	}})
}

// shown is what pages show: what happens in a story, and what a command prints.
type shown struct {
	play  func(scene) ([]trace.Record, error)
	print func(command string) (string, error)
}

const (
	tourCommand   = "go run ./docs/tour"
	chineseLocale = "LC_ALL=zh_CN.UTF-8 " // before a command that prints for a Chinese page
)

// output is the standard output of a program in a locale: progress and compiler noise go to
// the other stream. It fails unless the program ends with 0: a page shows what readers
// should do, and that works.
func output(ctx context.Context, locale, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	var out, noise bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &noise
	cmd.Env = append(os.Environ(), "LC_ALL="+locale)
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s%s", name, strings.Join(args, " "), err, out.String(), noise.String())
	}
	return strings.ReplaceAll(out.String(), "\r\n", "\n"), nil
}

// run regenerates or checks pages. If nothing is shown, the pages are Chinese, and take from
// the English ones what is the same.
func run(files []string, check bool, show shown) error {
	all, err := pages()
	if err != nil {
		return err
	}
	var programs, wrong []string
	if len(files) == 0 {
		files, programs = all, writers(check)
	}
	for _, file := range files { // its Chinese edition may need the banner
		if other := chinese(file); slices.Contains(all, other) && !slices.Contains(files, other) {
			files = append(files, other)
		}
	}
	if show.print != nil {
		show.print = runAll(slices.Concat(programs, wanted(files)), show.print)
	}
	for _, program := range programs {
		if _, err := show.print(program); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	b := library{}
	made := map[string]string{} // by file
	for _, file := range files {
		file := filepath.ToSlash(file)
		ours, complaints := b.regenerate(file, show)
		maps.Copy(made, ours)
		wrong = slices.Concat(wrong, complaints, form(file, ours[file]), wrongNames(file, ours[file]))
		if show.print == nil {
			made[english(file)] = b.withLanguages(english(file), b.page(english(file)).text)
		}
	}
	for _, file := range slices.Sorted(maps.Keys(made)) {
		if err := put(file, made[file], check); err != nil {
			wrong = append(wrong, err.Error())
		}
	}
	if len(wrong) > 0 {
		return errors.New(strings.Join(wrong, "\n"))
	}
	says := "pages show what the code does"
	if show.print == nil {
		says = "Chinese pages have what is the same in English"
	}
	fmt.Println(len(files), says)
	return nil
}

// put writes what is in a generated file, or with check says that it is another one.
func put(file, text string, check bool) error {
	old, _ := os.ReadFile(file)
	switch {
	case string(old) == text:
		return nil
	case check:
		return fmt.Errorf("%s is stale: %s\n  regenerate it: go run -C docs/keep ./pages [page.md]", file, firstDifference(string(old), text))
	}
	fmt.Println("wrote", file)
	return errors.Join(os.MkdirAll(path.Dir(file), 0o755), os.WriteFile(file, []byte(text), 0o644))
}

func firstDifference(old, now string) string {
	a, b := strings.Split(old+"\n<end>", "\n"), strings.Split(now+"\n<end>", "\n")
	i := 0
	for a[i] == b[i] {
		i++
	}
	return fmt.Sprintf("line %d\n  page: %s\n  code: %s", i+1, a[i], b[i])
}

// writers are the programs that write whole pages, each with its own -check.
func writers(check bool) []string {
	if check {
		return []string{"go run ./docs/explore -check", tourCommand + " matrix -check"}
	}
	return []string{tourCommand + " matrix", "go run ./docs/explore"}
}

// commandOf is the command of a page in its language. Of all commands, only the tour's and
// the explorer's speak Chinese.
func commandOf(file, command string) string {
	if isChinese(file) && (strings.HasPrefix(command, tourCommand) || strings.HasPrefix(command, "go run ./docs/explore")) {
		return chineseLocale + command
	}
	return command
}

// wanted are the commands whose output the pages need.
func wanted(files []string) (list []string) {
	b := library{}
	for _, file := range files {
		for _, p := range parse(b.page(file).text) {
			if p.verb == "run" {
				list = append(list, commandOf(file, p.args))
			}
		}
	}
	return list
}

// runAll runs each command once, a few at a time, and returns what gives its output.
func runAll(list []string, command func(string) (string, error)) func(string) (string, error) {
	ran := map[string]func() (string, error){}
	g := new(errgroup.Group)
	g.SetLimit(runtime.NumCPU())
	for _, line := range list {
		if ran[line] == nil {
			once := sync.OnceValues(func() (string, error) { return command(line) })
			ran[line] = once
			g.Go(func() error { once(); return nil })
		}
	}
	g.Wait()
	return func(line string) (string, error) { return ran[line]() }
}

// pages lists the Markdown files.
func pages() ([]string, error) { return filesOf(regexp.MustCompile(`\.md$`)) }

// filesOf lists files under the current folder, without packages that npm installed and
// hidden folders other than .github.
func filesOf(kind *regexp.Regexp) (files []string, err error) {
	err = filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		hidden := strings.HasPrefix(d.Name(), ".") && d.Name() != ".github" && file != "."
		switch file = filepath.ToSlash(file); {
		case err != nil:
			return err
		case d.IsDir() && (hidden || d.Name() == "node_modules"):
			return fs.SkipDir
		case kind.MatchString(file):
			files = append(files, file)
		}
		return nil
	})
	return files, err
}

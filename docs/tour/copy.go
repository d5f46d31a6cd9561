package main

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// runCopy copies a lock into another program, and checks it there if that has what it needs.
func (t *tour) runCopy(ctx context.Context, req request) error {
	s := req.steps[0]
	if req.names == nil {
		return wrongUsage("copy needs a folder: copy %s FOLDER", s.Arg())
	}
	folder, files, checks := req.names[0], t.Sources(s.Dir), [][]string{{"vet", "."}}
	if req.has("-diff") {
		return t.diffCopy(ctx, s, folder)
	}
	if req.has("-tests") {
		tests, _ := fs.Glob(os.DirFS(t.Path(s.Dir, "")), "*_test.go")
		files = append(files, tests...)
		if second := course.Second(s.Dir); second != nil && t.Exists(course.SecondDir, second[0]) {
			files = append(files, append(second, course.HereFile)...)
		}
		checks = append(checks, []string{"test", "-count=1", "."})
	}
	for _, file := range files {
		if _, err := os.Lstat(filepath.Join(folder, file)); err == nil {
			return errorf("%s is there already, and copy overwrites nothing", filepath.Join(folder, file))
		}
	}
	if err := os.MkdirAll(folder, 0o777); err != nil {
		return err
	}
	if mod, _ := goIn(ctx, folder, "env", "GOMOD"); filepath.Base(strings.TrimSpace(mod)) != "go.mod" {
		os.Remove(folder) // if it was made here
		return errorf("%s is not in a Go module, so nothing was copied. Run go mod init in your program first", folder)
	}
	origin := t.origin(ctx, s)
	for _, file := range files {
		text, err := os.ReadFile(t.Path(t.Home(s.Dir, file), file))
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, file), []byte(origin+strings.Replace(string(text), lesson, inUse, 1)), 0o666)
		}
		if err != nil {
			return err
		}
	}
	t.printf("Copied to %s, from %s:\n", folder, s.Label())
	t.prose("  ", "%s", strings.Join(files, ", "))
	t.prose("", "The lock needs go-redis 9.19 or newer, its tests 9.22. Before you use it, read docs/read/production.md.\n")
	// go.sum may lack what only the tests of a module need that is there.
	_, lacks := goIn(ctx, folder, "list", "-deps", "-test", ".")
	if lacks != nil {
		t.prose("", "Your module lacks something that it needs, so it is not checked yet. Run:")
		checks = append([][]string{{"mod", "tidy"}}, checks...)
	}
	t.printf("$ cd %s\n", folder)
	for _, args := range checks {
		t.printf("$ go %s\n", strings.Join(args, " "))
		if lacks != nil {
			continue
		}
		done := t.progress("go " + args[0])
		out, err := goIn(ctx, folder, args...)
		done()
		fmt.Fprint(t.out, out)
		if err != nil {
			return errorf("go %s fails in %s: %w", args[0], folder, err)
		}
	}
	return nil
}

// goIn is what the go command prints in a folder.
func goIn(ctx context.Context, folder string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// A copy's documentation begins with its use; the lesson follows.
const (
	lesson = "// Package redislock implements a distributed lock on Redis. Step"
	inUse  = `// Package redislock implements a distributed lock on Redis: New, TryLock or Lock, Unlock, and from
// step 07 on Do, which does all of it around your work. ErrNotAcquired: the lock is taken.
// ErrNotHeld: it was lost, and two may have been inside. Any other error: the outcome is unknown.
//
// Step`
)

// origin is what a copied file begins with: the commit of a clone, and its date. The blank line
// keeps it out of the package's documentation.
func (t *tour) origin(ctx context.Context, s course.Step) string {
	version := cmp.Or(t.git(ctx, "log", "-1", "--format=%h (%cs)"), "unknown")
	if t.git(ctx, "status", "--porcelain", "--", s.Dir) != "" {
		version += " with changes"
	}
	return fmt.Sprintf("// Copied from %s, %s, version %s.\n\n", course.Module, s.Dir, version)
}

// originLine is that of another version.
var originLine = regexp.MustCompile(`^// (Copied from .*?(?:version ([0-9a-f]{7,}) .*)?)\r?\n\r?\n`)

// git is what git prints here; "" without it, and outside a clone.
func (t *tour) git(ctx context.Context, args ...string) string {
	if _, err := os.Stat(t.Path("", ".git")); err != nil { // otherwise the commit is another repository's
		return ""
	}
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = t.Path("", "")
	out, _ := cmd.Output()
	return strings.TrimSpace(string(out))
}

// diffCopy shows the rows of changes.md that are newer than a copy: what its version lacks, and
// where that is not known, what the copy lacks. What its owner has changed does not count.
func (t *tour) diffCopy(ctx context.Context, s course.Step, folder string) error {
	from, commit, then := word("Your copy does not say of which version it is."), "", map[string]string{}
	for _, file := range t.Sources(s.Dir) {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil && file == s.Source {
			return errorf("%s has no copy of %s: %s is not there", folder, s.Label(), file)
		}
		if found := originLine.FindSubmatch(text); found != nil {
			from, commit = string(found[1]), string(found[2])
		}
		then[file] = string(text)
	}
	if commit != "" && t.git(ctx, "cat-file", "-t", commit) == "commit" {
		for file := range then {
			then[file] = t.git(ctx, "show", commit+":"+s.Dir+"/"+file)
		}
	}
	t.prose("", "%s", from)
	page, err := os.ReadFile(t.Path("", word("docs/read/changes.md")))
	if err != nil {
		return err
	}
	rows := changesSince(string(page), s.N, then)
	if rows == nil {
		t.prose("", "Nothing has changed here since your copy (docs/read/changes.md).")
		return nil
	}
	t.printf("\nNewer than your copy (before -> now -> who must update; docs/read/changes.md):\n")
	for _, row := range rows {
		t.item("- ", row)
	}
	t.prose("", "\nTo update, copy the step to a new folder: copy overwrites nothing.")
	return nil
}

var (
	dated    = regexp.MustCompile(`(?m)^## `)
	names    = regexp.MustCompile("(?s)^\\d[^\n]*\n[^`]*`([^`]+)`[^`]*`([^`]+)`") // of a file, and of what it has since then
	ofSteps  = regexp.MustCompile(`\d\d`)                                         // "05", "07, 08", "05 to 08"
	linkText = regexp.MustCompile(`\[([^][]*)\]\([^()]*\)`)
)

// changesSince returns the rows of changes.md for a step that a version of its files is older than:
// it lacks what the section names.
func changesSince(page string, step int, then map[string]string) (rows []string) {
	for _, section := range dated.Split(page, -1) {
		found := names.FindStringSubmatch(section)
		if found == nil || strings.Contains(then[found[1]], found[2]) {
			continue
		}
		for line := range strings.Lines(section) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
			of, n := ofSteps.FindAllString(cells[0], -1), fmt.Sprintf("%02d", step)
			if len(cells) == 4 && of != nil && of[0] <= n && n <= of[len(of)-1] {
				text := linkText.ReplaceAllString(strings.Join(cells[1:], " -> "), "$1")
				rows = append(rows, strings.ReplaceAll(text, "**", ""))
			}
		}
	}
	return rows
}

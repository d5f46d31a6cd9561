package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// runCopy copies a lock into another program, and checks it there if that has what it needs.
func (t *tour) runCopy(ctx context.Context, req request) error {
	s, folder, checks := req.steps[0], req.names[0], [][]string{{"vet", "."}}
	if req.has("-diff") {
		return t.diffCopy(ctx, s, folder)
	}
	files := t.Sources(s.Dir)
	if req.has("-tests") {
		tests, err := filepath.Glob(t.Path(s.Dir, "*_test.go"))
		if err != nil {
			return err
		}
		for _, path := range tests {
			files = append(files, filepath.Base(path))
		}
		if second := course.Second(s.Dir); second != nil && t.Exists(course.SecondDir, second[0]) {
			files = append(files, append(second, course.HereFile)...)
		}
		checks = append(checks, []string{"test", "-count=1", "."})
	}
	mod, err := modOf(folder)
	if err != nil {
		return err
	}
	all, err := t.copyFiles(s.Dir, folder, files, t.origin(ctx, s))
	if err != nil {
		return err
	}
	t.printf("Copied to %s, from %s:\n", folder, s.Label())
	t.prose("  ", "%s", strings.Join(files, ", "))
	t.printf("Before you use it, read docs/read/production.md.\n\n")
	todo, err := t.unmet(ctx, folder, mod, all)
	if err != nil {
		return err
	}
	if todo != nil {
		t.prose("", "Your module lacks something that it needs, so it is not checked yet. Run:")
	}
	t.printf("$ cd %s\n", folder)
	for _, line := range todo {
		t.printf("$ %s\n", line)
	}
	for _, args := range checks {
		t.printf("$ go %s\n", strings.Join(args, " "))
		if todo != nil {
			continue
		}
		done := t.progress("go " + args[0])
		out, err := goIn(ctx, folder, args...)
		done()
		t.printf("%s", out)
		if err != nil {
			return errorf("go %s fails in %s: %w", args[0], folder, err)
		}
	}
	return nil
}

func goIn(ctx context.Context, folder string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = folder
	return cmd.CombinedOutput()
}

// modOf returns the go.mod of the module that a folder is in, or will be.
func modOf(folder string) (string, error) {
	dir, err := filepath.Abs(folder)
	for err == nil {
		file := filepath.Join(dir, "go.mod")
		if _, wrong := os.Stat(file); wrong == nil {
			return file, nil
		}
		if dir == filepath.Dir(dir) {
			return "", errorf("%s is not in a Go module, so nothing was copied. Run go mod init in your program first", folder)
		}
		dir = filepath.Dir(dir)
	}
	return "", err
}

// copyFiles overwrites nothing: if one of the files is there, it writes none. It returns what
// it has copied.
func (t *tour) copyFiles(from, to string, files []string, origin string) (all string, err error) {
	for _, file := range files {
		if _, err := os.Lstat(filepath.Join(to, file)); err == nil {
			return "", errorf("%s is there already, and copy overwrites nothing", filepath.Join(to, file))
		}
	}
	err = os.MkdirAll(to, 0o777)
	for _, file := range files {
		text, wrong := os.ReadFile(t.Path(t.Home(from, file), file))
		if wrong == nil {
			wrong = os.WriteFile(filepath.Join(to, file), []byte(origin+strings.Replace(string(text), lesson, inUse, 1)), 0o666)
		}
		all, err = all+string(text), errors.Join(err, wrong)
	}
	return all, err
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

// origin is what a copied file begins with. The blank line keeps it out of the package's
// documentation.
func (t *tour) origin(ctx context.Context, s course.Step) string {
	return fmt.Sprintf("// Copied from %s, %s, version %s.\n\n", course.Module, s.Dir, t.version(ctx, s.Dir))
}

// originLine is that of another version.
var originLine = regexp.MustCompile(`^// (Copied from .*)\r?\n\r?\n`)

// version is the commit of a clone, and its date.
func (t *tour) version(ctx context.Context, dir string) string {
	switch commit := t.git(ctx, "log", "-1", "--format=%h (%cs)"); {
	case commit == "":
		return "unknown"
	case t.git(ctx, "status", "--porcelain", "--", dir) != "":
		return commit + " with changes"
	default:
		return commit
	}
}

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

// required is a module in go.mod that is needed directly, or indirectly.
var required = regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (v\S+)( // indirect)?\r?$`)

// goRedis is the client. Releases and renewals are sent once from 9.19 on, where a command
// can say so; some tests know the timeouts of 9.22.
const goRedis = "github.com/redis/go-redis/v9"

// unmet returns the commands that give a module what a copied source imports, none if it has all.
func (t *tour) unmet(ctx context.Context, folder, mod, src string) (todo []string, err error) {
	theirs, err := os.ReadFile(mod)
	if err != nil {
		return nil, err
	}
	ours, err := os.ReadFile(t.Path("", "go.mod"))
	if err != nil {
		return nil, err
	}
	have := map[string]string{}
	for _, found := range required.FindAllStringSubmatch(string(theirs), -1) {
		have[found[1]] = found[2]
	}
	var get []string
	for _, found := range required.FindAllStringSubmatch(string(ours), -1) {
		path := found[1]
		imported := strings.Contains(src, `"`+path+`"`) || strings.Contains(src, `"`+path+`/`)
		old := path == goRedis && have[path] != "" && t.tooOld(have[path], src)
		if imported && found[3] == "" && (have[path] == "" || old) {
			get = append(get, path+"@"+found[2])
		}
	}
	if get != nil {
		return []string{"go get " + strings.Join(get, " "), "go mod tidy"}, nil
	}
	// go.sum may lack what only the tests of a module need that is there.
	if out, err := goIn(ctx, folder, "list", "-deps", "-test", "."); err != nil {
		t.printf("%s", out)
		return []string{"go mod tidy"}, ctx.Err()
	}
	return nil, nil
}

// tooOld says so if a version of go-redis is older than this source needs.
func (t *tour) tooOld(version, src string) bool {
	minor, needs := 0, 0
	fmt.Sscanf(version, "v9.%d", &minor)
	if strings.Contains(src, "NoRetry()") {
		needs = 19
	}
	if strings.Contains(src, `"testing"`) {
		needs = 22
	}
	if minor >= needs {
		return false
	}
	t.prose("", "Your go.mod has go-redis %s. The lock needs 9.19 or newer, its tests 9.22 (docs/read/production.md).", version)
	return true
}

// diffCopy says what has changed in a step since it was copied: here, not in the copy, which is
// its owner's to change. Where the commit is not known, what the copy lacks has to do.
func (t *tour) diffCopy(ctx context.Context, s course.Step, folder string) error {
	from := word("Your copy does not say of which version it is.")
	then, lack, same := map[string]string{}, "", true
	for _, file := range t.Sources(s.Dir) {
		text, err := os.ReadFile(filepath.Join(folder, file))
		if err != nil && file == s.Source {
			lack = file
		}
		if found := originLine.FindSubmatch(text); found != nil {
			from, text = string(found[1]), text[len(found[0]):]
		}
		then[file] = strings.Replace(string(text), inUse, lesson, 1)
	}
	if lack != "" {
		return errorf("%s has no copy of %s: %s is not there", folder, s.Label(), lack)
	}
	commit := ofCommit.FindStringSubmatch(from)
	known := commit != nil && t.git(ctx, "cat-file", "-t", commit[1]) == "commit"
	for file := range then {
		if known {
			then[file] = t.git(ctx, "show", commit[1]+":"+s.Dir+"/"+file)
		}
		now, err := os.ReadFile(t.Path(s.Dir, file))
		if err != nil {
			return err
		}
		same = same && slices.Equal(lines(strings.TrimSpace(then[file])), lines(strings.TrimSpace(string(now))))
	}
	t.prose("", "%s", from)
	if same {
		t.printf("Nothing has changed here since your copy.\n")
		return nil
	}
	page, err := os.ReadFile(t.Path("", word("docs/read/changes.md")))
	if err != nil {
		return err
	}
	list := changesSince(string(page), s.N, then)
	if list == nil {
		t.prose("", "No entry of docs/read/changes.md is newer than your copy of %s.", s.Label())
		return nil
	}
	t.printf("\nNewer than your copy (before -> now -> who must update; docs/read/changes.md):\n")
	for _, entry := range list {
		t.item("- ", entry)
	}
	t.prose("", "\nTo update, copy the step to a new folder: copy overwrites nothing.")
	return nil
}

// ofCommit finds the commit in what a copied file begins with.
var ofCommit = regexp.MustCompile(`version ([0-9a-f]{7,}) `)

var (
	dated    = regexp.MustCompile(`(?m)^## `)
	names    = regexp.MustCompile("(?s)^\\d[^\n]*\n[^`]*`([^`]+)`[^`]*`([^`]+)`") // of a file, and of what it has since then
	ofSteps  = regexp.MustCompile(`^(\d\d)(?:(?: to | 到 )(\d\d))?(?:(?:, |、)(\d\d))?$`)
	linkText = regexp.MustCompile(`\[([^][]*)\]\([^()]*\)`)
)

// changesSince returns the rows of changes.md for a step that a version of its files is older than:
// it lacks what the section names.
func changesSince(page string, step int, then map[string]string) (list []string) {
	for _, section := range dated.Split(page, -1) {
		found := names.FindStringSubmatch(section)
		if found == nil || strings.Contains(then[found[1]], found[2]) {
			continue
		}
		for line := range strings.Lines(section) {
			cells := strings.Split(strings.Trim(strings.TrimSpace(line), "| "), " | ")
			if len(cells) == 4 && isOfStep(cells[0], step) {
				text := linkText.ReplaceAllString(strings.Join(cells[1:], " -> "), "$1")
				list = append(list, strings.ReplaceAll(text, "**", ""))
			}
		}
	}
	return list
}

// isOfStep reads "05", "07, 08" and "05 to 08".
func isOfStep(cell string, step int) bool {
	found := ofSteps.FindStringSubmatch(cell)
	if found == nil {
		return false
	}
	n := fmt.Sprintf("%02d", step)
	return found[1] <= n && n <= found[2] || slices.Contains(found, n)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// parseCopy reads a step, a folder and -tests.
func parseCopy(req request, args []string) (request, error) {
	args, req.tests = takeFlag(args, "tests")
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			return request{}, wrongUsage("copy has no flag %s%s", arg, didYouMean(arg, []string{"-tests"}))
		}
	}
	if len(args) == 0 {
		return request{}, wrongUsage("copy needs a step: copy N FOLDER, 1 to %d", len(course.Steps))
	}
	req, err := parseStep(req, args[:1])
	switch {
	case err != nil:
		return request{}, err
	case len(args) == 1:
		return request{}, wrongUsage("copy needs a folder: copy %s FOLDER", args[0])
	case len(args) > 2:
		return request{}, wrongUsage("copy takes one folder: %s", strings.Join(args[1:], " "))
	}
	req.folder = args[1]
	return req, nil
}

// runCopy copies a lock into another program, and checks it there.
func (t *tour) runCopy(ctx context.Context, s course.Step, folder string, tests bool) error {
	if err := t.refuseOwn(folder); err != nil {
		return err
	}
	if !t.exists(s.Dir, s.Source) {
		return errorf("%s is missing", s.Path())
	}
	files := t.sources(s.Dir)
	if tests {
		paths, err := filepath.Glob(t.path(s.Dir, "*_test.go"))
		if err != nil {
			return err
		}
		for _, path := range paths {
			files = append(files, filepath.Base(path))
		}
	}
	needs, err := t.needs(s.Dir, files)
	if err != nil {
		return err
	}
	if err := copyFiles(t.path(s.Dir, ""), folder, files); err != nil {
		return err
	}
	t.printf("Copied to %s, from %s:\n", folder, s.Label())
	t.prose("  ", "%s", strings.Join(files, ", "))
	if needs != nil {
		t.printf("It needs:\n  go get %s\n", strings.Join(needs, " "))
	}
	t.printf("Before you use it, read docs/read/production.md.\n\n")
	if err := ready(ctx, folder, needs); err != nil {
		return errorf("the files are in %s, but nothing was run there: %w", folder, err)
	}
	t.printf("$ cd %s\n", folder)
	if err := t.runThere(ctx, folder, "vet", "."); err != nil || !tests {
		return err
	}
	return t.runThere(ctx, folder, "test", "-count=1", ".")
}

// refuseOwn refuses the folders of the course: they are compared with each other.
func (t *tour) refuseOwn(folder string) error {
	abs, err := filepath.Abs(folder)
	if err != nil {
		return err
	}
	for _, s := range append(course.Entries(), course.First) {
		if rel, err := filepath.Rel(t.path(s.Dir, ""), abs); err == nil && filepath.IsLocal(rel) {
			return wrongUsage("%s is in %s, one of the repository's folders: copy to a folder of your program", folder, s.Dir)
		}
	}
	return nil
}

// copyFiles overwrites nothing: if one of the files is there, it writes none.
func copyFiles(from, to string, files []string) error {
	for _, file := range files {
		if _, err := os.Lstat(filepath.Join(to, file)); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = errorf("it is there already, and copy overwrites nothing")
			}
			return fmt.Errorf("%s: %w", filepath.Join(to, file), err)
		}
	}
	if err := os.MkdirAll(to, 0o777); err != nil {
		return err
	}
	for _, file := range files {
		src, err := os.ReadFile(filepath.Join(from, file))
		if err == nil {
			err = os.WriteFile(filepath.Join(to, file), src, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// needs returns the modules that these files import, each with the version of go.mod: path@version.
func (t *tour) needs(dir string, files []string) (list []string, err error) {
	mod, err := os.ReadFile(t.path("", "go.mod"))
	if err != nil {
		return nil, err
	}
	imports := map[string]bool{}
	for _, file := range files {
		f, err := parser.ParseFile(token.NewFileSet(), t.path(dir, file), nil, parser.ImportsOnly)
		if err != nil {
			return nil, err
		}
		for _, spec := range f.Imports {
			path, _ := strconv.Unquote(spec.Path.Value)
			imports[path] = true
		}
	}
	for line := range strings.Lines(string(mod)) {
		f := strings.Fields(strings.TrimPrefix(line, "require"))
		if len(f) < 2 || !strings.HasPrefix(f[1], "v") {
			continue
		}
		for path := range imports {
			if path == f[0] || strings.HasPrefix(path, f[0]+"/") {
				list = append(list, f[0]+"@"+f[1])
				break
			}
		}
	}
	return list, nil
}

// ready tells what is missing before the go command can build the folder.
func ready(ctx context.Context, folder string, needs []string) error {
	mod, err := command(ctx, folder, "go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env GOMOD: %w", err)
	}
	if file := strings.TrimSpace(string(mod)); file == "" || file == os.DevNull {
		return errorf("it is not in a Go module.\n" +
			"In the root of your program, run go mod init example.com/app; in the folder, the go get above; then go vet")
	}
	missing := slices.DeleteFunc(slices.Clone(needs), func(need string) bool {
		path, _, _ := strings.Cut(need, "@")
		return command(ctx, folder, "go", "list", "-m", path).Run() == nil
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if len(missing) > 0 {
		return errorf("its module does not require %s.\nIn the folder, run the go get above; then go vet", strings.Join(missing, ", "))
	}
	return nil
}

// runThere shows a run of the go command in a folder.
func (t *tour) runThere(ctx context.Context, folder string, args ...string) error {
	t.printf("$ go %s\n", strings.Join(args, " "))
	done := t.progress("go " + args[0])
	out, err := command(ctx, folder, "go", args...).CombinedOutput()
	done()
	t.printf("%s", out)
	if err != nil {
		return errorf("go %s fails in %s: %w", args[0], folder, err)
	}
	return nil
}

package main

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// runCopy copies a lock into another program, and checks it there.
func (t *tour) runCopy(ctx context.Context, req request) error {
	s, folder, checks := req.steps[0], req.names[0], [][]string{{"vet", "."}}
	files := t.Sources(s.Dir)
	if req.has("-tests") {
		tests, err := filepath.Glob(t.Path(s.Dir, "*_test.go"))
		if err != nil {
			return err
		}
		for _, path := range tests {
			files = append(files, filepath.Base(path))
		}
		checks = append(checks, []string{"test", "-count=1", "."})
	}
	all, err := t.copyFiles(s.Dir, folder, files)
	if err != nil {
		return err
	}
	t.printf("Copied to %s, from %s:\n", folder, s.Label())
	t.prose("  ", "%s", strings.Join(files, ", "))
	if needs, err := t.needs(all); err != nil {
		return err
	} else if needs != nil {
		t.printf("It needs:\n  go get %s\n", strings.Join(needs, " "))
	}
	t.printf("Before you use it, read docs/read/production.md.\n\n")
	t.printf("$ cd %s\n", folder)
	for _, args := range checks {
		t.printf("$ go %s\n", strings.Join(args, " "))
		done := t.progress("go " + args[0])
		cmd := exec.CommandContext(ctx, "go", args...)
		cmd.Dir = folder
		out, err := cmd.CombinedOutput()
		done()
		t.printf("%s", out)
		if err != nil {
			return errorf("go %s fails in %s: %w", args[0], folder, err)
		}
	}
	return nil
}

// copyFiles overwrites nothing: if one of the files is there, it writes none. It returns what
// it has copied.
func (t *tour) copyFiles(from, to string, files []string) (all string, err error) {
	for _, file := range files {
		if _, err := os.Lstat(filepath.Join(to, file)); err == nil {
			return "", errorf("%s is there already, and copy overwrites nothing", filepath.Join(to, file))
		}
	}
	err = os.MkdirAll(to, 0o777)
	for _, file := range files {
		text, wrong := os.ReadFile(t.Path(from, file))
		if wrong == nil {
			wrong = os.WriteFile(filepath.Join(to, file), text, 0o666)
		}
		all, err = all+string(text), errors.Join(err, wrong)
	}
	return all, err
}

// required is a module in go.mod that is needed directly.
var required = regexp.MustCompile(`(?m)^(?:require)?\s+(\S+) (v\S+)\r?$`)

// needs returns the modules that a source imports, each with the version of go.mod.
func (t *tour) needs(src string) (list []string, err error) {
	mod, err := os.ReadFile(t.Path("", "go.mod"))
	for _, found := range required.FindAllStringSubmatch(string(mod), -1) {
		path := []string{`"` + found[1] + `"`, `"` + found[1] + `/`}
		if slices.ContainsFunc(path, func(p string) bool { return strings.Contains(src, p) }) {
			list = append(list, found[1]+"@"+found[2])
		}
	}
	return list, err
}

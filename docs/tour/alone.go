package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// runAlone copies each folder into a module of its own, as someone does who wants only
// that lock, and tests it there.
func (t *tour) runAlone(ctx context.Context, list []course.Step) error {
	var failed []string
	for _, s := range list {
		out, err := t.alone(ctx, s)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			failed = append(failed, s.Dir)
			t.printf("%s %s\n%s\n", t.tag(notRun), s.Dir, indent("  ", strings.Split(out+err.Error(), "\n")))
			continue
		}
		t.printf("%s %s, alone in a module of its own\n", t.tag(passed), s.Dir)
	}
	if failed != nil {
		return fmt.Errorf("does not stand alone: %s", strings.Join(failed, ", "))
	}
	return nil
}

// alone returns what the go command printed.
func (t *tour) alone(ctx context.Context, s course.Step) (string, error) {
	if !t.exists(s.Dir, "") {
		return "", fmt.Errorf("the folder %s is missing", s.Dir)
	}
	dir, err := os.MkdirTemp(t.tmp, "alone-")
	if err != nil {
		return "", err
	}
	mod, modErr := os.ReadFile(t.path("", "go.mod"))
	sum, sumErr := os.ReadFile(t.path("", "go.sum"))
	err = errors.Join(modErr, sumErr,
		os.CopyFS(filepath.Join(dir, "redislock"), os.DirFS(t.path(s.Dir, ""))),
		os.WriteFile(filepath.Join(dir, "go.mod"), renameModule(mod, "example.com/app"), 0o666),
		os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o666))
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(dir)
	defer t.progress("testing " + s.Dir + " alone")()
	cmd := command(ctx, dir, "go", "test", "-count=1", "./redislock")
	// A workspace would make it a part of something again.
	cmd.Env = append(os.Environ(), "GOWORK=off")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// renameModule keeps the go version and the requirements.
func renameModule(mod []byte, name string) []byte {
	var b strings.Builder
	for line := range strings.Lines(string(mod)) {
		if f := strings.Fields(line); len(f) > 0 && f[0] == "module" {
			line = "module " + name + "\n"
		}
		b.WriteString(line)
	}
	return []byte(b.String())
}

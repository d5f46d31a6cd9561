package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// committed is the page in the repository. It says of what sources it was made.
const (
	committed = "docs/play/index.html"
	stale     = committed + " is not of these sources: go run ./docs/play -write"
)

// isOf reports whether a page was made of these inputs.
func isOf(page []byte, inputs string) bool {
	return bytes.Contains(page, fmt.Appendf(nil, `<meta name="inputs" content="%s">`, inputs))
}

// inputsOf is the hash of all from which the page is made.
func inputsOf(ctx context.Context) (string, error) {
	names, err := inputNames(ctx)
	if err != nil {
		return "", err
	}
	return hash(os.DirFS("."), names)
}

func hash(files fs.FS, names []string) (string, error) {
	h := sha256.New()
	for _, name := range names {
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s %d\n%s", name, len(text), text)
	}
	return fmt.Sprintf("%x", h.Sum(nil)[:16]), nil
}

// inputNames are the files of this repository of which the explorer and this program are
// built, and the versions of the other modules.
func inputNames(ctx context.Context) ([]string, error) {
	const each = "{{$p := .ImportPath}}{{range .GoFiles}}{{$p}}/{{.}}\n{{end}}{{range .EmbedFiles}}{{$p}}/{{.}}\n{{end}}"
	list := exec.CommandContext(ctx, "go", "list", "-C", "docs/keep", "-deps", "-f", each, "./explore", course.Module+"/docs/play")
	list.Stderr = os.Stderr
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	names := []string{"go.mod", "docs/keep/go.mod", "docs/keep/go.sum"}
	for _, file := range strings.Fields(string(out)) {
		if name, ok := strings.CutPrefix(file, course.Module+"/"); ok {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

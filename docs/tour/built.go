package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
)

// built is a folder that remembers the binaries of tests by their sources; "" is none. Its
// users play the same few over and over: this program's tests, the pages, CI.
var built = os.Getenv("TOUR_BUILT")

// buildOnce builds the tests in dir, with some files replaced as by the go command's
// -overlay. What does not compile is not remembered.
func buildOnce(ctx context.Context, root, dir string, replace map[string]string, to string) ([]byte, error) {
	js, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlay, key := filepath.Join(filepath.Dir(to), "overlay.json"), ""
	if err := os.WriteFile(overlay, js, 0o666); err != nil {
		return nil, err
	}
	if built != "" {
		hash, err := hashOf(root, dir, replace)
		if err != nil {
			return nil, err
		}
		if key = filepath.Join(built, hash); os.Link(key, to) == nil {
			return nil, nil
		}
	}
	// Without optimization the compiler needs a third less time, without symbol tables the
	// linker half, and with more garbage both a tenth less; panics still name their lines.
	// go test ./... has vetted the stories.
	build := command(ctx, root, "go", "test", "-c", "-vet=off", "-gcflags=-N -l -dwarf=false", "-ldflags=-s -w", "-overlay", overlay, "-o", to, "./"+dir)
	build.Env = append(os.Environ(), "GOGC=400")
	out, err := build.CombinedOutput()
	if err == nil && key != "" {
		os.Link(to, key) // there is none if there are no tests, or another was faster
	}
	return out, err
}

// hashOf is a hash of the folder's name and of all that is compiled there.
func hashOf(root, dir string, replace map[string]string) (string, error) {
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return "", err
	}
	files = slices.AppendSeq(append(files, filepath.Join(root, "go.mod")), maps.Keys(replace))
	slices.Sort(files)
	sum := sha256.New()
	fmt.Fprintln(sum, filepath.Base(dir))
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

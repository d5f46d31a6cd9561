package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// built is a folder that remembers the binaries of tests by their sources; "" is none. Its
// users play the same few over and over: this program's tests, the pages, CI.
var built = os.Getenv("TOUR_BUILT")

// buildOnce is goTestC with that memory. What does not compile is not remembered.
func buildOnce(ctx context.Context, root, dir, overlay, to string) ([]byte, error) {
	if built == "" {
		return goTestC(ctx, root, dir, overlay, to)
	}
	key, err := keyOf(root, dir, overlay)
	if err != nil {
		return nil, err
	}
	key = filepath.Join(built, key)
	if os.Link(key, to) == nil {
		return nil, nil
	}
	out, err := goTestC(ctx, root, dir, overlay, to)
	if err == nil {
		os.Link(to, key) // there is none if there are no tests, or another was faster
	}
	return out, err
}

// keyOf is a hash of the folder's name and of all that is compiled there.
func keyOf(root, dir, overlay string) (string, error) {
	sum := sha256.New()
	var over struct{ Replace map[string]string }
	text, err := os.ReadFile(overlay)
	if err == nil {
		err = json.Unmarshal(text, &over)
	}
	if err != nil {
		return "", err
	}
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(dir), "*.go"))
	if err != nil {
		return "", err
	}
	for name := range over.Replace {
		files = append(files, name)
	}
	slices.Sort(files)
	for _, name := range append(slices.Compact(files), filepath.Join(root, "go.mod")) {
		from, replaced := over.Replace[name]
		if !replaced {
			from = name
		}
		if from == "" {
			continue
		}
		text, err := os.ReadFile(from)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(sum, "%s %d\n%s", filepath.Base(name), len(text), text)
	}
	return fmt.Sprintf("%x", sum.Sum([]byte(filepath.Base(dir)))), nil
}

// goTestC builds the tests in dir with an overlay.
func goTestC(ctx context.Context, root, dir, overlay, to string) (out []byte, err error) {
	// Without optimization the compiler needs a third less time, and without symbol tables
	// the linker half; panics still name their lines.
	return command(ctx, root, "go", "test", "-c", "-gcflags=-N -l", "-ldflags=-s -w", "-overlay", overlay, "-o", to, "./"+dir).CombinedOutput()
}

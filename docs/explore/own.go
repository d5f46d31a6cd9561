package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// withLock explores DIR/lock.go in place of a step's lock: go run -overlay replaces the file when it builds this program.
func withLock(dir string, n int, args ...string) error {
	if n < 1 || n > 8 {
		return errors.New("-lock needs -step N, 1 to 8: the step whose lock yours replaces; New must have its parameters")
	}
	own, err := filepath.Abs(filepath.Join(dir, "lock.go"))
	if err != nil {
		return err
	}
	if _, err := os.Stat(own); err != nil {
		return err
	}
	root, err := findRoot()
	if err != nil {
		return err
	}
	js, err := json.Marshal(map[string]any{"Replace": map[string]string{filepath.Join(root, steps[n-1].dir, "lock.go"): own}})
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp("", "redislock-explore-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	overlay := filepath.Join(tmp, "overlay.json")
	if err := os.WriteFile(overlay, js, 0o666); err != nil {
		return err
	}
	cmd := exec.Command("go", append([]string{"run", "-overlay", overlay, "./docs/explore", "-step", fmt.Sprint(n)}, args...)...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = root, os.Stdout, os.Stderr
	fmt.Printf("%s in place of the lock of step %02d\n", own, n)
	return cmd.Run()
}

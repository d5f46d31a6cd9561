package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/mutant"
)

// runWhyExplore asks the explorer about the mutants on which no story fails: it plays every
// schedule under every fault on each of them. It is an error when it finds what
// equivalent.txt does not say, or does not find what that says.
func (t *tour) runWhyExplore(ctx context.Context, steps []course.Step) error {
	for _, s := range steps {
		reasons, _, err := t.readKnown(s)
		if err != nil {
			return err
		}
		reasons = slices.DeleteFunc(reasons, func(r reason) bool {
			return r.Fate != equivalent && r.Fate != byExplorer && r.Fate != survived
		})
		if len(reasons) == 0 {
			t.printf("%s: the stories let no change pass\n", s.Label())
			continue
		}
		explorer, err := t.explorerOn(ctx, s)
		if err != nil {
			return err
		}
		if found, err := t.explore(ctx, explorer, s, 0); err != nil {
			return err
		} else if found != "" {
			return fmt.Errorf("the explorer is not content with %s as it is: %s", s.Subject(), found)
		}
		same := 0
		for _, r := range reasons {
			found, err := t.explore(ctx, explorer, s, r.N)
			switch {
			case err != nil:
				return err
			case found != "":
				t.printf("  %d %s\n    %s\n", r.Line, r.Key(), found)
			default:
				same++
			}
			if (found != "") != (r.Fate == byExplorer) {
				err = fmt.Errorf("%s:%d: %s: the explorer finds %q: mend its entry in %s", s.Path(), r.Line, r.Key(), found, excusesFile)
			}
			if err != nil {
				return err
			}
		}
		t.printf("%s: on %d of %d changes that no story notices, every schedule of the explorer ends as on the lock\n", s.Label(), same, len(reasons))
	}
	return nil
}

// explorerOn compiles the explorer with the mutants of a step, and returns its path.
func (t *tour) explorerOn(ctx context.Context, s course.Step) (string, error) {
	defer t.progress("building the explorer with all changes of " + s.Label())()
	f, err := mutant.Read(t.path(s.Dir, ""), t.path(s.Dir, course.LockFile))
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(t.tmp, "explorer-")
	if err != nil {
		return "", err
	}
	replace := map[string]string{}
	for name, text := range f.Files() {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		replace[t.path(s.Dir, name)] = filepath.Join(dir, name)
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o666); err != nil {
			return "", err
		}
	}
	over, err := writeOverlay(dir, replace)
	if err != nil {
		return "", err
	}
	explorer := filepath.Join(dir, "explorer.exe")
	if out, err := command(ctx, t.root, "go", "build", "-overlay", over, "-o", explorer, "./docs/explore").CombinedOutput(); err != nil {
		return "", fmt.Errorf("the explorer did not compile: %w\n%s", err, out)
	}
	return explorer, nil
}

// explore plays all schedules on a mutant, 0 for none, and returns in what it differs from
// what is expected of the lock.
func (t *tour) explore(ctx context.Context, explorer string, s course.Step, n int) (found string, err error) {
	cmd := command(ctx, t.root, explorer, "-step", s.Arg())
	cmd.Env = append(os.Environ(), mutant.Env+"="+strconv.Itoa(n))
	var noise bytes.Buffer
	cmd.Stderr = &noise
	if err = cmd.Run(); err == nil || ctx.Err() != nil {
		return "", ctx.Err()
	}
	if !strings.Contains(noise.String(), "expected") {
		return "", fmt.Errorf("the explorer broke on change %d of %s: %w\n%s", n, s.Label(), err, noise.String())
	}
	found, _, _ = strings.Cut(noise.String(), "\n")
	return found, nil
}

package main

import (
	"cmp"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"example.com/redislock-steps/docs/internal/story"
)

// What lets go test, and so a debugger, play a step's stories on the learner's lock.
const (
	overlayFile = myDir + "/_overlay.json"
	overlayDir  = myDir + "/_overlay" // of the lock as the stories play it
)

// writeOverlay writes the file that go test -overlay takes. The compiler and the debugger find
// the lock's lines in mylock, where they are.
func (t *tour) writeOverlay(req request) error {
	if err := t.prepare(req); err != nil {
		return err
	}
	s := req.steps[0]
	src, err := t.readLock(myDir)
	if err != nil {
		return err
	}
	a := attemptAt{step: s, src: src}
	b, err := t.tryBuild(&a)
	if err != nil {
		return err
	}
	delete(b.Replace, watchFile)
	for name, by := range b.Replace {
		if filepath.Dir(by) != filepath.Clean(t.Tmp) {
			continue
		}
		b.Replace[name] = t.Path(overlayDir, name)
		text := []byte(t.stubs(s, src))
		if src[name] != nil {
			text = linesOf(t.Path(myDir, name), src[name])
		}
		if err := writeWhole(b.Replace[name], text); err != nil {
			return err
		}
	}
	replace := t.Overlay(b)
	for name, by := range replace { // the second reading has copies that end with this command
		if filepath.Dir(by) != filepath.Clean(t.Tmp) {
			continue
		}
		text, err := os.ReadFile(by)
		replace[name] = t.Path(overlayDir, filepath.Base(by))
		if err := cmp.Or(err, writeWhole(replace[name], text)); err != nil {
			return err
		}
	}
	js, _ := json.MarshalIndent(map[string]any{"Replace": replace}, "", "\t") // of texts
	if err := writeWhole(t.Path("", overlayFile), append(js, '\n')); err != nil {
		return err
	}
	test := "TestX"
	if req.names != nil {
		test = story.Of(req.names[0])
	}
	t.prose("", "%s is there. With it, go test plays %s on %s, with -race or in a debugger as well:\n", overlayFile, s.Dir, myDir)
	command := []string{"go", "test", "-overlay", overlayFile, "-run", "'^" + test + "$'", "-v", "./" + s.Dir}
	t.printf("%s\n", strings.Join(command, " "))
	t.prose("", "\nAfter each change of the lock, write it anew.")
	return nil
}

package main

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// editions returns the Chinese pages of the files named, or all there are.
func (b *library) editions(files []string) (list []string, err error) {
	all := len(files) == 0
	if all {
		files, err = pages(".")
	}
	for _, file := range files {
		file = chinese(filepath.ToSlash(filepath.Clean(file)))
		switch {
		case !b.has(file) && !all:
			return nil, fmt.Errorf("%s does not exist", file)
		case b.has(file) && !slices.Contains(list, file):
			list = append(list, file)
		}
	}
	return list, err
}

// carryOver writes what is the same in both editions, and returns where they disagree. It
// runs no command: pictures are drawn by runHere.
func carryOver(files []string) error {
	b := newLibrary()
	list, err := b.editions(files)
	if err != nil {
		return err
	}
	var wrong []string
	for _, file := range list {
		page, lost, err := b.carry(file, nil)
		if err != nil {
			return err
		}
		if err := errors.Join(b.write(file, page), b.write(english(file), b.withLanguages(english(file), b.text(english(file))))); err != nil {
			return err
		}
		wrong = append(append(append(wrong, lost...), b.disagree(file)...), form(file, page)...)
	}
	if wrong != nil {
		return errors.New(strings.Join(wrong, "\n"))
	}
	fmt.Printf("%d Chinese pages are in step\n", len(list))
	return nil
}

// write changes a page on disk, if it is another one.
func (b *library) write(file, page string) error {
	b.set(file, page)
	_, err := put(file, page, false)
	return err
}

// stamp says of pages, or of one section (page.md#anchor), that the Chinese says what the
// English says.
func stamp(names []string) error {
	if len(names) == 0 {
		return errors.New("name a page, or a section: go run -C docs/keep ./pages -stamp docs/read/redlock.md#healing")
	}
	b := newLibrary()
	for _, name := range names {
		name, anchor, _ := strings.Cut(name, "#")
		list, err := b.editions([]string{name})
		if err != nil {
			return err
		}
		if err := b.stampPage(list[0], anchor); err != nil {
			return err
		}
	}
	return nil
}

func (b *library) stampPage(file, anchor string) error {
	ours, theirs := b.sections(file), b.sections(english(file))
	if !sameTree(ours, theirs) {
		return errors.New(otherTree(file, ours, theirs))
	}
	found := false
	all := strings.Split(b.text(file), "\n")
	for i, s := range slices.Backward(ours) { // from the end: the lines above keep their numbers
		if anchor != "" && anchor != s.slug && anchor != theirs[i].slug {
			continue
		}
		found = true
		at := s.from - 1
		line := "<!-- en: " + theirs[i].hash() + " -->"
		if at > 0 && stampLine.MatchString(all[at-1]) {
			all[at-1] = line
			continue
		}
		all = slices.Insert(all, at, line)
	}
	if !found {
		var slugs []string
		for _, s := range theirs {
			slugs = append(slugs, s.slug)
		}
		return fmt.Errorf("%s has no section #%s; there are: %s", english(file), anchor, strings.Join(slugs, " "))
	}
	return b.write(file, strings.Join(all, "\n"))
}

// showStale prints what has changed in English since it was translated.
func showStale(files []string) error {
	b := newLibrary()
	list, err := b.editions(files)
	if err != nil {
		return err
	}
	n := 0
	for _, file := range list {
		ours, theirs := b.sections(file), b.sections(english(file))
		if !sameTree(ours, theirs) {
			fmt.Println(otherTree(file, ours, theirs))
			n++
			continue
		}
		var old map[string]string // sections by their hash
		for i, s := range ours {
			e := theirs[i]
			if s.stamp == e.hash() {
				continue
			}
			n++
			fmt.Printf("%s#%s\n  %s:%d: %s\n", english(file), e.slug, file, s.from, s.title)
			if s.stamp == "" {
				fmt.Println("  it has never been stamped")
				continue
			}
			if old == nil {
				if old, err = history(english(file)); err != nil {
					return err
				}
			}
			text, ok := old[s.stamp]
			if !ok {
				fmt.Printf("  the text that was translated (%s) is not in the history of %s: compare the whole section\n", s.stamp, english(file))
				continue
			}
			if err := showDiff(text, e.text()); err != nil {
				return err
			}
		}
	}
	if n == 0 {
		fmt.Printf("%d Chinese pages are in step\n", len(list))
		return nil
	}
	fmt.Printf("\n%d to look at; when one says what the English says: go run -C docs/keep ./pages -stamp page.md#anchor\n", n)
	return nil
}

// history returns the sections that a page has ever had, by their hashes.
func history(file string) (map[string]string, error) {
	commits, err := git("log", "--format=%H", "--", file)
	if err != nil {
		return nil, err
	}
	found := map[string]string{}
	for commit := range strings.FieldsSeq(commits) {
		page, err := git("show", commit+":./"+file)
		if err != nil {
			continue // it was deleted there
		}
		for _, s := range sections(strings.ReplaceAll(page, "\r\n", "\n")) {
			found[s.hash()] = cmp.Or(found[s.hash()], s.text())
		}
	}
	return found, nil
}

func git(args ...string) (string, error) {
	out, err := exec.Command("git", args...).Output()
	if err != nil {
		return "", fmt.Errorf("git %s: %w", strings.Join(args, " "), err)
	}
	return string(out), nil
}

// showDiff prints the words that have changed.
func showDiff(old, now string) error {
	dir, err := os.MkdirTemp("", "stale")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	a, b := filepath.Join(dir, "translated"), filepath.Join(dir, "now")
	if err := errors.Join(os.WriteFile(a, []byte(old), 0o644), os.WriteFile(b, []byte(now), 0o644)); err != nil {
		return err
	}
	cmd := exec.Command("git", "diff", "--no-index", "--no-color", "--word-diff=plain", "-U1", a, b)
	out, err := cmd.Output()
	var differs *exec.ExitError
	if err != nil && !(errors.As(err, &differs) && differs.ExitCode() == 1) {
		return fmt.Errorf("git diff: %w", err)
	}
	_, diff, _ := strings.Cut(string(out), "\n@@")
	for line := range strings.SplitSeq(strings.TrimSpace(diff), "\n") {
		if !strings.Contains(line, "@@") {
			fmt.Println("  | " + line)
		}
	}
	return nil
}

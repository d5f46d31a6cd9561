package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
)

// ownFiles differ from step to step by intent. All others are copies.
var ownFiles = [...]string{lockFile, bugFile, newFile, "README.md"}

func (t *tour) runCopies() error {
	n, problems, err := checkCopies(os.DirFS(t.root))
	if err != nil {
		return err
	}
	if len(problems) > 0 {
		return fmt.Errorf("the copies in the step folders differ:\n%s", strings.TrimRight(indent("  ", problems), "\n"))
	}
	t.printf("%s, all copies equal\n", count(n, "file"))
	return nil
}

// checkCopies compares the step folders of a repository. It returns the number of files compared.
func checkCopies(root fs.FS) (n int, problems []string, err error) {
	var folders []map[string][]byte
	for _, s := range steps {
		files, err := filesOf(root, s.dir)
		if errors.Is(err, fs.ErrNotExist) {
			problems = append(problems, fmt.Sprintf("the folder %s is missing", s.dir))
		} else if err != nil {
			return 0, nil, err
		}
		folders = append(folders, files)
		n += len(files)
	}
	problems = append(problems, misplaced(folders)...)
	for _, name := range allNames(folders) {
		problems = append(problems, compare(folders, name)...)
	}
	labs, more, err := compareLabs(root, folders[len(folders)-1])
	return n + labs, append(problems, more...), err
}

// compareLabs compares the epilogue's laboratory with that of the last step. Only the package clause differs.
func compareLabs(root fs.FS, last map[string][]byte) (n int, problems []string, err error) {
	names, err := fs.Glob(root, epilogue.dir+"/lab*_test.go")
	if err != nil {
		return 0, nil, err
	}
	if names == nil {
		return 0, []string{epilogue.dir + " has no laboratory: lab_test.go is missing"}, nil
	}
	dir := steps[len(steps)-1].dir
	for _, name := range names {
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return 0, nil, err
		}
		want, ok := last[path.Base(name)]
		want = bytes.Replace(want, []byte("package redislock\n"), []byte("package fencing\n"), 1)
		switch {
		case !ok:
			problems = append(problems, fmt.Sprintf("%s is no copy: %s has no such file", name, dir))
		case !bytes.Equal(text, want):
			problems = append(problems, fmt.Sprintf("%s differs from that in %s, at line %d", name, dir, differsAt(want, text)))
		}
	}
	return len(names), problems, nil
}

// filesOf reads the files of a folder that have to be copies. Hidden files (of editors and systems) are none.
func filesOf(root fs.FS, dir string) (map[string][]byte, error) {
	files := map[string][]byte{}
	err := fs.WalkDir(root, dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel := strings.TrimPrefix(name, dir+"/")
		switch {
		case strings.HasPrefix(path.Base(name), "."):
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		case d.IsDir() || slices.Contains(ownFiles[:], rel):
			return nil
		}
		files[rel], err = fs.ReadFile(root, name)
		return err
	})
	return files, err
}

// misplaced reports every test file that does not begin in its own step, or goes beyond its last.
func misplaced(folders []map[string][]byte) []string {
	var problems []string
	for _, f := range testFiles() {
		for i, s := range steps {
			_, ok := folders[i][f.name]
			switch {
			case ok && s.n < f.from:
				problems = append(problems, fmt.Sprintf("%s is in %s: it begins in %s", f.name, s.dir, steps[f.from-1].dir))
			case ok && s.n > f.to:
				problems = append(problems, fmt.Sprintf("%s is in %s: it ends with %s", f.name, s.dir, steps[f.to-1].dir))
			case !ok && s.n == f.from:
				problems = append(problems, fmt.Sprintf("%s is missing in %s, where it begins", f.name, s.dir))
			}
		}
	}
	return problems
}

// compare follows one file through the folders.
func compare(folders []map[string][]byte, name string) []string {
	var problems []string
	last := -1 // the folder that had it before
	for i, files := range folders[:lastFolder(name)] {
		text, ok := files[name]
		switch {
		case !ok && last >= 0:
			problems = append(problems, fmt.Sprintf("%s is missing in %s: %s has it", name, steps[i].dir, steps[last].dir))
			continue
		case !ok:
			continue
		case last >= 0 && !bytes.Equal(text, folders[last][name]):
			problems = append(problems, fmt.Sprintf("%s in %s differs from that in %s, at line %d",
				name, steps[i].dir, steps[last].dir, differsAt(folders[last][name], text)))
		}
		last = i
	}
	return problems
}

// lastFolder returns the number of the last step that has to have the file.
func lastFolder(name string) int {
	for _, f := range besides {
		if f.name == name {
			return f.to
		}
	}
	return len(steps)
}

// differsAt returns the first line that differs.
func differsAt(a, b []byte) int {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	return 1 + bytes.Count(a[:i], []byte("\n"))
}

func allNames(folders []map[string][]byte) []string {
	var list []string
	for _, files := range folders {
		for name := range files {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return slices.Compact(list)
}

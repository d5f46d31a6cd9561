package main

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// unified returns the lines of a unified diff, none if the texts are equal. Around a change, a hunk
// shows three lines.
func unified(oldName, newName, oldText, newText string) (out []string) {
	list := source.Diff(lines(oldText), lines(newText))
	shown := func(i int) bool { // a change, or near one
		near := list[max(0, i-3):min(len(list), i+4)]
		return slices.ContainsFunc(near, func(e source.Edit) bool { return e.Op != ' ' })
	}
	oldLine, newLine := 1, 1 // of list[from]
	for from, to := 0, 0; from < len(list); from = to {
		for to < len(list) && shown(to) == shown(from) {
			to++
		}
		of, oldSize, newSize := hunk(oldLine, newLine, list[from:to])
		if shown(from) {
			out = append(out, of...)
		}
		oldLine, newLine = oldLine+oldSize, newLine+newSize
	}
	if out == nil {
		return nil
	}
	return append([]string{"--- " + oldName, "+++ " + newName}, out...)
}

// hunk writes the edits from these lines on. An empty side counts from the line before it.
func hunk(oldLine, newLine int, list []source.Edit) (out []string, oldSize, newSize int) {
	out = []string{""}
	for _, e := range list {
		oldSize += boolean(e.Op != '+')
		newSize += boolean(e.Op != '-')
		out = append(out, string(e.Op)+e.Text)
	}
	out[0] = fmt.Sprintf("@@ -%d,%d +%d,%d @@", oldLine-boolean(oldSize == 0), oldSize, newLine-boolean(newSize == 0), newSize)
	return out, oldSize, newSize
}

// A side is a lock that is compared with another one.
type side struct {
	dir   string
	whose string // for a learner
	files lock
	list  []source.Declaration
}

func (t *tour) side(dir, whose string, read func(dir string) (lock, error)) (side, error) {
	l, err := read(dir)
	if err != nil {
		return side{}, err
	}
	list, err := l.declarations()
	if err != nil {
		return side{}, errorf("cannot compare what Go cannot read: %w", err)
	}
	return side{dir, whose, l, list}, nil
}

// path is that of a file from the repository's root.
func (s side) path(name string) string {
	if s.files[name] == nil {
		return "/dev/null"
	}
	return s.dir + "/" + name
}

// file is how a heading names the file of a declaration. One side may have none.
func (s side) file(own, other string) string {
	if s.whose == "" {
		return s.path(cmp.Or(own, other))
	}
	return say("%s (%s)", path.Join(s.dir, own), s.whose)
}

// runDiff compares lock.go, or what the epilogue has in its place, with that of the step
// before. Of each other file that is new or changed it says so. With names, it compares these
// declarations only. Comments can be Chinese up to step 04: those of step 05 have none.
func (t *tour) runDiff(_ context.Context, req request) error {
	s := req.steps[0]
	read := []func(dir string) (lock, error){t.startIn, t.readLock}[boolean(s.N > 4)]
	before, err := t.ofCourse(s.Before(), read)
	after, wrong := t.ofCourse(s, read)
	if err := cmp.Or(err, wrong); err != nil {
		return err
	}
	if req.names != nil {
		return t.diffNamed(before, after, req.names)
	}
	more := false
	for _, name := range after.files.names() {
		text, verb := string(after.files[name]), "has changed"
		list := unified(before.path(name), after.path(name), string(before.files[name]), text)
		if list == nil || name == s.Source {
			t.diffLines(list)
			continue
		}
		if before.files[name] == nil {
			verb = "is new"
		}
		says := say("%s %s, %s", name, verb, count(len(lines(text)), "line"))
		if about := source.Preface(after.files[name]); about != "" {
			says += ": " + about
		}
		t.printf("\n")
		t.strong("%s", says)
		more = true
	}
	if more {
		t.printf("\nTheir declarations, by name: go run ./docs/tour diff %s NAME...\n", s.Arg())
	}
	return nil
}

// ofCourse reads the files in which a step may differ from the one before.
func (t *tour) ofCourse(s course.Step, read func(dir string) (lock, error)) (side, error) {
	of, err := t.side(s.Dir, "", read)
	if s.Source != course.LockFile { // of the epilogue, the check
		maps.DeleteFunc(of.files, func(name string, _ []byte) bool { return name != s.Source })
		of.list = slices.DeleteFunc(of.list, func(d source.Declaration) bool { return d.File != s.Source })
	}
	return of, err
}

// diffNamed compares declarations, all lines of both, each under the names of its files.
func (t *tour) diffNamed(before, after side, names []string) error {
	var heading []string
	for _, name := range names {
		found, err := source.Find(slices.Concat(after.list, before.list), name)
		if err != nil {
			return usageError(err.Error())
		}
		a, b := declared(before.list, found.Name), declared(after.list, found.Name)
		of := []string{"--- " + before.file(a.File, b.File), "+++ " + after.file(b.File, a.File)}
		if !slices.Equal(of, heading) {
			heading = of
			t.diffLines(heading)
		}
		list, _, _ := hunk(a.From, b.From, source.Diff(lines(a.Text), lines(b.Text)))
		t.diffLines(list)
	}
	return nil
}

// declared returns an empty declaration if there is none of that full name.
func declared(list []source.Declaration, name string) source.Declaration {
	if i := slices.IndexFunc(list, func(d source.Declaration) bool { return d.Name == name }); i >= 0 {
		return list[i]
	}
	return source.Declaration{From: 1}
}

func (t *tour) diffLines(list []string) {
	for _, line := range list {
		color := map[byte]string{'@': cyan, '-': red, '+': green}[line[0]]
		if strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "+++ ") {
			color = bold
		}
		t.printf("%s\n", t.paint(color, line))
	}
}

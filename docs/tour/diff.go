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

// contextLines is how many equal lines a hunk shows around a change.
const contextLines = 3

// unified returns the lines of a unified diff, none if the texts are equal.
func unified(oldName, newName, oldText, newText string) []string {
	list := source.Diff(lines(oldText), lines(newText))
	shown := func(i int) bool { // a change, or near one
		near := list[max(0, i-contextLines):min(len(list), i+contextLines+1)]
		return slices.ContainsFunc(near, func(e source.Edit) bool { return e.Op != ' ' })
	}
	var out []string
	oldLine, newLine := 1, 1 // of list[from]
	for from, to := 0, 0; from < len(list); from = to {
		for to < len(list) && shown(to) == shown(from) {
			to++
		}
		if shown(from) {
			out = append(out, hunk(oldLine, newLine, list[from:to])...)
		}
		for _, e := range list[from:to] {
			oldLine += boolean(e.Op != '+')
			newLine += boolean(e.Op != '-')
		}
	}
	if out == nil {
		return nil
	}
	return append([]string{"--- " + oldName, "+++ " + newName}, out...)
}

// hunk writes the edits from these lines on.
func hunk(oldLine, newLine int, list []source.Edit) []string {
	oldSize, newSize := 0, 0
	var out []string
	for _, e := range list {
		oldSize += boolean(e.Op != '+')
		newSize += boolean(e.Op != '-')
		out = append(out, string(e.Op)+e.Text)
	}
	return append([]string{fmt.Sprintf("@@ -%s +%s @@", span(oldLine, oldSize), span(newLine, newSize))}, out...)
}

// span writes first line and length; an empty span counts from the line before it.
func span(from, size int) string {
	if size == 0 {
		from--
	}
	return fmt.Sprintf("%d,%d", from, size)
}

// A side is a lock that is compared with another one.
type side struct {
	dir   string
	whose string // for a learner
	files lock
	list  []source.Declaration
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
// declarations only.
func (t *tour) runDiff(_ context.Context, req request) error {
	s := req.steps[0]
	before, err := t.ofCourse(s.Before())
	if err != nil {
		return err
	}
	after, err := t.ofCourse(s)
	if err != nil {
		return err
	}
	if req.names != nil {
		return t.diffNamed(before, after, req.names)
	}
	more := false
	for _, name := range after.files.names() {
		list := unified(before.path(name), after.path(name), string(before.files[name]), string(after.files[name]))
		switch {
		case list == nil:
		case name == s.Source:
			t.diffLines(list)
		default:
			more = true
			t.printf("\n")
			verb := "has changed"
			if before.files[name] == nil {
				verb = "is new"
			}
			text := say("%s %s, %s", name, verb, count(len(lines(string(after.files[name]))), "line"))
			if about := source.Preface(after.files[name]); about != "" {
				text += ": " + about
			}
			t.strong("%s", text)
		}
	}
	if more {
		t.printf("\nTheir declarations, by name: go run ./docs/tour diff %s NAME...\n", s.Arg())
	}
	return nil
}

// ofCourse reads the files in which a step may differ from the one before.
func (t *tour) ofCourse(s course.Step) (side, error) {
	of, err := t.side(s.Dir, "")
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
		t.diffLines(hunk(a.From, b.From, source.Diff(lines(a.Text), lines(b.Text))))
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
	colors := []struct{ begins, color string }{{"--- ", bold}, {"+++ ", bold}, {"@@", cyan}, {"-", red}, {"+", green}, {"", ""}}
	for _, line := range list {
		i := slices.IndexFunc(colors, func(c struct{ begins, color string }) bool { return strings.HasPrefix(line, c.begins) })
		t.printf("%s\n", t.paint(colors[i].color, line))
	}
}

func (t *tour) side(dir, whose string) (side, error) {
	l, err := t.readLock(dir)
	if err != nil {
		return side{}, err
	}
	list, err := l.declarations()
	if err != nil {
		return side{}, errorf("cannot compare what Go cannot read: %w", err)
	}
	return side{dir, whose, l, list}, nil
}

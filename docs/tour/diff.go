package main

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// contextLines is how many equal lines a hunk shows around a change.
const contextLines = 3

// lines splits a text; LF or CRLF makes no difference.
func lines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// unified returns the lines of a unified diff, none if the texts are equal.
func unified(oldName, newName, oldText, newText string) []string {
	list := source.Diff(lines(oldText), lines(newText))
	var out []string
	oldLine, newLine := 1, 1 // of list[at]
	at := 0
	for at < len(list) {
		from, to := nextHunk(list, at)
		if from == to {
			break
		}
		for _, e := range list[at:from] {
			oldLine, newLine = advance(e, oldLine, newLine)
		}
		oldEnd, newEnd := oldLine, newLine
		for _, e := range list[from:to] {
			oldEnd, newEnd = advance(e, oldEnd, newEnd)
		}
		out = append(out, fmt.Sprintf("@@ -%s +%s @@", span(oldLine, oldEnd), span(newLine, newEnd)))
		for _, e := range list[from:to] {
			out = append(out, string(e.Op)+e.Text)
		}
		oldLine, newLine, at = oldEnd, newEnd, to
	}
	if out == nil {
		return nil
	}
	return append([]string{"--- " + oldName, "+++ " + newName}, out...)
}

// nextHunk returns the next changes from at on, with their context: changes whose
// contexts touch are one hunk.
func nextHunk(list []source.Edit, at int) (from, to int) {
	for at < len(list) && list[at].Op == ' ' {
		at++
	}
	if at == len(list) {
		return at, at
	}
	from = max(0, at-contextLines)
	equal := 0
	for to = at; to < len(list) && equal <= 2*contextLines; to++ {
		if list[to].Op == ' ' {
			equal++
		} else {
			equal = 0
		}
	}
	return from, to - max(0, equal-contextLines)
}

func advance(e source.Edit, oldLine, newLine int) (int, int) {
	if e.Op != '+' {
		oldLine++
	}
	if e.Op != '-' {
		newLine++
	}
	return oldLine, newLine
}

// span writes first line and length; an empty span counts from the line before it.
func span(from, end int) string {
	size := end - from
	if size == 0 {
		from--
	}
	return fmt.Sprintf("%d,%d", from, size)
}

// runDiff compares lock.go, or what the epilogue has in its place, with that of the step
// before. Of each other file that is new or changed it says so, or with all compares it as
// well. With names, it compares these declarations only.
func (t *tour) runDiff(s course.Step, names []string, all bool) error {
	before, err := t.differing(s.Before())
	if err != nil {
		return err
	}
	after, err := t.differing(s)
	if err != nil {
		return err
	}
	if names != nil {
		return t.diffNamed(before, after, names)
	}
	var files []string
	for _, f := range slices.Concat(after, before) {
		if !slices.Contains(files, f.name) {
			files = append(files, f.name)
		}
	}
	equal, more := true, false
	for _, name := range files {
		a, b := fileNamed(before, name), fileNamed(after, name)
		list := unified(a.path, b.path, a.text, b.text)
		switch {
		case list == nil:
			continue
		case all || name == s.Source:
			t.diffLines(list)
		default:
			more = true
			t.printf("\n")
			t.strong("%s", b.says(a))
		}
		equal = false
	}
	switch {
	case equal:
		t.printf("%s and %s are equal\n", before[0].path, after[0].path)
	case more:
		t.printf("\nAll of it: go run ./docs/tour diff %s -all\n", s.Arg())
	}
	return nil
}

// A sourceFile is one of a lock.
type sourceFile struct {
	name string
	path string // from the repository's root
	text string
}

// differing reads the files in which a step may differ from the one before.
func (t *tour) differing(s course.Step) (list []sourceFile, err error) {
	names := []string{s.Source}
	if s.Source == course.LockFile {
		names = t.sources(s.Dir)
	}
	for _, name := range names {
		text, err := os.ReadFile(t.path(s.Dir, name))
		if err != nil {
			return nil, errorf("cannot read %s: %w", s.Subject(), err)
		}
		list = append(list, sourceFile{name, s.Dir + "/" + name, string(text)})
	}
	return list, nil
}

// fileNamed returns an empty file if there is none of that name.
func fileNamed(list []sourceFile, name string) sourceFile {
	if i := slices.IndexFunc(list, func(f sourceFile) bool { return f.name == name }); i >= 0 {
		return list[i]
	}
	return sourceFile{name: name, path: noFile}
}

const noFile = "/dev/null"

// says is what has become of a file, with its own words about itself.
func (f sourceFile) says(before sourceFile) string {
	if f.path == noFile {
		return say("%s is gone", f.name)
	}
	verb := "has changed"
	if before.path == noFile {
		verb = "is new"
	}
	text := say("%s %s, %s", f.name, verb, count(len(lines(f.text)), "line"))
	if about, err := source.Preface([]byte(f.text)); err == nil && about != "" {
		text += ": " + about
	}
	return text
}

// diffNamed compares declarations, each under the names of its files.
func (t *tour) diffNamed(before, after []sourceFile, names []string) error {
	old, err := declarations(before)
	if err != nil {
		return err
	}
	now, err := declarations(after)
	if err != nil {
		return err
	}
	var heading []string
	for _, name := range names {
		hunk, err := namedDiff(old, now, []string{name})
		if err != nil {
			return err
		}
		d, _ := source.Find(slices.Concat(now, old), name) // namedDiff has found it as well
		from, to := declared(old, d.Name).File, declared(now, d.Name).File
		a, b := fileNamed(before, cmp.Or(from, to)), fileNamed(after, cmp.Or(to, from))
		if of := []string{"--- " + a.path, "+++ " + b.path}; !slices.Equal(of, heading) {
			heading = of
			t.diffLines(heading)
		}
		t.diffLines(hunk)
	}
	return nil
}

func declarations(files []sourceFile) (all []source.Declaration, err error) {
	for _, f := range files {
		list, err := source.Parse(f.path, []byte(f.text))
		if err != nil {
			return nil, err
		}
		all = append(all, list...)
	}
	return all, nil
}

// namedDiff compares declaration by declaration, all lines of both.
func namedDiff(before, after []source.Declaration, names []string) ([]string, error) {
	var out []string
	for _, name := range names {
		found, err := source.Find(slices.Concat(after, before), name)
		if err != nil {
			return nil, usageError(err.Error())
		}
		a, b := declared(before, found.Name), declared(after, found.Name)
		oldLines, newLines := lines(a.Text), lines(b.Text)
		out = append(out, fmt.Sprintf("@@ -%s +%s @@", span(a.From, a.From+len(oldLines)), span(b.From, b.From+len(newLines))))
		for _, e := range source.Diff(oldLines, newLines) {
			out = append(out, string(e.Op)+e.Text)
		}
	}
	return out, nil
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
		t.printf("%s\n", t.paint(diffColor(line), line))
	}
}

func diffColor(line string) string {
	switch {
	case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
		return bold
	case strings.HasPrefix(line, "@@"):
		return cyan
	case strings.HasPrefix(line, "-"):
		return red
	case strings.HasPrefix(line, "+"):
		return green
	}
	return ""
}

package main

import (
	"fmt"
	"os"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

// contextLines is how many equal lines a hunk shows around a change.
const contextLines = 3

// An edit is one line of a diff: ' ' in both, '-' in the old, '+' in the new text.
type edit struct {
	op   byte
	text string
}

// lines splits a text; LF or CRLF makes no difference.
func lines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// edits turns a into b by way of their longest common subsequence.
func edits(a, b []string) []edit {
	// size[i][j] is the length of the longest common subsequence of a[i:] and b[j:].
	size := make([][]int, len(a)+1)
	for i := range size {
		size[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if a[i] == b[j] {
				size[i][j] = size[i+1][j+1] + 1
			} else {
				size[i][j] = max(size[i+1][j], size[i][j+1])
			}
		}
	}
	var list []edit
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i] == b[j]:
			list = append(list, edit{' ', a[i]})
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && size[i+1][j] >= size[i][j+1]:
			list = append(list, edit{'-', a[i]})
			i++
		default:
			list = append(list, edit{'+', b[j]})
			j++
		}
	}
	return list
}

// unified returns the lines of a unified diff, none if the texts are equal.
func unified(oldName, newName, oldText, newText string) []string {
	list := edits(lines(oldText), lines(newText))
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
			out = append(out, string(e.op)+e.text)
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
func nextHunk(list []edit, at int) (from, to int) {
	for at < len(list) && list[at].op == ' ' {
		at++
	}
	if at == len(list) {
		return at, at
	}
	from = max(0, at-contextLines)
	equal := 0
	for to = at; to < len(list) && equal <= 2*contextLines; to++ {
		if list[to].op == ' ' {
			equal++
		} else {
			equal = 0
		}
	}
	return from, to - max(0, equal-contextLines)
}

func advance(e edit, oldLine, newLine int) (int, int) {
	if e.op != '+' {
		oldLine++
	}
	if e.op != '-' {
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

// runDiff compares the files in which s and the step before it differ, or the named
// declarations of theirs.
func (t *tour) runDiff(s course.Step, names []string) error {
	oldName, newName := s.Before().Path(), s.Path()
	oldText, err := os.ReadFile(t.path("", oldName))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", s.Before().Subject(), err)
	}
	newText, err := os.ReadFile(t.path("", newName))
	if err != nil {
		return fmt.Errorf("cannot read %s: %w", s.Subject(), err)
	}
	list := unified(oldName, newName, string(oldText), string(newText))
	if names != nil {
		before, err := source.Parse(oldName, oldText)
		if err != nil {
			return err
		}
		after, err := source.Parse(newName, newText)
		if err != nil {
			return err
		}
		if list, err = namedDiff(before, after, names); err != nil {
			return err
		}
		list = slices.Concat([]string{"--- " + oldName, "+++ " + newName}, list)
	}
	if list == nil {
		t.printf("%s and %s are equal\n", oldName, newName)
	}
	t.diffLines(list)
	return nil
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
		for _, e := range edits(oldLines, newLines) {
			out = append(out, string(e.op)+e.text)
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

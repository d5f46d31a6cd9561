package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"text/template"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/picture"
)

const matrixFile = "docs/read/matrix.md"

// The last row: what no lock holds, and the epilogue does. For the locks, its story is in
// a file that no step has; the epilogue has the story of the same name, told with fencing
// tokens.
const (
	lateWrite     = "paused holder's stale write"
	lateWriteDir  = "docs/fencing/testdata"
	lateWriteFile = "late_write_test.go"
)

// A cell is one guarantee against one lock.
type cell struct {
	Guarantee, Lock course.Step
	Results         []result
}

// failed returns what is said of the stories that failed.
func (c cell) failed(says func(result) string) (list []string) {
	for _, r := range c.Results {
		if r.verdict == failed {
			list = append(list, says(r))
		}
	}
	return list
}

// Failing returns the names of the stories that failed, and Messages what they say.
func (c cell) Failing() []string { return c.failed(func(r result) string { return r.name }) }
func (c cell) Messages() []string {
	return c.failed(func(r result) string { return r.log.failing(r.name)[0].message()[0] })
}

func (c cell) Holds() bool { return c.Failing() == nil }

// Mark is the verdict on the page. The shapes differ without colour.
func (c cell) Mark() string {
	if c.Holds() {
		return "✓"
	}
	return "**✗**"
}

func (c cell) label() string {
	if c.Guarantee.IsEpilogue() {
		return fmt.Sprintf("the %s on %s", lateWrite, c.Lock.Subject())
	}
	return fmt.Sprintf("guarantee %d (%s) on the lock %s", c.Guarantee.N, c.Guarantee.File, c.Lock.Of())
}

// check reports the stories that neither passed nor failed by an assertion: they make the
// cell say nothing.
func (c cell) check() error {
	var odd []string
	for _, r := range c.Results {
		if r.verdict != passed && r.verdict != failed {
			odd = append(odd, fmt.Sprintf("\n  %s: %s", r.name, r.why))
		}
	}
	if odd == nil {
		return nil
	}
	return fmt.Errorf("%s says nothing:%s", c.label(), strings.Join(odd, ""))
}

// staircase returns the cells that break the rule: guarantee k holds exactly from step k
// on, the last in the epilogue.
func staircase(cells []cell) error {
	var errs []error
	for _, c := range cells {
		want := c.Lock.N >= c.Guarantee.N
		switch {
		case want && !c.Holds():
			errs = append(errs, fmt.Errorf("%s should hold and fails: %s", c.label(), strings.Join(c.Failing(), ", ")))
		case !want && c.Holds():
			errs = append(errs, fmt.Errorf("%s should fail and holds", c.label()))
		}
	}
	return errors.Join(errs...)
}

// cells runs the guarantees against the locks, one binary per lock, and returns them lock by lock.
func (t *tour) cells(ctx context.Context) ([]cell, error) {
	late, err := t.stories(lateWriteDir, []course.File{{Name: lateWriteFile}})
	if err != nil {
		return nil, err
	}
	list := late
	var builds []build
	for _, s := range course.Steps {
		own, err := t.stories(course.Last.Dir, []course.File{{Name: s.File}}) // its folder has every guarantee
		if err != nil {
			return nil, err
		}
		list = append(list, own...)
		b := t.lockBuild(course.Last, s)
		b.replace[lateWriteFile] = lateWriteDir + "/" + lateWriteFile // one more file
		builds = append(builds, b)
	}
	var cells []cell
	for i, on := range t.compileAhead(ctx, append(builds, greenBuild(course.Epilogue))) {
		lock := course.Entries()[i]
		if lock.IsEpilogue() {
			list = late // its lock is that of step 05
		}
		results, err := t.playAll(ctx, on, list)
		if err != nil {
			return nil, err
		}
		for _, g := range course.Entries() {
			file := g.File
			if g.IsEpilogue() {
				file = lateWriteFile
			}
			of := slices.DeleteFunc(slices.Clone(results), func(r result) bool { return r.file != file })
			if len(of) > 0 {
				cells = append(cells, cell{g, lock, of})
			}
		}
	}
	return cells, nil
}

// runMatrix writes docs/read/matrix.md, or with -check compares it.
func (t *tour) runMatrix(ctx context.Context, req request) error {
	check := req.has("-check")
	cells, err := t.cells(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range cells {
		errs = append(errs, c.check())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("%w\n%s is left as it was", err, matrixFile)
	}
	err = t.putGenerated(rendered(cells), "go run ./docs/tour matrix", check)
	t.matrixTable(cells)
	if err != nil {
		return err
	}
	if err := staircase(cells); err != nil {
		return fmt.Errorf("a guarantee has to hold from its step on, and not before:\n%w", err)
	}
	if check {
		t.printf("\n%s is up to date\n", matrixFile)
	} else {
		t.printf("\nwritten to %s\n", matrixFile)
	}
	return nil
}

// putGenerated writes files that a command generates, or with check says which of them are
// not as it would write them.
func (t *tour) putGenerated(files map[string]string, command string, check bool) error {
	var errs []error
	for _, file := range slices.Sorted(maps.Keys(files)) {
		path := t.path("", file)
		if !check {
			errs = append(errs, os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(files[file]), 0o666))
			continue
		}
		have, err := os.ReadFile(path)
		if err != nil {
			errs = append(errs, fmt.Errorf("%w\nwrite it: %s", err, command))
		} else if diff := unified(file, "as it would be written now", string(have), files[file]); diff != nil {
			errs = append(errs, fmt.Errorf("%s is stale; write it again: %s\n%s", file, command, strings.Join(diff, "\n")))
		}
	}
	return errors.Join(errs...)
}

// rendered is the page, and the picture of it.
func rendered(cells []cell) map[string]string {
	return map[string]string{
		matrixFile:                              renderMatrix(cells),
		"docs/read/pictures/staircase.svg":      drawStaircase(cells, picture.Light),
		"docs/read/pictures/staircase-dark.svg": drawStaircase(cells, picture.Dark),

		"docs/read/pictures/staircase.zh-CN.svg":      drawStaircase(cells, picture.Light.Chinese()),
		"docs/read/pictures/staircase.zh-CN-dark.svg": drawStaircase(cells, picture.Dark.Chinese()),
	}
}

func drawStaircase(cells []cell, theme picture.Theme) string {
	var locks []string
	var stairs []picture.Stair
	for _, g := range course.Entries() {
		locks = append(locks, strings.Replace(g.Arg(), "fencing", "F", 1))
		stair := picture.Stair{Guarantee: g.Guarantee}
		for _, c := range cells {
			if c.Guarantee.N == g.N {
				stair.Holds = append(stair.Holds, c.Holds())
			}
		}
		stairs = append(stairs, stair)
	}
	return picture.Staircase("Which lock (1 to 8) provides which guarantee", locks, stairs,
		"Every cell is a test run: ✓ all stories of the guarantee pass on that lock, ✗ at least one fails. F: with fencing tokens.", theme)
}

// matrixTable prints the table for a terminal.
func (t *tour) matrixTable(cells []cell) {
	t.printf("%-30s", "guarantee / step")
	for _, s := range course.Steps {
		t.printf("   %02d", s.N)
	}
	t.printf("  epilogue\n")
	for _, g := range course.Entries() {
		name := fmt.Sprintf("%d %s", g.N, g.File)
		if g.IsEpilogue() {
			name = "  " + lateWrite
		}
		t.printf("%-30s", name)
		for _, c := range cells {
			if c.Guarantee.N != g.N {
				continue
			}
			mark, color := "✓", green
			if !c.Holds() {
				mark, color = "✗", red
			}
			t.printf("    %s", t.paint(color, mark))
		}
		t.printf("\n")
	}
}

//go:embed matrix.tmpl
var matrixText string

var matrixTemplate = template.Must(template.New("matrix").Funcs(template.FuncMap{"name": guaranteeName}).Parse(matrixText))

// guaranteeName names a guarantee by its file: "6 reentrant".
func guaranteeName(file string) string {
	return strings.ReplaceAll(strings.TrimSuffix(file, "_test.go"), "_", " ")
}

// renderMatrix writes the page. The same runs give the same text: it has no times and no paths.
func renderMatrix(cells []cell) string {
	var b strings.Builder
	err := matrixTemplate.Execute(&b, map[string]any{
		"Steps": course.Steps, "Entries": course.Entries(), "Last": course.Last, "Cells": cells,
		"LateWrite": lateWrite, "LateWriteFile": "../fencing/testdata/" + lateWriteFile,
	})
	if err != nil {
		panic(err) // the template is a part of this program
	}
	return b.String()
}

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
	"example.com/redislock-steps/docs/internal/story"
)

const matrixFile = "docs/read/matrix.md"

// The last row: what no lock holds, and the epilogue does. For the locks, its story is in
// a file that no step has; the epilogue has the story of the same name, told with fencing
// tokens.
const (
	lateWriteDir  = "docs/fencing/testdata"
	lateWriteFile = "late_write_test.go"
)

// A cell is one guarantee against one lock.
type cell struct {
	Guarantee, Lock course.Step
	Results         []story.Result
}

// Failing returns the names of the stories that failed.
func (c cell) Failing() (names []string) {
	for _, r := range c.Results {
		if r.Verdict == story.Failed {
			names = append(names, r.Name)
		}
	}
	return names
}

func (c cell) Holds() bool { return held(c.Results) == len(c.Results) }

// Mark is the verdict on the page. The shapes differ without colour.
func (c cell) Mark() string {
	if c.Holds() {
		return "✓"
	}
	return "**✗**"
}

// check is an error if the cell breaks the rule: guarantee k holds exactly from step k on,
// the last in the epilogue. A story that neither passed nor failed by an assertion makes the
// cell say nothing.
func (c cell) check() error {
	what := fmt.Sprintf("guarantee %d (%s) on %s", c.Guarantee.N, c.Guarantee.File, c.Lock.Subject())
	for _, r := range c.Results {
		if r.Verdict != story.Passed && r.Verdict != story.Failed {
			return fmt.Errorf("%s says nothing: %s: %s", what, r.Name, whyNot(r))
		}
	}
	switch want := c.Lock.N >= c.Guarantee.N; {
	case want && !c.Holds():
		return fmt.Errorf("%s should hold and fails: %s", what, strings.Join(c.Failing(), ", "))
	case !want && c.Holds():
		return fmt.Errorf("%s should fail and holds", what)
	}
	return nil
}

// cells runs the guarantees against the locks, one binary per lock, and returns them row by
// row: a guarantee on all locks.
func (t *tour) cells(ctx context.Context) ([][]cell, error) {
	late, err := t.stories(lateWriteDir, []course.File{{Name: lateWriteFile}})
	if err != nil {
		return nil, err
	}
	list := late
	var builds []story.Build
	for _, s := range course.Steps {
		// The last folder has every guarantee.
		own, err := t.stories(course.Last.Dir, s.Kept())
		if err != nil {
			return nil, err
		}
		list = append(list, own...)
		b := t.lockBuild(course.Last, s)
		b.Replace[lateWriteFile] = lateWriteDir + "/" + lateWriteFile // one more file
		builds = append(builds, b)
	}
	rows := make([][]cell, len(course.Entries()))
	for i, on := range t.Ahead(ctx, append(builds, greenBuild(course.Epilogue))...) {
		lock := course.Entries()[i]
		if lock.IsEpilogue() {
			list = late // its lock is that of step 05
		}
		results, err := t.playAll(ctx, on, list)
		if err != nil {
			return nil, err
		}
		for row, g := range course.Entries() {
			files := g.Kept()
			if g.IsEpilogue() {
				files = []course.File{{Name: lateWriteFile}}
			}
			if own := of(results, files); own != nil {
				rows[row] = append(rows[row], cell{g, lock, own})
			}
		}
	}
	return rows, nil
}

// runMatrix writes docs/read/matrix.md, or with -check compares it.
func (t *tour) runMatrix(ctx context.Context, req request) error {
	rows, err := t.cells(ctx)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range slices.Concat(rows...) {
		errs = append(errs, c.check())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("a guarantee has to hold from its step on, and not before:\n%w\n%s is left as it was", err, matrixFile)
	}
	return t.putGenerated(rendered(rows), matrixFile, "go run ./docs/tour matrix", req.has("-check"))
}

// putGenerated writes what a command generates, in these files, or with check says which of
// them are not as it would write them.
func (t *tour) putGenerated(files map[string]string, what, command string, check bool) error {
	var errs []error
	for _, file := range slices.Sorted(maps.Keys(files)) {
		path := t.Path("", file)
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
	if err := errors.Join(errs...); err != nil {
		return err
	}
	t.printf(map[bool]string{true: "%s is up to date\n", false: "written to %s\n"}[check], what)
	return nil
}

// rendered is the page, and the picture of it.
func rendered(rows [][]cell) map[string]string {
	files := map[string]string{matrixFile: renderMatrix(rows)}
	for name, theme := range map[string]picture.Theme{
		"": picture.Light, "-dark": picture.Dark, ".zh-CN": picture.Light.Chinese(), ".zh-CN-dark": picture.Dark.Chinese(),
	} {
		files["docs/read/pictures/staircase"+name+".svg"] = drawStaircase(rows, theme)
	}
	return files
}

func drawStaircase(rows [][]cell, theme picture.Theme) string {
	locks := []string{"SETNX", "+TTL", "EX", "token", "Lua", "hash", "watchdog", "Redlock", "fencing"}
	var stairs []picture.Stair
	for _, row := range rows {
		stair := picture.Stair{Guarantee: row[0].Guarantee.Guarantee}
		for _, c := range row {
			stair.Holds = append(stair.Holds, c.Holds())
		}
		stairs = append(stairs, stair)
	}
	return picture.Staircase("Which lock provides which guarantee", locks, stairs,
		"Every cell is a test run: ✓ all stories of the guarantee pass on that lock, ✗ at least one fails.", theme)
}

//go:embed matrix.tmpl
var matrixText string

var matrixTemplate = template.Must(template.New("matrix").Funcs(template.FuncMap{"name": guaranteeName}).Parse(matrixText))

// guaranteeName names a guarantee by its file: "6 reentrant".
func guaranteeName(file string) string {
	return strings.ReplaceAll(strings.TrimSuffix(file, "_test.go"), "_", " ")
}

// renderMatrix writes the page. The same runs give the same text: it has no times and no paths.
func renderMatrix(rows [][]cell) string {
	var b strings.Builder
	err := matrixTemplate.Execute(&b, map[string]any{
		"Steps": course.Steps, "Last": course.Last, "Rows": rows, "LateWriteFile": "../fencing/testdata/" + lateWriteFile,
	})
	if err != nil {
		panic(err) // the template is a part of this program
	}
	return b.String()
}

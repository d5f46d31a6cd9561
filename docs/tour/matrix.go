package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
)

const matrixFile = "docs/matrix.md"

// The last row: what no lock holds, and the epilogue does. For the locks, its story is in a file that no step has; the
// epilogue has the story of the same name, told with fencing tokens.
const (
	lateWrite     = "paused holder's late write"
	lateWriteDir  = "docs/fencing/testdata"
	lateWriteFile = "late_write_test.go"
)

// A cell is one guarantee against one lock.
type cell struct {
	guarantee, lock step
	results         []result
}

// failing returns the names of the stories that failed.
func (c cell) failing() []string {
	var list []string
	for _, r := range c.results {
		if r.verdict == failed {
			list = append(list, r.name)
		}
	}
	return list
}

func (c cell) holds() bool {
	return len(c.failing()) == 0
}

func (c cell) word() string {
	if c.holds() {
		return "holds"
	}
	return "fails"
}

func (c cell) label() string {
	if c.guarantee.isEpilogue() {
		return fmt.Sprintf("the %s on %s", lateWrite, c.lock.subject())
	}
	return fmt.Sprintf("guarantee %d (%s) on the lock %s", c.guarantee.n, c.guarantee.file, c.lock.of())
}

func (c cell) command() string {
	return fmt.Sprintf("go run ./docs/tour matrix -guarantee %s -step %s", c.guarantee.arg(), c.lock.arg())
}

// check reports the stories that neither passed nor failed by an assertion: they make the cell say nothing.
func (c cell) check() error {
	var odd []string
	for _, r := range c.results {
		if r.verdict != passed && r.verdict != failed {
			odd = append(odd, fmt.Sprintf("\n  %s: %s", r.name, r.why))
		}
	}
	if odd == nil {
		return nil
	}
	return fmt.Errorf("%s says nothing:%s\n  reproduce it: %s", c.label(), strings.Join(odd, ""), c.command())
}

// staircase returns the cells that break the rule: guarantee k holds exactly from step k on, the last in the epilogue.
func staircase(cells []cell) error {
	var errs []error
	for _, c := range cells {
		want := c.lock.n >= c.guarantee.n
		switch {
		case want && !c.holds():
			errs = append(errs, fmt.Errorf("%s should hold and fails: %s\n  reproduce it: %s",
				c.label(), strings.Join(c.failing(), ", "), c.command()))
		case !want && c.holds():
			errs = append(errs, fmt.Errorf("%s should fail and holds\n  reproduce it: %s", c.label(), c.command()))
		}
	}
	return errors.Join(errs...)
}

// cells runs the guarantees against the locks, one binary per lock, and returns them lock by lock.
func (t *tour) cells(ctx context.Context, guarantees, locks []step) ([]cell, error) {
	tests := steps[len(steps)-1] // its folder has every guarantee
	var builds []build
	for _, lock := range locks {
		b := greenBuild(lock)
		if !lock.isEpilogue() {
			b = t.lockBuild(tests, lock)
			b.replace[lateWriteFile] = lateWriteDir + "/" + lateWriteFile // one more file
		}
		builds = append(builds, b)
	}
	done := t.compileAhead(ctx, builds)
	var list []cell
	for i, lock := range locks {
		bin, err := t.await(builds[i], done[i])
		if err != nil {
			return nil, err
		}
		row, err := t.column(ctx, bin, guarantees, lock)
		if err != nil {
			return nil, err
		}
		bin.remove()
		list = append(list, row...)
	}
	return list, nil
}

// column runs the guarantees against one lock.
func (t *tour) column(ctx context.Context, bin binary, guarantees []step, lock step) ([]cell, error) {
	defer t.progress("running the guarantees on " + lock.subject())()
	var list []cell
	for _, g := range guarantees {
		if lock.isEpilogue() && !g.isEpilogue() {
			continue // its lock is that of step 05
		}
		stories, err := t.matrixStories(g)
		if err != nil {
			return nil, err
		}
		results, err := bin.runAll(ctx, stories)
		if err != nil {
			return nil, err
		}
		list = append(list, cell{g, lock, results})
	}
	return list, nil
}

// matrixStories lists the stories of a row.
func (t *tour) matrixStories(g step) ([]story, error) {
	if g.isEpilogue() {
		return storiesIn(t.root, lateWriteDir, lateWriteFile)
	}
	return storiesIn(t.root, steps[len(steps)-1].dir, g.file)
}

// runMatrix writes docs/matrix.md, or with check compares it.
func (t *tour) runMatrix(ctx context.Context, check bool) error {
	cells, err := t.cells(ctx, entries(), entries())
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
	text := renderMatrix(cells)
	if check {
		err = t.compareMatrix(text)
	} else {
		err = os.WriteFile(t.path("", matrixFile), []byte(text), 0o666)
	}
	t.matrixTable(cells)
	if err != nil {
		return err
	}
	if err := staircase(cells); err != nil {
		return fmt.Errorf("a guarantee has to hold from its step on, and not before:\n%w", err)
	}
	if check {
		t.printf("\n%s is up to date\n", matrixFile)
		return nil
	}
	t.printf("\nwritten to %s\n", matrixFile)
	return nil
}

func (t *tour) compareMatrix(want string) error {
	have, err := os.ReadFile(t.path("", matrixFile))
	if err != nil {
		return fmt.Errorf("%w\nwrite it: go run ./docs/tour matrix", err)
	}
	if diff := unified(matrixFile, "as the locks are", string(have), want); diff != nil {
		return fmt.Errorf("%s is stale; write it again: go run ./docs/tour matrix\n%s", matrixFile, strings.Join(diff, "\n"))
	}
	return nil
}

// matrixTable prints the table for a terminal.
func (t *tour) matrixTable(cells []cell) {
	t.printf("%-30s", "guarantee / step")
	for _, s := range steps {
		t.printf("     %02d", s.n)
	}
	t.printf("  epilogue\n")
	for _, g := range entries() {
		name := fmt.Sprintf("%d %s", g.n, g.file)
		if g.isEpilogue() {
			name = "  " + lateWrite
		}
		t.printf("%-30s", name)
		for _, c := range cells {
			if c.guarantee.n != g.n {
				continue
			}
			color := green
			if !c.holds() {
				color = red
			}
			t.printf("  %s", t.paint(color, c.word()))
		}
		t.printf("\n")
	}
}

// runCells prints the output of single cells and writes nothing.
func (t *tour) runCells(ctx context.Context, guarantees, locks []step) error {
	cells, err := t.cells(ctx, guarantees, locks)
	if err != nil {
		return err
	}
	var errs []error
	for _, c := range cells {
		t.heading("%s", c.label())
		t.printf("\n")
		for i, r := range c.results {
			// One process ran them all, and its output stands in each result; after a panic each has its own.
			if i == 0 || r.log.raw != c.results[i-1].log.raw {
				t.printf("%s\n", strings.TrimRight(r.log.raw, "\r\n"))
			}
		}
		t.printf("\n")
		errs = append(errs, c.check())
	}
	for _, c := range cells {
		t.printf("%s: %s\n", c.label(), c.word())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return staircase(cells)
}

const matrixIntro = `# Which lock holds which guarantee

<!-- Written by "go run ./docs/tour matrix". Do not edit: CI compares it with a fresh run. -->

Each cell is a run: the tests of one guarantee, as they stand in %[1]s, against the lock.go of one step.

- **holds**: every story of the file passes.
- **fails**: at least one story of the file fails, by an assertion of its own. Which ones stands below the table.

A guarantee holds from its own step on, in every later step, and in none before.

The last row is what no lock gives: [one story](%[2]s), told on each lock, and in the [epilogue](fencing) with fencing
tokens and a resource that checks them. Step 01 fails there in its own way; what each lock's run says is at the end of the page.
The epilogue has no other cells: its lock is that of step 05, with numbers.

`

// renderMatrix writes the page. The same runs give the same text: it has no times and no paths.
func renderMatrix(cells []cell) string {
	var b strings.Builder
	fmt.Fprintf(&b, matrixIntro, link(steps[len(steps)-1].dir), "fencing/testdata/"+lateWriteFile)
	b.WriteString("| guarantee / step |")
	for _, s := range steps {
		fmt.Fprintf(&b, " [%02d](../%s) |", s.n, s.dir)
	}
	fmt.Fprintf(&b, " [epilogue](fencing) | reproduce the row |\n|---|%s\n", strings.Repeat("---|", len(steps)+2))
	for _, g := range entries() {
		if g.isEpilogue() {
			fmt.Fprintf(&b, "| [%s](fencing): the next owner works meanwhile, and the late write is refused |", lateWrite)
		} else {
			fmt.Fprintf(&b, "| %d `%s`: %s |", g.n, g.file, g.guarantee)
		}
		for _, c := range cells {
			if c.guarantee.n == g.n {
				fmt.Fprintf(&b, " %s |", c.markdown())
			}
		}
		if !g.isEpilogue() {
			b.WriteString(" |") // no cell
		}
		fmt.Fprintf(&b, " `go run ./docs/tour matrix -guarantee %s` |\n", g.arg())
	}
	b.WriteString("\nThe locks:\n\n| step | acquire; release |\n|---|---|\n")
	for _, s := range steps {
		fmt.Fprintf(&b, "| %s | %s |\n", link(s.dir), s.lock)
	}
	b.WriteString("\nOne cell: `go run ./docs/tour matrix -guarantee 6 -step 4`. One column: `go run ./docs/tour matrix -step 4`.\n")
	b.WriteString("\n## The failing stories\n")
	renderFailing(&b, cells)
	return b.String()
}

func renderFailing(b *strings.Builder, cells []cell) {
	for _, g := range steps {
		for _, c := range cells {
			if c.guarantee.n != g.n || c.holds() {
				continue
			}
			fmt.Fprintf(b, "\n### Guarantee %d on step %02d: %d of %s\n\n`%s`\n\n",
				g.n, c.lock.n, len(c.failing()), count(len(c.results), "story"), c.command())
			for _, name := range c.failing() {
				fmt.Fprintf(b, "- `%s`\n", name)
			}
		}
	}
	renderLateWrite(b, cells)
}

// renderLateWrite says what the story of the last row says on each lock: not on all of them the same.
func renderLateWrite(b *strings.Builder, cells []cell) {
	fmt.Fprintf(b, "\n### The %s\n\n", lateWrite)
	for _, c := range cells {
		if !c.guarantee.isEpilogue() {
			continue
		}
		for _, r := range c.results {
			if r.verdict == failed {
				fmt.Fprintf(b, "- %s: %s\n", c.lock.label(), strings.Join(r.log.failedLeaves(r.name)[0].messages(), "; "))
			}
		}
	}
	b.WriteString("\nWhat a resource does about it: [docs/fencing](fencing).\n")
}

func (c cell) markdown() string {
	if c.holds() {
		return "holds"
	}
	return "**fails**"
}

func link(dir string) string {
	return fmt.Sprintf("[%s](../%s)", dir, dir)
}

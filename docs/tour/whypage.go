package main

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/mutant"
	"example.com/redislock-steps/docs/internal/source"
)

// A whyStep is what the pages say of one step.
type whyStep struct {
	course.Step
	Files []string // of its lock
	Count map[string]int
	All   int
	Parts []part   // declarations that are new or changed in this step
	Same  []string // those that are as an earlier step left them, with a link to its page

	reasons []reason
	decls   []source.Declaration
	pageOf  map[string]int // the step whose page has a declaration
}

// A part is a declaration, and what happens without its lines.
type part struct {
	Name, File string
	Lines      []whyLine
}

// A whyLine is a line, and what happens without it.
type whyLine struct {
	N    int
	Code string
	Says string
}

// writeWhy writes the pages from what is known, or compares them with it.
func (t *tour) writeWhy(check bool) error {
	pages, err := t.whyPages()
	if err != nil {
		return err
	}
	var errs []error
	for _, file := range slices.Sorted(maps.Keys(pages)) {
		if check {
			errs = append(errs, t.compareWhy(file, pages[file]))
			continue
		}
		errs = append(errs, os.MkdirAll(filepath.Dir(t.path("", file)), 0o777), os.WriteFile(t.path("", file), []byte(pages[file]), 0o666))
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if check {
		t.printf("%s is up to date\n", whyDir)
	} else {
		t.printf("written to %s\n", whyDir)
	}
	return nil
}

func (t *tour) compareWhy(file, want string) error {
	have, err := os.ReadFile(t.path("", file))
	if err != nil {
		return fmt.Errorf("%w\nwrite it: go run ./docs/tour why", err)
	}
	if diff := unified(file, "as the stories are", string(have), want); diff != nil {
		return fmt.Errorf("%s is stale; write it again: go run ./docs/tour why\n%s", file, strings.Join(diff, "\n"))
	}
	return nil
}

// whyPages returns the pages by their names.
func (t *tour) whyPages() (map[string]string, error) {
	var steps []*whyStep
	for _, s := range course.Steps {
		reasons, _, err := t.readKnown(s)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		w := &whyStep{Step: s, Files: t.sources(s.Dir), Count: map[string]int{}, All: len(reasons), reasons: reasons}
		for _, r := range reasons {
			w.Count[string(r.Fate)]++
		}
		steps = append(steps, w)
	}
	var before *whyStep
	for _, w := range steps {
		var err error
		if w.decls, err = source.ReadDir(t.path(w.Dir, "")); err != nil {
			return nil, err
		}
		if err := t.parts(w, before); err != nil {
			return nil, err
		}
		before = w
	}
	pages := map[string]string{}
	for _, w := range steps {
		pages[whyPage(w.Step)] = render("step", w)
	}
	pages[whyDir+"/README.md"] = render("index", steps)
	return pages, nil
}

// parts collects what a step's page says: of each declaration that the step before has not,
// or has otherwise, each line once.
func (t *tour) parts(w, before *whyStep) error {
	code := map[string][]string{}
	for _, file := range w.Files {
		text, err := os.ReadFile(t.path(w.Dir, file))
		if err != nil {
			return err
		}
		code[file] = lines(string(text))
	}
	w.pageOf = map[string]int{}
	same := map[int][]string{} // by step
	for _, d := range w.decls {
		w.pageOf[d.Name] = w.N
		byLine := map[int][]reason{}
		for _, r := range w.reasons {
			if r.In == d.Name {
				byLine[r.Line] = append(byLine[r.Line], r)
			}
		}
		if len(byLine) == 0 {
			continue
		}
		if before != nil && slices.ContainsFunc(before.decls, func(old source.Declaration) bool { return old.Name == d.Name && old.Text == d.Text }) {
			n := before.pageOf[d.Name]
			w.pageOf[d.Name] = n
			same[n] = append(same[n], "`"+d.Name+"`")
			continue
		}
		p := part{Name: d.Name, File: d.File}
		for _, n := range slices.Sorted(maps.Keys(byLine)) {
			p.Lines = append(p.Lines, newWhyLine(n, strings.TrimSpace(code[d.File][n-1]), byLine[n]))
		}
		w.Parts = append(w.Parts, p)
	}
	for _, n := range slices.Sorted(maps.Keys(same)) {
		w.Same = append(w.Same, fmt.Sprintf("[step %02d](step%02[1]d.md): %s", n, strings.Join(same[n], ", ")))
	}
	return nil
}

// newWhyLine tells what the plainest change of a line does.
func newWhyLine(n int, code string, reasons []reason) whyLine {
	l := whyLine{N: n, Code: code}
	r := slices.MinFunc(reasons, func(a, b reason) int { return rank(a) - rank(b) })
	says := plain(r.Says)
	switch r.Fate {
	case byPanic:
		says = "the lock panics"
	case equivalent:
		says = "no difference. " + capital(r.Says)
	case survived:
		says = "no story fails by an assertion"
	}
	if r.Story != "" {
		says += fmt.Sprintf(" (`%s`)", storyOf(r.Story))
	}
	l.Says = l.change(r) + ": " + says
	return l
}

// change says what is changed, for a reader who has the line before him.
func (l whyLine) change(r reason) string {
	it := code(r.Was)
	if l.Code == r.Was || l.Code == "if "+r.Was+" {" {
		it = "it"
	}
	switch r.Kind {
	case mutant.Out:
		return "without " + it
	case mutant.Never:
		return "if " + it + " were never true"
	case mutant.Always:
		return "if " + it + " were always true"
	case mutant.Later:
		return "after " + code(r.Now)
	case mutant.Silent:
		return "with nil instead of " + code(r.Was)
	}
	if r.InWords() {
		return "with " + r.String()
	}
	return "with " + code(r.Now) + " instead of " + code(r.Was)
}

// code is a piece of code in a page.
func code(text string) string {
	if strings.Contains(text, "`") {
		return "`` " + text + " ``"
	}
	return "`" + text + "`"
}

var markdown = regexp.MustCompile(`[*_<>\\[\]` + "`" + `]`)

// plain is a story's message in a page.
func plain(text string) string { return markdown.ReplaceAllString(text, `\$0`) }

//go:embed why.tmpl
var whyText string

var whyTemplate = template.Must(template.New("why").Funcs(template.FuncMap{
	"join": strings.Join,
	"code": code,
}).Parse(whyText))

func render(name string, data any) string {
	var b bytes.Buffer
	if err := whyTemplate.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the template is a part of this program
	}
	return b.String()
}

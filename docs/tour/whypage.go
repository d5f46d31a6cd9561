package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"example.com/redislock-steps/docs/internal/course"
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
}

// A part is a declaration, and what happens without its lines.
type part struct {
	Name, File string
	Lines      []string
}

// tested finds the condition of a line, in Go and Lua.
var tested = regexp.MustCompile(`^if (.*) (?:\{|then)$`)

// writeWhy writes the pages from what is known, or compares them with it.
func (t *tour) writeWhy(all []*study, check bool) error {
	pages, err := t.whyPages(all)
	if err == nil {
		err = t.putGenerated(pages, "go run ./docs/tour why", check)
	}
	if err != nil {
		return err
	}
	t.printf(map[bool]string{true: "%s is up to date\n", false: "written to %s\n"}[check], whyDir)
	return nil
}

// whyPages returns the pages by their names.
func (t *tour) whyPages(all []*study) (map[string]string, error) {
	pages := map[string]string{}
	var steps []whyStep
	latest := map[string]source.Declaration{} // by their names, as the steps until then leave them
	pageOf := map[string]int{}                // the step whose page has such a declaration
	for _, k := range all {
		list, err := source.ReadDir(t.path(k.step.Dir, ""))
		if err != nil {
			return nil, err
		}
		w := whyStep{Step: k.step, Files: t.sources(k.step.Dir), Count: map[string]int{}, All: len(k.Reasons)}
		for _, r := range k.Reasons {
			w.Count[string(r.Fate)]++
		}
		same := map[int][]string{} // by step
		for _, d := range list {
			if latest[d.Name].Text != d.Text {
				pageOf[d.Name] = k.step.N
			}
			latest[d.Name] = d
			reasons := k.those(func(r reason) bool { return r.In == d.Name })
			if n := pageOf[d.Name]; len(reasons) > 0 && n < k.step.N {
				same[n] = append(same[n], "`"+d.Name+"`")
			} else if len(reasons) > 0 {
				w.Parts = append(w.Parts, newPart(d, reasons))
			}
		}
		for _, n := range slices.Sorted(maps.Keys(same)) {
			w.Same = append(w.Same, fmt.Sprintf("[step %02d](step%02[1]d.md): %s", n, strings.Join(same[n], ", ")))
		}
		steps = append(steps, w)
		pages[fmt.Sprintf("%s/step%02d.md", whyDir, k.step.N)] = render("step", w)
	}
	pages[whyDir+"/README.md"] = render("index", steps)
	return pages, nil
}

// newPart tells what the plainest change of each line does, which comes first.
func newPart(d source.Declaration, reasons []reason) part {
	p := part{Name: d.Name, File: d.File}
	for _, r := range slices.CompactFunc(reasons, func(a, b reason) bool { return a.Line == b.Line }) {
		line := strings.TrimSpace(lines(d.Text)[r.Line-d.From])
		change := strings.Replace(r.String(), "`"+tested.ReplaceAllString(line, "$1")+"`", "it", 1)
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
		p.Lines = append(p.Lines, fmt.Sprintf("**%d** `%s`: %s: %s", r.Line, line, change, says))
	}
	return p
}

var markdown = regexp.MustCompile(`[*_<>\\[\]` + "`" + `]`)

// plain is a story's message in a page.
func plain(text string) string { return markdown.ReplaceAllString(text, `\$0`) }

//go:embed why.tmpl
var whyText string

var whyTemplate = template.Must(template.New("why").Parse(whyText))

func render(name string, data any) string {
	var b bytes.Buffer
	if err := whyTemplate.ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // the template is a part of this program
	}
	return b.String()
}

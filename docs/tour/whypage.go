package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/story"
)

// A whyStep is what the pages say of one step.
type whyStep struct {
	*study
	Files []string // of its lock
	Parts []part   // declarations that are new or changed in this step
}

// A part is a declaration, and what happens without its lines.
type part struct {
	source.Declaration
	Says []string
}

// tested finds the condition of a line, in Go and Lua.
var tested = regexp.MustCompile(`^if (.*) (?:\{|then)$`)

// writeWhy writes the pages from what is known, or compares them with it.
func (t *tour) writeWhy(all []*study, check bool) error {
	pages, err := t.whyPages(all)
	if err != nil {
		return err
	}
	return t.putGenerated(pages, whyDir, "go run ./docs/tour why", check)
}

// whyPages returns the pages by their names.
func (t *tour) whyPages(all []*study) (map[string]string, error) {
	pages := map[string]string{}
	var steps []whyStep
	had := map[string]bool{} // declarations as an earlier step has them
	for _, k := range all {
		list, err := source.ReadDir(t.Path(k.Step.Dir, ""))
		if err != nil {
			return nil, err
		}
		w := whyStep{study: k, Files: t.Sources(k.Step.Dir)}
		for _, d := range list {
			says := sayLines(d, k.those(func(r reason) bool { return r.In == d.Name }))
			if says != nil && !had[d.Name+d.Text] {
				w.Parts = append(w.Parts, part{d, says})
			}
			had[d.Name+d.Text] = true
		}
		steps = append(steps, w)
		pages[fmt.Sprintf("%s/step%02d.md", whyDir, k.Step.N)] = render("step", w)
	}
	pages[whyDir+"/README.md"] = render("index", steps)
	return pages, nil
}

// sayLines tells what the plainest change of each line does, which comes first.
func sayLines(d source.Declaration, reasons []reason) (all []string) {
	for _, r := range slices.CompactFunc(reasons, func(a, b reason) bool { return a.Line == b.Line }) {
		line := strings.TrimSpace(lines(d.Text)[r.Line-d.From])
		change := strings.Replace(r.String(), "`"+tested.ReplaceAllString(line, "$1")+"`", "it", 1)
		says := plain(r.ends())
		if r.Story != "" {
			says += fmt.Sprintf(" (`%s`)", story.Of(r.Story))
		}
		all = append(all, fmt.Sprintf("**%d** `%s`: %s: %s", r.Line, line, change, says))
	}
	return all
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

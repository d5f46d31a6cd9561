package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"example.com/redislock-steps/docs/internal/source"
)

// A whyStep is what the pages say of one step.
type whyStep struct {
	*study
	Files []string // of its lock
	Parts []part   // declarations that are new or changed in this step
	Same  []string // those that are as an earlier step left them, with a link to its page
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
	pageOf := map[string]int{} // by declaration: the step that has it first, as it is
	for _, k := range all {
		list, err := source.ReadDir(t.path(k.Step.Dir, ""))
		if err != nil {
			return nil, err
		}
		w := whyStep{study: k, Files: t.sources(k.Step.Dir)}
		same := map[int][]string{} // by step
		for _, d := range list {
			n := cmp.Or(pageOf[d.Name+d.Text], k.Step.N)
			pageOf[d.Name+d.Text] = n
			says := sayLines(d, k.those(func(r reason) bool { return r.In == d.Name }))
			switch {
			case says == nil:
			case n == k.Step.N:
				w.Parts = append(w.Parts, part{d, says})
			default:
				same[n] = append(same[n], "`"+d.Name+"`")
			}
		}
		for _, n := range slices.Sorted(maps.Keys(same)) {
			w.Same = append(w.Same, fmt.Sprintf("[step %02d](step%02[1]d.md): %s", n, strings.Join(same[n], ", ")))
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
			says += fmt.Sprintf(" (`%s`)", storyOf(r.Story))
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

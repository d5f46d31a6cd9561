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
	Files   []string // of its lock
	Count   map[string]int
	All     int
	Parts   []part   // declarations in which something is new
	Earlier []origin // declarations in which something is older

	reasons []reason
	decls   []source.Declaration
	since   []place // for each reason, where it came
}

// A place is a line of a declaration in a step's lock.
type place struct{ step, line int }

// A part is a declaration.
type part struct {
	Name   string
	Anchor string
	File   string
	From   int // its first line, without the comment
	Code   string
	Lines  []whyLine
}

// A whyLine is a line of it, and what happens without.
type whyLine struct {
	N    int
	Code string
	Says []string
}

// origin tells where older lines of a declaration are explained.
type origin struct {
	Name  string
	Steps []olderStep
}

type olderStep struct {
	course.Step
	Lines  []string
	There  []string // the same lines in that step
	Anchor string   // of their declaration there
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
	anchors := map[int]map[string]string{}
	for i, w := range steps {
		var err error
		if w.decls, err = source.ReadDir(t.path(w.Dir, "")); err != nil {
			return nil, err
		}
		w.dates(steps[:i])
		if err := t.parts(w); err != nil {
			return nil, err
		}
		anchors[w.N] = w.anchor()
		for _, e := range w.Earlier {
			for j := range e.Steps {
				e.Steps[j].Anchor = anchors[e.Steps[j].N][e.Name]
			}
		}
	}
	pages := map[string]string{}
	for _, w := range steps {
		pages[whyPage(w.Step)] = render("step", w)
	}
	pages[whyDir+"/README.md"] = render("index", steps)
	return pages, nil
}

// dates finds out with which step each mutant has come: the one from which on all have it
// on the same line, as a diff of its declaration sees it.
func (w *whyStep) dates(before []*whyStep) {
	type row struct {
		in   string
		line int
	}
	type change struct {
		at       row
		was, now string
		kind     mutant.Kind
	}
	last := map[change][]place{}
	same := map[row]row{} // a line here -> the line there
	if len(before) > 0 && before[len(before)-1].N == w.N-1 {
		b := before[len(before)-1]
		for i, r := range b.reasons {
			c := change{row{r.In, r.Line}, r.Was, r.Now, r.Kind}
			last[c] = append(last[c], b.since[i])
		}
		for _, d := range w.decls {
			i := slices.IndexFunc(b.decls, func(old source.Declaration) bool { return old.Name == d.Name })
			if i < 0 {
				continue
			}
			for here, there := range aligned(lines(b.decls[i].Text), lines(d.Text)) {
				same[row{d.Name, d.From + here}] = row{d.Name, b.decls[i].From + there}
			}
		}
	}
	for _, r := range w.reasons {
		p := place{w.N, r.Line}
		if there, ok := same[row{r.In, r.Line}]; ok {
			c := change{there, r.Was, r.Now, r.Kind}
			if old := last[c]; len(old) > 0 {
				p, last[c] = old[0], old[1:]
			}
		}
		w.since = append(w.since, p)
	}
}

// aligned finds the lines that two texts have in common: from a line of the second, from
// 0, to that of the first. Where a diff could take either of two equal lines, the one that
// begins the same block is meant.
func aligned(old, text []string) map[int]int {
	diff := func(old, text []string) map[int]int {
		same := map[int]int{}
		here, there := 0, 0
		for _, e := range edits(old, text) {
			if e.op == ' ' {
				same[here] = there
			}
			there, here = advance(e, there, here)
		}
		return same
	}
	forward, backward := diff(old, text), map[int]int{}
	for here, there := range diff(reversed(old), reversed(text)) {
		backward[len(text)-1-here] = len(old) - 1 - there
	}
	same, taken := map[int]int{}, map[int]bool{}
	for _, blocks := range []bool{true, false} {
		for _, m := range []map[int]int{forward, backward} {
			for _, here := range slices.Sorted(maps.Keys(m)) {
				there := m[here]
				next, ok := m[here+1]
				begins := strings.HasSuffix(text[here], "{") && !(ok && next == there+1)
				if _, known := same[here]; !known && !taken[there] && !(blocks && begins) {
					same[here], taken[there] = there, true
				}
			}
		}
	}
	return same
}

func reversed(list []string) []string {
	list = slices.Clone(list)
	slices.Reverse(list)
	return list
}

// anchor gives the parts the anchors that GitHub gives their headings, and returns them by
// name: ValidUntil and validUntil differ.
func (w *whyStep) anchor() map[string]string {
	all, times := map[string]string{}, map[string]int{}
	for i := range w.Parts {
		p := &w.Parts[i]
		p.Anchor = strings.ToLower(strings.ReplaceAll(p.Name, ".", ""))
		if n := times[p.Anchor]; n > 0 {
			times[p.Anchor]++
			p.Anchor += fmt.Sprintf("-%d", n)
		} else {
			times[p.Anchor] = 1
		}
		all[p.Name] = p.Anchor
	}
	return all
}

// parts collects what is new in a step, declaration by declaration, and what is not.
func (t *tour) parts(w *whyStep) error {
	code := map[string][]string{}
	for _, file := range w.Files {
		text, err := os.ReadFile(t.path(w.Dir, file))
		if err != nil {
			return err
		}
		code[file] = lines(string(text))
	}
	links, err := t.storyLinks(w.Step)
	if err != nil {
		return err
	}
	for _, d := range w.decls {
		var lines []int
		byLine := map[int][]reason{}
		older, there := map[int][]int{}, map[int][]int{}
		for i, r := range w.reasons {
			if r.In != d.Name {
				continue
			}
			if n := w.since[i].step; n < w.N {
				older[n] = append(older[n], r.Line)
				there[n] = append(there[n], w.since[i].line)
				continue
			}
			if byLine[r.Line] == nil {
				lines = append(lines, r.Line)
			}
			byLine[r.Line] = append(byLine[r.Line], r)
		}
		if lines != nil {
			slices.Sort(lines)
			p := part{Name: d.Name, File: d.File, From: d.Line, Code: numbered(d)}
			for _, n := range lines {
				p.Lines = append(p.Lines, newWhyLine(n, strings.TrimSpace(code[d.File][n-1]), byLine[n], links))
			}
			w.Parts = append(w.Parts, p)
		}
		if len(older) > 0 {
			e := origin{Name: d.Name}
			for _, n := range slices.Sorted(maps.Keys(older)) {
				e.Steps = append(e.Steps, olderStep{Step: course.Steps[n-1], Lines: distinct(older[n]), There: distinct(there[n])})
			}
			w.Earlier = append(w.Earlier, e)
		}
	}
	return nil
}

func distinct(lines []int) (list []string) {
	slices.Sort(lines)
	for _, n := range slices.Compact(lines) {
		list = append(list, fmt.Sprint(n))
	}
	return list
}

// numbered is a declaration without its comment, with the numbers of its lines.
func numbered(d source.Declaration) string {
	lines, n := strings.Split(d.Text, "\n"), d.From
	for len(lines) > 0 && strings.HasPrefix(strings.TrimSpace(lines[0]), "//") {
		lines, n = lines[1:], n+1
	}
	for i, line := range lines {
		lines[i] = strings.TrimRight(fmt.Sprintf("%4d  %s", n+i, strings.ReplaceAll(line, "\t", "    ")), " ")
	}
	return strings.Join(lines, "\n")
}

// newWhyLine tells each story of a line once, those of the plainest changes first.
func newWhyLine(n int, code string, reasons []reason, links map[string]string) whyLine {
	l := whyLine{N: n, Code: code}
	slices.SortStableFunc(reasons, func(a, b reason) int { return rank(a) - rank(b) })
	told := map[string]bool{}
	for _, r := range reasons {
		key := r.Says
		if r.Fate == byPanic || r.Fate == byHang || r.Fate == survived {
			key = string(r.Fate)
		}
		if told[key] {
			continue
		}
		told[key] = true
		what := l.change(r)
		switch r.Fate {
		case byStory:
			name := storyOf(r.Story)
			l.Says = append(l.Says, fmt.Sprintf("%s: %s ([`%s`](%s))", what, plain(r.Says), name, links[name]))
		case byPanic:
			l.Says = append(l.Says, fmt.Sprintf("%s: the lock panics ([`%s`](%s))", what, storyOf(r.Story), links[storyOf(r.Story)]))
		case byHang:
			l.Says = append(l.Says, fmt.Sprintf("%s: %s ([`%s`](%s))", what, r.Says, storyOf(r.Story), links[storyOf(r.Story)]))
		case equivalent:
			l.Says = append(l.Says, fmt.Sprintf("%s: no difference. %s", what, capital(r.Says)))
		case survived:
			l.Says = append(l.Says, what+": no story fails by an assertion")
		}
	}
	return l
}

// change says what is changed, for a reader who has the line before him.
func (l whyLine) change(r reason) string {
	whole := strings.TrimSuffix(l.Code, " {")
	whole, _, _ = strings.Cut(whole, " //")
	it := code(r.Was)
	if part := strings.HasPrefix(r.Now, "of "); !part && (r.Was == whole || strings.HasSuffix(whole, r.Was) && strings.HasPrefix(whole, "if ") && !strings.Contains(whole, "; ") || strings.HasPrefix(r.Was, whole)) {
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

// storyLinks are the places of a step's stories, from a page in whyDir.
func (t *tour) storyLinks(s course.Step) (map[string]string, error) {
	links := map[string]string{}
	for _, f := range s.Guarantees() {
		list, err := source.Read(t.path(s.Dir, f.Name))
		if err != nil {
			return nil, err
		}
		for _, d := range list {
			links[d.Name] = fmt.Sprintf("../../%s/%s#L%d", s.Dir, f.Name, d.Line)
		}
	}
	return links, nil
}

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

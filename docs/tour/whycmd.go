package main

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"text/template"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

// runWhy is the command.
func (t *tour) runWhy(ctx context.Context, req request) error {
	if req.has("-all") {
		return t.runWhyAll(ctx, req.steps)
	}
	k, err := t.newStudy(req.steps[0])
	if err != nil {
		return err
	}
	if req.line == 0 {
		return t.runWhyStep(k)
	}
	return t.runWhyLine(ctx, k, req.file, req.line)
}

// runWhyStep shows the lock's files, and marks the lines that have something to tell.
func (t *tour) runWhyStep(k *study) error {
	for _, file := range t.Sources(k.Step.Dir) {
		source, err := t.linesOf(k.Step, file)
		if err != nil {
			return err
		}
		t.strong("%s", file)
		for i, line := range source {
			mark := " "
			if len(k.at(file, i+1)) > 0 {
				mark = t.paint(green, "*")
			}
			t.printf("%s%4d  %s\n", mark, i+1, strings.ReplaceAll(line, "\t", "    "))
		}
		t.printf("\n")
	}
	t.prose("", "* can be taken out or changed, in %d ways in all. What happens then: go run ./docs/tour why %d LINE, or FILE:LINE.",
		len(k.Reasons), k.Step.N)
	return nil
}

// runWhyLine shows what happens without one line.
func (t *tour) runWhyLine(ctx context.Context, k *study, file string, line int) error {
	s := k.Step
	here := k.at(file, line)
	if len(here) == 0 {
		return errorf("%s/%s:%d has nothing that can be taken out or changed. The lines that have: go run ./docs/tour why %d",
			s.Dir, file, line, s.N)
	}
	source, err := t.linesOf(s, file)
	if err != nil {
		return err
	}
	if err := k.tryAll(ctx, t, here); err != nil {
		return err
	}
	slices.SortStableFunc(here, func(a, b *reason) int { return rank(*a) - rank(*b) })
	t.heading("%s/%s:%d, in %s", s.Dir, file, line, here[0].In)
	t.printf("  %s\n", strings.TrimSpace(source[line-1]))
	shown := map[string]bool{}
	for _, r := range here {
		t.whyMutant(*r, shown)
	}
	return nil
}

func (t *tour) linesOf(s course.Step, file string) ([]string, error) {
	text, err := os.ReadFile(t.Path(s.Dir, file))
	return lines(string(text)), err
}

// whyMutant shows one mutant; a story that was shown before, by name only.
func (t *tour) whyMutant(r reason, shown map[string]bool) {
	t.printf("\n")
	t.prose("", "%s:", capital(r.String()))
	switch key := r.Story + r.Says; {
	case r.Story == "":
		t.prose("  ", "%s\n", capital(r.ends()))
	case r.result.Verdict == story.Failed && !shown[key]:
		shown[key] = true
		t.failure(r.result, short)
	case r.result.Verdict == story.Failed:
		t.printf("  %s %s\n", t.tag(story.Failed), r.Story)
		t.message(red, []string{r.Says})
	default:
		t.printf("  %s %s\n", t.tag(story.Failed), r.Story)
		t.message(red, []string{capital(r.Says)})
	}
}

// runWhyAll tries every change of some steps, and says which no story notices. Of all steps, it
// writes the page as well.
func (t *tour) runWhyAll(ctx context.Context, steps []course.Step) error {
	var wrong []string
	var all []*study
	for _, s := range steps {
		k, err := t.newStudy(s)
		if err != nil {
			return err
		}
		k.first = true
		var list []*reason
		for i := range k.Reasons {
			list = append(list, &k.Reasons[i])
		}
		if err := k.tryAll(ctx, t, list); err != nil {
			return err
		}
		t.printf("%s: %s\n", s.Label(), k.tally())
		for _, r := range k.ended(survived) {
			wrong = append(wrong, fmt.Sprintf("%s/%s: no story needs this: %s. %s", s.Dir, r.Place(), r.Key(), r.Says))
		}
		wrong = append(wrong, k.untrue...)
		all = append(all, k)
	}
	if wrong != nil {
		return fmt.Errorf("%s\nWrite a story, take the line out, or say in %s why no one can see a difference", strings.Join(wrong, "\n"), excusesFile)
	}
	if len(steps) < len(course.Steps) {
		return nil
	}
	return t.writeWhy(ctx, all)
}

//go:embed why.tmpl
var whyText string

var whyTemplate = template.Must(template.New("why").Parse(whyText))

// writeWhy writes the page.
func (t *tour) writeWhy(ctx context.Context, all []*study) error {
	of := exec.CommandContext(ctx, "git", "log", "-1", "--format=%h of %as")
	of.Dir = t.Root
	commit, err := of.Output()
	if err != nil {
		return fmt.Errorf("the page names its commit: git log: %w", err)
	}
	var page strings.Builder
	total := &study{}
	for _, k := range all {
		total.Reasons = append(total.Reasons, k.Reasons...)
	}
	err = whyTemplate.Execute(&page, map[string]any{"Steps": all, "All": total, "Commit": strings.TrimSpace(string(commit))})
	if err != nil {
		return err
	}
	return t.putGenerated(map[string]string{whyDir + "/README.md": page.String()}, whyDir, "go run ./docs/tour why -all", false)
}

package main

import (
	"context"
	"errors"
	"fmt"
	"html"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/picture"
	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

// pictures is where they are.
const pictures = "docs/read/pictures"

// A drawing is what a marker asks for:
//
//	<!-- picture: late-holder | A title | red 4 TestX | green 4 TestX: all is well | until 30s -->
//
// It is the name of its files, a title, and one or more runs of stories, each in a panel: next
// to each other, and one below the other on phones. What follows a colon is said below a run
// that passes. After a ✗, it is what the run shows to be wrong. After "until 30s", the rest of the
// stories is left out.
type drawing struct {
	name, title string
	panels      []picture.Panel
	scenes      []scene // one for each panel
}

// A scene is a story on the lock of its step, or in red on the one before.
type scene struct {
	red   bool
	step  course.Step
	story string
}

var drawnRun = regexp.MustCompile(`^(red|green) (\w+) (\w+)(?:: (.*))?$`)

func parseDrawing(args string) (d drawing, err error) {
	parts := strings.Split(args, " | ")
	if len(parts) < 3 {
		return d, errors.New("a picture needs a name, a title and a run: late-holder | A late holder unlocks | red 4 TestX")
	}
	d.name, d.title = parts[0], parts[1]
	for _, part := range parts[2:] {
		if at, ok := strings.CutPrefix(part, "until "); ok {
			until, err := time.ParseDuration(at)
			if err != nil {
				return d, err
			}
			for i := range d.panels {
				d.panels[i].Until = until
			}
			continue
		}
		m := drawnRun.FindStringSubmatch(part)
		if m == nil {
			return d, fmt.Errorf("%q is not a run: write red 4 TestX, or green 4 TestX", part)
		}
		step, err := course.Parse(m[2])
		if err != nil {
			return d, err
		}
		d.scenes = append(d.scenes, scene{m[1] == "red", step, m[3]})
		if m[1] == "red" {
			step = step.Before()
		}
		d.panels = append(d.panels, picture.Panel{Head: head(step), Good: m[4]})
	}
	return d, nil
}

// head says what a story is run on.
func head(s course.Step) string {
	label := s.Label()
	switch {
	case s.Dir == course.Unfenced.Dir:
		return "Resources that do not check the token"
	case s.IsEpilogue():
		return "Resources that check the token"
	}
	return strings.ToUpper(label[:1]) + label[1:] + ": " + s.Lock
}

// picture returns the line that shows a page's picture, and its files.
func (m maker) picture(page, args string) (line string, files map[string]string, err error) {
	d, err := parseDrawing(args)
	if err != nil {
		return "", nil, err
	}
	themes := map[string]picture.Theme{"": picture.Light, "-dark": picture.Dark}
	name, colon, stop, say := pictures+"/"+d.name, ": ", ". ", func(text string) string { return text }
	if isChinese(page) {
		name, colon, stop, say = name+suffix, "：", "。", picture.InChinese
		for shade, theme := range themes {
			themes[shade] = theme.Chinese()
		}
	}
	alt := say(d.title)
	for i := range d.panels {
		p := &d.panels[i]
		said := strings.TrimPrefix(p.Good, "✗ ")
		if p.Records, err = m.play(d.scenes[i]); err != nil {
			return "", nil, err
		}
		for _, r := range p.Records {
			if r.Kind == trace.Verdict {
				said = r.Text
			}
		}
		alt += stop + strings.TrimSuffix(say(p.Head)+colon+say(said), colon)
	}
	alt = html.EscapeString(alt + strings.TrimSpace(stop))
	in, _ := filepath.Rel(path.Dir(page), name) // both are in the repository
	in = filepath.ToSlash(in)
	narrow, columns := "", map[string]int{"": len(d.panels)}
	if len(d.panels) > 1 {
		narrow = strings.ReplaceAll(narrowSources, "NAME", in)
		columns["-narrow"] = 1
	}
	files = map[string]string{}
	for width, columns := range columns {
		for shade, theme := range themes {
			if files[name+width+shade+".svg"], err = picture.Story(d.title, d.panels, columns, theme); err != nil {
				return "", nil, err
			}
		}
	}
	const shown = `<picture>%s<source media="(prefers-color-scheme: dark)" srcset="%s-dark.svg"><img alt="%s" src="%[2]s.svg"></picture>`
	return fmt.Sprintf(shown, narrow, in, alt), files, nil
}

// narrowSources are for phones: the panels one below the other.
const narrowSources = `<source media="(max-width: 600px) and (prefers-color-scheme: dark)" srcset="NAME-narrow-dark.svg">` +
	`<source media="(max-width: 600px)" srcset="NAME-narrow.svg">`

// stage plays scenes, and returns what happens in them. It builds each step once.
func stage(ctx context.Context, b *story.Builder) func(scene) ([]trace.Record, error) {
	build := once(func(on scene) (story.Binary, error) { // without a story
		if on.red {
			return b.Compile(ctx, b.Red(on.step))
		}
		return b.Compile(ctx, story.Green(on.step))
	})
	return func(s scene) ([]trace.Record, error) {
		tests, err := b.Tests(s.step.Dir)
		if err != nil {
			return nil, err
		}
		n := slices.IndexFunc(tests, func(t story.Story) bool { return t.Name == s.story })
		if n < 0 {
			return nil, fmt.Errorf("%s has no story %s", s.step.Dir, s.story)
		}
		binary, err := build(scene{red: s.red, step: s.step})
		if err != nil {
			return nil, err
		}
		results, err := binary.Play(ctx, tests[n])
		if err != nil {
			return nil, err
		}
		want := story.Passed
		if s.red && !tests[n].Control {
			want = story.Failed
		}
		if r := results[0]; r.Verdict != want {
			return nil, fmt.Errorf("%s does not end as its picture says: %s", s.story, r.Log.Raw)
		}
		return results[0].Records(), nil
	}
}

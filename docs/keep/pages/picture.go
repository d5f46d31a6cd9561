package main

import (
	"errors"
	"fmt"
	"html"
	"regexp"
	"strings"
	"time"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/picture"
	"example.com/redislock-steps/docs/internal/trace"
)

// pictures is where they are.
const pictures = "docs/read/pictures"

// A drawing is what a marker asks for:
//
//	<!-- picture: late-holder | A title | red 4 TestX | green 4 TestX: all is well | until 30s -->
//
// It is the name of its files, a title, and one or more runs of stories, each in a panel.
// What follows a colon is said below a run that passes.
type drawing struct {
	name, title string
	panels      []picture.Panel
	scenes      []scene // one for each panel
}

var drawnRun = regexp.MustCompile(`^(red|green) (\w+) (\w+)(?:: (.*))?$`)

func parseDrawing(args string) (d drawing, err error) {
	parts := strings.Split(args, " | ")
	if len(parts) < 3 {
		return d, errors.New("a picture needs a name, a title and a run: late-holder | A late holder unlocks | red 4 TestX")
	}
	d.name, d.title = parts[0], parts[1]
	var until time.Duration
	for _, part := range parts[2:] {
		if limit, ok := strings.CutPrefix(part, "until "); ok {
			if until, err = time.ParseDuration(limit); err != nil {
				return d, err
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
	for i := range d.panels {
		d.panels[i].Until = until
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

// draw returns the files of a page's picture, and the line that shows it.
func draw(page, args string, play func(scene) ([]trace.Record, error)) (files map[string]string, line string, err error) {
	d, err := parseDrawing(args)
	if err != nil {
		return nil, "", err
	}
	themes := map[string]picture.Theme{"": picture.Light, "-dark": picture.Dark}
	name, colon, stop, say := pictures+"/"+d.name, ": ", ". ", func(text string) string { return text }
	if isChinese(page) {
		name, colon, stop, say = name+".zh-CN", "：", "。", picture.InChinese
		for suffix, theme := range themes {
			themes[suffix] = theme.Chinese()
		}
	}
	alt := say(d.title)
	for i := range d.panels {
		p := &d.panels[i]
		said := p.Good
		if p.Records, err = play(d.scenes[i]); err != nil {
			return nil, "", err
		}
		for _, r := range p.Records {
			if r.Kind == trace.Verdict {
				said = r.Text
			}
		}
		alt += stop + strings.TrimSuffix(say(p.Head)+colon+say(said), colon)
	}
	alt = html.EscapeString(alt + strings.TrimSpace(stop))
	files = map[string]string{}
	for suffix, theme := range themes {
		if files[name+suffix+".svg"], err = picture.Story(d.title, d.panels, theme); err != nil {
			return nil, "", err
		}
	}
	const shown = `<picture><source media="(prefers-color-scheme: dark)" srcset="%s-dark.svg"><img alt="%s" src="%[1]s.svg"></picture>`
	return files, fmt.Sprintf(shown, join(page, name, ""), alt) + playStory(page, d.name), nil
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"path/filepath"
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
// It is the name of its files, a title, and one or more runs of stories. What stands
// behind a colon is said below a run that passes.
type drawing struct {
	name, title string
	runs        []played
	until       time.Duration
}

// A played is a run of one story.
type played struct {
	step    course.Step
	color   string // red or green
	good    string
	command string
}

func parseDrawing(args string) (d drawing, err error) {
	parts := strings.Split(args, " | ")
	if len(parts) < 3 {
		return d, errors.New("a picture needs a name, a title and a run: late-holder | A late holder unlocks | red 4 TestX")
	}
	d.name, d.title = parts[0], parts[1]
	for _, part := range parts[2:] {
		if until, ok := strings.CutPrefix(part, "until "); ok {
			if d.until, err = time.ParseDuration(until); err != nil {
				return d, err
			}
			continue
		}
		words, good, _ := strings.Cut(part, ": ")
		fields := strings.Fields(words)
		if len(fields) != 3 || fields[0] != "red" && fields[0] != "green" {
			return d, fmt.Errorf("%q is not a run: write red 4 TestX, or green 4 TestX", part)
		}
		r := played{color: fields[0], good: good}
		if r.step, err = course.Parse(fields[1]); err != nil {
			return d, err
		}
		r.command = fmt.Sprintf("%s %s %s -json %s", tourCommand, fields[0], fields[1], fields[2])
		d.runs = append(d.runs, r)
	}
	return d, nil
}

// head says what the story is run on.
func (r played) head() string {
	s := r.step
	if r.color == "red" {
		s = s.Before()
	}
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
func draw(page, args string, outputs map[string]string) (files map[string]string, line string, err error) {
	d, err := parseDrawing(args)
	if err != nil {
		return nil, "", err
	}
	var panels []picture.Panel
	themes := map[string]picture.Theme{"": picture.Light, "-dark": picture.Dark}
	name, colon, stop, say := d.name, ": ", ". ", func(text string) string { return text }
	if isChinese(page) {
		name, colon, stop, say = d.name+".zh-CN", "：", "。", picture.InChinese
		for suffix, theme := range themes {
			themes[suffix] = theme.Chinese()
		}
	}
	says := []string{say(d.title)}
	for _, r := range d.runs {
		p := picture.Panel{Head: r.head(), Good: r.good, Until: d.until}
		said := r.good
		for records := json.NewDecoder(strings.NewReader(outputs[r.command])); records.More(); {
			var record trace.Record
			if err := records.Decode(&record); err != nil {
				return nil, "", fmt.Errorf("%s: %w", r.command, err)
			}
			if record.Kind == trace.Verdict {
				said = record.Text
			}
			p.Records = append(p.Records, record)
		}
		panels = append(panels, p)
		says = append(says, strings.TrimSuffix(say(p.Head)+colon+say(said), colon))
	}
	files = map[string]string{}
	for suffix, theme := range themes {
		if files[pictures+"/"+name+suffix+".svg"], err = picture.Story(d.title, panels, theme); err != nil {
			return nil, "", err
		}
	}
	src := join(page, pictures+"/"+name, "")
	alt := html.EscapeString(strings.Join(says, stop) + strings.TrimSpace(stop))
	const shown = `<picture><source media="(prefers-color-scheme: dark)" srcset="%s-dark.svg"><img alt="%s" src="%[1]s.svg"></picture>`
	return files, fmt.Sprintf(shown, src, alt), nil
}

// unseen returns complaints about pictures that no page has made.
func unseen(made map[string]string) (complaints []string) {
	drawn, _ := filepath.Glob(pictures + "/*.svg")
	for _, file := range drawn {
		if file = filepath.ToSlash(file); made[file] == "" {
			complaints = append(complaints, file+" is on no page: delete it")
		}
	}
	return complaints
}

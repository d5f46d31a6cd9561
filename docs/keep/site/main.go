// Site writes what is published, for any host of static files: the page of docs/play and what
// previews of links to it show, each lesson with its picture as a board that plays, and each
// lock next to the one before it as a card that other pages can embed.
//
//	go run -C docs/keep ./site DIR    # from the root of the repository: _site
package main

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"text/template"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/renderer/html"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/keep/script"
	"example.com/redislock-steps/docs/play/page"
)

var (
	//go:embed site.html
	frame string
	//go:embed site.css
	style string
)

func main() {
	root, err := course.Root()
	err = errors.Join(err, os.Chdir(root))
	files, err2 := site()
	err = errors.Join(err, err2)
	for name, text := range files {
		name = filepath.Join(append(os.Args, "_site")[1], name)
		err = errors.Join(err, os.MkdirAll(filepath.Dir(name), 0o777), os.WriteFile(name, text, 0o666))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// A builder makes the files of the site, by their names. In a language, those end in its suffix.
type builder struct {
	files        map[string][]byte
	err          error
	lang, suffix string
	words        map[string]string
	first        struct {
		Graph  graph
		Levels []page.Level
	}
}

// site is all that is published. It is made at the root of the repository.
func site() (map[string][]byte, error) {
	b := builder{files: page.Stubs()}
	text, err := script.Bundle("docs/keep/site/site.mjs")
	b.files["index.html"], b.files["play.png"] = b.read("docs/play/index.html"), b.read("docs/read/pictures/play.png")
	b.files["site.js"], b.files["site.css"] = []byte("(() => {"+text+"})();"), []byte(page.Style()+style)
	b.err = errors.Join(b.err, err, page.Unpack(b.files["index.html"], &b.first, &struct{}{}))
	for language, words := range page.Words() {
		b.lang, b.suffix, b.words = language, strings.TrimSuffix("."+language, ".en"), words
		for i, s := range course.Entries() {
			b.lesson(s, page.Chapters()[i].Beats)
			b.card(s.N, page.Chapters()[i].Beats)
		}
	}
	return b.files, b.err
}

func (b *builder) read(file string) []byte {
	text, err := os.ReadFile(file)
	b.err = errors.Join(b.err, err)
	return text
}

var (
	markers = regexp.MustCompile(`<!--.*?-->\n?|(?m)^(English \||\[English\]).*\n`)
	// A picture, and below it the schedule that plays it.
	story = regexp.MustCompile("(?m)^(<picture>.*</picture>)(\n\n.*`go run \\./docs/play ([\\w/-]+)`)")
	// A link to the page, and what it is to open.
	opens    = regexp.MustCompile("\\]\\([./]*(?:docs/)?play/README[^)]*\\)([^`\n]*?)[:：]? ?`go run \\./docs/play ([\\w/-]+)`")
	pointers = regexp.MustCompile(`(href|src|srcset)="([^"]*)"`)
	scrolls  = regexp.MustCompile(`(?s)<(table|pre)>.*?</(table|pre)>`)
	hosted   = regexp.MustCompile(`^https://([^./]+)\.github\.io/([^/]+)/$`)
	notIn    = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	markdown = goldmark.New(goldmark.WithExtensions(extension.GFM), goldmark.WithRendererOptions(html.WithUnsafe()),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()))
)

// anchors are GitHub's, of titles that are in a lesson once.
type anchors struct{}

func (anchors) Put([]byte) {}
func (anchors) Generate(title []byte, _ ast.NodeKind) []byte {
	return []byte(strings.ReplaceAll(notIn.ReplaceAllString(strings.ToLower(string(title)), ""), " ", "-"))
}

// lesson adds a lesson: its picture is a board, and the last level of its chapter is at its end.
func (b *builder) lesson(s course.Step, beats []page.Beat) {
	text, level := markers.ReplaceAllString(string(b.read(s.Dir+"/README"+b.suffix+".md")), ""), ""
	plays := "" // which no cell has
	if m := story.FindStringSubmatch(text); m != nil {
		plays = m[3]
	}
	text = story.ReplaceAllString(text, `<figure class="plays"><div data-schedule="$3">$1</div></figure>$2`)
	text = opens.ReplaceAllString(text, "]("+b.home()+"#$2)$1")
	for _, beat := range beats {
		level = cmp.Or(beat.Level, level)
	}
	var out bytes.Buffer
	err := markdown.Convert([]byte(text), &out, parser.WithContext(parser.NewContext(parser.WithIDs(anchors{}))))
	b.err = errors.Join(b.err, err)
	text = pointers.ReplaceAllStringFunc(out.String(), func(old string) string {
		m := pointers.FindStringSubmatch(old)
		if to := b.target(s.Dir, m[2]); to != "" {
			return fmt.Sprintf("%s=%q", m[1], to)
		}
		return ""
	})
	text = scrolls.ReplaceAllString(text, `<div class="scroll" tabindex="0">$0</div>`)
	b.add(fmt.Sprintf("lessons/%02d", s.N), []string{plays}, map[string]any{"N": s.N, "Text": text,
		"Title": b.words[fmt.Sprintf("chapter.%d.title", s.N)], "Level": level, "Goal": b.words["level."+level+".goal"]})
}

// home is the page, as a lesson and a card link to it.
func (b *builder) home() string { return "../index.html?lang=" + b.lang }

// target is where a link of a lesson leads: to a lesson, to the page, to a picture, which it adds,
// or to GitHub. It is empty if the site has no such place.
func (b *builder) target(dir, to string) string {
	file, at, found := strings.Cut(to, "#")
	if file == "" || strings.Contains(file, ":") || strings.HasPrefix(to, "../index.html") {
		return to
	}
	file = path.Join(dir, file)
	name := path.Base(file)
	suffix, isPage := strings.CutPrefix(strings.TrimSuffix(name, ".md"), "README")
	for _, s := range course.Entries() {
		if isPage && s.Dir == path.Dir(file) {
			return strings.TrimSuffix(fmt.Sprintf("%02d%s.html#%s", s.N, suffix, at), "#")
		}
	}
	switch {
	case path.Ext(name) == ".svg":
		b.files["lessons/"+name] = b.read(file)
		return name
	case !found && (isPage && path.Dir(file) == "." || strings.HasPrefix(file, "docs/play/")):
		return b.home() + "#menu"
	case !hosted.MatchString(course.Address):
		return ""
	}
	return hosted.ReplaceAllString(course.Address, "https://github.com/$1/$2/blob/HEAD/") + path.Join(dir, to)
}

// card adds the pair of a chapter: its last schedule that breaks a lock, and the one that holds.
func (b *builder) card(n int, beats []page.Beat) {
	beats = slices.DeleteFunc(beats, func(beat page.Beat) bool { return beat.Breaks == "" && !beat.Holds })
	i := slices.IndexFunc(beats, func(beat page.Beat) bool { return beat.Holds })
	pair, locks := fmt.Sprint("pairs.", n), []string{}
	for _, beat := range beats[i-1 : i+1] {
		lock := append([]course.Step{course.First}, course.Entries()...)[beat.Show[1]-'0'].Lock
		locks = append(locks, cmp.Or(b.words["data."+lock], lock))
	}
	b.add(fmt.Sprint("cards/", n), []string{beats[i-1].Show, beats[i].Show}, map[string]any{"N": n, "Locks": locks,
		"Title": b.words[pair], "Fix": b.words[pair+".fix"]})
}

// said are the words that boards need.
var said = regexp.MustCompile(`^(event|diagram|node|timeline|resource|course)\b`)

// add adds a file that site.html shows, with what the boards of its schedules need.
func (b *builder) add(name string, schedules []string, view map[string]any) {
	words, levels := map[string]string{}, []page.Level{}
	for key, word := range b.words {
		if said.MatchString(key) {
			words[key] = word
		}
	}
	graph, err1 := b.first.Graph.only(schedules)
	for _, l := range b.first.Levels {
		if strings.Contains(strings.Join(schedules, ""), fmt.Sprintf("%02d/%s/", l.Step, l.Fault)) {
			levels = append(levels, l)
		}
	}
	data, err2 := json.Marshal(map[string]any{"Graph": graph, "Levels": levels, "Language": b.lang, "Words": words})
	view["Lang"], view["Suffix"], view["Words"], view["Home"] = b.lang, b.suffix, b.words, b.home()
	view["Name"], view["Schedules"], view["Data"], view["Chapters"] = path.Base(name), schedules, string(data), page.Chapters()
	var out bytes.Buffer
	err3 := shown.Execute(&out, view)
	b.files[name+b.suffix+".html"] = out.Bytes()
	if err := errors.Join(err1, err2, err3); err != nil {
		b.err = errors.Join(b.err, fmt.Errorf("%s: %w", name, err))
	}
}

var shown = template.Must(template.New("").Parse(frame))

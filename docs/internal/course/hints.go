package course

import (
	"embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Hint helps with a story that fails. Its stages say more and more: a question, the
// direction, nearly the code.
type Hint struct {
	Of     []string // stories, files, "says: " what a failure says, "shows: " trace.Shows
	Stages []string // Markdown
}

// Stages is how many each hint has.
const Stages = 3

//go:embed hints
var hintTexts embed.FS

// Hints returns the hints of the stories that begin in s, and those for what a failure says, in
// any step from s on. They are in hints/stepNN.md, and in Chinese in
// hints/zh-CN/stepNN.md:
//
//	# TestOneStory
//	# says: the lock is taken
//
//	1. The first stage.
//
//	   Further lines of it are indented by three spaces.
//
//	2. The second.
func (s Step) Hints() []Hint { return readHints(fmt.Sprintf("step%02d.md", s.N)) }

// readHints reads a file of hints, in Chinese the one of the same name in zh-CN.
func readHints(file string) []Hint {
	if Chinese {
		file = "zh-CN/" + file
	}
	text, err := hintTexts.ReadFile("hints/" + file)
	if err != nil {
		panic(err) // the files are a part of this program
	}
	return parseHints(string(text))
}

// HintFor returns the hint of a story of s, or that of its file. It is in the hints of the
// step in which the file begins.
func (s Step) HintFor(file, story string) (Hint, bool) {
	for _, f := range s.Guarantees() {
		if f.Name == file {
			s = Steps[f.From-1]
		}
	}
	h, ok := find(s.Hints(), func(of string) bool { return of == story })
	if !ok {
		h, ok = find(s.Hints(), func(of string) bool { return of == file })
	}
	return h, ok
}

// HintAfter returns the hint for a story of s that has failed: for how it ends ("hangs", "leaks",
// "breaks"), or else for what its timeline shows, for what it says, or its own.
func (s Step) HintAfter(file, story, how, shows, says string) Hint {
	h, ok := find(readHints("endings.md"), func(of string) bool { return of == how })
	for _, kind := range []string{"shows: ", "says: "} {
		for n := s.N; n > 0 && !ok; n-- {
			h, ok = find(Steps[n-1].Hints(), func(of string) bool {
				text, is := strings.CutPrefix(of, kind)
				return is && (text == shows || kind == "says: " && strings.Contains(says, text))
			})
		}
	}
	if !ok {
		h, _ = s.HintFor(file, story)
	}
	return h
}

func find(list []Hint, is func(of string) bool) (Hint, bool) {
	i := slices.IndexFunc(list, func(h Hint) bool { return slices.ContainsFunc(h.Of, is) })
	if i < 0 {
		return Hint{}, false
	}
	return list[i], true
}

func parseHints(text string) (list []Hint) {
	text = "\n\n" + strings.ReplaceAll(text, "\r\n", "\n")
	for _, hint := range strings.Split(text, "\n\n# ")[1:] {
		parts := stageNumber.Split(hint, -1)
		h := Hint{Of: strings.Split(strings.TrimSpace(parts[0]), "\n# ")}
		for _, stage := range parts[1:] {
			h.Stages = append(h.Stages, strings.TrimSpace(strings.ReplaceAll(stage, "\n   ", "\n")))
		}
		list = append(list, h)
	}
	return list
}

var stageNumber = regexp.MustCompile(`(?m)^\d\. `)

package course

import (
	"cmp"
	"embed"
	"fmt"
	"slices"
	"strings"
)

// A Hint helps with a story that fails. Its stages say more and more: a question, the
// direction, nearly the code.
type Hint struct {
	Of     []string // stories; files, for all others in them; "says: " and what a failure says
	Stages []string // Markdown
}

// Stages is how many each hint has.
const Stages = 3

//go:embed hints
var hintTexts embed.FS

// Hints returns the hints of the stories that begin in s, and those for what people then
// break, by what the failure says. They are in hints/stepNN.md, and in Chinese in
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
	name := "hints/" + file
	if Chinese {
		name = "hints/zh-CN/" + file
	}
	text, err := hintTexts.ReadFile(name)
	list, wrong := parseHints(name, string(text))
	if err := cmp.Or(err, wrong); err != nil {
		panic(err) // the files are a part of this program
	}
	return list
}

// HintFor returns the hint of a story that begins in s, or that of its file, if there is one.
func (s Step) HintFor(file, story string) (Hint, bool) {
	h, ok := find(s.Hints(), func(of string) bool { return of == story })
	if !ok {
		h, ok = find(s.Hints(), func(of string) bool { return of == file })
	}
	return h, ok
}

// HintSaying returns the hint for a failure in s that says itself why.
func (s Step) HintSaying(says string) (Hint, bool) {
	return find(s.Hints(), func(of string) bool {
		text, ok := strings.CutPrefix(of, "says: ")
		return ok && strings.Contains(says, text)
	})
}

// HintForEnding returns the hint for a story that ends in the wrong way: "hangs", "leaks"
// or "breaks".
func HintForEnding(how string) (Hint, bool) {
	return find(readHints("endings.md"), func(of string) bool { return of == how })
}

func find(list []Hint, is func(of string) bool) (Hint, bool) {
	i := slices.IndexFunc(list, func(h Hint) bool { return slices.ContainsFunc(h.Of, is) })
	if i < 0 {
		return Hint{}, false
	}
	return list[i], true
}

func parseHints(name, text string) ([]Hint, error) {
	var list []Hint
	var h *Hint // the last one
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		switch of, isName := strings.CutPrefix(line, "# "); {
		case isName && (h == nil || h.Stages != nil):
			list = append(list, Hint{Of: []string{of}})
			h = &list[len(list)-1]
		case isName:
			h.Of = append(h.Of, of)
		case h != nil && strings.HasPrefix(line, fmt.Sprintf("%d. ", len(h.Stages)+1)):
			h.Stages = append(h.Stages, line[3:])
		case line == "" || strings.HasPrefix(line, "   "):
			if h != nil && h.Stages != nil {
				h.Stages[len(h.Stages)-1] += "\n" + strings.TrimPrefix(line, "   ")
			}
		default:
			return nil, fmt.Errorf("%s:%d: neither a name, nor the next stage, nor its text: %s", name, i+1, line)
		}
	}
	for _, h := range list {
		if len(h.Stages) != Stages {
			return nil, fmt.Errorf("%s: %s has %d stages, not %d", name, h.Of[0], len(h.Stages), Stages)
		}
		for i := range h.Stages {
			h.Stages[i] = strings.TrimSpace(h.Stages[i])
		}
	}
	return list, nil
}

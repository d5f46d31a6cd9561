package main

import (
	"cmp"
	"errors"
	"fmt"
	"html"
	"regexp"
	"slices"
	"strings"
)

// The pages in interviewDir are the one source of all questions. A lesson links to some of
// them, between <!-- questions: page.md#anchor #anchor ... --> and <!-- /questions -->;
// the decks have all.
const (
	interviewDir = "docs/read/interview"
	questionsEnd = "<!-- /questions -->"
)

// themes are the pages with questions, in the order that they have in the decks.
var themes = []string{"locks", "release", "nesting", "watchdog", "redlock", "fencing", "systems", "stores", "design", "cases", "staff", "whiteboard"}

var (
	keyWords = regexp.MustCompile(`^\*\*(?:Key words\.|关键词：)\*\* ?`)
	spoken   = regexp.MustCompile(`^\*\*30 (?:s\.|秒：)\*\* ?`)
)

// paragraph returns the text of the paragraph of a section that begins with a label.
func (s section) paragraph(label *regexp.Regexp) (text string) {
	i := slices.IndexFunc(s.parts, func(p part) bool { return label.MatchString(p.head[0]) })
	if i < 0 {
		return ""
	}
	for _, p := range s.parts[i:] {
		if p.head[0] == "" {
			break
		}
		text += " " + p.head[0]
	}
	return label.ReplaceAllString(strings.TrimSpace(text), "")
}

func (s section) isQuestion() bool {
	return s.level == 3 && s.paragraph(keyWords) != ""
}

// errStale says that the Chinese questions are not to be had: their page has to be
// translated first.
var errStale = errors.New("the Chinese edition is stale")

// questions returns those that a marker of a page asks for, for a Chinese page in Chinese.
func (b library) questions(file, args string) (out []string, err error) {
	names := strings.Fields(args)
	if n := len(names); strings.HasPrefix(file, "step0") && (n < minInLesson || n > maxInLesson) {
		err = fmt.Errorf("%d questions: a lesson shows %d to %d", n, minInLesson, maxInLesson)
	}
	from := ""
	for _, name := range names {
		page, anchor, _ := strings.Cut(name, "#")
		if from = cmp.Or(page, from); b.isStale(editionFor(file, from)) {
			return nil, errStale
		}
		text, failed := b.question(file, from, anchor)
		out, err = append(out, text), errors.Join(err, failed)
	}
	return out, err
}

// question is a link to a question of an interview page, with its key words: the answer is in
// one place.
func (b library) question(lesson, from, anchor string) (string, error) {
	page := editionFor(lesson, from)
	slug := b.sameHeading(from, page, anchor)
	list := b.page(page).sections
	i := slices.IndexFunc(list, func(s section) bool { return s.slug == slug && s.isQuestion() })
	if i < 0 {
		return "", fmt.Errorf("%s has no question #%s", page, anchor)
	}
	colon := ": "
	if isChinese(lesson) {
		colon = "："
	}
	return fmt.Sprintf("- [%s](%s)%s%s", list[i].title, join(lesson, page, slug), colon, anyLink.ReplaceAllString(list[i].paragraph(keyWords), "$1")), nil
}

var (
	anyLink     = regexp.MustCompile(`\[([^\]\n]*)\]\([^)\s]*\)`)
	codeInText  = regexp.MustCompile("`([^`]+)`")
	boldInText  = regexp.MustCompile(`\*\*([^*]+)\*\*`)
	slantInText = regexp.MustCompile(`\*([^*]+)\*`)
)

// inHTML returns a line of Markdown without its links.
func inHTML(text string) string {
	text = html.EscapeString(anyLink.ReplaceAllString(text, "$1"))
	text = strings.NewReplacer("&#34;", `"`, "&#39;", "'").Replace(text)
	text = codeInText.ReplaceAllString(text, "<code>$1</code>")
	text = boldInText.ReplaceAllString(text, "<b>$1</b>")
	return slantInText.ReplaceAllString(text, "<i>$1</i>")
}

// deckHead says to Anki how the lines of a deck are to be read.
const deckHead = "#separator:tab\n#html:true\n#tags column:3\n"

// deck has all questions of the interview pages in the language of a page: the question, what is
// said in 30 seconds, and the page.
func (b library) deck(page string) string {
	cards := deckHead
	for _, theme := range themes {
		for _, s := range b.page(editionFor(page, interviewDir+"/"+theme+".md")).sections {
			if s.isQuestion() {
				back := "<b>" + inHTML(s.paragraph(keyWords)) + "</b><br><br>" + inHTML(s.paragraph(spoken))
				cards += fmt.Sprintf("%s\t%s\t%s\n", inHTML(s.title), back, theme)
			}
		}
	}
	return cards
}

package main

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/source"
)

// A line of a page, and what it is part of.
type line struct {
	text   string
	opens  bool   // it opens a fenced block
	fenced bool   // it is inside one
	marker string // of what a program writes here: <!-- run: ... --> before this block or picture
	shown  bool   // it is of a question that an interview page has
}

// plain lines are neither in a block nor its fence.
func (l line) plain() bool {
	return !l.fenced && !strings.HasPrefix(strings.TrimSpace(l.text), "```")
}

// made lines are what a program writes after a marker.
func (l line) made() bool { return l.marker != "" && !l.opens }

var (
	markerLine = regexp.MustCompile(`^<!-- (run|code|picture|questions): (.*\S) -->$`)
	sourceLink = regexp.MustCompile("\\[`([A-Za-z0-9_.]+)`\\]\\(([^)#\\s]+\\.go)(#L[0-9]+)?\\)")
)

// markerOf returns what a line asks a program to write below it: "run" and a command.
func markerOf(text string) (verb, args string) {
	if m := markerLine.FindStringSubmatch(text); m != nil {
		return m[1], m[2]
	}
	return "", ""
}

// lines splits a page. A fence is in no block.
func lines(page string) (list []line) {
	open := "" // the fence that has opened the block
	marker, shown := "", false
	for text := range strings.SplitSeq(page, "\n") {
		shown = shown && text != questionsEnd
		l := line{text: text, shown: shown}
		trimmed := strings.TrimSpace(text)
		fence := trimmed[:len(trimmed)-len(strings.TrimLeft(trimmed, "`"))]
		switch {
		case open != "" && trimmed == open:
			open, marker = "", ""
		case open != "":
			l.fenced, l.marker = true, marker
		case len(fence) >= len("```"):
			open, l.opens, l.marker = fence, true, marker
		default:
			if strings.HasPrefix(text, "<picture>") {
				l.marker = marker
			}
			marker = markerLine.FindString(text)
			shown = shown || strings.HasPrefix(marker, "<!-- questions: ")
		}
		list = append(list, l)
	}
	return list
}

// prose is what there is between blocks and questions, in the same lines: each of theirs
// is ~~~, and that of a picture is empty.
func prose(part []line) string {
	var list []string
	for _, l := range part {
		switch {
		case !l.plain() || l.shown:
			l.text = "~~~"
		case l.made():
			l.text = ""
		}
		list = append(list, l.text)
	}
	return strings.Join(list, "\n")
}

// A block is what is below a marker, or in a fence without one.
type block struct {
	marker     string // the whole line, or ""
	verb, args string // run, code, picture or questions, and of what
	body       []string
}

// rewrite returns a page with what link makes of its lines outside of blocks, and with
// what fill makes of its blocks and pictures. Where they fail, it says so, and changes
// nothing.
func rewrite(file, page string, link func(string) (string, error),
	fill func(block) ([]string, error)) (_ string, wrong []string) {
	all := lines(page)
	var out []string
	for i := 0; i < len(all); {
		l := all[i]
		i++
		at := i
		complain := func(err error) {
			if err != nil {
				wrong = append(wrong, fmt.Sprintf("%s:%d: %v", file, at, err))
			}
		}
		b := block{marker: l.text}
		if l.opens {
			b.marker = l.marker
		}
		b.verb, b.args = markerOf(b.marker)
		if l.plain() {
			var err error
			l.text, err = link(l.text)
			complain(err)
		}
		out = append(out, l.text)
		switch {
		case l.opens && l.marker != "":
			at-- // its marker asks for what follows
		case l.opens, l.plain() && (b.verb == "picture" || b.verb == "questions"):
		case l.plain() && b.verb != "" && (i == len(all) || !all[i].opens):
			complain(fmt.Errorf("no fenced block directly after %s", l.text))
			continue
		default:
			continue
		}
		for i < len(all) && (all[i].fenced || all[i].made() || all[i].shown) {
			b.body = append(b.body, all[i].text)
			i++
		}
		body, err := fill(b)
		fence := strings.TrimRight(l.text, "abcdefghijklmnopqrstuvwxyz")
		closes := func(text string) bool { return strings.HasPrefix(text, fence) }
		switch {
		case b.verb == "questions" && i == len(all):
			err = fmt.Errorf("no %s after it", questionsEnd)
		case l.opens && i == len(all):
			err = fmt.Errorf("the block has no closing %s", fence)
		case l.opens && slices.ContainsFunc(body, closes):
			err = fmt.Errorf("the block contains its own closing fence %s: use a longer one", fence)
		}
		if err != nil {
			complain(err)
			body = b.body
		}
		out = append(out, body...)
	}
	return strings.Join(out, "\n"), wrong
}

// blocks are those of a page, with its pictures.
func blocks(page string) (list []block) {
	keep := func(text string) (string, error) { return text, nil }
	rewrite("", page, keep, func(b block) ([]string, error) {
		list = append(list, b)
		return b.body, nil
	})
	return list
}

// regenerate returns the files that a page makes, itself and its pictures, and what is
// wrong with it. outputs is what each command prints; without it, pictures stay as they
// are.
func (b library) regenerate(file string, outputs map[string]string) (made map[string]string, wrong []string) {
	made = map[string]string{}
	theirs := blocks(b.page(english(file)).text) // a Chinese page shows the same
	nth := -1
	page, wrong := rewrite(file, b.page(file).text, func(text string) (string, error) {
		if isChinese(file) {
			text = mapLinks(text, func(link string) string { return b.inChinese(file, link) })
		}
		return relink(file, text)
	}, func(old block) ([]string, error) {
		nth++
		switch {
		case old.verb == "picture" && outputs != nil:
			files, shown, err := draw(file, old.args, outputs)
			maps.Copy(made, files)
			return []string{shown}, err
		case old.verb == "picture":
		case old.verb == "questions":
			return b.questions(file, old.args)
		case isChinese(file):
			if nth < len(theirs) && theirs[nth].marker == old.marker && (old.verb != "" || old.body == nil) {
				return theirs[nth].body, nil
			}
		case old.verb == "run":
			return trimmed(prompt(old.args) + "\n" + outputs[old.args]), nil
		case old.verb == "code":
			text, err := excerpt(strings.Fields(old.args))
			return trimmed(text), err
		}
		return old.body, nil
	})
	page = b.withLanguages(file, page)
	b.set(file, page)
	made[file] = page
	if isChinese(file) {
		wrong = append(wrong, b.disagree(file)...)
	}
	return made, wrong
}

// trimmed splits a text into lines without white space at their ends.
func trimmed(text string) (list []string) {
	for line := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		list = append(list, strings.TrimRight(line, " \t"))
	}
	return list
}

// excerpt returns declarations as they are in a file, or in those of a lock:
// excerpt([file.go Name ...]), excerpt([folder Name ...]).
func excerpt(args []string) (string, error) {
	if len(args) < 2 {
		return "", errors.New("code needs a file or a folder, and at least one name")
	}
	var texts []string
	for _, name := range args[1:] {
		d, err := find(args[0], name)
		if err != nil {
			return "", err
		}
		if path.Ext(args[0]) == ".go" && path.Base(args[0]) != d.File {
			return "", fmt.Errorf("%s is in %s, not in %s: name that file, or the folder", name, d.File, args[0])
		}
		texts = append(texts, d.Text)
	}
	return strings.Join(texts, "\n\n"), nil
}

// relink sets the lines, and the files, of the links whose text is the name of a
// declaration. Only a lesson gives the lines of its tests: otherwise a new story would
// change most pages.
func relink(file, line string) (string, error) {
	var failed error
	line = sourceLink.ReplaceAllStringFunc(line, func(link string) string {
		m := sourceLink.FindStringSubmatch(link)
		if strings.Contains(m[2], "://") {
			return link
		}
		d, err := find(path.Join(path.Dir(file), m[2]), m[1])
		if err != nil {
			failed = err
			return link
		}
		to := path.Join(path.Dir(m[2]), d.File)
		if strings.Contains(to, "/") && strings.HasSuffix(to, "_test.go") {
			return fmt.Sprintf("[`%s`](%s)", m[1], to)
		}
		return fmt.Sprintf("[`%s`](%s#L%d)", m[1], to, d.Line)
	})
	return line, failed
}

// find returns a declaration of a file, or of another one next to it: a lock has several,
// and what it declares may move. Of a folder, it returns one of any file.
func find(file, name string) (d source.Declaration, err error) {
	dir := file
	if path.Ext(file) == ".go" {
		list, _ := source.Read(file)
		if d, err = source.Find(list, name); err == nil {
			return d, nil
		}
		dir = path.Dir(file)
	}
	list, err := source.ReadDir(dir)
	if err == nil {
		d, err = source.Find(list, name)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", file, err)
	}
	return d, err
}

// prompt writes a command as it is typed, in more lines than one if it is long.
func prompt(command string) string {
	var b strings.Builder
	line := "$"
	for _, word := range strings.Fields(command) {
		if len(line)+1+len(word) > maxColumns-len(` \`) {
			b.WriteString(line + " \\\n")
			line = "   "
		}
		line += " " + word
	}
	return b.String() + line
}

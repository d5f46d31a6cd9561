package main

import (
	"cmp"
	"fmt"
	"go/scanner"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// A wording is a pattern that is not plain English here, and what to write instead.
type wording struct {
	find    *regexp.Regexp
	but     *regexp.Regexp // not these, of the same place with what stands around it
	instead string
}

func say(find, instead string) wording {
	return wording{regexp.MustCompile(`(?i)` + find), nil, instead}
}

func (w wording) except(but string) wording {
	w.but = regexp.MustCompile(`(?i)` + but)
	return w
}

// wordings are the words and turns that readers had to read twice.
var wordings = []wording{
	say(`\b(take|takes|taken|took|taking) (\w+ ){0,3}back\b`, `release, undo ("take back" means to regain)`),
	say(`\b(give|gives|given|gave|giving) (\w+ ){0,3}back\b`, "release, re-acquire, return"),
	say(`\b(is|are|was|were) no [a-z]+`, "is not a ...").except(`there (is|are|was|were) no|(is|are|was|were) no (longer|one)\b`),
	say(`\bor else\b|\bwould else\b|[;:] else\b`, "otherwise"),
	say(`\bwhoever\b`, "a client that ..., if you ..."),
	say(`((^|[.;:] )(but |and |that )?|, (but|and) )who (is|has|meets|comes|asks|looks|raises|finds|wants|holds|dies|waits) `, "a noun before who: a client that ...").except(`\?|who is (the|inside)|who holds which`),
	say(`\balso (when|if|from|after|under)\b`, "even when, even if, even from").except(`also from step`),
	say(`\b(is|was|are|were) over\b`, "has ended, has expired").except(`over (\d|a |an |the (whole|network|wire|years)|all|TCP|TLS|HTTP|http)`),
	say(`\bends? by time\b`, "expires"),
	say(`\bany ?more\b`, "no longer").except(`any more (than|of|\w+s\b)`),
	say(`\bunder way\b|\bon (its|their|his|her) way\b`, "in progress, in flight"),
	say(`\bby then\b`, "name the moment"),
	say(`\blets? [\w' ]+ lasts? (for|at)\b|\bstill lasts\b|\bprolong`, "set its TTL to, remaining TTL, extend"),
	say(`\bhears? of\b|\blearns? of\b|\b(is|are|be|was) told\b`, "is notified; a function returns"),
	say(`\ball is well\b|\bsays? nil\b|[Ll]ock (does not )?says?\b`, "returns nil, reports it").except(`says "not held"|your lock says the same|✓ all is well`),
	say(`\b(goes|went|go) on\b`, "continues, keeps ...ing").except(`\bon (to|its|the|a|top)\b|"goes on"|_test\.go on`),
	say(`\bstands? (below|above|in|there|here|beside|before|on)\b|\bstands? still\b`, "is, appears; stalls").except(`stands? in for`),
	say(`\bbeside\b`, "next to, alongside, at the same time as").except(`ById\(.beside`),
	say(`\bsomebody\b|\banybody\b`, "another client, someone"),
	say(`\bnobody\b`, "no one, no other client").except(`"nobody"|diff 6 nobody|claration nobody|"of nobody`),
	say(`\beverybody\b`, "all other clients, everyone"),
	say(`\bfor ever\b`, "forever"),
	say(`\ball the same\b`, "anyway"),
	say(`\bmeanwhile\b`, "in the meantime, or nothing"),
	say(`\bas often\b`, "the same number of times"),
	say(`\bin vain\b|\bbe rid of\b|\bspare\b`, "for nothing; get rid of; save").except(`// Spare returns`),
	say(`\bof (its|their|her|his|your) own\b`, "its own X"),
	say(`\btime-out|\bset-up\b`, "timeout, setup"),
	say(`\bsome \d`, "about N"),
	say(`\bas (it|they) should\b`, "as expected"),
	say(`\bexhibits?\b`, "demo"),
	say(`\blaborator`, "test harness"),
	say(`\bthe course's\b`, "the reference solution"),
	say(`\bleader's (guide|mode)\b`, "facilitator, presenter mode"),
	say(`\bless (the|what|drift|a|an) `, "minus").except(`less (the|a) (more|less)`),
	say(`\ball along\b`, "throughout, the whole time"),
}

// A quotation keeps the words of its author.
var quotation = regexp.MustCompile("“[^”]*”|`[^`]*`|\\]\\([^)]*\\)|<[^>]*>|https?://\\S+")

// A piece is text that a person reads, and the line at which it begins.
type piece struct {
	line int
	text string
}

// prose returns what a person reads in a file: of a page all but blocks, code and the words
// of others ("> ..."), of a Go file the comments and strings.
func prose(file, text string) (list []piece) {
	switch filepath.Ext(file) {
	case ".go":
		return goProse(file, []byte(text))
	case ".md":
		for i, l := range lines(text) {
			if !l.fenced && !strings.HasPrefix(strings.TrimSpace(l.text), ">") && !strings.HasPrefix(l.text, "<!--") {
				list = append(list, piece{i + 1, quotation.ReplaceAllString(l.text, "·")})
			}
		}
	default:
		for i, l := range strings.Split(text, "\n") {
			_, value, _ := strings.Cut(l, `": `) // of JSON, what is read; of others, all
			list = append(list, piece{i + 1, cmp.Or(value, l)})
		}
	}
	return list
}

func goProse(file string, text []byte) (list []piece) {
	files := token.NewFileSet()
	f := files.AddFile(file, -1, len(text))
	var s scanner.Scanner
	s.Init(f, text, nil, scanner.ScanComments)
	for {
		pos, tok, lit := s.Scan()
		switch tok {
		case token.EOF:
			return list
		case token.COMMENT, token.STRING:
			for i, l := range strings.Split(lit, "\n") {
				list = append(list, piece{f.Line(pos) + i, quotation.ReplaceAllString(strings.Trim(l, "`"), "·")})
			}
		}
	}
}

// isEnglish says whether the words of a file are checked.
func isEnglish(file string) bool {
	switch file = filepath.ToSlash(file); {
	case isChinese(file), strings.Contains(file, "hinese"), strings.Contains(file, "testdata/"), strings.Contains(file, "zh"), strings.HasSuffix(file, "words.go"), strings.HasSuffix(file, "words_test.go"):
		return false
	// These are generated from messages and names.
	case strings.HasPrefix(file, "docs/read/why/"), file == "docs/read/faults.md", file == "docs/read/matrix.md":
		return false
	}
	ext := filepath.Ext(file)
	return ext == ".md" || ext == ".go" || ext == ".tmpl" || strings.HasSuffix(file, "words/en.json")
}

// badWords returns the wordings of a file that are to be written otherwise.
func badWords(file, text string) (list []string) {
	for _, p := range prose(file, text) {
		for _, w := range wordings {
			for _, at := range w.find.FindAllStringIndex(p.text, -1) {
				around := p.text[max(0, at[0]-10):min(len(p.text), at[1]+20)]
				if w.but != nil && w.but.MatchString(around) {
					continue
				}
				list = append(list, fmt.Sprintf("%s:%d: %q: write %s", file, p.line, strings.TrimSpace(around), w.instead))
			}
		}
	}
	return list
}

// englishFiles lists the files under the current folder whose words are checked.
func englishFiles() (files []string, err error) {
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git"):
			return filepath.SkipDir
		case !d.IsDir() && isEnglish(path):
			files = append(files, filepath.ToSlash(path))
		}
		return nil
	})
	return files, err
}

// showWords prints the wordings of the files, or of all.
func showWords(files []string) error {
	if len(files) == 0 {
		var err error
		if files, err = englishFiles(); err != nil {
			return err
		}
	}
	n := 0
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		for _, complaint := range badWords(file, string(text)) {
			fmt.Println(complaint)
			n++
		}
	}
	if n > 0 {
		return fmt.Errorf("%d places", n)
	}
	return nil
}

package main

import (
	"go/scanner"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// wordings are the words and turns that readers had to read twice.
var wordings = []rule{
	say(`\b(take|takes|taken|took|taking) (\w+ ){0,3}back\b`, `release, undo ("take back" means to regain)`),
	say(`\b(give|gives|given|gave|giving) (\w+ ){0,3}back\b`, "release, re-acquire, return"),
	say(`\b(is|are|was|were) no [a-z]+`, "is not a ...").unless(`there (is|are|was|were) no|(is|are|was|were) no (longer|one)\b`),
	say(`\bor else\b|\bwould else\b|[;:] else\b`, "otherwise"),
	say(`\bwhoever\b`, "a client that ..., if you ..."),
	say(`((^|[.;:] )(but |and |that )?|, (but|and) )who (is|has|meets|comes|asks|looks|raises|finds|wants|holds|dies|waits) `, "a noun before who: a client that ...").unless(`who\b.{0,20}\?|who is (the|inside)|who holds which`),
	say(`\balso (when|if|from|after|under)\b`, "even when, even if, even from").unless(`also from step`),
	say(`\b(is|was|are|were) over\b`, "has ended, has expired").unless(`over (\d|a |an |all|TCP|TLS|HTTP|http)`),
	say(`\bends? by time\b`, "expires"),
	say(`\bany ?more\b`, "no longer").unless(`any more (than|of|\w+s\b)`),
	say(`\bunder way\b|\bon (its|their|his|her) way\b`, "in progress, in flight"),
	say(`\bby then\b`, "name the moment"),
	say(`\blets? [\w' ]+ lasts? (for|at)\b|\bstill lasts\b|\bprolong`, "set its TTL to, remaining TTL, extend"),
	say(`\bhears? of\b|\blearns? of\b|\b(is|are|be|was) told\b`, "is notified; a function returns"),
	say(`\ball is well\b|\bsays? nil\b|[Ll]ock (does not )?says?\b`, "returns nil, reports it").unless(`says "not held"|your lock says the same|✓ all is well`),
	say(`\b(goes|went|go) on\b`, "continues, keeps ...ing").unless(`\bon (to|its|the|a|top)\b|"goes on"|_test\.go on`),
	say(`\bstands? (below|above|in|there|here|beside|before|on)\b|\bstands? still\b`, "is, appears; stalls").unless(`stands? in for`),
	say(`\bbeside\b`, "next to, alongside, at the same time as"),
	say(`\bsomebody\b|\banybody\b`, "another client, someone"),
	say(`\bnobody\b`, "no one, no other client").unless(`"nobody"|diff 6 nobody|claration nobody|"of nobody`),
	say(`\beverybody\b`, "all other clients, everyone"),
	say(`\bfor ever\b`, "forever"),
	say(`\ball the same\b`, "anyway"),
	say(`\bmeanwhile\b`, "in the meantime, or nothing"),
	say(`\bas often\b`, "the same number of times"),
	say(`\bin vain\b|\bbe rid of\b|\bspare\b`, "for nothing; get rid of; save").unless(`// Spare returns`),
	say(`\bof (its|their|her|his|your) own\b`, "its own X"),
	say(`\btime-out|\bset-up\b`, "timeout, setup"),
	say(`\bsome \d`, "about N"),
	say(`\bas (it|they) should\b`, "as expected"),
	say(`\bexhibits?\b`, "demo"),
	say(`\blaborator`, "test harness"),
	say(`\bthe course's\b`, "the reference solution"),
	say(`\bleader's (guide|mode)\b`, "facilitator, presenter mode"),
	say(`\bless (the|what|drift|a|an) `, "minus"),
	say(`\ball along\b`, "throughout, the whole time"),
}

// A quotation keeps the words of its author, and so do names and addresses.
var quotation = regexp.MustCompile("“[^”\n]*”|`[^`\n]*`|\\]\\([^)\n]*\\)|<[^>\n]*>|https?://\\S+")

// The lines of a page in which others speak, and the keys of a JSON file.
var (
	saidByOthers = regexp.MustCompile(`(?m)^ *>.*|^<!--.*`)
	jsonKey      = regexp.MustCompile(`(?m)^.*?": `)
)

// readable returns what a person reads in a file, line by line: of a page all but blocks,
// code and the words of others, of a Go file the comments and strings.
func readable(file, text string) string {
	switch path.Ext(file) {
	case ".go":
		text = goText([]byte(text))
	case ".md":
		text = saidByOthers.ReplaceAllString(prose(parse(text)), "")
	default:
		return jsonKey.ReplaceAllString(text, "")
	}
	return quotation.ReplaceAllString(text, "·")
}

func goText(source []byte) string {
	f := token.NewFileSet().AddFile("", -1, len(source))
	var s scanner.Scanner
	s.Init(f, source, nil, scanner.ScanComments)
	var b strings.Builder
	line := 1
	for {
		pos, tok, text := s.Scan()
		switch tok {
		case token.EOF:
			return b.String()
		case token.STRING:
			text = strings.Trim(text, "`")
		case token.COMMENT:
		default:
			continue
		}
		b.WriteString(strings.Repeat("\n", f.Line(pos)-line) + " · " + text)
		line = f.Line(pos) + strings.Count(text, "\n")
	}
}

// notEnglish is in the names of files with Chinese, with wrong words, and of those that a
// program makes of messages and names.
var notEnglish = regexp.MustCompile(`[Cc]hinese|zh|testdata/|words_test\.go$|^docs/read/(why/|faults\.md|matrix\.md)`)

// badWords returns the wordings of a file that are to be written otherwise.
func badWords(file, text string) []string { return check(wordings, file, readable(file, text)) }

// Every page, comment and message is plain English. What is right in its place is an
// exception here, or a quotation.
func TestWords_NoForbiddenWording(t *testing.T) {
	t.Chdir("../../..")
	files, err := filesOf(regexp.MustCompile(`\.(md|go|tmpl)$|words/en\.json$`))
	require.NoError(t, err)
	files = slices.DeleteFunc(files, notEnglish.MatchString)
	require.Greater(t, len(files), 200, "the repository has more English files than these")
	var wrong []string
	seen := map[string]bool{} // later steps have copies
	for _, file := range files {
		if text := read(t, file); !seen[text] {
			wrong = append(wrong, badWords(file, text)...)
			seen[text] = true
		}
	}
	require.Empty(t, strings.Join(wrong, "\n"))
}

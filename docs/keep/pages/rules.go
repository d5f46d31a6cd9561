package main

import (
	"fmt"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// A rule is a pattern that is wrong in a text, and what to do about it.
type rule struct {
	find   *regexp.Regexp
	except *regexp.Regexp // not what this matches too, even if only in part
	why    string
	needs  []string
}

// reject is a rule without exceptions. In its pattern, case makes no difference, and ^
// and $ are the ends of a line.
func reject(find, why string) rule {
	re := regexp.MustCompile(`(?im)` + find)
	tree, _ := syntax.Parse(find, syntax.Perl)
	return rule{find: re, why: why, needs: needs(tree)}
}

func say(find, instead string) rule { return reject(find, "write "+instead) }

func (r rule) unless(except string) rule {
	r.except = regexp.MustCompile(`(?im)` + except)
	return r
}

// needs returns texts of which one, in lower case, is in all that re matches. To look for
// them first is ten times as fast as the pattern alone. Without an answer, it returns
// nil.
func needs(re *syntax.Regexp) (list []string) {
	switch re.Op {
	case syntax.OpLiteral:
		return []string{strings.ToLower(string(re.Rune))}
	case syntax.OpCapture:
		return needs(re.Sub[0])
	case syntax.OpConcat: // any of its parts will do
		for _, part := range re.Sub {
			if texts := needs(part); texts != nil && !slices.Contains(texts, " ") {
				list = texts
			}
		}
	case syntax.OpAlternate:
		for _, part := range re.Sub {
			texts := needs(part)
			if texts == nil {
				return nil
			}
			list = append(list, texts...)
		}
	}
	return list
}

// check returns where the text of a file breaks the rules.
func check(rules []rule, file, text string) (wrong []string) {
	lower := strings.ToLower(text)
	there := func(text string) bool { return strings.Contains(lower, text) }
	for _, r := range rules {
		if r.needs != nil && !slices.ContainsFunc(r.needs, there) {
			continue
		}
		for _, at := range r.find.FindAllStringIndex(text, -1) {
			overlaps := func(other []int) bool { return other[0] < at[1] && at[0] < other[1] }
			if r.except != nil && slices.ContainsFunc(r.except.FindAllStringIndex(text, -1), overlaps) {
				continue
			}
			line := 1 + strings.Count(text[:at[0]], "\n")
			found, _, _ := strings.Cut(text[at[0]:at[1]], "\n")
			wrong = append(wrong, fmt.Sprintf("%s:%d: %q: %s", file, line, found, r.why))
		}
	}
	return wrong
}

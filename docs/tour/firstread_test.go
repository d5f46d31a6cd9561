package main

import (
	"path"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// beforeTheFirstLine is how many words a beginner may have to read before writing one.
const beforeTheFirstLine = 900

// TestStep01_IsShortBeforeTheFirstLine counts what a beginner reads: the lesson down to its
// spoiler line, what the first try prints, and the whole start file, its code included.
func TestStep01_IsShortBeforeTheFirstLine(t *testing.T) {
	buildsMany(t)
	s := course.Steps[0]
	inOwnCourse(t) // mylock of the repository is its owner's

	lesson, rest, found := strings.Cut(read(t, path.Join(s.Dir, "README.md")), "\n**Spoiler:**")
	require.True(t, found, "the lesson has no spoiler line")
	spoiler, _, _ := strings.Cut(rest, "\n\n")

	try, _, code := tourOf(t, "try 1")
	require.Equal(t, 1, code, "the start solves the step:\n%s", try)

	rules, _ := s.Rules()
	for _, r := range rules {
		require.NotContains(t, try, "FAIL  "+r.Story, "the first try says that the start keeps the rules")
	}

	start := read(t, myLockFile)
	a, b, c := wordsIn(lesson+" Spoiler: "+spoiler), wordsIn(try), wordsIn(start)
	require.LessOrEqualf(t, a+b+c, beforeTheFirstLine,
		"%d words before the first line of code: %d in the lesson, %d in the first try, %d in the start file", a+b+c, a, b, c)
}

var (
	markup = regexp.MustCompile(`(?s)<!--.*?-->|</?[a-z][^>]*>|\]\([^)]*\)`)
	aWord  = regexp.MustCompile(`\pL|\pN`)
)

// wordsIn counts what has a letter or a digit in it. What a page shows as a picture or as a
// link counts as its words only.
func wordsIn(text string) (n int) {
	for _, word := range strings.Fields(markup.ReplaceAllString(text, " ")) {
		if aWord.MatchString(word) {
			n++
		}
	}
	return n
}

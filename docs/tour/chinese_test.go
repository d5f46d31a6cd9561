package main

import (
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
)

// speakingChinese is this program in Chinese until the test ends.
func speakingChinese(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { course.Chinese = false })
	course.Chinese = true
}

var (
	// said is what a function that says something is called with, behind a prefix.
	said = regexp.MustCompile(`\b(?:printf|prose|complain|strong|heading|playing|say|errorf|wrongUsage|word|capital)\(("[^"]*", )?("(?:[^"\\]|\\.)*")`)
	verb = regexp.MustCompile(`%(?:\[(\d+)\])?[-+0-9.*]*([a-z])`)
	// notSaid is the same in every language: commands.
	notSaid = regexp.MustCompile(`go run \./docs/tour( \w+)?( %[ds])?( -\w+)?|\$ (go|cd)\b`)
	aWord   = regexp.MustCompile(`[A-Za-z]{2,}`)
	cutText = regexp.MustCompile(`"\s*\+\n\s*"`)
)

// What a function that says something is called with has its Chinese, with the same verbs, and
// what has Chinese stands in the source.
func TestChinese_IsCompleteAndNotTooMuch(t *testing.T) {
	source, locks := "", ""
	paths, err := filepath.Glob("*.go")
	require.NoError(t, err)
	for _, path := range paths {
		if !strings.HasSuffix(path, "_test.go") {
			source += cutText.ReplaceAllString(read(t, path), "")
		}
	}
	for _, found := range said.FindAllStringSubmatch(source, -1) {
		text, err := strconv.Unquote(found[2])
		require.NoError(t, err)
		if aWord.MatchString(verb.ReplaceAllString(notSaid.ReplaceAllString(text, ""), "")) {
			assert.NotEmptyf(t, inChinese.Texts[text], "no Chinese for %q", text)
		}
	}
	for _, s := range append(course.Steps[:4:4], course.First) {
		locks += read(t, "../../"+s.Path())
	}
	for _, comment := range comment.FindAllString(locks, -1) {
		assert.Equal(t, strings.Count(comment, "//"), strings.Count(inChinese.Texts[comment], "//"), "lines of Chinese for %q", comment)
	}
	for text, found := range inChinese.Texts {
		known := strings.Contains(source, strconv.Quote(text)) || strings.Contains(source, "`"+text+"`") || strings.Contains(text, "#") || text == "epilogue" || strings.Contains(locks, text)
		assert.Truef(t, known, "nothing says this any longer: %q", text)
		assert.Equalf(t, verbs(text), verbs(found), "%q", text)
		assert.Equalf(t, strings.HasSuffix(text, "\n"), strings.HasSuffix(found, "\n"), "%q", text)
	}
}

// verbs are those of a format, by the places of their arguments.
func verbs(format string) map[int]string {
	list, next := map[int]string{}, 1
	for _, found := range verb.FindAllStringSubmatch(strings.ReplaceAll(format, "%%", ""), -1) {
		if n, err := strconv.Atoi(found[1]); err == nil {
			next = n
		}
		list[next] = found[2]
		next++
	}
	return list
}

func TestChinese_FitsATerminal(t *testing.T) {
	speakingChinese(t)
	fits(t, "help", word(help))
	for _, s := range course.Steps {
		require.LessOrEqual(t, course.Wide(word(s.Problem)), 53, "next to the word for it, and mylock, on a line of 80 columns")
		require.Equal(t, columns, course.Wide(banner(s)))
	}
	for _, state := range []string{"solved ", "later  ", "missing", "holds  ", "not run"} {
		require.Equal(t, 7, course.Wide(word(state)), state)
	}
}

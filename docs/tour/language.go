package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

//go:embed zh-CN.json
var zhCN []byte

// inChinese has what the tour says, by the English: texts, formats and the words put into
// them. Those of the course are in package course, the stories' messages in package
// trace.
var inChinese = course.NewCatalog("docs/tour/zh-CN.json", zhCN, course.Numbers)

// word is a text or a format in the reader's language.
func word(text string) string {
	if !course.Chinese {
		return text
	}
	return course.InChinese(inChinese.Find(text))
}

// say is fmt.Sprintf in the reader's language, its words as well.
func say(format string, args ...any) string { return fmt.Sprintf(word(format), words(args)...) }

// errorf is fmt.Errorf in the reader's language.
func errorf(format string, args ...any) error { return fmt.Errorf(word(format), words(args)...) }

func words(args []any) []any {
	args = slices.Clone(args)
	for i, arg := range args {
		if text, ok := arg.(string); ok {
			args[i] = word(text)
		}
	}
	return args
}

// A usageError is the user's, and exits with 2.
type usageError string

func (e usageError) Error() string { return string(e) }

func wrongUsage(format string, args ...any) error { return usageError(say(format, args...)) }

// count writes "1 story", "2 stories", "3 more lines".
func count(n int, noun string) string {
	switch stem, ok := strings.CutSuffix(noun, "y"); {
	case course.Chinese, n == 1:
	case ok:
		noun = stem + "ies"
	default:
		noun += "s"
	}
	return fmt.Sprintf("%d %s", n, word(noun))
}

func capital(text string) string {
	text = word(text)
	if text[0] >= 'a' && text[0] <= 'z' {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

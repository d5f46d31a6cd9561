package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
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
	if found := inChinese.Find(text); found != text {
		return found
	}
	return course.InChinese(text)
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

// A saying is an error that is the same in every language.
type saying string

func (s saying) Error() string { return word(string(s)) }

// original are lines of a story's message: the Chinese for those that have it, and below that the
// English, which is in the source.
func original(lines []string) (list []string) {
	for _, line := range lines {
		if found := trace.Say(line); found != line {
			list = append(list, found)
			line = fmt.Sprintf(word("in the source: %s"), line)
		}
		list = append(list, line)
	}
	return list
}

// pad fills a text up with spaces.
func pad(width int, text string) string {
	return text + strings.Repeat(" ", max(0, width-course.Wide(text)))
}

// breakAt is where the first line of a text ends that is too wide: at the last place at which it
// may before this width, or at the first one; -1 if it has none.
func breakAt(width int, text string) int {
	end := 0
	for _, part := range course.Unbroken(text) {
		if end > 0 && course.Wide(text[:end]+part) > width {
			return end
		}
		end += len(part)
	}
	return -1
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

func capital(text string) string {
	text = word(text)
	if text[0] >= 'a' && text[0] <= 'z' {
		return strings.ToUpper(text[:1]) + text[1:]
	}
	return text
}

// lines splits a text; LF or CRLF makes no difference.
func lines(text string) []string {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	if text == "" {
		return nil
	}
	return strings.Split(strings.TrimSuffix(text, "\n"), "\n")
}

// A usageError is the user's, and exits with 2.
type usageError string

func (e usageError) Error() string { return string(e) }

func wrongUsage(format string, args ...any) error { return usageError(say(format, args...)) }

// count writes "1 story", "2 stories", "3 more lines".
func count(n int, noun string) string {
	if course.Chinese {
		return fmt.Sprintf("%d %s", n, word(noun))
	}
	if n == 1 {
		return "1 " + noun
	}
	if stem, ok := strings.CutSuffix(noun, "y"); ok {
		return fmt.Sprintf("%d %sies", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

package main

import (
	"fmt"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

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

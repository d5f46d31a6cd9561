package trace

import (
	_ "embed"

	"example.com/redislock-steps/docs/internal/course"
)

//go:embed zh-CN.json
var zhCN []byte

// inChinese has what stories say: their messages and their notes, by the formats in their
// source, and what is put into these.
var inChinese = course.NewCatalog("docs/internal/trace/zh-CN.json", zhCN, course.Verbs)

// InChinese returns the Chinese for what a story says, or the text if there is none.
func InChinese(text string) string { return inChinese.Find(text) }

// OfExplorer has the Chinese of all that the explorer's timelines say, by formats.
func OfExplorer() map[string]string { return inChinese.Sections["What timelines say"] }

// Say is a text or a format in the reader's language.
func Say(text string) string {
	if course.Chinese {
		return InChinese(text)
	}
	return text
}

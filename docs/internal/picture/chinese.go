package picture

import (
	_ "embed"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
)

//go:embed zh-CN.json
var zhCN []byte

// inChinese has what the pictures of the Chinese pages say of their own, by the English. What
// stories say is in package trace.
var inChinese = course.NewCatalog("docs/internal/picture/zh-CN.json", zhCN, course.Numbers)

// inLabels has the words of labels, in parts; commands, replies and errors are as in the code.
var inLabels = sync.OnceValue(func() *strings.Replacer {
	var parts []string
	for _, english := range slices.Sorted(maps.Keys(inChinese.Texts)) {
		parts = append(parts, english, inChinese.Texts[english])
	}
	return strings.NewReplacer(parts...)
})

// labelled returns what a lane shows.
func (c *canvas) labelled(text string) string {
	if !c.chinese {
		return strings.Replace(text, "listens on redislock:coupons", "listens", 1)
	}
	found := inLabels().Replace(text)
	if english.MatchString(asInCode.ReplaceAllString(found, "")) {
		c.lack(text)
	}
	return found
}

// asInCode are the words that are the same in both languages: clients, scripts, replies.
var (
	asInCode = regexp.MustCompile(`\b(alice|bob|carol|acquire|release|renew|nil|key|context canceled|[A-Z]\w+)\b`)
	english  = regexp.MustCompile(`[a-z]{3,}`)
)

// InChinese returns the Chinese for a text of a picture, or the text if there is none.
func InChinese(text string) string {
	if found := inChinese.Find(text); found != text {
		return found
	}
	return trace.InChinese(text)
}

// Chinese returns the theme for the pictures of the Chinese pages.
func (t Theme) Chinese() Theme {
	t.chinese = true
	return t
}

// say returns what the picture shows of a text. What has no Chinese is an error in the end.
func (c *canvas) say(text string) string {
	if !c.chinese {
		return text
	}
	found := InChinese(text)
	if found == text {
		c.lack(text)
	}
	return found
}

func (c *canvas) lack(text string) {
	if !slices.Contains(c.lacks, text) {
		c.lacks = append(c.lacks, text)
	}
}

package course

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Chinese is whether the hints are Chinese, and what InChinese is asked for. A program
// sets it once, before anything else.
var Chinese bool

// ChineseLocale reports whether the environment asks for Chinese.
func ChineseLocale(env func(string) string) bool {
	return strings.HasPrefix(cmp.Or(env("LC_ALL"), env("LC_MESSAGES"), env("LANG")), "zh")
}

// TakeLang takes -lang and its value out of the arguments, wherever they stand. It returns the
// others, and whether the value is a language.
func TakeLang(args []string) (others []string, lang string, ok bool) {
	for i, arg := range args {
		if arg != "-lang" && arg != "--lang" {
			continue
		}
		end := min(i+2, len(args))
		lang = strings.Join(args[i+1:end], "")
		Chinese = strings.HasPrefix(lang, "zh")
		return slices.Delete(slices.Clone(args), i, end), lang, Chinese || strings.HasPrefix(lang, "en")
	}
	return args, "", true
}

//go:embed zh-CN.json
var zhCN []byte

var inChinese = NewCatalog("docs/internal/course/zh-CN.json", zhCN, Numbers)

// A Catalog has texts with their Chinese. Some of them have gaps, for what differs.
type Catalog struct {
	Texts    map[string]string
	Sections map[string]map[string]string // the same, as the file has them
	forms    func() []form                // of the texts with gaps: those that say most come first
}

// A form is a text with gaps.
type form struct {
	says    int            // how much stands around its gaps
	filled  *regexp.Regexp // the text, whatever its gaps hold
	chinese string         // a format, with %s for each gap
}

// Verbs are the gaps in a catalog of formats. Those of other catalogs are Numbers: a number, a
// duration, or code.
const (
	Verbs   = `%(\[\d+\])?[-+.0-9]*[a-z]`
	Numbers = "#"
)

// NewCatalog reads a file of texts, in sections.
func NewCatalog(file string, text []byte, gaps string) Catalog {
	var sections map[string]map[string]string
	if err := json.Unmarshal(text, &sections); err != nil {
		panic(fmt.Sprintf("%s: %v", file, err)) // the file is a part of this program
	}
	c := Catalog{Texts: map[string]string{}, Sections: sections}
	for _, section := range sections {
		maps.Copy(c.Texts, section)
	}
	c.forms = sync.OnceValue(func() []form { return formsOf(c.Texts, regexp.MustCompile(gaps)) })
	return c
}

func formsOf(texts map[string]string, gap *regexp.Regexp) (list []form) {
	for text, chinese := range texts {
		verbs, pattern, says := gap.FindAllString(text, -1), "", 0
		for i, part := range gap.Split(text, -1) {
			pattern += regexp.QuoteMeta(part)
			says += len(part)
			if i < len(verbs) {
				pattern += "(" + fill(verbs[i]) + ")"
			}
		}
		if verbs != nil {
			list = append(list, form{says, regexp.MustCompile("^" + pattern + "$"), gap.ReplaceAllString(chinese, "%${1}s")})
		}
	}
	slices.SortFunc(list, func(a, b form) int { // the order is the same each time
		return cmp.Or(b.says-a.says, a.filled.NumSubexp()-b.filled.NumSubexp(), strings.Compare(a.filled.String(), b.filled.String()))
	})
	return list
}

// fill is what a gap can hold.
func fill(gap string) string {
	switch gap[len(gap)-1] {
	case '#':
		return "`[^`]*`|[0-9]+(?:[.][0-9]+)?(?:ms|s)?"
	case 'd':
		return "-?[0-9]+"
	case 'q':
		return `"(?:[^"\\]|\\.)*"`
	}
	return ".*?"
}

// Find returns what a catalog has for a text: for itself, or for what it was made from. What was
// put into it is in Chinese as well, if the catalog has that. If there is none, it returns the text.
func (c Catalog) Find(text string) string {
	if found, ok := c.Texts[text]; ok {
		return found
	}
	for _, f := range c.forms() {
		if m := f.filled.FindStringSubmatch(text); m != nil {
			var args []any
			for _, arg := range m[1:] {
				args = append(args, c.Find(arg))
			}
			return between.ReplaceAllString(fmt.Sprintf(f.chinese, args...), "$1$2")
		}
	}
	return text
}

// between is a space that belongs to a gap, but not beside Chinese that has filled it.
var between = regexp.MustCompile(`([）\p{Han}]) (\p{Han})`)

// InChinese returns the Chinese for a text of this package, or the text if there is none.
func InChinese(text string) string { return inChinese.Find(text) }

// Wide is how many columns a text takes: Chinese takes two for a character.
func Wide(text string) (n int) {
	for _, r := range text {
		n++
		if r >= 0x2e80 {
			n++
		}
	}
	return n
}

// unbroken is what one line has to hold: a word, or a character of Chinese, with what opens
// before it and what closes after it.
var unbroken = regexp.MustCompile(` *[（《“‘(]*(?:[^ “‘\x{2e80}-\x{10ffff}]+|[\x{2e80}-\x{10ffff}])[，。、：；？！）》”’,.:;?!)]*`)

// Unbroken cuts a text at all places at which a line may end.
func Unbroken(text string) (parts []string) {
	from := 0
	for _, at := range unbroken.FindAllStringIndex(text, -1) {
		parts = append(parts, text[from:at[1]])
		from = at[1]
	}
	return parts
}

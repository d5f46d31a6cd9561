package course

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strings"
)

// Chinese is whether the hints are Chinese, and what InChinese is asked for. A program
// sets it once, before anything else.
var Chinese bool

//go:embed zh-CN.json
var zhCN []byte

var inChinese = Catalog("docs/internal/course/zh-CN.json", zhCN)

// Catalog reads a file of texts with their Chinese, in sections that are there for the
// translator alone.
func Catalog(file string, text []byte) map[string]string {
	var sections map[string]map[string]string
	if err := json.Unmarshal(text, &sections); err != nil {
		panic(fmt.Sprintf("%s: %v", file, err)) // the file is a part of this program
	}
	all := map[string]string{}
	for _, section := range sections {
		maps.Copy(all, section)
	}
	return all
}

// InChinese returns the Chinese for a text of this package, or the text if there is none.
func InChinese(text string) string { return Find(inChinese, text) }

// Find returns what a catalog has for a text: for itself, or for it with a # for each
// number, each duration and each piece of code. If there is none, it returns the text.
func Find(catalog map[string]string, text string) string {
	if found, ok := catalog[text]; ok {
		return found
	}
	found, ok := catalog[variable.ReplaceAllString(text, "#")]
	if !ok {
		return text
	}
	for _, v := range variable.FindAllString(text, -1) {
		found = strings.Replace(found, "#", v, 1)
	}
	return found
}

// variable is what a # stands for: a number, a duration, or code.
var variable = regexp.MustCompile("`[^`]*`|[0-9]+(?:[.][0-9]+)?(?:ms|s)?")

package course

import (
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestChinese_IsCompleteAndNotTooMuch asks for the Chinese of every text of the course,
// and for the English of every Chinese.
func TestChinese_IsCompleteAndNotTooMuch(t *testing.T) {
	texts := []string{"step #", "of step #", "the lock of step #", errNoModule.Error()}
	for _, s := range append(Entries(), First, Unfenced) {
		if s.N == 0 || s.IsEpilogue() {
			texts = append(texts, s.Label(), s.Of(), s.Subject())
		}
		texts = append(texts, s.Title, s.Problem, s.Lock, s.Words, s.Asks, s.Fresh, s.Guarantee, s.Broken)
		for _, f := range s.Guarantees() {
			texts = append(texts, f.Guarantee)
		}
		for _, p := range s.Parts() {
			texts = append(texts, p.Name, p.Asks)
		}
	}
	for _, r := range rules {
		texts = append(texts, r.Text)
	}
	words := regexp.MustCompile(`[a-z]{2}`) // of commands alone there is none
	for _, text := range texts {
		_, ok := inChinese.Texts[text]
		// A part that is named as a method is; of what is a path there is none.
		assert.Truef(t, ok || !words.MatchString(text) || slices.Contains([]string{"Lost", "Do", Unfenced.Lock}, text), "no Chinese for %q", text)
	}
	for text := range inChinese.Texts {
		assert.Truef(t, slices.Contains(texts, text), "nothing says this any longer: %q", text)
	}
}

var code = regexp.MustCompile("`[^`]+`")

// TestChinese_HintsAreThoseOfTheEnglish compares the stories, and in each stage the code.
func TestChinese_HintsAreThoseOfTheEnglish(t *testing.T) {
	t.Cleanup(func() { Chinese = false })
	files, err := fs.Glob(hintTexts, "hints/*.md")
	require.NoError(t, err)
	for _, name := range files {
		english := readHints(path.Base(name))
		Chinese = true
		chinese := readHints(path.Base(name))
		Chinese = false
		require.Len(t, chinese, len(english), name)
		for i, h := range english {
			require.Equal(t, h.Of, chinese[i].Of, name)
			require.Equal(t, []int{Stages, Stages}, []int{len(h.Stages), len(chinese[i].Stages)}, "%s: %s", name, h.Of[0])
			for n := range h.Stages {
				assert.Equal(t, codeIn(h.Stages[n]), codeIn(chinese[i].Stages[n]), "%s, %s, stage %d", name, h.Of[0], n+1)
				assert.Regexp(t, `\p{Han}`, chinese[i].Stages[n])
			}
		}
	}
}

func codeIn(text string) []string {
	return slices.Compact(slices.Sorted(slices.Values(code.FindAllString(strings.Join(strings.Fields(text), " "), -1))))
}

func TestFind_WhatWasPutIntoATextIsInChineseAsWell(t *testing.T) {
	numbers := NewCatalog("", []byte(`{"": {"step #": "第 # 步", "# instead of #": "用 # 代替 #"}}`), Numbers)
	formats := NewCatalog("", []byte(`{"": {"node %d": "节点 %d", "node %d %s": "节点 %d %s", "%s hangs": "%s 没有响应", "%d of %d": "%[2]d 个中的 %[1]d 个", "%s hangs, but %q": "%s 卡住，却 %q", "%s again": "%s（又一次）"}}`), Verbs)
	for _, c := range []struct {
		in         Catalog
		text, want string
	}{
		{numbers, "step 04", "第 04 步"},
		{numbers, "`a()` instead of `50%`", "用 `a()` 代替 `50%`"},
		{numbers, "step by step", "step by step"},
		{formats, "node 2 hangs", "节点 2 没有响应"},
		{formats, "Redis hangs", "Redis 没有响应"},
		{formats, "2 of 5", "5 个中的 2 个"},
		{formats, `node 2 hangs, but "it hangs"`, `节点 2 卡住，却 "it hangs"`},
		{formats, "bob again hangs", "bob（又一次）没有响应"},
		{formats, "two of five", "two of five"},
	} {
		assert.Equal(t, c.want, c.in.Find(c.text))
	}
}

package picture

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
)

func TestChinese_ATextWithoutChineseIsAnError(t *testing.T) {
	records := twoInside()
	records[7].Text = "alice died inside, her ttl of 10s has passed, but bob is still locked out"
	panel := Panel{Head: "Step 03: SET NX EX; DEL", Records: records}
	svg, err := Story("The holder dies", []Panel{panel}, 1, Light.Chinese())
	require.NoError(t, err)
	list := texts(t, svg)
	for _, text := range []string{"持锁者崩溃", "第 03 步：SET NX EX；DEL", "bob SET → OK", "alice 也持锁", "Redis key 过期"} {
		require.Contains(t, list, text)
	}
	require.Contains(t, strings.Join(list, ""), "✗ alice 持锁时崩溃")

	panel.Records[7].Text = "something new"
	_, err = Story("A new title", []Panel{panel}, 1, Light.Chinese())
	require.ErrorContains(t, err, `zh-CN.json has no Chinese for ["A new title" "something new"]`)
}

func TestChinese_EveryStepAndGuaranteeHasItsText(t *testing.T) {
	for _, s := range course.Entries() {
		name, _, _ := strings.Cut(s.Guarantee, ";")
		require.NotEqual(t, name, InChinese(name))
		if label := s.Label(); !s.IsEpilogue() {
			head := strings.ToUpper(label[:1]) + label[1:] + ": " + s.Lock
			require.NotEqual(t, head, InChinese(head))
		}
	}
}

func TestFit_ChineseBreaksBetweenCharactersButNotBeforePunctuation(t *testing.T) {
	require.Equal(t, []string{"锁被", "误", "删，", "结束"}, fit("锁被误删，结束", textWidth("锁被误")-1))
	require.Equal(t, []string{"两个词 two", "words，也是"}, fit("两个词 two words，也是", textWidth("两个词 two 词")))
	require.Equal(t, []string{"a b", "longer"}, fit("a b longer", textWidth("a b l")))
	require.Equal(t, []string{"（ab）"}, fit("（ab）", 1))
}

func TestFit_ChineseBreaksAfterPunctuationIfThatTakesNoMoreLines(t *testing.T) {
	require.Equal(t, []string{"锁过期了，", "bob 在里面"}, fit("锁过期了，bob 在里面", textWidth("锁过期了，bob 在里")))
	require.Equal(t, []string{"甲，乙丙丁", "戊己，庚辛"}, fit("甲，乙丙丁戊己，庚辛", textWidth("甲，乙丙丁")), "a third line")
	require.Equal(t, []string{"甲，乙", "丙丁戊"}, fit("甲，乙丙丁戊", textWidth("甲，乙")), "a part wider than a line")
}

func TestChinese_ALabelWithEnglishWordsIsAnError(t *testing.T) {
	records := twoInside()[:3]
	note := func(text string) trace.Record {
		return trace.Record{At: 200, Who: "alice", Kind: trace.Note, Text: text, Redis: key("locked", "alice", 10_000*ms), Inside: []string{"alice"}}
	}
	svg, err := Story("The holder dies", []Panel{{Head: "Step 03: SET NX EX; DEL", Records: append(records, note("is paused"))}}, 1, Light.Chinese())
	require.NoError(t, err)
	require.Contains(t, texts(t, svg), "alice 暂停")
	require.Regexp(t, `(?s)<desc>第 03 步：.*alice 暂停.*</desc>`, svg)

	_, err = Story("The holder dies", []Panel{{Head: "Step 03: SET NX EX; DEL", Records: append(records, note("has a coffee"))}}, 1, Light.Chinese())
	require.ErrorContains(t, err, `no Chinese for ["has a coffee"`)
}

package picture

import (
	"encoding/xml"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
)

// How stories look is compared with docs/read/pictures: go run -C docs/keep ./pages -check.

func key(owner string, until int64) []trace.Key {
	return []trace.Key{{Token: "locked", Owner: owner, Until: until}}
}

// twoInside is a story in which bob enters while alice is inside.
func twoInside() Panel {
	none, both, alices, bobs := []trace.Key{{}}, []string{"alice", "bob"}, key("alice", 10_000_000), key("bob", 30_000_000)
	return Panel{Head: "Step 03: SET NX EX; DEL", Records: []trace.Record{
		{At: 0, Who: "alice", Kind: trace.Call, Text: "TryLock", Redis: none},
		{At: 100, Who: "alice", Node: 1, Kind: trace.Command, Text: "SET coupons locked EX 10 NX", Reply: "OK", Redis: alices},
		{At: 100, Who: "alice", Kind: trace.Return, Text: "TryLock", Reply: "ok", Redis: alices, Inside: both[:1]},
		{At: 10_000_000, Node: 1, Kind: trace.Expire, Text: "the TTL expired", Redis: none, Inside: both[:1]},
		{At: 20_000_100, Who: "bob", Node: 1, Kind: trace.Command, Text: "SET coupons locked EX 10 NX", Reply: "OK", Redis: bobs, Inside: both[:1]},
		{At: 20_000_100, Who: "bob", Kind: trace.Return, Text: "TryLock", Reply: "ok", Mark: "alice is inside as well", Redis: bobs, Inside: both},
		{At: 20_000_100, Kind: trace.Verdict, Text: "alice died inside, her ttl of 10s has passed, but bob is still locked out", Redis: bobs, Inside: both},
	}}
}

// texts are those of an SVG file; it must be well-formed, and nothing may leave it.
func texts(t *testing.T, svg string) (list []string) {
	t.Helper()
	at := 0.0
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return list
		}
		require.NoError(t, err)
		e, ok := token.(xml.StartElement)
		if !ok || e.Name.Local != "text" {
			continue
		}
		for _, a := range e.Attr {
			if a.Name.Local == "x" {
				at, _ = strconv.ParseFloat(a.Value, 64)
			}
		}
		token, _ = d.Token()
		text := string(token.(xml.CharData))
		require.LessOrEqual(t, at+textWidth(text), float64(width), "%q leaves the picture", text)
		list = append(list, text)
	}
}

func TestStory_ShowsWhatIsWrongUnlessTheRunPasses(t *testing.T) {
	panel := twoInside()
	svg, err := Story("The holder dies", []Panel{panel}, 1, Light)
	require.NoError(t, err)
	require.Subset(t, texts(t, svg), []string{"The holder dies", "Step 03: SET NX EX; DEL", "alice SET → OK", "Redis key expires", "10 s", "20 s", "alice is inside as well"})
	require.Equal(t, 2, strings.Count(svg, `fill="url(#both)"`), "alice and bob are both inside: both lanes are hatched")

	panel.Good, panel.Records = "bob is refused", panel.Records[:6]
	svg, err = Story("The holder dies", []Panel{panel}, 1, Light)
	require.NoError(t, err)
	require.Contains(t, texts(t, svg), "✓ bob is refused")
	require.NotContains(t, svg, "as well")
}

func TestChinese_ATextWithoutChineseIsAnError(t *testing.T) {
	panel := twoInside()
	svg, err := Story("The holder dies", []Panel{panel}, 1, Light.Chinese())
	require.NoError(t, err)
	require.Subset(t, texts(t, svg), []string{"持锁者崩溃", "第 03 步：SET NX EX；DEL", "bob SET → OK", "alice 也持锁", "Redis key 过期"})
	panel.Records[6].Text = "something new"
	_, err = Story("A new title", []Panel{panel}, 1, Light.Chinese())
	require.ErrorContains(t, err, `zh-CN.json has no Chinese for ["A new title" "something new"]`)
}

func TestFit_ChineseBreaksBetweenCharactersButNotBeforePunctuation(t *testing.T) {
	for text, lines := range map[string][]string{
		"锁被误删，结束":              {"锁被误删，", "结束"},
		"两个词 two words，也":      {"两个词 two", "words，也"},
		"a b longer than that": {"a b longer", "than that"},
	} {
		require.Equal(t, lines, fit(text, textWidth("两个词 two")), text)
	}
}

package picture

import (
	"encoding/xml"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
)

// A drawn is what a reader sees of a picture.
type drawn struct {
	svg   string
	texts []string
}

func draw(t *testing.T, panels ...Panel) drawn {
	t.Helper()
	light, err := Story("A story", panels, len(panels), Light)
	require.NoError(t, err)
	dark, err := Story("A story", panels, len(panels), Dark)
	require.NoError(t, err)
	shape := regexp.MustCompile(`#[0-9a-f]{6}`)
	require.Equal(t, shape.ReplaceAllString(light, ""), shape.ReplaceAllString(dark, ""), "the themes differ in more than colours")
	again, err := Story("A story", panels, len(panels), Light)
	require.NoError(t, err)
	require.Equal(t, light, again, "the same records give another picture")
	return drawn{light, texts(t, light)}
}

// texts are those of an SVG file; it must be well-formed, and nothing may leave it.
func texts(t *testing.T, svg string) (list []string) {
	t.Helper()
	at, in, end := 0.0, false, false
	for d := xml.NewDecoder(strings.NewReader(svg)); ; {
		token, err := d.Token()
		if err == io.EOF {
			return list
		}
		require.NoError(t, err)
		switch e := token.(type) {
		case xml.StartElement:
			in, end = e.Name.Local == "text", false
			for _, a := range e.Attr {
				end = end || a.Name.Local == "text-anchor" && a.Value == "end"
				if in && a.Name.Local == "x" {
					at, err = strconv.ParseFloat(a.Value, 64)
					require.NoError(t, err)
				}
				require.False(t, in && a.Name.Local == "font-size", "a text has its own size")
			}
		case xml.CharData:
			if in {
				list = append(list, string(e))
				if end {
					at -= textWidth(string(e))
				}
				require.GreaterOrEqual(t, at, 0.0, "%q leaves the picture", e)
				require.LessOrEqual(t, at+textWidth(string(e)), float64(width), "%q leaves the picture", e)
			}
		case xml.EndElement:
			in = false
		}
	}
}

func (d drawn) count(what string) int { return strings.Count(d.svg, what) }

const ms = 1000 // µs

func key(token, owner string, until int64) []trace.Key {
	return []trace.Key{{Token: token, Owner: owner, Until: until}}
}

// twoInside is a story in which bob enters while alice is inside.
func twoInside() []trace.Record {
	return []trace.Record{
		{At: 0, Who: "alice", Kind: trace.Call, Text: "TryLock", Redis: key("", "", 0)},
		{At: 100, Who: "alice", Node: 1, Kind: trace.Command, Text: "SET coupons locked EX 10 NX", Reply: "OK", Redis: key("locked", "alice", 10_000*ms)},
		{At: 100, Who: "alice", Kind: trace.Return, Text: "TryLock", Reply: "ok", Redis: key("locked", "alice", 10_000*ms), Inside: []string{"alice"}},
		{At: 10_000 * ms, Node: 1, Kind: trace.Expire, Text: "the TTL expired", Redis: key("", "", 0), Inside: []string{"alice"}},
		{At: 20_000 * ms, Who: "bob", Kind: trace.Call, Text: "TryLock", Redis: key("", "", 0), Inside: []string{"alice"}},
		{At: 20_000*ms + 100, Who: "bob", Node: 1, Kind: trace.Command, Text: "SET coupons locked EX 10 NX", Reply: "OK", Redis: key("locked", "bob", 30_000*ms), Inside: []string{"alice"}},
		{At: 20_000*ms + 100, Who: "bob", Kind: trace.Return, Text: "TryLock", Reply: "ok", Mark: "alice is inside as well", Redis: key("locked", "bob", 30_000*ms), Inside: []string{"alice", "bob"}},
		{At: 20_000*ms + 100, Kind: trace.Verdict, Text: "both are inside <now>", Redis: key("locked", "bob", 30_000*ms), Inside: []string{"alice", "bob"}},
	}
}

const hatched = `fill="url(#both)"`

func TestStory_ShowsWhoIsInsideAndForHowLongTheKeyLasts(t *testing.T) {
	d := draw(t, Panel{Head: "Step 03: SET NX EX; DEL", Records: twoInside()})
	for _, text := range []string{"A story", "Step 03: SET NX EX; DEL", "Redis", "alice", "bob", "alice SET → OK", "Redis key expires", "10 s", "20 s", "bob SET → OK", "alice is inside as well", "✗ both are inside <now>"} {
		require.Contains(t, d.texts, text)
	}
	require.Equal(t, 2, d.count(hatched), "alice and bob are both inside: both lanes are hatched")
	require.Equal(t, 2, d.count("<polygon"), "the key is there twice")
	require.Equal(t, 2, d.count("l10 -6m-10 10l10 -6"), "nothing happens for 10s, twice: the axis is broken there")
	require.Contains(t, d.svg, "<title>A story</title>")
	require.Contains(t, d.svg, "\n20 s: bob SET → OK: alice is inside as well\n", "a reader who cannot see the picture has its rows")

	points := regexp.MustCompile(`<polygon points="([^"]*)"`).FindStringSubmatch(d.svg)[1]
	corners := strings.Fields(points)
	half := len(corners) / 2
	require.Equal(t, x(corners[half-1]), x(corners[half]), "alice's key ends with no width left")
	require.Greater(t, x(corners[0]), x(corners[len(corners)-1]), "it begins wider")
}

// x is the first number of a corner.
func x(corner string) float64 {
	text, _, _ := strings.Cut(corner, ",")
	f, _ := strconv.ParseFloat(text, 64)
	return f
}

func TestStory_OneWhoLeavesInTheMomentOfTheNext_IsNotInsideWithThem(t *testing.T) {
	records := twoInside()[:4]
	records = append(records,
		trace.Record{At: 20_000 * ms, Who: "alice", Kind: trace.Return, Text: "Unlock", Reply: "ok", Redis: key("", "", 0)},
		trace.Record{At: 20_000 * ms, Who: "bob", Kind: trace.Return, Text: "TryLock", Reply: "ok", Redis: key("locked", "bob", 30_000*ms), Inside: []string{"bob"}})
	require.Zero(t, draw(t, Panel{Records: records}).count(hatched))
}

func TestStory_ARunThatPasses_HasNoGuiltyRow(t *testing.T) {
	records := twoInside()[:7]
	d := draw(t, Panel{Records: records, Good: "bob is refused"})
	require.Contains(t, d.texts, "✓ bob is refused")
	require.NotContains(t, strings.Join(d.texts, "\n"), "as well")
	require.Equal(t, 2, d.count(hatched), "two are inside anyway")
}

func TestStory_TwoPanelsHaveOneColourForAClient(t *testing.T) {
	alone := []trace.Record{{At: 20_000*ms + 100, Who: "bob", Kind: trace.Return, Text: "TryLock", Reply: "ok", Redis: key("", "", 0), Inside: []string{"bob"}}}
	d := draw(t, Panel{Records: twoInside()}, Panel{Records: alone})
	require.Regexp(t, regexp.MustCompile(fmt.Sprintf(`(?s)fill="%s"[^>]*>bob<.*fill="%[1]s"[^>]*>bob<`, Light.owners[1])), d.svg)
}

func TestStory_AKeyThatIsRenewed_IsASaw(t *testing.T) {
	records := twoInside()[:3]
	for i := int64(1); i <= 3; i++ {
		records = append(records, trace.Record{At: i * 3333 * ms, Who: "alice", Node: 1, Kind: trace.Command, Text: "renew coupons", Reply: "1",
			Redis: key("locked", "alice", (i*3333+10_000)*ms), Inside: []string{"alice"}})
	}
	d := draw(t, Panel{Records: records})
	require.Equal(t, 4, d.count("<polygon"))
	require.Equal(t, 3, strings.Count(strings.Join(d.texts, "|"), "alice renew → 1"))
}

func TestStory_WhatIsRepeatedAgainAndAgain_IsShownOnce(t *testing.T) {
	records := twoInside()[:3]
	for i := int64(1); i <= 100; i++ {
		records = append(records, trace.Record{At: i * 30 * ms, Who: "bob", Node: 1, Kind: trace.Command, Text: "SET coupons locked EX 10 NX", Reply: "(nil)",
			Redis: key("locked", "alice", 10_000*ms), Inside: []string{"alice"}})
	}
	d := draw(t, Panel{Records: records})
	require.Contains(t, d.texts, "the same 99 times more")
	require.Greater(t, d.count("h12"), 10, "a comb of ticks")
}

func TestStory_AHolderIsInsideUntilWhatItsUnlockSends(t *testing.T) {
	hers := key("locked", "alice", 10_000*ms)
	d := draw(t, Panel{Records: append(twoInside()[:3],
		trace.Record{At: 1000 * ms, Who: "alice", Kind: trace.Note, Text: "works", Redis: hers, Inside: []string{"alice"}},
		trace.Record{At: 5000 * ms, Who: "alice", Kind: trace.Call, Text: "Unlock", Redis: hers},
		trace.Record{At: 5000*ms + 100, Who: "alice", Node: 1, Kind: trace.Command, Text: "DEL coupons", Reply: "1", Redis: key("", "", 0)})})
	bar := regexp.MustCompile(`y="(\d+)" width="24" height="(\d+)"`).FindStringSubmatch(d.svg)
	dots := regexp.MustCompile(`cy="(\d+)"`).FindAllStringSubmatch(d.svg, -1)
	require.Equal(t, x(dots[2][1]), x(bar[1])+x(bar[2]))
}

func TestStory_EndsAtUntil(t *testing.T) {
	d := draw(t, Panel{Records: twoInside(), Look: Look{Until: 15 * time.Second}, Good: "so far"})
	require.NotContains(t, d.texts, "bob")
	require.NotContains(t, d.svg, "both are inside")
}

func TestStory_WhoDies_IsNotWaitingAnyLonger(t *testing.T) {
	records := append(twoInside()[:2],
		trace.Record{At: 100, Kind: trace.Fault, Text: "alice dies before she sends anything else", Gone: "alice", Redis: key("locked", "alice", 10_000*ms)},
		trace.Record{At: 20_000 * ms, Who: "bob", Kind: trace.Return, Text: "TryLock", Reply: "ok", Redis: key("", "", 0)})
	d := draw(t, Panel{Records: records})
	dashes := regexp.MustCompile(`V([\d.]+)" [^>]*stroke-dasharray`).FindAllStringSubmatch(d.svg, -1)
	death := regexp.MustCompile(`<rect x="[\d.]+" y="([\d.]+)" width="8"`).FindStringSubmatch(d.svg)
	require.Len(t, dashes, 1)
	ends, err := strconv.ParseFloat(dashes[0][1], 64)
	require.NoError(t, err)
	dies, err := strconv.ParseFloat(death[1], 64)
	require.NoError(t, err)
	require.InDelta(t, dies+4, ends, .1, "alice is dead, but her TryLock continues")
	require.Contains(t, strings.Join(d.texts, " "), "alice dies before she sends anything else")
}

func TestStory_SeveralNodes_HaveALaneEachAndTheirAnswersInOrder(t *testing.T) {
	node := func(n int, reply string) trace.Record {
		return trace.Record{At: 100, Who: "bob", Node: n, Kind: trace.Command, Text: "acquire coupons", Reply: reply, Redis: make([]trace.Key, 3)}
	}
	d := draw(t, Panel{Records: []trace.Record{node(1, "1"), node(2, "0"), node(3, "(no reply)")}})
	for _, text := range []string{"node", "1", "2", "3", "bob acquire 1/3", "✓", "✗", "–"} {
		require.Contains(t, d.texts, text)
	}
}

func TestStory_AResource_ShowsItsValueAndTheTokenItHasSeen(t *testing.T) {
	uses := func(at int64, who string, u trace.Use) trace.Record {
		u.Of = "stock"
		return trace.Record{At: at, Who: who, Kind: trace.Note, Text: "as it says", Use: &u, Redis: key("", "", 0)}
	}
	records := []trace.Record{
		uses(0, "alice", trace.Use{Token: 33, Value: "100"}),
		uses(20_000*ms, "bob", trace.Use{Token: 34, Value: "99", Write: true}),
	}
	refused := draw(t, Panel{Good: "refused", Records: append(records, uses(21_000*ms, "alice", trace.Use{Token: 33, Value: "90", Write: true, Refused: true}))})
	require.Contains(t, refused.texts, "bob writes 99 with 34")
	require.Contains(t, refused.texts, "alice writes 90 with 33")
	accepted := draw(t, Panel{Records: append(records, uses(21_000*ms, "alice", trace.Use{Token: 33, Value: "90", Write: true}))})
	require.Contains(t, accepted.texts, "alice writes 90 with 33")
	require.Contains(t, accepted.texts, "comes with 33 after 34")
}

func TestStaircase(t *testing.T) {
	svg := Staircase("Stairs", []string{"1", "2", "F"}, []Stair{{"first; and more", []bool{true, true}}, {"last", []bool{false, false, true}}}, "Every cell is a run.", Light)
	list := texts(t, svg)
	require.Subset(t, list, []string{"Stairs", "1", "2", "F", "first", "last", "Every cell is a run."})
	require.Equal(t, 3, strings.Count(strings.Join(list, ""), "✓"))
	require.Equal(t, 2, strings.Count(strings.Join(list, ""), "✗"))
	require.Contains(t, svg, "last: 1 ✗ 2 ✗ F ✓", "a screen reader says it")
}

// GitHub shows a page of 358 px with a margin of 16 px on both sides.
func TestAPicture_OnAPhone_HasTextsOfElevenPixels(t *testing.T) {
	require.GreaterOrEqual(t, fontSize*min(358-2*16.0, shown)/width, 11.0)
	svg := draw(t, Panel{Records: twoInside()}).svg // whose texts have no other size
	require.Regexp(t, fmt.Sprintf(`^<svg [^>]*width="%d" height="\d+" viewBox="0 0 %d .* font-size="%d"`, shown, width, fontSize), svg)
	require.Equal(t, 1, strings.Count(svg, "font-size="))
}

func TestStory_PanelsNextToEachOther_HaveTheSameMomentAtTheSameHeight(t *testing.T) {
	well := slices.Clone(twoInside()[:7])
	well[6].Mark, well[3].Text = "", "as in the other panel"
	svg, err := Story("A story", []Panel{{Records: twoInside()}, {Records: well, Good: "bob is refused"}}, 2, Light)
	require.NoError(t, err)
	require.Contains(t, svg, fmt.Sprintf(`<g transform="translate(%d)">`, width))
	ring := regexp.MustCompile(`<circle cx="(.*)" cy="(.*)" r="9" fill="none" stroke="` + Light.bad).FindStringSubmatch(svg)
	tick := regexp.MustCompile(`<circle cx="(.*)" cy="(.*)" r="9" fill="#ffffff" stroke="` + Light.good).FindStringSubmatch(svg)
	require.Equal(t, ring[1:], tick[1:], "what the harm has become is at the same height, in the same lane")
	require.Equal(t, regexp.MustCompile(`y="([\d.]+)" [^>]*>✗`).FindStringSubmatch(svg)[1], regexp.MustCompile(`y="([\d.]+)" [^>]*>✓ bob`).FindStringSubmatch(svg)[1])
}

func TestStory_Animated_AppearsRowByRowUnlessTheReaderWantsNoMotion(t *testing.T) {
	d := draw(t, Panel{Records: twoInside(), Look: Look{Animated: true}})
	heights := strings.Split(regexp.MustCompile(` values="(.*?)"`).FindStringSubmatch(d.svg)[1], ";")
	require.Len(t, heights, 1+3+1, "nothing, three rows, and what is concluded")
	require.Contains(t, d.svg, fmt.Sprintf(`<rect width="100%%" height="%s"><animate`, heights[4]), "all of it, for a reader without animations")
	require.Contains(t, d.svg, "(prefers-reduced-motion: reduce) { .rows { clip-path: none } }")
	require.Contains(t, d.svg, "\n20 s: bob SET → OK", "a screen reader says whose command it is")
}

func TestStory_Magnified_GivesTimeItsRoom(t *testing.T) {
	plain, large := draw(t, Panel{Records: twoInside()}), draw(t, Panel{Records: twoInside(), Look: Look{Magnify: 9 * time.Second}})
	require.NotContains(t, plain.texts, "+10000 ms")
	require.Contains(t, large.texts, "+10000 ms")
}

func TestStory_AClientThatItsOwnLockRefuses_IsGuilty(t *testing.T) {
	inside := twoInside()[2]
	inside.Kind = trace.Call // again
	records := append(twoInside()[:3], inside, trace.Record{At: 200, Who: "alice", Node: 1, Kind: trace.Command, Text: "SET coupons locked EX 10 NX", Reply: "(nil)",
		Redis: key("locked", "alice", 10_000*ms), Inside: []string{"alice"}})
	red := draw(t, Panel{Records: records})
	require.Contains(t, red.texts, "alice blocks alice")
	require.Equal(t, []int{1, 1}, []int{red.count("l8 8m0 -8l-8 8"), red.count("h-6V")}, "a cross at Redis, and a bracket")
	require.NotContains(t, draw(t, Panel{Records: records, Good: "she waits"}).texts, "alice blocks alice")
}

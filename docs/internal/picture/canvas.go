package picture

import (
	_ "embed"
	"fmt"
	"html"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
)

// A Theme is the colours of a page.
type Theme struct {
	page, text, dim, line, bad, good string
	owners                           []string
	chinese                          bool
}

// The themes of the pages. A picture has the page's colour behind it, and so can be read
// in print and on any other page.
var (
	Light = Theme{"#ffffff", "#1f2328", "#59636e", "#d1d9e0", "#cf222e", "#1a7f37", []string{"#0969da", "#9a6700", "#8250df", "#0b7a75"}, false}
	Dark  = Theme{"#0d1117", "#f0f6fc", "#9198a1", "#3d444d", "#ff7b72", "#3fb950", []string{"#58a6ff", "#d29922", "#bc8cff", "#39c5bb"}, false}
)

// Chinese returns the theme for the pictures of the Chinese pages.
func (t Theme) Chinese() Theme {
	t.chinese = true
	return t
}

//go:embed zh-CN.json
var zhCN []byte

// inChinese has what pictures add, by the English. What stories say is in package trace.
var inChinese = course.NewCatalog("docs/internal/picture/zh-CN.json", zhCN, course.Numbers)

// InChinese returns the Chinese for a text of a picture, or the text if there is none.
func InChinese(text string) string { return trace.InChinese(inChinese.Find(text)) }

// inLabels has the words of labels; commands, replies and errors are as in the code.
var inLabels = sync.OnceValue(func() *strings.Replacer {
	var parts []string
	for _, english := range slices.Sorted(maps.Keys(inChinese.Texts)) {
		parts = append(parts, english, inChinese.Texts[english])
	}
	return strings.NewReplacer(parts...)
})

// Width of every picture, in its own units. A phone that is 358 px wide shows it in 326:
// then a text of 14 is 11 px high. On a larger page it is shown wider.
const (
	width    = 412
	shown    = 470
	column   = 940 // of a large page
	fontSize = 14
	margin   = 8
)

// A canvas is a picture that grows downwards.
type canvas struct {
	Theme
	clients []string // of all panels
	b       strings.Builder
	y, wide float64  // wide is the width of a panel
	lacks   []string // texts without Chinese
}

// say returns what the picture shows of a text. What has no Chinese is an error in the end.
func (c *canvas) say(text string) string {
	if !c.chinese {
		return text
	}
	found := InChinese(text)
	if found == text && !slices.Contains(c.lacks, text) {
		c.lacks = append(c.lacks, text)
	}
	return found
}

// labelled returns what a lane shows.
func (c *canvas) labelled(text string) string {
	if !c.chinese {
		return strings.Replace(text, "listens on redislock:coupons", "listens", 1)
	}
	return inLabels().Replace(text)
}

// add writes an element. Its lengths are as short as the picture allows.
func (c *canvas) add(format string, args ...any) {
	for i, arg := range args {
		if length, ok := arg.(float64); ok {
			args[i] = px(length)
		}
	}
	fmt.Fprintf(&c.b, format+"\n", args...)
}

func px(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

// How a text looks.
const (
	bold   = ` font-weight="600"`
	middle = ` text-anchor="middle"`
)

func fill(color string) string { return fmt.Sprintf(` fill="%s"`, color) }

func (c *canvas) text(x, y float64, text string, looks ...string) {
	c.add(`<text x="%s" y="%s"%s>%s</text>`, x, y, strings.Join(looks, ""), html.EscapeString(text))
}

// lines writes a text in as many lines as it needs.
func (c *canvas) lines(text string, looks ...string) {
	for _, line := range c.fitted(text) {
		c.y += 19
		c.text(margin, c.y, line, looks...)
	}
}

// fitted are the lines of a bold text as wide as a panel. Where neither Arial nor its like is
// there, letters are wider.
func (c *canvas) fitted(text string) []string { return fit(text, (c.wide-2*margin)*.85) }

// fit breaks a text into lines of a width.
func fit(text string, width float64) (lines []string) {
	for _, word := range course.Unbroken(text) {
		if n := len(lines) - 1; n >= 0 && textWidth(lines[n]+word) <= width {
			lines[n] += word
			continue
		}
		lines = append(lines, strings.TrimPrefix(word, " "))
	}
	return lines
}

// textWidth is how wide a text is in Arial or Helvetica, and in the fonts that replace
// them, at most.
func textWidth(text string) (w float64) {
	for _, r := range text {
		switch {
		case strings.ContainsRune("fijlrt.,:;|'!()[]-– ", r):
			w += 0.34
		case strings.ContainsRune("mwMW→✗✓", r):
			w += 0.9
		case r >= 0x2e80: // Chinese
			w += 1
		case r >= 'A' && r <= 'Z' || r == '<' || r == '>' || r == '=':
			w += 0.7
		default:
			w += 0.56
		}
	}
	return w * fontSize
}

// color is an owner's.
func (c *canvas) color(who string) string {
	if i := slices.Index(c.clients, who); i >= 0 {
		return c.owners[i%len(c.owners)]
	}
	return c.dim
}

// pale mixes a colour with that of the page.
func (c *canvas) pale(color string, part float64) string {
	mixed := "#"
	for i := 1; i < len(color); i += 2 {
		a, _ := strconv.ParseUint(color[i:i+2], 16, 8)
		b, _ := strconv.ParseUint(c.page[i:i+2], 16, 8)
		mixed += fmt.Sprintf("%02x", int(math.Round(float64(a)*part+float64(b)*(1-part))))
	}
	return mixed
}

// svg closes a picture of so many panels next to each other.
func (c *canvas) svg(title string, panels int) string {
	fonts := "Helvetica, Arial, sans-serif"
	if c.chinese {
		fonts = "Helvetica, Arial, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, sans-serif"
	}
	wide, height := c.wide*float64(panels), math.Ceil(c.y)
	scale := min(float64(shown)/width, column/wide)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%s" height="%s" viewBox="0 0 %s %s" role="img" font-family="%s" font-size="%d" fill="%s">
<title>%s</title>
<defs><pattern id="both" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 3H6" stroke="%s" stroke-width="2" stroke-opacity=".55"/></pattern></defs>
<rect width="100%%" height="100%%" fill="%s"/>
%s</svg>
`, px(math.Round(wide*scale)), px(math.Round(height*scale)), px(wide), px(height), fonts, fontSize, c.Theme.text,
		html.EscapeString(c.say(title)), c.bad, c.page, c.b.String())
}

// A Stair is a guarantee, and on which locks it holds.
type Stair struct {
	Guarantee string
	Holds     []bool // by lock; a lock behind the last one was not asked
}

// Staircase draws which lock provides which guarantee.
func Staircase(title string, locks []string, stairs []Stair, legend string, theme Theme) string {
	const cell = 23
	left := float64(width - 2*margin - cell*len(locks))
	at := func(i int) float64 { return left + cell*(float64(i)+.5) }
	c := &canvas{Theme: theme, y: 98, wide: width}
	c.text(margin, 22, c.say(title), bold)
	for i, name := range locks {
		c.add(`<g transform="translate(%s %s) rotate(-70)">`, at(i)+5, c.y)
		c.text(0, 0, c.say(name), bold, fill(c.dim))
		c.add("</g>")
	}
	c.y += 8
	for _, s := range stairs {
		name, _, _ := strings.Cut(s.Guarantee, ";") // the first half says which it is
		lines := fit(c.say(name), left-margin)
		row := float64(max(36, 17*len(lines)+6))
		for i, line := range lines {
			c.text(margin, c.y+row/2+5+16*(float64(i)-float64(len(lines)-1)/2), line)
		}
		for i, holds := range s.Holds {
			mark, color := "✗", c.bad
			if holds {
				mark, color = "✓", c.good
			}
			c.add(`<rect x="%s" y="%s" width="%d" height="%s" rx="4" fill="%s"/>`, at(i)-cell/2+1, c.y+1, cell-2, row-2, c.pale(color, .18))
			c.text(at(i), c.y+row/2+6, mark, bold, middle, fill(color))
		}
		c.y += row
	}
	c.lines(c.say(legend), fill(c.dim))
	c.y += 10
	return c.svg(title, 1)
}

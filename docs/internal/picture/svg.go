package picture

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
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

// Width of every picture, in its own units. A phone that is 358 px wide shows it in 326:
// then a text of 14 is 11 px high. On a larger page it is shown wider.
const (
	width    = 412
	shown    = 470
	fontSize = 14
	margin   = 8
	lanesAt  = 72 // where the lanes begin, behind the times
	lane     = 40 // width of a lane
	node     = 19 // and of a node's, if there are several
	bar      = 24 // width of what is in a lane
	line     = 18 // height of a line of text
	between  = 4  // rows, if no time passes
	longGap  = 20 // where nothing happens for long
)

// A canvas is a picture that grows downwards.
type canvas struct {
	Theme
	clients []string // of all panels
	b       strings.Builder
	says    strings.Builder // the rows, for those who cannot see the picture
	y       float64
	lacks   []string // texts without Chinese
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

// A style is how a text looks.
type style struct {
	color        string
	bold, middle bool
}

func (c *canvas) text(x, y float64, text string, s style) {
	attributes := ""
	if s.color != "" {
		attributes += fmt.Sprintf(` fill="%s"`, s.color)
	}
	if s.bold {
		attributes += ` font-weight="600"`
	}
	if s.middle {
		attributes += ` text-anchor="middle"`
	}
	c.add(`<text x="%s" y="%s"%s>%s</text>`, x, y, attributes, html.EscapeString(text))
}

// lines writes a text in as many lines as it needs.
func (c *canvas) lines(text string, s style) {
	// Where neither Arial nor its like is there, letters are wider.
	room := (width - 2*margin) * .92
	if s.bold {
		room *= .92
	}
	for _, line := range fit(text, room) {
		c.y += 19
		c.text(margin, c.y, line, s)
	}
}

// fit breaks a text into lines of a width: after Chinese punctuation, if that takes no more
// lines than breaking between any two words.
func fit(text string, width float64) []string {
	lines := fill(word.FindAllString(text, -1), width)
	parts := fill(strings.SplitAfter(pauses.Replace(text), "\n"), width)
	wide := func(line string) bool { return textWidth(line) > width }
	if len(parts) > len(lines) || slices.ContainsFunc(parts, wide) {
		return lines
	}
	return parts
}

// pauses marks where a part of a Chinese sentence ends.
var pauses = strings.NewReplacer("，", "，\n", "。", "。\n", "：", "：\n", "；", "；\n")

// fill puts as many words into each line as it holds.
func fill(words []string, width float64) (lines []string) {
	for _, word := range words {
		word = strings.TrimSuffix(word, "\n")
		if n := len(lines) - 1; n >= 0 && textWidth(lines[n]+word) <= width {
			lines[n] += word
			continue
		}
		lines = append(lines, strings.TrimPrefix(word, " "))
	}
	return lines
}

// word is a part of a text between two places at which a line may end, with its space before
// it. In Chinese that is between any two characters, but not before punctuation.
var word = regexp.MustCompile(` ?[（“]*(?:[^ \x{2e80}-\x{10ffff}]+|[\x{2e80}-\x{10ffff}])[，。：；？！、）”]*`)

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

// sentence is what an event says.
func (c *canvas) sentence(p *panel, e event) string {
	if !e.isLabel {
		return c.say(e.label)
	}
	label := e.label
	if strings.HasSuffix(label, "refused") || p.nested[2] == nil {
		label = depthInLabel.ReplaceAllString(label, "")
	}
	if strings.HasPrefix(e.lane, "node ") {
		return c.labelled(label)
	}
	return e.lane + " " + c.labelled(label)
}

var depthInLabel = regexp.MustCompile(` depth \d+`)

func (c *canvas) panel(p *panel) {
	c.y += 6
	c.lines(c.say(p.Head), style{bold: true})
	fmt.Fprintln(&c.says, c.say(p.Head))
	c.y += 22
	if len(p.nodes) > 1 {
		c.text(margin, c.y, c.labelled("node"), style{color: c.dim})
	}
	c.heads(p)
	c.y += 8
	top := c.y
	c.place(p)
	for i := range p.moments {
		if p.pauseBefore(i) >= long { // the break
			c.add(`<path d="M%d %sl10 -6m-10 10l10 -6" stroke="%s" fill="none"/>`, lanesAt-14, p.y[i]-16, c.dim)
		}
	}
	for _, name := range slices.Concat(p.nodes, p.clients) {
		end := edge
		if died, ok := p.dead[name]; ok {
			end = died
		}
		c.add(`<path d="M%s %sV%s" stroke="%s"/>`, p.lanes[name], top, p.at(end), c.line)
	}
	c.keys(p)
	for _, s := range p.waiting {
		if from, to := p.at(s.from), p.at(s.to); to-from > 6 {
			c.add(`<path d="M%s %sV%s" stroke="%s" stroke-width="2" stroke-dasharray="2 4"/>`,
				p.lanes[s.lane], from, to, c.color(s.lane))
		}
	}
	for _, s := range p.inside {
		c.bar(p, s, bar, c.color(s.lane), .3)
		for level, track := range p.nested { // a bar in a bar
			for _, inner := range track {
				if inner.lane == s.lane && s.from <= inner.from && inner.from <= s.to {
					inner.to = min(inner.to, s.to)
					c.bar(p, inner, float64(bar-4*(level-1)), c.color(s.lane), .3)
				}
			}
		}
	}
	for _, s := range overlaps(p.inside) {
		c.add(`<rect x="%s" y="%s" width="%d" height="%s" fill="url(#both)" stroke="%s"/>`,
			p.lanes[s.lane]-bar/2, p.at(s.from), bar, p.at(s.to)-p.at(s.from), c.bad)
	}
	for _, s := range p.values {
		c.bar(p, s, bar, c.color(s.owner), .15)
	}
	for _, e := range p.events {
		c.event(p, e)
	}
	last := ""
	for i, m := range p.moments {
		if label := p.clock(m); m != edge && label != last {
			c.text(margin, p.y[i]+5, label, style{color: c.dim})
			last = label
		}
	}
	c.y += 4
	for _, v := range p.verdicts {
		c.conclude("✗ "+c.say(v), c.bad)
	}
	if p.verdicts == nil && p.Good != "" {
		c.conclude("✓ "+c.say(p.Good), c.good)
	}
	c.y += 12
}

// heads places the columns, and writes whose they are.
func (c *canvas) heads(p *panel) {
	names := slices.Concat(p.nodes, p.clients)
	if p.resource != "" {
		names = append(names, p.resource)
	}
	p.lanes = map[string]float64{}
	x := float64(lanesAt)
	for i, name := range names {
		wide := float64(lane)
		if len(p.nodes) > 1 && i < len(p.nodes) {
			wide = node
		}
		p.lanes[name] = x + wide/2
		x += wide
		label := c.labelled(strings.TrimPrefix(name, "node "))
		c.text(p.lanes[name], c.y, label, style{color: c.color(name), middle: true})
	}
	p.textAt = x + 4
}

func (c *canvas) conclude(text, color string) {
	c.lines(text, style{color: color, bold: true})
	fmt.Fprintln(&c.says, text)
}

// place gives each moment its place: as far down as what is written there needs.
func (c *canvas) place(p *panel) {
	room := width - margin - p.textAt
	for i, m := range p.moments {
		switch pause := p.pauseBefore(i); {
		case pause >= long:
			c.y += longGap
		case pause > 1000:
			c.y += 2 * between
		}
		p.y = append(p.y, c.y+line/2)
		for j := range p.events {
			e := &p.events[j]
			if e.at != m {
				continue
			}
			e.y = c.y + line/2
			e.lines = fit(c.sentence(p, *e), room*.97)
			if e.guilt != "" {
				e.wrong = fit(c.say(e.guilt), room*.92)
			}
			c.y += float64(line*(len(e.lines)+len(e.wrong))) + between + comb(e.times)
		}
		c.y = max(c.y, p.y[i])
	}
	c.y += 8
}

const long = 5_000_000 // µs in which nothing happens: the axis is broken there

// pauseBefore is how long nothing happens before moment i, in µs.
func (p *panel) pauseBefore(i int) int64 {
	if i == 0 || p.moments[i] == edge {
		return 0
	}
	return p.moments[i].at() - p.moments[i-1].at()
}

// at is the place of a moment.
func (p *panel) at(m moment) float64 {
	i, _ := slices.BinarySearch(p.moments, m)
	return p.y[i]
}

// comb is how high the ticks are of what came so many times more.
func comb(times int) float64 {
	if times == 0 {
		return 0
	}
	return float64(min(8+times/3, 60))
}

// clock is the time of a moment, as short as the axis allows.
func (p *panel) clock(m moment) string {
	ofSeconds := p.moments[len(p.moments)-2].at() > 1_000_000 // a ms is nothing there
	tenths := (m.at() + 50) / 100
	ms := (tenths + 5) / 10
	switch {
	case tenths == 0 || ofSeconds && tenths < 10:
		return "0"
	case tenths < 100:
		return px(float64(tenths)/10) + " ms"
	case tenths < 10_000 || ms%10 != 0 && ms < 100_000:
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprint(math.Round(float64(tenths)/100)/100) + " s"
}

func (c *canvas) bar(p *panel, s span, wide float64, color string, opacity float64) {
	if from, to := p.at(s.from), p.at(s.to); to > from {
		c.add(`<rect x="%s" y="%s" width="%s" height="%s" rx="2" fill="%s" stroke="%s"/>`,
			p.lanes[s.lane]-wide/2, from, wide, to-from, c.pale(color, opacity), color)
	}
}

// keys draws each key as a bar that becomes narrower while its ttl runs out.
func (c *canvas) keys(p *panel) {
	wide := float64(bar)
	if len(p.nodes) > 1 {
		wide = node - 3
	}
	longest := int64(1) // of the ttls
	for _, s := range p.keys {
		longest = max(longest, s.until-s.from.at())
	}
	for _, s := range p.keys {
		left := p.lanes[s.lane] - wide/2
		end := s.from.at()
		var points strings.Builder
		for i, m := range p.moments {
			if m < s.from || m > s.to {
				continue
			}
			if m != edge {
				end = m.at()
			}
			right := left + wide
			if s.until > 0 {
				right = left + wide*max(0, float64(s.until-end)/float64(longest))
			}
			fmt.Fprintf(&points, "%s,%s ", px(right), px(p.y[i]))
		}
		color := c.color(s.owner)
		c.add(`<polygon points="%s%s,%s %s,%s" fill="%s" stroke="%s"/>`,
			points.String(), left, p.at(s.to), left, p.at(s.from), c.pale(color, .4), color)
	}
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

func (c *canvas) event(p *panel, e event) {
	x, color := p.lanes[e.lane], c.color(e.lane)
	s := style{color: color}
	if !e.isLabel {
		s.color = c.Theme.text
	}
	if e.guilt != "" {
		color, s = c.bad, style{color: c.bad, bold: true}
	}
	switch {
	case e.lane == "":
	case e.times > 0:
		for y := e.y - 2; y < e.y+line+comb(e.times)-10; y += 3 {
			c.add(`<path d="M%s %sh12" stroke="%s"/>`, x-6, y, color)
		}
	case !e.isLabel:
		c.add(`<rect x="%s" y="%s" width="8" height="8" fill="%s" stroke="%s" stroke-width="2"/>`,
			x-4, e.y-4, c.page, c.Theme.text)
	default:
		c.add(`<circle cx="%s" cy="%s" r="4" fill="%s" stroke="%s"/>`, x, e.y, color, c.page)
	}
	for i, reply := range e.replies {
		to := p.lanes[p.nodes[e.nodes[i]-1]]
		if len(p.nodes) > 1 {
			c.text(to, e.y+5, reply, style{color: c.Theme.text, bold: true, middle: true})
			continue
		}
		to += bar / 2
		c.add(`<path d="M%s %sH%sm4 -3l-4 3l4 3" stroke="%s" fill="none"/>`, x, e.y, to, color)
		if reply == lost { // crossed out
			c.add(`<path d="M%s %sl8 8m0 -8l-8 8" stroke="%s" stroke-width="2"/>`, to+4, e.y-4, c.bad)
		}
	}
	y := e.y + 5
	write := func(lines []string, s style) {
		for _, text := range lines {
			c.text(p.textAt, y, text, s)
			y += line
		}
	}
	write(e.lines, s)
	write(e.wrong, style{color: c.bad})
	fmt.Fprintf(&c.says, "%s: %s", p.clock(e.at), strings.Join(e.lines, " "))
	if e.guilt != "" {
		colon := ": "
		if c.chinese {
			colon = "："
		}
		c.says.WriteString(colon + c.say(e.guilt))
	}
	c.says.WriteString("\n")
}

// legend says what the shapes mean that the picture has.
func (c *canvas) legend(panels []*panel) {
	says := "Redis column: the key, narrower as its TTL runs out. Bar in a client's column: the client is inside."
	if slices.ContainsFunc(panels, func(p *panel) bool { return overlaps(p.inside) != nil }) {
		says += " Hatched: two are inside."
	}
	c.lines(c.say(says), style{color: c.dim})
	c.y += 10
}

// svg closes the picture.
func (c *canvas) svg(title string) string {
	fonts := "Helvetica, Arial, sans-serif"
	if c.chinese {
		fonts = "Helvetica, Arial, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, sans-serif"
	}
	height := math.Ceil(c.y)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[11]d" height="%[12]s" viewBox="0 0 %[1]d %[2]s" role="img" font-family="%[10]s" font-size="%[3]d" fill="%[4]s">
<title>%[5]s</title>
<desc>%[6]s</desc>
<defs><pattern id="both" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 3H6" stroke="%[7]s" stroke-width="2" stroke-opacity=".55"/></pattern></defs>
<rect width="100%%" height="100%%" fill="%[8]s"/>
%[9]s</svg>
`, width, px(height), fontSize, c.Theme.text, html.EscapeString(c.say(title)), html.EscapeString(c.says.String()),
		c.bad, c.page, c.b.String(), fonts, shown, px(math.Round(height*shown/width)))
}

// A Stair is a guarantee, and on which locks it holds.
type Stair struct {
	Guarantee string
	Holds     []bool // by lock; a lock behind the last one was not asked
}

// Staircase draws which lock provides which guarantee.
func Staircase(title string, locks []string, stairs []Stair, legend string, theme Theme) string {
	const cell = 23
	left := float64(width - margin - cell*len(locks))
	middle := func(i int) float64 { return left + cell*(float64(i)+.5) }
	c := &canvas{Theme: theme, y: 22}
	c.text(margin, c.y, c.say(title), style{bold: true})
	c.y += 30
	for i, name := range locks {
		c.text(middle(i), c.y, name, style{bold: true, middle: true, color: c.dim})
	}
	c.y += 8
	fmt.Fprintln(&c.says, legend)
	for _, s := range stairs {
		name, _, _ := strings.Cut(s.Guarantee, ";") // the first half says which it is
		lines := fit(c.say(name), left-margin)
		row := float64(max(36, 17*len(lines)+6))
		for i, line := range lines {
			c.text(margin, c.y+row/2+5+16*(float64(i)-float64(len(lines)-1)/2), line, style{})
		}
		fmt.Fprintf(&c.says, "%s:", s.Guarantee)
		for i, holds := range s.Holds {
			mark, color := "✗", c.bad
			if holds {
				mark, color = "✓", c.good
			}
			c.add(`<rect x="%s" y="%s" width="%d" height="%s" rx="4" fill="%s"/>`,
				middle(i)-cell/2+1, c.y+1, cell-2, row-2, c.pale(color, .18))
			c.text(middle(i), c.y+row/2+6, mark, style{bold: true, middle: true, color: color})
			fmt.Fprintf(&c.says, " %s %s", locks[i], mark)
		}
		c.says.WriteString("\n")
		c.y += row
	}
	c.lines(c.say(legend), style{color: c.dim})
	c.y += 10
	return c.svg(title)
}

package picture

import (
	"fmt"
	"html"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
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
	column   = 940 // of a large page
	fontSize = 14
	margin   = 8
	lanesAt  = 72 // where the lanes begin, behind the times
	lane     = 40 // width of a lane
	node     = 19 // and of a node's, if there are several
	bar      = 24 // width of what is in a lane
	line     = 18 // height of a line of text
	lift     = 16 // of a text above its arrow
	between  = 4  // rows, if no time passes
	longGap  = 20 // where nothing happens for long
)

// A canvas is a picture that grows downwards.
type canvas struct {
	Theme
	clients []string // of all panels
	b       strings.Builder
	says    strings.Builder // the rows, for those who cannot see the picture
	y, wide float64         // wide is the width of a panel
	lacks   []string        // texts without Chinese
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
	end    = ` text-anchor="end"`
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

// fit breaks a text into lines of a width: after Chinese punctuation, if that takes no more
// lines than breaking between any two words.
func fit(text string, width float64) []string {
	lines := fillLines(course.Unbroken(text), width)
	parts := fillLines(strings.SplitAfter(pauses.Replace(text), "\n"), width)
	wide := func(line string) bool { return textWidth(line) > width }
	if len(parts) > len(lines) || slices.ContainsFunc(parts, wide) {
		return lines
	}
	return parts
}

// pauses marks where a part of a Chinese sentence ends.
var pauses = strings.NewReplacer("，", "，\n", "。", "。\n", "：", "：\n", "；", "；\n")

// fillLines puts as many words into each line as it holds.
func fillLines(words []string, width float64) (lines []string) {
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
	if strings.HasPrefix(e.lane, "node ") || p.Animated {
		return c.labelled(e.label)
	}
	return e.lane + " " + c.labelled(e.label)
}

// inRow draws panels next to each other. What happens in several at the same moment is there
// at the same height.
func (c *canvas) inRow(panels []*panel) {
	heads, rows := 0, map[moment]float64{}
	for _, p := range panels {
		c.columns(p)
		c.measure(p, rows)
		heads = max(heads, len(c.fitted(c.say(p.Head))))
	}
	top, bottom, end := c.y+6, 0.0, 0.0
	for _, p := range panels {
		end = max(end, p.place(top+float64(19*heads)+30, rows))
	}
	for i, p := range panels {
		c.y, p.y[len(p.y)-1] = top, end
		c.add(`<g transform="translate(%s)">`, c.wide*float64(i))
		c.panel(p, top+float64(19*heads)+22)
		c.add("</g>")
		bottom = max(bottom, c.y)
	}
	if c.y = bottom + 12; panels[0].Animated {
		c.appear(panels[0])
	}
}

// appear lets what is clipped appear row by row, three times. A reader who wants no motion
// has all of it at once.
func (c *canvas) appear(p *panel) {
	var heights, times []string
	for i, y := range append(p.y, c.y+lift+line/2) {
		heights = append(heights, px(y-lift-line/2))
		times = append(times, fmt.Sprintf("%.3f", float64(i)/float64(2*len(p.y))))
	}
	c.add(`<style>@media (prefers-reduced-motion: reduce) { .rows { clip-path: none } }</style>
<clipPath id="rows"><rect width="100%%" height="%s"><animate attributeName="height" calcMode="discrete" dur="%ds" repeatCount="3" fill="freeze" values="%s" keyTimes="%s"/></rect></clipPath>`,
		c.y, 2*len(p.y), strings.Join(heights, ";"), strings.Join(times, ";"))
}

func (c *canvas) panel(p *panel, top float64) {
	c.lines(c.say(p.Head), bold)
	fmt.Fprintln(&c.says, c.say(p.Head))
	if len(p.nodes) > 1 {
		c.text(margin, top, c.labelled("node"), fill(c.dim))
	}
	for _, name := range p.names() {
		c.text(p.lanes[name], top, c.labelled(strings.TrimPrefix(name, "node ")), fill(c.color(name)), middle)
	}
	for i, m := range p.moments {
		pause := p.pauseBefore(i)
		if p.magnified(m, pause) {
			c.add(`<rect width="%s" y="%s" height="%s" fill="%s"/>`, c.wide, p.y[i-1], p.y[i]-p.y[i-1], c.pale(c.dim, .12))
			c.text(margin, (p.y[i-1]+p.y[i])/2+5, fmt.Sprintf("+%d ms", (pause+500)/1000), fill(c.dim))
		} else if pause >= long { // the break
			c.add(`<path d="M%d %sl10 -6m-10 10l10 -6" stroke="%s" fill="none"/>`, lanesAt-14, p.y[i]-16, c.dim)
		}
	}
	for _, name := range slices.Concat(p.nodes, p.clients) {
		end := edge
		if died, ok := p.dead[name]; ok {
			end = died
		}
		c.add(`<path d="M%s %sV%s" stroke="%s"/>`, p.lanes[name], top+8, p.at(end), c.line)
	}
	c.add("<g%s>", p.clip)
	c.keys(p)
	for _, s := range p.waiting {
		if from, to := p.at(s.from), p.at(s.to); to-from > 6 {
			c.add(`<path d="M%s %sV%s" stroke="%s" stroke-width="2" stroke-dasharray="2 4"/>`,
				p.lanes[s.lane], from, to, c.color(s.lane))
		}
	}
	for _, s := range p.inside {
		c.bar(p, s, c.color(s.lane), .3)
	}
	for _, s := range overlaps(p.inside) {
		c.add(`<rect x="%s" y="%s" width="%d" height="%s" fill="url(#both)" stroke="%s"/>`,
			p.lanes[s.lane]-bar/2, p.at(s.from), bar, p.at(s.to)-p.at(s.from), c.bad)
	}
	for _, s := range p.values {
		c.bar(p, s, c.color(s.owner), .15)
	}
	for _, e := range p.events {
		c.event(p, e)
	}
	last := ""
	for i, m := range p.moments {
		if label := p.clock(m); m != edge && label != last {
			c.text(margin, p.y[i]+5, label, fill(c.dim))
			last = label
		}
	}
	c.y = p.at(edge) + 8
	for _, end := range p.ends {
		mark, text, _ := strings.Cut(end, " ")
		color := map[string]string{"✓": c.good, "✗": c.bad}[mark]
		c.lines(mark+" "+c.say(text), fill(color), bold)
		fmt.Fprintln(&c.says, mark, c.say(text))
	}
	c.add("</g>")
}

// names are the columns: as in docs/play, Redis is between the first client and the others.
func (p *panel) names() []string {
	names := slices.Concat(p.nodes, p.clients)
	if len(p.nodes) == 1 && len(p.clients) > 0 {
		names[0], names[1] = names[1], names[0]
	}
	if p.resource != "" {
		names = append(names, p.resource)
	}
	return names
}

// columns places the columns.
func (c *canvas) columns(p *panel) {
	p.lanes = map[string]float64{}
	names, x, wide := p.names(), float64(lanesAt), float64(lane)
	if p.Animated { // over all of the width: what is sent is written above its arrow
		wide = (c.wide - lanesAt - margin - bar - 8) / float64(len(names)-1)
		x += bar/2 + 4 - wide/2
		p.lift, p.clip = lift, ` class="rows" clip-path="url(#rows)"`
	}
	for i, name := range names {
		own := wide
		if len(p.nodes) > 1 && i < len(p.nodes) {
			own = node
		}
		p.lanes[name] = x + own/2
		x += own
	}
	if p.textAt = x + 4; p.Animated {
		p.textAt = c.wide - margin - (wide - bar - 8)
	}
}

// measure breaks what is written at each moment into lines, and notes how high they are.
func (c *canvas) measure(p *panel, rows map[moment]float64) {
	room := c.wide - margin - p.textAt
	own := map[moment]float64{}
	for i := range p.events {
		e := &p.events[i]
		e.lines = fit(c.sentence(p, *e), room*.97)
		if e.guilt != "" {
			e.wrong = fit(c.say(e.guilt), room*.92)
		}
		e.high += p.lift + float64(line*(len(e.lines)+len(e.wrong))) + between
		own[e.at] += e.high
	}
	for m, height := range own {
		rows[m] = max(rows[m], height)
	}
}

// place gives each moment its place: as far down as what is written there needs. It returns
// where the last one is.
func (p *panel) place(y float64, rows map[moment]float64) float64 {
	for i, m := range p.moments {
		switch pause := p.pauseBefore(i); {
		case p.magnified(m, pause):
			y = max(y, p.y[i-1]+float64(pause)*.0008-line/2)
		case pause >= long:
			y += longGap
		case pause > 1000:
			y += 2 * between
		}
		p.y = append(p.y, y+line/2+p.lift)
		at := p.y[i]
		for j := range p.events {
			if e := &p.events[j]; e.at == m {
				e.y = at
				at += e.high
			}
		}
		y = max(y+rows[m], p.y[i])
	}
	return p.y[len(p.y)-1]
}

// magnified reports whether a pause before a moment has its room.
func (p *panel) magnified(m moment, pause int64) bool {
	return p.Magnify > 0 && pause > 0 && m.at()-pause >= p.Magnify.Microseconds()
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

func (c *canvas) bar(p *panel, s span, color string, opacity float64) {
	if from, to := p.at(s.from), p.at(s.to); to > from {
		c.add(`<rect x="%s" y="%s" width="%d" height="%s" rx="2" fill="%s" stroke="%s"/>`,
			p.lanes[s.lane]-bar/2, from, bar, to-from, c.pale(color, opacity), color)
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
		middle, end := p.lanes[s.lane], s.from.at()
		right, left := "", ""
		corner := func(half, y float64) {
			right += px(middle+half) + "," + px(y) + " "
			left = " " + px(middle-half) + "," + px(y) + left
		}
		if from, to := p.at(s.from), p.at(s.to); s.saw { // three teeth, each a third of the ttl
			for i := range 3 {
				corner(wide/2, from+(to-from)*float64(i)/3)
				corner(wide/3, from+(to-from)*float64(i+1)/3)
			}
		}
		for i, m := range p.moments {
			if m < s.from || m > s.to || s.saw {
				continue
			}
			if m != edge {
				end = m.at()
			}
			half := wide / 2
			if s.until > 0 {
				half *= max(0, float64(s.until-end)/float64(longest))
			}
			corner(half, p.y[i])
		}
		color := c.color(s.owner)
		c.add(`<polygon points="%s" fill="%s" stroke="%s"/>`, strings.TrimSpace(right)+left, c.pale(color, .4), color)
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

func (c *canvas) arrow(from, to, y float64, color string) {
	back := math.Copysign(4, from-to)
	c.add(`<path d="M%s %sH%sm%s -3l%s 3l%[4]s 3" stroke="%[6]s" fill="none"/>`, from, y, to, back, -back, color)
}

func (c *canvas) event(p *panel, e event) {
	x, color := p.lanes[e.lane], c.color(e.lane)
	looks := fill(color)
	if !e.isLabel {
		looks = fill(c.Theme.text)
	}
	if e.guilt != "" {
		color, looks = c.bad, fill(c.bad)+bold
	}
	to := p.lanes[e.of]
	switch side := math.Copysign(1, to-x); {
	case e.of == "" || len(p.nodes) > 1:
		to = 0
	case e.heard: // Redis sends it
		c.arrow(to-side*bar/2, x+side*4, e.y, color)
		to = 0
	default:
		c.arrow(x, to-side*bar/2, e.y, color)
	}
	if to > 0 && e.of == p.resource && strings.HasSuffix(e.label, "refused") { // it bounces
		c.add(`<path d="M%s %sl-14 9m2 -5l-2 5l6 0" stroke="%s" fill="none"/>`, to-bar/2, e.y, color)
	}
	switch {
	case e.lane == "":
	case e.times > 0:
		for y := e.y - 2; y < e.y+e.high-14 && !e.renews; y += 3 {
			c.add(`<path d="M%s %sh12" stroke="%s"/>`, x-6, y, color)
		}
	case !e.isLabel:
		c.add(`<rect x="%s" y="%s" width="8" height="8" fill="%s" stroke="%s" stroke-width="2"/>`,
			x-4, e.y-4, c.page, c.Theme.text)
	case e.token > 1: // its number goes with it
		c.add(`<circle cx="%s" cy="%s" r="11" fill="%s" stroke="%s"/>`, x, e.y, color, c.page)
		c.text(x, e.y+5, fmt.Sprint(e.token), fill(c.page), bold, middle)
	default:
		c.add(`<circle cx="%s" cy="%s" r="4" fill="%s" stroke="%s"/>`, x, e.y, color, c.page)
	}
	for i, reply := range e.replies {
		if len(p.nodes) > 1 {
			c.text(p.lanes[p.nodes[e.nodes[i]-1]], e.y+5, reply, bold, middle)
		} else if reply == lost { // crossed out
			c.add(`<path d="M%s %sl8 8m0 -8l-8 8" stroke="%s" stroke-width="2"/>`, to+math.Copysign(bar/2+8, x-to)-4, e.y-4, c.bad)
		}
	}
	switch {
	case to == 0:
	case e.guilt != "":
		c.add(`<circle cx="%s" cy="%s" r="9" fill="none" stroke="%s" stroke-width="2"/>`, to, e.y, c.bad)
		if slices.Contains(e.replies, "nil") { // a call within the call that is inside
			c.add(`<path d="M%s %sl8 8m0 -8l-8 8" stroke="%s" stroke-width="2"/>`, to-4, e.y-4, c.bad)
			for _, s := range p.waiting {
				if s.lane == e.lane && s.from <= e.at && e.at < s.to {
					c.add(`<path d="M%s %sh-6V%sh6" stroke="%s" stroke-width="2" fill="none"/>`, x-bar/2-2, p.at(s.from), p.at(s.to), c.bad)
				}
			}
		}
	case e.right:
		c.add(`<circle cx="%s" cy="%s" r="9" fill="%s" stroke="%s" stroke-width="2"/>`, to, e.y, c.page, c.good)
		c.text(to, e.y+5, "✓", fill(c.good), bold, middle)
	}
	textAt, y, who, anchor := p.textAt, e.y+5, "", ""
	if p.Animated { // above the arrow
		textAt, y, who = x+bar/2+4, e.y-7, e.lane+" "
		if to < x {
			textAt, anchor = x-bar/2-4, end
		}
	}
	for i, text := range slices.Concat(e.lines, e.wrong) {
		if i == len(e.lines) {
			looks = fill(c.bad)
			y += p.lift / 2 // below the arrow
		}
		c.text(textAt, y, text, looks, anchor)
		y += line
	}
	fmt.Fprintf(&c.says, "%s: %s%s", p.clock(e.at), who, strings.Join(e.lines, " "))
	if e.guilt != "" {
		c.says.WriteString(map[bool]string{false: ": ", true: "："}[c.chinese] + c.say(e.guilt))
	}
	c.says.WriteString("\n")
}

// svg closes a picture of so many panels next to each other.
func (c *canvas) svg(title string, panels int) string {
	fonts := "Helvetica, Arial, sans-serif"
	if c.chinese {
		fonts = "Helvetica, Arial, PingFang SC, Microsoft YaHei, Noto Sans CJK SC, sans-serif"
	}
	wide, height := c.wide*float64(panels), math.Ceil(c.y)
	scale := min(float64(shown)/width, column/wide)
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[11]s" height="%[12]s" viewBox="0 0 %[1]s %[2]s" role="img" font-family="%[10]s" font-size="%[3]d" fill="%[4]s">
<title>%[5]s</title>
<desc>%[6]s</desc>
<defs><pattern id="both" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 3H6" stroke="%[7]s" stroke-width="2" stroke-opacity=".55"/></pattern></defs>
<rect width="100%%" height="100%%" fill="%[8]s"/>
%[9]s</svg>
`, px(wide), px(height), fontSize, c.Theme.text, html.EscapeString(c.say(title)), html.EscapeString(c.says.String()),
		c.bad, c.page, c.b.String(), fonts, px(math.Round(wide*scale)), px(math.Round(height*scale)))
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
	c := &canvas{Theme: theme, y: 22, wide: width}
	c.text(margin, c.y, c.say(title), bold)
	c.y += 76
	for i, name := range locks {
		c.add(`<g transform="translate(%s %s) rotate(-70)">`, at(i)+5, c.y)
		c.text(0, 0, c.say(name), bold, fill(c.dim))
		c.add("</g>")
	}
	c.y += 8
	fmt.Fprintln(&c.says, legend)
	for _, s := range stairs {
		name, _, _ := strings.Cut(s.Guarantee, ";") // the first half says which it is
		lines := fit(c.say(name), left-margin)
		row := float64(max(36, 17*len(lines)+6))
		for i, line := range lines {
			c.text(margin, c.y+row/2+5+16*(float64(i)-float64(len(lines)-1)/2), line)
		}
		fmt.Fprintf(&c.says, "%s:", s.Guarantee)
		for i, holds := range s.Holds {
			mark, color := "✗", c.bad
			if holds {
				mark, color = "✓", c.good
			}
			c.add(`<rect x="%s" y="%s" width="%d" height="%s" rx="4" fill="%s"/>`,
				at(i)-cell/2+1, c.y+1, cell-2, row-2, c.pale(color, .18))
			c.text(at(i), c.y+row/2+6, mark, bold, middle, fill(color))
			fmt.Fprintf(&c.says, " %s %s", locks[i], mark)
		}
		c.says.WriteString("\n")
		c.y += row
	}
	c.lines(c.say(legend), fill(c.dim))
	c.y += 10
	return c.svg(title, 1)
}

package picture

import (
	"fmt"
	"html"
	"math"
	"regexp"
	"slices"
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

// An axis is the moments of a panel. Time runs down, as in the game (docs/play).
type axis struct {
	moments []moment
	y       []float64
}

func (a *axis) add(m moment) {
	if i, found := slices.BinarySearchFunc(a.moments, m, compareMoments); !found {
		a.moments = slices.Insert(a.moments, i, m)
	}
}

func (a *axis) at(m moment) float64 {
	i, _ := slices.BinarySearchFunc(a.moments, m, compareMoments)
	return a.y[i]
}

const long = 5_000_000 // µs in which nothing happens: the axis is broken there

// isLong reports whether nothing happens for long before moment i.
func (a *axis) isLong(i int) bool {
	return i > 0 && a.moments[i] != edge && a.moments[i].at-a.moments[i-1].at >= long
}

// passes reports whether time passes before moment i.
func (a *axis) passes(i int) bool {
	return i > 0 && a.moments[i] != edge && a.moments[i].at-a.moments[i-1].at > 1000
}

// A canvas is a picture that grows downwards.
type canvas struct {
	Theme
	clients []string // of all panels
	b       strings.Builder
	says    strings.Builder // the rows, for those who cannot see the picture
	y       float64
	lacks   []string // texts without Chinese
}

func newCanvas(t Theme) *canvas { return &canvas{Theme: t} }

func (c *canvas) add(format string, args ...any) { fmt.Fprintf(&c.b, format+"\n", args...) }

// px writes a length as short as its picture allows.
func px(f float64) string { return strings.TrimSuffix(fmt.Sprintf("%.1f", f), ".0") }

// A style is how a text looks.
type style struct {
	color string
	bold  bool
}

func (c *canvas) text(x, y float64, text string, s style) {
	attributes := ""
	if s.color != "" {
		attributes += fmt.Sprintf(` fill="%s"`, s.color)
	}
	if s.bold {
		attributes += ` font-weight="600"`
	}
	c.add(`<text x="%s" y="%s"%s>%s</text>`, px(x), px(y), attributes, html.EscapeString(text))
}

// lines writes a text in as many lines as it needs.
func (c *canvas) lines(x float64, text string, s style) {
	// Where neither Arial nor its like is there, letters are wider.
	room := (width - margin - x) * .92
	if s.bold {
		room *= .92
	}
	for _, line := range fit(text, room) {
		c.y += 19
		c.text(x, c.y, line, s)
	}
}

// colon is what stands between what happened and what is wrong with it.
func (c *canvas) colon() string {
	if c.chinese {
		return "："
	}
	return ": "
}

// fit breaks a text into lines of a width: after Chinese punctuation, if that takes no more
// lines than breaking between any two words.
func fit(text string, width float64) []string {
	lines := fill(words(text), width)
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

// words are the parts of a text between which a line may end, each with its space before
// it. In Chinese that is between any two characters, but not before punctuation.
func words(text string) (list []string) {
	for word := range strings.FieldsSeq(text) {
		if list != nil {
			word = " " + word
		}
		var before rune
		for i, r := range word {
			if n := len(list) - 1; i > 0 && (before < firstWide && r < firstWide || strings.ContainsRune("，。：；？！、）”", r) || strings.ContainsRune(" （“", before)) {
				list[n] += string(r)
			} else {
				list = append(list, string(r))
			}
			before = r
		}
	}
	return list
}

// firstWide is before the Chinese characters and their punctuation; only arrows, quotation
// marks and the like are below it, and not Latin.
const firstWide = 0x2e80

// textWidth is how wide a text is in Arial or Helvetica, and in the fonts that replace
// them, at most.
func textWidth(text string) (w float64) {
	for _, r := range text {
		switch {
		case strings.ContainsRune("fijlrt.,:;|'!()[]-– ", r):
			w += 0.34
		case strings.ContainsRune("mwMW→✗✓", r):
			w += 0.9
		case r >= firstWide:
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

// A text column has what happens, behind the lanes.
func (p *panel) textAt() float64 { return lanesAt + p.lanesWidth() + 4 }

func (p *panel) lanesWidth() float64 {
	if len(p.nodes) > 1 {
		return float64(node*len(p.nodes) + lane*len(p.clients))
	}
	n := len(p.nodes) + len(p.clients)
	if p.resource != "" {
		n++
	}
	return float64(lane * n)
}

// lanes are the middles of the columns.
func (p *panel) lanes() map[string]float64 {
	x, list := float64(lanesAt), map[string]float64{}
	add := func(name string, wide float64) {
		list[name] = x + wide/2
		x += wide
	}
	for _, n := range p.nodes {
		if len(p.nodes) > 1 {
			add(n, node)
		} else {
			add(n, lane)
		}
	}
	for _, who := range p.clients {
		add(who, lane)
	}
	if p.resource != "" {
		add(p.resource, lane)
	}
	return list
}

// bare is a label without the depth, if no client locks twice.
func (p *panel) bare(label string) string {
	if strings.HasSuffix(label, "refused") || !slices.ContainsFunc(p.depth, func(d depth) bool { return d.n > 1 }) {
		return depthInLabel.ReplaceAllString(label, "")
	}
	return label
}

var depthInLabel = regexp.MustCompile(` depth \d+`)

// rows writes what an event says, in lines.
func (c *canvas) rows(p *panel, e event) (list []string) {
	var what string
	if e.isLabel {
		what = c.labelled(p.bare(e.label))
	} else {
		what = c.say(e.label)
	}
	if e.lane != "" && e.isLabel && !strings.HasPrefix(e.lane, "node ") {
		what = e.lane + " " + what
	}
	return fit(what, (width-margin-p.textAt())*.97)
}

func (c *canvas) panel(p *panel, a *axis) {
	c.y += 6
	c.lines(margin, c.say(p.Head), style{bold: true})
	fmt.Fprintln(&c.says, c.say(p.Head))
	c.y += 22
	lanes := p.lanes()
	head := func(name, text, color string) {
		c.add(`<text x="%s" y="%s" fill="%s" text-anchor="middle">%s</text>`, px(lanes[name]), px(c.y), color, html.EscapeString(text))
	}
	if len(p.nodes) > 1 {
		c.text(margin, c.y, c.labelled("node"), style{color: c.dim})
	}
	for _, n := range p.nodes {
		head(n, strings.TrimPrefix(n, "node "), c.dim)
	}
	for _, who := range p.clients {
		head(who, who, c.color(who))
	}
	if p.resource != "" {
		head(p.resource, c.labelled(p.resource), c.dim)
	}
	c.y += 8
	top := c.y
	c.place(p, a)
	for i := range a.moments[:len(a.moments)-1] {
		if a.isLong(i) { // the break
			c.add(`<path d="M%d %sl10 -6m-10 10l10 -6" stroke="%s" fill="none"/>`, lanesAt-14, px(a.y[i]-16), c.dim)
		}
	}
	for _, name := range slices.Concat(p.nodes, p.clients) {
		end := a.y[len(a.y)-1]
		if died, ok := p.dead[name]; ok {
			end = a.at(died)
		}
		c.add(`<path d="M%s %sV%s" stroke="%s"/>`, px(lanes[name]), px(top), px(end), c.line)
	}
	wide := float64(bar)
	if len(p.nodes) > 1 {
		wide = node - 3
	}
	most := int64(1)
	for _, s := range p.keys {
		most = max(most, s.until-s.from.at)
	}
	for _, s := range p.keys {
		c.key(a, s, lanes[s.lane], wide, most)
	}
	for _, s := range p.waiting {
		if from, to := a.at(s.from), a.at(s.to); to-from > 6 {
			c.add(`<path d="M%s %sV%s" stroke="%s" stroke-width="2" stroke-dasharray="2 4"/>`, px(lanes[s.lane]), px(from), px(to), c.color(s.lane))
		}
	}
	for _, s := range p.inside {
		c.bar(a, s, lanes[s.lane], bar, c.color(s.lane), .3)
		c.depths(p, a, s, lanes[s.lane])
	}
	for _, s := range overlaps(p.inside) {
		c.add(`<rect x="%s" y="%s" width="%d" height="%s" fill="url(#both)" stroke="%s"/>`,
			px(lanes[s.lane]-bar/2), px(a.at(s.from)), bar, px(a.at(s.to)-a.at(s.from)), c.bad)
	}
	for _, s := range p.values {
		c.bar(a, s, lanes[s.lane], bar, c.color(s.owner), .15)
	}
	for _, e := range p.events {
		c.event(p, e, a, lanes)
	}
	c.times(a)
	c.y += 4
	for _, v := range p.verdicts {
		c.conclude("✗ "+c.say(v), c.bad)
	}
	if p.verdicts == nil && p.Good != "" {
		c.conclude("✓ "+c.say(p.Good), c.good)
	}
	c.y += 12
}

func (c *canvas) conclude(text, color string) {
	c.lines(margin, text, style{color: color, bold: true})
	fmt.Fprintln(&c.says, text)
}

// place gives each moment its place: as far down as what is written there needs.
func (c *canvas) place(p *panel, a *axis) {
	a.y = make([]float64, len(a.moments))
	for i, m := range a.moments {
		switch {
		case a.isLong(i):
			c.y += longGap
		case a.passes(i):
			c.y += 2 * between
		}
		a.y[i] = c.y + line/2
		for j := range p.events {
			e := &p.events[j]
			if e.at != m {
				continue
			}
			e.y = c.y + line/2
			c.y += float64(line*len(c.rows(p, *e))) + between
			if e.times > 0 {
				c.y += comb(e.times)
			}
			if e.guilt != "" {
				c.y += float64(line * len(fit(c.say(e.guilt), c.guiltRoom(p))))
			}
		}
		c.y = max(c.y, a.y[i])
	}
	c.y += 8
}

func (c *canvas) guiltRoom(p *panel) float64 { return (width - margin - p.textAt()) * .92 }

// comb is how high the ticks are of what came so many times more.
func comb(times int) float64 { return float64(min(8+times/3, 60)) }

// times writes when the moments are.
func (c *canvas) times(a *axis) {
	last := ""
	for i, m := range a.moments {
		if label := a.clock(i); m != edge && label != last {
			c.text(margin, a.y[i]+5, label, style{color: c.dim})
			last = label
		}
	}
}

// depths draws how often the owner has locked inside: a bar in a bar.
func (c *canvas) depths(p *panel, a *axis, s span, x float64) {
	for level := 2; level <= 9; level++ {
		from := edge
		for _, d := range append(slices.Clone(p.depth), depth{s.lane, s.to, 0}) {
			if d.who != s.lane || compareMoments(d.at, s.from) < 0 || compareMoments(d.at, s.to) > 0 {
				continue
			}
			switch {
			case d.n >= level && from == edge:
				from = d.at
			case d.n < level && from != edge:
				c.bar(a, span{lane: s.lane, from: from, to: d.at}, x, float64(bar-4*(level-1)), c.color(s.lane), .3)
				from = edge
			}
		}
	}
}

// isOfSeconds reports whether a ms is nothing on the axis.
func (a *axis) isOfSeconds() bool { return a.moments[len(a.moments)-2].at > 1_000_000 }

// clock is the time of moment i, as short as the axis allows.
func (a *axis) clock(i int) string {
	tenths := (a.moments[i].at + 50) / 100
	switch {
	case tenths == 0 || a.isOfSeconds() && tenths < 10:
		return "0"
	case tenths < 100:
		return px(float64(tenths)/10) + " ms"
	case tenths < 10_000:
		return fmt.Sprintf("%d ms", (tenths+5)/10)
	}
	if ms := (tenths + 5) / 10; ms%10 != 0 && ms < 100_000 {
		return fmt.Sprintf("%d ms", ms)
	}
	return strings.TrimSuffix(strings.TrimRight(fmt.Sprintf("%.2f", math.Round(float64(tenths)/100)/100), "0"), ".") + " s"
}

func (c *canvas) bar(a *axis, s span, x, wide float64, color string, opacity float64) {
	from, to := a.at(s.from), a.at(s.to)
	if to <= from {
		return
	}
	c.add(`<rect x="%s" y="%s" width="%s" height="%s" rx="2" fill="%s" stroke="%s"/>`,
		px(x-wide/2), px(from), px(wide), px(to-from), c.pale(color, opacity), color)
}

// key draws a key as a bar that becomes narrower while its ttl runs out. most is the longest ttl.
func (c *canvas) key(a *axis, s span, x, wide float64, most int64) {
	left := x - wide/2
	right := func(at int64) float64 {
		if s.until == 0 {
			return left + wide
		}
		return left + wide*max(0, float64(s.until-at)/float64(most))
	}
	var points strings.Builder
	end := s.from.at
	for i, m := range a.moments {
		if compareMoments(m, s.from) < 0 || compareMoments(m, s.to) > 0 {
			continue
		}
		if m != edge {
			end = m.at
		}
		fmt.Fprintf(&points, "%s,%s ", px(right(end)), px(a.y[i]))
	}
	color := c.color(s.owner)
	c.add(`<polygon points="%s%s,%s %s,%s" fill="%s" stroke="%s"/>`,
		points.String(), px(left), px(a.at(s.to)), px(left), px(a.at(s.from)), c.pale(color, .4), color)
}

// pale mixes a colour with that of the page.
func (c *canvas) pale(color string, part float64) string {
	var mixed [3]int
	for i := range mixed {
		var a, b int
		fmt.Sscanf(color[1+2*i:3+2*i], "%x", &a)
		fmt.Sscanf(c.page[1+2*i:3+2*i], "%x", &b)
		mixed[i] = int(math.Round(float64(a)*part + float64(b)*(1-part)))
	}
	return fmt.Sprintf("#%02x%02x%02x", mixed[0], mixed[1], mixed[2])
}

func (c *canvas) event(p *panel, e event, a *axis, lanes map[string]float64) {
	x, color := lanes[e.lane], c.color(e.lane)
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
			c.add(`<path d="M%s %sh12" stroke="%s"/>`, px(x-6), px(y), color)
		}
	case !e.isLabel:
		c.add(`<rect x="%s" y="%s" width="8" height="8" fill="%s" stroke="%s" stroke-width="2"/>`, px(x-4), px(e.y-4), c.page, c.Theme.text)
	default:
		c.add(`<circle cx="%s" cy="%s" r="4" fill="%s" stroke="%s"/>`, px(x), px(e.y), color, c.page)
	}
	for i, reply := range e.replies {
		to := lanes[p.nodes[0]]
		if len(p.nodes) == 1 {
			c.arrow(x, to+bar/2, e.y, reply == lost, color)
			break
		}
		to = lanes[p.nodes[e.nodes[i]-1]]
		c.add(`<text x="%s" y="%s" fill="%s" font-weight="600" text-anchor="middle">%s</text>`, px(to), px(e.y+5), c.Theme.text, reply)
	}
	y := e.y + 5
	for i, text := range c.rows(p, e) {
		c.text(p.textAt(), y, text, s)
		if i == 0 {
			fmt.Fprintf(&c.says, "%s: ", a.clock(slices.Index(a.moments, e.at)))
		}
		y += line
	}
	c.says.WriteString(strings.Join(c.rows(p, e), " "))
	if e.guilt != "" {
		for _, text := range fit(c.say(e.guilt), c.guiltRoom(p)) {
			c.text(p.textAt(), y, text, style{color: c.bad})
			y += line
		}
		c.says.WriteString(c.colon() + c.say(e.guilt))
	}
	c.says.WriteString("\n")
}

// arrow is a command that reaches Redis; a reply that is lost is crossed out.
func (c *canvas) arrow(from, to, y float64, isLost bool, color string) {
	c.add(`<path d="M%s %sH%sm4 -3l-4 3l4 3" stroke="%s" fill="none"/>`, px(from), px(y), px(to), color)
	if isLost {
		c.add(`<path d="M%s %sl8 8m0 -8l-8 8" stroke="%s" stroke-width="2"/>`, px(to+4), px(y-4), c.bad)
	}
}

// legend says what the shapes mean that the picture has.
func (c *canvas) legend(panels []*panel) {
	says := "Redis column: the key, narrower as its TTL runs out. Bar in a client's column: the client is inside."
	if slices.ContainsFunc(panels, func(p *panel) bool { return overlaps(p.inside) != nil }) {
		says += " Hatched: two are inside."
	}
	c.lines(margin, c.say(says), style{color: c.dim})
	c.y += 10
}

// svg closes the picture.
func (c *canvas) svg(title, description string) string {
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
`, width, px(height), fontSize, c.Theme.text, html.EscapeString(title), html.EscapeString(description), c.bad, c.page, c.b.String(), fonts, shown, px(math.Round(height*shown/width)))
}

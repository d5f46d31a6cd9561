package picture

import (
	"fmt"
	"html"
	"math"
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

// Width of every picture, in px. A phone shows it 358 px wide: then text of 14 px is 10.4 px high.
const (
	width    = 480
	fontSize = 14
	margin   = 8
	lanesAt  = 58 // where the lanes begin, behind their names
	lane     = 30 // height of a client's lane
	node     = 24 // and of a node's, if there are several
	gap      = 13 // between moments, if they need no more
	longGap  = 34 // where nothing happens for long
)

// An axis is the time of all panels.
type axis struct {
	moments []moment
	x       []float64
}

func (a *axis) add(m moment) {
	if i, found := slices.BinarySearchFunc(a.moments, m, compareMoments); !found {
		a.moments = slices.Insert(a.moments, i, m)
	}
}

func (a *axis) at(m moment) float64 {
	i, _ := slices.BinarySearchFunc(a.moments, m, compareMoments)
	return a.x[i]
}

const long = 5_000_000 // µs in which nothing happens: the axis is broken there

// isLong reports whether nothing happens for long before moment i.
func (a *axis) isLong(i int) bool {
	return i > 0 && a.moments[i] != edge && a.moments[i].at-a.moments[i-1].at >= long
}

// layOut gives each moment its place: as near to the one before as what is written there
// allows. What is left over goes to where time passes. It reports whether there was room,
// with so many rows of labels in a lane.
func (a *axis) layOut(panels []*panel, rows int, times bool) bool {
	for _, p := range panels {
		p.setRows(rows)
	}
	need := make([]float64, len(a.moments)) // before each moment
	for i := range need {
		need[i] = gap
		if a.isLong(i) {
			need[i] = longGap
		}
	}
	a.x = make([]float64, len(a.moments))
	place := func() {
		for i := range a.x {
			a.x[i] = lanesAt + 10
			if i > 0 {
				a.x[i] = a.x[i-1] + need[i]
			}
			for _, p := range panels {
				a.x[i] = max(a.x[i], p.roomFor(a, i))
			}
			if times {
				a.x[i] = max(a.x[i], a.roomForTime(i))
			}
		}
		for i := len(a.x) - 1; i > 0; i-- { // keep what labels have taken
			need[i] = a.x[i] - a.x[i-1]
		}
	}
	place()
	last := len(a.x) - 1
	left := width - margin - a.x[last]
	if left < 0 {
		return false
	}
	var passes []int
	for i := range a.moments {
		if i > 0 && a.passes(i) {
			passes = append(passes, i)
		}
	}
	if passes == nil {
		passes = []int{last}
	}
	for _, i := range passes {
		need[i] += left / float64(len(passes))
	}
	place()
	return true
}

// passes reports whether time passes before moment i.
func (a *axis) passes(i int) bool {
	return i == 0 || a.moments[i] != edge && a.moments[i].at-a.moments[i-1].at > 1000
}

// roomForTime is how far left moment i may be, so that its time is behind that of the
// moment before.
func (a *axis) roomForTime(i int) (x float64) {
	if !a.passes(i) && a.moments[i] != edge {
		return 0
	}
	for j := range i {
		if a.passes(j) {
			x = a.x[j] + textWidth(a.clock(j)) + 7
		}
	}
	return x
}

// setRows spreads the labels of each lane over its rows.
func (p *panel) setRows(rows int) {
	p.rows = rows
	next := map[string]int{}
	for i := range p.events {
		e := &p.events[i]
		if e.row = next[e.lane] % rows; e.label != "" && !p.repeats(*e) {
			next[e.lane]++
		}
	}
}

// roomFor is how far left moment i may be, so that its labels are behind those that stand
// in the same lane.
func (p *panel) roomFor(a *axis, i int) (x float64) {
	here := func(before event) bool {
		return a.moments[i] == edge || slices.ContainsFunc(p.events, func(e event) bool {
			return e.at == a.moments[i] && e.lane == before.lane && (e.row == before.row || e.note+before.note > 0)
		})
	}
	for _, e := range p.events {
		if compareMoments(e.at, a.moments[i]) >= 0 || !here(e) {
			continue
		}
		switch {
		case e.note > 0:
			x = max(x, a.at(e.at)+17)
		case e.label != "" && !p.repeats(e):
			x = max(x, a.at(e.at)+8+textWidth(e.label)+6)
		}
	}
	return x
}

// repeats reports whether the label stands there already, in the event of the lane before this one.
func (p *panel) repeats(e event) bool {
	before := ""
	for _, o := range p.events {
		if o.lane == e.lane && o.at == e.at {
			return before == e.label
		}
		if o.lane == e.lane {
			before = o.label
		}
	}
	return false
}

// A canvas is a picture that grows downwards.
type canvas struct {
	Theme
	clients []string // of all panels
	b       strings.Builder
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
	on    string // a colour around the letters: something is behind them
}

func (c *canvas) text(x, y float64, text string, s style) {
	attributes := ""
	if s.color != "" {
		attributes += fmt.Sprintf(` fill="%s"`, s.color)
	}
	if s.bold {
		attributes += ` font-weight="600"`
	}
	if s.on != "" {
		attributes += fmt.Sprintf(` stroke="%s" stroke-width="7" stroke-linejoin="round" paint-order="stroke"`, s.on)
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

// textWidth is how wide a text is in Arial or Helvetica, and in the fonts that stand in
// for them, at most.
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

// behindLabel is where the span begins, or the label that stands there ends.
func (p *panel) behindLabel(a *axis, s span) float64 {
	for _, e := range p.events {
		if e.at == s.from && e.lane == s.lane && e.label != "" {
			return a.at(s.from) + 12 + textWidth(e.label)
		}
	}
	return a.at(s.from)
}

// middle is that of a client's bar.
func (p *panel) middle(lanes map[string]float64, who string) float64 {
	if p.rows == 3 {
		return lanes[who] - 9
	}
	return lanes[who]
}

// baseline is where a label stands, from the middle of its mark: the rows are beside,
// above and below it.
func (p *panel) baseline(row int) float64 {
	return [][]float64{{5}, {-5, 15}, {-23, -5, 15}}[p.rows-1][row]
}

// height is that of a client's lane.
func (p *panel) height() float64 { return lane + 18*float64(p.rows-1) }

func (c *canvas) panel(p *panel, a *axis) {
	c.y += 6
	c.lines(margin, c.say(p.Head), style{bold: true})
	c.y += 10
	c.times(a)
	top := c.y
	lanes := map[string]float64{} // their middles
	add := func(name string, height float64, color string) {
		lanes[name] = c.y + height/2
		if name != "" {
			c.text(margin, c.y+height/2+5, name, style{color: color})
		}
		c.y += height
	}
	height := float64(lane)
	if len(p.nodes) > 1 {
		height = node
	}
	if slices.ContainsFunc(p.events, func(e event) bool { return e.lane == "" }) {
		add("", node, c.dim)
	}
	for _, n := range p.nodes {
		add(n, height, c.dim)
	}
	for _, who := range p.clients {
		add(who, p.height(), c.color(who))
		if p.rows == 3 {
			lanes[who] += 9
		}
	}
	if p.resource != "" {
		add(p.resource, lane, c.dim)
	}
	for i := range a.moments[:len(a.moments)-1] {
		if a.isLong(i) { // the break
			x := (a.x[i-1] + a.x[i]) / 2
			c.add(`<path d="M%s %sl6 -10m-2 10l6 -10" stroke="%s" fill="none"/>`, px(x-5), px(top-1), c.dim)
		}
	}
	for _, name := range slices.Concat(p.nodes, p.clients) {
		end := float64(width - margin)
		if died, ok := p.dead[name]; ok {
			end = a.at(died)
		}
		c.add(`<path d="M%d %sH%s" stroke="%s"/>`, lanesAt, px(lanes[name]), px(end), c.line)
	}
	most := int64(1)
	for _, s := range p.keys {
		most = max(most, s.until-s.from.at)
	}
	for _, s := range p.keys {
		c.key(a, s, lanes[s.lane], height-6, most)
	}
	for _, s := range p.waiting {
		if from, to := p.behindLabel(a, s), a.at(s.to); to-from > 6 {
			c.add(`<path d="M%s %sH%s" stroke="%s" stroke-width="2" stroke-dasharray="2 4"/>`, px(from), px(lanes[s.lane]), px(to), c.color(s.lane))
		}
	}
	for _, s := range p.inside {
		c.bar(a, s, p.middle(lanes, s.lane), p.height()-6, c.color(s.lane), .3)
	}
	for _, s := range overlaps(p.inside) {
		c.add(`<rect x="%s" y="%s" width="%s" height="%s" fill="url(#both)" stroke="%s"/>`,
			px(a.at(s.from)), px(p.middle(lanes, s.lane)-p.height()/2+3), px(a.at(s.to)-a.at(s.from)), px(p.height()-6), c.bad)
	}
	for _, s := range p.values {
		c.bar(a, s, lanes[s.lane], lane-8, c.color(s.owner), .15)
		if textWidth(s.text)+10 < a.at(s.to)-a.at(s.from) {
			c.text(a.at(s.from)+5, lanes[s.lane]+5, s.text, style{})
		}
	}
	for _, e := range p.events {
		c.event(p, e, a, lanes[e.lane])
	}
	c.y += 2
	for i, note := range p.notes {
		c.y += 2
		for j, line := range fit(c.say(note), (width-margin-lanesAt)*.92) {
			c.y += 18
			if j == 0 {
				c.number(i+1, lanesAt-12, c.y-5)
			}
			c.text(lanesAt, c.y, line, style{color: c.dim})
		}
	}
	for _, e := range p.events {
		if e.guilt != "" && e.note == 0 {
			c.lines(lanesAt, e.lane+" "+e.label+c.colon()+c.say(e.guilt), style{color: c.bad})
		}
	}
	for _, v := range p.verdicts {
		c.lines(margin, "✗ "+c.say(v), style{color: c.bad, bold: true})
	}
	if p.verdicts == nil && p.Good != "" {
		c.lines(margin, "✓ "+c.say(p.Good), style{color: c.good, bold: true})
	}
	c.y += 12
}

// times writes when the moments are, as far as there is room.
func (c *canvas) times(a *axis) {
	c.y += 16
	free, last := 0.0, int64(-1_000_000)
	for i, m := range a.moments {
		label := a.clock(i)
		if m == edge || m.at == last || a.isOfSeconds() && m.at-last < 5000 || a.x[i] < free || a.x[i]+textWidth(label) > width {
			continue
		}
		c.text(a.x[i]-3, c.y, label, style{color: c.dim})
		last, free = m.at, a.x[i]+textWidth(label)+6
		c.add(`<path d="M%s %sv6" stroke="%s"/>`, px(a.x[i]), px(c.y+3), c.dim)
	}
	c.y += 9
	c.add(`<path d="M%d %sH%d" stroke="%s"/>`, lanesAt, px(c.y), width-margin, c.dim)
	c.y += 4
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

func (c *canvas) bar(a *axis, s span, y, height float64, color string, opacity float64) {
	from, to := a.at(s.from), a.at(s.to)
	if to <= from {
		return
	}
	c.add(`<rect x="%s" y="%s" width="%s" height="%s" rx="2" fill="%s" stroke="%s"/>`,
		px(from), px(y-height/2), px(to-from), px(height), c.pale(color, opacity), color)
}

// key draws a key as a bar that becomes lower while its ttl runs out. most is the longest ttl.
func (c *canvas) key(a *axis, s span, y, height float64, most int64) {
	color := c.color(s.owner)
	top := func(at int64) float64 {
		left := 1.0
		if s.until > 0 {
			left = max(0, float64(s.until-at)/float64(most))
		}
		return y + height/2 - height*left
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
		fmt.Fprintf(&points, "%s,%s ", px(a.x[i]), px(top(end)))
	}
	fill := c.pale(color, .4)
	c.add(`<polygon points="%s%s,%s %s,%s" fill="%s" stroke="%s"/>`,
		points.String(), px(a.at(s.to)), px(y+height/2), px(a.at(s.from)), px(y+height/2), fill, color)
	if text := strings.Trim(s.text, "<>"); textWidth(text)+8 < a.at(s.to)-a.at(s.from) {
		c.text(a.at(s.from)+5, y+height/2-4, text, style{on: fill})
	}
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

func (c *canvas) event(p *panel, e event, a *axis, y float64) {
	x, color := a.at(e.at), c.color(e.lane)
	if e.guilt != "" {
		color = c.bad
		c.add(`<circle cx="%s" cy="%s" r="9" fill="none" stroke="%s" stroke-width="2"/>`, px(x), px(y), c.bad)
	}
	if e.note > 0 {
		c.number(e.note, x, y)
		return
	}
	c.add(`<circle cx="%s" cy="%s" r="4" fill="%s"/>`, px(x), px(y), color)
	if !p.repeats(e) {
		s := style{on: c.page}
		if p.isInside(e, a) {
			s.on = c.pale(c.color(e.lane), .3)
		}
		if e.guilt != "" {
			s.color, s.bold = c.bad, true
		}
		c.text(x+9, y+p.baseline(e.row), e.label, s)
	}
}

// isInside reports whether the label of an event stands on its client's bar.
func (p *panel) isInside(e event, a *axis) bool {
	return slices.ContainsFunc(p.inside, func(s span) bool {
		return s.lane == e.lane && compareMoments(s.from, e.at) <= 0 && a.at(e.at)+textWidth(e.label) < a.at(s.to)
	})
}

// number is the mark of a note.
func (c *canvas) number(n int, x, y float64) {
	c.add(`<circle cx="%s" cy="%s" r="8.5" fill="%s" stroke="%s"/>`, px(x), px(y), c.page, c.dim)
	c.add(`<text x="%s" y="%s" text-anchor="middle">%d</text>`, px(x), px(y+5), n)
}

// legend says what the shapes mean that the picture has.
func (c *canvas) legend(panels []*panel) {
	says := "In Redis: the key, lower as its ttl runs out; bar of a client: inside."
	if slices.ContainsFunc(panels, func(p *panel) bool { return overlaps(p.inside) != nil }) {
		says = strings.TrimSuffix(says, ".") + "; hatched: two inside."
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
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" width="%[1]d" height="%[2]s" viewBox="0 0 %[1]d %[2]s" role="img" font-family="%[10]s" font-size="%[3]d" fill="%[4]s">
<title>%[5]s</title>
<desc>%[6]s</desc>
<defs><pattern id="both" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><path d="M0 3H6" stroke="%[7]s" stroke-width="2" stroke-opacity=".55"/></pattern></defs>
<rect width="100%%" height="100%%" fill="%[8]s"/>
%[9]s</svg>
`, width, px(math.Ceil(c.y)), fontSize, c.Theme.text, html.EscapeString(title), html.EscapeString(description), c.bad, c.page, c.b.String(), fonts)
}

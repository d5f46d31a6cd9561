package picture

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

const (
	lanesAt = 72 // where the lanes begin, behind the times
	lane    = 40 // width of a lane
	node    = 19 // and of a node's, if there are several
	bar     = 24 // width of what is in a lane
	line    = 18 // height of a line of text
	between = 4  // rows, if no time passes
	longGap = 20 // where nothing happens for long
)

const long = 5_000_000 // µs in which nothing happens: the axis is broken there

// Story draws a story in the colours of a theme, so many panels next to each other.
func Story(title string, panels []Panel, columns int, theme Theme) (string, error) {
	c := &canvas{Theme: theme, y: 36, wide: min(width, 1092/float64(columns))}
	c.text(margin, 26, c.say(title), bold)
	var drawn []*panel
	for _, p := range panels {
		d := read(p)
		drawn = append(drawn, d)
		d.compare(drawn[0])
		c.clients = append(c.clients, d.clients...)
	}
	slices.Sort(c.clients)
	c.clients = slices.Compact(c.clients)
	for row := range slices.Chunk(drawn, columns) {
		c.inRow(row)
	}
	if c.lacks != nil {
		return "", fmt.Errorf("docs/internal/picture/zh-CN.json has no Chinese for %q", c.lacks)
	}
	return c.svg(title, columns), nil
}

// inRow draws panels next to each other. What happens in several at the same moment is there
// at the same height.
func (c *canvas) inRow(panels []*panel) {
	heads, rows := 0, map[moment]float64{}
	for _, p := range panels {
		p.columns()
		c.measure(p, rows)
		heads = max(heads, len(c.fitted(c.say(p.Head))))
	}
	top, bottom, end := c.y+6, 0.0, 0.0
	names := top + float64(19*heads) + 22
	for _, p := range panels {
		end = max(end, p.place(names+8, rows))
	}
	for i, p := range panels {
		c.y, p.y[len(p.y)-1] = top, end
		c.add(`<g transform="translate(%s)">`, c.wide*float64(i))
		c.panel(p, names)
		c.add("</g>")
		bottom = max(bottom, c.y)
	}
	c.y = bottom + 12
}

// panel draws a panel below its head, with the names of its lanes at a height.
func (c *canvas) panel(p *panel, top float64) {
	c.lines(c.say(p.Head), bold)
	if len(p.nodes) > 1 {
		c.text(margin, top, c.labelled("node"), fill(c.dim))
	}
	for _, name := range p.names() {
		c.text(p.lanes[name], top, c.labelled(strings.TrimPrefix(name, "node ")), fill(c.color(name)), middle)
	}
	for i := range p.moments {
		if p.pauseBefore(i) >= long { // the break
			c.add(`<path d="M%d %sl10 -6m-10 10l10 -6" stroke="%s" fill="none"/>`, lanesAt-14, p.y[i]-16, c.dim)
		}
	}
	for _, name := range slices.Concat(p.nodes, p.clients) {
		end, died := p.dead[name]
		if !died {
			end = edge
		}
		c.add(`<path d="M%s %sV%s" stroke="%s"/>`, p.lanes[name], top+8, p.at(end), c.line)
	}
	c.keys(p)
	for _, s := range p.waiting {
		if from, to := p.at(s.from), p.at(s.to); to-from > 6 {
			c.add(`<path d="M%s %sV%s" stroke="%s" stroke-width="2" stroke-dasharray="2 4"/>`, p.lanes[s.lane], from, to, c.color(s.lane))
		}
	}
	for _, s := range p.inside {
		c.bar(p, s, .3)
	}
	for _, s := range overlaps(p.inside) {
		c.add(`<rect x="%s" y="%s" width="%d" height="%s" fill="url(#both)" stroke="%s"/>`,
			p.lanes[s.lane]-bar/2, p.at(s.from), bar, p.at(s.to)-p.at(s.from), c.bad)
	}
	for _, s := range p.values {
		c.bar(p, s, .15)
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
	}
}

// names are the columns: as in docs/play, Redis is between the first client and the others.
func (p *panel) names() []string {
	names := slices.Concat(p.nodes, p.clients)
	if len(p.nodes) == 1 {
		names[0], names[1] = names[1], names[0]
	}
	if p.resource != "" {
		names = append(names, p.resource)
	}
	return names
}

// columns places the columns.
func (p *panel) columns() {
	p.lanes = map[string]float64{}
	x := float64(lanesAt)
	for i, name := range p.names() {
		wide := float64(lane)
		if len(p.nodes) > 1 && i < len(p.nodes) {
			wide = node
		}
		p.lanes[name] = x + wide/2
		x += wide
	}
	p.textAt = x + 4
}

// measure breaks what is written at each moment into lines, and notes how high they are.
func (c *canvas) measure(p *panel, rows map[moment]float64) {
	room := c.wide - margin - p.textAt
	own := map[moment]float64{}
	for i := range p.events {
		e := &p.events[i]
		e.lines = fit(c.sentence(*e), room*.97)
		if e.guilt != "" {
			e.wrong = fit(c.say(e.guilt), room*.92)
		}
		e.high += float64(line*(len(e.lines)+len(e.wrong))) + between
		own[e.at] += e.high
	}
	for m, height := range own {
		rows[m] = max(rows[m], height)
	}
}

// sentence is what an event says.
func (c *canvas) sentence(e event) string {
	switch {
	case !e.isLabel:
		return c.say(e.label)
	case strings.HasPrefix(e.lane, "node "):
		return c.labelled(e.label)
	}
	return e.lane + " " + c.labelled(e.label)
}

// place gives each moment its place: as far down as what is written there needs. It returns
// where the last one is.
func (p *panel) place(y float64, rows map[moment]float64) float64 {
	for i, m := range p.moments {
		switch pause := p.pauseBefore(i); {
		case pause >= long:
			y += longGap
		case pause > 1000:
			y += 2 * between
		}
		p.y = append(p.y, y+line/2)
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
	case tenths < 10_000 || ms%10 != 0:
		return fmt.Sprintf("%d ms", ms)
	}
	return fmt.Sprint(math.Round(float64(tenths)/100)/100) + " s"
}

func (c *canvas) bar(p *panel, s span, opacity float64) {
	if from, to := p.at(s.from), p.at(s.to); to > from {
		color := c.color(s.owner)
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
		var right, left string
		end := s.from.at()
		for i, m := range p.moments {
			if m < s.from || m > s.to {
				continue
			}
			if m != edge {
				end = m.at()
			}
			half := wide / 2
			if s.until > 0 {
				half *= float64(s.until-end) / float64(longest)
			}
			right += px(p.lanes[s.lane]+half) + "," + px(p.y[i]) + " "
			left = " " + px(p.lanes[s.lane]-half) + "," + px(p.y[i]) + left
		}
		color := c.color(s.owner)
		c.add(`<polygon points="%s" fill="%s" stroke="%s"/>`, strings.TrimSpace(right)+left, c.pale(color, .4), color)
	}
}

func (c *canvas) arrow(from, to, y float64, color string) {
	back := math.Copysign(4, from-to)
	c.add(`<path d="M%s %sH%sm%s -3l%s 3l%[4]s 3" stroke="%[6]s" fill="none"/>`, from, y, to, back, -back, color)
}

// cross strikes something out.
func (c *canvas) cross(x, y float64) {
	c.add(`<path d="M%s %sl8 8m0 -8l-8 8" stroke="%s" stroke-width="2"/>`, x-4, y-4, c.bad)
}

// event draws the arrow of an event, its mark in the lane, what nodes answered, and its text.
func (c *canvas) event(p *panel, e event) {
	x, to, color := p.lanes[e.lane], 0.0, c.color(e.lane)
	looks := fill(color)
	switch {
	case e.guilt != "":
		color, looks = c.bad, fill(c.bad)+bold
	case !e.isLabel:
		looks = fill(c.Theme.text)
	}
	if e.of != "" && len(p.nodes) == 1 {
		to = p.lanes[e.of]
		if side := math.Copysign(1, to-x); e.heard { // Redis sends it
			c.arrow(to-side*bar/2, x+side*4, e.y, color)
		} else {
			c.arrow(x, to-side*bar/2, e.y, color)
		}
	}
	switch {
	case e.lane == "" || e.again:
	case !e.isLabel:
		c.add(`<rect x="%s" y="%s" width="8" height="8" fill="%s" stroke="%s" stroke-width="2"/>`, x-4, e.y-4, c.page, c.Theme.text)
	case e.token > 1: // its number goes with it
		c.add(`<circle cx="%s" cy="%s" r="11" fill="%s" stroke="%s"/>`, x, e.y, color, c.page)
		c.text(x, e.y+5, fmt.Sprint(e.token), fill(c.page), bold, middle)
	default:
		c.add(`<circle cx="%s" cy="%s" r="4" fill="%s" stroke="%s"/>`, x, e.y, color, c.page)
	}
	for i, reply := range e.replies {
		if len(p.nodes) > 1 {
			c.text(p.lanes[p.nodes[e.nodes[i]-1]], e.y+5, reply, bold, middle)
		} else if reply == lost {
			c.cross(to+math.Copysign(bar/2+8, x-to), e.y)
		}
	}
	switch {
	case to == 0:
	case e.guilt != "":
		c.add(`<circle cx="%s" cy="%s" r="9" fill="none" stroke="%s" stroke-width="2"/>`, to, e.y, c.bad)
		if slices.Contains(e.replies, "nil") { // a call within the call that is inside
			c.cross(to, e.y)
		}
	case e.right:
		c.add(`<circle cx="%s" cy="%s" r="9" fill="%s" stroke="%s" stroke-width="2"/>`, to, e.y, c.page, c.good)
		c.text(to, e.y+5, "✓", fill(c.good), bold, middle)
	}
	y := e.y + 5
	for i, text := range slices.Concat(e.lines, e.wrong) {
		if i == len(e.lines) {
			looks = fill(c.bad)
		}
		c.text(p.textAt, y, text, looks)
		y += line
	}
}

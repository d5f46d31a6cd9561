package picture

import (
	"fmt"
	"strings"
)

// A Stair is a guarantee, and on which locks it holds.
type Stair struct {
	Guarantee string
	Holds     []bool // by lock; a lock behind the last one was not asked
}

// Staircase draws which lock provides which guarantee.
func Staircase(title string, locks []string, stairs []Stair, legend string, theme Theme) string {
	const cell = 23
	left := float64(width - margin - cell*len(locks))
	c := newCanvas(theme)
	c.y = 22
	c.text(margin, c.y, c.say(title), style{bold: true})
	c.y += 12
	middle := func(i int) float64 { return left + cell*(float64(i)+.5) }
	c.y += 18
	for i, name := range locks {
		c.centered(middle(i), c.y, name, style{bold: true, color: c.dim})
	}
	c.y += 8
	var says strings.Builder
	for _, s := range stairs {
		name, _, _ := strings.Cut(s.Guarantee, ";") // the first half says which it is
		lines := fit(c.say(name), left-margin)
		row := float64(max(36, 17*len(lines)+6))
		for i, line := range lines {
			c.text(margin, c.y+row/2+5+16*(float64(i)-float64(len(lines)-1)/2), line, style{})
		}
		fmt.Fprintf(&says, "%s:", s.Guarantee)
		for i, holds := range s.Holds {
			mark, color := "✗", c.bad
			if holds {
				mark, color = "✓", c.good
			}
			c.add(`<rect x="%s" y="%s" width="%d" height="%s" rx="4" fill="%s"/>`, px(middle(i)-cell/2+1), px(c.y+1), cell-2, px(row-2), c.pale(color, .18))
			c.centered(middle(i), c.y+row/2+6, mark, style{bold: true, color: color})
			fmt.Fprintf(&says, " %s %s", locks[i], mark)
		}
		says.WriteString("\n")
		c.y += row
	}
	c.lines(margin, c.say(legend), style{color: c.dim})
	c.y += 10
	return c.svg(c.say(title), legend+"\n"+says.String())
}

func (c *canvas) centered(x, y float64, text string, s style) {
	c.add(`<text x="%s" y="%s" fill="%s" font-weight="600" text-anchor="middle">%s</text>`, px(x), px(y), s.color, text)
}

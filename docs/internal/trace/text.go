package trace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/course"
)

// A Row is a row of a timeline: a thing that happened, maybe at several nodes at once.
type Row struct {
	Of   []Record // what the row was made from
	More int      // if not 0, the rows before it came so many times more, last as Of
}

// Rows are a timeline. The same thing at several nodes is one row, and what is repeated
// again and again is there once.
func Rows(records []Record) (rows []Row) {
	for _, same := range stretches(records, Record.with) {
		rows = append(rows, Row{Of: same})
	}
	return fold(rows)
}

// with reports whether the same thing has happened at another node at the same moment.
func (r Record) with(b Record) bool {
	return r.Node > 0 && r.Node != b.Node && r.At == b.At && r.Who == b.Who &&
		r.Kind == b.Kind && r.Text == b.Text && r.Again == b.Again
}

// replies are those of several nodes: 1 (nodes 1 2 3), 0 (nodes 4 5).
func replies(same []Record) string {
	var all []string
	for _, r := range same {
		equal := slices.DeleteFunc(slices.Clone(same), func(b Record) bool { return b.Reply != r.Reply })
		if text := Say(r.Reply) + where(equal); !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	return strings.Join(all, ", ")
}

// where names the nodes, if there are several.
func where(same []Record) string {
	if len(same[0].Redis) < 2 || same[0].Node == 0 {
		return ""
	}
	var nodes []int
	for _, r := range same {
		nodes = append(nodes, r.Node)
	}
	slices.Sort(nodes)
	if len(nodes) == 1 {
		return fmt.Sprintf(Say(" (node %d)"), nodes[0])
	}
	return fmt.Sprintf(Say(" (nodes %s)"), strings.Trim(fmt.Sprint(nodes), "[]"))
}

// number is what differs when a client polls.
var number = regexp.MustCompile(`-\d+>`)

// fold leaves out what comes four times or more.
func fold(rows []Row) []Row {
	bare := make([]string, len(rows))
	for i, row := range rows {
		bare[i] = number.ReplaceAllString(strings.Join(parts(row.Of), " "), ">")
	}
	same := func(i, j, n int) bool { // the n rows from i and from j
		return j+n <= len(rows) && slices.Equal(bare[i:i+n], bare[j:j+n])
	}
	var kept []Row
	for i := 0; i < len(rows); {
		period, again := 1, 0
		for n := 1; n <= 20 && again < 3; n++ {
			for period, again = n, 0; same(i, i+(again+1)*n, n); again++ {
			}
		}
		if again < 3 {
			period, again = 1, 0
		}
		kept = append(kept, rows[i:i+period]...)
		i += period * (again + 1)
		if again > 0 {
			kept = append(kept, Row{Of: rows[i-1].Of, More: again})
		}
	}
	return kept
}

// Text is a timeline as text. A call shows in what it sends and returns.
func Text(records []Record) string {
	var b strings.Builder
	rows := Rows(records)
	for i, row := range rows {
		if row.Of[0].Kind == Call && row.More == 0 {
			continue
		}
		fmt.Fprintf(&b, "%9.1fms  ", float64(row.Of[0].At/100)/10)
		switch {
		case row.More > 0 && i < len(rows)-1:
			fmt.Fprintf(&b, Say("... the same %d times more, until:")+"\n", row.More)
		case row.More > 0:
			fmt.Fprintf(&b, Say("... the same %d times more")+"\n", row.More)
		default:
			b.WriteString(lines(parts(row.Of)))
		}
	}
	return b.String()
}

// columns is how wide a timeline is: with a margin of four, it fits a terminal. timeWidth of
// them are the time.
const columns, timeWidth = 76, 13

// A row of the story itself begins with a mark.
const failed, noted = "** ", "-- "

// lines are a row without its time. What does not fit continues below the text of the first line.
func lines(parts []string) string {
	indent := 22
	if strings.HasPrefix(parts[0], failed) || strings.HasPrefix(parts[0], noted) {
		indent = 16
	}
	first, rest := columns-timeWidth, columns-indent
	lines := wrap(parts, first, rest)
	if strings.HasPrefix(parts[0], failed) { // what was expected is in its own line
		lines = wrap(parts[:1], first, rest)
		for _, part := range parts[1:] {
			lines = append(lines, wrap([]string{part}, rest, rest)...)
		}
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n"
}

// parts are what a row says of a record, or of what is the same at several nodes. A line
// had better end between two of them.
func parts(same []Record) (parts []string) {
	r := same[0]
	switch {
	case r.Kind == Verdict:
		parts = []string{failed + Say(r.Text)}
		if r.Wanted != "" {
			parts = append(parts, "expected: "+r.Wanted+"   got: "+r.Got)
		}
	case r.Kind == Expire:
		parts = []string{"Redis  " + Say(r.Text) + where(same)}
	case r.Who != "":
		parts = []string{fmt.Sprintf("%-6s %s", r.Who, Say(r.Text))}
	case r.Node > 0 && len(r.Redis) == 1:
		parts = []string{"Redis  " + Say(r.Text)}
	case r.Node > 0:
		parts = []string{fmt.Sprintf(Say("node %d %s"), r.Node, Say(r.Text))}
	default:
		parts = []string{noted + Say(r.Text)}
	}
	if text := replies(same); text != "" && (r.Kind == Command || r.Kind == Return) {
		parts = append(parts, "-> "+text)
	}
	if r.Again {
		parts = append(parts, "  "+Say("(sent again)"))
	}
	if i := slices.IndexFunc(same, func(r Record) bool { return r.Mark != "" }); i >= 0 {
		parts = append(parts, "  <- "+Say(same[i].Mark))
	}
	return parts
}

// wrap joins parts to lines, the first with another width: as many in a line as there is
// room for, and one for which a line has no room is broken at its spaces, Chinese anywhere.
func wrap(parts []string, width, rest int) (lines []string) {
	line := ""
	next := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line, width = "", rest
	}
	for i, part := range parts {
		if i > 0 && course.Wide(line+" "+part) <= width {
			line += " " + part
			continue
		}
		if i > 0 {
			next()
			part = strings.TrimLeft(part, " ")
		}
		for _, word := range course.Unbroken(part) {
			if line != "" && course.Wide(line+word) > width {
				next()
				word = strings.TrimLeft(word, " ")
			}
			line += word
		}
	}
	return append(lines, line)
}

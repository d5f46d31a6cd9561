package trace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Row is a row of a timeline: a thing that happened, maybe at several nodes at once.
type Row struct {
	At    int64    // as in Record
	Who   string   // the client, "Redis", "node 2", or "" if it is the story that says something
	Text  string   // what happened, without the reply
	Reply string   // "1 (nodes 1 2 3), 0 (nodes 4 5)"; "" if there is none
	Again bool     // it was sent before, and not answered
	Mark  string   // what is wrong with it
	More  int      // the rows before it came so many times more; it has no text
	Of    []Record // what the row was made from,
	First int      // and the index of its first record
}

// Rows are a timeline: a row for each record but a call, which shows in what it sends and
// returns. The same thing at several nodes is one row, and what is repeated again and
// again is there once.
func Rows(records []Record) []Row {
	var rows []Row
	first := 0
	for _, same := range stretches(records, Record.with) {
		if same[0].Kind != Call {
			r := row(same)
			r.First = first
			rows = append(rows, r)
		}
		first += len(same)
	}
	return fold(rows)
}

// with reports whether the same thing has happened at another node at the same moment.
func (r Record) with(b Record) bool {
	return r.Node > 0 && r.Node != b.Node && r.At == b.At && r.Who == b.Who &&
		r.Kind == b.Kind && r.Text == b.Text && r.Again == b.Again
}

// row is a record, or what is the same at several nodes.
func row(same []Record) Row {
	r := same[0]
	row := Row{At: r.At, Who: r.Who, Text: r.Text, Again: r.Again, Of: same}
	switch {
	case r.Kind == Verdict:
		row.Who = "**"
		if r.Wanted != "" {
			row.Reply = "expected: " + r.Wanted + "   got: " + r.Got
		}
	case r.Kind == Command || r.Kind == Return:
		row.Reply = replies(same)
	case r.Kind == Expire:
		row.Text += where(same)
	}
	switch {
	case row.Who != "":
	case r.Kind == Expire || r.Node > 0 && len(r.Redis) == 1:
		row.Who = "Redis"
	case r.Node > 0:
		row.Who = fmt.Sprintf("node %d", r.Node)
	}
	if i := slices.IndexFunc(same, func(r Record) bool { return r.Mark != "" }); i >= 0 {
		row.Mark = same[i].Mark
	}
	return row
}

// replies are those of several nodes: 1 (nodes 1 2 3), 0 (nodes 4 5).
func replies(same []Record) string {
	var all []string
	for _, r := range same {
		equal := slices.DeleteFunc(slices.Clone(same), func(b Record) bool { return b.Reply != r.Reply })
		if text := r.Reply + where(equal); !slices.Contains(all, text) {
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
		return fmt.Sprintf(" (node %d)", nodes[0])
	}
	return " (nodes " + strings.Trim(fmt.Sprint(nodes), "[]") + ")"
}

// number is what differs when a client polls.
var number = regexp.MustCompile(`-\d+>`)

// fold leaves out what comes four times or more.
func fold(rows []Row) []Row {
	bare := make([]string, len(rows))
	for i, row := range rows {
		bare[i] = number.ReplaceAllString(strings.Join(row.parts(), " "), ">")
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
			kept = append(kept, Row{At: rows[i-1].At, More: again})
		}
	}
	return kept
}

// Text is a timeline as text.
func Text(records []Record) string {
	var b strings.Builder
	rows := Rows(records)
	for i, row := range rows {
		fmt.Fprintf(&b, "%9.1fms  ", float64(row.At/100)/10)
		switch {
		case row.More > 0 && i < len(rows)-1:
			fmt.Fprintf(&b, "... the same %d times more, until:\n", row.More)
		case row.More > 0:
			fmt.Fprintf(&b, "... the same %d times more\n", row.More)
		default:
			b.WriteString(row.lines())
		}
	}
	return b.String()
}

// lines are the row without its time. What does not fit continues below the text of the first line.
func (r Row) lines() string {
	indent, parts := 16, r.parts()
	if r.Who != "" && r.Who != "**" {
		indent = 22
	}
	first, rest := columns-timeWidth, columns-indent
	lines := wrap(parts, first, rest)
	if r.Who == "**" { // what was expected is in its own line
		lines = nil
		for _, part := range parts {
			lines = append(lines, wrap([]string{part}, first, rest)...)
			first = rest
		}
	}
	return strings.Join(lines, "\n"+strings.Repeat(" ", indent)) + "\n"
}

// columns is how wide a timeline is: with a margin of four, it fits a terminal. timeWidth of
// them are the time.
const columns, timeWidth = 76, 13

// parts are what a row says. A line had better end between two of them.
func (r Row) parts() []string {
	parts := []string{"-- " + r.Text}
	switch {
	case r.Who == "**":
		parts = []string{"** " + r.Text}
	case strings.HasPrefix(r.Who, "node "):
		parts = []string{r.Who + " " + r.Text}
	case r.Who != "":
		parts = []string{fmt.Sprintf("%-6s %s", r.Who, r.Text)}
	}
	switch {
	case r.Who == "**" && r.Reply != "":
		parts = append(parts, r.Reply)
	case r.Reply != "":
		parts = append(parts, "-> "+r.Reply)
	}
	if r.Again {
		parts = append(parts, "  (sent again)")
	}
	if r.Mark != "" {
		parts = append(parts, "  <- "+r.Mark)
	}
	return parts
}

// wrap joins parts to lines, the first with another width: as many in a line as there is
// room for, and one for which a line has no room is broken at its spaces.
func wrap(parts []string, width, rest int) (lines []string) {
	line := ""
	next := func() {
		lines = append(lines, strings.TrimRight(line, " "))
		line, width = "", rest
	}
	for i, part := range parts {
		if i > 0 && len(line)+1+len(part) <= width {
			line += " " + part
			continue
		}
		if i > 0 {
			next()
			part = strings.TrimLeft(part, " ")
		}
		for _, word := range strings.SplitAfter(part, " ") {
			if line != "" && len(line)+len(strings.TrimRight(word, " ")) > width {
				next()
			}
			line += word
		}
	}
	return append(lines, line)
}

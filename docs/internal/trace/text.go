package trace

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Text is a timeline: a row for each record but a call, which shows in what it sends and returns. The same thing at several
// nodes is one row, and what is repeated again and again is written once.
func Text(records []Record) string {
	var times, rows []string
	for i, j := 0, 0; i < len(records); i = j {
		r := records[i]
		for j = i + 1; j < len(records) && r.Node > 0 && r.with(records[j]); j++ {
		}
		if r.Kind != Call {
			times = append(times, fmt.Sprintf("%9.1fms  ", float64(r.At/100)/10))
			rows = append(rows, row(records[i:j]))
		}
	}
	return fold(times, rows)
}

// with reports whether the same thing has happened at another node at the same moment.
func (r Record) with(b Record) bool {
	return r.Kind == b.Kind && r.At == b.At && r.Who == b.Who && r.Text == b.Text && r.Again == b.Again && r.Node != b.Node
}

// row writes a record, or what is the same at several nodes.
func row(same []Record) string {
	r := same[0]
	text := r.Text
	switch {
	case r.Kind == Verdict && r.Wanted != "":
		return fmt.Sprintf("** %s\n%sexpected: %s   got: %s", text, strings.Repeat(" ", 16), r.Wanted, r.Got)
	case r.Kind == Verdict:
		return "** " + text
	case r.Kind == Command || r.Kind == Return:
		text += " -> " + replies(same)
	case r.Kind == Expire:
		text += where(same)
	}
	switch {
	case r.Who != "":
		text = fmt.Sprintf("%-6s %s", r.Who, text)
	case r.Kind == Expire || r.Node > 0 && len(r.Redis) == 1:
		text = fmt.Sprintf("%-6s %s", "Redis", text)
	case r.Node > 0:
		text = fmt.Sprintf("node %d %s", r.Node, text)
	default:
		text = "-- " + text
	}
	if r.Again {
		text += "   (sent again)"
	}
	if i := slices.IndexFunc(same, func(r Record) bool { return r.Mark != "" }); i >= 0 {
		text += "   <- " + same[i].Mark
	}
	return text
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

// fold joins the rows, and writes only once what is the same four times or more.
func fold(times, rows []string) string {
	bare := make([]string, len(rows))
	for i, row := range rows {
		bare[i] = number.ReplaceAllString(row, ">")
	}
	same := func(i, j, n int) bool { // the n rows from i and from j
		return j+n <= len(rows) && slices.Equal(bare[i:i+n], bare[j:j+n])
	}
	var b strings.Builder
	for i := 0; i < len(rows); {
		period, again := 1, 0
		for n := 1; n <= 20 && again < 3; n++ {
			for period, again = n, 0; same(i, i+(again+1)*n, n); again++ {
			}
		}
		if again < 3 {
			period, again = 1, 0
		}
		for k := range period {
			b.WriteString(times[i+k] + rows[i+k] + "\n")
		}
		i += period * (again + 1)
		switch {
		case again > 0 && i < len(rows):
			fmt.Fprintf(&b, "%s... the same %d times more, until:\n", times[i-1], again)
		case again > 0:
			fmt.Fprintf(&b, "%s... the same %d times more\n", times[i-1], again)
		}
	}
	return b.String()
}

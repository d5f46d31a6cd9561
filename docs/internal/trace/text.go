package trace

import (
	"fmt"
	"strings"
)

// Text is a timeline: a row for each record but a call. A command to several nodes at the same moment is one row, and polls
// are one from the second time on.
func Text(records []Record) string {
	var rows, again []string
	since := map[string]bool{} // the commands since anything else has happened
	for len(records) > 0 {
		r, n := records[0], 1
		for n < len(records) && r.with(records[n]) {
			n++
		}
		row := r.row(records[:n])
		at := fmt.Sprintf("%9.1fms  ", float64(r.At/100)/10)
		records = records[n:]
		switch {
		case r.Kind == Call:
			continue
		case r.Kind == Command && since[row]:
			again = append(again, at+row)
		default:
			if r.Kind != Command {
				clear(since)
			}
			since[row] = true
			rows = append(append(rows, fold(again)...), at+row)
			again = nil
		}
	}
	return strings.Join(append(rows, fold(again)...), "\n") + "\n"
}

func fold(rows []string) []string {
	if len(rows) < 3 {
		return rows
	}
	return []string{fmt.Sprintf("%13s%d times more, until", "", len(rows))}
}

// with reports whether the same command has reached another node at the same moment.
func (r Record) with(b Record) bool {
	return r.Kind == Command && r.At == b.At && r.Who == b.Who && r.Text == b.Text && r.Again == b.Again && r.Mark == b.Mark && r.Node != b.Node
}

// row is a record as a row, or several.
func (r Record) row(all []Record) string {
	nodes, replies := "", ""
	for _, a := range all {
		nodes, replies = nodes+fmt.Sprintf(" %d", a.Node), replies+" "+a.Reply
	}
	text, where := r.Text, ""
	switch {
	case r.Kind == Verdict:
		return "** " + text
	case len(all) > 1:
		where = "nodes" + nodes
	case len(r.Redis) > 1 && r.Node > 0:
		where = "node" + nodes
	case r.Who == "" && r.Node > 0:
		where = "Redis"
	case r.Who == "":
		return "-- " + text
	}
	for _, column := range []string{where, r.Who} {
		if column != "" {
			text = fmt.Sprintf("%-5s  ", column) + text
		}
	}
	if r.Reply != "" {
		text += " ->" + replies
	}
	if r.Again {
		text += "   (sent again)"
	}
	if r.Mark != "" {
		text += "   <- " + r.Mark
	}
	return text
}

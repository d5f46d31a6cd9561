package main

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/explore/internal/graph"
	"example.com/redislock-steps/docs/play/page"
)

// checkChapters compares what the chapters of the page claim with the graph: that there is
// what they show, and that it shows what they tell.
func checkChapters(g *graph.Graph, chapters []page.Chapter) error {
	var wrong []error
	for _, c := range chapters {
		for i, b := range c.Beats {
			for _, text := range wrongIn(g, c.Step, b) {
				wrong = append(wrong, fmt.Errorf("docs/play/page/chapters.json: chapter %d, beat %d (%s%s): %s", c.Step, i+1, b.Show, b.Level, text))
			}
		}
	}
	return errors.Join(wrong...)
}

// wrongIn says what is wrong with a beat of a chapter.
func wrongIn(g *graph.Graph, chapter int, b page.Beat) (wrong []string) {
	if b.Level != "" {
		if !reflect.DeepEqual(b, page.Beat{Level: b.Level}) {
			wrong = append(wrong, "a level shows nothing and claims nothing")
		}
		if _, err := cellIn(g, chapter, b.Level); err != nil {
			wrong = append(wrong, err.Error())
		}
		return wrong
	}
	c, err := cellIn(g, chapter, b.Show)
	if err != nil {
		return []string{err.Error()}
	}
	path, rest, state := follow(g, c, b.Show[len(c.Name)+1:])
	if rest != "" {
		return []string{fmt.Sprintf("there is no %q after %s/%s", rest, c.Name, strings.Join(path, ""))}
	}
	return append(wrongForm(b, len(path)), wrongClaims(b, c, path, g.Tell(c, path).Records, state == graph.End)...)
}

// cellIn is the cell of a level or of a schedule, on the lock that the chapter breaks or on
// its fix.
func cellIn(g *graph.Graph, chapter int, id string) (graph.Cell, error) {
	for _, c := range g.Cells {
		if id != c.Name && !strings.HasPrefix(id, c.Name+"/") {
			continue
		}
		if !strings.HasPrefix(id, fmt.Sprintf("%02d/", chapter-1)) && !strings.HasPrefix(id, fmt.Sprintf("%02d/", chapter)) {
			return c, errors.New("the lock is that of another chapter")
		}
		return c, nil
	}
	return graph.Cell{}, errors.New("there is no such cell in the graph")
}

// follow finds the choices that the name of a schedule means, as data.mjs does: the longest
// label with which the rest of the name begins.
func follow(g *graph.Graph, c graph.Cell, name string) (path []string, rest string, state int) {
	for state = c.State; name != "" && state >= 0; {
		label, to := "", graph.Unexplored
		for _, e := range g.States[state].Edges {
			if l := g.Options[e.Option].Label; strings.HasPrefix(name, l) && len(l) > len(label) {
				label, to = l, e.To
			}
		}
		if to == graph.Unexplored {
			break
		}
		path, name, state = append(path, label), name[len(label):], to
	}
	return path, name, state
}

// wrongForm says what a beat lacks, or has too much.
func wrongForm(b page.Beat, choices int) (wrong []string) {
	if b.Ask != "" && !slices.Contains([]string{"a", "b", "c"}, b.Ask) {
		wrong = append(wrong, fmt.Sprintf("the right answer is %q", b.Ask))
	}
	if b.Diff != nil && !b.Holds {
		wrong = append(wrong, "a fix must hold")
	}
	for _, line := range b.Diff {
		if !strings.HasPrefix(line, "- ") && !strings.HasPrefix(line, "+ ") && !strings.HasPrefix(line, "  ") {
			wrong = append(wrong, fmt.Sprintf("the line %q of the fix neither goes, nor comes, nor stays", line))
		}
	}
	if choices > 0 && b.Breaks == "" && b.Inside == nil && b.Tells == nil && !b.Holds {
		wrong = append(wrong, "it claims nothing")
	}
	return wrong
}

// wrongClaims says what a beat claims of its schedule and is not so.
func wrongClaims(b page.Beat, c graph.Cell, path []string, records []trace.Record, ended bool) (wrong []string) {
	kinds := ""
	var rows, inside []string
	for _, r := range records {
		rows, inside = append(rows, rowOf(r)), r.Inside
		if r.Kind == trace.Verdict {
			kinds += r.Text[:1]
		}
	}
	if kinds != b.Breaks {
		wrong = append(wrong, fmt.Sprintf("it breaks %q, not %q", kinds, b.Breaks))
	}
	if b.Inside != nil && !slices.Equal(inside, b.Inside) {
		wrong = append(wrong, fmt.Sprintf("inside are %q, not %q", inside, b.Inside))
	}
	for _, text := range b.Tells {
		if !slices.ContainsFunc(rows, func(row string) bool { return strings.Contains(row, text) }) {
			wrong = append(wrong, fmt.Sprintf("no row tells %q; they are\n  %s", text, strings.Join(slices.Compact(rows), "\n  ")))
		}
	}
	if !b.Holds {
		return wrong
	}
	if !ended {
		wrong = append(wrong, "a lock holds only when the schedule has ended")
	}
	_, fault, _ := strings.Cut(c.Name, "/")
	strikes := func(label string) bool { return strings.HasPrefix(label, "F") }
	if fault != "none" && fault != "nested" && !slices.ContainsFunc(path, strikes) {
		wrong = append(wrong, "the fault does not strike, so that it holds proves nothing")
	}
	return wrong
}

// rowOf is what a record tells in a line.
func rowOf(r trace.Record) string {
	row := r.Who + " " + r.Text
	if r.Node > 0 && len(r.Redis) > 1 {
		row = fmt.Sprintf("node %d: %s", r.Node, strings.TrimSpace(row))
	}
	if r.Reply != "" {
		row += " -> " + r.Reply
	}
	if r.Mark != "" {
		row += "  <- " + r.Mark
	}
	return strings.TrimSpace(row)
}

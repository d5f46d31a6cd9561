package main

import (
	"bytes"
	"compress/flate"
	"encoding/base64"
	"encoding/json"
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/explore/internal/graph"
	"example.com/redislock-steps/docs/play/page"
)

// playedGraph is the graph of docs/play/index.html.
func playedGraph(t *testing.T) *graph.Graph {
	t.Helper()
	root, err := course.Root()
	require.NoError(t, err)
	html, err := os.ReadFile(root + "/docs/play/index.html")
	require.NoError(t, err)
	packed := regexp.MustCompile(`id="data">(.*?)</script>`).FindSubmatch(html)[1]
	var data struct{ Graph graph.Packed }
	text := base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed))
	require.NoError(t, json.NewDecoder(flate.NewReader(text)).Decode(&data))
	return data.Graph.Unpack()
}

// explore compares them with what it plays; this is the same with what was played last.
func TestTheChapters_TellWhatThePageShows(t *testing.T) {
	g, chapters := playedGraph(t), page.Chapters()
	require.NoError(t, checkChapters(g, chapters))
	require.Len(t, chapters, course.Epilogue.N)
	for i, c := range chapters {
		require.Equal(t, i+1, c.Step)
		asks, fixes, turns := 0, 0, 0
		for j, b := range c.Beats {
			if b.Ask != "" {
				asks++
			}
			if b.Diff != nil {
				fixes++
				require.Contains(t, []int{2, 3, 4}, len(b.Diff), "chapter %d, beat %d", c.Step, j+1)
			}
			if b.Level != "" {
				turns++
			}
		}
		require.Equal(t, 1, asks, "questions in chapter %d", c.Step)
		require.Equal(t, 1, fixes, "fixes in chapter %d", c.Step)
		require.NotZero(t, turns, "chapter %d has no level", c.Step)
	}
}

// crashing is the graph of a cell in which alice gets the lock and dies, or does not. Bob is
// refused; at the end the lock is broken, or not.
func crashing(name string, broken bool) *graph.Graph {
	keys := []trace.Key{{Token: "locked", Owner: "alice"}}
	set := trace.Record{At: 1, Who: "alice", Node: 1, Kind: trace.Command, Text: "SET", Reply: "OK", Redis: keys, Inside: []string{"alice"}}
	dies := trace.Record{At: 2, Who: "alice", Kind: trace.Fault, Text: "dies", Redis: keys, Inside: []string{}}
	bob := trace.Record{At: 3, Who: "bob", Node: 1, Kind: trace.Command, Text: "SET", Reply: "(nil)", Redis: keys, Inside: []string{}}
	option := func(label string) graph.Option { return graph.Option{Label: label} }
	end := []trace.Record{set, dies, bob}
	if broken {
		end = append(end, trace.Record{At: 3, Kind: trace.Verdict, Text: "K: it is not free", Redis: keys, Inside: []string{}})
	}
	struck := graph.Schedule{Path: []string{"a1", "F", "b"}, Records: end, Points: []graph.Point{
		{Options: []graph.Option{option("a"), option("a1")}}, {At: 1, Records: 1, Options: []graph.Option{option("F"), option("b")}}, {At: 2, Records: 2, Options: []graph.Option{option("b")}}, {},
	}}
	calm := graph.Schedule{Path: []string{"a1", "b"}, Records: []trace.Record{set, bob}, Points: []graph.Point{struck.Points[0], struck.Points[1], {}}}
	b := graph.NewBuilder()
	b.Add(name, []graph.Schedule{struck, calm})
	return &b.Graph
}

// A check that cannot fail proves nothing.
func TestAFalseClaim_IsFound(t *testing.T) {
	b := graph.NewBuilder()
	b.Merge(crashing("01/crash", true))
	b.Merge(crashing("02/crash", false))
	b.Merge(crashing("02/none", false))
	b.Merge(crashing("04/crash", false))
	tells := []string{"alice SET -> OK"}
	for _, c := range []struct {
		wrong string // "" if nothing is
		beat  page.Beat
	}{
		{"", page.Beat{Show: "01/crash/"}},
		{"", page.Beat{Show: "01/crash/a1", Tells: tells, Inside: []string{"alice"}}},
		{"", page.Beat{Show: "01/crash/a1F", Inside: []string{}}},
		{"", page.Beat{Show: "01/crash/a1Fb", Ask: "a", Breaks: "K"}},
		{"", page.Beat{Show: "02/crash/a1Fb", Holds: true, Diff: []string{"- x", "+ y", "  z"}}},
		{"", page.Beat{Show: "02/none/a1b", Holds: true}},
		{"", page.Beat{Level: "02/crash"}},

		{"no such cell", page.Beat{}},
		{"no such cell", page.Beat{Show: "02/slow/a1", Tells: tells}},
		{"no such cell", page.Beat{Show: "17/crash/a1", Tells: tells}},
		{"no such cell", page.Beat{Level: "02/cras"}},
		{"another chapter", page.Beat{Show: "04/crash/a1", Tells: tells}},
		{"another chapter", page.Beat{Level: "04/crash"}},
		{"shows nothing", page.Beat{Level: "02/crash", Show: "02/crash/"}},
		{`no "Bb" after 01/crash/a1`, page.Beat{Show: "01/crash/a1Bb", Breaks: "K"}},
		{`no "a" after 01/crash/`, page.Beat{Show: "01/crash/a", Tells: tells}}, // beyond the bound
		{`no "b" after 01/crash/a1Fb`, page.Beat{Show: "01/crash/a1Fbb", Breaks: "K"}},
		{"claims nothing", page.Beat{Show: "01/crash/a1"}},
		{`breaks "", not "K"`, page.Beat{Show: "01/crash/a1", Breaks: "K"}},
		{`breaks "K", not "X"`, page.Beat{Show: "01/crash/a1Fb", Breaks: "X"}},
		{`breaks "K", not ""`, page.Beat{Show: "01/crash/a1Fb", Tells: tells}},
		{`breaks "K", not ""`, page.Beat{Show: "01/crash/a1Fb", Holds: true}},
		{`inside are ["alice"]`, page.Beat{Show: "01/crash/a1", Inside: []string{}}},
		{`inside are []`, page.Beat{Show: "01/crash/a1F", Inside: []string{"alice"}}},
		{`no row tells "bob SET"`, page.Beat{Show: "01/crash/a1", Tells: []string{"bob SET"}}},
		{"has ended", page.Beat{Show: "02/crash/a1F", Holds: true}},
		{"does not strike", page.Beat{Show: "02/crash/a1b", Holds: true}},
		{"a fix must hold", page.Beat{Show: "01/crash/a1", Tells: tells, Diff: []string{"+ x"}}},
		{"neither goes", page.Beat{Show: "02/crash/a1Fb", Holds: true, Diff: []string{"x"}}},
		{"right answer", page.Beat{Show: "01/crash/a1", Tells: tells, Ask: "d"}},
	} {
		err := checkChapters(&b.Graph, []page.Chapter{{Step: 2, Beats: []page.Beat{c.beat}}})
		if c.wrong == "" {
			require.NoError(t, err)
			continue
		}
		require.ErrorContains(t, err, "chapter 2, beat 1")
		require.ErrorContains(t, err, c.wrong)
	}
}

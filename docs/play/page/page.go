// Package page builds docs/play/index.html, on which the reader is the network, from what
// docs/explore has found: the sources in this folder, the locks' code, and the graph of all
// schedules, in one file that needs nothing else.
package page

import (
	"bytes"
	"compress/flate"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"text/template"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/trace"
)

//go:embed *.css *.html *.json words
var files embed.FS

// A Level is a cell of the table in docs/explore/README.md.
type Level struct {
	Step         int
	Fault, Title string
	Nodes, Bound int
	Kinds, Why   string
	ID           string // of a shortest schedule that breaks it
}

// A goal is what there is to find in a level: a violation, by the beginning of its text; or,
// where the lock holds, what the reader is to see, after the fault (F) or another record.
type goal struct {
	Step        int
	Fault, Goal string
	After       string `json:",omitempty"`
	Boss        bool   `json:",omitempty"`
	Bet         string `json:",omitempty"` // the right one of a, b and c, or none: when the fault strikes
}

// way are the levels of the chapters, in their order.
var way = []goal{
	{0, "none", "X", "", false, ""},
	{1, "crash-hold", "K", "", false, ""},
	{2, "crash-waits", "bob Lock -> ok", "F", false, "b"},
	{2, "crash-acquire", "K", "", false, "b"},
	{3, "slow", "D: alice", "", false, "b"},
	{4, "slow", "D: alice", "", false, ""},
	{5, "nested", "B: alice", "bob TryLock -> ErrNotAcquired", false, "a"},
	{6, "nested", "bob TryLock -> ErrNotAcquired", "alice release coupons <alice-1> depth=1", false, "c"},
	{6, "slow", "L: alice", "", false, "b"},
	{7, "slow", "bob TryLock -> ErrNotAcquired", "F", false, "a"},
	{7, "failover", "X", "", false, "c"},
	{7, "pause", "L: alice", "", true, "c"},
	{8, "down-1", "alice is inside, reads 0", "F", false, "b"},
	{8, "restart", "X", "", true, ""},
	{9, "pause", "alice writes 1 with token 1: refused", "F", false, "c"},
}

// hard are levels for those who have been all the way, the easier ones first: a reader who
// presses buttons at random finds hardly any of these in three times as many moves as it takes.
var hard = []goal{
	{Step: 2, Fault: "late-write", Goal: "L"},
	{Step: 4, Fault: "failover", Goal: "D"},
	{Step: 4, Fault: "late-write", Goal: "L"},
	{Step: 2, Fault: "restart-late", Goal: "X"},
	{Step: 7, Fault: "pause-waits", Goal: "X"},
	{Step: 7, Fault: "deleted", Goal: "L"},
	{Step: 4, Fault: "resent", Goal: "D"},
	{Step: 2, Fault: "resent-waits", Goal: "D"},
	{Step: 8, Fault: "pause", Goal: "X"},
	{Step: 4, Fault: "late-reply", Goal: "D"},
	{Step: 8, Fault: "deleted", Goal: "L"},
	{Step: 8, Fault: "clock", Goal: "L"},
	{Step: 8, Fault: "failover", Goal: "L"},
	{Step: 8, Fault: "late-write", Goal: "L"},
	{Step: 8, Fault: "healing", Goal: "T"},
}

// A Chapter tells of one step: what broke the lock before it, a question, and the fix. Then it is
// the reader's turn: to see the new lock hold, and to break it.
type Chapter struct {
	Step  int
	Beats []Beat
}

// A Beat is a text of a chapter and the picture next to it. The text is in the words of the
// page, under chapter.STEP.NUMBER, in which the first beat is 1. What it claims is compared
// with what happens (docs/keep/explore/explore_test.go).
type Beat struct {
	Show   string   `json:",omitempty"` // the schedule that has been played when the beat ends: 03/slow/aAF
	Ask    string   `json:",omitempty"` // the right answer of a, b and c: the reader answers, and then Show plays
	Diff   []string `json:",omitempty"` // lines of the fix, each after "-", "+" or a space
	Level  string   `json:",omitempty"` // the reader's turn, 04/slow; Show, if any, is for the chapter's pair
	Holds  bool     `json:",omitempty"` // Show is the schedule on the new lock, to its end: the fault strikes, and nothing is wrong
	Breaks string   `json:",omitempty"` // the kinds of the violations in Show, in their order; without it, there is none
	Inside []string `json:",omitempty"` // who is inside at the end of Show; [] is no one
	Tells  []string `json:",omitempty"` // each is a part of a row that Show tells
}

// Chapters are the chapters of the course.
func Chapters() (list []Chapter) {
	if err := json.Unmarshal([]byte(embedded("chapters.json")), &list); err != nil {
		panic(fmt.Errorf("docs/play/page/chapters.json: %w", err))
	}
	return list
}

// First are the cells that the page needs first: those of the chapters and of the opening.
func First() (cells []string) {
	for _, c := range Chapters() {
		for _, b := range c.Beats {
			cells = append(cells, strings.Join(strings.SplitN(b.Show+b.Level+"/", "/", 3)[:2], "/"))
		}
	}
	return cells
}

// A Bench is the locks that the reader can make from switches, under attacks. Its cells are
// those of the first lock under all attacks, then of the next; its graph has a schedule of each
// that breaks, up to where it does.
type Bench struct {
	Attacks, Locks []string
	Cells          []BenchCell
	Graph          any
}

// A BenchCell is what goes wrong, and in how many of all schedules.
type BenchCell struct {
	Kinds    string
	Bad, All int
}

// A lock is what one does in a line. Its files are by step in the rest of the data, lock.go first.
type lock struct {
	Step      int
	Lock, Dir string
}

type file struct{ Name, Text string }

// New makes the page of what docs/explore has found, in graphs that data.mjs can read: of the
// cells of First, and the rest. own is the folder of a lock that replaces that of a step, or "".
// The script is that of docs/keep/script.
func New(levels []Level, first, rest, bench any, own string, step int, script string) ([]byte, error) {
	words := Words()["en"]
	for i, l := range levels {
		if title := words["fault."+l.Fault]; title != l.Title {
			return nil, fmt.Errorf("docs/play/page/words/en.json: fault.%s is %q, and docs/explore says %q", l.Fault, title, l.Title)
		}
		levels[i].Title = "" // the words have it
		if own != "" {
			levels[i].Why = "" // the reasons are those of the reference solution
		}
	}
	locks, sources, err := readLocks(own, step)
	html, err2 := assemble(levels, first, map[string]any{"Graph": rest, "Bench": bench, "Files": sources}, locks, own != "", script)
	return html, errors.Join(err, err2)
}

// Renew is a page with the sources of now. What docs/explore has found stays.
func Renew(old []byte, script string) ([]byte, error) {
	var first struct {
		Levels, Graph json.RawMessage
		Locks         []lock
	}
	var rest json.RawMessage
	if err := Unpack(old, &first, &rest); err != nil {
		return nil, err
	}
	return assemble(first.Levels, first.Graph, rest, first.Locks, false, script)
}

// Unpack reads the data of a page: what it needs first, and the rest.
func Unpack(page []byte, first, rest any) (err error) {
	for id, data := range map[string]any{"data": first, "rest": rest} {
		_, packed, _ := bytes.Cut(page, []byte(`id="`+id+`">`))
		packed, _, _ = bytes.Cut(packed, []byte("<"))
		text := base64.NewDecoder(base64.StdEncoding, bytes.NewReader(packed))
		err = errors.Join(err, json.NewDecoder(flate.NewReader(text)).Decode(data))
	}
	return err
}

// assemble makes the page of its data and of the sources.
func assemble(levels, graph, rest any, locks []lock, own bool, script string) ([]byte, error) {
	// The own lock's page is published nowhere. Marshal escapes <, so that no word ends the script.
	languages, home := Words(), map[bool]string{false: course.Address}[own]
	all, err1 := json.Marshal(languages)
	first, err2 := pack(map[string]any{"Levels": levels, "Graph": graph, "Locks": locks, "Path": way, "Hard": hard, "Chapters": Chapters(), "Own": own, "Home": home})
	later, err3 := pack(rest)
	digest := sha256.Sum256([]byte("\n" + script + "\n")) // lets a browser run this script, and no other
	var b bytes.Buffer
	err4 := template.Must(template.ParseFS(files, "play.html")).Execute(&b, map[string]any{"Words": languages["en"], "Home": home,
		"Style": Style(), "Script": script, "Digest": "sha256-" + base64.StdEncoding.EncodeToString(digest[:]), "Languages": string(all), "Data": first, "Rest": later})
	return b.Bytes(), errors.Join(err1, err2, err3, err4)
}

// Stubs are published next to the page: for each chapter, and for the bench, a file that leads
// there. The preview of a link to that file shows the title of the chapter, and
// its pair: cards/4.html, or the picture of it that .github/workflows/page.yml makes.
func Stubs() map[string][]byte {
	words, stubs, cards := Words()["en"], map[string][]byte{}, map[string]string{"build": ""}
	words["chapter.build.title"], words["chapter.build.1"] = words["bench.title"], words["about"]
	for _, c := range Chapters() {
		cards[strconv.Itoa(c.Step)] = fmt.Sprint("cards/", c.Step)
	}
	stub := template.Must(template.ParseFS(files, "stub.html"))
	for name, card := range cards {
		var b bytes.Buffer // to which no write fails
		stub.Execute(&b, map[string]string{"Name": name, "Home": course.Address, "Card": card,
			"Title": words["chapter."+name+".title"], "About": strings.ReplaceAll(words["chapter."+name+".1"], "`", "")})
		stubs[name+".html"] = b.Bytes()
	}
	return stubs
}

// Style is how the page, and what is published with it, looks.
func Style() string { return embedded("play.css") + embedded("bench.css") }

// embedded is a file of the page. It is there, because this program was built with it.
func embedded(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// Words are what the page says, by language: those of en.json and of en.chapters.json are one.
func Words() map[string]map[string]string {
	languages := map[string]map[string]string{}
	list, _ := fs.Glob(files, "words/*.json")
	for _, file := range list {
		language, _, _ := strings.Cut(path.Base(file), ".")
		if languages[language] == nil {
			languages[language] = map[string]string{}
		}
		words := languages[language]
		if err := json.Unmarshal([]byte(embedded(file)), &words); err != nil {
			panic(fmt.Errorf("docs/play/page/%s: %w", file, err))
		}
	}
	for english, chinese := range trace.OfExplorer() { // one table for the page and for replay
		languages["zh-CN"]["event."+english] = chinese
	}
	return languages
}

// readLocks reads the sources of all locks, or of the own one.
func readLocks(own string, step int) (locks []lock, sources map[int][]file, err error) {
	sources = map[int][]file{}
	for _, s := range entries() {
		dir := s.Dir
		if own != "" {
			if s.N != step {
				continue
			}
			dir = own
		}
		names, err := source.Files(dir)
		for _, name := range names {
			text, err2 := os.ReadFile(filepath.Join(dir, name))
			err = errors.Join(err, err2)
			sources[s.N] = append(sources[s.N], file{name, string(text)})
		}
		if err != nil {
			return nil, nil, err
		}
		locks = append(locks, lock{s.N, s.Lock, s.Dir})
	}
	return locks, sources, nil
}

// pack compresses the data, and writes it as a text.
func pack(data any) (string, error) {
	var packed bytes.Buffer // to which no write fails
	w, err1 := flate.NewWriter(&packed, flate.BestCompression)
	js, err2 := json.Marshal(data)
	w.Write(js)
	w.Close()
	return base64.StdEncoding.EncodeToString(packed.Bytes()), errors.Join(err1, err2)
}

// entries are the locks of the page: that before the course, the steps, the epilogue.
func entries() []course.Step { return append([]course.Step{course.First}, course.Entries()...) }

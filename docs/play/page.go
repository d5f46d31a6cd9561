package main

import (
	"bytes"
	"compress/flate"
	"embed"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"text/template"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
)

//go:embed page
var files embed.FS

var markup = template.Must(template.ParseFS(files, "page/play.html"))

// modules are the parts of the page's one module, in their order.
var modules = []string{"data.mjs", "timeline.mjs", "diagram.mjs", "code.mjs", "play.mjs"}

// A level is a cell of docs/read/faults.md.
type level struct {
	Step         int
	Fault, Title string
	Nodes, Bound int
	Kinds, Why   string
	ID           string // of a shortest schedule that breaks it
}

// way is a first visit: a new idea in each level, and a goal, the kind of a violation. Four
// of the locks hold, so that "it breaks" is not always right.
var way = []struct {
	Step        int
	Fault, Goal string
	Boss        bool
}{
	{0, "none", "X", false},
	{1, "crash-hold", "K", false},
	{2, "crash-hold", "K", false}, // holds
	{2, "crash-acquire", "K", false},
	{3, "slow", "D", false},
	{4, "slow", "D", false},
	{5, "nested", "B", false},
	{6, "slow", "L", false},
	{7, "slow", "X", false}, // holds
	{7, "failover", "X", false},
	{7, "pause", "L", true},
	{8, "down-1", "U", false}, // holds
	{8, "restart", "X", true},
	{9, "pause", "L", false}, // holds
}

// A lock is the source of one, lock.go first, and what it does in a line.
type lock struct {
	Step      int
	Lock, Dir string
	Files     []file
	Why       bool // the tour's why command knows its lines
}

type file struct{ Name, Text string }

// newPage makes the page of what docs/explore has found.
func newPage(exploration []byte, o options) ([]byte, error) {
	var found struct {
		Levels []level
		Graph  json.RawMessage
	}
	if err := json.Unmarshal(exploration, &found); err != nil {
		return nil, err
	}
	languages := readWords()
	words := languages["en"]
	for i, l := range found.Levels {
		if title := words["fault."+l.Fault]; title != l.Title {
			return nil, fmt.Errorf("docs/play/page/words/en.json: fault.%s is %q, and docs/explore says %q", l.Fault, title, l.Title)
		}
		found.Levels[i].Title = "" // the words have it
		if o.lock != "" {
			found.Levels[i].Why = "" // the reasons are those of the reference solution
		}
	}
	locks, err := readLocks(o)
	if err != nil {
		return nil, err
	}
	all, err := json.Marshal(languages) // it escapes <, so that no word ends the script
	if err != nil {
		return nil, err
	}
	data, err := pack(map[string]any{"Levels": found.Levels, "Graph": found.Graph, "Locks": locks, "Path": way, "Own": o.lock != ""})
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	err = markup.Execute(&b, map[string]any{"Words": words,
		"Style": embedded("page/play.css"), "Script": module(), "Languages": string(all), "Data": data})
	return b.Bytes(), err
}

// embedded is a file of the page. It is there, because this program was built with it.
func embedded(name string) string {
	text, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// module is the page's one module.
func module() (script string) {
	for _, name := range modules {
		script += embedded("page/" + name)
	}
	return script
}

// readWords returns the words by language.
func readWords() map[string]map[string]string {
	languages := map[string]map[string]string{}
	list, _ := fs.Glob(files, "page/words/*.json")
	for _, file := range list {
		var words map[string]string
		if err := json.Unmarshal([]byte(embedded(file)), &words); err != nil {
			panic(fmt.Errorf("docs/play/%s: %w", file, err))
		}
		languages[strings.TrimSuffix(path.Base(file), ".json")] = words
	}
	return languages
}

// readLocks reads the sources of all locks.
func readLocks(o options) (locks []lock, err error) {
	for _, s := range entries() {
		dir := s.Dir
		if o.lock != "" {
			if s.N != o.step {
				continue
			}
			dir = o.lock
		}
		names, err := source.Files(dir)
		if err != nil {
			return nil, err
		}
		var files []file
		for _, name := range names {
			text, err := os.ReadFile(filepath.Join(dir, name))
			if err != nil {
				return nil, err
			}
			files = append(files, file{name, string(text)})
		}
		why := o.lock == "" && 1 <= s.N && s.N <= len(course.Steps)
		locks = append(locks, lock{s.N, s.Lock, s.Dir, files, why})
	}
	return locks, nil
}

// pack compresses the data, and writes it as a text.
func pack(data any) (string, error) {
	var packed bytes.Buffer
	w, err := flate.NewWriter(&packed, flate.BestCompression)
	if err != nil {
		return "", err
	}
	js, err := json.Marshal(data)
	w.Write(js) // into memory, so it does not fail
	w.Close()
	return base64.StdEncoding.EncodeToString(packed.Bytes()), err
}

// entries are the locks of the page: that before the course, the steps, the epilogue.
func entries() []course.Step { return append([]course.Step{course.First}, course.Entries()...) }

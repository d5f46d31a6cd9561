package redislock

// What the lab records of a story: a timeline for people and records for programs.

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha1"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"
)

// A trace is what has happened in a story. The same story leaves the same trace every
// time: tokens and scripts appear by name, and connection setup does not appear.
// docs/internal/trace reads it.
type trace struct {
	lab    *lab
	untold bool // too many clients for a timeline
	start  time.Time

	mu      sync.Mutex
	records []*record
	names   map[string]string // of tokens
	tokens  map[string]int    // how many each client has used
	shared  map[string]bool   // clients and tokens that were looked at
}

// A record is one event. docs/read/harness.md explains its fields.
type record struct {
	At    int64  `json:"at"`
	Who   string `json:"who,omitempty"`
	Node  int    `json:"node,omitempty"`
	Kind  string `json:"kind"`
	Text  string `json:"text"`
	Reply string `json:"reply,omitempty"`
	Lost  bool   `json:"lost,omitempty"`
	Late  bool   `json:"late,omitempty"`

	Err  []string `json:"err,omitempty"`
	Gone string   `json:"gone,omitempty"`
	Use  any      `json:"use,omitempty"`

	Redis []lock `json:"redis"`
	held  bool   // it will get no reply soon
}

// A named is an error that a record names.
type named struct {
	name string
	err  error
}

// lockErrors are those that all locks have. 7_lost_test.go adds the one of later locks.
var lockErrors = []named{{"ErrNotAcquired", ErrNotAcquired}, {"ErrNotHeld", ErrNotHeld}}

// namesOf returns the names of what errors.Is finds in err.
func namesOf(err error) (names []string) {
	for _, e := range append(slices.Clip(lockErrors),
		named{"context canceled", context.Canceled}, named{"context deadline exceeded", context.DeadlineExceeded}) {
		if errors.Is(err, e.err) {
			names = append(names, e.name)
		}
	}
	return names
}

// A lock is what a node has at the story's key.
type lock struct {
	Token string `json:"token,omitempty"`
	Until int64  `json:"until,omitempty"`
}

func (tr *trace) now() int64 { return time.Since(tr.start).Microseconds() }

func (tr *trace) add(r record) *record { return tr.addTo(tr.locks(), r) }

func (tr *trace) addTo(locks []lock, r record) *record {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	r.At, r.Redis = tr.now(), locks
	if r.Kind == "refused" && slices.ContainsFunc(tr.records,
		func(o *record) bool { return o.At > r.At-10_000 && o.Who == r.Who && o.Text == r.Text }) {
		return nil // go-redis tries several times at once
	}
	tr.records = append(tr.records, &r)
	return &r
}

// locks returns what is in Redis now.
func (tr *trace) locks() []lock {
	locks := make([]lock, nodes)
	for node := range nodes {
		s := tr.lab.at(addr(node))
		if realTime || tr.untold || !s.Exists(s.key()) {
			continue
		}
		if locks[node].Token = tr.name(s.owner()); s.TTL(s.key()) > 0 {
			locks[node].Until = time.Since(tr.start.Add(-s.TTL(s.key()))).Round(10 * time.Microsecond).Microseconds()
		}
	}
	return locks
}

// reply adds the answer to a command.
func (tr *trace) reply(r *record, reply []byte) {
	text, rest, _ := strings.Cut(string(reply), "\r\n")
	if text == "$-1" || text == "*-1" { // in RESP2
		text = "_"
	}
	switch text[0] {
	case '_':
		text = "(nil)"
	case '$':
		if text = strings.TrimSuffix(rest, "\r\n"); text == "" {
			text = `""` // an empty text means that none came
		}
	case '*': // EXEC's may have numbers and (nil)
		var words []string
		for w := range strings.FieldsSeq(rest) {
			switch {
			case w == "_" || w == "$-1":
				words = append(words, "(nil)")
			case w[0] != '$': // a length
				words = append(words, strings.TrimLeft(w, ":+"))
			}
		}
		text = strings.Join(words, " ")
	default:
		text = text[1:]
	}
	text, locks := tr.name(text), tr.locks()
	tr.mu.Lock()
	defer tr.mu.Unlock()
	r.Reply, r.Redis = text, locks
}

func (tr *trace) lose(r *record) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	r.Lost = true
}

// name returns what a token is called in the timeline.
func (tr *trace) name(s string) string {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return strings.ReplaceAll(cmp.Or(tr.names[s], s), key, "coupons")
}

// text returns a command as redis-cli shows it. A script's first line, "-- name
// argument...", names the script and its arguments; a token is named after the client
// that used it first.
func (tr *trace) text(who string, args []string) string {
	words, command := []string{strings.ToUpper(args[0])}, strings.ToLower(args[0])
	for i, arg := range args[1:] {
		tr.mu.Lock()
		if i > 0 && len(arg) >= 18 && tr.names[arg] == "" && !strings.ContainsAny(arg, " :") {
			// Only a token is that long.
			tr.tokens[who]++
			tr.names[arg] = fmt.Sprintf("<%s-%d>", who, tr.tokens[who])
		}
		first := tr.names[arg]
		other := first != "" && !strings.HasPrefix(first, "<"+who+"-") && !tr.shared[who+arg]
		tr.shared[who+arg] = true
		tr.mu.Unlock()
		if other {
			tr.addTo(nil, record{Kind: "note", Text: who + "'s token is " + first + ", which is not new"})
		}
		word := cmp.Or(tr.name(arg), `""`)
		if strings.ContainsFunc(word, unicode.IsControl) && command != "eval" && command != "script" {
			word = strconv.Quote(word) // a token made of a stack trace has line breaks
		}
		words = append(words, word)
		if command == "set" && i > 1 {
			words[i+1] = strings.ToUpper(words[i+1])
		}
	}
	if command == "script" && len(args) > 2 {
		return "SCRIPT LOAD " + namesIn(args[2], true)[0]
	}
	if !strings.HasPrefix(command, "eval") || len(args) < 4 {
		return strings.Join(words, " ")
	}
	names := namesIn(args[1], command == "eval")
	for i := 1; i < len(names) && 3+i < len(words); i++ {
		if names[i] != "token" {
			words[3+i] = names[i] + "=" + words[3+i]
		}
	}
	if len(names) > 1 { // what the first line does not name is not worth a reader's time
		words = words[:min(len(words), 3+len(names))]
	}
	return strings.Join(append(names[:1:1], words[3:]...), " ")
}

// namesIn returns the names in the first line of a script, which is given by its SHA-1 or
// in full.
func namesIn(script string, whole bool) []string {
	if whole {
		scripts.Store(fmt.Sprintf("%x", sha1.Sum([]byte(script))), script)
	} else if known, ok := scripts.Load(script); ok {
		script = known.(string)
	}
	if first, _, _ := strings.Cut(script, "\n"); strings.HasPrefix(first, "-- ") && len(first) > 3 {
		return strings.Fields(first[3:])
	}
	return []string{"a script"}
}

// end prints as much of the timeline as fits on a screen. With -artifacts, it leaves the
// trace in the test's folder.
func (tr *trace) end() {
	if tr.untold {
		return
	}
	var file, rows bytes.Buffer
	for i, r := range tr.records {
		json.NewEncoder(&file).Encode(r)
		if r.Kind != "call" && r.Kind != "verdict" && i < 60 {
			fmt.Fprintf(&rows, "%9.1fms  %-6s %s%s\n", float64(r.At)/1000, cmp.Or(r.Who, "--"), r.Text, r.result())
		}
	}
	tr.lab.t.Logf("timeline:\n%s", rows.String())
	if f := flag.Lookup("test.artifacts"); f != nil && f.Value.String() == "true" {
		os.WriteFile(filepath.Join(tr.lab.t.ArtifactDir(), "trace.jsonl"), file.Bytes(), 0o666)
	}
}

func (r *record) result() string {
	switch {
	case r.Lost:
		return " -> " + r.Reply + ", but the reply is lost"
	case r.Reply != "":
		return " -> " + r.Reply
	case r.Kind == "command":
		return " -> (no reply)"
	}
	return ""
}

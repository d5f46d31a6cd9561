package main

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// A story is the timeline of a schedule.
type story struct {
	begin  time.Time
	lines  []string
	last   [2]string         // the last two lines, without their time
	brief  bool              // a line that was among them is not told again
	again  bool              // that was said
	tokens map[string]string // their names
	had    map[string]int    // tokens by client
}

func (s *story) tell(format string, args ...any) {
	at := float64(time.Since(s.begin).Round(latency)) / float64(time.Millisecond)
	text := fmt.Sprintf(format, args...)
	if s.brief && (text == s.last[0] || text == s.last[1]) { // one client waits, or two
		if !s.again {
			s.lines = append(s.lines, strings.Repeat(" ", 13)+"and again, and again")
		}
		s.again = true
		return
	}
	s.last, s.again = [2]string{s.last[1], text}, false
	s.lines = append(s.lines, fmt.Sprintf("%9.1fms  ", at)+text)
}

func (s *story) String() string { return strings.Join(s.lines, "\n") + "\n" }

// line writes a command and its reply as redis-cli does; scripts and tokens have names.
func (w *world) line(m *message, reply []byte) string {
	words := make([]string, len(m.args))
	for i, arg := range m.args {
		source, isScript := w.scripts[arg], strings.HasPrefix(arg, "-- ")
		switch {
		case i == 0 || m.args[0] == "set" && i > 2:
			words[i] = strings.ToUpper(arg)
		case source != "":
			words[i] = scriptName(source)
		case isScript:
			words[i] = scriptName(arg)
		case len(arg) == 40:
			words[i] = w.token(m.wire.client.name, arg)
		default:
			words[i] = arg
		}
	}
	answer := text(reply)
	if name := w.tokens[answer]; name != "" {
		answer = name
	}
	who := m.wire.client.name
	if len(w.nodes) > 1 {
		who = fmt.Sprintf("%-5s node %d", who, m.wire.node.n+1)
	}
	return fmt.Sprintf("%-5s %s -> %s", who, strings.Join(words, " "), answer)
}

// token names a token after the client that used it first.
func (s *story) token(who, token string) string {
	if s.tokens[token] == "" {
		s.had[who]++
		s.tokens[token] = fmt.Sprintf("<%s-%d>", who, s.had[who])
	}
	return s.tokens[token]
}

// scriptName is the first line of a script, "-- name".
func scriptName(source string) string {
	first, _, _ := strings.Cut(source, "\n")
	return strings.TrimPrefix(first, "-- ")
}

// text is a reply in the words of redis-cli.
func text(reply []byte) string {
	first, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	if len(first) == 0 {
		return "(no reply)"
	}
	switch {
	case first[0] == '_' || string(first) == "$-1":
		return "nil"
	case first[0] == '$':
		return string(bytes.TrimSuffix(rest, []byte("\r\n")))
	}
	return string(first[1:])
}

package main

import (
	"bytes"
	"cmp"
	"crypto/sha1"
	"fmt"
	"slices"
	"strings"
	"time"

	"example.com/redislock-steps/docs/internal/trace"
)

// pending is a record that a client has made in its own goroutine. Go chooses which
// of several goroutines comes first; so these records are put in order when all are
// quiet, and the same schedule has the same trace, byte for byte.
type pending struct {
	trace.Record
	client int // by number, -1: none
	call   int // how often the client had called its lock before
	door   int // the client goes in (1) or out (-1)
}

// Tell adds a record.
func (s *Schedule) Tell(r trace.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(r)
}

func (s *Schedule) tell(r trace.Record) {
	s.readKeys()
	r.At = s.Now()
	s.add(r)
}

// readKeys notes what is in Redis.
func (s *Schedule) readKeys() {
	for i, node := range s.Nodes {
		s.keys[i] = trace.Key{}
		if node.Exists(key) {
			s.keys[i].Owner, s.keys[i].Token = node.owner, s.name(node.value())
			if ttl := node.TTL(key); ttl > 0 {
				s.keys[i].Until = s.Now() + ttl.Microseconds()
			}
		}
	}
}

func (s *Schedule) add(r trace.Record) {
	r.Redis, r.Inside = slices.Clone(s.keys), slices.Clone(s.inside)
	s.Records = append(s.Records, r)
}

// Later adds a record when all are quiet. A door of 1 says that c is inside from now on,
// -1 that it is not; a record without a kind says only that.
func (c *Client) Later(door int, r trace.Record) {
	c.s.mu.Lock()
	defer c.s.mu.Unlock()
	c.later(door, r)
}

func (c *Client) later(door int, r trace.Record) {
	r.At = c.s.Now()
	if r.Kind != trace.Verdict {
		r.Who = c.Name
	}
	if r.Kind == trace.Refused {
		if last, ok := c.refused[r.Node]; ok && last == r.At {
			return // go-redis tries several times at once
		}
		c.refused[r.Node] = r.At
	}
	c.s.pending = append(c.s.pending, pending{r, c.id, c.calls, door})
}

// flush adds what clients have left, and the keys that have expired.
func (s *Schedule) flush() {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.pending
	s.pending = nil
	for i, node := range s.Nodes {
		if k := s.keys[i]; k.Owner != "" && !node.Exists(key) {
			at := s.Now()
			if k.Until > 0 {
				at = min(at, k.Until)
			}
			list = append(list, pending{trace.Record{Kind: trace.Expire, At: at, Node: node.N, Text: "the TTL expired: " + k.Owner + "'s lock is gone"}, -1, 0, 0})
		}
	}
	node := func(p pending) int { // go-redis has its own goroutines, and one for each node
		switch p.Kind {
		case trace.Call:
			return 0
		case trace.Timeout, trace.Refused:
			return p.Node
		}
		return len(s.Nodes) + 1
	}
	slices.SortStableFunc(list, func(a, b pending) int {
		return cmp.Or(cmp.Compare(a.At, b.At), a.client-b.client, a.call-b.call, node(a)-node(b))
	})
	for _, p := range list {
		switch {
		case p.Kind == trace.Expire:
			s.keys[p.Node-1] = trace.Key{}
		case p.door > 0:
			s.inside = append(s.inside, p.Who)
		case p.door < 0:
			s.inside = slices.DeleteFunc(s.inside, func(name string) bool { return name == p.Who })
		}
		if p.Kind != "" {
			s.add(p.Record)
		}
	}
}

// Call writes into the trace that c calls a method of its lock, and what it returns.
func (c *Client) Call(method string, call func() error) error {
	c.s.mu.Lock()
	clear(c.asked)
	c.calls++
	c.later(0, trace.Record{Kind: trace.Call, Text: method})
	c.s.mu.Unlock()
	err := call()
	if !c.dead.Load() {
		reply, _, _ := strings.Cut(trace.Outcome(err), " [node ") // which of several that fail at once is chance
		c.Later(0, trace.Record{Kind: trace.Return, Text: method, Reply: reply})
	}
	return err
}

// Now is the time since the schedule began, in µs.
func (s *Schedule) Now() int64 { return time.Since(s.begin).Microseconds() }

// command writes a command as redis-cli does. A script has its name, and its arguments
// have those of its first line, "-- acquire token ttl depth".
func (s *Schedule) command(m *Message) string {
	words := slices.Clone(m.args)
	for i, arg := range words {
		// Nothing but a token is that long.
		if i > 1 && len(arg) >= 20 && !strings.Contains(arg, " ") {
			if s.tokens[arg] == "" { // it is named after the client that uses it first
				s.had[m.Name]++
				s.tokens[arg] = fmt.Sprintf("<%s-%d>", m.Name, s.had[m.Name])
			}
			words[i] = s.tokens[arg]
		}
	}
	words[0] = strings.ToUpper(words[0])
	switch words[0] {
	case "EVAL", "EVALSHA":
		first, _, _ := strings.Cut(cmp.Or(s.stage.scripts[m.args[1]], m.args[1]), "\n")
		line := strings.Fields(strings.TrimPrefix(first, "-- "))
		args := words[4:] // behind the lock's key
		for i, arg := range args {
			if i+1 < len(line) && arg[0] != '<' {
				args[i] = line[i+1] + "=" + arg
			}
		}
		words = append([]string{line[0]}, words[3:]...)
	case "SET":
		for i := 3; i < len(words); i++ {
			words[i] = strings.ToUpper(words[i])
		}
	}
	return strings.Join(words, " ")
}

// learn remembers the script that a command brings, and returns the reply in the words of
// redis-cli. Another client may send in the meantime.
func (s *Schedule) learn(m *Message, reply []byte) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if m.args[0] == "eval" {
		s.stage.scripts[fmt.Sprintf("%x", sha1.Sum([]byte(m.args[1])))] = m.args[1]
	}
	first, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	switch {
	case len(first) == 0:
		return "(no reply)"
	case first[0] == '_' || string(first) == "$-1":
		return "(nil)"
	case first[0] == '>' || first[0] == '*':
		return "OK"
	case first[0] == '$':
		return s.name(string(bytes.TrimSuffix(rest, []byte("\r\n"))))
	}
	return s.name(string(first[1:]))
}

// name is that of a token, or the text itself.
func (s *Schedule) name(text string) string { return cmp.Or(s.tokens[text], text) }

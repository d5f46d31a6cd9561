package schedule

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
	host int
	call int // how often the client had called its lock before
	door int // the client goes in (1) or out (-1)
}

// Tell adds a record.
func (n *Net) Tell(r trace.Record) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.readKeys()
	r.At = n.Now()
	n.add(r)
}

// readKeys notes what is in Redis.
func (n *Net) readKeys() {
	for i, node := range n.Nodes {
		n.keys[i] = trace.Key{}
		if node.Exists(Key) {
			n.keys[i].Owner, n.keys[i].Token = node.owner, n.name(node.value())
			if ttl := node.TTL(Key); ttl > 0 {
				n.keys[i].Until = n.Now() + ttl.Microseconds()
			}
		}
	}
}

func (n *Net) add(r trace.Record) {
	r.Redis, r.Inside = slices.Clone(n.keys), slices.Clone(n.inside)
	n.Records = append(n.Records, r)
}

// Later adds a record when all are quiet. A door of 1 says that h is inside from now on,
// -1 that it is not; a record without a kind says only that.
func (h *Host) Later(door int, r trace.Record) {
	h.net.mu.Lock()
	defer h.net.mu.Unlock()
	h.later(door, r)
}

func (h *Host) later(door int, r trace.Record) {
	r.At = h.net.Now()
	if r.Kind != trace.Verdict {
		r.Who = h.Name
	}
	if r.Kind == trace.Refused {
		if last, ok := h.refused[r.Node]; ok && last == r.At {
			return // go-redis tries several times at once
		}
		h.refused[r.Node] = r.At
	}
	h.net.pending = append(h.net.pending, pending{r, h.id, h.calls, door})
}

// flush adds what clients have left, and the keys that have expired.
func (n *Net) flush() {
	n.mu.Lock()
	defer n.mu.Unlock()
	list := n.pending
	n.pending = nil
	for i, node := range n.Nodes {
		if k := n.keys[i]; k.Owner != "" && !node.Exists(Key) {
			at := n.Now()
			if k.Until > 0 {
				at = min(at, k.Until)
			}
			list = append(list, pending{trace.Record{Kind: trace.Expire, At: at, Node: node.N, Text: "the TTL expired: " + k.Owner + "'s lock is gone"}, -1, 0, 0})
		}
	}
	slices.SortStableFunc(list, func(a, b pending) int {
		node := func(p pending) int { // go-redis has its own goroutines, and one for each node
			switch p.Kind {
			case trace.Call:
				return 0
			case trace.Timeout, trace.Refused:
				return p.Node
			}
			return len(n.Nodes) + 1
		}
		return cmp.Or(cmp.Compare(a.At, b.At), a.host-b.host, a.call-b.call, node(a)-node(b))
	})
	for _, p := range list {
		switch at := slices.Index(n.inside, p.Who); {
		case p.Kind == trace.Expire:
			n.keys[p.Node-1] = trace.Key{}
		case p.door > 0:
			n.inside = append(n.inside, p.Who)
		case p.door < 0 && at >= 0:
			n.inside = slices.Delete(n.inside, at, at+1)
		}
		if p.Kind != "" {
			n.add(p.Record)
		}
	}
}

// Call writes into the trace that h calls a method of its lock, and what it returns.
func (h *Host) Call(method string, call func() error) error {
	h.net.mu.Lock()
	clear(h.asked)
	h.calls++
	h.later(0, trace.Record{Kind: trace.Call, Text: method})
	h.net.mu.Unlock()
	err := call()
	if !h.Dead() {
		h.Later(0, trace.Record{Kind: trace.Return, Text: method, Reply: trace.Outcome(err)})
	}
	return err
}

// Now is the time since the schedule began, in µs.
func (n *Net) Now() int64 { return time.Since(n.begin).Microseconds() }

// command writes a command as redis-cli does. A script has its name, and its arguments
// have those of its first line, "-- acquire token ttl depth".
func (n *Net) command(m *Message) string {
	words := slices.Clone(m.args)
	for i, arg := range words {
		// Nothing but a token is that long.
		if i > 1 && len(arg) >= 20 && !strings.Contains(arg, " ") {
			words[i] = n.token(m.Name, arg)
		}
	}
	words[0] = strings.ToUpper(words[0])
	switch words[0] {
	case "EVAL", "EVALSHA":
		line := n.script(m)
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

// token names a token after the client that used it first.
func (n *Net) token(who, token string) string {
	if n.tokens[token] == "" {
		n.had[who]++
		n.tokens[token] = fmt.Sprintf("<%s-%d>", who, n.had[who])
	}
	return n.tokens[token]
}

// script is the words of a script's first line.
func (n *Net) script(m *Message) []string {
	first, _, _ := strings.Cut(cmp.Or(n.scripts[m.args[1]], m.args[1]), "\n")
	return strings.Fields(strings.TrimPrefix(first, "-- "))
}

// Runs reports whether a message is the script of that name.
func (m *Message) Runs(script string) bool {
	return strings.HasPrefix(m.args[0], "eval") && m.net.script(m)[0] == script
}

// learn remembers the script that a command brings, and returns the reply in words.
// Another client may send in the meantime.
func (n *Net) learn(m *Message, reply []byte) string {
	n.mu.Lock()
	defer n.mu.Unlock()
	if m.args[0] == "eval" {
		n.scripts[fmt.Sprintf("%x", sha1.Sum([]byte(m.args[1])))] = m.args[1]
	}
	return n.reply(reply)
}

// reply is a reply in the words of redis-cli.
func (n *Net) reply(reply []byte) string {
	first, rest, _ := bytes.Cut(reply, []byte("\r\n"))
	if len(first) == 0 {
		return "(no reply)"
	}
	text := string(first[1:])
	switch {
	case first[0] == '_' || string(first) == "$-1":
		return "(nil)"
	case first[0] == '>' || first[0] == '*':
		return "OK"
	case first[0] == '$':
		text = string(bytes.TrimSuffix(rest, []byte("\r\n")))
	}
	return n.name(text)
}

// name is that of a token, or the text itself.
func (n *Net) name(text string) string { return cmp.Or(n.tokens[text], text) }

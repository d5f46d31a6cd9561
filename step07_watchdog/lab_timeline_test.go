package redislock

// The timeline of a story: who sent what to Redis, when, and what it answered. The same story prints the same
// text every time: tokens and scripts appear by name, and the set-up of connections does not appear.

import (
	"context"
	"crypto/sha1"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

type timeline struct {
	crowd  bool // too many clients for a timeline
	mu     sync.Mutex
	start  time.Time
	events []*event
	names  map[string]string // of tokens, and of scripts by their SHA-1
	tokens map[string]int    // how many a client has had
}

type event struct {
	at    time.Duration
	who   string
	node  int
	args  []string
	reply string
	note  string
}

func newTimeline() *timeline {
	return &timeline{start: time.Now(), names: map[string]string{key: "coupons"}, tokens: map[string]int{}}
}

// note adds a line of the story itself.
func (tl *timeline) note(format string, args ...any) {
	tl.add(&event{note: fmt.Sprintf(format, args...)})
}

func (tl *timeline) add(e *event) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	e.at = time.Since(tl.start)
	tl.events = append(tl.events, e)
}

// command adds a command at the moment it reaches Redis; reply adds the answer to it.
func (tl *timeline) command(who string, node int, cmd redis.Cmder) *event {
	e := &event{who: who, node: node}
	for i, arg := range cmd.Args() {
		s := fmt.Sprint(arg)
		switch {
		case i == 1 && e.args[0] == "eval":
			s = tl.script(s)
		case i == 1 && e.args[0] == "evalsha":
		case len(s) >= 20: // nothing but a token is that long
			tl.token(who, s)
		}
		e.args = append(e.args, s)
	}
	tl.add(e)
	return e
}

// script learns the name of a script from its first line, "-- name", and returns its SHA-1.
func (tl *timeline) script(source string) string {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	sha := fmt.Sprintf("%x", sha1.Sum([]byte(source)))
	first, _, _ := strings.Cut(source, "\n")
	tl.names[sha] = strings.TrimPrefix(first, "-- ")
	return sha
}

// token names a token after the client that used it first.
func (tl *timeline) token(who, token string) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	if tl.names[token] == "" {
		tl.tokens[who]++
		tl.names[token] = fmt.Sprintf("<%s-%d>", who, tl.tokens[who])
	}
}

// sent returns how many commands were sent so far.
func (tl *timeline) sent() (n int) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	for _, e := range tl.events {
		if e.args != nil {
			n++
		}
	}
	return n
}

func (tl *timeline) reply(e *event, cmd redis.Cmder) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	if e.reply != "" { // lost
		if cmd.Err() != nil {
			return
		}
		// go-redis has sent the command again
		e = &event{at: time.Since(tl.start), who: e.who, node: e.node, args: e.args}
		tl.events = append(tl.events, e)
	}
	e.reply = replyText(cmd)
}

func replyText(cmd redis.Cmder) string {
	if errors.Is(cmd.Err(), redis.Nil) {
		return "nil"
	}
	if cmd.Err() != nil {
		return cmd.Err().Error()
	}
	switch cmd := cmd.(type) {
	case *redis.BoolCmd:
		if cmd.Name() == "set" {
			return map[bool]string{true: "OK", false: "nil"}[cmd.Val()]
		}
		return map[bool]string{true: "1", false: "0"}[cmd.Val()]
	case interface{ Val() any }:
		return fmt.Sprint(cmd.Val())
	case interface{ Val() int64 }:
		return fmt.Sprint(cmd.Val())
	case interface{ Val() string }:
		return cmd.Val()
	case *redis.SliceCmd: // EXEC
		return "(the replies above)"
	}
	return "?"
}

// String returns the timeline, a line for each event.
func (tl *timeline) String() string {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	if tl.crowd {
		return "        (a crowd, told without a timeline)"
	}
	events := slices.Clone(tl.events)
	// The commands that a client sends to all nodes at once arrive in any order.
	for i := 0; i < len(events); {
		j := i + 1
		for j < len(events) && events[j].who == events[i].who && events[j].at == events[i].at {
			j++
		}
		slices.SortStableFunc(events[i:j], func(a, b *event) int { return a.node - b.node })
		i = j
	}
	var times, lines []string
	known := map[string]bool{}
	for _, e := range events {
		// That a Redis does not know a script the first time is set-up.
		if len(e.args) > 1 {
			script := fmt.Sprint(e.node, e.args[1])
			if strings.HasPrefix(e.reply, "NOSCRIPT") && !known[script] {
				continue
			}
			known[script] = true
		}
		times = append(times, fmt.Sprintf("%9.1fms  ", float64(e.at)/float64(time.Millisecond)))
		lines = append(lines, tl.line(e))
	}
	return fold(times, lines)
}

var number = regexp.MustCompile(`-\d+>`)

// fold writes what is said again and again, as by a client that polls, only once.
func fold(times, lines []string) string {
	bare := make([]string, len(lines)) // without the number of the token
	for i, line := range lines {
		bare[i] = number.ReplaceAllString(line, ">")
	}
	same := func(i, j, n int) bool { // the n lines from i and from j
		return j+n <= len(lines) && slices.Equal(bare[i:i+n], bare[j:j+n])
	}
	var b strings.Builder
	for i := 0; i < len(lines); {
		period, again := 1, 0
		for n := 1; n <= 20 && again < 3; n++ {
			for period, again = n, 0; same(i, i+(again+1)*n, n); again++ {
			}
		}
		if again < 3 {
			period, again = 1, 0
		}
		for k := range period {
			b.WriteString(times[i+k] + lines[i+k] + "\n")
		}
		i += period * (again + 1)
		if again > 0 {
			fmt.Fprintf(&b, "%s... the same %d times more\n", times[i-1], again)
		}
	}
	return b.String()
}

// line writes a command and its reply as redis-cli does.
func (tl *timeline) line(e *event) string {
	if e.args == nil {
		return "-- " + e.note
	}
	if e.reply == "" {
		e.reply = "(no reply)"
	}
	words := make([]string, len(e.args))
	for i, arg := range e.args {
		words[i] = tl.short(arg)
		if i == 0 || e.args[0] == "set" && i > 2 {
			words[i] = strings.ToUpper(words[i])
		}
	}
	who := fmt.Sprintf("%-6s", e.who)
	if nodes > 1 {
		who += fmt.Sprintf(" node %d", e.node+1)
	}
	return fmt.Sprintf("%s %s -> %s", who, strings.Join(words, " "), tl.short(e.reply))
}

func (tl *timeline) short(s string) string {
	if name := tl.names[s]; name != "" {
		return name
	}
	return s
}

// Green before too: it is about the laboratory.
func TestTheSameStory_PrintsTheSameTimeline(t *testing.T) {
	needsVirtualTime(t, "no two real runs take the same time")
	var told [2]string
	for i := range told {
		inLab(t, func(t *testing.T, lab *lab) {
			alice, bob := lab.lock("alice"), lab.lock("bob")
			for range 3 {
				alice.TryLock(ctx)
				bob.TryLock(ctx)
				time.Sleep(time.Second)
				alice.Unlock(ctx)
			}
			lab.crash("alice")
			waiting, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			alice.Lock(waiting)
			lab.wait()
			told[i] = lab.timeline.String()
		})
	}
	if told[0] != told[1] || !strings.Contains(told[0], "alice dies") {
		t.Errorf("the same story was told twice, and not in the same words:\n%s\n%s", told[0], told[1])
	}
	if raw := regexp.MustCompile(`[0-9a-f]{20}`).FindString(told[0]); raw != "" {
		t.Errorf("%s stands in the timeline where a name should", raw)
	}
}

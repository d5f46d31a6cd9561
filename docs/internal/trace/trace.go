// Package trace is what a story of the test harness, or a schedule of the explorer, leaves
// behind: one record for each thing that happened. Timelines, pictures and pages are
// readers of these records.
package trace

import (
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Record is one thing that happened.
type Record struct {
	At     int64    `json:"at"`                 // µs of virtual time since the story began
	Who    string   `json:"who,omitempty"`      // the client; "" is Redis or the story
	Node   int      `json:"node,omitempty"`     // the Redis, from 1; 0 is none in particular
	Kind   Kind     `json:"kind"`               //
	Text   string   `json:"text"`               // the command, the call, or what happened
	Reply  string   `json:"reply,omitempty"`    // Redis's answer, or what the call returned
	Err    []string `json:"err,omitempty"`      // of a return: what errors.Is finds in the error
	Gone   string   `json:"gone,omitempty"`     // the client that a fault has killed, or that knows of its loss
	Use    *Use     `json:"use,omitempty"`      // of the resource
	Lost   bool     `json:"lost,omitempty"`     // the reply did not arrive
	Late   bool     `json:"late,omitempty"`     // a Redis that had hung runs it, long after
	Again  bool     `json:"again,omitempty"`    // it was sent before, and not answered
	Mark   string   `json:"mark,omitempty"`     // what is wrong: "deletes bob's lock"
	Wanted string   `json:"expected,omitempty"` // of a verdict, where it can be said so
	Got    string   `json:"got,omitempty"`      // of a verdict
	Line   string   `json:"line,omitempty"`     // that sent the command: lock.go:126
	Redis  []Key    `json:"redis"`              // the key on each node, afterwards
	Inside []string `json:"inside"`             // who is inside, afterwards
}

// A Key is the lock's key on one node.
type Key struct {
	Token string `json:"token,omitempty"` // what is there; "" means no key
	Owner string `json:"owner,omitempty"` // the client that stored it
	Until int64  `json:"until,omitempty"` // when it expires, as At; 0 is never
}

// A Use is what a client does to the resource that a lock protects.
type Use struct {
	Of, Value      string // the resource's name, and what is read or written
	Token          int64  // that comes with it
	Write, Refused bool
}

// A Kind says what happened.
type Kind string

const (
	Command Kind = "command" // reached Redis; Reply is "(no reply)" if none came
	Call    Kind = "call"    // a client calls TryLock, Lock or Unlock
	Return  Kind = "return"  // and the call returns
	Expire  Kind = "expire"  // Redis removes the key, because its TTL has expired
	Fault   Kind = "fault"   // something breaks, or is well again
	Refused Kind = "refused" // a client cannot reach Redis
	Timeout Kind = "timeout" // a client does not wait for a reply any longer
	Note    Kind = "note"    // the story says something
	Message Kind = "message" // a client that listens hears something
	Verdict Kind = "verdict" // the story's assertion has failed: Text is its message
)

// Outcome is how a trace says what a call has returned, if it is not known which lock's
// errors to look for.
func Outcome(err error) string {
	if err == nil {
		return "ok"
	}
	return outcome(err.Error())
}

// Harms, the worst last: what the first assertion that fails shows the users of a lock to lose.
const (
	Formality = iota // an Unlock without a lock says nothing, or a command more than is needed
	Context          // the end of a context
	Other            // a wrong error, or how long it took
	LostOut          // no one gets in, after a lost reply
	Breaks           // the process ends
	Out              // no one else is inside, and no one gets in: a key stays
	OneToken         // two may be inside: they can have the same token
	Forever          // no one gets in, and the key does not expire
	LostIn           // two are inside, after a reply that was lost or late
	In               // two are inside, or another client's lock is deleted, overwritten or extended
)

// untilVerdict is the first assertion that failed, the records before it, and the key that locks
// out the one who was to get in, if one does.
func untilVerdict(records []Record, says string) (v Record, before []Record, key Key, stays bool) {
	v, before = Record{Text: says}, records
	if i := slices.IndexFunc(records, func(r Record) bool { return r.Kind == Verdict }); i >= 0 {
		v, before = records[i], records[:i]
	}
	if i := slices.IndexFunc(v.Redis, func(k Key) bool { return k.Token != "" }); i >= 0 {
		key, stays = v.Redis[i], strings.HasSuffix(v.Wanted, "ock -> ok") && v.Got != "ErrNotHeld"
	}
	return v, before, key, stays
}

// Harm finds the harm of a story that fails, in its records, or else in what it says.
func Harm(records []Record, says string) int {
	v, before, key, stays := untilVerdict(records, says)
	lost := slices.ContainsFunc(before, func(r Record) bool { return r.Lost || r.Late || r.Kind == Timeout })
	who, _, _ := strings.Cut(v.Wanted, " ")
	held := slices.ContainsFunc(before, func(r Record) bool { return r.Kind == Return && r.Who == who && r.Text != "Unlock" && r.Reply == "ok" })
	out := stays && (passed.MatchString(v.Text) || !slices.ContainsFunc(v.Inside, func(in string) bool { return in != who }))
	taken := slices.ContainsFunc(before, func(r Record) bool { return severity(r.Mark) > 2 })
	switch {
	case twoInside.MatchString(v.Text) && (v.Got == "ok" || v.Got == ""), taken && !strings.HasPrefix(v.Wanted, "less than ") && !ofContext.MatchString(v.Text),
		strings.HasSuffix(v.Wanted, "Lock -> ErrNotAcquired") && v.Got == "ok" && len(v.Inside) > 1:
		return In - boolean(lost)
	case strings.Contains(v.Text, "is inside, but alice's TryLock returned nil"):
		return LostIn
	case out && (key.Until == 0 || key.Until-v.At > time.Hour.Microseconds()):
		return Forever
	case out && lost:
		return LostOut
	case out:
		return Out
	case oneToken.MatchString(v.Text):
		return OneToken
	case strings.HasSuffix(v.Wanted, "Unlock -> ErrNotHeld") && !held, needless.MatchString(v.Text):
		return Formality
	case ofContext.MatchString(v.Text):
		return Context
	}
	return Other
}

// What is in a sentence that says so itself.
var (
	twoInside = regexp.MustCompile(`both are inside|inside (with|together)`)
	oneToken  = regexp.MustCompile(`stored the same value|bits of them vary`)
	needless  = regexp.MustCompile(`but Unlock sent a command|sent more than one command`)
	ofContext = regexp.MustCompile(`context|deadline|bob gave up`)
	passed    = regexp.MustCompile(`ttl of \S+ has passed`)
)

// Shows says what the timeline of a story that fails shows of the lock, in words that hints are
// chosen by; "" if only the sentence tells.
func Shows(records []Record) (what string) {
	v, before, key, stays := untilVerdict(records, "")
	in := map[string]string{} // the call of each client
	for _, r := range before {
		call, begun := in[r.Who]
		does, _, _ := strings.Cut(r.Mark, " ")
		switch {
		case r.Kind == Call:
			in[r.Who] = r.Text
		case r.Kind == Return:
			in[r.Who] = ""
		case begun && call == "" && does != "deletes" && severity(r.Mark) > 2:
			return "a renewal of another's lock"
		case call == "Unlock" && !r.Again && slices.Contains(r.Inside, r.Who) && len(r.Redis) == 1 && r.Redis[0].Token == "":
			return "an inner Unlock that frees the lock"
		case severity(r.Mark) > 2 && call == "Unlock":
			what = "an Unlock that " + does
		case severity(r.Mark) > 2:
			what = "a TryLock that " + does
		}
	}
	switch {
	case what != "" || !stays:
	case key.Until == 0:
		what = "a key without a ttl"
	case passed.MatchString(v.Text):
		what = "another ttl"
	}
	return what
}

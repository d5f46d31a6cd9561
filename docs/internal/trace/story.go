package trace

import (
	"cmp"
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
)

// ReadStory reads the trace that the test harness has left of a story, one JSON object in a
// line, and concludes from it what the test harness does not record: whose the lock is on
// each node, who is inside, what has expired, what was sent again, and what is wrong with it.
func ReadStory(file string) (records []Record, err error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	for lines := json.NewDecoder(f); lines.More(); {
		var r Record
		if err := lines.Decode(&r); err != nil {
			return nil, err
		}
		records = append(records, r)
	}
	return conclude(records), nil
}

// conclude adds its conclusions to the records of a story.
func conclude(records []Record) []Record {
	s := story{depth: map[string]int{}, last: map[client]Record{}, within: map[string]int{}}
	for _, r := range inOrder(records) {
		s.add(r)
	}
	for i, r := range s.told {
		if r.Kind == Call && !s.returns(i) {
			s.told[i].Kind, s.told[i].Text = Note, "calls "+r.Text
		}
		if severity(r.Mark) < s.worst {
			s.told[i].Mark = "" // one guilty row is enough
		}
	}
	return s.told
}

// inOrder sorts the records of one moment: the commands that a client sends to all nodes
// at once arrive in any order, and a majority of the replies can be enough for the call
// to return. A subscriber hears a message while the publisher's call returns.
func inOrder(records []Record) []Record {
	slices.SortStableFunc(records, func(a, b Record) int {
		return cmp.Or(cmp.Compare(a.At, b.At), boolean(a.Kind == Message)-boolean(b.Kind == Message))
	})
	ofOne := func(a, b Record) bool { return a.At == b.At && a.Who == b.Who }
	atNodes := func(a, b Record) bool { return a.Kind == b.Kind && a.Node > 0 && b.Node > 0 }
	for _, of := range stretches(records, ofOne) {
		slices.SortStableFunc(of, func(a, b Record) int { return boolean(b.Kind == Command) - boolean(a.Kind == Command) })
		for _, at := range stretches(of, atNodes) {
			slices.SortStableFunc(at, func(a, b Record) int { return a.Node - b.Node })
		}
	}
	return records
}

// stretches are the parts of a list in which all belong together with the first.
func stretches(list []Record, together func(a, b Record) bool) (all [][]Record) {
	for len(list) > 0 {
		n := 1
		for n < len(list) && together(list[0], list[n]) {
			n++
		}
		all, list = append(all, list[:n]), list[n:]
	}
	return all
}

func boolean(b bool) int {
	if b {
		return 1
	}
	return 0
}

// A story is what is known while its records are read.
type story struct {
	told   []Record
	locks  []Key // on each node
	inside []string
	depth  map[string]int // of each client's holds
	last   map[client]Record
	within map[string]int // how many calls of each client are in progress
	calls  []Record       // that have returned, as they were recorded
	worst  int            // of the marks
}

// A client is one on one node.
type client struct {
	who  string
	node int
}

func (s *story) add(r Record) {
	if r.Redis == nil { // not known: Redis was busy
		r.Redis = slices.Clone(s.locks)
	}
	if s.locks == nil {
		s.locks = make([]Key, len(r.Redis))
	}
	s.expire(r)
	was := slices.Clone(s.locks)
	s.own(r)
	switch r.Kind {
	case Command:
		if r.Reply == "" {
			r.Reply = "(no reply)"
		}
		if strings.HasPrefix(r.Text, "a script ") && strings.HasPrefix(r.Reply, "NOSCRIPT") {
			return // the first time, the script itself follows
		}
		at := client{r.Who, r.Node}
		before := s.last[at]
		unanswered := before.Lost || before.Reply == "(no reply)" || strings.HasPrefix(before.Reply, "NOSCRIPT")
		calls, has := s.within[r.Who]
		own := has && calls == 0 // not of a call: a watchdog's, which sends its renewals anew
		r.Again = unanswered && before.Text == r.Text && !r.Late && !own
		s.last[at] = r
		if r.Node <= len(was) {
			r.Mark = guilt(r, was[r.Node-1], s.locks[r.Node-1])
		}
		if r.Lost {
			r.Reply += ", but the reply is lost"
		}
		if r.Late {
			r.Text += ", sent long ago"
		}
	case Call:
		s.within[r.Who]++
		if r.Text == "Unlock" {
			s.enter(r.Who, -1)
		}
	case Return:
		s.within[r.Who]--
		s.calls = append(s.calls, r)
		r.Reply = r.result()
		if r.Reply == "ok" && (r.Text == "TryLock" || r.Text == "Lock") {
			s.enter(r.Who, +1)
			others := slices.DeleteFunc(slices.Clone(s.inside), func(who string) bool { return who == r.Who })
			if len(others) > 0 {
				r.Mark = strings.Join(others, " and ") + " is inside as well"
			}
		}
	case Fault, Note:
		s.enter(r.Gone, -s.depth[r.Gone])
	case Verdict:
		r = s.verdict(r)
	}
	s.worst = max(s.worst, severity(r.Mark))
	s.tell(r)
}

// returns reports whether a call comes back, as far as the story goes, or its client
// dies: otherwise it shows in no row.
func (s *story) returns(call int) bool {
	c := s.told[call]
	return slices.ContainsFunc(s.told[call:], func(r Record) bool {
		return r.Kind == Return && r.Who == c.Who && r.Text == c.Text || r.Kind == Fault && r.Gone == c.Who
	})
}

func (s *story) tell(r Record) {
	r.Redis, r.Inside = slices.Clone(s.locks), append([]string{}, s.inside...)
	s.told = append(s.told, r)
}

// enter lets a client go deeper into the lock, or leave.
func (s *story) enter(who string, by int) {
	was := s.depth[who]
	s.depth[who] = max(0, was+by)
	switch {
	case was == 0 && s.depth[who] > 0:
		s.inside = append(s.inside, who)
	case was > 0 && s.depth[who] == 0:
		s.inside = slices.DeleteFunc(s.inside, func(other string) bool { return other == who })
	}
}

// expire tells of the keys whose ttl has ended since the last record.
func (s *story) expire(r Record) {
	for i, k := range s.locks {
		over := k.Until > 0 && k.Until <= r.At
		same := k.Token == r.Redis[i].Token && (r.Node != i+1 || r.Redis[i].Until == k.Until)
		if !over || same || k.Owner == "" {
			continue
		}
		s.locks[i] = Key{}
		s.tell(Record{At: k.Until, Node: i + 1, Kind: Expire, Text: "the TTL expired: " + k.Owner + "'s lock is gone"})
	}
}

// own takes over what the record says of the keys, and finds out whose they are. A call
// changes none: what it saw when it returned may be older than what other nodes did in
// the same moment.
func (s *story) own(r Record) {
	if r.Kind == Call || r.Kind == Return {
		return
	}
	for i, now := range r.Redis {
		if r.Kind == Command && (r.Node != i+1 || reads.MatchString(r.Text) || setsLock.MatchString(r.Text) && r.Reply == "(nil)") {
			// Commands run at once: what one saw of another node may be older than what is
			// known, and what one reads of this node may be newer.
			continue
		}
		was := s.locks[i]
		if set := setsLock.FindStringSubmatch(r.Text); set != nil && r.Reply == "OK" && now.Token == "" {
			now.Token = set[1] // and it is gone since
		}
		wrote := now.Token != was.Token || r.Kind == Command && setsLock.MatchString(r.Text) && r.Reply == "OK"
		switch {
		case now.Token == "":
		case !wrote:
			now.Owner = was.Owner
		case was.Owner != "" && counts.MatchString(r.Text): // all who ask count: that takes nothing away
			now.Owner = was.Owner
		case ofToken.MatchString(now.Token):
			now.Owner = ofToken.FindStringSubmatch(now.Token)[1]
		default:
			now.Owner = r.Who
		}
		s.locks[i] = now
	}
}

// blocks is a command that waits, while others write.
var blocks = regexp.MustCompile(`^(B[LRZ]|XREAD)`)

// reads is a command that changes nothing.
var reads = regexp.MustCompile(`^(EXISTS|H?GET|HEXISTS|HGETALL|P?TTL) `)

// setsLock is a SET of the story's key, which may have something in front of it, with the value;
// of another lock's name, more follows.
var setsLock = regexp.MustCompile(`^SET \S*coupons}? (\S+)`)

// counts is a command that counts at the key.
var counts = regexp.MustCompile(`^(INCR|DECR)(BY)? `)

var ofToken = regexp.MustCompile(`^<(.*)-\d+>$`)

// guilt says what is wrong with a command that has changed the key.
func guilt(r Record, was, now Key) string {
	others := was.Owner != "" && was.Owner != r.Who
	switch {
	case now.Owner == "" && (r.Reply == "0" || r.Reply == "(nil)" || blocks.MatchString(r.Text)): // it was just gone
	case now.Owner == "" && others:
		return "deletes " + was.Owner + "'s lock"
	case now.Owner == r.Who && others:
		return "overwrites " + was.Owner + "'s lock"
	case now.Owner == was.Owner && others && now.Until > was.Until && r.Reply != "0":
		return "extends " + was.Owner + "'s lock"
	case now.Owner == r.Who && was.Owner == "" && now.Until == 0:
		return "without a ttl"
	}
	return ""
}

// severity orders the marks: a timeline shows the worst only.
func severity(mark string) int {
	switch {
	case mark == "":
		return 0
	case mark == "without a ttl":
		return 1
	case strings.HasSuffix(mark, "as well"):
		return 2
	}
	return 3
}

// result is what a call has returned: the names of its errors, or what else it says.
func (r Record) result() string { return cmp.Or(strings.Join(r.Err, ", "), cause(r.Reply)) }

// cause is an error without what all errors of a lock begin with.
func cause(text string) string {
	_, cause, _ := strings.Cut(text, "coupons\": ")
	return cmp.Or(byNode(cause), byNode(text))
}

var failures = regexp.MustCompile(`\[node \d+: .*\]`)

// byNode sorts what a lock lists of several nodes: they have answered in any order.
func byNode(text string) string {
	return failures.ReplaceAllStringFunc(text, func(list string) string {
		parts := strings.Split(strings.Trim(list, "[]"), " node ")
		parts[0] = strings.TrimPrefix(parts[0], "node ")
		slices.Sort(parts)
		return "[node " + strings.Join(parts, " node ") + "]"
	})
}

// verdict says what failed, and if testify says so, what was wanted of which call.
func (s *story) verdict(r Record) Record {
	a := append(Testify(r.Text), Assertion{Message: strings.TrimSpace(r.Text)})[0]
	if r.Text = a.Message; a.Wanted != "" {
		r.Wanted, r.Got = outcome(a.Wanted), outcome(a.Got)
	}
	if a.OfError && a.Wanted != "ok" && strings.Contains(a.Got, a.Wanted) {
		r.Got = "an error that reads so, but errors.Is does not find it"
		return r
	}
	for _, call := range slices.Backward(s.calls) {
		if a.OfError && strings.Join(strings.Fields(call.Reply), " ") == a.Got {
			r.Got = call.result()
			if r.Wanted == "ok" || strings.HasPrefix(r.Wanted, "Err") {
				r.Wanted = call.Who + " " + call.Text + " -> " + r.Wanted
			}
			break
		}
	}
	return r
}

// outcome is the text of an error, with the names of the lock's errors instead. It is for
// where only the text is known.
func outcome(text string) string {
	var is []string
	for _, known := range []struct{ text, name string }{
		{"lock not acquired", "ErrNotAcquired"}, {"lock not held", "ErrNotHeld"}, {"lock lost", "ErrLost"},
		{"context canceled", "context canceled"}, {"context deadline exceeded", "context deadline exceeded"},
	} {
		if strings.Contains(text, known.text) {
			is = append(is, known.name)
		}
	}
	return cmp.Or(strings.Join(is, ", "), cause(text))
}

// Package picture draws what has happened in stories, and which lock provides which
// guarantee, as SVG. The pictures are made from records and runs alone: the same run gives
// the same bytes.
package picture

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/redislock-steps/docs/internal/trace"
)

// A Panel is one run of a story.
type Panel struct {
	Head    string         // what it was run on
	Good    string         // what is said below a run without a verdict, with ✗ if it is harm
	Records []trace.Record // what happened, as trace.ReadStory returns it
	Until   time.Duration  // where the picture ends, if the story continues; 0 is the whole story
}

// A panel is a story with its events in lanes and moments.
type panel struct {
	Panel
	nodes, clients []string
	resource       string // what the clients write to; "" if they write to nothing
	moments        []moment
	events         []event
	ends           []string // what is said below, each with ✓ or ✗
	keys           track    // on the nodes
	inside         track
	waiting        track // calls in progress
	values         track // of the resource
	dead           map[string]moment

	// While the records are read:
	now     moment
	last    trace.Record
	highest int64 // token that the resource has seen
	known   []trace.Key

	// While it is drawn:
	lanes  map[string]float64 // the middles of the columns
	textAt float64            // behind the lanes, what happens is written
	y      []float64          // of the moments
}

// A moment is a place on the time axis. What happens at the same time, one thing after the
// other, has one moment after the other.
type moment int64

// edge is where a picture ends.
const edge moment = 1 << 62

func momentAt(us int64) moment { return moment(us << 8) }

// at is the time in µs.
func (m moment) at() int64 { return int64(m >> 8) }

// An event is what a lane shows at a moment.
type event struct {
	lane    string // a client, a node, or "" for the story itself
	at      moment
	label   string
	isLabel bool     // of its lane; otherwise it is a sentence of the story
	guilt   string   // what is wrong with it
	nodes   []int    // that a command reached,
	replies []string // and what they answered
	again   bool     // it says how often what was before it came again
	of      string   // the node or the resource, of what is sent
	heard   bool     // Redis sends it
	right   bool     // what another panel's harm has become
	token   int64    // that an acquire returns, or that a write comes with

	y, high      float64
	lines, wrong []string // the label and the guilt, as they are written
}

// A span is what lasts.
type span struct {
	lane     string
	from, to moment
	owner    string // whose key or value it is
	until    int64  // of a key: when it expires; 0 is never
}

// A track has the spans of some lanes. One that has not ended continues to the edge of the
// picture.
type track []span

func (t *track) begin(s span) {
	t.end(s.lane, s.from)
	s.to = edge
	*t = append(*t, s)
}

func (t track) end(lane string, at moment) {
	if i := t.open(lane); i >= 0 {
		t[i].to = at
	}
}

// open is the span of a lane that has not ended, or -1.
func (t track) open(lane string) int {
	return slices.IndexFunc(t, func(s span) bool { return s.lane == lane && s.to == edge })
}

// read makes the lanes of a panel.
func read(from Panel) *panel {
	p := &panel{Panel: from, dead: map[string]moment{}, now: momentAt(-1)}
	var records []trace.Record
	for _, r := range p.Records {
		if p.Until > 0 && r.At > p.Until.Microseconds() {
			break
		}
		records = append(records, r)
		if r.Who != "" && r.Kind != trace.Call && !slices.Contains(p.clients, r.Who) {
			p.clients = append(p.clients, r.Who)
		}
		for len(p.nodes) < len(r.Redis) {
			p.nodes = append(p.nodes, fmt.Sprintf("node %d", len(p.nodes)+1))
		}
	}
	slices.Sort(p.clients)
	if len(p.nodes) == 1 {
		p.nodes[0] = "Redis"
	}
	p.known = make([]trace.Key, len(p.nodes))
	for _, row := range trace.Rows(records) {
		if row.More > 0 {
			p.repeat(row.More)
			continue
		}
		for _, r := range row.Of {
			p.add(r)
		}
	}
	if p.ends == nil && p.Good != "" {
		p.ends = []string{strings.Replace("✓ "+p.Good, "✓ ✗", "✗", 1)}
	}
	p.moments = append(slices.Compact(p.moments), edge)
	return p
}

func (p *panel) add(record trace.Record) {
	switch record.Kind {
	case trace.Verdict:
		p.ends = append(p.ends, "✗ "+record.Text)
		return
	case trace.Call:
		p.waiting.begin(span{lane: record.Who, from: max(p.now, momentAt(record.At))})
		if p.now.at() < record.At { // what it changes shows at the next moment
			return
		}
	default:
		p.next(record)
		p.show(record)
	}
	p.see(record)
}

// repeat says that what was last came so many times more.
func (p *panel) repeat(times int) {
	note := p.last
	note.Kind = trace.Note
	p.next(note)
	p.events = append(p.events, event{lane: note.Who, at: p.now, label: fmt.Sprintf("the same %d times more", times), again: true, high: 2 * line})
}

// next goes on to the moment of a record, unless it belongs to what was before it.
func (p *panel) next(record trace.Record) {
	before := p.last
	p.last = record
	several := record.Who == "" && record.Kind == before.Kind && record.Kind != trace.Note // nodes
	ofOne := record.Who != "" && record.Who == before.Who && !isNote(record) && !isNote(before)
	switch {
	case record.At != p.now.at():
		p.now = momentAt(record.At)
	case several || ofOne:
		return
	default:
		p.now++
	}
	p.moments = append(p.moments, p.now)
}

func isNote(record trace.Record) bool {
	return record.Kind == trace.Note || record.Kind == trace.Message || record.Kind == trace.Fault
}

// show adds the event of a record.
func (p *panel) show(record trace.Record) {
	if p.Good != "" && !strings.HasPrefix(p.Good, "✗ ") {
		record.Mark = "" // it led to nothing that the story asks for
	}
	if record.Kind == trace.Return {
		p.waiting.end(record.Who, p.now)
	}
	e := event{lane: record.Who, at: p.now, guilt: record.Mark, isLabel: true}
	last := &event{at: -1}
	if len(p.events) > 0 {
		last = &p.events[len(p.events)-1]
	}
	if last.at == e.at && last.lane == e.lane && e.lane != "" {
		last.add(record)
		return
	}
	switch {
	case record.Kind == trace.Expire:
		e.lane, e.label = p.nodes[record.Node-1], "key expires"
		if last.at == e.at && last.label == e.label {
			return
		}
	case record.Kind == trace.Command:
		e.of = p.nodes[record.Node-1]
		e.token, _ = strconv.ParseInt(record.Reply, 10, 64)
		if record.Reply == "(nil)" && p.Good == "" && slices.Contains(record.Inside, record.Who) {
			e.guilt = fmt.Sprintf("%s blocks %[1]s", record.Who)
		}
		e.reaches(record)
	case record.Kind == trace.Return:
		e.label = record.Text + " → " + record.Reply
	case record.Kind == trace.Refused:
		e.label = "no connection"
	case record.Use != nil:
		p.use(&e, *record.Use)
	case record.Who != "" && isNote(record) && record.Kind != trace.Fault:
		e.label = record.Text
		if e.heard = record.Kind == trace.Message; e.heard {
			e.of = p.nodes[0]
		}
	default:
		e.lane, e.label, e.isLabel = cmp.Or(record.Gone, p.laneOf(record.Text)), record.Text, false
		if record.Kind == trace.Fault && record.Gone != "" {
			p.waiting.end(record.Gone, p.now)
			p.dead[record.Gone] = p.now
		}
	}
	p.events = append(p.events, e)
}

// add takes in a record of the same moment: the answer of one more node, or that the call
// has returned.
func (e *event) add(record trace.Record) {
	e.guilt = cmp.Or(e.guilt, record.Mark)
	switch {
	case record.Kind == trace.Command:
		e.reaches(record)
	case record.Kind == trace.Return && record.Reply != "ok" && record.Reply != "ErrNotAcquired":
		// The other two show in the lane.
		e.label += ", " + record.Reply
	}
}

const lost = "lost"

// reaches takes in what one more node has answered, and says what the command is and how
// it was answered.
func (e *event) reaches(record trace.Record) {
	name, _, _ := strings.Cut(record.Text, " ")
	if record.Again {
		name = "↻ " + name
	}
	reply := strings.Trim(record.Reply, "<>()")
	reply = strings.Replace(reply, ", but the reply is lost", ", reply lost", 1)
	if strings.HasPrefix(name, "acquire") && strings.HasPrefix(reply, "-") {
		reply = "refused"
	}
	e.nodes = append(e.nodes, record.Node)
	if len(record.Redis) == 1 {
		e.label = name + " → " + reply
		if strings.HasSuffix(reply, "reply lost") || reply == "no reply" {
			reply = lost
		}
		e.replies = append(e.replies, reply)
		return
	}
	e.replies = append(e.replies, cmp.Or(map[string]string{"1": "✓", "no reply": "–"}[reply], "✗"))
	yes := strings.Count(strings.Join(e.replies, ""), "✓")
	e.label = fmt.Sprintf("%s %d/%d", name, yes, len(record.Redis))
}

// laneOf finds the lane that a fault or a note of the story is about: it begins with the name.
func (p *panel) laneOf(text string) string {
	for _, lane := range slices.Concat(p.clients, p.nodes) {
		rest, ok := strings.CutPrefix(text, lane)
		if ok && (rest == "" || strings.ContainsAny(rest[:1], " :'")) {
			return lane
		}
	}
	if strings.Contains(text, p.nodes[0]) {
		return p.nodes[0]
	}
	return ""
}

// compare finds what has become of the last harm of the first panel.
func (p *panel) compare(other *panel) {
	for _, harm := range slices.Backward(other.events) {
		if harm.guilt != "" && harm.of != "" {
			for i, e := range p.events {
				p.events[i].right = e.guilt == "" && e.at == harm.at && e.lane == harm.lane
			}
			return
		}
	}
}

// use notes what becomes of the resource: its value, and the last token that it has accepted.
func (p *panel) use(e *event, u trace.Use) {
	verb := "reads"
	if u.Write {
		verb, e.of, e.token = "writes", u.Of, u.Token
	}
	p.resource, e.label = u.Of, fmt.Sprintf("%s %s with %d", verb, u.Value, u.Token)
	switch {
	case u.Refused:
		e.label, e.guilt = e.label+" → refused", ""
		return
	case u.Token < p.highest:
		e.guilt = fmt.Sprintf("comes with %d after %d", u.Token, p.highest)
	default:
		p.highest, e.guilt = u.Token, ""
	}
	p.values.begin(span{lane: u.Of, from: p.now, owner: e.lane})
}

// see notes what has changed with the keys, and who is inside.
func (p *panel) see(record trace.Record) {
	for i, key := range record.Redis {
		was := &p.known[i]
		longer := key.Until - was.Until
		if was.Token == key.Token && was.Owner == key.Owner && -1000 < longer && longer < 1000 {
			continue // a millisecond does not show
		}
		*was = key
		p.keys.end(p.nodes[i], p.now)
		if key.Token != "" {
			p.keys.begin(span{lane: p.nodes[i], from: p.now, owner: key.Owner, until: key.Until})
		}
	}
	for _, s := range p.inside {
		if !slices.Contains(record.Inside, s.lane) {
			p.inside.end(s.lane, p.now)
		}
	}
	for _, who := range record.Inside {
		if p.inside.open(who) < 0 {
			p.inside.begin(span{lane: who, from: p.now, owner: who})
		}
	}
}

// overlaps are the parts of spans in which another one is inside as well.
func overlaps(inside []span) (both []span) {
	for _, s := range inside {
		for _, o := range inside {
			from, to := max(s.from, o.from), min(s.to, o.to)
			if o.lane != s.lane && from.at() < to.at() {
				both = append(both, span{lane: s.lane, from: from, to: to})
			}
		}
	}
	return both
}

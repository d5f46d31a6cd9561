// Package picture draws what has happened in stories, and which lock provides which
// guarantee, as SVG. The pictures are made from records and runs alone: the same run gives
// the same bytes.
package picture

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/redislock-steps/docs/internal/trace"
)

// A Panel is one run of a story.
type Panel struct {
	Head    string         // what it was run on
	Good    string         // what is said below a run without a verdict
	Records []trace.Record // what happened, as trace.ReadStory returns it
	Until   time.Duration  // where the picture ends, if the story continues; 0 is the whole story
}

// most is how many moments a panel may have: more do not fit on a screen.
const most = 30

// Story draws a story in the colours of a theme.
func Story(title string, panels []Panel, theme Theme) (string, error) {
	c := newCanvas(theme)
	axes := make([]*axis, len(panels))
	var drawn []*panel
	for i, p := range panels {
		axes[i] = &axis{}
		drawn = append(drawn, read(p, axes[i]))
		c.clients = append(c.clients, drawn[i].clients...)
		if len(axes[i].moments) > most {
			return "", fmt.Errorf("%s: the story is too long for a picture: let it end sooner", title)
		}
	}
	slices.Sort(c.clients)
	c.clients = slices.Compact(c.clients)
	c.y = 26
	c.text(margin, c.y, c.say(title), style{bold: true})
	c.y += 10
	for i, p := range drawn {
		c.panel(p, axes[i])
	}
	c.legend(drawn)
	if c.lacks != nil {
		return "", fmt.Errorf("docs/internal/picture/chinese.go has no Chinese for %q", c.lacks)
	}
	return c.svg(c.say(title), c.says.String()), nil
}

// records are those before Until.
func (p Panel) records() []trace.Record {
	if p.Until == 0 {
		return p.Records
	}
	return slices.DeleteFunc(slices.Clone(p.Records), func(r trace.Record) bool { return r.At > p.Until.Microseconds() })
}

// many is how many rows are shown one by one.
const many = 14

// shown are the records that have a place in the picture: of what is repeated again and
// again, only the first.
func (p Panel) shown() (list []trace.Record) {
	records := p.records()
	rows := trace.Rows(records)
	folds := slices.ContainsFunc(rows, func(r trace.Row) bool { return r.More > 0 })
	if !folds || count(records) <= many {
		return records
	}
	kept := map[int]bool{}
	more := map[int]string{} // after a record
	for i, row := range rows {
		if row.More > 0 {
			before := rows[i-1]
			more[before.First+len(before.Of)-1] = fmt.Sprintf("the same %d times more", row.More)
			continue
		}
		for i := range row.Of {
			kept[row.First+i] = true
		}
	}
	for i, r := range records {
		next := i
		for next < len(records)-1 && r.Kind == trace.Call && (next == i || records[next].Who != r.Who) {
			next++
		}
		if kept[next] || r.Kind == trace.Verdict {
			list = append(list, r)
		}
		if text := more[i]; text != "" {
			list = append(list, trace.Record{At: r.At, Who: r.Who, Kind: trace.Note, Text: text, Redis: r.Redis, Inside: r.Inside})
		}
	}
	return list
}

// count is the number of moments.
func count(records []trace.Record) (n int) {
	for i, r := range records {
		if r.Kind != trace.Call && (i == 0 || r.At != records[i-1].At) {
			n++
		}
	}
	return n
}

// A panel is a story with its events in lanes and moments.
type panel struct {
	Panel
	nodes, clients []string
	resource       string // what the clients write to; "" if they write to nothing
	events         []event
	verdicts       []string
	keys           []span // on the nodes
	inside         []span
	waiting        []span // calls in progress
	values         []span // of the resource
	depth          []depth
	dead           map[string]moment
}

// A depth is how often a client has locked, from a moment on.
type depth struct {
	who string
	at  moment
	n   int
}

// An event is what a lane shows at a moment.
type event struct {
	lane    string // a client, a node, or "" for the story itself
	at      moment
	label   string
	isLabel bool     // of its lane; otherwise it is a sentence of the story
	guilt   string   // what is wrong with it
	command string   // if it is one
	nodes   []int    // that it reached,
	replies []string // and what they answered
	times   int      // so often it came again
	y       float64
}

// A span is what lasts.
type span struct {
	lane     string
	from, to moment
	text     string
	owner    string // whose key or value it is
	until    int64  // of a key: when it expires; 0 is never
}

// A reader reads the records of one panel, and adds its moments to the axis.
type reader struct {
	*panel
	*axis
	now   moment
	last  trace.Record
	open  []*span // the key on each node
	in    []*span // who is inside
	value *span

	highest int               // token that the resource has seen
	calls   map[string]moment // in progress, since when
	called  []string          // calls that nothing has followed yet
}

// edge is where a picture ends.
var edge = moment{at: 1 << 62}

// read makes the lanes of a panel.
func read(p Panel, a *axis) *panel {
	r := &reader{panel: &panel{Panel: p, dead: map[string]moment{}}, axis: a, now: moment{at: -1}, calls: map[string]moment{}}
	for _, record := range p.records() {
		if record.Who != "" && record.Kind != trace.Call && !slices.Contains(r.clients, record.Who) {
			r.clients = append(r.clients, record.Who)
		}
		for len(r.nodes) < len(record.Redis) {
			r.nodes = append(r.nodes, fmt.Sprintf("node %d", len(r.nodes)+1))
		}
	}
	slices.Sort(r.clients)
	if len(r.nodes) == 1 {
		r.nodes[0] = "Redis"
	}
	r.open = make([]*span, len(r.nodes))
	for _, record := range p.shown() {
		r.add(record)
	}
	r.finish()
	return r.panel
}

func (r *reader) add(record trace.Record) {
	switch record.Kind {
	case trace.Verdict:
		r.verdicts = append(r.verdicts, record.Text)
		return
	case trace.Call:
		if !slices.Contains(r.clients, record.Who) {
			return // the picture ends before it does anything
		}
		if r.now.at < record.At { // it shows from what it sends first
			r.called = append(r.called, record.Who)
			return
		}
		r.calls[record.Who] = r.now
	default:
		r.next(record)
		r.show(record)
	}
	r.see(record)
}

// next goes on to the moment of a record, unless it belongs to what was before it.
func (r *reader) next(record trace.Record) {
	before := r.last
	r.last = record
	if record.At == r.now.at && record.Who == before.Who && record.Who != "" && !r.isNote(record) && !r.isNote(before) {
		return
	}
	several := record.Who == "" && record.Kind == before.Kind && record.Kind != trace.Note
	if record.At == r.now.at && several { // nodes
		return
	}
	if record.At == r.now.at {
		r.now.nth++
	} else {
		r.now = moment{at: record.At}
	}
	r.axis.add(r.now)
	for _, who := range r.called {
		r.calls[who] = r.now
	}
	r.called = nil
}

func (r *reader) isNote(record trace.Record) bool {
	return record.Kind == trace.Note || record.Kind == trace.Fault
}

// access is what a client says when it uses the resource.
var access = regexp.MustCompile(`^(read|write)s (\w+)(?: = (\d+))? with token (\d+) -> (.*)$`)

// show adds the event of a record.
func (r *reader) show(record trace.Record) {
	if r.Good != "" {
		record.Mark = "" // it led to nothing that the story asks for
	}
	e := event{lane: record.Who, at: r.now, guilt: record.Mark}
	if from, ok := r.calls[record.Who]; ok && record.Kind == trace.Return {
		if from != r.now {
			r.waiting = append(r.waiting, span{lane: record.Who, from: from, to: r.now})
		}
		delete(r.calls, record.Who)
	}
	if last := len(r.events) - 1; last >= 0 && r.events[last].at == e.at && r.events[last].lane == e.lane && e.lane != "" {
		r.events[last].add(record)
		return
	}
	e.isLabel = true
	switch {
	case record.Kind == trace.Expire:
		e.lane, e.label = r.nodes[record.Node-1], "key expires"
		if last := len(r.events) - 1; last >= 0 && r.events[last].at == e.at && r.events[last].label == e.label {
			return
		}
	case record.Kind == trace.Command:
		e.command = record.Text
		e.reaches(record)
		r.locks(record)
	case record.Kind == trace.Return:
		e.label = record.Text + " → " + record.Reply
	case record.Kind == trace.Refused:
		e.label = "no connection"
	case access.MatchString(record.Text):
		e.label, e.guilt = r.use(record)
	case strings.HasPrefix(record.Text, "the same "):
		fmt.Sscanf(record.Text, "the same %d", &e.times)
		e.label, e.isLabel = record.Text, false
	case record.Who != "" && record.Kind == trace.Note:
		e.label = record.Text
	default:
		e.lane = r.laneOf(record)
		if record.Kind == trace.Fault && strings.HasPrefix(record.Text, e.lane+" dies") {
			r.dies(e.lane)
		}
		e.label, e.isLabel = record.Text, false
	}
	r.events = append(r.events, e)
}

var depthOf = regexp.MustCompile(` depth=(\d+)`)

// locks notes how often a client has locked.
func (r *reader) locks(record trace.Record) {
	if m := depthOf.FindStringSubmatch(record.Text); m != nil && record.Reply == "1" {
		n, _ := strconv.Atoi(m[1])
		r.depth = append(r.depth, depth{record.Who, r.now, n})
	}
}

// dies ends what a client was doing.
func (r *reader) dies(who string) {
	if from, ok := r.calls[who]; ok && from != r.now {
		r.waiting = append(r.waiting, span{lane: who, from: from, to: r.now})
	}
	delete(r.calls, who)
	r.dead[who] = r.now
}

// add takes in a record of the same moment: the answer of one more node, or that the call
// has returned.
func (e *event) add(record trace.Record) {
	e.guilt = cmp.Or(e.guilt, record.Mark)
	switch {
	case record.Kind == trace.Command:
		e.command = record.Text
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
	if m := depthOf.FindStringSubmatch(record.Text); m != nil && len(record.Redis) == 1 {
		name += " depth " + m[1]
	}
	if record.Again {
		name = "↻ " + name
	}
	reply := strings.Trim(record.Reply, "<>()")
	wasLost := record.Lost || strings.Contains(reply, "but the reply is lost") || reply == "no reply"
	if before, _, found := strings.Cut(reply, " but the reply is lost"); found {
		reply = strings.TrimRight(before, ",") + ", reply lost"
	}
	if strings.HasPrefix(name, "acquire") && strings.HasPrefix(reply, "-") {
		reply = "refused"
	}
	e.nodes = append(e.nodes, record.Node)
	if len(record.Redis) == 1 {
		e.label = name + " → " + reply
		if wasLost {
			reply = lost
		}
		e.replies = append(e.replies, reply)
		return
	}
	mark := "✗"
	switch reply {
	case "1":
		mark = "✓"
	case "no reply":
		mark = "–"
	}
	e.replies = append(e.replies, mark)
	yes := 0
	for _, m := range e.replies {
		if m == "✓" {
			yes++
		}
	}
	e.label = fmt.Sprintf("%s %d/%d", name, yes, len(record.Redis))
}

// laneOf finds the lane that a fault or a note of the story is about.
func (r *reader) laneOf(record trace.Record) string {
	for _, lane := range slices.Concat(r.clients, r.nodes) {
		if rest, ok := strings.CutPrefix(record.Text, lane); ok && (rest == "" || strings.ContainsAny(rest[:1], " :'")) {
			return lane
		}
	}
	switch {
	case record.Node > 0:
		return r.nodes[record.Node-1]
	case strings.Contains(record.Text, r.nodes[0]):
		return r.nodes[0]
	}
	return ""
}

// use notes what becomes of the resource: its value, and the last token that it has accepted.
func (r *reader) use(record trace.Record) (what, guilt string) {
	m := access.FindStringSubmatch(record.Text)
	verb, name, value, token, answer := m[1], m[2], m[3], m[4], m[5]
	r.resource = name
	switch {
	case verb == "read":
		value = answer
		what = "reads " + value + " with " + token
	case answer == "OK":
		what = "writes " + value + " with " + token
	default:
		return "writes " + value + " with " + token + " → refused", ""
	}
	if number, _ := strconv.Atoi(token); number < r.highest {
		guilt = fmt.Sprintf("comes with %d after %d", number, r.highest)
	} else {
		r.highest = number
	}
	now := &span{lane: name, from: r.now, owner: record.Who, text: value + " (" + token + ")"}
	if r.value != nil {
		r.value.to = r.now
		r.values = append(r.values, *r.value)
	}
	r.value = now
	return what, guilt
}

// see notes what has changed with the keys, and who is inside.
func (r *reader) see(record trace.Record) {
	for i, key := range record.Redis {
		now := span{lane: r.nodes[i], from: r.now, text: key.Token, owner: key.Owner, until: key.Until}
		if open := r.open[i]; open != nil {
			if open.text == now.text && open.owner == now.owner && now.until-open.until < 1000 && open.until-now.until < 1000 {
				continue // a millisecond does not show
			}
			open.to = r.now
			r.keys = append(r.keys, *open)
			r.open[i] = nil
		}
		if key.Token != "" {
			r.open[i] = &now
		}
	}
	r.in = slices.DeleteFunc(r.in, func(s *span) bool {
		if slices.Contains(record.Inside, s.lane) {
			return false
		}
		s.to = r.now
		r.inside = append(r.inside, *s)
		return true
	})
	for _, who := range record.Inside {
		if !slices.ContainsFunc(r.in, func(s *span) bool { return s.lane == who }) {
			r.in = append(r.in, &span{lane: who, from: r.now, owner: who})
		}
	}
}

// finish ends what has not ended: it goes on to the edge of the picture.
func (r *reader) finish() {
	r.now = edge
	r.axis.add(edge)
	r.see(trace.Record{Redis: make([]trace.Key, len(r.nodes))})
	if r.value != nil {
		r.value.to = edge
		r.values = append(r.values, *r.value)
	}
	for _, who := range slices.Sorted(maps.Keys(r.calls)) {
		r.waiting = append(r.waiting, span{lane: who, from: r.calls[who], to: edge})
	}
}

// overlaps are the parts of spans in which others are inside as well.
func overlaps(inside []span) (both []span) {
	for _, s := range inside {
		var parts []span
		for _, o := range inside {
			from, to := later(s.from, o.from), earlier(s.to, o.to)
			if o.lane != s.lane && from.at < to.at {
				parts = append(parts, span{lane: s.lane, from: from, to: to})
			}
		}
		slices.SortFunc(parts, func(a, b span) int { return compareMoments(a.from, b.from) })
		for _, p := range parts {
			if n := len(both) - 1; n >= 0 && both[n].lane == p.lane && compareMoments(p.from, both[n].to) <= 0 {
				both[n].to = later(both[n].to, p.to)
				continue
			}
			both = append(both, p)
		}
	}
	return both
}

func later(a, b moment) moment {
	if compareMoments(a, b) < 0 {
		return b
	}
	return a
}

func earlier(a, b moment) moment {
	if compareMoments(a, b) < 0 {
		return a
	}
	return b
}

// A moment is a column of the time axis: what happens at the same time, one thing after the other.
type moment struct {
	at  int64
	nth int
}

func compareMoments(a, b moment) int { return cmp.Or(cmp.Compare(a.at, b.at), a.nth-b.nth) }

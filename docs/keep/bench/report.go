package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"text/template"
	"time"
)

//go:embed report.tmpl
var reportSource string

var report = template.Must(template.New("report").Funcs(template.FuncMap{"rows": rows}).Parse(reportSource))

// rows writes the rows of a Markdown table.
func rows(list [][]string) string {
	var lines []string
	for _, row := range list {
		lines = append(lines, "| "+strings.Join(row, " | ")+" |")
	}
	return strings.Join(lines, "\n")
}

// readDir is where the page is.
const readDir = "../../read"

// files returns all that is written from the results, by path from docs/read.
func (r *results) files() (map[string][]byte, error) {
	var page bytes.Buffer
	if err := r.page(&page); err != nil {
		return nil, err
	}
	files := map[string][]byte{"benchmarks.md": page.Bytes()}
	for i := range themes {
		svg, err := r.plot().draw(i)
		if err != nil {
			return nil, err
		}
		files[plotFile(i)] = svg
	}
	return files, nil
}

// page writes docs/read/benchmarks.md.
func (r *results) page(w io.Writer) error {
	goals := r.goals()
	one, five := r.ratioRows()
	return report.Execute(w, map[string]any{
		"Quick": r.Plan == quick, "InShort": r.inShort(), "Plot": r.plot().html(), "Overview": r.overviewRows(),
		"GoalCount": goalCount(goals), "Goals": goalRows(goals), "Missed": missedText(goals),
		"RatiosOfOne": one, "RatiosOfFive": five, "Absolute": r.absoluteRows(),
		"Hung": r.hungRows(), "Attempts": r.attemptRows(),
		"CostPairs": r.Plan.Costs, "Costs": r.costRows(),
		"Waiting": r.waitingRows(),
		"Section": duration(section), "ManyBound": duration(manyBound), "Waiters": manyWaiters, "Many": r.manyRows(),
		"Locks": r.Plan.Watchdogs, "TTL": duration(ttl), "Hold": duration(r.Plan.Hold), "Watchdogs": r.watchdogRows(),
		"Machine": r.Machine, "RunTime": runTime, "Errors": r.errors(),
	})
}

// inShort is what most readers want to know. It gives figures and leaves the comparison to the
// reader: so each sentence is true of every run.
func (r *results) inShort() string {
	paced := func(name string) string { return seconds(median(r.Pairs[name].Paced).mid) }
	longer := func(a, b string) float64 { return ratio(r.Pairs[a].Paced, r.Pairs[b].Paced).mid }
	handoff := func(name string) float64 { return quantile(r.Waits[name].Handoffs, 0.5) }
	var polling []float64
	for _, name := range []string{"step 01", "step 02", "step 03", "step 04", "step 05"} {
		polling = append(polling, handoff(name))
	}
	polled := seconds(slices.Min(polling))
	if most := seconds(slices.Max(polling)); most != polled {
		polled += " to " + most
	}
	redsync := "redsync " + duration(r.Attempts[0].Lock) + " to lock"
	if r.Attempts[0].Failed != "" {
		redsync = "redsync's attempt fails"
	}
	return strings.Join([]string{
		fmt.Sprintf("A lock+unlock without competition takes %s in step 05 and %s in step 07, "+
			"%.2f and %.2f times as long as the two bare commands that no lock can do without.",
			paced("step 05"), paced("step 07"), longer("step 05", raw), longer("step 07", raw)),
		fmt.Sprintf("When the holder leaves, the next of ten waiters is inside after %s in step 06 and %s in step 07, "+
			"which are woken, and after %s in steps 01 to 05, which ask every 30 ms.",
			seconds(handoff("step 06")), seconds(handoff("step 07")), polled),
		fmt.Sprintf("Redlock on five nodes (step 08) takes %s, %.2f times as long as redsync on the same nodes; "+
			"with two of the five hung, step 08 takes %s, and %s.",
			paced("step 08 on 5"), longer("step 08 on 5", redsync5), seconds(median(r.Hung[twoHung].Paced).mid), redsync),
	}, "\n")
}

// overviewRows are those of the one table that is not folded: the locks that a reader compares.
func (r *results) overviewRows() (list [][]string) {
	for _, c := range waitingOnes() {
		if c.proc {
			continue
		}
		p, w := r.Pairs[c.name], r.Waits[c.name]
		list = append(list, []string{c.name, seconds(median(p.Paced).mid), fmt.Sprintf("%.0f", median(p.Allocs).mid),
			fmt.Sprintf("%.2g", r.Costs[c.name].Trips/float64(c.nodes)), w.commands("%.0f"), seconds(quantile(w.Handoffs, 0.5))})
	}
	return list
}

// manyPart writes what the page says of many waiters.
func (r *results) manyPart(w io.Writer) error {
	data := map[string]any{"Section": duration(section), "ManyBound": duration(manyBound), "Waiters": manyWaiters, "Many": r.manyRows(), "Errors": r.errors()}
	if err := report.ExecuteTemplate(w, "many", data); err != nil {
		return err
	}
	return report.ExecuteTemplate(w, "errors", data)
}

// goalCount says how many goals have which verdict.
func goalCount(goals []goal) string {
	var met, missed, even int
	for _, g := range goals {
		switch {
		case g.met:
			met++
		case g.even:
			even++
		default:
			missed++
		}
	}
	text := fmt.Sprintf("%d goals: %d met", len(goals), met)
	if missed > 0 {
		text += fmt.Sprintf(", %d missed", missed)
	}
	if even > 0 {
		text += fmt.Sprintf(", %d with no difference seen", even)
	}
	return text
}

func goalRows(goals []goal) (list [][]string) {
	for _, g := range goals {
		list = append(list, []string{g.what, g.limit, g.got, g.verdict()})
	}
	return list
}

// missedText says why goals were missed, each reason once.
func missedText(goals []goal) string {
	var items []string
	said := map[string]bool{}
	for _, g := range goals {
		if !g.met && !g.even && g.why != "" && !said[g.why] {
			said[g.why] = true
			items = append(items, fmt.Sprintf("- **Missed: %s.** %s", g.what, g.reason()))
		}
	}
	return strings.Join(items, "\n")
}

// apartOf writes what was measured with the client and the servers on processors of their
// own, or that it was not.
func (r *results) apartOf(write func(map[string]*pairs) string) string {
	if r.Apart == nil {
		return "-"
	}
	return write(r.Apart)
}

func (r *results) ratioRows() (one, five [][]string) {
	for _, c := range alone() {
		m := r.Pairs[c.name]
		busy := func(to string) string { return ratio(m.Busy, r.Pairs[to].Busy).String() }
		paced := func(to string) string { return ratio(m.Paced, r.Pairs[to].Paced).String() }
		apart := func(to string) string {
			return r.apartOf(func(a map[string]*pairs) string { return ratio(a[c.name].Busy, a[to].Busy).String() })
		}
		if c.nodes == 1 {
			one = append(one, []string{c.name, busy(raw), paced(raw), apart(raw), paced(bsmWatchdog), apart(bsmWatchdog)})
		} else {
			five = append(five, []string{c.name, busy(redsync5), paced(redsync5), apart(redsync5)})
		}
	}
	return one, five
}

func (r *results) hungRows() (list [][]string) {
	for _, name := range []string{allWell, twoHung} {
		m := r.Hung[name]
		list = append(list, []string{name, seconds(median(m.Busy).mid), seconds(median(m.Paced).mid),
			ratio(m.Busy, r.Hung[allWell].Busy).String(), ratio(m.Paced, r.Hung[allWell].Paced).String()})
	}
	return list
}

func (r *results) attemptRows() (list [][]string) {
	for _, a := range r.Attempts {
		row := []string{"redsync, " + a.Options, duration(a.Lock), duration(a.Unlock), ""}
		if a.Failed != "" {
			row = []string{"redsync, " + a.Options, "-", "-", a.Failed}
		}
		list = append(list, row)
	}
	return list
}

func (r *results) costRows() (list [][]string) {
	for _, c := range alone() {
		m := r.Costs[c.name]
		trips := fmt.Sprintf("%.3g", m.Trips)
		if c.nodes > 1 {
			trips += fmt.Sprintf(", %.3g on each node", m.Trips/float64(c.nodes))
		}
		list = append(list, []string{c.name, trips, fmt.Sprintf("%.3g", m.Commands), fmt.Sprintf("%.0f", m.Bytes)})
	}
	return list
}

func (r *results) waitingRows() (list [][]string) {
	for _, c := range waitingOnes() {
		w := r.Waits[c.name]
		list = append(list, []string{c.name, w.commands("%.2f"), seconds(quantile(w.Handoffs, 0.5)),
			seconds(quantile(w.Handoffs, 0.99)), fmt.Sprint(len(w.Handoffs))})
	}
	return list
}

func (r *results) manyRows() (list [][]string) {
	for _, c := range manyOnes() {
		row := []string{c.name}
		for _, n := range manyWaiters {
			row = append(row, r.Many[c.name][n].cell(n))
		}
		list = append(list, row)
	}
	return list
}

func (r *results) watchdogRows() (list [][]string) {
	kib := func(bytes float64) string { return fmt.Sprintf("%.1f KiB", bytes/1024) }
	for _, name := range watched {
		w := r.Watchdogs[name]
		list = append(list, []string{name, fmt.Sprintf("%d, %d", w.Goroutines, w.PeakGoroutines), kib(w.Heap) + ", " + kib(w.Stack),
			fmt.Sprintf("%.0f MiB", w.PeakRSS/(1<<20)), fmt.Sprintf("%.0f", w.Commands), fmt.Sprintf("%.1f%%", 100*w.CPU/r.Plan.Hold.Seconds()),
			fmt.Sprintf("%d, %d", w.Lost, w.Locks-w.Unlocked)})
	}
	return list
}

func (r *results) absoluteRows() (list [][]string) {
	for _, c := range alone() {
		m := r.Pairs[c.name]
		other := raw
		if c.nodes > 1 {
			other = redsync5
		}
		differs := ""
		if p := differ(m.Busy, r.Pairs[other].Busy); c.name != other && !math.IsNaN(p) {
			differs = fmt.Sprintf("%.3f", p)
		}
		list = append(list, []string{c.name, micros(m.Busy), fmt.Sprintf("%.0f to %.0f", quantile(m.Busy, 0.1)*1e6, quantile(m.Busy, 0.9)*1e6),
			micros(m.Paced), r.apartOf(func(a map[string]*pairs) string { return micros(a[c.name].Busy) }),
			fmt.Sprintf("%.0f", median(m.Allocs).mid), fmt.Sprintf("%.0f", median(m.Bytes).mid), differs})
	}
	return list
}

func micros(seconds []float64) string {
	e := median(seconds)
	return fmt.Sprintf("%.1f ± %.0f%%", e.mid*1e6, 100*max(e.hi/e.mid-1, 1-e.lo/e.mid))
}

// errors says which locks and unlocks failed while nothing was wrong with the servers.
func (r *results) errors() (list []string) {
	say := func(where string, f failures) {
		if f.Count > 0 {
			list = append(list, fmt.Sprintf("%d calls failed and were made again (%s); the first one: %s", f.Count, where, f.First))
		}
	}
	sayPairs := func(where string, p *pairs) {
		if p != nil {
			say(where, p.Failed)
		}
	}
	for _, c := range contestants {
		sayPairs(c.name+", uncontended", r.Pairs[c.name])
		sayPairs(c.name+", apart", r.Apart[c.name])
		if w := r.Waits[c.name]; w != nil {
			say(c.name+", waiting", w.Failed)
		}
	}
	for _, c := range manyOnes() {
		for _, n := range manyWaiters {
			if m := r.Many[c.name][n]; m != nil {
				say(fmt.Sprintf("%s, %d waiters", c.name, n), m.Failed)
			}
		}
	}
	for _, name := range []string{allWell, twoHung} {
		sayPairs(name, r.Hung[name])
	}
	return list
}

// machine is the class of the machine, not its name, what ran on it, when and for how long.
func (p plan) machine(redisVersion string, took time.Duration) string {
	model := "processor"
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	var libraries []string
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, path := range []string{"github.com/redis/go-redis/v9", "github.com/bsm/redislock", "github.com/go-redsync/redsync/v4", "github.com/redis/rueidis"} {
			for _, m := range info.Deps {
				if m.Path == path {
					name := strings.NewReplacer("github.com/", "", "/v9", "", "/v4", "").Replace(path)
					libraries = append(libraries, name+" "+m.Version)
				}
			}
		}
	}
	return fmt.Sprintf("%d CPUs (%s), %s/%s, %s, Redis %s without persistence on the same machine; %s. %s, %d rounds; the run took %v.",
		runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, runtime.Version(), redisVersion, strings.Join(libraries, ", "),
		time.Now().UTC().Format("2 January 2006"), p.Rounds, took.Round(time.Second))
}

package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"io"
	"maps"
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
	for _, th := range themes {
		svg, err := r.plot(th)
		if err != nil {
			return nil, err
		}
		files[th.File] = svg
	}
	return files, nil
}

// page writes docs/read/benchmarks.md.
func (r *results) page(w io.Writer) error {
	var counts []int
	for _, c := range waitingOnes() {
		counts = append(counts, len(r.Waits[c.name].Handoffs))
	}
	hung, well := r.Hung[twoHung].Paced, r.Hung[allWell].Paced
	return report.Execute(w, map[string]any{
		"Quick": r.Plan == quick, "InShort": r.inShort(), "Themes": themes, "Alt": plotTitle + ". " + r.plotDesc(), "Locks": r.lockRows(),
		"Rounds": r.Plan.Rounds, "CostPairs": r.Plan.Costs, "Uncontended": r.uncontendedRows(),
		"HungTime": seconds(median(hung).mid), "WellTime": seconds(median(well).mid), "HungRatio": ratio(hung, well), "Attempts": r.attemptRows(),
		"Fewest": slices.Min(counts), "Most": slices.Max(counts),
		"Section": duration(section), "ManyBound": duration(manyBound), "Waiters": manyWaiters, "Many": r.manyRows(),
		"Machine": r.Machine, "RunTime": runTime, "Failed": r.failedRows(),
	})
}

// inShort is what most readers want to know. It gives figures and leaves the comparison to the
// reader: so each sentence is true of every run.
func (r *results) inShort() string {
	paced := func(name string) string { return seconds(median(r.Pairs[name].Paced).mid) }
	var polling []float64
	for _, name := range []string{"step 01", "step 02", "step 03", "step 04", "step 05"} {
		polling = append(polling, quantile(r.Waits[name].Handoffs, 0.5))
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
		fmt.Sprintf("A lock+unlock without competition takes %s in step 05 and %s in step 07; "+
			"the two bare commands that no lock can do without take %s.", paced("step 05"), paced("step 07"), paced(raw)),
		fmt.Sprintf("When the holder leaves, the next of ten waiters is inside after %s in step 06 and %s in step 07, "+
			"which are woken, and after %s in steps 01 to 05, which ask every 30 ms.",
			r.handoff("step 06", 0.5), r.handoff("step 07", 0.5), polled),
		fmt.Sprintf("Redlock on five nodes takes %s in step 08, and %s in redsync; with two of the five hung, step 08 takes %s, and %s.",
			paced("step 08 on 5"), paced(redsync5), seconds(median(r.Hung[twoHung].Paced).mid), redsync),
	}, "\n")
}

// lockRows are those of the one table that is not folded: the locks that a reader compares.
func (r *results) lockRows() (list [][]string) {
	for _, c := range waitingOnes() {
		if c.proc {
			continue
		}
		p, commands := r.Pairs[c.name], "-"
		if measured := r.Waits[c.name].Commands; len(measured) > 0 {
			commands = fmt.Sprintf("%.0f", quantile(measured, 0.5))
		}
		list = append(list, []string{c.name, seconds(median(p.Paced).mid), fmt.Sprintf("%.0f", median(p.Allocs).mid),
			fmt.Sprintf("%.2g", r.Costs[c.name].Trips/float64(c.nodes)), commands, r.handoff(c.name, 0.5), r.handoff(c.name, 0.99)})
	}
	return list
}

func (r *results) uncontendedRows() (list [][]string) {
	for _, c := range alone() {
		bare, library := raw, bsmWatchdog
		if c.nodes > 1 {
			bare, library = rawFive, redsync5
		}
		p, cost := r.Pairs[c.name], r.Costs[c.name]
		over := func(other string) string {
			if other == c.name {
				return "1"
			}
			return ratio(p.Paced, r.Pairs[other].Paced).String()
		}
		list = append(list, []string{c.name, over(bare), over(library), seconds(median(p.Paced).mid), seconds(median(p.Busy).mid),
			fmt.Sprintf("%.3g", cost.Commands), fmt.Sprintf("%.0f", cost.Bytes)})
	}
	return list
}

func (r *results) attemptRows() (list [][]string) {
	for _, a := range r.Attempts {
		row := []string{a.Options, duration(a.Lock), duration(a.Unlock)}
		if a.Failed != "" {
			row = []string{a.Options + ": " + a.Failed, "-", "-"}
		}
		list = append(list, row)
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

func (r *results) failedRows() (list []string) {
	for _, where := range slices.Sorted(maps.Keys(r.Failed)) {
		f := r.Failed[where]
		list = append(list, fmt.Sprintf("%d calls failed and were made again (%s); the first one: %s", f.Count, where, f.First))
	}
	return list
}

// machine is the class of the machine, not its name, what ran on it, and when.
func (p plan) machine(redisVersion string) string {
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
		for _, m := range info.Deps {
			switch m.Path {
			case "github.com/redis/go-redis/v9", "github.com/bsm/redislock", "github.com/go-redsync/redsync/v4", "github.com/redis/rueidis":
				libraries = append(libraries, strings.NewReplacer("github.com/", "", "/v9", "", "/v4", "").Replace(m.Path)+" "+m.Version)
			}
		}
	}
	return fmt.Sprintf("%d CPUs (%s), %s/%s, %s, Redis %s without persistence on the same machine; %s. %s, %d rounds.",
		runtime.NumCPU(), model, runtime.GOOS, runtime.GOARCH, runtime.Version(), redisVersion, strings.Join(libraries, ", "),
		time.Now().UTC().Format("2 January 2006"), p.Rounds)
}

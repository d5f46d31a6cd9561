package main

import (
	"fmt"
	"io"
	"math"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"
)

// page writes docs/benchmarks.md.
func (r *results) page(w io.Writer) error {
	var p page
	p.head(r)
	p.goals(r.goals())
	p.ratios(r)
	p.hung(r)
	p.costs(r)
	p.waiting(r)
	p.many(r)
	p.contention(r)
	p.watchdogs(r)
	p.absolute(r)
	p.errors(r)
	p.text(`
## Again

	cd docs/bench
	go run . -write          # about fourteen minutes, on a quiet machine; writes this page and the plots
	go run . -raw pairs.txt  # and keeps the single measurements of uncontended pairs
	go tool benchstat -col /lock pairs.txt
	go run . -many           # only many waiters, in about two minutes
	go run . -quick          # half a minute; shows that the program works, the figures mean nothing

It needs redis-server (Debian: ` + "`apt install redis-server`, macOS: `brew install redis`" + `), and starts ten on loopback, which it kills at its end.

## What these figures do not say

- Servers and clients share one machine. Over a network, a round trip costs ten to a hundred times as much, the number of round trips
  decides, and the ratios of uncontended pairs move towards 1; and there, five nodes and the client do not compete for processors.
- Nothing is persisted and nothing is replicated. With appendfsync always, each write waits for the disk.
- A client that waits here has connections of its own, as a process of its own would; "one Locker" is the exception, and says so.
- The locks do not give the same. Steps 01 to 04 are faster because something is missing in them that a lock needs. bsm/redislock and
  redsync wake nobody; only step 07, step 08 and rueidislock renew by themselves and tell the holder of a loss; rueidislock tells
  of a foreign delete at once. None of them excludes two holders without fencing at the resource.
`)
	_, err := io.WriteString(w, p.String())
	return err
}

type page struct{ strings.Builder }

// text writes s; an indented line is code.
func (p *page) text(s string) {
	p.WriteString(codeBlocks(strings.TrimPrefix(s, "\n")))
}

func (p *page) textf(format string, args ...any) { p.text(fmt.Sprintf(format, args...)) }

// codeBlocks fences lines that begin with a tab as sh.
func codeBlocks(s string) string {
	var b strings.Builder
	code := false
	for line := range strings.Lines(s) {
		rest, indented := strings.CutPrefix(line, "\t")
		if indented != code {
			if indented {
				b.WriteString("```sh\n")
			} else {
				b.WriteString("```\n")
			}
			code = indented
		}
		b.WriteString(rest)
	}
	if code {
		b.WriteString("```\n")
	}
	return b.String()
}

// wrap breaks s into lines of at most 125 characters, each but the first with an indent.
func wrap(s, indent string) string {
	var b strings.Builder
	length := len(indent)
	for i, word := range strings.Fields(s) {
		if i > 0 && length+1+utf8.RuneCountInString(word) > 125 {
			b.WriteString("\n" + indent)
			length = len(indent)
		} else if i > 0 {
			b.WriteString(" ")
			length++
		}
		b.WriteString(word)
		length += utf8.RuneCountInString(word)
	}
	return b.String()
}

// table writes rows under a head; all columns but the first are set to the right.
func (p *page) table(head []string, rows [][]string) {
	p.WriteString("| " + strings.Join(head, " | ") + " |\n|---|" + strings.Repeat("---:|", len(head)-1) + "\n")
	for _, row := range rows {
		p.WriteString("| " + strings.Join(row, " | ") + " |\n")
	}
	p.WriteString("\n")
}

func (p *page) head(r *results) {
	p.text(`
# Benchmarks: the eight locks beside the libraries people use

Written by [docs/bench](bench); change that, not this page. All contestants ran in one process and in turns, in a new random order each
round, so that whatever disturbs the machine disturbs all of them. Each is used as its README shows
([bsm/redislock](https://github.com/bsm/redislock#readme), [redsync](https://github.com/go-redsync/redsync#readme),
[rueidislock](https://github.com/redis/rueidis/tree/main/rueidislock#readme) with KeyMajority 1 and NoLoopTracking), those on go-redis with
its [default options](https://pkg.go.dev/github.com/redis/go-redis/v9#Options), on real redis-server processes. Ratios are medians of the
ratios of each round, with the 95% interval of
[benchmath](https://pkg.go.dev/golang.org/x/perf/benchmath), the arithmetic of benchstat.

`)
	if r.plan == quick {
		p.text("**From a -quick run: these figures mean nothing.**\n\n")
	}
}

func (p *page) goals(goals []goal) {
	p.text("## Goals\n\n")
	var rows [][]string
	for _, g := range goals {
		rows = append(rows, []string{g.what, g.limit, g.got, g.verdict()})
	}
	p.table([]string{"what", "goal", "measured", ""}, rows)
	told := map[string]bool{}
	for _, g := range goals {
		if !g.met && !g.even && g.why != "" && !told[g.why] {
			told[g.why] = true
			p.textf("- **Missed: %s.**\n  %s\n", g.what, wrap(g.why, "  "))
		}
	}
	if len(told) > 0 {
		p.WriteString("\n")
	}
}

func (p *page) ratios(r *results) {
	p.text(`
## Uncontended lock+unlock

One client makes a handle, locks, unlocks. "raw pair" is the least that a lock can send: SET NX PX and a compare-and-delete by EVALSHA,
with a fixed token and without a look at the answers. "Busy": one pair right after the other. "Paced": a millisecond of rest before
each, so that what the pair before has left to do is done; that is nearer to a service, which seldom locks without a pause. "Apart":
busy, with the client on one half of the processors and the servers on the other, as on two machines. With two processors, the client
has one, where its goroutines do not wake a second thread; on a larger machine they do.

Without that, a client that works in one goroutine and its server often end up on one processor, where they take turns without
waking another one. A lock that starts a goroutine wakes others all the time. So the busy ratios say where the kernel put the
processes as much as what the locks cost (the absolute times below show how far the rounds of one lock are apart): they are for
information, and no goal judges them.

`)
	ratios := func(a, b []float64) string { return ratio(a, b).String() }
	apart := func(a, b string) string {
		if r.apart == nil {
			return "-"
		}
		return ratios(r.apart[a].Busy, r.apart[b].Busy)
	}
	var one, five [][]string
	for _, c := range alone() {
		m := r.pairs[c.name]
		if c.nodes == 1 {
			one = append(one, []string{c.name, ratios(m.Busy, r.pairs[raw].Busy), ratios(m.Paced, r.pairs[raw].Paced), apart(c.name, raw),
				ratios(m.Paced, r.pairs[bsmWatchdog].Paced), apart(c.name, bsmWatchdog)})
		} else {
			five = append(five, []string{c.name, ratios(m.Busy, r.pairs[redsync5].Busy), ratios(m.Paced, r.pairs[redsync5].Paced), apart(c.name, redsync5)})
		}
	}
	p.table([]string{"lock", "busy / raw pair", "paced / raw pair", "apart / raw pair", "paced / bsm + watchdog", "apart / bsm + watchdog"}, one)
	p.table([]string{"lock", "busy / redsync on 5", "paced / redsync on 5", "apart / redsync on 5"}, five)
	p.textf("%q is bsm/redislock with the [watchdog of its README](https://github.com/bsm/redislock#external-watchdog),\nwhich a user writes: what step 07 has inside.\n\n", bsmWatchdog)
}

func (p *page) hung(r *results) {
	p.text(`
## Two of five nodes hang

Two of the five servers are stopped with SIGSTOP: they take connections and commands, and never answer. go-redis has its default
options, so it [waits 5 s](https://github.com/redis/go-redis/blob/v9.23.0/options.go) for an answer and then asks again.

`)
	var rows [][]string
	for _, name := range []string{allWell, twoHung} {
		m := r.hung[name]
		rows = append(rows, []string{name, seconds(median(m.Busy).mid), seconds(median(m.Paced).mid),
			ratio(m.Busy, r.hung[allWell].Busy).String(), ratio(m.Paced, r.hung[allWell].Paced).String()})
	}
	p.table([]string{"", "busy", "paced", "busy / none hung", "paced / none hung"}, rows)
	p.text("redsync on the same five servers, two of them stopped, its expiry the default 8 s, one attempt each:\n\n")
	rows = nil
	for _, a := range r.attempts {
		row := []string{"redsync, " + a.options, duration(a.lock), duration(a.unlock), ""}
		if a.err != nil {
			row = []string{"redsync, " + a.options, "-", "-", a.err.Error()}
		}
		rows = append(rows, row)
	}
	p.table([]string{"", "Lock", "Unlock", ""}, rows)
}

func (p *page) costs(r *results) {
	p.textf(`
## Round trips and commands

Counted over %d uncontended pairs, all warm: round trips at the client's connections, commands by INFO commandstats, also in scripts.

`, r.plan.costs)
	var rows [][]string
	for _, c := range alone() {
		m := r.costs[c.name]
		trips := fmt.Sprintf("%.3g", m.trips)
		if c.nodes > 1 {
			trips += fmt.Sprintf(", %.3g on each node", m.trips/float64(c.nodes))
		}
		rows = append(rows, []string{c.name, trips, fmt.Sprintf("%.3g", m.commands), fmt.Sprintf("%.0f", m.bytes)})
	}
	p.table([]string{"lock", "round trips", "server commands", "bytes on the wire"}, rows)
}

func (p *page) waiting(r *results) {
	p.textf(`
## Ten wait, one holds

Eleven clients with connections of their own. First the holder stays: commands that the waiters send. Then it leaves, stays out until
another one is in, and so on: the hand-off is the time from the call of the holder's Unlock to the return of the next holder's Lock.
Holds are 10 to 30 ms. Steps 01 to 05 ask every 30 ms, bsm/redislock every 100 ms (its
[example](https://pkg.go.dev/github.com/bsm/redislock#example-Client.Obtain-Retry)), redsync after 50 to 250 ms
([its default](https://pkg.go.dev/github.com/go-redsync/redsync/v4#WithRetryDelay)), step 08 after 50 to 100 ms. "One Locker" is
rueidislock with all eleven in one process: its Locker then asks once for all of them.

`)
	var rows [][]string
	for _, c := range waitingOnes() {
		w := r.waits[c.name]
		rows = append(rows, []string{c.name, fmt.Sprintf("%.2f", quantile(w.commands, 0.5)), seconds(quantile(w.handoffs, 0.5)), seconds(quantile(w.handoffs, 0.99)),
			fmt.Sprint(len(w.handoffs))})
	}
	p.table([]string{"lock", "commands/s per waiter", "hand-off, median", "p99", "hand-offs"}, rows)
	p.text("![Share of hand-offs that took at most a time](bench/plots/handoff.svg)\n")
}

func (p *page) many(r *results) {
	p.textf(`
## Many wait in one process

One client holds the lock. In another process, so to speak, N goroutines wait with a handle each and share one go-redis client, as the
requests of a service do. When all have asked, the holder leaves. Each waiter stays inside for %s. Time from the holder's Unlock until
the last waiter has left, or how many were inside in %s; commands that the servers ran meanwhile, those called by scripts included;
connections that the waiters' client opened.

`, duration(section), duration(manyBound))
	head, at := []string{"lock"}, func(name string, n int) *many { return r.lines[line{name, n}] }
	for _, n := range manyWaiters {
		head = append(head, fmt.Sprintf("%d waiters", n), "commands", "connections")
	}
	var rows [][]string
	for _, c := range manyOnes() {
		row := []string{c.name}
		for _, n := range manyWaiters {
			row = append(row, at(c.name, n).cells(n)...)
		}
		rows = append(rows, row)
	}
	p.table(head, rows)
	p.text(`
A release wakes all who wait in steps 06 and 07, and all ask: together N²/2 attempts of three commands, and a connection for each
waiter. The attempts of one process also wait for its pool's connections, and so does its Unlock: where they pile up for longer than
Unlock waits, the lock stays for its ttl; in step 08, where they do for longer than NodeTimeout, nobody has a majority in time, and
nobody gets in. "One at a time" is a channel with room for one around the lock, from before Lock to after Unlock: one goroutine of the
process asks, and the others wait for it in memory. With that, and with "one Locker", N is the number of processes.

`)
}

func (p *page) contention(r *results) {
	p.textf(`
## Contention

1, 4, 16 and 64 clients, each with connections of its own, lock and unlock for %s as fast as they can and do nothing inside. Fairness is
[Jain's index](https://en.wikipedia.org/wiki/Fairness_measure): 1 if all got in equally often, 1/n if one of n had it all. Look at
both: with a lock that polls, whoever has just left is back before the others ask again. That is a high rate, and they starve.

![Locks per second on one key](bench/plots/one-key.svg)
![Fairness on one key](bench/plots/fairness.svg)
![Locks per second on a key for each client](bench/plots/own-keys.svg)

Steps 01 to 04 are not drawn: they wait as step 05 does. One key, locks per second and fairness:

`, duration(r.plan.fight))
	head := []string{"lock"}
	for _, n := range contenders {
		head = append(head, fmt.Sprint(n))
	}
	var one, own [][]string
	doubles := 0
	for _, c := range contestants {
		row, rowOwn := []string{c.name}, []string{c.name}
		for _, n := range contenders {
			if f, ok := r.fights[fight{c.name, n, true}]; ok {
				doubles += f.doubles
				row = append(row, fmt.Sprintf("%.0f, %.2f", f.rate, f.fairness))
			}
			rowOwn = append(rowOwn, fmt.Sprintf("%.0f", r.fights[fight{c.name, n, false}].rate))
		}
		if c.waits {
			one = append(one, row)
		}
		own = append(own, rowOwn)
	}
	p.table(head, one)
	p.text("A key for each, locks per second:\n\n")
	p.table(head, own)
	if doubles == 0 {
		p.text("Nobody ever met somebody else inside.\n\n")
	} else {
		p.textf("**%d times somebody met somebody else inside.**\n\n", doubles)
	}
}

func (p *page) watchdogs(r *results) {
	p.textf(`
## Watchdogs

For each contestant, a process of its own takes %d locks with a ttl of %s and holds them for %s. redsync has no
watchdog; that of bsm/redislock is the one in its README. Steps 07, 08 and bsm/redislock renew every ttl/3, rueidislock every ttl/2. All
locks were taken at about the same time, so the renewals come in bursts: "at most" is such a moment; goroutines at rest, heap and stacks
are those between two bursts.

`, r.plan.watchdogs, duration(ttl), duration(r.plan.hold))
	var rows [][]string
	for _, name := range watched {
		w := r.dogs[name]
		rows = append(rows, []string{name, fmt.Sprint(w.Goroutines), fmt.Sprint(w.PeakGoroutines), kib(w.Heap), kib(w.Stack), mib(w.PeakRSS),
			fmt.Sprintf("%.0f", w.Commands), fmt.Sprintf("%.1f%%", 100*w.CPU/r.plan.hold.Seconds()), fmt.Sprint(w.Lost), fmt.Sprint(w.Locks - w.Unlocked)})
	}
	p.table([]string{"lock", "goroutines at rest", "at most", "heap per lock", "stacks per lock", "RSS, at most", "server commands/s", "of one CPU", "lost", "not released"}, rows)
}

func kib(bytes float64) string { return fmt.Sprintf("%.1f KiB", bytes/1024) }
func mib(bytes float64) string { return fmt.Sprintf("%.0f MiB", bytes/(1<<20)) }

func (p *page) absolute(r *results) {
	p.text("## Absolute times\n\n")
	p.text(wrap(fmt.Sprintf("%s, %s/%s, %s, Redis %s without persistence on the same machine; %s. %s, %d rounds; the run took %v.",
		cpu(), runtime.GOOS, runtime.GOARCH, runtime.Version(), r.redisVersion, libraries(), time.Now().UTC().Format("2 January 2006"),
		r.plan.rounds, r.took.Round(time.Second)), "") + "\n\n")
	var rows [][]string
	for _, c := range alone() {
		m := r.pairs[c.name]
		other := raw
		if c.nodes > 1 {
			other = redsync5
		}
		apart := "-"
		if r.apart != nil {
			apart = micros(median(r.apart[c.name].Busy))
		}
		rows = append(rows, []string{c.name, micros(median(m.Busy)), fmt.Sprintf("%.0f to %.0f", quantile(m.Busy, 0.1)*1e6, quantile(m.Busy, 0.9)*1e6),
			micros(median(m.Paced)), apart, fmt.Sprintf("%.0f", median(m.Allocs).mid),
			fmt.Sprintf("%.0f", median(m.Bytes).mid), pValue(differ(m.Busy, r.pairs[other].Busy), c.name == other)})
	}
	p.table([]string{"uncontended lock+unlock", "busy, µs", "8 of 10 rounds", "paced, µs", "apart, µs", "allocs", "bytes", "differs (p)"}, rows)
	p.text("p: Mann-Whitney U, busy, against the raw pair, or redsync on 5. Allocations are those of the whole process.\n\n")
}

// errors tells of locks and unlocks that failed while nothing was wrong with the servers.
func (p *page) errors(r *results) {
	say := func(where string, errs []string) {
		if len(errs) > 0 {
			p.textf("%d calls failed and were made again (%s); the first one: %s\n\n", len(errs), where, errs[0])
		}
	}
	for _, c := range contestants {
		if m := r.pairs[c.name]; m != nil {
			say(c.name+", uncontended", m.Errs)
		}
		if m := r.apart[c.name]; m != nil {
			say(c.name+", apart", m.Errs)
		}
		if w := r.waits[c.name]; w != nil {
			say(c.name+", waiting", w.errs)
		}
	}
	for _, c := range manyOnes() {
		for _, n := range manyWaiters {
			if m := r.lines[line{c.name, n}]; m != nil {
				say(fmt.Sprintf("%s, %d waiters", c.name, n), m.errs)
			}
		}
	}
	for _, name := range []string{allWell, twoHung} {
		if m := r.hung[name]; m != nil {
			say(name, m.Errs)
		}
	}
}

func micros(e estimate) string {
	return fmt.Sprintf("%.1f ± %.0f%%", e.mid*1e6, 100*max(e.hi/e.mid-1, 1-e.lo/e.mid))
}

func pValue(p float64, self bool) string {
	if self || math.IsNaN(p) {
		return ""
	}
	return fmt.Sprintf("%.3f", p)
}

// cpu is the class of the machine, not its name.
func cpu() string {
	model := "processor"
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			model = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("%d CPUs (%s)", runtime.NumCPU(), model)
}

// libraries are the versions this program was built with.
func libraries() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "libraries of unknown version"
	}
	var list []string
	for _, path := range []string{"github.com/redis/go-redis/v9", "github.com/bsm/redislock", "github.com/go-redsync/redsync/v4", "github.com/redis/rueidis"} {
		for _, m := range info.Deps {
			if m.Path == path {
				name := strings.TrimPrefix(path, "github.com/")
				list = append(list, strings.TrimSuffix(strings.TrimSuffix(name, "/v9"), "/v4")+" "+m.Version)
			}
		}
	}
	return strings.Join(list, ", ")
}

func benchName(name string) string {
	return strings.NewReplacer(" ", "_", "/", "_", ",", "").Replace(name)
}

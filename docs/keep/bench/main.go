// Command bench runs the benchmarks of this folder in rounds, and writes their medians, with the
// 95% confidence intervals of benchstat, into docs/read/benchmarks.md.
//
//	go run -C docs/keep ./bench -rounds 10 /tmp/bench.txt   # twenty minutes on a quiet machine
//	go run -C docs/keep ./bench -rounds 0 /tmp/bench.txt    # the page again, from the same results
//
// The file is what go test has printed. What the page leaves out, benchstat -row /lock shows.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
	"golang.org/x/perf/benchunit"
)

func main() {
	log.SetFlags(0)
	rounds := flag.Int("rounds", 10, "how often to run all benchmarks, from six on with confidence intervals")
	flag.Parse()
	err := measure(*rounds, flag.Arg(0))
	if err == nil {
		err = write(flag.Arg(0), "../read/benchmarks.md")
	}
	if err != nil {
		log.Fatal(err)
	}
}

// measure adds rounds to a file. What disturbs the machine disturbs all contestants of a round.
func measure(rounds int, file string) error {
	out, err := os.OpenFile(file, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil || rounds == 0 {
		return err
	}
	defer out.Close()
	fmt.Fprintf(out, "machine: %d CPUs, %s/%s, %s, %s, %d rounds\n",
		runtime.NumCPU(), runtime.GOOS, runtime.GOARCH, runtime.Version(), time.Now().UTC().Format("2 January 2006"), rounds)
	run := func(benchmarks, benchtime string) {
		cmd := exec.Command("go", "test", "-run=^$", "-timeout=1h", "-bench="+benchmarks, "-benchtime="+benchtime, "./bench")
		cmd.Stdout, cmd.Stderr = io.MultiWriter(os.Stdout, out), os.Stderr
		if err == nil {
			err = cmd.Run()
		}
	}
	for range rounds {
		run("Pair|Hung", "300ms")
		run("Waiters/waiters=100?$", "1x")
	}
	run("Holds|Waiters/waiters=1000$", "1x") // once: each takes up to half a minute
	return err
}

// A column has a figure of each lock.
type column struct{ title, benchmark, unit string }

// tables are those of the page, each with a row for each lock that has its first column.
var tables = map[string][]column{
	"locks": {
		{"client", "Pair/call=busy", "client-sec/op"},
		{"Redis", "Pair/call=busy", "redis-sec/op"},
		{"bytes sent", "Pair/call=busy", "sent-bytes/op"},
	},
	"hung": {{"lock+unlock", "Hung", "sec/op"}},
	"waiters": {
		{"commands of 10", "Waiters/waiters=10", "commands/op"}, {"of 100", "Waiters/waiters=100", "commands/op"},
		{"of 1,000", "Waiters/waiters=1000", "commands/op"}, {"time of 1,000", "Waiters/waiters=1000", "sec/op"},
		{"left out", "Waiters/waiters=1000", "left-out/op"},
	},
	"holds": {
		{"bytes of each", "Holds", "B/hold"}, {"goroutines", "Holds", "goroutines"},
		{"commands/s", "Holds", "commands/s"}, {"client's processors", "Holds", "processors"}, {"lost", "Holds", "lost"},
	},
}

// write writes the tables into the page.
func write(file, page string) error {
	in, err := os.Open(file)
	if err != nil {
		return err
	}
	defer in.Close()
	text, err := os.ReadFile(page)
	if err != nil {
		return err
	}
	values, locks, machine := map[string][]float64{}, []string{}, "" // by name and unit, in rounds
	for all := benchfmt.NewReader(in, file); all.Scan(); {
		if result, ok := all.Result().(*benchfmt.Result); ok {
			name := result.Name.String()
			name = name[:strings.LastIndex(name, "-")] // the number of processors
			for _, v := range result.Values {
				values[name+" "+v.Unit] = append(values[name+" "+v.Unit], v.Value)
			}
			if _, lock, _ := strings.Cut(name, "/lock="); !slices.Contains(locks, lock) {
				locks = append(locks, lock)
			}
			machine = result.GetConfig("machine") + ", " + result.GetConfig("cpu") + ".\n"
		}
	}
	put := func(name, table string) {
		begin, end := "<!-- table: "+name+" -->\n", "<!-- /table -->\n"
		before, rest, begins := strings.Cut(string(text), begin)
		_, after, ends := strings.Cut(rest, end)
		if !begins || !ends {
			err = fmt.Errorf("%s has no %s...%s", page, begin, end)
		}
		text = []byte(before + begin + table + end + after)
	}
	put("machine", machine)
	for name, columns := range tables {
		head, line, rows := "| lock |", "|---|", ""
		for _, c := range columns {
			head, line = head+" "+c.title+" |", line+"---:|"
		}
		for _, lock := range locks {
			if values[columns[0].of(lock)] != nil {
				rows += "| " + strings.NewReplacer("bsm_", "bsm/", "_", " ").Replace(lock) + " |"
				for _, c := range columns {
					rows += " " + c.cell(values[c.of(lock)]) + " |"
				}
				rows += "\n"
			}
		}
		put(name, head+"\n"+line+"\n"+rows)
	}
	return cmp.Or(err, os.WriteFile(page, text, 0o644))
}

func (c column) of(lock string) string { return c.benchmark + "/lock=" + lock + " " + c.unit }

// cell has the median and the confidence interval, if there is one; not a figure that may be
// twice as large.
func (c column) cell(sample []float64) string {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(sample, &benchmath.DefaultThresholds), 0.95)
	figure := fmt.Sprintf("%.2f", s.Center)
	switch {
	case c.unit == "processors":
	case strings.HasSuffix(c.unit, "sec/op"):
		figure = benchunit.Scale(s.Center, benchunit.Decimal) + "s"
	default:
		figure = fmt.Sprintf("%.0f", s.Center)
	}
	if interval := s.PctRangeString(); interval != "∞" && interval != "0%" {
		if len(interval) > len("99%") && interval != "100%" {
			return "–"
		}
		figure += " ± " + interval
	}
	return figure
}

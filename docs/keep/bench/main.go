// Command bench runs the benchmarks of this folder in rounds, and writes their medians, in round
// figures, into docs/read/benchmarks.md.
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
	"math"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/perf/benchfmt"
	"golang.org/x/perf/benchmath"
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
		{"client CPU", "Pair/call=busy", "client-sec/op"},
		{"Redis CPU", "Pair/call=busy", "redis-sec/op"},
		{"bytes sent", "Pair/call=busy", "sent-bytes/op"},
	},
	"hung": {{"lock+unlock", "Hung", "sec/op"}},
	"waiters": {
		{"commands of 10", "Waiters/waiters=10", "commands/op"}, {"of 100", "Waiters/waiters=100", "commands/op"},
		{"of 1,000", "Waiters/waiters=1000", "commands/op"}, {"time of 1,000", "Waiters/waiters=1000", "sec/op"},
	},
	"holds": {
		{"bytes of each", "Holds", "B/hold"}, {"goroutines", "Holds", "goroutines"},
		{"commands/s", "Holds", "commands/s"}, {"client CPUs busy", "Holds", "processors"}, {"lost", "Holds", "lost"},
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
					cell := c.cell(values[c.of(lock)])
					if left := values[column{"", c.benchmark, "left-out/op"}.of(lock)]; c.unit == "sec/op" && left != nil && left[0] > 0 {
						cell = fmt.Sprintf("over 30 s: %.0f left out", left[0])
					}
					rows += " " + cell + " |"
				}
				rows += "\n"
			}
		}
		put(name, head+"\n"+line+"\n"+rows)
	}
	return cmp.Or(err, os.WriteFile(page, text, 0o644))
}

func (c column) of(lock string) string { return c.benchmark + "/lock=" + lock + " " + c.unit }

// cell has the median; with ~, if it is uncertain by more than 30 %.
func (c column) cell(sample []float64) (figure string) {
	s := benchmath.AssumeNothing.Summary(benchmath.NewSample(sample, &benchmath.DefaultThresholds), 0.95)
	if far := max(s.Hi-s.Center, s.Center-s.Lo); far > 0.3*s.Center && !math.IsInf(far, 0) {
		figure = "~"
	}
	switch {
	case !strings.HasSuffix(c.unit, "sec/op"):
		return figure + number(s.Center)
	case s.Center < 1e-3:
		return figure + number(s.Center*1e6) + " µs"
	}
	return figure + number(s.Center) + " s"
}

// number has two significant digits.
func number(n float64) string {
	n, _ = strconv.ParseFloat(fmt.Sprintf("%.1e", n), 64)
	text := strconv.FormatFloat(n, 'f', -1, 64)
	for i := len(text) - 3; i > 0 && n >= 1000; i -= 3 {
		text = text[:i] + "," + text[i:]
	}
	return text
}

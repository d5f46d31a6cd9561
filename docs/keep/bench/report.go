package main

import (
	"cmp"
	_ "embed"
	"fmt"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"text/template"
	"time"
)

//go:embed report.tmpl
var reportSource string

// report writes docs/read/benchmarks.md.
var report = template.Must(template.New("report").Funcs(template.FuncMap{
	"time":        duration,
	"contestants": func() []string { return names(contestants) },
	"many":        func() []string { return names(manyOnes()) },
	"waiters":     func() []int { return manyWaiters },
	"section":     func() string { return duration(section) },
	"manyBound":   func() string { return duration(manyBound) },
	"holdTTL":     func() string { return duration(holdTTL) },
	"held":        func(r *results) string { return duration(r.Plan.Held) },
	"holders":     func() []string { return names(holders()) },
	"busy":        func() int { return busy },
	"bar":         func(d time.Duration) string { return strings.Repeat("█", int(d/(20*time.Microsecond))) },
	"perCore": func(d time.Duration, nodes int) string {
		return fmt.Sprintf("%d,000", time.Second*time.Duration(nodes)/max(d, 1)/1000)
	},
	"ratio":   func(of string) string { ratio, _, _ := strings.Cut(of, " "); return ratio }, // without its interval
	"kB":      func(bytes int) string { return fmt.Sprintf("%.1f kB", float64(bytes)/1000) },
	"zh":      strings.NewReplacer(" (", "（", " to ", " 到 ", ")", "）").Replace, // a ratio with its interval
	"percent": func(part float64) string { return fmt.Sprintf("%.1f%%", 100*part) },
}).Parse(reportSource))

// pages are benchmarks.md, and those with a table of these figures.
func (r *results) pages() (map[string]string, error) {
	var page strings.Builder
	err := report.Execute(&page, r)
	made := map[string]string{pageFile: page.String()}
	for file, name := range map[string]string{"../../read/production.md": "carry", "../../read/production.zh-CN.md": "carry.zh"} {
		var carry strings.Builder
		err = cmp.Or(err, report.ExecuteTemplate(&carry, name, r))
		if err == nil {
			made[file], err = withTable(file, carry.String())
		}
	}
	return made, err
}

// withTable returns a page that people write with another table of this program.
func withTable(page, table string) (string, error) {
	const begin, end = "<!-- table: go run -C docs/keep/bench . -render -->\n", "<!-- /table -->\n"
	text, err := os.ReadFile(page)
	before, rest, begins := strings.Cut(string(text), begin)
	_, after, ends := strings.Cut(rest, end)
	if err == nil && !(begins && ends) {
		err = fmt.Errorf("%s has no %s...%s", page, begin, end)
	}
	return before + begin + table + end + after, err
}

func names(list []contestant) (names []string) {
	for _, c := range list {
		names = append(names, c.name)
	}
	return names
}

// Cell has the time and the commands.
func (m many) Cell(waiters int) string {
	if m.Took == 0 {
		return "-"
	}
	took := duration(m.Took)
	if m.Late > 0 {
		took = fmt.Sprintf("%d of %d in %s", waiters-m.Late, waiters, duration(manyBound))
	}
	return fmt.Sprintf("%s, %d", took, m.Commands)
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

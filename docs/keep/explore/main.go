// Explore runs the locks of all steps through every order in which their clients'
// commands can reach Redis, with a fault at every point where it can strike. See
// docs/explore/README.md.
package main

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"

	lua "github.com/yuin/gopher-lua"
	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/script"
	"example.com/redislock-steps/docs/play/page"
)

const usage = `usage:
  explore                     all locks under all faults: minutes; writes the table in docs/explore and docs/play/index.html
  explore -check              the same, and compares both with what it finds
  explore -step N -fault F    one cell, with schedules that show its violations; without -step or -fault: all
  explore -lock DIR -step N [-html FILE]
                              your own lock, DIR/*.go, instead of step N's; as a page on which you can play
  explore replay ID           one schedule as a timeline: 05/pause/aFbBA, or build/120000/slow/aFb
  -lang zh, anywhere, or a Chinese locale: timelines are in Chinese

用法：-step N -fault F 看一个格子；replay ID 看一条执行顺序；-lock 目录 -step N 检验自己的锁；-lang zh 用中文
说明：docs/explore/README.zh-CN.md#怎么运行`

func main() {
	if id := os.Getenv(childEnv); id != "" {
		child(id)
	}
	course.Chinese = course.ChineseLocale(os.Getenv)
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(args []string) error {
	args, lang, ok := course.TakeLang(args)
	if !ok {
		return errors.New("-lang takes zh or en: " + lang)
	}
	flags := flag.NewFlagSet("explore", flag.ExitOnError)
	flags.Usage = func() { fmt.Fprintln(os.Stderr, usage) }
	check, step := flags.Bool("check", false, ""), flags.Int("step", 0, "")
	fault, dir, html := flags.String("fault", "", ""), flags.String("lock", "", ""), flags.String("html", "", "")
	flags.Parse(args)
	root, err := course.Root() // go run -C has begun in docs/keep
	if err = cmp.Or(err, os.Chdir(root)); err != nil {
		return err
	}
	if flags.Arg(0) == "replay" {
		c, path, err := parseID(flags.Arg(1))
		if err == nil {
			err = c.inChild(path)
		}
		if err == nil {
			fmt.Print(trace.Text(c.Bad[0].Trace))
		}
		return err
	}
	if flags.NArg() > 0 || *html != "" && *dir == "" {
		return errors.New(usage)
	}
	if *dir != "" {
		temporary, err := os.MkdirTemp("", "redislock-explore-")
		if err == nil {
			defer os.RemoveAll(temporary)
			err = useLock(*dir, *step, temporary)
		}
		if err != nil {
			return err
		}
	}
	cells, err := table(*step, *fault)
	if err != nil {
		return err
	}
	if *step == 0 && *fault == "" {
		return pages(cells, *check)
	}
	if err := exploreAll(cells); err != nil {
		return err
	}
	if *html != "" {
		page, err := playPage(cells, nil, *dir)
		if err == nil {
			err = os.WriteFile(*html, page, 0o666)
		}
		return err
	}
	for _, c := range cells {
		for _, b := range c.Bad {
			fmt.Printf("\n%s: go run ./docs/explore replay %s\n%s", b.Kinds, c.id(b), trace.Text(b.Trace))
		}
	}
	return surprises(cells)
}

// table lists the cells of the table: all of them, or those of a step, or of a fault.
func table(step int, id string) (cells []cell, err error) {
	for _, f := range faults {
		for _, l := range steps[1:] {
			if (step == 0 || step == l.step) && (id == "" || id == f.id) && f.applies(l) {
				cells = append(cells, cell{lock: l, fault: f})
			}
		}
	}
	if _, err = faultNamed(cmp.Or(id, "none")); err == nil && len(cells) == 0 {
		err = fmt.Errorf("there is no such cell; the steps are 1 to %d, and not every fault can strike in each", len(steps)-1)
	}
	return cells, err
}

// surprises compares what was found with what is expected.
func surprises(cells []cell) (err error) {
	for _, c := range cells {
		if want := c.expected().kinds; want != c.Kinds {
			err = errors.Join(err, fmt.Errorf("%v: expected %q, found %q", c, want, c.Kinds))
		}
	}
	return err
}

// pages explores the cells of the table, the first level of docs/play, and those of its bench, and
// writes what it has found into the two pages that show it. With check, it compares them.
func pages(table []cell, check bool) error {
	all := append([]cell{{lock: steps[0], fault: faults[0]}}, table...)
	for _, l := range designs {
		for _, f := range faults {
			if slices.Contains(attacks, f.id) {
				all = append(all, cell{lock: l, fault: f})
			}
		}
	}
	if err := exploreAll(all); err != nil {
		return err
	}
	levels := all[:1+len(table)]
	play, err := playPage(levels, bench(all), "")
	chinese := map[string]string{"fault": "故障", "holds": "守住", "of": "/", "schedules": "共 %d 条执行顺序，含 ✗ 的格子。"} // and the titles of faults
	js, err1 := os.ReadFile("docs/play/page/words/zh-CN.json")
	if err := cmp.Or(surprises(levels[1:]), err, err1, json.Unmarshal(js, &chinese)); err != nil {
		return err
	}
	english := map[string]string{"fault": "fault", "holds": "holds", "of": " of ", "schedules": "%d schedules in all."}
	return errors.Join(putTable("docs/explore/README.md", levels[1:], english, check),
		putTable("docs/explore/README.zh-CN.md", levels[1:], chinese, check), put("docs/play/index.html", play, check))
}

// put writes a page, or compares it.
func put(file string, page []byte, check bool) error {
	if !check {
		return os.WriteFile(file, page, 0o666)
	}
	old, err := os.ReadFile(file)
	if err == nil && !bytes.Equal(old, page) {
		err = errors.New(file + " is not what a run gives: go run ./docs/explore")
	}
	return err
}

// putTable puts a table into a page, between its two marks: with a row for each fault, and a
// column for each lock.
func putTable(file string, cells []cell, words map[string]string, check bool) error {
	page, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rows, holds, schedules := "| "+words["fault"]+" |", "", "| **"+words["holds"]+" (✓)** |", 0
	green, all := make([]int, len(steps)), make([]int, len(steps))
	for _, f := range faults {
		rows += fmt.Sprintf("| %s (`%s`) |", cmp.Or(words["fault."+f.id], f.title), f.id)
		for _, l := range steps[1:] {
			if !f.applies(l) {
				rows += " – |"
				continue
			}
			c := cells[0]
			cells = cells[1:]
			schedules += c.Schedules
			all[l.step]++
			if c.Kinds == "" {
				rows += fmt.Sprintf(" ✓ %d |", c.Schedules)
				green[l.step]++
			} else {
				rows += fmt.Sprintf(" ✗ **%s** |", c.Kinds)
			}
		}
		rows += "\n"
	}
	for _, l := range steps[1:] {
		head += " " + strings.Replace(l.name, "09", "fencing", 1) + " |"
		holds += fmt.Sprintf(" **%d%s%d** |", green[l.step], words["of"], all[l.step])
	}
	table := fmt.Sprintf("%s\n%s|\n%s\n%s\n"+words["schedules"]+"\n", head, strings.Repeat("|---", len(steps)), holds, rows, schedules)
	const begin, end = "<!-- table: explored -->\n", "<!-- /table -->\n"
	before, rest, _ := strings.Cut(string(page), begin)
	_, after, _ := strings.Cut(rest, end)
	return put(file, []byte(before+begin+table+end+after), check)
}

// playPage is docs/play/index.html, or the same of the own lock in a folder, without a bench.
func playPage(cells []cell, bench any, own string) ([]byte, error) {
	var all Graph
	var levels []page.Level
	for _, c := range cells {
		if own != "" || slices.Contains(page.First(), c.String()) {
			all.begin(c.Graph)
		}
	}
	for _, c := range cells {
		if own == "" && !slices.Contains(page.First(), c.String()) {
			all.merge(c.Graph)
		}
		l := page.Level{
			Step: c.lock.step, Fault: c.fault.id, Title: c.fault.title, Nodes: c.lock.nodes, Bound: c.lock.bound,
			Kinds: c.Kinds, Why: c.expected().why,
		}
		if c.Bad != nil {
			l.ID = c.id(slices.MinFunc(c.Bad, func(a, b bad) int { return len(a.Path) - len(b.Path) }))
		}
		levels = append(levels, l)
	}
	text, err := script.Bundle()
	if err != nil {
		return nil, err
	}
	first, rest := all.pack()
	return page.New(levels, first, rest, bench, own, cells[0].lock.step, text)
}

// bench is what docs/play knows of the locks of its bench: the designs, and the locks of the
// course that take more than a switch. These nest, renew, and ask a majority, or the resource.
func bench(explored []cell) page.Bench {
	b := page.Bench{Attacks: attacks}
	var all Graph
	for _, l := range slices.Concat(designs, steps[6:]) {
		b.Locks = append(b.Locks, l.name)
		for _, attack := range attacks {
			c := explored[slices.IndexFunc(explored, func(c cell) bool { return c.lock.name == l.name && c.fault.id == attack })]
			b.Cells = append(b.Cells, page.BenchCell{Kinds: c.Kinds, All: c.Schedules, Bad: c.Violating})
			all.begin(c.First)
		}
	}
	b.Graph, _ = all.pack()
	return b
}

// The bubbles of testing/synctest exist in tests only, so the program runs itself as a
// test: one process for each cell. That is also faster than one process for all.

// Half of the time would go into collecting garbage, and a tenth into clearing the stacks of
// miniredis's scripts, a new one for each; and in a bubble, one goroutine at a time runs.
func init() {
	debug.SetGCPercent(400)
	lua.RegistrySize, lua.CallStackSize = 256, 32
	runtime.GOMAXPROCS(1)
}

const (
	childEnv = "REDISLOCK_EXPLORE_CHILD" // the ID of what a child plays
	allPaths = "*"                       // in it, instead of a path
)

// program is what explores: this program, or another build of it with an own lock.
var program, _ = os.Executable()

// inChild explores a cell in a separate process, or plays the schedule with that path.
func (c *cell) inChild(path string) error {
	cmd := exec.Command(program)
	cmd.Env = append(os.Environ(), childEnv+"="+c.String()+"/"+path)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%v: the explorer broke: %w", c, err)
	}
	return json.Unmarshal(out, &c.found)
}

// child is what that process does.
func child(id string) {
	c, path, err := parseID(id)
	if err != nil {
		panic(err)
	}
	os.Args = os.Args[:1]
	testing.Main(func(_, _ string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "explore", F: func(t *testing.T) {
		c.onStage(t, func(stage *Stage) {
			if path == allPaths {
				c.explore(stage)
			} else {
				c.Bad = []bad{{Trace: stage.Play(follow(path)).Records}}
			}
			json.NewEncoder(os.Stdout).Encode(c.found)
			os.Exit(0)
		})
	}}}, nil, nil)
}

// exploreAll explores cells on all CPUs and prints each as it becomes known.
func exploreAll(cells []cell) error {
	var group errgroup.Group
	group.SetLimit(runtime.NumCPU())
	for i := range cells {
		group.Go(func() error {
			c := &cells[i]
			if err := c.inChild(allPaths); err != nil {
				return err
			}
			text := fmt.Sprintf("✓ %d schedules", c.Schedules)
			if c.Kinds != "" {
				text = fmt.Sprintf("✗ %s in %d of %d schedules", c.Kinds, c.Violating, c.Schedules)
				if r := c.expected(); r.kinds == c.Kinds {
					text += ": " + r.why
				}
			}
			fmt.Printf("%v: %s\n", c, text)
			return nil
		})
	}
	return group.Wait()
}

// useLock lets another build of this program explore, in the folder temporary: in it the
// lock in dir is that of a step (go build -overlay).
func useLock(dir string, step int, temporary string) error {
	if step < 1 || step > len(course.Steps) {
		return errors.New("-lock needs -step N, 1 to 8: the step whose lock yours replaces; New must have its parameters")
	}
	own, err1 := filepath.Abs(dir) // the go command runs in another folder
	theirs, err2 := filepath.Abs(course.Steps[step-1].Dir)
	ownFiles, err3 := source.Files(own)
	theirFiles, err4 := source.Files(theirs)
	replace := map[string]string{}
	for _, name := range theirFiles {
		replace[filepath.Join(theirs, name)] = "" // or its functions would be there twice
	}
	for _, name := range ownFiles {
		replace[filepath.Join(theirs, name)] = filepath.Join(own, name)
	}
	overlay := filepath.Join(temporary, "overlay.json")
	js, err5 := json.Marshal(map[string]any{"Replace": replace})
	if err := cmp.Or(err1, err2, err3, err4, err5, os.WriteFile(overlay, js, 0o666)); err != nil {
		return err
	}
	program = filepath.Join(temporary, "explore.exe")
	fmt.Printf("%s instead of the lock of step %02d\n", dir, step)
	build := exec.Command("go", "build", "-C", "docs/keep", "-buildvcs=false", "-overlay", overlay, "-o", program, "./explore")
	build.Stdout, build.Stderr = os.Stdout, os.Stderr
	return build.Run()
}

// Libs plays the unchanged stories of step 08 on the libraries that people use: each has an
// adapter in a folder here. From what holds it makes docs/read/libraries.md.
//
//	go run -C docs/keep ./libs [-check] [-all]
//	go run -C docs/keep ./libs play bsm TestX
//
// With -check it compares instead. -all plays all stories that are fair to a library, and also
// writes holds.txt, which says what passes. play shows one story, whatever its end.
package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	check := flag.Bool("check", false, "compare only; exit 1 if a page is stale")
	all := flag.Bool("all", false, "all stories that are fair, not only those of the table")
	flag.Parse()
	if err := run(ctx, *check, *all); err != nil {
		fmt.Fprintf(os.Stderr, "libs: %v\n", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, check, all bool) error {
	b, ctx, err := story.NewBuilder(ctx)
	if err != nil {
		return err
	}
	defer b.Close()
	if err := os.Chdir(b.Root); err != nil { // -C has left it
		return err
	}
	b.Root = b.Path("docs/keep", "") // whose module requires the libraries
	if flag.Arg(0) == "play" {
		return playOne(ctx, b, flag.Arg(1), flag.Arg(2))
	}
	found := make([]verdicts, len(columns))
	g, ctx := errgroup.WithContext(ctx)
	g.SetLimit(2)
	for i, c := range columns {
		g.Go(func() (err error) { found[i], err = c.play(ctx, b, all); return err })
	}
	if err := g.Wait(); err != nil {
		return err
	}
	made, err := pages(found)
	if err != nil {
		return err
	}
	if all {
		made["docs/keep/libs/holds.txt"] = holds(found)
	}
	for _, file := range slices.Sorted(maps.Keys(made)) {
		err = cmp.Or(err, put(file, made[file], check))
	}
	return err
}

const lockFile = "lab_lock_test.go"

// steps leads from docs/keep to the folders of the steps.
const steps = "../../"

// compile lays the stories of step 08 over a library's folder: nothing is copied. The file that
// tells the test harness how to call New is step 07's, for one Redis or five.
func (c column) compile(ctx context.Context, b *story.Builder) (story.Binary, error) {
	of := story.Build{Dir: "libs/" + c.dir, Name: c.dir, Replace: map[string]string{}}
	for _, file := range append(files(), course.LabFile, course.NetFile) {
		of.Replace[file] = steps + course.Last.Home(file) + "/" + file
	}
	of.Replace[course.HereFile] = steps + course.SecondDir + "/testdata/" + course.HereFile
	calls, err := os.ReadFile(b.Path(steps+course.Steps[6].Dir, course.NewFile))
	if c.nodes > 1 {
		calls = bytes.Replace(calls, []byte("nodes = 1\n"), fmt.Appendln(nil, "nodes =", c.nodes), 1)
		calls = bytes.Replace(calls, []byte("rdbs[0]"), []byte("rdbs"), 1)
	}
	// In the second pass of play, one attempt of Lock stands for each TryLock.
	calls = bytes.Replace(calls, []byte("(h *handle) TryLock("), []byte("(h *handle) tryLock("), 1)
	of.Replace[lockFile] = steps + "docs/tour/testdata/" + lockFile
	of.Replace[course.NewFile] = filepath.Join(b.Tmp, c.dir+"_"+course.NewFile)
	if err = cmp.Or(err, os.WriteFile(of.Replace[course.NewFile], calls, 0o666)); err != nil {
		return story.Binary{}, err
	}
	return b.Compile(ctx, of)
}

// files hold the stories that can be played on every lock, in the order of the course.
func files() (names []string) {
	for _, s := range course.Steps {
		for _, f := range s.Kept() {
			names = append(names, f.Name)
		}
	}
	return names
}

// stories are those of the table that say something of this library, or all that are fair to it.
func (c column) stories(b *story.Builder, all bool) (list []story.Story, err error) {
	for _, file := range files() {
		tests, wrong := b.Stories(steps+course.Last.Home(file), file)
		err = cmp.Or(err, wrong)
		for _, s := range tests {
			i := slices.IndexFunc(rows, func(r row) bool { return r.story == s.Name })
			if i >= 0 && !slices.Contains(rows[i].none, c.dir) || i < 0 && all && c.isFair(s) {
				list = append(list, s)
			}
		}
	}
	return list, err
}

func (c column) isFair(s story.Story) bool {
	return !slices.ContainsFunc(leftOut, func(l leave) bool {
		return (l.only == nil || slices.Contains(l.only, c.dir)) && l.stories.MatchString(s.File+" "+s.Name)
	})
}

// verdicts are what a column's stories say, by name.
type verdicts map[string]story.Result

// play plays the stories of a column. Each passes, or fails by its own assertion.
func (c column) play(ctx context.Context, b *story.Builder, all bool) (verdicts, error) {
	list, err1 := c.stories(b, all)
	bin, err2 := c.compile(ctx, b)
	if err := cmp.Or(err1, err2); err != nil {
		return nil, err
	}
	results, err := bin.Play(ctx, list...)
	found := verdicts{}
	for _, r := range results {
		if found[r.Name] = r; r.Verdict > story.Failed {
			err = cmp.Or(err, fmt.Errorf("%s on %s has no verdict: %s\n%s", r.Name, c.dir, r.Detail, r.Log.Raw))
		}
	}
	// Not all, and not on rueidislock: a wait that ends may be the context's error alone.
	if !all && c.dir != "rueidis" {
		bin.Env = []string{"TOUR_THROUGH=Lock"}
		again, wrong := bin.Play(ctx, list...)
		err = cmp.Or(err, wrong)
		for _, r := range again {
			if r.Verdict != found[r.Name].Verdict {
				err = cmp.Or(err, fmt.Errorf("%s on %s is not the same through Lock: %s", r.Name, c.dir, r.Detail))
			}
		}
	}
	fmt.Printf("%s: %d stories\n", c.name, len(found))
	return found, err
}

// playOne prints what happens in one story.
func playOne(ctx context.Context, b *story.Builder, dir, name string) error {
	i := slices.IndexFunc(columns, func(c column) bool { return c.dir == dir })
	if i < 0 || name == "" {
		return errors.New("play needs redsync, redsync5, bsm or rueidis, and a story of step 08")
	}
	bin, err := columns[i].compile(ctx, b)
	if err != nil {
		return err
	}
	r, err := bin.Alone(ctx, story.InVirtualTime, nil, story.Story{Name: name})
	fmt.Print(r.Log.Raw)
	if err == nil && r.Verdict == story.NotRun {
		err = fmt.Errorf("no story %s that every lock can play", name)
	}
	return err
}

// put writes a page, or compares it.
func put(file, text string, check bool) error {
	old, err := os.ReadFile(file)
	switch {
	case err == nil && string(old) == text:
		return nil
	case check:
		return fmt.Errorf("%s is not what the libraries do now: %s -all, and read what has changed", file, command)
	}
	fmt.Println("wrote", file)
	return os.WriteFile(file, []byte(text), 0o666)
}

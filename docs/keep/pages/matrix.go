package main

import (
	"context"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/picture"
	"example.com/redislock-steps/docs/internal/story"
)

// The last guarantee holds on no lock, only in the epilogue. For the locks, its story is in a file
// that no step has.
const (
	lateDir  = "docs/fencing/testdata"
	lateFile = "late_write_test.go"
)

// stairs plays every guarantee on every lock, and the last one in the epilogue as well.
func stairs(ctx context.Context, b *story.Builder) ([]picture.Stair, error) {
	list := make([]picture.Stair, len(course.Entries()))
	for i, g := range course.Entries() {
		list[i] = picture.Stair{Guarantee: g.Guarantee, Holds: make([]bool, len(course.Steps))}
	}
	last := course.Epilogue.N - 1
	list[last].Holds = make([]bool, len(list))
	var group errgroup.Group
	group.SetLimit(2)
	for i, lock := range course.Entries() {
		group.Go(func() error {
			of := story.Green(lock)
			if !lock.IsEpilogue() {
				of = b.WithLock(course.Last, lock) // whose folder has every guarantee
				of.Replace[lateFile] = lateDir + "/" + lateFile
			}
			bin, err := b.Compile(ctx, of)
			if err != nil {
				return err
			}
			for k, g := range course.Entries() {
				dir, files := course.Last.Dir, g.Kept()
				if g.IsEpilogue() {
					dir, files = lateDir, []course.File{{Name: lateFile}}
				} else if lock.IsEpilogue() {
					continue
				}
				var stories []story.Story
				for _, f := range files {
					tests, err := b.Stories(dir, f.Name)
					if err != nil {
						return err
					}
					stories = append(stories, tests...)
				}
				results, err := bin.Play(ctx, stories...)
				if err != nil {
					return err
				}
				if list[k].Holds[i], err = holds(g, lock, results); err != nil {
					return err
				}
			}
			return nil
		})
	}
	return list, group.Wait()
}

// holds reports whether a guarantee holds on a lock: all of its stories pass. Guarantee n has to
// hold from lock n on, and on none before, where a story has to fail by its own assertion.
func holds(g, lock course.Step, results []story.Result) (bool, error) {
	var failed []string
	for _, r := range results {
		if r.Verdict > story.Failed {
			return false, fmt.Errorf("guarantee %d on %s says nothing: %s: %s", g.N, lock.Subject(), r.Name, r.Detail)
		}
		if r.Verdict == story.Failed {
			failed = append(failed, r.Name)
		}
	}
	if want := lock.N >= g.N; len(results) == 0 || want != (failed == nil) {
		return false, fmt.Errorf("guarantee %[1]d on %[2]s: it holds from lock %[1]d on, and not before. Of %[3]d stories, these fail: %[4]s",
			g.N, lock.Subject(), len(results), strings.Join(failed, ", "))
	}
	return failed == nil, nil
}

// matrix returns the table of a page, and its pictures.
func (m maker) matrix(page, name string) (table string, files map[string]string, err error) {
	list, err := m.stairs()
	if err != nil {
		return "", nil, err
	}
	themes, say := map[string]picture.Theme{"": picture.Light, "-dark": picture.Dark}, func(text string) string { return text }
	if isChinese(page) {
		themes, say = map[string]picture.Theme{suffix: picture.Light.Chinese(), suffix + "-dark": picture.Dark.Chinese()}, picture.InChinese
	}
	files = map[string]string{}
	for shade, theme := range themes {
		files[pictures+"/"+name+shade+".svg"] = picture.Staircase("Which lock provides which guarantee",
			[]string{"SETNX", "+TTL", "EX", "token", "Lua", "hash", "watchdog", "Redlock", "fencing"}, list,
			"Every cell is a test run: ✓ all stories of the guarantee pass on that lock, ✗ at least one fails.", theme)
	}
	table = "| | 01 | 02 | 03 | 04 | 05 | 06 | 07 | 08 |\n|---|" + strings.Repeat(":-:|", len(course.Steps))
	for i, s := range list {
		guarantee, _, _ := strings.Cut(s.Guarantee, ";")
		table += fmt.Sprintf("\n| %d. %s |", i+1, say(guarantee))
		for _, holds := range s.Holds[:len(course.Steps)] {
			table += map[bool]string{true: " ✓ |", false: " **✗** |"}[holds]
		}
	}
	return table, files, nil
}

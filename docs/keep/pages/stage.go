package main

import (
	"context"
	"fmt"
	"slices"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

// A scene is a story on the lock of its step, or in red on the one before.
type scene struct {
	red   bool
	step  course.Step
	story string
}

func (s scene) String() string {
	return fmt.Sprintf("%s %s %s", map[bool]string{true: "red", false: "green"}[s.red], s.step.Arg(), s.story)
}

// stage plays scenes, and returns what happens in them. It builds each step once.
func stage(ctx context.Context, b *story.Builder) func(scene) ([]trace.Record, error) {
	built := map[scene]story.Binary{} // by scenes without a story
	return func(s scene) ([]trace.Record, error) {
		tests, err := b.Tests(s.step.Dir)
		if err != nil {
			return nil, err
		}
		n := slices.IndexFunc(tests, func(t story.Story) bool { return t.Name == s.story })
		if n < 0 {
			return nil, fmt.Errorf("%v: %s has no such story", s, s.step.Dir)
		}
		on := scene{red: s.red, step: s.step}
		if _, ok := built[on]; !ok {
			build := story.Green(s.step)
			if s.red {
				build = b.Red(s.step)
			}
			if built[on], err = b.Compile(ctx, build); err != nil {
				return nil, fmt.Errorf("%v: %w", s, err)
			}
		}
		results, err := built[on].Play(ctx, tests[n])
		if err != nil {
			return nil, err
		}
		want := story.Passed
		if s.red && !tests[n].Control {
			want = story.Failed
		}
		if r := results[0]; r.Verdict != want {
			return nil, fmt.Errorf("%v does not end as its picture says: %s", s, r.Log.Raw)
		}
		return results[0].Records(), nil
	}
}

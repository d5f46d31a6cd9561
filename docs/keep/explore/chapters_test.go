package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/play/page"
)

// What a chapter of docs/play claims of a schedule is what happens when it is played.
func TestTheChapters_TellWhatHappens(t *testing.T) {
	for _, chapter := range page.Chapters() {
		for i, beat := range chapter.Beats {
			t.Run(fmt.Sprintf("chapter %d, beat %d", chapter.Step, i+1), func(t *testing.T) {
				step := int((beat.Show + beat.Level)[1] - '0')
				require.Contains(t, []int{chapter.Step - 1, chapter.Step}, step, "it is about the lock before it, and its own")
				if beat.Level != "" {
					require.True(t, named(t, beat.Level).playable())
					return
				}
				happens(t, beat)
			})
		}
	}
}

func happens(t *testing.T, beat page.Beat) {
	part := strings.SplitN(beat.Show, "/", 3)
	s := replayed(t, beat.Show+"-") // in case that the path is empty
	n := 0
	for strings.Join(s.Path[:n], "") != part[2] {
		n++
		require.LessOrEqual(t, n, len(s.Path), "there is no such schedule: %v", s.Path)
	}
	records, ended := s.Records, n == len(s.Path)
	if !ended {
		records = records[:s.Points[n].Records]
	}
	kinds, rows, inside := "", "", []string{}
	for _, r := range records {
		inside = r.Inside
		if r.Kind == trace.Verdict {
			kinds += r.Text[:1]
		}
		rows += rowOf(r) + "\n"
	}
	assert.Equal(t, beat.Breaks, kinds)
	if beat.Inside != nil {
		assert.Equal(t, beat.Inside, inside)
	}
	for _, text := range beat.Tells {
		assert.Contains(t, rows, text)
	}
	if beat.Holds {
		assert.True(t, ended, "a lock holds only when the schedule has ended")
		strikes := slices.ContainsFunc(s.Path[:n], func(label string) bool { return label[0] == 'F' })
		assert.True(t, strikes || part[1] == "none" || part[1] == "nested", "the fault does not strike")
	}
}

// rowOf is what a record tells in a line.
func rowOf(r trace.Record) string {
	row := r.Who + " " + r.Text
	if r.Node > 0 && len(r.Redis) > 1 {
		row = fmt.Sprintf("node %d: %s", r.Node, strings.TrimSpace(row))
	}
	if r.Reply != "" {
		row += " -> " + r.Reply
	}
	if r.Mark != "" {
		row += "  <- " + r.Mark
	}
	return strings.TrimSpace(row)
}

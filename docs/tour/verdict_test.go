package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/story"
	"example.com/redislock-steps/docs/internal/trace"
)

func TestOutcome_ABareNumberSaysNothing(t *testing.T) {
	failed := &story.Test{Verdicts: []trace.Record{{Wanted: "5", Got: "6"}, {Text: "only says"}, {Wanted: "ok", Got: "ErrNotHeld"}}}
	require.Equal(t, []string{"expected: ok   got: ErrNotHeld"}, outcome(failed))
}

func TestBroken_ShowsThePanic(t *testing.T) {
	var out strings.Builder
	log := story.Transcript{Exit: 2, Raw: "=== RUN   TestA\nof before\npanic: oh\n\ngoroutine 1\n", Tests: []*story.Test{{Name: "TestA", Timeline: "timeline:\n  1"}}}
	console{out: &out}.failure(log.Judge(story.Story{Name: "TestA"}), whole)
	require.Equal(t, "  ERROR TestA\n    panic: oh\n    timeline:\n      1\n\n    panic: oh\n\n    goroutine 1\n\n", out.String())
}

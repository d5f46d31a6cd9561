package stall

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var start = time.Now()

func at(ms int) time.Time { return start.Add(time.Duration(ms) * time.Millisecond) }

func TestWorst_IsTheLongestWaitInThatTime(t *testing.T) {
	m := Meter{late: Late}
	for _, s := range [][2]int{{0, 1}, {1, 100}, {100, 300}, {300, 301}, {301, 801}} {
		m.tick(at(s[0]), at(s[1]))
	}
	for _, c := range []struct{ from, to, worst int }{
		{0, 99, 99}, {0, 1, 0}, {0, 101, 200}, {150, 160, 200}, {299, 301, 200}, {300, 301, 0}, {0, 302, 500}, {900, 999, 0},
	} {
		require.EqualValues(t, time.Duration(c.worst)*time.Millisecond, m.worst(at(c.from), at(c.to)), "%d to %d", c.from, c.to)
	}
}

func TestAgain_OnlyAfterAStall(t *testing.T) {
	for _, c := range []struct {
		what, replays string
		late          time.Duration // 0: whatever happens, the machine stalls
		passes        []bool        // what comes of each replay
		want          bool
		played        int
	}{
		{"no stall", "", time.Hour, []bool{true}, false, 0},
		{"then it passes", "", 0, []bool{true}, true, 1},
		{"then it fails, and then it passes", "", 0, []bool{false, true}, true, 2},
		{"a stall each time", "", 0, []bool{false, false, true}, false, 2},
		{"no replays", "0", 0, []bool{true}, false, 0},
		{"not a number", "many", 0, []bool{true}, false, 0},
	} {
		t.Setenv("REPLAYS", c.replays)
		m, out, played := Start(c.late), strings.Builder{}, 0
		pass := func() time.Time {
			time.Sleep(20 * time.Millisecond)
			return time.Now()
		}
		got := m.Again(&out, "TestX", time.Now(), pass(), func() bool {
			pass()
			played++
			return c.passes[played-1]
		})
		require.Equal(t, c.want, got, c.what)
		require.Equal(t, c.played, played, c.what)
		require.Equal(t, c.played, strings.Count("\n"+out.String(), "\nplayed again: TestX: "), c.what)
	}
}

func TestAgain_FailsAtOnce_WhenTheReplayMetNoStall(t *testing.T) {
	m, now := Meter{late: Late}, time.Now()
	m.tick(now.Add(-Late), now)
	played := 0
	require.False(t, m.Again(io.Discard, "TestX", now.Add(-Late), now, func() bool { played++; return false }))
	require.Equal(t, 1, played)
}

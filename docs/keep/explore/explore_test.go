package main

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/explore/internal/schedule"
	"example.com/redislock-steps/docs/keep/explore/internal/search"
)

// The whole table runs by go run ./docs/explore. These tests are about the explorer, and
// run a few cells.

// named is a cell that is not explored yet.
func named(t *testing.T, name string) cell {
	t.Helper()
	c, _, err := parseID(name + "/" + allPaths)
	require.NoError(t, err)
	return c
}

// explored explores a cell with at most so many preemptions; -1 is any number.
func explored(t *testing.T, c cell, bound int) cell {
	c.lock.bound = bound
	c.onStage(t, c.explore)
	return c
}

// replayed is a schedule that is played to its end.
func replayed(t *testing.T, id string) (s *schedule.Schedule) {
	t.Helper()
	c, path, err := parseID(id)
	require.NoError(t, err)
	c.onStage(t, func(stage *schedule.Stage) { s = stage.Play(search.Follow(path)) })
	return s
}

// Each fix is needed: without it, which is the lock of the step before, a cell is red
// that it makes green.
func TestEachStepTurnsACellGreen(t *testing.T) {
	for n, fault := range map[int]string{
		2: "crash-hold", 3: "crash-acquire", 4: "twice", 5: "stolen", 6: "nested", 7: "slow", 8: "down-1",
	} {
		bound := 2
		if n == 8 {
			bound = 0
		}
		before := explored(t, named(t, steps[n-1].name+"/"+fault), bound)
		now := explored(t, named(t, steps[n].name+"/"+fault), bound)
		assert.NotEmpty(t, before.Kinds, "%v should be red", before)
		assert.Empty(t, now.Kinds, "%v should be green", now)
	}
}

// A node that comes back gets the lock again, and that is what keeps it: the row is green in
// the table, and red without the commands that heal.
func TestWithoutHealing_TheLockIsLost(t *testing.T) {
	c := named(t, "08/healed")
	c.fault.Strike = during(func(s *schedule.Schedule, alice *schedule.Client) {
		healing(s, alice)
		for m := s.First(heals); m != nil; m = s.First(heals) {
			m.Drop()
		}
	}, schedule.Holding)
	c = explored(t, c, 1)
	require.Contains(t, c.Kinds, string(schedule.TwoInside))
}

// The ID of a schedule leads to its violation again.
func TestReplay_ShowsTheViolationAgain(t *testing.T) {
	for _, name := range []string{"04/stolen", "build/120010/slow"} {
		c := explored(t, named(t, name), -1)
		require.NotEmpty(t, c.Bad)
		for _, b := range c.Bad {
			assert.Equal(t, b.Trace, replayed(t, c.id(b)).Records[:len(b.Trace)], c.id(b))
		}
	}
	for _, id := range []string{"", "08", "8/restart", "08/restart/", "10/restart/a", "08/nothing/a", "08/none/2c3n/a", "build/120100/slow/a"} {
		_, _, err := parseID(id)
		require.Error(t, err, id)
	}
}

// A row leads to the line that sends its command, in whichever file of the lock that is; of
// one that goes through the sender that all of them share, to the call of it.
func TestALine_IsThatOfTheLock(t *testing.T) {
	for id, senders := range map[string][]string{
		"05/pause/aFbBA": {"SET lock.go SetNX(", "release replies.go sendRelease("},
		"07/slow/aF":     {"acquire lock.go process(", "renew watchdog.go sendOnce(", "release lock.go sendRelease("},
		"08/slow/a1a2F":  {"acquire nodes.go process(", "renew watchdog.go sendOnce(", "release nodes.go sendRelease("},
		"09/none/aAa":    {"acquire lock.go Run(", "release replies.go sendRelease("},
	} {
		found := map[string]bool{}
		for _, r := range replayed(t, id).Records {
			if r.Kind != trace.Command {
				continue
			}
			file, number, _ := strings.Cut(r.Line, ":")
			line, err := strconv.Atoi(number)
			require.NoError(t, err, "%s: %q was sent at %q", id, r.Text, r.Line)
			source, err := os.ReadFile("../../../" + course.Entries()[id[1]-'1'].Dir + "/" + file)
			require.NoError(t, err)
			command, _, _ := strings.Cut(r.Text, " ")
			found[command+" "+file+" "+regexp.MustCompile(`\w+\(`).FindString(strings.Split(string(source), "\n")[line-1])] = true
		}
		assert.ElementsMatch(t, senders, slices.Collect(maps.Keys(found)), id)
	}
}

// What is not in the trace did not happen. (05/pause/aFbBA is in docs/explore/README.md.)
func TestTheTrace_IsComplete(t *testing.T) {
	for id, row := range map[string]string{
		"00/none/abab":          "** X: alice and bob are inside\n",
		"01/resent/aAFaba":      "alice  DEL coupons -> 1, but the reply is lost\n",
		"03/resent/aAFaba":      "alice  DEL coupons -> 1   (sent again)   <- deletes bob's lock\n",
		"01/deadline/FAaabBb":   "alice  SETNX coupons locked, sent long ago -> 1\n",
		"01/down-1/F":           "alice  cannot reach Redis: connection refused\n",
		"01/hung-1/F":           "alice  no longer waits for the reply to SETNX coupons locked\n",
		"07/stolen/aFT":         "alice  hears that its lock is lost\n",
		"09/pause/aFbBA":        "alice  writes 1 with token 1: refused\n",
		"build/121211/pause/aF": "Redis  the TTL expired: alice's lock is gone\n",
	} {
		assert.Contains(t, trace.Text(replayed(t, id).Records), row, id)
	}
}

// Step 06 nests, and step 05 does not: if the lock in the folder is what is run, step 05's
// cell is not as expected.
func TestYourOwnLock_IsWhatIsRun(t *testing.T) {
	if os.Getenv("BUILDS") == "" {
		t.Skip("it builds the explorer. Play it as .ci/run does: BUILDS=1 go test -C docs/keep ./explore")
	}
	page := filepath.Join(t.TempDir(), "page.html")
	own := []string{"-lock", "step06_reentrant", "-step", "5", "-fault", "nested"}
	t.Chdir(".") // run leaves it
	require.EqualError(t, run(own), `05/nested: expected "B", found ""`)
	require.NoError(t, run(append(own, "-html", page)))
	text, err := os.ReadFile(page)
	require.NoError(t, err)
	require.Contains(t, string(text), `id="data">`)
}

package main

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/source"
	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/explore/internal/schedule"
)

// The whole matrix runs by go run ./docs/explore. These tests are about the explorer, and
// run a few cells.

func cellOf(t *testing.T, n int, fault string, change func(*lab)) (c cell) {
	t.Helper()
	_, err := faultNamed(fault)
	require.NoError(t, err)
	inLab(t, steps[n], steps[n].job(fault), func(l *lab) {
		if change != nil {
			change(l)
		}
		c = l.cell()
	})
	return c
}

// replayed is what happens in a schedule.
func replayed(t *testing.T, id string) (records []trace.Record) {
	t.Helper()
	j, err := parseID(id)
	require.NoError(t, err)
	inLab(t, j.step(), j, func(l *lab) { records = l.cell().Bad[0].Trace })
	return records
}

// Each fix is needed: without it, which is the lock of the step before, a cell is red
// that it makes green.
func TestEachStepTurnsACellGreen(t *testing.T) {
	for n, fault := range map[int]string{
		2: "crash-hold", 3: "crash-acquire", 4: "twice", 5: "stolen", 6: "nested", 7: "slow", 8: "down-1",
	} {
		quick := func(l *lab) { l.Bound = 2 }
		if n == 8 {
			quick = func(l *lab) { l.Bound = 0 }
		}
		before, now := cellOf(t, n-1, fault, quick), cellOf(t, n, fault, quick)
		assert.NotEmpty(t, before.Kinds, "%s should be red in step %02d", fault, n-1)
		assert.Empty(t, now.Kinds, "%s should be green in step %02d", fault, n)
	}
}

// A node that comes back gets the lock again, and that is what keeps it: the row is green in
// docs/read/faults.md, and red without the commands that heal.
func TestWithoutHealing_TheLockIsLost(t *testing.T) {
	c := cellOf(t, 8, "healed", func(l *lab) {
		l.stage.Fault.Strike = during(func(s *schedule.Schedule, alice *schedule.Client) {
			healing(s, alice)
			for m := s.First(heals); m != nil; m = s.First(heals) {
				m.Drop()
			}
		}, schedule.Holding)
	})
	require.Contains(t, c.Kinds, string(schedule.TwoInside))
}

// The ID of a schedule leads to its violation again.
func TestReplay_ShowsTheViolationAgain(t *testing.T) {
	found := cellOf(t, 4, "stolen", nil)
	require.NotEmpty(t, found.Bad)
	for _, b := range found.Bad {
		now := replayed(t, b.ID)
		assert.Equal(t, b.Trace, now[:min(len(b.Trace), len(now))], b.ID)
	}
}

func TestFaults_LinkToThePublishedPage(t *testing.T) {
	defer func(old string) { course.Address = old }(course.Address)
	for address, link := range map[string]string{"": " Play it: `", "https://a.example/": " [Play it](https://a.example/#04/stolen): `"} {
		course.Address = address
		page, err := faultsPage([]cell{{Job: job{Step: 4, Fault: "stolen"}, Kinds: "D"}})
		require.NoError(t, err)
		require.Contains(t, string(page), link+"go run ./docs/play 04/stolen`\n")
	}
}

func TestParseID(t *testing.T) {
	for id, want := range map[string]job{
		"08/restart/a1a2F": {Step: 8, Fault: "restart", Replay: "a1a2F"},
		"00/none/abab":     {Step: 0, Fault: "none", Replay: "abab"},
	} {
		j, err := parseID(id)
		require.NoError(t, err)
		require.Equal(t, want, j)
		require.Equal(t, id, j.id([]string{j.Replay}))
	}
	for _, id := range []string{"", "08", "8/restart", "10/restart/a", "08/nothing/a", "08/none/2c3n/a", "x/restart/a"} {
		_, err := parseID(id)
		require.Error(t, err, id)
	}
}

// Every reason is given, and every kind has its place.
func TestExpectations_AreComplete(t *testing.T) {
	for _, f := range faults {
		for _, r := range f.red {
			assert.NotEmpty(t, r.kinds)
			assert.NotEmpty(t, r.why)
			assert.LessOrEqual(t, r.from, r.to)
			assert.Equal(t, r.kinds, inOrder(r.kinds), "%s: in the order of %s", f.id, schedule.Kinds)
		}
	}
}

// A row leads to the line that sends its command, in whichever file of the lock that is; of
// one that goes through the sender that all of them share, to the call of it.
func TestALine_IsThatOfTheLock(t *testing.T) {
	for id, senders := range map[string][]string{
		"05/pause/aFbBA": {"SET lock.go Lock.acquire", "release replies.go Lock.untilAnswered"},
		"07/slow/aF":     {"acquire lock.go Lock.acquire", "release lock.go Lock.acquire", "release lock.go Lock.release", "renew watchdog.go Lock.sendRenewal"},
		"08/slow/a1a2F":  {"acquire nodes.go node.acquire", "release nodes.go node.release", "renew watchdog.go Lock.sendRenewal"},
		"09/none/aAa":    {"acquire lock.go Lock.acquire", "release replies.go Lock.untilAnswered"},
	} {
		j, err := parseID(id)
		require.NoError(t, err)
		declarations, err := source.ReadDir("../../../" + course.Entries()[j.Step-1].Dir)
		require.NoError(t, err)
		found := map[string]bool{}
		for _, r := range replayed(t, id) {
			if r.Kind != trace.Command {
				continue
			}
			file, number, _ := strings.Cut(r.Line, ":")
			line, err := strconv.Atoi(number)
			require.NoError(t, err, "%s: %q was sent at %q", id, r.Text, r.Line)
			i := slices.IndexFunc(declarations, func(d source.Declaration) bool {
				return d.File == file && d.From <= line && line <= d.From+strings.Count(d.Text, "\n")
			})
			require.GreaterOrEqual(t, i, 0, "%s: no declaration stands at %s", id, r.Line)
			command, _, _ := strings.Cut(r.Text, " ")
			found[command+" "+file+" "+declarations[i].Name] = true
		}
		require.ElementsMatch(t, senders, slices.Collect(maps.Keys(found)), id)
	}
}

// The lock before the course is a level of docs/play, and no column of the matrix: two
// clients are inside without any fault.
func TestTheLockBeforeTheCourse_BreaksWithoutAFault(t *testing.T) {
	jobs, err := matrix(0, "")
	require.NoError(t, err)
	require.False(t, slices.ContainsFunc(jobs, func(j job) bool { return j.Step == 0 }))
	require.Contains(t, trace.Text(replayed(t, "00/none/abab")), "** X: alice and bob are inside\n")
}

// What is not in the trace did not happen.
func TestTheTrace_IsComplete(t *testing.T) {
	has := func(id string, want ...trace.Record) {
		t.Helper()
		records := replayed(t, id)
		for i := range records {
			if records[i].Kind == trace.Command {
				assert.NotEmpty(t, records[i].Line, "%s: no client has sent %q", id, records[i].Text)
			}
			records[i].Line = ""
		}
		for _, w := range want {
			assert.Contains(t, records, w, "%s:\n%s", id, trace.Text(records))
		}
	}
	free, nobody := []trace.Key{{}}, []string{}
	alices, bobs := []trace.Key{{Token: "<alice-1>", Owner: "alice", Until: 10_000_100}}, []trace.Key{{Token: "<bob-1>", Owner: "bob", Until: 25_000_300}}
	has("05/pause/aFbBA",
		trace.Record{At: 0, Who: "alice", Kind: trace.Call, Text: "TryLock", Redis: free, Inside: nobody},
		trace.Record{At: 100, Who: "alice", Node: 1, Kind: trace.Command, Text: "SET coupons <alice-1> EX 10 NX", Reply: "OK", Redis: alices, Inside: nobody},
		trace.Record{At: 100, Who: "alice", Kind: trace.Return, Text: "TryLock", Reply: "ok", Redis: alices, Inside: nobody},
		trace.Record{At: 110, Who: "alice", Kind: trace.Note, Text: "is inside, reads 0", Redis: alices, Inside: []string{"alice"}},
		trace.Record{At: 200, Kind: trace.Note, Text: "15s pass", Redis: alices, Inside: []string{"alice"}},
		trace.Record{At: 10_000_100, Node: 1, Kind: trace.Expire, Text: "the TTL expired: alice's lock is gone", Redis: free, Inside: []string{"alice"}},
		trace.Record{At: 15_000_200, Who: "alice", Kind: trace.Fault, Text: "goes on", Redis: free, Inside: []string{"alice"}},
		trace.Record{At: 15_000_310, Kind: trace.Verdict, Text: "X: alice and bob are inside", Redis: bobs, Inside: []string{"alice", "bob"}},
		trace.Record{At: 15_000_600, Who: "alice", Node: 1, Kind: trace.Command, Text: "release coupons <alice-1>", Reply: "0", Redis: bobs, Inside: nobody},
		trace.Record{At: 15_000_600, Who: "alice", Kind: trace.Return, Text: "Unlock", Reply: "ErrNotHeld", Redis: bobs, Inside: nobody})
	has("01/resent/aAFaba",
		trace.Record{At: 500, Who: "alice", Node: 1, Kind: trace.Command, Text: "DEL coupons", Reply: "1", Again: true, Mark: "deletes bob's lock", Redis: free, Inside: []string{"bob"}})
	has("01/resent/aAFaba",
		trace.Record{At: 300, Who: "alice", Node: 1, Kind: trace.Command, Text: "DEL coupons", Reply: "1, but the reply is lost", Lost: true, Redis: free, Inside: nobody})
	has("01/deadline/FAaabBb",
		trace.Record{At: 1_000_400, Who: "alice", Node: 1, Kind: trace.Command, Text: "SETNX coupons locked, sent long ago", Reply: "1", Late: true,
			Redis: []trace.Key{{Token: "locked", Owner: "alice"}}, Inside: nobody})
	has("01/down-1/F",
		trace.Record{At: 100, Who: "alice", Node: 1, Kind: trace.Refused, Text: "cannot reach Redis: connection refused", Redis: free, Inside: nobody})
	has("01/hung-1/F",
		trace.Record{At: 5_000_000, Who: "alice", Node: 1, Kind: trace.Timeout, Text: "no longer waits for the reply to SETNX coupons locked", Redis: free, Inside: nobody})
}

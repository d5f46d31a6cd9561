package main

import (
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
	"example.com/redislock-steps/docs/keep/explore/internal/graph"
)

// A run of the explorer explores all locks of the bench. These tests take a few of them.

// explored finds cells, each once.
func explored(t *testing.T) func(job) cell {
	known := map[string]cell{}
	return func(j job) cell {
		if _, is := known[j.String()]; !is {
			inLab(t, j.step(), j, func(l *lab) { known[j.String()] = l.cell() })
		}
		return known[j.String()]
	}
}

func named(t *testing.T, names ...string) (list []design) {
	t.Helper()
	for _, name := range names {
		d, err := designNamed(name)
		require.NoError(t, err)
		list = append(list, d)
	}
	return list
}

// A design is each setting of the switches that makes a lock: 40, and 15 that recognise their own.
func TestDesigns_AreAllThatCanBeMade(t *testing.T) {
	require.Len(t, designs, 55)
	for i, d := range designs[1:] {
		require.Less(t, designs[i].name(), d.name())
	}
	for name, why := range map[string]string{
		"120100": "a comparison of a constant", "100010": "a renewal without a ttl", "121202": "no such digit",
		"020001": "nothing to recognise", "021201": "EXISTS and SET do not meet their own key", "12120": "a digit less",
	} {
		_, err := designNamed(name)
		require.ErrorContains(t, err, "build/"+name, why)
	}
}

// What a lock of the bench shows under an attack, replay shows again.
func TestAnAttackOnADesign_IsReplayed(t *testing.T) {
	for _, c := range []struct{ design, fault, first string }{
		{"000000", "none", "X"}, {"100000", "crash-hold", "K"}, {"110000", "crash-acquire", "K"}, {"120000", "slow", "X"},
		{"120010", "slow", "D"}, {"121200", "resent", "N"}, {"121201", "nested", "B"}, {"121211", "failover", "X"},
	} {
		found := explored(t)(named(t, c.design)[0].job(c.fault))
		require.NotNil(t, found.First, found.Job)
		path := first(found.First)
		id, records := found.Job.id(path), found.First.Tell(found.First.Cells[0], path).Records
		last := records[len(records)-1]
		require.Equal(t, trace.Verdict, last.Kind, id)
		require.Equal(t, c.first, last.Text[:1], id)
		require.Equal(t, records, replayed(t, id)[:len(records)], id)
	}
}

// first are the choices in a graph that has one schedule.
func first(g *graph.Graph) (path []string) {
	for at := g.Cells[0].State; at >= 0; at = g.States[at].Edges[0].To {
		path = append(path, g.Options[g.States[at].Edges[0].Option].Label)
	}
	return path
}

// What the bench teaches, and no row of steps can, is so; and if it were not, a run would say so.
func TestTheBench_Teaches(t *testing.T) {
	cellOf := explored(t)
	list := named(t, "120000", "100000", "120010", "121210")
	require.NoError(t, teaches(list, cellOf))
	for id, kinds := range map[string]string{
		"build/121000/slow":   "XL", // a token that no one compares
		"build/100000/slow":   "XL", // no ttl
		"build/100000/pause":  "L",
		"build/120010/slow":   "", // a watchdog, and DEL
		"build/121210/slow":   "D",
		"build/121000/resent": "N",
	} {
		spoilt := func(j job) cell {
			c := cellOf(j)
			if j.String() == id {
				c.Kinds = kinds
			}
			return c
		}
		require.Error(t, teaches(list, spoilt), id)
	}
}

// A design that is a lock of the course breaks as that does: in as many schedules of as many.
func TestDesigns_AreTheCoursesLocks(t *testing.T) {
	cellOf := explored(t)
	for name, n := range map[string]int{"000000": 0, "110000": 2, "121201": 5} {
		for _, f := range []string{"crash-acquire", "resent"} {
			d, s := cellOf(named(t, name)[0].job(f)), cellOf(steps[n].job(f))
			require.Equal(t, s.Kinds, d.Kinds, d.Job)
			require.Equal(t, s.Schedules, d.Schedules, d.Job)
			require.Equal(t, s.Violating(), d.Violating(), d.Job)
		}
	}
	fake := func(j job) cell { return cell{Job: j, Schedules: 3} }
	require.NoError(t, areSteps(fake))
	require.ErrorContains(t, areSteps(func(j job) cell {
		c := fake(j)
		if j.Design != "" && j.Fault == "slow" {
			c.All = []string{"a"}
		}
		return c
	}), "build/121201/slow")
}

// The watchdog of a holder that has died ends with its lease, and is not left over.
func TestTheWatchdogOfTheDead_Ends(t *testing.T) {
	for _, name := range []string{"120010", "121210", "121211"} {
		c := explored(t)(named(t, name)[0].job("crash-hold"))
		require.Empty(t, c.Kinds, name)
	}
}

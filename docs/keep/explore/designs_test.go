package main

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// What the bench teaches is so, in a few of its cells.
func TestTheBench_Teaches(t *testing.T) {
	require.Len(t, designs, 55, "40 settings of the switches make a lock, and 15 that recognise their own")
	for name, kinds := range map[string]string{
		"build/000000/none":          "XLD", // between EXISTS and SET there is room
		"build/100000/slow":          "",    // without a ttl, long work does no harm
		"build/100000/crash-hold":    "K",   // but a dead holder does
		"build/110000/crash-acquire": "K",
		"build/120000/slow":          "XLD",
		"build/121000/slow":          "XLD", // a token that no one compares changes nothing
		"build/120010/slow":          "D",   // a watchdog does not save a DEL that asks no one, or too early
		"build/121110/slow":          "D",
		"build/121210/slow":          "", // a watchdog and a script do
		"build/121210/crash-hold":    "", // and the watchdog of the dead ends with its lease
		"build/121200/resent":        "N",
		"build/121201/nested":        "B",
	} {
		c := explored(t, named(t, name), -1)
		require.Equal(t, kinds, c.Kinds, name)
	}
}

// A design that is a lock of the course breaks as that does: in as many schedules of as many.
func TestDesigns_AreTheCoursesLocks(t *testing.T) {
	for design, step := range map[string]string{"000000": "00", "100000": "01", "110000": "02", "120000": "03", "121101": "04", "121201": "05"} {
		for _, fault := range []string{"crash-acquire", "resent"} {
			d := explored(t, named(t, "build/"+design+"/"+fault), -1)
			s := explored(t, named(t, step+"/"+fault), -1)
			require.Equal(t, []any{s.Kinds, s.Violating, s.Schedules}, []any{d.Kinds, d.Violating, d.Schedules}, d)
		}
	}
}

package main

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/picture"
	"example.com/redislock-steps/docs/internal/trace"
)

const lateHolder = "TestALateHolder_CannotDeleteTheNextOwnersLock"

// TestAChangedLock_ChangesThePicture plays the story of a late holder on the lock of
// step 04, as it is and without its comparison.
func TestAChangedLock_ChangesThePicture(t *testing.T) {
	buildsMany(t)
	asItIs := drawn(t, func(lock string) string { return lock })
	require.Equal(t, asItIs, drawn(t, func(lock string) string { return lock + "\n// A comment.\n" }))
	require.NotContains(t, asItIs, "both)\" stroke", "two are inside")

	changed := drawn(t, func(lock string) string {
		const compares = "owns, err := l.owns(ctx, token)"
		require.Contains(t, lock, compares)
		return strings.Replace(lock, compares, "owns, err := true, error(nil)", 1)
	})
	require.NotEqual(t, asItIs, changed, "alice deletes what is not hers, and the picture looks as before")
	require.Contains(t, changed, "alice DEL → 1: deletes bob&#39;s lock")
	require.Contains(t, changed, "both)\" stroke", "bob and carol are both inside, and the picture does not show it")
}

// drawn is the picture of the story on a lock.
func drawn(t *testing.T, change func(lock string) string) string {
	t.Helper()
	tr, ctx, err := newTour(t.Context(), console{out: new(bytes.Buffer), err: new(bytes.Buffer)})
	require.NoError(t, err)
	defer tr.close()
	b := greenBuild(course.Steps[3])
	b.replace[course.LockFile] = filepath.Join(t.TempDir(), course.LockFile)
	require.NoError(t, write(b.replace[course.LockFile], change(read(t, tr.path(b.dir, course.LockFile)))))
	results, err := tr.playAll(ctx, tr.compileAhead(ctx, b)[0], []story{{name: lateHolder}})
	require.NoError(t, err)
	svg, err := picture.Story("A late holder", []picture.Panel{{Records: results[0].recorded()}}, picture.Light)
	require.NoError(t, err)
	return svg
}

func TestJSON_IsTheRecordsOfOneStory(t *testing.T) {
	buildsMany(t)
	out, errs, code := tourOf(t, "red 4 -json "+lateHolder)
	require.Zero(t, code, errs)
	var records []trace.Record
	for d := json.NewDecoder(strings.NewReader(out)); d.More(); {
		var r trace.Record
		require.NoError(t, d.Decode(&r))
		records = append(records, r)
	}
	require.Equal(t, trace.Verdict, records[len(records)-1].Kind)
	require.Equal(t, "alice came late and deleted bob's lock: carol is inside with bob", records[len(records)-1].Text)

	shows(t, "green 4 -json TestTryLock_InvalidTTL_SendsNothing", 0)
}

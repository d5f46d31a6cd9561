package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"example.com/redislock-steps/docs/internal/trace"
)

const lateHolder = "TestALateHolder_CannotDeleteTheNextOwnersLock"

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

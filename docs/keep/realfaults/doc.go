// Package realfaults holds tests with real Redis servers, real holder processes and real
// signals. They take four minutes and need redis-server and redis-sentinel, so they run
// only when asked for:
//
//	REALFAULTS=1 go test -C docs/keep -v -count=1 -parallel 8 -timeout 20m ./realfaults
package realfaults

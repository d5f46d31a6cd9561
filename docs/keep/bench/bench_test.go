package main

import (
	"context"
	"errors"
	"io"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// Two commands, each answered in two pieces, and then a message that no client asked for:
// two round trips.
func TestMeter_CountsAnswersNotPieces(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	var m meter
	conn := &meteredConn{Conn: ours, meter: &m}
	defer conn.Close()
	go func() {
		for range 2 {
			io.ReadFull(theirs, make([]byte, 4))
			theirs.Write([]byte("+O"))
			theirs.Write([]byte("K\r\n"))
		}
		theirs.Write([]byte("push"))
	}()
	for range 2 {
		conn.Write([]byte("PING"))
		io.ReadFull(conn, make([]byte, 5))
	}
	io.ReadFull(conn, make([]byte, 4))
	require.EqualValues(t, []int64{2, 8, 14}, []int64{m.trips.Load(), m.sent.Load(), m.received.Load()})
}

func TestWithoutRedisServer_ItSaysHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := startServers(1)
	require.ErrorContains(t, err, "install redis-server")
}

func TestOneAtATime_OneOfTheProcessAsksAtATime(t *testing.T) {
	asked, fail := 0, errors.New("no connection")
	lock := oneAtATime(func(context.Context, string) (unlock, error) {
		asked++
		return func(context.Context) error { return nil }, fail
	})
	_, err := lock(t.Context(), "many")
	require.Equal(t, fail, err)
	fail = nil
	release, err := lock(t.Context(), "many")
	require.NoError(t, err, "one that failed keeps the others from asking")

	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	_, err = lock(ctx, "many")
	require.ErrorIs(t, err, context.DeadlineExceeded, "a client is inside, and the context has ended")
	require.Equal(t, 2, asked, "a client is inside, and another one asks")

	require.NoError(t, release(t.Context()))
	_, err = lock(t.Context(), "many")
	require.NoError(t, err, "one that has left keeps the others from asking")
}

func TestRatio_ComparesRoundByRound(t *testing.T) {
	// The machine was ten times as slow in every second round. The medians of both are
	// far apart by chance; in each round, a took one and a half times as long as b.
	a := []float64{15, 150, 15, 150, 15, 150, 15}
	b := []float64{10, 100, 10, 100, 10, 100, 10}
	require.Equal(t, "1.50 (1.50 to 1.50)", ratio(a, b))
	require.EqualValues(t, 150, a[1], "ratio has sorted its arguments: rounds no longer match")
	ones := []float64{1, 1, 1, 1, 1, 1, 1}
	require.Equal(t, "4.00 (1.00 to 7.00)", ratio([]float64{5, 1, 4, 2, 3, 7, 6}, ones))
	require.Equal(t, "2.00", ratio([]float64{2}, []float64{1}), "one measurement has no interval")
}

func TestLoad_CallsThatWaitForGoodAreCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		waits := func(ctx context.Context, _ string) (unlock, error) { <-ctx.Done(); return nil, ctx.Err() }
		r := &results{Plan: plan{Load: time.Second}, Failed: map[string]int{}}
		r.load(&entrant{name: "lost", locker: locker{lock: waits}})
		require.Contains(t, r.Failed, "lost, under load")
	})
}

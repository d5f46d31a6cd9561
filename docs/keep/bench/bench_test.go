package main

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestSumCalls_LeavesOurOwnCommandsOut(t *testing.T) {
	const stats = "# Commandstats\r\n" +
		"cmdstat_evalsha:calls=200,usec=3,usec_per_call=0.01,rejected_calls=7,failed_calls=0\r\n" +
		"cmdstat_set:calls=100,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_client|setinfo:calls=2,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_info:calls=5,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n"
	require.Equal(t, 302, sumCalls(stats))
}

// Two commands, each answered in two pieces, and then a message that no client asked for:
// two round trips.
func TestMeter_CountsAnswersNotPieces(t *testing.T) {
	ours, theirs := net.Pipe()
	defer theirs.Close()
	var trips atomic.Int64
	conn := &meteredConn{Conn: ours, trips: &trips}
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
	require.EqualValues(t, 2, trips.Load())
}

func TestWithoutRedisServer_ItSaysHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := startServers(1)
	require.ErrorContains(t, err, "install redis-server")
	require.NotContains(t, err.Error(), "REDIS_ADDRS", "it names a variable that is not read here")
}

func TestInTurns_OneOfTheProcessAsksAtATime(t *testing.T) {
	var now, most, all atomic.Int32
	fail := errors.New("no connection")
	ask := func(context.Context, string) (unlock, error) {
		all.Add(1)
		if fail != nil {
			return nil, fail
		}
		most.Store(max(most.Load(), now.Add(1)))
		return func(context.Context) error { now.Add(-1); return nil }, nil
	}
	l, _ := openInTurns(func(network) (locker, error) { return locker{lock: ask}, nil })(network{})
	_, err := l.lock(t.Context(), "many")
	require.Equal(t, fail, err)
	fail = nil
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			release, err := l.lock(t.Context(), "many")
			if assert.NoError(t, err, "one that failed keeps the others from asking") {
				release(t.Context())
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, 51, all.Load())
	require.EqualValues(t, 1, most.Load(), "so many asked at a time")

	_, err = l.lock(t.Context(), "many")
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = l.lock(ctx, "many")
	require.ErrorIs(t, err, context.Canceled, "a client is inside, and the context has ended")
}

func TestRatio_ComparesRoundByRound(t *testing.T) {
	// The machine was ten times as slow in every second round. The medians of both are
	// far apart by chance; in each round, a took one and a half times as long as b.
	a := []float64{15, 150, 15, 150, 15, 150, 15}
	b := []float64{10, 100, 10, 100, 10, 100, 10}
	got := ratio(a, b)
	require.Equal(t, estimate{1.5, 1.5, 1.5}, got)
	require.EqualValues(t, 150, a[1], "ratio has sorted its arguments: rounds no longer match")
}

func TestMedian_HasAnInterval(t *testing.T) {
	got := median([]float64{5, 1, 4, 2, 3, 9, 7, 8, 6})
	require.True(t, got.mid == 5 && got.lo < 5 && got.hi > 5 && got.lo >= 1 && got.hi <= 9, "median of 1 to 9 is %+v", got)
	require.Equal(t, "2.00", median([]float64{2}).String(), "one measurement has no interval")
}

func TestQuantile(t *testing.T) {
	var values []float64
	for i := 200; i > 0; i-- {
		values = append(values, float64(i))
	}
	for _, c := range []struct{ q, want float64 }{{0, 1}, {0.5, 100}, {0.99, 198}, {1, 200}} {
		require.Equal(t, c.want, quantile(values, c.q), "the %v-quantile of 1 to 200", c.q)
	}
	require.Zero(t, quantile(nil, 0.5), "nothing was measured")
}

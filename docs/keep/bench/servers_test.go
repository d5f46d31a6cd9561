package main

import (
	"io"
	"net"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestSumCalls_LeavesOurOwnCommandsOut(t *testing.T) {
	const stats = "# Commandstats\r\n" +
		"cmdstat_evalsha:calls=200,usec=3,usec_per_call=0.01,rejected_calls=7,failed_calls=0\r\n" +
		"cmdstat_set:calls=100,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_client|setinfo:calls=2,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_info:calls=5,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_config|resetstat:calls=1,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n"
	require.Equal(t, 302, sumCalls(stats))
}

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
	require.EqualValues(t, 2, m.trips.Load())
	require.EqualValues(t, 22, m.bytes.Load())
}

func TestWithoutRedisServer_ItSaysHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := startServers(1)
	require.ErrorContains(t, err, "install redis-server")
	require.NotContains(t, err.Error(), "REDIS_ADDRS", "it names a variable that is not read here")
}

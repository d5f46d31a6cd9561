package main

import (
	"io"
	"net"
	"strings"
	"testing"
)

func TestSumCalls_LeavesOurOwnCommandsOut(t *testing.T) {
	const stats = "# Commandstats\r\n" +
		"cmdstat_evalsha:calls=200,usec=3,usec_per_call=0.01,rejected_calls=7,failed_calls=0\r\n" +
		"cmdstat_set:calls=100,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_client|setinfo:calls=2,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_info:calls=5,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n" +
		"cmdstat_config|resetstat:calls=1,usec=3,usec_per_call=0.01,rejected_calls=0,failed_calls=0\r\n"
	if got := sumCalls(stats); got != 302 {
		t.Errorf("%d commands, want 302", got)
	}
}

// Two commands, each answered in two pieces, and then a message that nobody asked for: two round trips.
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
	if trips, bytes := m.trips.Load(), m.bytes.Load(); trips != 2 || bytes != 22 {
		t.Errorf("%d round trips and %d bytes, want 2 and 22", trips, bytes)
	}
}

func TestWithoutRedisServer_ItSaysHowToInstallIt(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	_, err := startServers(1)
	if err == nil || !strings.Contains(err.Error(), "install redis-server") {
		t.Errorf("it does not say how: %v", err)
	}
	if err != nil && strings.Contains(err.Error(), "REDIS_ADDRS") {
		t.Errorf("it names a variable that is not read here: %v", err)
	}
}

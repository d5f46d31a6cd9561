package main

import (
	"context"
	"net"
	"sync/atomic"
)

// A meter counts the round trips of its connections.
type meter struct {
	trips atomic.Int64
}

func (m *meter) dial(ctx context.Context, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, "tcp", addr)
	return &meteredConn{Conn: c, meter: m}, err
}

// A meteredConn counts a round trip when an answer comes in after something was sent:
// commands that are sent together and wait together are one.
type meteredConn struct {
	net.Conn
	meter *meter
	asked atomic.Bool
}

func (c *meteredConn) Write(b []byte) (int, error) {
	c.asked.Store(true)
	return c.Conn.Write(b)
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.asked.Swap(false) {
		c.meter.trips.Add(1)
	}
	return n, err
}

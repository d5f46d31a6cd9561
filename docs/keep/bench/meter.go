package main

import (
	"context"
	"net"
	"sync/atomic"
)

// A meter counts what passes through the connections that it dials.
type meter struct {
	trips          atomic.Int64 // there and back
	sent, received atomic.Int64 // bytes
}

func (m *meter) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, addr)
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
	n, err := c.Conn.Write(b)
	c.meter.sent.Add(int64(n))
	return n, err
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.meter.received.Add(int64(n))
	if n > 0 && c.asked.Swap(false) {
		c.meter.trips.Add(1)
	}
	return n, err
}

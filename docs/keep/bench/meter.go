package main

import (
	"context"
	"net"
	"sync/atomic"
)

// metered dials connections that count their round trips.
func metered(trips *atomic.Int64) func(ctx context.Context, network, addr string) (net.Conn, error) {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, addr)
		return &meteredConn{Conn: c, trips: trips}, err
	}
}

// A meteredConn counts a round trip when an answer comes in after something was sent:
// commands that are sent together and wait together are one.
type meteredConn struct {
	net.Conn
	trips *atomic.Int64
	asked atomic.Bool
}

func (c *meteredConn) Write(b []byte) (int, error) {
	c.asked.Store(true)
	return c.Conn.Write(b)
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if n > 0 && c.asked.Swap(false) {
		c.trips.Add(1)
	}
	return n, err
}

package main

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// cost is what one uncontended lock+unlock costs the network and the servers.
type cost struct {
	Trips    float64 // round trips, on all nodes
	Commands float64 // run by all servers, those in scripts included
	Bytes    float64 // sent and received
}

func (r *results) measureCosts(ctx context.Context, servers []*server) error {
	return inTurns(ctx, 1, alone(), func(c contestant) (err error) {
		// On a machine with much else to do, an answer may come too late; then the count is wrong.
		for range 3 {
			if r.Costs[c.name], err = measureCost(c, servers, r.Plan.Costs); err == nil {
				break
			}
		}
		return named(c.name, err)
	})
}

// measureCost counts, it does not time: between two pairs, everything that a pair began may end.
func measureCost(c contestant, servers []*server, n int) (cost, error) {
	servers = servers[:c.nodes]
	var m meter
	l, err := c.open(network{servers, m.dial})
	if err != nil {
		return cost{}, err
	}
	defer l.close()
	pairs := func(n int) error {
		for range n {
			ctx, cancel := bounded(2 * time.Second)
			err := l.pair(ctx, "cost")
			cancel()
			if err != nil {
				return err
			}
			time.Sleep(2 * time.Millisecond)
		}
		return nil
	}
	if err := pairs(10); err != nil { // connections, scripts
		return cost{}, err
	}
	if err := flush(servers); err != nil {
		return cost{}, err
	}
	m.trips.Store(0)
	m.bytes.Store(0)
	commands, _, err := commandsDuring(servers, func() error { return pairs(n) })
	per := func(total float64) float64 { return total / float64(n) }
	return cost{per(float64(m.trips.Load())), per(commands), per(float64(m.bytes.Load()))}, err
}

// A meter counts what its connections do.
type meter struct {
	trips, bytes atomic.Int64
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
	mu    sync.Mutex
	asked bool
}

func (c *meteredConn) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.asked = true
	c.mu.Unlock()
	n, err := c.Conn.Write(b)
	c.meter.bytes.Add(int64(n))
	return n, err
}

func (c *meteredConn) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.meter.bytes.Add(int64(n))
	c.mu.Lock()
	defer c.mu.Unlock()
	if n > 0 && c.asked {
		c.asked = false
		c.meter.trips.Add(1)
	}
	return n, err
}

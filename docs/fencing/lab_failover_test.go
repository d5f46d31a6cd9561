package fencing

import (
	"fmt"
	"net"
	"testing"

	"github.com/alicebob/miniredis/v2"
	miniserver "github.com/alicebob/miniredis/v2/server"
	"github.com/redis/go-redis/v9"
)

// From step 07 on: nodes that are down, and a failover to a replica that has not received the lock.

const sentinelAddr = "10.0.2.1:26379"

func replicaAddr(node int) string { return "10.0.1." + string(rune('1'+node)) + ":6379" }

// inSentinelLab plays a story in which every node has a replica, and a Sentinel that knows who is master. The clients
// are go-redis's FailoverClients.
func inSentinelLab(t *testing.T, story func(t *testing.T, lab *lab)) {
	t.Helper()
	needsVirtualTime(t, "it needs a failover of Redis itself, see docs/realfaults")
	inLab(t, func(t *testing.T, l *lab) {
		for node := range nodes {
			l.serve(node, replicaAddr(node)) // empty: replication is asynchronous, and the lock has not come yet
		}
		sentinel := l.serve(0, sentinelAddr)
		conn, err := sentinel.Dial() // starts it
		if err != nil {
			t.Fatal(err)
		}
		conn.Close()
		sentinel.inMemory().Server().Register("SENTINEL", l.answerAsSentinel)
		l.newRedis = func(c *client, node int) *redis.Client {
			opt := c.options("")
			return redis.NewFailoverClient(&redis.FailoverOptions{
				MasterName: masterName(node), SentinelAddrs: []string{sentinelAddr},
				Dialer: opt.Dialer, PoolSize: opt.PoolSize, DialerRetries: opt.DialerRetries,
				MinRetryBackoff: opt.MinRetryBackoff, MaxRetryBackoff: opt.MaxRetryBackoff,
			})
		}
		story(t, l)
	})
}

// inMemory is the server that a story has in virtual time, with all that only a miniredis can do.
func (s *server) inMemory() *miniredis.Miniredis { return s.backend.(*miniredis.Miniredis) }

func masterName(node int) string { return fmt.Sprintf("node-%d", node+1) }

func (l *lab) answerAsSentinel(peer *miniserver.Peer, _ string, args []string) {
	if args[0] != "get-master-addr-by-name" {
		peer.WriteLen(0) // no other Sentinels
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for node, master := range l.masters {
		if args[1] == masterName(node) {
			host, port, _ := net.SplitHostPort(master)
			peer.WriteStrings([]string{host, port})
		}
	}
}

// failover kills a node's master before it has replicated anything, and promotes the replica.
func (l *lab) failover(node int) {
	master := l.server(node)
	master.down.Store(true)
	l.timeline.note("node %d: the master dies, Sentinel promotes the replica, which has not received the lock", node+1)
	l.disconnect(master)
	l.mu.Lock()
	old := l.masters[node]
	l.masters[node] = replicaAddr(node)
	sentinel := l.servers[sentinelAddr]
	l.mu.Unlock()
	oldHost, oldPort, _ := net.SplitHostPort(old)
	host, port, _ := net.SplitHostPort(replicaAddr(node))
	sentinel.inMemory().Publish("+switch-master", fmt.Sprint(masterName(node), " ", oldHost, " ", oldPort, " ", host, " ", port))
	l.wait()
}

// stop makes a node unreachable. It keeps its data, and may be started again.
func (l *lab) stop(node int) (start func()) {
	s := l.server(node)
	s.down.Store(true)
	l.timeline.note("node %d is down", node+1)
	l.disconnect(s)
	return func() {
		l.wait()
		s.down.Store(false)
		l.timeline.note("node %d is up again", node+1)
	}
}

// disconnect breaks all connections to a server.
func (l *lab) disconnect(s *server) {
	for _, c := range l.clients {
		c.hangUp(func(w *wire) bool { return w.server == s })
	}
}

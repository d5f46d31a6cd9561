//go:build unix

package realfaults

import (
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// A cluster is some masters with replicas, and one redis-sentinel that watches them all
// and decides alone (quorum 1).
type cluster struct {
	tl       *timeline
	masters  []*redisproc.Process
	links    [][]*proxy // from each master to its replicas
	sentinel *redisproc.Process
}

// newCluster starts masters, each with replicas. options are those of the first replica,
// the second, and so on.
func newCluster(t *testing.T, masters int, options ...[]string) *cluster {
	t.Helper()
	c := &cluster{masters: serve(t, masters, "--repl-diskless-sync-delay", "0")}
	config := ""
	for i, master := range c.masters {
		var links []*proxy
		for _, options := range options {
			link := newProxy(t, master.Addr)
			host, port, _ := net.SplitHostPort(link.addr())
			serve(t, 1, append([]string{"--replicaof", host + " " + port}, options...)...)
			links = append(links, link)
		}
		c.links = append(c.links, links)
		host, port, _ := net.SplitHostPort(master.Addr)
		config += fmt.Sprintf("sentinel monitor %[1]s %s %s 1\nsentinel down-after-milliseconds %[1]s 1000\n"+
			"sentinel failover-timeout %[1]s 60000\n", masterName(i), host, port)
	}
	for _, master := range c.masters {
		require.Eventually(t, func() bool { return strings.Count(info(master.Addr), "state=online") == len(options) },
			20*time.Second, 20*time.Millisecond, "a replica does not come online")
		// Online is what the master takes it for. A write that arrives shows that it is.
		conn := adminOf(t, master.Addr).Conn()
		require.NoError(t, conn.Set(ctx, "is replicated", 1, 0).Err())
		n, err := conn.Do(ctx, "WAIT", len(options), 4000).Int()
		require.NoError(t, err)
		require.Equal(t, len(options), n, "a replica is online, and does not get what is written")
		require.NoError(t, conn.Close())
	}
	var err error
	c.sentinel, err = redisproc.Sentinel(t.TempDir(), config)
	require.NoError(t, err)
	t.Cleanup(c.sentinel.Kill)
	// Sentinel asks for INFO every ten seconds, and does not promote what it has not
	// asked lately. Its own DEBUG makes it ask more often.
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: c.sentinel.Addr})
	defer sentinel.Close()
	debug := redis.NewStatusCmd(ctx, "sentinel", "debug", "info-period", "200")
	require.NoError(t, sentinel.Process(ctx, debug))
	for i := range c.masters {
		require.Eventually(t, func() bool {
			replicas, err := sentinel.Replicas(ctx, masterName(i)).Result()
			good := 0
			for _, replica := range replicas {
				if replica["flags"] == "slave" && replica["master-link-status"] == "ok" {
					good++
				}
			}
			return err == nil && good == len(options)
		}, 20*time.Second, 20*time.Millisecond, "Sentinel does not find the replicas")
	}
	c.tl = newTimeline(t)
	return c
}

func masterName(i int) string { return fmt.Sprintf("node-%d", i+1) }

func info(addr string) string {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	return rdb.Info(ctx, "replication").Val()
}

// client returns go-redis's clients that ask Sentinel for the masters. They use one
// connection each, because WAIT waits for what was written on its own connection.
func (c *cluster) clients(t *testing.T) (rdbs []redis.UniversalClient) {
	for i := range c.masters {
		rdb := redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: masterName(i), SentinelAddrs: []string{c.sentinel.Addr}, PoolSize: 1,
		})
		t.Cleanup(func() { rdb.Close() })
		rdbs = append(rdbs, rdb)
	}
	return rdbs
}

// failover kills a master and waits until Sentinel has promoted a replica. It returns the
// new master's address.
func (c *cluster) failover(t *testing.T, i int) string {
	t.Helper()
	old := c.masters[i].Addr
	c.masters[i].Kill()
	c.tl.note("the master of %s is killed (SIGKILL)", masterName(i))
	sentinel := redis.NewSentinelClient(&redis.Options{Addr: c.sentinel.Addr})
	defer sentinel.Close()
	now := ""
	require.Eventually(t, func() bool {
		addr, err := sentinel.GetMasterAddrByName(ctx, masterName(i)).Result()
		if err != nil || len(addr) != 2 {
			return false
		}
		now = net.JoinHostPort(addr[0], addr[1])
		return now != old && strings.Contains(info(now), "role:master")
	}, 30*time.Second, 20*time.Millisecond, "Sentinel does not promote a replica")
	c.tl.note("Sentinel has promoted a replica of %s", masterName(i))
	return now
}

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
	*scene
	replicas []*redisproc.Process // of the first master
	addr     string               // of the sentinel
	sentinel *redis.SentinelClient
}

// newCluster starts as many masters as the lock of a step needs, each with replicas, and
// lets two clients join. options are those of the first replica, the second, and so on.
func newCluster(t *testing.T, step int, options ...[]string) (c *cluster, alice, bob *party) {
	t.Helper()
	c = &cluster{scene: newScene(t, nodesOf(step), long, "--repl-diskless-sync-delay", "0")}
	config := ""
	for i, master := range c.servers {
		host, port, _ := net.SplitHostPort(master.Addr)
		for _, options := range options {
			replicas := serve(t, 1, append([]string{"--replicaof", host + " " + port}, options...)...)
			if i == 0 {
				c.replicas = append(c.replicas, replicas...)
			}
		}
		config += fmt.Sprintf("sentinel monitor %[1]s %s %s 1\nsentinel down-after-milliseconds %[1]s 1000\n"+
			"sentinel failover-timeout %[1]s 60000\n", masterName(i), host, port)
	}
	sentinel, err := redisproc.Sentinel(t.TempDir(), config)
	require.NoError(t, err)
	t.Cleanup(sentinel.Kill)
	c.addr = sentinel.Addr
	c.sentinel = redis.NewSentinelClient(&redis.Options{Addr: c.addr})
	t.Cleanup(func() { c.sentinel.Close() })
	// Sentinel asks for INFO every ten seconds, and does not promote what it has not
	// asked lately. Its own DEBUG makes it ask more often.
	debug := redis.NewStatusCmd(ctx, "sentinel", "debug", "info-period", "200")
	require.NoError(t, c.sentinel.Process(ctx, debug))
	for i := range c.servers {
		require.Eventually(t, func() bool {
			good := 0
			for _, replica := range c.sentinel.Replicas(ctx, masterName(i)).Val() {
				if replica["flags"] == "slave" && replica["master-link-status"] == "ok" {
					good++
				}
			}
			return good == len(options)
		}, 20*time.Second, 20*time.Millisecond, "Sentinel does not find the replicas")
	}
	c.start = time.Now()
	return c, c.join("alice", step), c.join("bob", step)
}

func masterName(i int) string { return fmt.Sprintf("node-%d", i+1) }

// join returns a party whose clients ask Sentinel for the masters. They use one connection
// each, because WAIT waits for what was written on its own connection.
func (c *cluster) join(name string, step int) *party {
	var rdbs []redis.UniversalClient
	for i := range c.servers {
		rdb := redis.NewFailoverClient(&redis.FailoverOptions{
			MasterName: masterName(i), SentinelAddrs: []string{c.addr}, PoolSize: 1,
		})
		c.t.Cleanup(func() { rdb.Close() })
		rdbs = append(rdbs, rdb)
	}
	return c.party(name, key, step, rdbs)
}

// cut cuts the replication to a replica. It keeps what it has, and gets nothing more: from
// now on it has a password for its master, which knows none and refuses it.
func (c *cluster) cut(replica *redisproc.Process, what string) {
	c.t.Helper()
	rdb := adminOf(c.t, replica.Addr)
	require.NoError(c.t, rdb.ConfigSet(ctx, "masterauth", "wrong").Err())
	require.NoError(c.t, rdb.ClientKillByFilter(ctx, "type", "master").Err())
	c.note("the replication %s is cut", what)
}

// failover kills the first master and waits until Sentinel has promoted a replica. It
// returns the new master's address, which Sentinel names when that says that it is one.
func (c *cluster) failover() (now string) {
	c.t.Helper()
	c.servers[0].Kill()
	c.note("the master of node-1 is killed (SIGKILL)")
	require.Eventually(c.t, func() bool {
		now = strings.Join(c.sentinel.GetMasterAddrByName(ctx, masterName(0)).Val(), ":")
		return now != "" && now != c.servers[0].Addr
	}, 30*time.Second, 20*time.Millisecond, "Sentinel does not promote a replica")
	c.note("Sentinel has promoted a replica of node-1")
	return now
}

//go:build unix

package realfaults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/redislock-steps/docs/keep/locks"
	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Servers that fail.

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
		config += fmt.Sprintf("sentinel monitor %[1]s %s %s 1\nsentinel down-after-milliseconds %[1]s 3000\n"+
			"sentinel failover-timeout %[1]s 5000\n", masterName(i), host, port)
	}
	sentinel, err := redisproc.Sentinel(t.TempDir(), config)
	require.NoError(t, err)
	t.Cleanup(sentinel.Kill)
	c.addr = sentinel.Addr
	c.sentinel = redis.NewSentinelClient(&redis.Options{Addr: c.addr})
	t.Cleanup(func() { c.sentinel.Close() })
	// Sentinel does not promote what it has not asked lately, and asks every ten seconds. And it
	// does nothing for 30 s once its timer was two seconds late, as on a busy disk.
	require.NoError(t, c.sentinel.Process(ctx, redis.NewStatusCmd(ctx, "sentinel", "debug", "info-period", "200", "tilt-trigger", "60000")))
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
		require.NoError(c.t, rdb.Ping(ctx).Err()) // as scene.join does
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
	}, time.Minute, 20*time.Millisecond, "Sentinel does not promote a replica") // it may try again after ten seconds
	c.note("Sentinel has promoted a replica of node-1")
	return now
}

// long is a ttl of which no third ends during a failover: alice's renewals do not come into it.
const long = 3 * time.Minute

func TestFailover_Step07IsHeldTwice(t *testing.T) {
	t.Parallel()
	c, alice, bob := newCluster(t, 7, nil)
	c.cut(c.replicas[0], "of node-1")
	alice.enters()
	c.failover()
	bob.enters("the replica knew of alice's lock: the bug is gone")
	twoAreInside(alice)
	require.True(t, locks.NotHeld(alice.unlock()))
	bob.leaves()
}

// twoAreInside is the bug: alice does not know of bob.
func twoAreInside(alice *party) {
	valid := time.Now().Before(alice.lock.(renewed).ValidUntil())
	require.True(alice.t, valid && !locks.Lost(alice.lock), "alice was notified: the bug is gone")
	alice.note("alice has not been told: two are inside")
}

func TestFailover_Step08IsHeldOnce(t *testing.T) {
	t.Parallel()
	c, alice, bob := newCluster(t, 8, nil)
	c.cut(c.replicas[0], "of node-1")
	alice.enters()
	promoted := c.failover()
	require.Zero(t, adminOf(t, promoted).Exists(ctx, key).Val(), "the replica knew of alice's lock: that proves nothing")
	bob.isRefused("one master of five is lost, and bob is inside with alice")
	alice.leaves("one master of five is lost, and alice cannot release")
	bob.enters("alice has left, but bob was refused")
	bob.leaves()
}

// waitForReplica asks Redis how many replicas have received what p wrote on its connection,
// and waits so many milliseconds for one.
func (p *party) waitForReplica(ms int) int64 {
	n, err := p.rdbs[0].(*redis.Client).Wait(ctx, 1, time.Duration(ms)*time.Millisecond).Result()
	require.NoError(p.t, err)
	p.note("%s WAIT 1 %d -> %d", p.name, ms, n)
	return n
}

func TestWait_TheReplicaHasTheLock(t *testing.T) {
	t.Parallel()
	c, alice, bob := newCluster(t, 7, nil)
	alice.enters()
	require.EqualValues(t, 1, alice.waitForReplica(4000))
	c.failover()
	bob.isRefused("the replica had received alice's lock, and bob is inside with her")
	alice.leaves()
}

func TestWait_NoReplicaHasTheLock_AliceDoesNotBegin(t *testing.T) {
	t.Parallel()
	c, alice, bob := newCluster(t, 7, nil)
	c.cut(c.replicas[0], "of node-1")
	alice.enters()
	require.Zero(t, alice.waitForReplica(500), "nothing gets through to the replica, and it has alice's lock")
	require.NoError(t, c.try("alice Unlock, and does not begin", alice.lock.Unlock(ctx)))
	c.failover()
	bob.enters()
}

// WAIT 1 says that one replica has it. It does not say which one will be promoted.
func TestWait_AnotherReplicaIsPromoted_TwoAreInside(t *testing.T) {
	t.Parallel()
	// Sentinel prefers the second one.
	c, alice, bob := newCluster(t, 7, nil, []string{"--replica-priority", "1"})
	c.cut(c.replicas[1], "to the second replica of node-1, which Sentinel prefers,")
	alice.enters()
	require.EqualValues(t, 1, alice.waitForReplica(4000), "the first replica is well, and has not received alice's lock")
	c.failover()
	bob.enters("the new master knew of alice's lock: the bug is gone")
	twoAreInside(alice)
}

// Redlock on five servers, of which some fail while alice holds the lock.
func TestFiveServers(t *testing.T) {
	t.Parallel()
	kill := func(s *redisproc.Process) error { s.Kill(); return nil }
	restart := func(s *redisproc.Process) error { s.Kill(); return s.Start() }
	stop := func(s *redisproc.Process) error { return s.Signal(syscall.SIGSTOP) }
	cont := func(s *redisproc.Process) error { return s.Signal(syscall.SIGCONT) }
	for _, f := range []fault{
		{"killed (SIGKILL)", kill, (*redisproc.Process).Start},
		{"stopped (SIGSTOP)", stop, cont},
		{"restarted empty", restart, nil},
	} {
		for n := 1; n <= 3; n++ {
			variant(t, fmt.Sprintf("%d %s", n, f.name), func(t *testing.T) { f.duringAHold(t, n) })
		}
	}
}

type fault struct {
	name       string
	fail, heal func(server *redisproc.Process) error
}

// duringAHold is what happens when n of five servers fail.
func (f fault) duringAHold(t *testing.T, n int) {
	ttl := 3 * time.Second
	if n > 2 && f.heal == nil {
		ttl = 15 * time.Second // no third of it ends before they are back
	}
	s := newScene(t, 5, ttl)
	alice, bob := s.join("alice", 8), s.join("bob", 8)
	lost := alice.lock.(renewed).Lost
	alice.enters()
	// She has a majority. Of the other nodes, bob would take those that her command has
	// not reached yet, and a hold on three of five does not outlast two.
	for i, rdb := range s.admins() {
		require.Eventually(t, func() bool { return rdb.Exists(ctx, key).Val() == 1 }, 4*time.Second, time.Millisecond,
			"node %d has not got alice's command", i+1)
	}
	for _, server := range s.servers[:n] {
		require.NoError(t, f.fail(server))
	}
	s.note("%d of 5 servers %s", n, f.name)
	err := bob.tryLock()

	switch {
	case n <= 2:
		require.True(t, locks.Refused(err), "alice is inside, and bob gets %v", err)
		time.Sleep(2 * ttl)
		require.False(t, locks.Lost(alice.lock), "three of five servers are well, and alice has lost her lock")
		s.note("two ttl later, alice has been renewed throughout")
		bob.isRefused("alice is inside, and bob is not refused")
		alice.leaves()
		bob.enters("alice has left, and bob is not let in")

	case f.heal == nil: // three have forgotten alice, and that is a majority
		require.NoError(t, err, "three servers are empty, and bob was refused: the bug is gone")
		twoAreInside(alice)
		<-lost()
		s.note("alice is notified that the lock is lost, at her next renewal")

	default:
		require.Error(t, err, "two of five servers are left, and bob is inside")
		require.False(t, locks.Refused(err), "two of five servers are left, but bob's error says that the lock is taken")
		select {
		case <-lost():
			s.note("alice is notified that the lock is lost")
		case <-time.After(ttl + slack):
			require.Fail(t, "two of five servers are left, and alice was not told")
		}
		require.Error(t, bob.tryLock(), "two of five servers are left, and bob is inside")
		for _, server := range s.servers[:n] {
			require.NoError(t, f.heal(server))
		}
		s.note("the servers are back")
		time.Sleep(ttl)
		carol := s.join("carol", 8)
		require.NoError(t, s.try("carol TryLock, a ttl later", carol.lock.TryLock(ctx)), "all servers are back, the ttl has ended, but no client gets in")
	}
}

// far dials a server in a network that takes up to 2 ms to deliver something, one time
// more and another time less.
func far(ctx context.Context, network, addr string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, addr)
	return farConn{conn}, err
}

type farConn struct{ net.Conn }

func (c farConn) Write(b []byte) (int, error) {
	time.Sleep(rand.N(2 * time.Millisecond))
	return c.Conn.Write(b)
}

// A job that every machine starts at the same moment, each with a single TryLock. With
// step 08 they can split the nodes between them, so that none has a majority. A client
// that waits for a moment (Lock) gets in.
func TestFiveServers_AJobWithASingleTryLockMayRunNowhere(t *testing.T) {
	t.Parallel()
	s := newScene(t, 5, long)
	for _, clients := range []int{2, 5, 20} {
		var list []locks.Lock
		for range clients {
			rdbs := connect(t, s.addrs(), redis.Options{Dialer: far})
			for _, rdb := range rdbs {
				require.NoError(t, rdb.Ping(ctx).Err())
			}
			list = append(list, newLock(key, 8, rdbs, long))
		}
		// empty is in how many rounds no one got in.
		empty := func(rounds int, acquire func(locks.Lock) error) (losses int) {
			for range rounds {
				inside := atOnce(list, acquire)
				require.LessOrEqual(t, inside, 1, "two are inside")
				losses += 1 - inside
			}
			return losses
		}
		losses := empty(50, func(lock locks.Lock) error { return lock.TryLock(ctx) })
		s.note("%d clients, a single TryLock: no winner in %d of 50 rounds", clients, losses)
		if clients > 2 {
			require.Positive(t, losses, "there always was a winner: production.md says otherwise")
		}
		losses = empty(5, func(lock locks.Lock) error {
			ctx, cancel := context.WithTimeout(ctx, time.Second)
			defer cancel()
			return lock.Lock(ctx)
		})
		s.note("%d clients, Lock with a second: no winner in %d of 5 rounds", clients, losses)
		require.Zero(t, losses, "they waited for a second, but no one got in")
	}
}

// atOnce acquires all locks at the same moment, returns how many succeeded, and unlocks.
func atOnce(list []locks.Lock, acquire func(locks.Lock) error) int {
	var winners atomic.Int32
	var done sync.WaitGroup
	begin := make(chan struct{})
	for _, lock := range list {
		done.Go(func() {
			<-begin
			if acquire(lock) == nil {
				winners.Add(1)
			}
		})
	}
	close(begin)
	done.Wait()
	for _, lock := range list {
		lock.Unlock(ctx)
	}
	return int(winners.Load())
}

// threeMasters starts a Redis Cluster.
func threeMasters(t *testing.T) (addrs []string) {
	t.Helper()
	return (&scene{servers: serveCluster(t, 0)}).addrs()
}

// serveCluster starts a Redis Cluster of three masters, with as many replicas for each.
func serveCluster(t *testing.T, replicas int) []*redisproc.Process {
	t.Helper()
	nodes, err := redisproc.Cluster(ctx, t.TempDir(), 3, replicas)
	for _, p := range nodes {
		t.Cleanup(p.Kill)
	}
	require.NoError(t, err)
	return nodes
}

// A Redis Cluster of three masters is one Redis to a lock: its key is on one of them, and
// a message reaches waiters on all.
func TestCluster_TheLocksWorkOnIt(t *testing.T) {
	t.Parallel()
	addrs := threeMasters(t)
	const ttl = 3 * time.Second
	for step := 5; step <= 8; step++ {
		variant(t, fmt.Sprintf("step %02d", step), func(t *testing.T) {
			var list []locks.Lock
			for range 2 {
				rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: addrs})
				t.Cleanup(func() { rdb.Close() })
				list = append(list, newLock(fmt.Sprint("lock:", step), step, []redis.UniversalClient{rdb}, ttl))
			}
			require.NoError(t, aDay(step, ttl, list[0], list[1]))
		})
	}
}

// A dead master does not say who was promoted: the lock tells go-redis to ask the others (send.go).
func TestCluster_AMasterIsKilled_TheLockIsKept(t *testing.T) {
	if os.Getenv("REALFAULTS") != "urls" {
		t.Skip("REALFAULTS=urls plays it each week: an election takes as long as the machine lets it")
	}
	s := newScene(t, 0, 15*time.Second)
	s.servers = serveCluster(t, 1)
	join := func(name, key string) *party {
		rdb := redis.NewClusterClient(&redis.ClusterOptions{Addrs: s.addrs()})
		t.Cleanup(func() { rdb.Close() })
		return s.party(name, key, 7, []redis.UniversalClient{rdb})
	}
	s.start = time.Now()
	alice, bob := join("alice", key), join("bob", "{"+key+"}:2") // in the same slot
	bob.enters()                                                 // now his client knows the masters
	bob.leaves()
	alice.enters()
	admins := s.admins()
	var holder, replica int // the nodes with alice's key
	require.Eventually(t, func() bool {
		for i := range 3 {
			if admins[i].DBSize(ctx).Val() == 1 && admins[i+3].DBSize(ctx).Val() == 1 {
				holder, replica = i, i+3
				return true
			}
		}
		return false
	}, 20*time.Second, time.Millisecond, "the replica does not receive alice's lock")
	for _, admin := range admins {
		require.NoError(t, admin.ConfigSet(ctx, "cluster-node-timeout", "1000").Err())
	}

	s.servers[holder].Kill()
	s.start = time.Now()
	s.note("the master with alice's lock is killed (SIGKILL)")
	lease := alice.lock.(renewed).ValidUntil()
	require.Eventually(t, func() bool {
		return strings.Contains(admins[replica].Info(ctx, "replication").Val(), "role:master")
	}, 20*time.Second, 10*time.Millisecond, "the replica is not promoted")
	s.note("its replica is promoted")
	var err error
	var done sync.WaitGroup
	done.Go(func() {
		for end := time.Now().Add(15 * time.Second); ; time.Sleep(100 * time.Millisecond) {
			if err = bob.tryLock(); err == nil || time.Now().After(end) {
				return
			}
		}
	})
	for !alice.lock.(renewed).ValidUntil().After(lease) && !locks.Lost(alice.lock) {
		time.Sleep(10 * time.Millisecond)
	}
	s.note("alice has been renewed: %t; keys on the promoted replica: %v", !locks.Lost(alice.lock),
		admins[replica].Keys(ctx, "*").Val())
	done.Wait()
	assert.NoError(t, err, "the replica was promoted 15s ago, but bob's TryLock still fails")
	require.False(t, locks.Lost(alice.lock), "the promoted replica has alice's lock, but she has lost it")
	alice.leaves()
	bob.leaves()
}

//go:build unix

package realfaults

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/redislock-steps/docs/keep/locks"
	"example.com/redislock-steps/docs/keep/realfaults/lockhook"
	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Servers that fail.

// A sentinel is one redis-sentinel that watches a master, and decides alone (quorum 1).
type sentinel struct {
	*scene   // its server is the master
	replicas []*redisproc.Process
	*redis.SentinelClient
}

// watched starts them, and lets two clients with the lock of step 07 join. options are those of
// the first replica, the second, and so on.
func watched(t *testing.T, options ...[]string) (s *sentinel, alice, bob *party) {
	t.Helper()
	s = &sentinel{scene: newScene(t, 1, long, "--repl-diskless-sync-delay", "0")}
	host, port, _ := net.SplitHostPort(s.addrs()[0])
	for _, options := range options {
		s.replicas = append(s.replicas, serve(t, 1, append([]string{"--replicaof", host + " " + port}, options...)...)...)
	}
	p, err := redisproc.Sentinel(t.TempDir(), fmt.Sprintf("sentinel monitor node %s %s 1\nsentinel down-after-milliseconds node 3000\n"+
		"sentinel failover-timeout node 5000\n", host, port))
	require.NoError(t, err)
	t.Cleanup(p.Kill)
	s.SentinelClient = redis.NewSentinelClient(&redis.Options{Addr: p.Addr})
	t.Cleanup(func() { s.SentinelClient.Close() })
	// Sentinel does not promote what it has not asked lately, and asks every ten seconds. And it
	// does nothing for 30 s once its timer was two seconds late, as on a busy disk.
	require.NoError(t, s.Process(ctx, redis.NewStatusCmd(ctx, "sentinel", "debug", "info-period", "200", "tilt-trigger", "60000")))
	require.Eventually(t, func() bool {
		replicas := s.Replicas(ctx, "node").Val()
		bad := func(r map[string]string) bool { return r["flags"] != "slave" || r["master-link-status"] != "ok" }
		return len(replicas) == len(options) && !slices.ContainsFunc(replicas, bad)
	}, 20*time.Second, 20*time.Millisecond, "Sentinel does not find the replicas")
	s.start = time.Now()
	join := func(name string) *party { // WAIT waits for what its own connection has written
		rdb := redis.NewFailoverClient(&redis.FailoverOptions{MasterName: "node", SentinelAddrs: []string{p.Addr}, PoolSize: 1})
		t.Cleanup(func() { rdb.Close() })
		require.NoError(t, rdb.Ping(ctx).Err()) // as scene.join does
		return s.party(name, 7, []redis.UniversalClient{rdb})
	}
	return s, join("alice"), join("bob")
}

// cut cuts the replication to a replica. It keeps what it has, and gets nothing more: from
// now on it has a password for its master, which knows none and refuses it.
func (s *sentinel) cut(replica int, what string) {
	s.t.Helper()
	rdb := connect(s.t, []string{s.replicas[replica].Addr}, redis.Options{})[0]
	require.NoError(s.t, rdb.ConfigSet(ctx, "masterauth", "wrong").Err())
	require.NoError(s.t, rdb.ClientKillByFilter(ctx, "type", "master").Err())
	s.note("the replication %sis cut", what)
}

// failover kills the master and waits until Sentinel has promoted a replica.
func (s *sentinel) failover() {
	s.t.Helper()
	s.servers[0].Kill()
	s.note("the master is killed (SIGKILL)")
	require.Eventually(s.t, func() bool {
		now := strings.Join(s.GetMasterAddrByName(ctx, "node").Val(), ":")
		return now != "" && now != s.servers[0].Addr
	}, time.Minute, 20*time.Millisecond, "Sentinel does not promote a replica") // it may take two tries
	s.note("Sentinel has promoted a replica")
}

// long is a ttl of which no third ends during a failover: alice's renewals do not come into it.
const long = 3 * time.Minute

func TestFailover_Step07IsHeldTwice(t *testing.T) {
	t.Parallel()
	s, alice, bob := watched(t, nil)
	s.cut(0, "")
	alice.enters()
	s.failover()
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

// waitForReplica asks Redis how many replicas have received what p wrote on its connection,
// and waits so many milliseconds for one.
func (p *party) waitForReplica(ms int) int64 {
	n, err := p.rdbs[0].(*redis.Client).Wait(ctx, 1, time.Duration(ms)*time.Millisecond).Result()
	require.NoError(p.t, err)
	p.note("%s WAIT 1 %d -> %d", p.name, ms, n)
	return n
}

func TestWait_NoReplicaHasTheLock_AliceDoesNotBegin(t *testing.T) {
	t.Parallel()
	s, alice, bob := watched(t, nil)
	s.cut(0, "")
	alice.enters()
	require.Zero(t, alice.waitForReplica(500), "nothing gets through to the replica, and it has alice's lock")
	require.NoError(t, s.try("alice Unlock, and does not begin", alice.lock.Unlock(ctx)))
	s.failover()
	bob.enters()
}

// WAIT 1 says that one replica has it. It does not say which one will be promoted.
func TestWait_AnotherReplicaIsPromoted_TwoAreInside(t *testing.T) {
	t.Parallel()
	s, alice, bob := watched(t, nil, []string{"--replica-priority", "1"}) // is preferred
	s.cut(1, "to the second replica, which Sentinel prefers, ")
	alice.enters()
	require.EqualValues(t, 1, alice.waitForReplica(4000), "the first replica is well, and has not received alice's lock")
	s.failover()
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
		<-alice.lock.(renewed).Lost()
		s.note("alice is notified that the lock is lost, at her next renewal")

	default:
		require.Error(t, err, "two of five servers are left, and bob is inside")
		require.False(t, locks.Refused(err), "two of five servers are left, but bob's error says that the lock is taken")
		isLost := func() bool { return locks.Lost(alice.lock) }
		require.Eventually(t, isLost, ttl+slack, time.Millisecond, "two of five servers are left, and alice was not told")
		s.note("alice is notified that the lock is lost")
		require.Error(t, bob.tryLock(), "two of five servers are left, and bob is inside")
		for _, server := range s.servers[:n] {
			require.NoError(t, f.heal(server))
		}
		s.note("the servers are back")
		time.Sleep(ttl)
		s.join("carol", 8).enters("all servers are back, the ttl has ended, but no client gets in")
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
			warm(t, rdbs, 1)
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
func atOnce(list []locks.Lock, acquire func(locks.Lock) error) (inside int) {
	acquired := make(chan error)
	for _, lock := range list {
		go func() { acquired <- acquire(lock) }()
	}
	for range list {
		if <-acquired == nil {
			inside++
		}
	}
	for _, lock := range list {
		lock.Unlock(ctx)
	}
	return inside
}

// Servers that refuse a command: they have no memory left, or another lock's data at the key.

// A full server refuses what needs memory: to lock, to lock again, and to count an inner
// Unlock. It does not look at what is behind that, so it renews and releases.
func TestOutOfMemory_TheHolderKeepsTheLockAndReleasesIt(t *testing.T) {
	eachStep(t, []int{5, 6, 7, 8}, func(t *testing.T, step int) {
		const ttl = 3 * time.Second
		s := newScene(t, nodesOf(step), ttl, "--maxmemory-policy", "noeviction")
		alice, bob, admins := s.join("alice", step), s.join("bob", step), s.admins()
		full := func(bytes string) {
			for _, admin := range admins {
				require.NoError(t, admin.ConfigSet(ctx, "maxmemory", bytes).Err())
			}
		}
		alice.enters()
		if step >= 6 {
			alice.enters("again")
		}
		full("1")
		s.note("all servers are out of memory")
		if step >= 6 {
			require.ErrorContains(t, alice.tryLock(), "OOM", "say in server.md that a nested TryLock works now")
			require.ErrorContains(t, alice.unlock(), "OOM", "say in server.md that a nested Unlock works now")
		}
		if step >= 7 {
			time.Sleep(ttl * 5 / 4)
			require.False(t, locks.Lost(alice.lock), "a full server does not renew: say so in server.md")
			s.note("a ttl and a quarter later, alice has been renewed")
		}
		alice.leaves("a full server does not release: say so in server.md")
		for i, admin := range admins {
			require.Zero(t, admin.Exists(ctx, key).Val(), "alice has left, and node %d has her key", i+1)
		}
		err := bob.tryLock()
		require.ErrorContains(t, err, "OOM")
		require.False(t, locks.Refused(err), "no one holds the lock, but bob's error says that it is taken")
		full("0")
		s.note("the servers have memory again")
		bob.enters()
	})
}

// While a service changes from step 05 to a later one, or back, each version finds at the key what
// it cannot read. They exclude each other by another error than ErrNotAcquired, and do not wait.
func TestRollingChange_TheVersionsExcludeEachOtherByAnError(t *testing.T) {
	t.Parallel()
	s := newScene(t, 1, long) // one node for step 08, too: it is about the key
	for _, change := range [][2]int{{5, 6}, {5, 7}, {5, 8}, {6, 5}, {7, 5}, {8, 5}} {
		alice, bob := s.join("alice", change[0]), s.join("bob", change[1])
		alice.enters()
		for _, err := range []error{bob.tryLock(), bob.try("bob Lock, which does not wait", bob.lock.Lock(ctx))} {
			require.ErrorContains(t, err, "WRONGTYPE", "the page says that bob gets this error")
			require.False(t, locks.Refused(err), "the page says that bob cannot tell that alice holds the lock")
		}
		alice.leaves("bob has damaged alice's lock")
	}
}

// Users that may do just what the page says, and users that may not.

// rightsOnThePage returns what docs/read/server.md gives the user of a lock: the words of
// its lines, without the password.
func rightsOnThePage(t *testing.T, step int) []string {
	t.Helper()
	page, err := os.ReadFile("../../read/server.md")
	require.NoError(t, err)
	user := map[int]string{5: "locks05", 6: "locks07", 7: "locks07", 8: "locks08"}[step]
	var rights []string
	for line := range strings.Lines(string(page)) {
		if words, ok := strings.CutPrefix(line, "ACL SETUSER "+user+" "); ok {
			rights = append(rights, strings.Fields(strings.TrimPrefix(words, "on >secret "))...)
		}
	}
	return rights
}

// aDay is what a lock does in its life: alice locks, and again if her lock allows it; bob waits
// while she works, beyond the ttl if she is renewed; she leaves, and he is woken.
func aDay(step int, ttl time.Duration, alice, bob locks.Lock) error {
	err, work := alice.TryLock(ctx), ttl/4
	if step >= 6 {
		err = cmp.Or(err, alice.TryLock(ctx), alice.Unlock(ctx))
	}
	if err != nil {
		return fmt.Errorf("alice, again and back: %w", err)
	}
	if step >= 7 {
		work = ttl * 7 / 6 // what bob knows of her lease has ended, and the present one has not
	}
	start, left := time.Now(), make(chan error, 1)
	time.AfterFunc(work, func() { left <- alice.Unlock(ctx) })
	waiting, cancel := context.WithTimeout(ctx, 4*ttl)
	defer cancel()
	err = bob.Lock(waiting)
	if waited := time.Since(start); err == nil && (waited < work || waited > work+ttl/4) {
		return fmt.Errorf("alice left after %v, and bob was not woken by that: he entered after %v", work, waited)
	}
	return cmp.Or(err, <-left, bob.Unlock(ctx))
}

// A day with the rights of the page, and with one of them missing at a time. None can be spared.
func TestRights_ThoseOfThePageAreEnough(t *testing.T) {
	t.Parallel()
	const ttl = 3 * time.Second
	for step := 5; step <= 8; step++ {
		rights := append(rightsOnThePage(t, step), "+select") // the page: if the database is not 0
		for i, missing := range append([]string{"nothing"}, rights...) {
			if missing == "resetchannels" || missing == "-@all" {
				continue // what a new user has anyway
			}
			variant(t, fmt.Sprintf("step %02d without %s", step, strings.ReplaceAll(missing, "*", "")), func(t *testing.T) {
				s := newScene(t, 1, ttl) // for step 08 as well: all nodes need the same
				admin := s.admins()[0]
				args := []any{"acl", "setuser", "locks", "on", ">secret"}
				for j, right := range rights {
					if j != i-1 {
						args = append(args, right)
					}
				}
				require.NoError(t, admin.Do(ctx, args...).Err())
				var day [2]locks.Lock
				for i := range day {
					options := optionsOfThePage
					options.Username, options.Password, options.DB = "locks", "secret", 1
					rdbs := connect(t, s.addrs(), options)
					day[i] = newLock("lock:coupons", step, rdbs, ttl)
				}
				err := aDay(step, ttl, day[0], day[1])
				log := admin.ACLLog(ctx, 100).Val()
				refused := slices.DeleteFunc(log, func(e *redis.ACLLogEntry) bool { // of go-redis
					return strings.HasPrefix(e.Object, "client") && e.Object != "client|setname"
				})
				if i == 0 {
					require.NoError(t, err)
					require.Empty(t, refused, "the lock asked for something that the page does not allow")
					return
				}
				require.Error(t, err, "the page gives a right that the lock does not need: %s", missing)
				require.NotEmpty(t, refused, "nothing in ACL LOG says that %s is missing", missing)
				if slices.Contains([]string{"&redislock:lock:*", "+publish", "+subscribe"}, missing) {
					require.ErrorContains(t, err, "was not woken", "a right for messages is missing, and a call fails: say so in server.md")
				}
				s.note("%v", err)
				s.note("ACL LOG: reason %s, context %s, object %s", refused[0].Reason, refused[0].Context, refused[0].Object)
			})
		}
	}
}

// service returns a party whose client logs to a file, as production.md recommends.
func (s *scene) service(name string, step int) (p *party, hook *lockhook.Hook, log func() string) {
	file, err := os.Create(filepath.Join(s.t.TempDir(), name))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { file.Close() })
	hook = &lockhook.Hook{Log: slog.New(slog.NewTextHandler(file, nil))}
	rdbs := connect(s.t, s.addrs(), redis.Options{DialerRetries: 1, ContextTimeoutEnabled: true})
	for _, rdb := range rdbs {
		rdb.AddHook(hook)
	}
	return s.party(name, step, rdbs), hook, func() string {
		text, err := os.ReadFile(file.Name())
		require.NoError(s.t, err)
		return string(text)
	}
}

func TestAtNight_TheHolderIsFound(t *testing.T) {
	eachStep(t, []int{5, 6, 7, 8}, func(t *testing.T, step int) {
		s := newScene(t, nodesOf(step), long)
		alice, _, aliceLog := s.service("alice", step)
		bob, _, bobLog := s.service("bob", step)
		alice.enters()
		bob.isRefused()
		admin := s.admins()[0] // of 08, it may not be of the majority at once
		require.Eventually(t, func() bool {
			token := admin.Get(ctx, key).Val() + strings.Join(admin.HKeys(ctx, key).Val(), "") // of 05, of later ones
			return token != "" && strings.Contains(aliceLog(), fmt.Sprintf(`msg="lock acquired" key=%s token=%s`, key, token))
		}, 5*slack, 10*time.Millisecond, "alice holds the lock, and her log does not say so")
		require.True(t, step == 8 || bobLog() == "", "bob was refused, and his log says that he holds the lock")
		alice.leaves()
	})
}

func TestAnOutage_IsSeenBeforeTheLockIsLost(t *testing.T) {
	t.Parallel()
	for outage, stop := range map[string]func(*redisproc.Process){
		"killed": (*redisproc.Process).Kill,
		"hangs":  func(server *redisproc.Process) { server.Signal(syscall.SIGSTOP) },
	} {
		for i := range 4 {
			step, ttl := 7+i%2, time.Duration(5+5*(i/2))*time.Second
			variant(t, fmt.Sprintf("step %02d, Redis %s, a ttl of %v", step, outage, ttl), func(t *testing.T) {
				s := newScene(t, nodesOf(step), ttl)
				alice, hook, log := s.service("alice", step)
				alice.enters()
				isRenewed := func() bool { return hook.Renewed.Load() >= int64(nodesOf(step)) }
				require.Eventually(t, isRenewed, s.ttl, time.Millisecond, "a renewal is not counted")
				require.Zero(t, hook.Failed.Load())
				s.note("renewed, 0 failures")
				for _, server := range s.servers {
					stop(server)
				}
				s.note("Redis: %s", outage)
				for hook.Failed.Load() == 0 && !locks.Lost(alice.lock) {
					time.Sleep(time.Millisecond)
				}
				require.False(t, locks.Lost(alice.lock), "the lock is lost, and no renewal has been counted as failed")
				s.note("the hook has counted a failure")
				require.Contains(t, log(), `msg="lock not renewed" key=`+key)
				<-alice.lock.(renewed).Lost()
				s.note("alice is notified that the lock is lost; %d failures", hook.Failed.Load())
			})
		}
	}
}

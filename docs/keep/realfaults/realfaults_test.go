//go:build unix

// Package realfaults holds tests with real Redis servers, real holder processes and real
// signals. They take two minutes and need redis-server and redis-sentinel, so they run
// only when asked for:
//
//	REALFAULTS=1 go test -C docs/keep -v -count=1 -parallel 16 -timeout 20m ./realfaults
package realfaults

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/keep/locks"
	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
	step08 "example.com/redislock-steps/step08_redlock"
	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"github.com/stretchr/testify/require"
)

const (
	key   = "coupons"
	slack = 2 * time.Second // what a busy machine may need in addition
)

var ctx = context.Background()

// TestMain is also the main function of the holders: the tests start this program again for each.
func TestMain(m *testing.M) {
	logging.Disable()
	if role := os.Getenv("REALFAULTS_HOLDER"); role != "" {
		playHolder(role)
		return
	}
	if os.Getenv("REALFAULTS") == "" {
		fmt.Println("SKIP: these tests start real servers and take their time: run them with REALFAULTS=1")
		return
	}
	os.Exit(m.Run())
}

// variant runs a variant of a test, at the same time as the others.
func variant(t *testing.T, name string, test func(t *testing.T)) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		test(t)
	})
}

// eachStep runs a test for some steps.
func eachStep(t *testing.T, steps []int, test func(t *testing.T, step int)) {
	t.Parallel()
	for _, step := range steps {
		variant(t, fmt.Sprintf("step %02d", step), func(t *testing.T) { test(t, step) })
	}
}

// newLock returns the lock of a step.
func newLock(key string, step int, rdbs []redis.UniversalClient, ttl time.Duration) locks.Lock {
	l := locks.New(step, rdbs, key, ttl)
	if l, ok := l.(*step08.Lock); ok {
		l.NodeTimeout = min(time.Second, ttl/4) // a node on a busy machine has not failed
	}
	return l
}

// A renewed lock is that of step 07 or 08.
type renewed interface {
	Lost() <-chan struct{}
	ValidUntil() time.Time
}

// nodesOf returns how many servers the lock of a step needs.
func nodesOf(step int) int { return course.Steps[step-1].Nodes }

// A scene is some servers, and a timeline of what happened, printed when the test ends.
type scene struct {
	t       *testing.T
	ttl     time.Duration
	servers []*redisproc.Process

	mu    sync.Mutex
	start time.Time
	text  strings.Builder
}

func newScene(t *testing.T, nodes int, ttl time.Duration, options ...string) *scene {
	s := &scene{t: t, ttl: ttl, servers: serve(t, nodes, options...), start: time.Now()}
	t.Cleanup(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		t.Logf("timeline (real time):\n%s", s.text.String())
	})
	return s
}

func (s *scene) note(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fmt.Fprintf(&s.text, "%7dms  %s\n", time.Since(s.start).Milliseconds(), fmt.Sprintf(format, args...))
}

// try notes what came of an attempt.
func (s *scene) try(what string, err error) error {
	s.note("%s -> %s", what, short(err))
	return err
}

// short is an error as the timeline shows it.
func short(err error) string {
	switch {
	case err == nil:
		return "nil"
	case locks.Refused(err):
		return "lock not acquired"
	case locks.NotHeld(err):
		return "lock not held"
	}
	text, _, _ := strings.Cut(err.Error(), ";")
	return strings.TrimPrefix(text, `redislock: acquire "`+key+`": `)
}

func (s *scene) addrs() (addrs []string) {
	for _, server := range s.servers {
		addrs = append(addrs, server.Addr)
	}
	return addrs
}

// admins returns a client of each server.
func (s *scene) admins() []redis.UniversalClient { return connect(s.t, s.addrs(), redis.Options{}) }

// A party is a client with its lock.
type party struct {
	*scene
	name string
	rdbs []redis.UniversalClient
	lock locks.Lock
}

// party returns a party with these clients and the lock of a step.
func (s *scene) party(name string, step int, rdbs []redis.UniversalClient) *party {
	return &party{s, name, rdbs, newLock(key, step, rdbs, s.ttl)}
}

// join returns a party with its own clients, which are connected: on a busy machine a dial
// may take longer than the lock of step 08 waits for a node.
func (s *scene) join(name string, step int) *party {
	rdbs := s.admins()
	warm(s.t, rdbs, 1)
	return s.party(name, step, rdbs)
}

func (p *party) tryLock() error { return p.try(p.name+" TryLock", p.lock.TryLock(ctx)) }
func (p *party) unlock() error  { return p.try(p.name+" Unlock", p.lock.Unlock(ctx)) }

// wait waits for the lock until the ttl of another one has ended.
func (p *party) wait() error {
	waiting, cancel := context.WithTimeout(ctx, p.ttl+slack)
	defer cancel()
	return p.try(p.name+" Lock", p.lock.Lock(waiting))
}

// enters, leaves and isRefused are what the test expects of a party.

func (p *party) enters(says ...any) {
	p.t.Helper()
	require.NoError(p.t, p.tryLock(), says...)
}

func (p *party) leaves(says ...any) {
	p.t.Helper()
	require.NoError(p.t, p.unlock(), says...)
}

func (p *party) isRefused(says ...any) {
	p.t.Helper()
	require.True(p.t, locks.Refused(p.tryLock()), says...)
}

// serve starts servers that end with the test.
func serve(t *testing.T, n int, options ...string) (servers []*redisproc.Process) {
	t.Helper()
	for range n {
		server, err := redisproc.Server(t.TempDir(), options...)
		require.NoError(t, err)
		t.Cleanup(server.Kill)
		servers = append(servers, server)
	}
	return servers
}

// connect returns separate clients for one party, with these options but for the address.
func connect(t *testing.T, addrs []string, options redis.Options) (rdbs []redis.UniversalClient) {
	for _, addr := range addrs {
		own := options
		own.Addr = addr
		rdb := redis.NewClient(&own)
		t.Cleanup(func() { rdb.Close() })
		rdbs = append(rdbs, rdb)
	}
	return rdbs
}

// Holders that are killed, and holders that are stopped.

func TestAHolderIsKilledInside(t *testing.T) {
	eachStep(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, func(t *testing.T, step int) {
		s := newScene(t, nodesOf(step), 3*time.Second)
		bob, alice := s.join("bob", step), s.begin("holding", step)
		alice.hear(t, "TryLock -> nil")
		alice.kill()
		s.note("alice is killed (SIGKILL)")
		killed := time.Now()
		if err := bob.tryLock(); time.Since(killed) < s.ttl/3 {
			require.True(t, locks.Refused(err), "the ttl is not over, and bob got %v", err)
		}
		if step > 1 {
			require.NoError(t, bob.wait(), "alice died, her ttl has expired, and bob is locked out")
			bob.leaves()
			return
		}
		time.Sleep(3 * s.ttl)
		bob.isRefused("the bug is gone")
		require.EqualValues(t, -1, s.admins()[0].PTTL(ctx, key).Val(), "the key has a ttl")
		s.note("PTTL %s -> -1: locked forever", key)
	})
}

func TestAHolderIsStoppedBeyondItsTTL(t *testing.T) {
	eachStep(t, []int{5, 7, 8}, func(t *testing.T, step int) {
		s := newScene(t, nodesOf(step), 3*time.Second)
		rdb := s.admins()[0]
		require.NoError(t, rdb.Set(ctx, "stock", 100, 0).Err())
		bob := s.join("bob", step)

		alice := s.begin("selling", step)
		alice.hear(t, "is about to write")
		alice.Process.Signal(syscall.SIGSTOP)
		s.note("alice is stopped (SIGSTOP)")
		require.NoError(t, bob.wait(), "alice is stopped, her ttl has ended, but bob is locked out")
		stock, err := rdb.Get(ctx, "stock").Int()
		require.NoError(t, err)
		require.NoError(t, rdb.Set(ctx, "stock", stock-1, 0).Err())
		s.note("bob reads stock = %d and writes stock = %d", stock, stock-1)
		if step == 5 {
			bob.leaves() // his lease would end, too
		}

		alice.Process.Signal(syscall.SIGCONT)
		s.note("alice resumes (SIGCONT)")
		alice.hear(t, "writes stock = 99")
		require.Equal(t, "Unlock -> lock not held", alice.hear(t, "Unlock"), "alice's lock was bob's, and she was not told")
		if step != 5 {
			bob.leaves("alice took bob's lock away")
		}
		stock, err = rdb.Get(ctx, "stock").Int()
		require.NoError(t, err)
		s.note("two coupons are sold, and stock = %d", stock)
		require.Equal(t, 99, stock, "the resource does not check, and alice's late write did not overwrite bob's")
	})
}

// A holder is a process that uses a lock. It says line by line what it does.
type holder struct {
	*exec.Cmd
	lines chan string
}

// begin starts alice, and notes what she says. She ends with the test, and on Linux with
// the test's process.
func (s *scene) begin(role string, step int) *holder {
	s.t.Helper()
	program, err := os.Executable()
	require.NoError(s.t, err)
	h := &holder{exec.Command(program), make(chan string, 100)}
	h.Env = append(os.Environ(), fmt.Sprintf("REALFAULTS_HOLDER=%s %d %d %s",
		role, step, s.ttl.Milliseconds(), strings.Join(s.addrs(), ",")))
	h.Stderr = os.Stderr
	h.SysProcAttr = redisproc.DieWithParent()
	out, err := h.StdoutPipe()
	require.NoError(s.t, err)
	require.NoError(s.t, h.Start())
	s.t.Cleanup(h.kill)
	go func() {
		defer close(h.lines)
		for in := bufio.NewScanner(out); in.Scan(); {
			s.note("alice %s", in.Text())
			h.lines <- in.Text()
		}
	}()
	return h
}

// hear waits until she says something that begins so.
func (h *holder) hear(t *testing.T, begin string) string {
	t.Helper()
	defer time.AfterFunc(20*time.Second, h.kill).Stop()
	for line := range h.lines {
		if strings.HasPrefix(line, begin) {
			return line
		}
	}
	require.FailNow(t, "alice has ended", "she did not say %q", begin)
	return ""
}

// kill is SIGKILL, also for a process that is stopped.
func (h *holder) kill() {
	h.Process.Kill()
	h.Process.Wait()
}

// playHolder is what runs in the holder's process.
func playHolder(env string) {
	var role, list string
	var step, ms int
	fmt.Sscan(env, &role, &step, &ms, &list)
	ttl := time.Duration(ms) * time.Millisecond
	var rdbs []redis.UniversalClient
	for addr := range strings.SplitSeq(list, ",") {
		rdb := redis.NewClient(&redis.Options{Addr: addr})
		must(rdb.Ping(ctx).Result()) // see join
		rdbs = append(rdbs, rdb)
	}
	lock := newLock(key, step, rdbs, ttl)
	say("TryLock -> %s", short(lock.TryLock(ctx)))
	if role == "selling" {
		sellOne(lock, rdbs[0], ttl)
	}
	select {}
}

func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// sellOne sells a coupon, and is careful: it looks whether it holds the lock just before it writes.
func sellOne(lock locks.Lock, rdb redis.UniversalClient, ttl time.Duration) {
	hold, renews := lock.(renewed)
	if renews {
		go func() {
			<-hold.Lost()
			say("is notified that the lock is lost")
		}()
	}
	n := must(rdb.Get(ctx, "stock").Int())
	say("reads stock = %d", n)
	if renews {
		say("sees that the lock is valid: %v", time.Now().Before(hold.ValidUntil()))
	}
	say("is about to write")
	time.Sleep(ttl / 2) // the pause comes here
	must(rdb.Set(ctx, "stock", n-1, 0).Result())
	say("writes stock = %d", n-1)
	time.Sleep(ttl / 2)
	say("Unlock -> %s", short(lock.Unlock(ctx)))
}

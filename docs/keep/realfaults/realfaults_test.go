//go:build unix

// Package realfaults holds tests with real Redis servers, real holder processes and real
// signals. They take two minutes and need redis-server and redis-sentinel, so they run
// only when asked for:
//
//	REALFAULTS=1 go test -C docs/keep -v -count=1 -parallel 16 -timeout 20m ./realfaults
package realfaults

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
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

// eachStep runs a test for some steps. The longest test of all, which waits for 106 s,
// need not wait for it.
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
	return text
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
func (s *scene) party(name, key string, step int, rdbs []redis.UniversalClient) *party {
	return &party{s, name, rdbs, newLock(key, step, rdbs, s.ttl)}
}

// join returns a party with its own clients, which are connected: on a busy machine a dial
// may take longer than the lock of step 08 waits for a node.
func (s *scene) join(name string, step int) *party {
	rdbs := s.admins()
	warm(s.t, rdbs, 1)
	return s.party(name, key, step, rdbs)
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

// adminOf returns a client of a server.
func adminOf(t *testing.T, addr string) *redis.Client {
	return connect(t, []string{addr}, redis.Options{})[0].(*redis.Client)
}

// The benchmarks need the same servers, and no more than a minute to show that they work.
func TestBenchmarks_AllContestantsRun(t *testing.T) {
	t.Parallel()
	out, err := exec.Command("go", "run", "../bench", "-quick").CombinedOutput()
	require.NoError(t, err, "%s", out)
}

//go:build unix

package realfaults

import (
	"context"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/redislock-steps/docs/internal/course"
	"example.com/redislock-steps/docs/internal/locks"
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
	os.Exit(m.Run())
}

// optIn skips the test unless it was asked for, and runs it at the same time as the others.
func optIn(t *testing.T) {
	t.Helper()
	if os.Getenv("REALFAULTS") == "" {
		t.Skip("it starts real servers and takes its time: run it with REALFAULTS=1")
	}
	t.Parallel()
}

// eachStep runs a test for some steps, at the same time.
func eachStep(t *testing.T, from, to int, test func(t *testing.T, step int)) {
	for step := from; step <= to; step++ {
		t.Run(fmt.Sprintf("step %02d", step), func(t *testing.T) {
			optIn(t)
			test(t, step)
		})
	}
}

// newLock returns the lock of a step.
func newLock(step int, rdbs []redis.UniversalClient, ttl time.Duration) locks.Lock {
	return newLockOf(key, step, rdbs, ttl)
}

func newLockOf(key string, step int, rdbs []redis.UniversalClient, ttl time.Duration) locks.Lock {
	l := locks.New(step, rdbs, key, ttl)
	if l, ok := l.(*step08.Lock); ok {
		l.NodeTimeout = min(time.Second, ttl/4) // a node on a busy machine has not failed
	}
	return l
}

// nodesOf returns how many servers the lock of a step needs.
func nodesOf(step int) int { return course.Steps[step-1].Nodes }

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

// timeline is what happened, printed when the test ends.
type timeline struct {
	mu    sync.Mutex
	start time.Time
	text  strings.Builder
}

func newTimeline(t *testing.T) *timeline {
	tl := &timeline{start: time.Now()}
	t.Cleanup(func() {
		tl.mu.Lock()
		defer tl.mu.Unlock()
		t.Logf("timeline (real time):\n%s", tl.text.String())
	})
	return tl
}

func (tl *timeline) note(format string, args ...any) {
	tl.mu.Lock()
	defer tl.mu.Unlock()
	fmt.Fprintf(&tl.text, "%7dms  %s\n", time.Since(tl.start).Milliseconds(), fmt.Sprintf(format, args...))
}

// try notes what came of an attempt.
func (tl *timeline) try(who string, err error) error {
	tl.note("%s -> %s", who, short(err))
	return err
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

func addrs(servers []*redisproc.Process) (addrs []string) {
	for _, server := range servers {
		addrs = append(addrs, server.Addr)
	}
	return addrs
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

// lockOn returns a lock with its own clients.
func lockOn(t *testing.T, step int, addrs []string, ttl time.Duration) locks.Lock {
	return newLock(step, connect(t, addrs, redis.Options{}), ttl)
}

// pause stops a process as a long garbage collection or a page fault does.
func pause(p interface{ Signal(os.Signal) error }) { p.Signal(syscall.SIGSTOP) }

func goOn(p interface{ Signal(os.Signal) error }) { p.Signal(syscall.SIGCONT) }

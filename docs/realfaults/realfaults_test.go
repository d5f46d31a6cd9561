//go:build unix

package realfaults

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/redislock-steps/docs/realfaults/redisproc"
	step01 "example.com/redislock-steps/step01_setnx"
	step02 "example.com/redislock-steps/step02_expire"
	step03 "example.com/redislock-steps/step03_atomic_set"
	step04 "example.com/redislock-steps/step04_owner_token"
	step05 "example.com/redislock-steps/step05_lua_release"
	step06 "example.com/redislock-steps/step06_reentrant"
	step07 "example.com/redislock-steps/step07_watchdog"
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

// locker is what the locks of all steps have.
type locker interface {
	TryLock(context.Context) error
	Lock(context.Context) error
	Unlock(context.Context) error
}

// newLock returns the lock of a step.
func newLock(step int, rdbs []redis.UniversalClient, ttl time.Duration) locker {
	return newLockOf(key, step, rdbs, ttl)
}

func newLockOf(key string, step int, rdbs []redis.UniversalClient, ttl time.Duration) locker {
	rdb := rdbs[0]
	switch step {
	case 1:
		return step01.New(rdb, key)
	case 2:
		return step02.New(rdb, key, ttl)
	case 3:
		return step03.New(rdb, key, ttl)
	case 4:
		return step04.New(rdb, key, ttl)
	case 5:
		return step05.New(rdb, key, ttl)
	case 6:
		return step06.New(rdb, key, ttl)
	case 7:
		return step07.New(rdb, key, ttl)
	}
	l := step08.New(rdbs, key, ttl)
	l.NodeTimeout = min(time.Second, ttl/4) // a node on a busy machine has not failed
	return l
}

// nodesOf returns how many servers the lock of a step needs.
func nodesOf(step int) int {
	if step == 8 {
		return 5
	}
	return 1
}

// refused reports whether a lock says that somebody else holds it.
func refused(err error) bool {
	return slices.ContainsFunc([]error{step01.ErrNotAcquired, step02.ErrNotAcquired, step03.ErrNotAcquired, step04.ErrNotAcquired,
		step05.ErrNotAcquired, step06.ErrNotAcquired, step07.ErrNotAcquired, step08.ErrNotAcquired},
		func(target error) bool { return errors.Is(err, target) })
}

// notHeld reports whether a lock says that its holder does not hold it any more.
func notHeld(err error) bool {
	return errors.Is(err, step05.ErrNotHeld) || errors.Is(err, step06.ErrNotHeld) || errors.Is(err, step07.ErrNotHeld) ||
		errors.Is(err, step08.ErrNotHeld)
}

// short is an error as the timeline shows it.
func short(err error) string {
	switch {
	case err == nil:
		return "nil"
	case refused(err):
		return "lock not acquired"
	case notHeld(err):
		return "lock not held"
	}
	text, _, _ := strings.Cut(err.Error(), ";")
	return text
}

// isLost reports whether the holder has been told that it lost the lock.
func isLost(l locker) bool {
	told, ok := l.(interface{ Lost() <-chan struct{} })
	if !ok {
		return false
	}
	select {
	case <-told.Lost():
		return true
	default:
		return false
	}
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

// try notes what came of somebody's attempt.
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

// connect returns clients of its own for one party.
func connect(addrs []string) (rdbs []redis.UniversalClient) {
	for _, addr := range addrs {
		rdbs = append(rdbs, redis.NewClient(&redis.Options{Addr: addr}))
	}
	return rdbs
}

// lockOn returns a lock with clients that are closed when the test ends.
func lockOn(t *testing.T, step int, addrs []string, ttl time.Duration) locker {
	rdbs := connect(addrs)
	t.Cleanup(func() {
		for _, rdb := range rdbs {
			rdb.Close()
		}
	})
	return newLock(step, rdbs, ttl)
}

// pause stops a process as a long garbage collection or a page fault does.
func pause(p interface{ Signal(os.Signal) error }) { p.Signal(syscall.SIGSTOP) }

func goOn(p interface{ Signal(os.Signal) error }) { p.Signal(syscall.SIGCONT) }

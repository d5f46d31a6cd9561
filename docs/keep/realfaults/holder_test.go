//go:build unix

package realfaults

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/redislock-steps/docs/keep/locks"
	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Holders that are killed, and holders that are stopped.

func TestAHolderIsKilledInside(t *testing.T) {
	eachStep(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, func(t *testing.T, step int) {
		s := newScene(t, nodesOf(step), 3*time.Second)
		bob, alice := s.join("bob", step), s.begin("alice", "holding", step)
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

		alice := s.begin("alice", "selling", step)
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

// Eight processes increment a counter for a minute, and every now and then one of them is
// killed and started again.
func TestCounter_EightProcessesAndRandomDeaths(t *testing.T) {
	eachStep(t, []int{5, 6, 7, 8}, countForAMinute)
}

func countForAMinute(t *testing.T, step int) {
	const processes = 8
	end := time.Now().Add(time.Minute)
	s := newScene(t, nodesOf(step), 2*time.Second)
	rdb := s.admins()[0]
	require.NoError(t, rdb.Set(ctx, "counter", 0, 0).Err())
	var holders []*holder
	for range processes {
		holders = append(holders, s.begin("", "counting", step))
	}
	deaths, inside := 0, 0
	written := map[int]int{} // how often each number was written
	kill := func(h *holder) {
		h.kill()
		isInside := false
		for line := range h.lines {
			var n int
			switch fmt.Sscan(line[1:], &n); {
			case strings.HasPrefix(line, "?"):
				isInside = true
			case strings.HasPrefix(line, "="):
				isInside = false
				written[n]++
			default:
				s.note("a process says: %s", line)
			}
		}
		if isInside {
			inside++
		}
	}
	for ; time.Now().Before(end); deaths++ {
		time.Sleep(time.Duration(300+rand.IntN(900)) * time.Millisecond)
		victim := rand.IntN(processes)
		kill(holders[victim])
		holders[victim] = s.begin("", "counting", step)
	}
	for _, h := range holders {
		kill(h)
	}
	counter, err := rdb.Get(ctx, "counter").Int()
	require.NoError(t, err)
	s.note("%d processes, %d killed and started again, %d deaths between read and answer to the write", processes, deaths, inside)
	s.note("%d numbers written, counter = %d", len(written), counter)
	for n, times := range written {
		require.Equal(t, 1, times, "%d was written %d times: an update is lost", n, times)
	}
	require.Positive(t, len(written))
	require.GreaterOrEqual(t, counter, len(written), "more was written than counted: an update is lost")
	require.LessOrEqual(t, counter, len(written)+inside, "more was counted than written")
}

// A holder is a process that uses a lock. It says line by line what it does.
type holder struct {
	*exec.Cmd
	name  string
	lines chan string
}

// begin starts a holder, and notes what one with a name says. It ends with the test, and on
// Linux with the test's process.
func (s *scene) begin(name, role string, step int) *holder {
	s.t.Helper()
	program, err := os.Executable()
	require.NoError(s.t, err)
	h := &holder{exec.Command(program), name, make(chan string, 100_000)}
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
			if name != "" {
				s.note("%s %s", name, in.Text())
			}
			h.lines <- in.Text()
		}
	}()
	return h
}

// hear waits until the holder says something that begins so.
func (h *holder) hear(t *testing.T, begin string) string {
	t.Helper()
	timeout := time.After(20 * time.Second)
	for {
		select {
		case line, ok := <-h.lines:
			require.True(t, ok, "%s ended and did not say %q", h.name, begin)
			if strings.HasPrefix(line, begin) {
				return line
			}
		case <-timeout:
			require.FailNow(t, "too late", "%s did not say %q", h.name, begin)
		}
	}
}

// kill is SIGKILL, also for a process that is stopped.
func (h *holder) kill() {
	h.Process.Kill()
	h.Process.Wait()
}

// From here on: what runs in the holder's process.

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
	switch role {
	case "holding":
		say("TryLock -> %s", short(lock.TryLock(ctx)))
		select {}
	case "selling":
		sellOne(lock, rdbs[0], ttl)
	case "counting":
		for {
			count(lock, rdbs[0])
		}
	}
}

func must[T any](result T, err error) T {
	if err != nil {
		panic(err)
	}
	return result
}

func say(format string, args ...any) {
	os.Stdout.WriteString(fmt.Sprintf(format, args...) + "\n")
}

// sellOne sells a coupon, and is careful: it looks whether it holds the lock just before it writes.
func sellOne(lock locks.Lock, rdb redis.UniversalClient, ttl time.Duration) {
	say("TryLock -> %s", short(lock.TryLock(ctx)))
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
	select {}
}

// count increments the counter by reading and writing. It says what it is about to write,
// and what it has written.
func count(lock locks.Lock, rdb redis.UniversalClient) {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	if err := lock.Lock(ctx); err != nil {
		say("! Lock: %v", err)
		return
	}
	n := must(rdb.Get(ctx, "counter").Int())
	say("? %d", n+1)
	time.Sleep(2 * time.Millisecond) // think
	must(rdb.Set(ctx, "counter", n+1, 0).Result())
	say("= %d", n+1)
	if err := lock.Unlock(ctx); err != nil {
		say("! Unlock: %v", err)
	}
}

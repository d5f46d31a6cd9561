//go:build unix

package realfaults

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"example.com/redislock-steps/docs/keep/locks"
	"example.com/redislock-steps/docs/keep/realfaults/lockhook"
	"example.com/redislock-steps/docs/keep/realfaults/redisproc"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

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
		rdbs = append(rdbs, redis.NewClient(&redis.Options{Addr: addr}))
	}
	if role == "dying" {
		rdbs[0].AddHook(stopAfterSet{new(lockhook.Hook)})
	}
	lock := newLock(key, step, rdbs, ttl)
	switch role {
	case "holding", "dying":
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

// stopAfterSet waits for death when Redis has answered the first command.
type stopAfterSet struct{ *lockhook.Hook }

func (stopAfterSet) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		if name := cmd.Name(); name == "setnx" || name == "set" {
			say("%s is answered", strings.ToUpper(name))
			select {}
		}
		return err
	}
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

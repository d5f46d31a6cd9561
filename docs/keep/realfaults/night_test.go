//go:build unix

package realfaults

import (
	"bufio"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"regexp"
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

// Three in the morning, and a lock is stuck: the recipes of production.md.

// service returns a party whose client logs to a file as the page recommends, and has a
// name that leads to its process.
func (s *scene) service(name string, step int) (p *party, hook *lockhook.Hook, log string) {
	s.t.Helper()
	file, err := os.Create(filepath.Join(s.t.TempDir(), name))
	require.NoError(s.t, err)
	s.t.Cleanup(func() { file.Close() })
	hook = &lockhook.Hook{Log: slog.New(slog.NewTextHandler(file, nil))}
	rdbs := connect(s.t, s.addrs(), redis.Options{ClientName: name, DialerRetries: 1})
	for _, rdb := range rdbs {
		rdb.AddHook(hook)
	}
	return s.party(name, key, step, rdbs), hook, file.Name()
}

func read(t *testing.T, log string) string {
	text, err := os.ReadFile(log)
	require.NoError(t, err)
	return string(text)
}

func TestAtNight_TheHolderIsFound(t *testing.T) {
	eachStep(t, []int{5, 6, 7, 8}, func(t *testing.T, step int) {
		s := newScene(t, nodesOf(step), 3*time.Second)
		admin := adminOf(t, s.servers[0].Addr)
		alice, _, aliceLog := s.service(fmt.Sprintf("alice-%d", os.Getpid()), step)
		bob, _, bobLog := s.service("bob", step)
		alice.enters()
		bob.isRefused()

		// Which token? 05: GET, from 06 on: HKEYS.
		token, err := admin.Get(ctx, key).Result()
		if step >= 6 {
			var tokens []string
			// 08 continues when a majority has answered, and the first node may not be of it.
			require.Eventually(t, func() bool {
				tokens, err = admin.HKeys(ctx, key).Result()
				return err != nil || len(tokens) == 1
			}, slack, time.Millisecond)
			require.NoError(t, err)
			token = tokens[0]
		}
		require.NoError(t, err)

		// Which process? The one whose log has the token.
		if step == 8 {
			require.Eventually(t, func() bool { return strings.Contains(read(t, aliceLog), token) }, slack, time.Millisecond)
		}
		require.Contains(t, read(t, aliceLog), fmt.Sprintf(`msg="lock acquired" key=%s token=%s`, key, token), "alice holds the lock, and her log does not say so")
		require.NotContains(t, read(t, bobLog), token, "bob was refused, and his log says that he holds the lock")

		// Without a log, from 07 on: MONITOR shows the renewals with the address of the
		// client, CLIENT LIST its name.
		if step >= 7 {
			addr := monitor(t, admin.Options().Addr, token)
			clients := admin.ClientList(ctx).Val()
			client := regexp.MustCompile(`.* addr=` + addr + ` .* name=(\S*).*`).FindStringSubmatch(clients)
			require.NotNil(t, client, "CLIENT LIST has no %s", addr)
			t.Log(client[0])
			require.Equal(t, alice.name, client[1], "the renewals come from %s, and CLIENT LIST does not lead to alice", addr)
		}
		alice.leaves()
	})
}

// monitor returns the address of the client whose command has this token, by MONITOR.
func monitor(t *testing.T, addr, token string) string {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	require.NoError(t, err)
	defer conn.Close()
	require.NoError(t, conn.SetDeadline(time.Now().Add(10*time.Second)))
	fmt.Fprint(conn, "MONITOR\r\n")
	for in := bufio.NewScanner(conn); in.Scan(); {
		if line := in.Text(); strings.Contains(line, token) && !strings.Contains(line, " lua] ") {
			t.Log(line)
			inBrackets := regexp.MustCompile(`\[\d+ (\S+)\]`) // database, address
			return inBrackets.FindStringSubmatch(line)[1]
		}
	}
	require.FailNow(t, "MONITOR showed no command with the token")
	return ""
}

func TestAnOutage_IsSeenBeforeTheLockIsLost(t *testing.T) {
	t.Parallel()
	for step := 7; step <= 8; step++ {
		for outage, stop := range map[string]func(*redisproc.Process){
			"killed": (*redisproc.Process).Kill,
			"hangs":  func(server *redisproc.Process) { server.Signal(syscall.SIGSTOP) },
		} {
			variant(t, fmt.Sprintf("step %02d, Redis %s", step, outage), func(t *testing.T) {
				s := newScene(t, nodesOf(step), 10*time.Second)
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
				require.Contains(t, read(t, log), `msg="lock not renewed" key=`+key)
				<-alice.lock.(renewed).Lost()
				s.note("alice is notified that the lock is lost; %d failures", hook.Failed.Load())
			})
		}
	}
}

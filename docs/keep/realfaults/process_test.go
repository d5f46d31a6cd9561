//go:build unix

package realfaults

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/redislock-steps/docs/keep/locks"
	"github.com/stretchr/testify/require"
)

// Holders that are killed, and holders that are stopped.

func TestAHolderIsKilledInside(t *testing.T) {
	eachStep(t, []int{1, 2, 3, 4, 5, 6, 7, 8}, func(t *testing.T, step int) {
		dieInside(t, step, "holding", "TryLock -> nil", step == 1)
	})
}

func TestAHolderIsKilledAfterTheFirstCommandOfTryLock(t *testing.T) {
	eachStep(t, []int{2, 3}, func(t *testing.T, step int) {
		dieInside(t, step, "dying", "SET", step == 2) // SETNX is answered, SET is answered
	})
}

// dieInside kills alice when she has said a certain thing, and lets bob try.
func dieInside(t *testing.T, step int, role, said string, forEver bool) {
	const ttl = time.Second
	s := newScene(t, nodesOf(step), ttl)
	bob := s.join("bob", step)
	alice := s.begin("alice", role, step)
	alice.hear(t, said)
	alice.kill()
	s.note("alice is killed (SIGKILL)")
	killed := time.Now()
	if err := bob.tryLock(); time.Since(killed) < ttl/3 {
		require.True(t, locks.Refused(err), "the ttl is not over, and bob got %v", err)
	}
	if forEver {
		time.Sleep(5 * ttl)
		bob.isRefused("the bug is gone")
		left := s.admins()[0].PTTL(ctx, key).Val()
		require.EqualValues(t, -1, left, "the key has a ttl")
		s.note("PTTL %s -> -1: locked forever", key)
		return
	}
	require.NoError(t, bob.wait(), "alice died, her ttl has expired, and bob is locked out")
	require.NoError(t, bob.lock.Unlock(ctx))
}

func TestAHolderIsStoppedBeyondItsTTL(t *testing.T) {
	eachStep(t, []int{5, 7, 8}, func(t *testing.T, step int) {
		s := newScene(t, nodesOf(step), time.Second)
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

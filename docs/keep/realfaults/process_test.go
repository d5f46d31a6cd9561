//go:build unix

package realfaults

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"example.com/redislock-steps/docs/internal/locks"
	"github.com/stretchr/testify/require"
)

// Holders that are killed, and holders that are stopped.

func TestAHolderIsKilledInside(t *testing.T) {
	eachStep(t, 1, 8, func(t *testing.T, step int) {
		dieInside(t, step, "holding", "TryLock -> nil", step == 1)
	})
}

func TestAHolderIsKilledAfterTheFirstCommandOfTryLock(t *testing.T) {
	eachStep(t, 2, 3, func(t *testing.T, step int) {
		dieInside(t, step, "dying", "SET", step == 2) // SETNX is answered, SET is answered
	})
}

// dieInside kills alice when she has said a certain thing, and lets bob try.
func dieInside(t *testing.T, step int, role, said string, forEver bool) {
	const ttl = time.Second
	addrs := addrs(serve(t, nodesOf(step)))
	bob := lockOn(t, step, addrs, ttl)
	tl := newTimeline(t)
	alice := start(t, tl, "alice", role, step, addrs, ttl)
	alice.hear(t, said)
	alice.kill()
	tl.note("alice is killed (SIGKILL)")
	killed := time.Now()
	if err := tl.try("bob TryLock", bob.TryLock(ctx)); time.Since(killed) < ttl/3 {
		require.True(t, locks.Refused(err), "the ttl is not over, and bob got %v", err)
	}
	if forEver {
		time.Sleep(5 * ttl)
		require.True(t, locks.Refused(tl.try("bob TryLock", bob.TryLock(ctx))), "the bug is gone")
		left := adminOf(t, addrs[0]).PTTL(ctx, key).Val()
		require.EqualValues(t, -1, left, "the key has a ttl")
		tl.note("PTTL %s -> -1: locked forever", key)
		return
	}
	waiting, cancel := context.WithTimeout(ctx, ttl+slack)
	defer cancel()
	require.NoError(t, tl.try("bob Lock", bob.Lock(waiting)), "alice died, her ttl has expired, and bob is locked out")
	require.NoError(t, bob.Unlock(ctx))
}

func TestAHolderIsStoppedBeyondItsTTL(t *testing.T) {
	for _, step := range []int{5, 7, 8} {
		t.Run(fmt.Sprintf("step %02d", step), func(t *testing.T) {
			optIn(t)
			const ttl = time.Second
			addrs := addrs(serve(t, nodesOf(step)))
			rdb := adminOf(t, addrs[0])
			require.NoError(t, rdb.Set(ctx, "stock", 100, 0).Err())
			bob := lockOn(t, step, addrs, ttl)
			tl := newTimeline(t)

			alice := start(t, tl, "alice", "selling", step, addrs, ttl)
			alice.hear(t, "is about to write")
			pause(alice)
			tl.note("alice is stopped (SIGSTOP)")
			waiting, cancel := context.WithTimeout(ctx, ttl+slack)
			defer cancel()
			require.NoError(t, tl.try("bob Lock", bob.Lock(waiting)), "alice is stopped, her ttl has ended, but bob is locked out")
			stock, err := rdb.Get(ctx, "stock").Int()
			require.NoError(t, err)
			require.NoError(t, rdb.Set(ctx, "stock", stock-1, 0).Err())
			tl.note("bob reads stock = %d and writes stock = %d", stock, stock-1)
			if step == 5 {
				// His lease would end, too.
				require.NoError(t, tl.try("bob Unlock", bob.Unlock(ctx)))
			}

			goOn(alice)
			tl.note("alice resumes (SIGCONT)")
			alice.hear(t, "writes stock = 99")
			require.Equal(t, "Unlock -> lock not held", alice.hear(t, "Unlock"), "alice's lock was bob's, and she was not told")
			if step != 5 {
				require.NoError(t, tl.try("bob Unlock", bob.Unlock(ctx)), "alice took bob's lock away")
			}
			stock, err = rdb.Get(ctx, "stock").Int()
			require.NoError(t, err)
			tl.note("two coupons are sold, and stock = %d", stock)
			require.Equal(t, 99, stock, "the resource does not check, and alice's late write did not overwrite bob's")
		})
	}
}

// Eight processes increment a counter for a minute, and every now and then one of them is
// killed and started again.
func TestCounter_EightProcessesAndRandomDeaths(t *testing.T) {
	eachStep(t, 5, 8, func(t *testing.T, step int) {
		countForAMinute(t, step)
	})
}

func countForAMinute(t *testing.T, step int) {
	const processes, ttl = 8, 2 * time.Second
	end := time.Now().Add(time.Minute)
	if testing.Short() {
		end = time.Now().Add(5 * time.Second)
	}
	addrs := addrs(serve(t, nodesOf(step)))
	rdb := adminOf(t, addrs[0])
	require.NoError(t, rdb.Set(ctx, "counter", 0, 0).Err())
	tl := newTimeline(t)

	var holders []*holder
	begin := func() *holder { return start(t, nil, "counter", "counting", step, addrs, ttl) }
	for range processes {
		holders = append(holders, begin())
	}
	deaths, inside := 0, 0
	written := map[int]int{} // how often each number was written
	collect := func(h *holder) (open bool) {
		for line := range h.lines {
			var n int
			switch fmt.Sscan(line[1:], &n); {
			case strings.HasPrefix(line, "?"):
				open = true
			case strings.HasPrefix(line, "="):
				open = false
				written[n]++
			default:
				tl.note("a process says: %s", line)
			}
		}
		return open
	}
	for time.Now().Before(end) {
		time.Sleep(time.Duration(300+rand.IntN(900)) * time.Millisecond)
		victim := rand.IntN(processes)
		holders[victim].kill()
		deaths++
		if collect(holders[victim]) {
			inside++
		}
		holders[victim] = begin()
	}
	for _, h := range holders {
		h.kill()
		if collect(h) {
			inside++
		}
	}
	counter, err := rdb.Get(ctx, "counter").Int()
	require.NoError(t, err)
	tl.note("%d processes, %d killed and started again, %d deaths between read and answer to the write", processes, deaths, inside)
	tl.note("%d numbers written, counter = %d", len(written), counter)
	for n, times := range written {
		require.Equal(t, 1, times, "%d was written %d times: an update is lost", n, times)
	}
	require.Positive(t, len(written))
	require.GreaterOrEqual(t, counter, len(written), "more was written than counted: an update is lost")
	require.LessOrEqual(t, counter, len(written)+inside, "more was counted than written")
}

//go:build unix

package realfaults

import (
	"fmt"
	"testing"
	"time"

	"example.com/redislock-steps/docs/keep/locks"
	"github.com/stretchr/testify/require"
)

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
			require.NoError(t, s.try("alice TryLock again", alice.lock.TryLock(ctx)))
		}
		full("1")
		s.note("all servers are out of memory")
		if step >= 6 {
			require.ErrorContains(t, s.try("alice TryLock a third time", alice.lock.TryLock(ctx)), "OOM", "say in server.md that this works now")
			require.ErrorContains(t, s.try("alice inner Unlock", alice.lock.Unlock(ctx)), "OOM", "say in server.md that this works now")
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
		bob.leaves()
	})
}

// While a service changes from step 05 to a later one, or back, both versions run, and
// each finds at the key what it cannot read. They exclude each other anyway, but
// get another error than ErrNotAcquired.
func TestRollingChange_TheVersionsExcludeEachOtherByAnError(t *testing.T) {
	t.Parallel()
	for _, change := range [][2]int{{5, 6}, {5, 7}, {5, 8}, {6, 5}, {7, 5}, {8, 5}} {
		roll(t, change, "comes", func(alice, bob *party) {
			for _, err := range []error{bob.tryLock(), bob.try("bob Lock, which does not wait", bob.lock.Lock(ctx))} {
				require.ErrorContains(alice.t, err, "WRONGTYPE", "the page says that bob gets this error")
				require.False(alice.t, locks.Refused(err), "the page says that bob cannot tell that alice holds the lock")
			}
			alice.leaves("bob has damaged alice's lock")
			bob.enters("alice has left, and bob does not get in")
		})
	}
	// Between these, nothing changes for the other version.
	for _, change := range [][2]int{{6, 7}, {7, 6}, {4, 5}, {5, 4}} {
		roll(t, change, "waits", func(alice, bob *party) {
			bob.isRefused()
			const stay = 200 * time.Millisecond
			start := time.Now()
			time.AfterFunc(stay, func() { alice.unlock() })
			require.NoError(bob.t, bob.wait())
			require.Greater(bob.t, time.Since(start), stay, "alice is inside, and bob did not wait")
			require.Less(bob.t, time.Since(start), stay+slack, "alice left, and bob was not woken")
		})
	}
}

// roll lets alice lock with one step, and bob come with another.
func roll(t *testing.T, steps [2]int, does string, test func(alice, bob *party)) {
	variant(t, fmt.Sprintf("step %02d holds, step %02d %s", steps[0], steps[1], does), func(t *testing.T) {
		s := newScene(t, 1, long) // one node for step 08, too: it is about the key
		alice, bob := s.join("alice", steps[0]), s.join("bob", steps[1])
		alice.enters()
		test(alice, bob)
		bob.leaves()
	})
}

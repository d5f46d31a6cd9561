//go:build unix

package realfaults

import (
	"fmt"
	"testing"
	"time"

	"example.com/redislock-steps/docs/internal/locks"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Servers that refuse a command: they have no memory left, or another lock's data at the key.

// A full server refuses what needs memory: to lock, to lock again, and to count an inner
// Unlock. It does not look at what is behind that, so it renews and releases.
func TestOutOfMemory_TheHolderKeepsTheLockAndReleasesIt(t *testing.T) {
	eachStep(t, 5, 8, func(t *testing.T, step int) {
		const ttl = 3 * time.Second
		servers := serve(t, nodesOf(step), "--maxmemory-policy", "noeviction")
		alice, bob := lockOn(t, step, addrs(servers), ttl), lockOn(t, step, addrs(servers), ttl)
		admins := connect(t, addrs(servers), redis.Options{})
		full := func(bytes string) {
			for _, admin := range admins {
				require.NoError(t, admin.ConfigSet(ctx, "maxmemory", bytes).Err())
			}
		}
		tl := newTimeline(t)
		require.NoError(t, tl.try("alice TryLock", alice.TryLock(ctx)))
		if step >= 6 {
			require.NoError(t, tl.try("alice TryLock again", alice.TryLock(ctx)))
		}
		full("1")
		tl.note("all servers are out of memory")
		if step >= 6 {
			require.ErrorContains(t, tl.try("alice TryLock a third time", alice.TryLock(ctx)), "OOM", "say in server.md that this works now")
			require.ErrorContains(t, tl.try("alice inner Unlock", alice.Unlock(ctx)), "OOM", "say in server.md that this works now")
		}
		if step >= 7 {
			time.Sleep(ttl * 5 / 4)
			require.False(t, locks.Lost(alice), "a full server does not renew: say so in server.md")
			tl.note("a ttl and a quarter later, alice has been renewed")
		}
		require.NoError(t, tl.try("alice Unlock", alice.Unlock(ctx)), "a full server does not release: say so in server.md")
		for i, admin := range admins {
			require.Zero(t, admin.Exists(ctx, key).Val(), "alice has left, and node %d has her key", i+1)
		}
		err := tl.try("bob TryLock", bob.TryLock(ctx))
		require.ErrorContains(t, err, "OOM")
		require.False(t, locks.Refused(err), "no one holds the lock, but bob's error says that it is taken")
		full("0")
		tl.note("the servers have memory again")
		require.NoError(t, tl.try("bob TryLock", bob.TryLock(ctx)))
		require.NoError(t, tl.try("bob Unlock", bob.Unlock(ctx)))
	})
}

// While a service changes from step 05 to a later one, or back, both versions run, and
// each finds at the key what it cannot read. They exclude each other anyway, but
// get another error than ErrNotAcquired.
func TestRollingChange_TheVersionsExcludeEachOtherByAnError(t *testing.T) {
	for _, change := range []struct{ holder, contender int }{{5, 6}, {5, 7}, {5, 8}, {6, 5}, {7, 5}, {8, 5}} {
		t.Run(fmt.Sprintf("step %02d holds, step %02d comes", change.holder, change.contender), func(t *testing.T) {
			optIn(t)
			addrs := addrs(serve(t, 1)) // one node for step 08, too: it is about the key
			alice, bob := lockOn(t, change.holder, addrs, long), lockOn(t, change.contender, addrs, long)
			tl := newTimeline(t)
			require.NoError(t, tl.try("alice TryLock", alice.TryLock(ctx)))
			for _, err := range []error{tl.try("bob TryLock", bob.TryLock(ctx)), tl.try("bob Lock, which does not wait", bob.Lock(ctx))} {
				require.ErrorContains(t, err, "WRONGTYPE", "the page says that bob gets this error")
				require.False(t, locks.Refused(err), "the page says that bob cannot tell that alice holds the lock")
			}
			require.NoError(t, tl.try("alice Unlock", alice.Unlock(ctx)), "bob has damaged alice's lock")
			require.NoError(t, tl.try("bob TryLock", bob.TryLock(ctx)), "alice has left, and bob does not get in")
			require.NoError(t, tl.try("bob Unlock", bob.Unlock(ctx)))
		})
	}
	// Between these, nothing changes for the other version.
	for _, change := range []struct{ holder, contender int }{{6, 7}, {7, 6}, {4, 5}, {5, 4}} {
		t.Run(fmt.Sprintf("step %02d holds, step %02d waits", change.holder, change.contender), func(t *testing.T) {
			optIn(t)
			addrs := addrs(serve(t, 1))
			alice, bob := lockOn(t, change.holder, addrs, long), lockOn(t, change.contender, addrs, long)
			tl := newTimeline(t)
			require.NoError(t, tl.try("alice TryLock", alice.TryLock(ctx)))
			require.True(t, locks.Refused(tl.try("bob TryLock", bob.TryLock(ctx))))
			entered := make(chan error, 1)
			go func() { entered <- bob.Lock(ctx) }()
			select {
			case err := <-entered:
				require.Fail(t, "alice is inside, and bob did not wait", "%v", err)
			case <-time.After(200 * time.Millisecond):
			}
			require.NoError(t, tl.try("alice Unlock", alice.Unlock(ctx)))
			select {
			case err := <-entered:
				require.NoError(t, tl.try("bob Lock", err))
			case <-time.After(slack):
				require.Fail(t, "alice left, and bob was not woken")
			}
			require.NoError(t, tl.try("bob Unlock", bob.Unlock(ctx)))
		})
	}
}

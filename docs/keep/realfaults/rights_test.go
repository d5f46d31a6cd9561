//go:build unix

package realfaults

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/redislock-steps/docs/internal/locks"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Users that may do just what the page says, and users that may not.

// rightsOnThePage returns what docs/read/server.md gives the user of a lock: the words of
// its lines, without the password.
func rightsOnThePage(t *testing.T, step int) []string {
	t.Helper()
	page, err := os.ReadFile("../../read/server.md")
	require.NoError(t, err)
	user := map[int]string{5: "locks05", 6: "locks07", 7: "locks07", 8: "locks08"}[step]
	var rights []string
	for line := range strings.Lines(string(page)) {
		if words, ok := strings.CutPrefix(line, "ACL SETUSER "+user+" "); ok {
			rights = append(rights, strings.Fields(strings.TrimPrefix(words, "on >secret "))...)
		}
	}
	require.NotEmpty(t, rights, "server.md has no ACL line for %s", user)
	return rights
}

// withRights starts a server that has a user with these rights, and returns a lock of
// that user's, one for each name. Step 08 runs on one node: what its user needs is the
// same on all.
func withRights(t *testing.T, step int, ttl time.Duration, rights []string, n int) (admin redis.UniversalClient, users []locks.Lock) {
	t.Helper()
	addr := serve(t, 1)[0].Addr
	admin = adminOf(t, addr)
	setUser(t, admin, rights)
	for range n {
		rdbs := connect(t, []string{addr}, redis.Options{Username: "locks", Password: "secret"})
		users = append(users, newLockOf("lock:coupons", step, rdbs, ttl))
	}
	return admin, users
}

func setUser(t *testing.T, admin redis.UniversalClient, rights []string) {
	t.Helper()
	args := []any{"acl", "setuser", "locks", "reset", "on", ">secret"}
	for _, right := range rights {
		args = append(args, right)
	}
	require.NoError(t, admin.Do(ctx, args...).Err())
}

// aDay is what a lock does in its life: alice locks, bob is refused and waits, she locks
// again and works beyond the ttl if her lock allows it, and leaves; bob is woken. It
// returns what went wrong.
func aDay(step int, ttl time.Duration, alice, bob locks.Lock) error {
	if err := alice.TryLock(ctx); err != nil {
		return fmt.Errorf("alice TryLock: %w", err)
	}
	type result struct {
		err error
		at  time.Time
	}
	bobIsIn := make(chan result, 1)
	waiting, cancel := context.WithTimeout(ctx, 4*ttl)
	defer cancel()
	go func() { err := bob.Lock(waiting); bobIsIn <- result{err, time.Now()} }()
	if step >= 6 {
		if err := alice.TryLock(ctx); err != nil {
			return fmt.Errorf("alice TryLock again: %w", err)
		}
		if err := alice.Unlock(ctx); err != nil {
			return fmt.Errorf("alice inner Unlock: %w", err)
		}
	}
	work := ttl / 4
	if step >= 7 {
		work = ttl * 7 / 6 // what bob knows of her lease has ended, and the present one has not
	}
	select {
	case r := <-bobIsIn:
		return fmt.Errorf("alice is inside, and bob's Lock returned: %w", r.err)
	case <-time.After(work):
	}
	left := time.Now()
	if err := alice.Unlock(ctx); err != nil {
		return fmt.Errorf("alice Unlock: %w", err)
	}
	r := <-bobIsIn
	if r.err != nil {
		return fmt.Errorf("alice left, and bob Lock: %w", r.err)
	}
	if waited := r.at.Sub(left); waited > ttl/4 {
		return fmt.Errorf("alice left, and bob was not woken: he entered %v later", waited)
	}
	if err := bob.Unlock(ctx); err != nil {
		return fmt.Errorf("bob Unlock: %w", err)
	}
	return nil
}

func TestRights_ThoseOfThePageAreEnough(t *testing.T) {
	eachStep(t, 5, 8, func(t *testing.T, step int) {
		const ttl = 3 * time.Second
		admin, users := withRights(t, step, ttl, rightsOnThePage(t, step), 2)
		require.NoError(t, aDay(step, ttl, users[0], users[1]))
		log, err := admin.ACLLog(ctx, 100).Result()
		require.NoError(t, err)
		for _, entry := range log { // go-redis presents itself, and does not mind a refusal
			require.Contains(t, []string{"client|setinfo", "client|maint_notifications", "client"}, entry.Object,
				"the lock asked for something that the page does not allow")
		}
	})
}

func TestRights_NoneOfThoseOfThePageCanBeSpared(t *testing.T) {
	for step := 5; step <= 8; step++ {
		for i, right := range rightsOnThePage(t, step) {
			if right == "resetchannels" || right == "-@all" {
				continue // what a new user has anyway
			}
			t.Run(fmt.Sprintf("step %02d without %s", step, strings.ReplaceAll(right, "*", "")), func(t *testing.T) {
				optIn(t)
				const ttl = 3 * time.Second
				rights := slices.Delete(rightsOnThePage(t, step), i, i+1)
				_, users := withRights(t, step, ttl, rights, 2)
				err := aDay(step, ttl, users[0], users[1])
				require.Error(t, err, "the page gives a right that the lock does not need: %s", right)
				t.Log(err)
			})
		}
	}
}

// The rights for waking a waiter are not needed to lock: without them, no call fails.
func TestRights_WithoutThoseForMessages_WaitersSleepUntilTheLeaseEnds(t *testing.T) {
	for step := 6; step <= 7; step++ {
		for _, missing := range []string{"&redislock:lock:*", "+publish", "+subscribe"} {
			t.Run(fmt.Sprintf("step %02d without %s", step, strings.ReplaceAll(missing, "*", "")), func(t *testing.T) {
				optIn(t)
				const ttl = 4 * time.Second
				rights := rightsOnThePage(t, step)
				i := slices.Index(rights, missing)
				require.GreaterOrEqual(t, i, 0, "the page does not give %s", missing)
				admin, users := withRights(t, step, ttl, slices.Delete(rights, i, i+1), 2)
				alice, bob := users[0], users[1]
				tl := newTimeline(t)
				require.NoError(t, tl.try("alice TryLock", alice.TryLock(ctx)))
				time.AfterFunc(ttl/4, func() {
					tl.try("alice Unlock", alice.Unlock(ctx))
				})
				start, before := time.Now(), commands(t, admin)
				waiting, cancel := context.WithTimeout(ctx, ttl+slack)
				defer cancel()
				require.NoError(t, tl.try("bob Lock", bob.Lock(waiting)), "a right for messages is missing, and bob gets an error: say so in server.md")
				waited := time.Since(start)
				require.Greater(t, waited, ttl*9/10, "a right for messages is missing, and bob was woken: say so in server.md")
				tl.note("in that time %d commands and connections reached Redis", commands(t, admin)-before)
				log, err := admin.ACLLog(ctx, 100).Result()
				require.NoError(t, err)
				i = slices.IndexFunc(log, func(entry *redis.ACLLogEntry) bool {
					return slices.Contains([]string{"publish", "subscribe", "redislock:lock:coupons"}, entry.Object)
				})
				require.GreaterOrEqual(t, i, 0, "nothing in ACL LOG says so")
				tl.note("ACL LOG: reason %s, context %s, object %s, %d times", log[i].Reason, log[i].Context, log[i].Object, log[i].Count)
				require.NoError(t, bob.Unlock(ctx))
			})
		}
	}
}

// The worst that a missing right can do: the script stops half way, and nothing deletes the key.
func TestRights_WithoutPexpireAndDel_LockedForEver(t *testing.T) {
	eachStep(t, 6, 8, func(t *testing.T, step int) {
		rights := slices.DeleteFunc(rightsOnThePage(t, step), func(right string) bool { return right == "+pexpire" || right == "+del" })
		admin, users := withRights(t, step, time.Second, rights, 2)
		tl := newTimeline(t)
		require.Error(t, tl.try("alice TryLock", users[0].TryLock(ctx)))
		require.EqualValues(t, -1, admin.PTTL(ctx, "lock:coupons").Val(), "the key is not there forever: say so in server.md")
		setUser(t, admin, rightsOnThePage(t, step))
		tl.note("now the user has all rights, and the key has no ttl")
		err := tl.try("bob TryLock", users[1].TryLock(ctx))
		require.ErrorContains(t, err, "NOTTL", "the key is locked forever, but bob gets no error")
		require.False(t, locks.Refused(err), "the key is locked forever, but bob's error means that he should wait")
	})
}

// commands is how many commands and connections a server has seen.
func commands(t *testing.T, admin redis.UniversalClient) (sum int) {
	t.Helper()
	stats := admin.InfoMap(ctx, "stats")
	require.NoError(t, stats.Err())
	for _, name := range []string{"total_commands_processed", "total_connections_received"} {
		var n int
		fmt.Sscan(stats.Item("Stats", name), &n)
		sum += n
	}
	return sum
}

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

	"example.com/redislock-steps/docs/keep/locks"
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

// withRights starts a server that has a user with these rights, and lets two of that user
// join. Step 08 runs on one node: what its user needs is the same on all.
func withRights(t *testing.T, step int, ttl time.Duration, rights []string) (admin redis.UniversalClient, alice, bob *party) {
	t.Helper()
	s := newScene(t, 1, ttl)
	admin = s.admins()[0]
	setUser(t, admin, rights)
	join := func(name string) *party {
		rdbs := connect(t, s.addrs(), redis.Options{Username: "locks", Password: "secret"})
		return s.party(name, "lock:coupons", step, rdbs)
	}
	return admin, join("alice"), join("bob")
}

func setUser(t *testing.T, admin redis.UniversalClient, rights []string) {
	t.Helper()
	args := []any{"acl", "setuser", "locks", "reset", "on", ">secret"}
	for _, right := range rights {
		args = append(args, right)
	}
	require.NoError(t, admin.Do(ctx, args...).Err())
}

// aDay is what a lock does in its life: alice locks, and locks again if her lock allows it;
// bob is refused and waits while she works, beyond the ttl if she is renewed; she leaves,
// and he is woken. It returns what went wrong.
func aDay(step int, ttl time.Duration, alice, bob locks.Lock) error {
	if err := alice.TryLock(ctx); err != nil {
		return fmt.Errorf("alice TryLock: %w", err)
	}
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
	start, left := time.Now(), make(chan error, 1)
	time.AfterFunc(work, func() { left <- alice.Unlock(ctx) })
	waiting, cancel := context.WithTimeout(ctx, 4*ttl)
	defer cancel()
	if err := bob.Lock(waiting); err != nil {
		return fmt.Errorf("bob Lock: %w", err)
	}
	if waited := time.Since(start); waited < work || waited > work+ttl/4 {
		return fmt.Errorf("alice left after %v, and bob was not woken by that: he entered after %v", work, waited)
	}
	if err := <-left; err != nil {
		return fmt.Errorf("alice Unlock: %w", err)
	}
	if err := bob.Unlock(ctx); err != nil {
		return fmt.Errorf("bob Unlock: %w", err)
	}
	return nil
}

func TestRights_ThoseOfThePageAreEnough(t *testing.T) {
	eachStep(t, []int{5, 6, 7, 8}, func(t *testing.T, step int) {
		const ttl = 3 * time.Second
		admin, alice, bob := withRights(t, step, ttl, rightsOnThePage(t, step))
		require.NoError(t, aDay(step, ttl, alice.lock, bob.lock))
		log, err := admin.ACLLog(ctx, 100).Result()
		require.NoError(t, err)
		for _, entry := range log { // go-redis presents itself, and does not mind a refusal
			require.Contains(t, []string{"client|setinfo", "client|maint_notifications", "client"}, entry.Object,
				"the lock asked for something that the page does not allow")
		}
	})
}

// without runs a test without one of the rights of the page.
func without(t *testing.T, step int, missing string, test func(t *testing.T, rights []string)) {
	rights := rightsOnThePage(t, step)
	i := slices.Index(rights, missing)
	require.GreaterOrEqual(t, i, 0, "the page does not give %s", missing)
	variant(t, fmt.Sprintf("step %02d without %s", step, strings.ReplaceAll(missing, "*", "")), func(t *testing.T) {
		test(t, slices.Delete(rights, i, i+1))
	})
}

func TestRights_NoneOfThoseOfThePageCanBeSpared(t *testing.T) {
	t.Parallel()
	for step := 5; step <= 8; step++ {
		for _, right := range rightsOnThePage(t, step) {
			if right == "resetchannels" || right == "-@all" {
				continue // what a new user has anyway
			}
			without(t, step, right, func(t *testing.T, rights []string) {
				const ttl = 3 * time.Second
				_, alice, bob := withRights(t, step, ttl, rights)
				err := aDay(step, ttl, alice.lock, bob.lock)
				require.Error(t, err, "the page gives a right that the lock does not need: %s", right)
				t.Log(err)
			})
		}
	}
}

// The rights for waking a waiter are not needed to lock: without them, no call fails.
func TestRights_WithoutThoseForMessages_WaitersSleepUntilTheLeaseEnds(t *testing.T) {
	t.Parallel()
	for step := 6; step <= 7; step++ {
		for _, missing := range []string{"&redislock:lock:*", "+publish", "+subscribe"} {
			without(t, step, missing, func(t *testing.T, rights []string) {
				const ttl = 4 * time.Second
				admin, alice, bob := withRights(t, step, ttl, rights)
				alice.enters()
				time.AfterFunc(ttl/4, func() { alice.unlock() })
				start := time.Now()
				require.NoError(t, bob.wait(), "a right for messages is missing, and bob gets an error: say so in server.md")
				require.Greater(t, time.Since(start), ttl*9/10, "a right for messages is missing, and bob was woken: say so in server.md")
				log, err := admin.ACLLog(ctx, 100).Result()
				require.NoError(t, err)
				i := slices.IndexFunc(log, func(entry *redis.ACLLogEntry) bool {
					return slices.Contains([]string{"publish", "subscribe", "redislock:lock:coupons"}, entry.Object)
				})
				require.GreaterOrEqual(t, i, 0, "nothing in ACL LOG says so")
				bob.note("ACL LOG: reason %s, context %s, object %s, %d times", log[i].Reason, log[i].Context, log[i].Object, log[i].Count)
				require.NoError(t, bob.lock.Unlock(ctx))
			})
		}
	}
}

// The worst that a missing right can do: the script stops half way, and nothing deletes the key.
func TestRights_WithoutPexpireAndDel_NobodyGetsInAgain(t *testing.T) {
	eachStep(t, []int{6, 7, 8}, func(t *testing.T, step int) {
		rights := slices.DeleteFunc(rightsOnThePage(t, step), func(right string) bool { return right == "+pexpire" || right == "+del" })
		admin, alice, bob := withRights(t, step, long, rights)
		require.Error(t, alice.tryLock())
		require.EqualValues(t, -1, admin.PTTL(ctx, "lock:coupons").Val(), "the key is not there forever: say so in server.md")
		setUser(t, admin, rightsOnThePage(t, step))
		bob.note("now the user has all rights, and the key has no ttl")
		err := bob.tryLock()
		require.ErrorContains(t, err, "NOTTL", "the key is locked forever, but bob gets no error")
		require.False(t, locks.Refused(err), "the key is locked forever, but bob's error means that he should wait")
	})
}

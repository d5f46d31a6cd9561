//go:build unix

package realfaults

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"example.com/redislock-steps/docs/keep/realfaults/lockhook"
	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// What it costs that a lock sends its scripts in full, and what the hook saves. client.md
// shows the bytes.
func TestEvalSHA_TheLocksWorkWithItAndSendLess(t *testing.T) {
	eachStep(t, []int{5, 6, 7, 8}, func(t *testing.T, step int) {
		const ttl, pairs = 3 * time.Second, 200
		sent := map[bool]int64{} // bytes for one lock and unlock, to one server
		for _, hooked := range []bool{false, true} {
			s := newScene(t, nodesOf(step), ttl)
			admins := s.admins()
			join := func(name string) *party {
				rdbs := connect(t, s.addrs(), redis.Options{})
				for _, rdb := range rdbs {
					if hooked {
						rdb.AddHook(lockhook.EvalSHA{})
					}
				}
				return s.party(name, key, step, rdbs)
			}
			alice, bob := join("alice"), join("bob")
			require.NoError(t, alice.lock.TryLock(ctx)) // the connection
			require.NoError(t, alice.lock.Unlock(ctx))
			before := received(t, admins[0])
			for range pairs {
				require.NoError(t, alice.lock.TryLock(ctx))
				require.NoError(t, alice.lock.Unlock(ctx))
			}
			sent[hooked] = (received(t, admins[0]) - before) / pairs

			require.NoError(t, alice.lock.TryLock(ctx))
			for _, admin := range admins { // as after a restart or a failover
				require.NoError(t, admin.ScriptFlush(ctx).Err())
			}
			require.NoError(t, alice.lock.Unlock(ctx), "the servers have lost their scripts, and alice cannot unlock")
			require.NoError(t, aDay(step, ttl, alice.lock, bob.lock))
		}
		t.Logf("step %02d, one lock and unlock: %d bytes to each server, with EVALSHA %d", step, sent[false], sent[true])
		require.Less(t, sent[true], sent[false])
	})
}

// received returns how many bytes a server has received.
func received(t *testing.T, admin redis.UniversalClient) (n int64) {
	t.Helper()
	info, err := admin.Info(ctx, "stats").Result()
	require.NoError(t, err)
	_, rest, _ := strings.Cut(info, "total_net_input_bytes:")
	_, err = fmt.Sscan(rest, &n)
	require.NoError(t, err)
	return n
}

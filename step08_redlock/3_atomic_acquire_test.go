package redislock

import (
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// Guarantee 3: dying at any point of acquiring does not block others beyond the ttl.

func TestDyingAnywhereInTryLock_BlocksNobodyBeyondTheTTL(t *testing.T) {
	deaths := 0
	for nth, died := 1, true; died && nth < 20; nth++ {
		t.Run(fmt.Sprintf("after command %d", nth), func(t *testing.T) {
			inLab(t, func(t *testing.T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				death := lab.crashAfter("alice", nth)
				alice.TryLock(ctx)
				if died = death.came; !died {
					return // her TryLock has no command number nth: that was all
				}
				deaths++
				time.Sleep(ttl + ttl/10)
				require.NoError(t, bob.TryLock(ctx),
					"alice died right after command %d of her TryLock, the ttl is over, and bob is locked out: for ever", nth)
			})
		})
	}
	require.Positive(t, deaths, "alice's TryLock sent no command, so she could not die in it")
}

func TestRedisRefusesALaterCommandOfTryLock_BlocksNobodyBeyondTheTTL(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.refuse("alice", 2, "NOPERM this user has no permissions to run the 'pexpire' command")
		alice.TryLock(ctx)
		time.Sleep(ttl + ttl/10)
		require.NoError(t, bob.TryLock(ctx),
			"Redis took the first command of alice's TryLock and refused the rest, the ttl is over, and bob is locked out: for ever")
	})
}

// olderForm is how SET NX PX was written before Redis 2.6.12: two commands in a script, which runs as one.
var olderForm = redis.NewScript(`-- older-form
if redis.call('SETNX', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`)

// Green before too: it runs the script, not the lock.
func TestOlderForm_SETNXAndEXPIREInOneScript(t *testing.T) {
	inLab(t, func(t *testing.T, lab *lab) {
		alice, bob := lab.client("alice").nodes[0], lab.client("bob").nodes[0]
		acquire := func(rdb redis.UniversalClient) (bool, error) {
			return olderForm.Run(ctx, rdb, []string{key}, "locked", ttl.Milliseconds()).Bool()
		}
		lab.crashAfter("alice", 2) // EVALSHA, which Redis does not know yet, and EVAL
		_, err := acquire(alice)
		require.Error(t, err, "alice was to die right after the script")

		acquired, err := acquire(bob)
		require.NoError(t, err)
		require.False(t, acquired, "alice's script has run, and bob was not refused")
		time.Sleep(slack(ttl))
		acquired, err = acquire(bob)
		require.NoError(t, err)
		require.True(t, acquired, "alice died right after the script, the ttl is over, and bob is locked out")
	})
}

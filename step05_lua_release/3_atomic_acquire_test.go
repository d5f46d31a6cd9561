package redislock

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 3: dying at any point of acquiring does not block others beyond the ttl.

func TestTheClientDiesAnywhereInTryLock_ItBlocksAtMostOneTTL(t *testing.T) {
	commands := commandsOfTryLock(t)
	require.NotEmpty(t, commands, "alice's TryLock sends no command, so she cannot die in it")
	for i := range commands {
		t.Run(fmt.Sprintf("after command %d", i+1), func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				next := append(commands, "anything else")[i+1]
				death := lab.afterNth("alice", i+1, func() {
					lab.fault("alice dies before she sends %s", next)
					lab.client("alice").cut()
				})
				alice.TryLock(ctx)
				require.True(t, death.fired,
					"alice's TryLock did not send the same commands as before, so she did not die")
				time.Sleep(ttl + ttl/10)
				require.NoError(t, bob.TryLock(ctx),
					"alice died in her TryLock, her ttl of %v has expired, but bob is still locked out", ttl)
			})
		})
	}
}

// commandsOfTryLock returns the commands that an undisturbed TryLock sends to a node.
func commandsOfTryLock(t *testing.T) (commands []string) {
	inLab(t, func(t *T, lab *lab) {
		lab.trace.untold = true
		lab.lock("alice").TryLock(ctx)
		lab.sent(func(r *record) bool {
			if r.Node == 1 {
				commands = append(commands, r.Text)
			}
			return true
		})
	})
	return commands
}

func TestRedisRefusesALaterCommandOfTryLock_BlocksNobodyBeyondTheTTL(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.failFrom("alice", 2, "NOPERM this user has no permissions to run the 'pexpire' command")
		alice.TryLock(ctx)
		time.Sleep(ttl + ttl/10)
		require.NoError(t, bob.TryLock(ctx),
			"Redis rejected the second command of alice's TryLock, her ttl of %v has expired, but bob is still "+
				"locked out", ttl)
	})
}

func TestAFreeLock_IsTakenWithOneCommand(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx))
		require.Equal(t, nodes, lab.sent(),
			"the lock was free, but alice's TryLock sent more than one command to a Redis: SET can do it in one")
	})
}

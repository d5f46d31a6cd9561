package redislock

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 3: dying at any point of acquiring does not block others beyond the ttl.

func TestDyingAnywhereInTryLock_BlocksNobodyBeyondTheTTL(t *testing.T) {
	deaths := 0
	for nth, died := 1, true; died && nth < 20; nth++ {
		t.Run(fmt.Sprintf("after command %d", nth), func(t *testing.T) {
			inLab(t, func(t *T, lab *lab) {
				alice, bob := lab.lock("alice"), lab.lock("bob")
				death := lab.crashAfter("alice", nth)
				alice.TryLock(ctx)
				if died = death.fired; !died {
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
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.failFrom("alice", 2, "NOPERM this user has no permissions to run the 'pexpire' command")
		alice.TryLock(ctx)
		time.Sleep(ttl + ttl/10)
		require.NoError(t, bob.TryLock(ctx),
			"Redis took the first command of alice's TryLock and refused the rest, the ttl is over, and bob is locked out: for ever")
	})
}

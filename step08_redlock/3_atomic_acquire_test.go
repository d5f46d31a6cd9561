package redislock

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Guarantee 3: dying at any point of acquiring does not block others beyond the ttl. The lock
// before sets the key with one command, and its ttl with another one.

func TestTheClientDiesAnywhereInTryLock_ItBlocksAtMostOneTTL(t *testing.T) {
	deaths := eachNth(t, "after command %d", func(t *T, lab *lab, nth int) bool {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		death := lab.crashAfter("alice", nth)
		alice.TryLock(ctx)
		if !death.fired() {
			return false
		}
		time.Sleep(ttl + ttl/10)
		require.NoError(t, bob.TryLock(ctx),
			"alice died in her TryLock, her ttl of %v has passed, but bob is still locked out", ttl)
		return true
	})
	require.Positive(t, deaths, "alice's TryLock sends no command, so she cannot die in it")
}

func TestRedisRefusesALaterCommandOfTryLock_BlocksNobodyBeyondTheTTL(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice"), lab.lock("bob")
		lab.mayMiss = true // a TryLock of one command succeeds, and the lock expires
		lab.failFrom("alice", 2, "NOPERM this user has no permissions to run the 'pexpire' command")
		alice.TryLock(ctx)
		time.Sleep(ttl + ttl/10)
		require.NoError(t, bob.TryLock(ctx),
			"Redis rejected the second command of alice's TryLock, her ttl of %v has passed, but bob is still "+
				"locked out", ttl)
	})
}

func TestAFreeLock_IsTakenWithOneCommand(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice := lab.lock("alice")
		require.NoError(t, alice.TryLock(ctx))
		require.Equal(t, nodes, lab.sent(), // nodes is 1, and 5 in step 08
			"the lock was free, but alice's TryLock sent more than one command to a Redis: SET can do it in one")
	})
}

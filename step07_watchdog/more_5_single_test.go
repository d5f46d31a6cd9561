package redislock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// What a client can do to a lock on one Redis, besides more_5_client_test.go.

func TestRedisRefusesConnectionsAfterALostReply_TryLockLeavesNothing(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.lock("alice", func(opt *redis.Options) { opt.MaxRetries = -1 }), lab.lock("bob")
		lab.loseReply("alice", func() {
			s := lab.at(addr(0))
			s.down.Store(true)
			lab.fault("alice's TryLock has run, and its reply is lost; for 150ms, Redis refuses connections")
			time.AfterFunc(150*time.Millisecond, func() { s.down.Store(false) })
		})
		start := time.Now()
		require.Error(t, alice.TryLock(ctx), "alice got no reply, but TryLock returned nil")
		took := time.Since(start)
		require.Less(t, took, slack(350*time.Millisecond),
			"alice's TryLock undid itself for %v: that may take 0.3s", took)
		require.NoError(t, bob.TryLock(ctx),
			"after alice's TryLock had run, Redis was away for 150ms; she got an error, but its key blocks bob")
	})
}

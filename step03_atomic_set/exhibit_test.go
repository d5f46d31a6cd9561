package redislock

import (
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"
)

// olderForm is how SET NX PX was written before Redis 2.6.12: two commands in a script,
// which runs as one.
var olderForm = redis.NewScript(`-- older-form value ttl
if redis.call('SETNX', KEYS[1], ARGV[1]) == 0 then
	return 0
end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
return 1
`)

func TestOlderForm_SETNXAndEXPIREInOneScript(t *testing.T) {
	inLab(t, func(t *T, lab *lab) {
		alice, bob := lab.client("alice").nodes[0], lab.client("bob").nodes[0]
		acquire := func(rdb redis.UniversalClient) (bool, error) {
			return olderForm.Eval(ctx, rdb, []string{key}, "locked", ttl.Milliseconds()).Bool()
		}
		lab.crashAfter("alice", 1)
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
